"""Exposure to an attacker who knows random items: the figures of runs against the definitions."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
import naive_estimate as naive
import naive_exposure
from decloak.data.generators.clinic import generate
from decloak.data.rows import CodedRows
from decloak.data.sampling import control_share
from decloak.errors import DecloakError
from decloak.measure import exposure_guesses
from decloak.measure.family import SharedValues
from decloak.measure.kernels.estimate.counts import drawn_people, known_items, signatures
from decloak.measure.kernels.estimate.figures import RightGuesses, auc, guess_advantage, surest, true_positives
from decloak.measure.registry import metrics_by_key
from decloak.releases.registry import form_of
from decloak.rules.load import parse_rule
from decloak.store.opening import connect_readonly
from decloak.store.records import read_origins
from decloak.store.results import attacks_of, notes_of, pooled_figures, release_of
from eliminated import eliminated_items
from slowly import slow_but

CLINIC = "scenario: s\ndata: {generate: clinic, transactions: 64, seed: 3}\n"
RELATE = "relate: {measure: ngd, source: clinic-counts}\n"
METHODS = {
    "coat": ("{method: coat, k: 4, privacy: {count: 6, sizes: [3]}}", "rba"),
    "cut": ("{method: cut, k: 3, m: 1, hierarchy: {by: random, fanout: 3}}", "rba"),
    "sets": ("{method: sets, size: 3, share: 0.5}", "ra"),
    "disassociation": ("{method: disassociation, k: 3, m: 2, max_cluster: 12}", "aba"),
    "shared chunks": ("{method: disassociation, k: 3, m: 2, max_cluster: 12, refine: true}", "aba"),
}


@pytest.fixture
def ran(tmp_path):
    """Run a method with an attack and measure exposure; the run, and the store."""

    def run(method, attack, exposure="{control: held_out}", data=CLINIC, relate=RELATE):
        path = tmp_path / "s.yaml"
        path.write_text(f"{data}{relate}anonymise: {method}\nattack: [{attack}]\nmeasure: [{{exposure: {exposure}}}]\n")
        done = decloak.run(path, store=tmp_path / "s.db")
        return done, connect_readonly(done.store)

    return run


@dataclass
class Literal:
    """A release as the definitions take it."""

    weights: object
    row_of: dict
    items: set
    known: dict = field(default_factory=dict)

    def estimate(self, items):
        return self.of(items)[1]

    def of(self, items):
        key = frozenset(items)
        if key not in self.known:
            self.known[key] = self.weights(sorted(items))
        return self.known[key]

    def exposed(self, place, items):
        weights, total = self.of(items)
        row = self.row_of.get(place)
        return row is not None and total > 0 and weights[row] / total > (1 / 11) * (1 + 1e-9)


def literal(held, eliminated=None):
    row_of = {int(place): row for row, place in enumerate(read_origins(held.connection, held.number))}
    if hasattr(held, "rows") and held.rows is not None:
        release = held.published
        items = {item for cluster in release.clusters for item in cluster.items}
        items |= {item for joint in release.joints for chunk in joint.shared_chunks for item in chunk.items}

        def of_clusters(known):
            weights, estimates = naive.cluster_weights(release, known)
            return [w for cluster in weights for w in cluster], sum(estimates)

        return Literal(of_clusters, row_of, items)
    rows = held.published.transactions
    gone = None
    if eliminated is not None:
        gone = [frozenset(item for row, item in eliminated if row == at) for at in range(len(rows))]

    def of_rows(known):
        weights = naive.rows_weights(rows, known, gone)
        return weights, sum(weights)

    return Literal(of_rows, row_of, set().union(*map(naive_exposure.possible, held.published.transactions)))


def drawn(rows, names, items, known, more):
    """The known items of each person with enough of them, as the kernel draws them, by name."""
    matrix = rows.matrix(np.array([names.index(name) for name in rows.names]), len(names))
    places = drawn_people(np.diff(matrix.indptr), known + more, None, 0)
    columns = known_items(matrix[places], items, places, known, 0)
    return [(int(place), [names[at] for at in column]) for place, column in zip(places, columns.T, strict=True)]


WITHOUT_RECORDS = "{method: itemsets, k: 4, m: 3, zeros: allow}"


@pytest.mark.parametrize("method", ["cut", "disassociation", "itemsets"])
def test_of_people_outside_the_data_it_is_counted_whom_the_release_implies_an_item_of(ran, tmp_path, method):
    rows = [set(row) for row in generate(200, seed=5).transactions]
    for name, part in (("d.txt", rows[:120]), ("c.txt", rows[120:])):
        (tmp_path / name).write_text("".join(",".join(sorted(row)) + "\n" for row in part))
    settings, attack = METHODS.get(method, (WITHOUT_RECORDS, "differenced"))
    data, relate = "scenario: s\ndata: {file: d.txt, format: basket}\n", RELATE if method in METHODS else ""
    done, store = ran(settings, attack, "{control: c.txt}", data, relate)
    number = release_of(store, done.variants[0].run)
    held, others = form_of(store, number).load(store, number), rows[120:]
    if method == "itemsets":
        expected = naive_exposure.implied_by_table(held.published.by_itemset, others)
    elif method == "disassociation":
        people = [(None, row) for row in others]
        expected = naive_exposure.implied_in_chunks(held.published, people, outside=True)
    else:
        may = [set(naive_exposure.possible(row)) for row in held.published.transactions]
        shows = [{one for one in row if isinstance(one, str)} for row in held.published.transactions]
        expected = naive_exposure.implied(may, shows, others, others)
    figure = pooled_figures(store, done.variants[0].run)["implied_control", attack]
    assert (figure.value, figure.whole) == (expected, len(others))
    assert expected > 0


@pytest.mark.parametrize("method", slow_but(["shared chunks"], METHODS))
def test_of_every_form_the_figures_are_those_of_the_definitions(ran, method):
    done, connection = ran(*METHODS[method])
    figures = pooled_figures(connection, done.variants[0].run)
    (attack,) = {label for _, label in figures}
    number = release_of(connection, done.variants[0].run)
    held = form_of(connection, number).load(connection, number)
    original = held.original.rows.with_used_names
    control = _control(done, original)
    names = list(dict.fromkeys((*original.names, *control.names)))
    items = signatures(original.matrix(np.array([names.index(name) for name in original.names]), len(names)))
    sets = list(map(set, original))
    release = literal(held)
    (one,) = attacks_of(connection, done.variants[0].run)
    eliminated = (
        None if held.rows is not None else set(eliminated_items(connection, one.attack, parse_rule(one.text).derives))
    )
    plain = Literal(
        lambda known: ([float(set(known) <= row) for row in sets], sum(set(known) <= row for row in sets)),
        {at: at for at in range(len(sets))},
        set(),
    )
    for q in (1, 2, 3):
        people = drawn(original, names, items, q, 0)
        exposed = {
            f"exposed_{q}_original": sum(plain.exposed(*person) for person in people),
            f"exposed_{q}_release": sum(release.exposed(*person) for person in people),
        }
        after = exposed[f"exposed_{q}_release"]
        if eliminated:
            without = literal(held, eliminated)
            after = max(after, sum(without.exposed(*person) for person in people))
        # Nobody works out yet whom an attack on chunks exposes: the figure is missing, and not that of the release.
        shown = {**exposed, f"exposed_{q}": after} if eliminated else exposed
        assert held.rows is None or (f"exposed_{q}", attack) not in figures
        for key, value in shown.items():
            assert (figures[key, attack].value, figures[key, attack].whole) == (value, len(people)), key
        shares = []
        for way, rows in {"release": original, "control": control}.items():
            guesses = []
            for place, known in drawn(rows, names, items, q, 1):
                tied, p = naive.guess(release.estimate, known, release.items)
                guesses.append((p, len(tied & set(rows[place])) / len(tied) if tied else 0.0))
            right = sum(right for _, right in guesses)
            figure = figures[f"inferred_{q}_{way}", attack]
            assert (figure.value, figure.whole) == (pytest.approx(right), len(guesses))
            shares.append(right / len(guesses))
        gain = figures[f"inference_advantage_{q}", attack].value
        assert gain == pytest.approx((shares[0] - shares[1]) / (1 - shares[1]))
        bounds = [figures[f"inference_advantage_{q}_{side}", attack].value for side in ("low", "high")]
        assert bounds[0] < gain < bounds[1] <= 1


def _control(done, original):
    """The records of the clinic that are not published."""
    left = list(map(frozenset, original))
    control = []
    for row in generate(64, 3).transactions:
        if frozenset(row) in left:
            left.remove(frozenset(row))
        else:
            control.append(row)
    assert not left
    assert len(control) == 32 == round(control_share(64) * 64)
    return _in_order(done, control)


def _in_order(done, control):
    """Those records in the order in which they were held out."""
    (seen,) = {tuple(rows) for rows in SEEN}
    assert sorted(map(sorted, seen)) == sorted(map(sorted, control))
    return CodedRows.of(seen).with_used_names


SEEN = []


@pytest.fixture(autouse=True)
def _seen(monkeypatch):
    """Keep the controls that runs measured with."""
    SEEN.clear()
    of = exposure_guesses._Draw.__call__

    def kept(self, original):
        if (control := self.control()) is not None:
            SEEN.append(tuple(control.transactions))
        return of(self, original)

    monkeypatch.setattr(exposure_guesses._Draw, "__call__", kept)


def test_renaming_items_changes_no_figure(tmp_path):
    rows = [list(row) for row in generate(300, 5).transactions]
    items = sorted({item for row in rows for item in row})
    rng = np.random.default_rng(1)
    figures = []
    for _ in range(2):
        name = dict(zip(items, rng.permutation([f"n{at}" for at in range(len(items))]), strict=True))
        renamed = [[name[item] for item in row] for row in rows]
        published = [tuple(sorted(name[item] for item in row)) for row in rows]
        group = {
            name[item]: tuple(sorted(name[other] for other in items[at // 4 * 4 :][:4]))
            for at, item in enumerate(items)
        }
        text = ["".join(f"({','.join(g)})," for g in sorted({group[item] for item in row}))[:-1] for row in published]
        (tmp_path / "o.txt").write_text("".join(",".join(row) + "\n" for row in renamed))
        (tmp_path / "p.txt").write_text("".join(line + "\n" for line in text))
        (tmp_path / "c.txt").write_text("".join(",".join(row) + "\n" for row in renamed[::3]))
        (tmp_path / "s.yaml").write_text(
            "scenario: s\ndata: {file: o.txt, format: basket, published: p.txt}\nattack: [ra]\n"
            "relate: {measure: ngd, source: release}\nmeasure: [{exposure: {control: c.txt}}]\n"
        )
        figures.append(decloak.run(tmp_path / "s.yaml", store=tmp_path / f"{len(figures)}.db").variants[0].measures)
    own = [key for key in metrics_by_key() if key.startswith(("exposed", "infer", "membership"))]
    compared = [key for key in figures[0] if key[0] in own]
    assert {"exposed_3_release", "inferred_2_control", "membership_auc"} <= {name for name, _ in compared}
    for key in compared:
        assert figures[0][key] == pytest.approx(figures[1][key], abs=1e-9), key


def test_a_note_names_the_line_that_gives_an_advantage_and_the_line_works(ran):
    method, attack = METHODS["sets"]
    done, connection = ran(method, attack, "{seed: 1}")
    (note,) = [note for note in notes_of(connection, done.variants[0].run) if "control group" in note]
    assert "add {exposure: {control: held_out}} to measure" in note
    assert ("inferred_2_release", attack) in done.variants[0].measures
    assert ("inference_advantage_2", attack) not in done.variants[0].measures
    again, connection = ran(method, attack)
    assert ("inference_advantage_2", attack) in again.variants[0].measures
    (note,) = [note for note in notes_of(connection, again.variants[0].run) if "control" in note]
    assert "the control is 32 people, held out of the release" in note


def test_records_of_a_file_are_the_control_and_those_in_the_data_are_counted(ran, tmp_path):
    others = [*generate(58, 11).transactions, *generate(64, 3).transactions[:2]]
    (tmp_path / "others.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in others))
    method, attack = METHODS["coat"]
    done, connection = ran(method, attack, "{control: {file: others.jsonl, format: jsonl}}")
    (note,) = [note for note in notes_of(connection, done.variants[0].run) if "control" in note]
    there = list(map(set, generate(64, 3).transactions))
    alike = sum(set(row) in there for row in others)
    assert f"the control is 60 people; {alike} records of the control equal a record of the data" in note
    assert pooled_figures(connection, done.variants[0].run)["exposed_1_original", attack].whole == 64
    first = done.variants[0].measures["inferred_2_control", attack]
    assert ("membership_auc", attack) in done.variants[0].measures
    (tmp_path / "others.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in others[:29]))
    again, connection = ran(method, attack, "{control: {file: others.jsonl, format: jsonl}}")
    (note,) = [note for note in notes_of(connection, again.variants[0].run) if "control" in note]
    assert note.endswith("membership is not measured: that needs a control of 30 people or more")
    assert ("membership_auc", attack) not in again.variants[0].measures
    assert again.variants[0].measures["inferred_2_control", attack] != first


@pytest.mark.parametrize(
    ("measure", "answer"),
    [
        ("{exposure: {control: held_out}}", "no record can be held out; write `control: FILE`"),
        ("{exposure: {control: none.txt}}", "none.txt"),
        ("{exposure: {targets: 10}}", "at least 1000"),
    ],
)
def test_a_control_that_cannot_be_had_is_refused_before_anything_is_written(tmp_path, measure, answer):
    (tmp_path / "o.txt").write_text("a,b\na,c\n")
    (tmp_path / "p.txt").write_text("a,(b,c)\na,(b,c)\n")
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: o.txt, format: basket, published: p.txt}\nattack: [ra]\n"
        f"relate: {{measure: ngd, source: release}}\nmeasure: [{measure}]\n"
    )
    with pytest.raises(DecloakError, match=answer):
        decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")


def test_distance_tables_show_no_records_and_a_note_says_so(tmp_path):
    (tmp_path / "d.csv").write_text("t,a,b\n1,0.5,0.7\n2,0.1,0.9\n")
    (tmp_path / "s.yaml").write_text("scenario: s\ndata: {distances: d.csv}\nattack: [ra]\nmeasure: [exposure]\n")
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert exposure_guesses.NO_TABLES in notes_of(connect_readonly(done.store), done.variants[0].run)


RIGHT = st.lists(st.tuples(st.sampled_from([0.2, 0.5, 0.9]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=9)


@settings(max_examples=200)
@given(RIGHT, st.floats(0.01, 1))
def test_the_surest_guesses_are_the_mean_over_every_order_of_equal_ones(guesses, share):
    p, right = map(np.array, zip(*guesses, strict=True))
    most = int(np.ceil(share * len(p) - 1e-9))
    totals = []
    for seed in range(200):
        order = np.random.default_rng(seed).permutation(len(p))
        totals.append(right[order][np.argsort(-p[order], kind="stable")][:most].sum())
    found = surest(p, right, share)
    assert found.guesses == most
    assert found.right == pytest.approx(np.mean(totals), abs=0.3)
    bounds = sorted(right)[:most], sorted(right, reverse=True)[:most]
    assert sum(bounds[0]) - 1e-9 <= found.right <= sum(bounds[1]) + 1e-9


@given(*[st.lists(st.integers(0, 5), min_size=1, max_size=8)] * 2)
def test_auc_counts_pairs_and_false_positives_are_accepted_in_order_of_scores(members, others):
    pairs = [(a > b) + (a == b) / 2 for a in members for b in others]
    scores = [np.array(scores, float) for scores in (members, others)]
    assert auc(*scores) == pytest.approx(np.mean(pairs))
    # A score is accepted with the chance that uses up the false positives.
    for wanted in (0.0, 0.01, 0.5, 1.0):
        best = 0.0
        for cut in set(members) | set(others):
            above = [np.mean([x > cut for x in side]) for side in (others, members)]
            at = [np.mean([x == cut for x in side]) for side in (others, members)]
            if above[0] <= wanted <= above[0] + at[0]:
                chance = (wanted - above[0]) / at[0] if at[0] else 1.0
                best = max(best, above[1] + chance * at[1])
        assert true_positives(*scores, wanted) == pytest.approx(best)


def test_the_interval_of_an_advantage_holds_it_in_95_of_100_draws():
    rng, held = np.random.default_rng(4), 0
    truth = (0.35 - 0.2) / 0.8
    for _ in range(2_000):
        found = guess_advantage(RightGuesses(rng.binomial(800, 0.35), 800), RightGuesses(rng.binomial(500, 0.2), 500))
        held += found.low <= truth <= found.high
    assert 0.935 < held / 2_000 < 0.965
    assert guess_advantage(RightGuesses(5, 5), RightGuesses(5, 5)) is None
    assert guess_advantage(RightGuesses(10, 10), RightGuesses(0, 10)).value == 1
    assert (
        guess_advantage(RightGuesses(0, 10), RightGuesses(9, 10)).low == -np.inf
        or guess_advantage(RightGuesses(0, 10), RightGuesses(9, 10)).low < -5
    )


def test_values_of_the_same_data_are_computed_once():
    asked = []

    def work_out(original):
        asked.append(original)
        return len(asked)

    first, second, shared = generate(20, 5), generate(20, 5), SharedValues()
    assert [shared.of(data, work_out) for data in (first, first, second, second, first)] == [1, 1, 2, 2, 3]
    assert [one is first for one in asked] == [True, False, True]
