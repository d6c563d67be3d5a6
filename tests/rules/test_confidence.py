"""How likely findings are right: calibrated on what the training never saw, for attacks that learn and that do not."""

import json
import sys
from contextlib import closing
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
from conftest import ROOT
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.attacker.logistic import isotonic
from decloak.attacker.selftrained import TrainingTable, calibration_tables
from decloak.attacker.tables import tables
from decloak.counting.itemsets import among
from decloak.data.assignment import Assignment, PairScores
from decloak.data.disassociated import Disassociated
from decloak.data.generators.clinic import generate
from decloak.measure.kernels.true_rows import TrueRows
from decloak.relate.clusters import item_vectors
from decloak.releases.disassociated import DisassociatedForm
from decloak.releases.registry import form_of
from decloak.rules.eliminate.confidence import (
    FEWEST,
    _count_earlier,
    _covariance_of,
    _Places,
    _shared_error,
    estimate_confidence,
    recalibrate,
)
from decloak.rules.eliminate.kernel import eliminate
from decloak.rules.load import Catalogue
from decloak.rules.reassociate.kernel import reassociate
from decloak.rules.reassociate.posterior import posterior
from decloak.rules.reassociate.scores import SplitRelease
from decloak.store.assigned import no_probabilities, probabilities
from decloak.store.eliminations import read_eliminations
from decloak.store.opening import connect_readonly
from slowly import slow_but
from test_selftrained import frequent_and_rare, generalised, themed

CATALOGUE = Catalogue()
CLINIC = "data: {generate: clinic, transactions: 300, seed: 7}\nrelate: {measure: ngd, source: clinic-counts}\n"
COAT = "anonymise: {method: coat, k: 10, privacy: {count: 20, sizes: [3]}}\nattacker: {context: all}\n"


def assert_calibrated(p, right, deciles):
    """In every decile with 200 eliminations, the share that is right lies in it, or within .05."""
    p, right = np.asarray(p), np.asarray(right)
    reached = 0
    for low in np.arange(0, 1, 0.1):
        within = (p >= low) & (p < low + 0.1)
        if within.sum() >= 200:
            reached += 1
            assert low - 0.05 <= right[within].mean() <= low + 0.15, (low, within.sum(), right[within].mean())
    assert reached >= deciles


def _eliminated(distances, strategy, name):
    seeds = list(range(len(distances))) if name == "ra" else None
    return dict(enumerate(eliminate(distances, strategy, seeds=seeds)))


@pytest.fixture(scope="module")
def frequent():
    """Return the records of a seed, the tables of their release, and tables of plain items to try a rule on."""

    @cache
    def made(seed):
        rows, distance, sets = frequent_and_rare(seed)
        published = generalised(rows, sets)
        attacked = tables(published, distance, None)
        return rows, attacked, calibration_tables(
            published, attacked, lambda pairs: {pair: distance[pair] for pair in pairs}, None
        )  # fmt: skip

    return made


@pytest.mark.parametrize("seeds", slow_but([3], [3, 5]))
@pytest.mark.parametrize(("name", "deciles"), [("tba", 2), ("ra", 1), ("rba", 2), ("gba", 2), ("wba", 2)])
def test_eliminations_of_rules_that_do_not_learn_are_right_as_often_as_they_say(frequent, name, deciles, seeds):
    strategy = CATALOGUE.rule(name).compiled
    p, right = [], []
    for seed in range(seeds):
        rows, attacked, tried = frequent(seed)
        done, rehearsed = (_eliminated([table.d for table in every], strategy, name) for every in (attacked, tried))
        sure = estimate_confidence(done, rehearsed, [likeness.meant for likeness in tried])
        p += sure.p.tolist()
        for number, table in enumerate(attacked):
            meant = [[member in rows[row] for member in table.columns] for row in table.transactions]
            steps = done[number].steps
            right += [not meant[row][col] for row, col in zip(steps.row.tolist(), steps.col.tolist(), strict=True)]
    assert_calibrated(p, right, deciles)


class Held(NamedTuple):
    """A release as its form reads it."""

    published: Disassociated


@pytest.fixture(scope="module")
def disassociated():
    """Releases with the relatedness they show, their records, and how likely each row has each unit."""
    releases = []
    for seed in range(8):
        records = [tuple(row) for row in generate(1500, seed).transactions]
        made = disassociate(records, k=3, m=2, max_cluster=25)
        vectors = item_vectors(
            [one.items for one in made.release.clusters], [one.size for one in made.release.clusters], 20
        )
        near = {
            (a, b): 1 - float(vectors[a] @ vectors[b]) for a, b in DisassociatedForm().pairs(Held(made.release), None)
        }
        releases.append((made.release, near, TrueRows(made.release, records, made.truth)))
    return [
        (*release, posterior(SplitRelease(release[0]), [PairScores(release[1], "smaller", 1.0)]))
        for release in releases
    ]


@pytest.mark.parametrize("name", slow_but(["aba", "bayes"], ["random", "aba", "bayes", "expectation"]))
def test_what_rows_are_given_is_right_as_often_as_it_says(name, disassociated):
    rule = CATALOGUE.rule(name).compiled
    p, right = [], []
    for release, near, behind, sure in disassociated:
        given_rows = reassociate(release, near, rule, closer="smaller", unrelated=1.0)
        each = [Assignment(c, chunk, unit, (row,)) for c, chunk, unit, rows in given_rows for row in rows]
        gifts = behind.assigned_units(each)
        right += among(gifts.unit * behind.rows + gifts.row, behind.true).tolist()
        p += sure.of(given_rows).tolist()
    assert_calibrated(p, right, 4)


@pytest.mark.slow
def test_links_that_can_be_certain_are_right_as_often_as_it_says_whatever_the_structure(monkeypatch):
    """On records of sharp kinds every tenth up to the last has 200 links, which they never have on the clinic's."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import effect_reliability as effect

    structures = product(effect.KINDS, effect.OFTEN, effect.LARGEST, range(3))
    links = [link for structure in structures for link in effect.links("expectation", *structure)]
    for module in ("effect_reliability", "effect_clusters", "effect_reassociate", "bench_reassociate", "timing"):
        sys.modules.pop(module, None)
    p, right = zip(*links, strict=True)
    assert sum(0.8 <= chance < 0.9 for chance in p) >= 200
    assert_calibrated(p, right, 9)


@given(st.lists(st.integers(0, 4), max_size=12))
def test_what_came_before_is_counted(places):
    assert _count_earlier(np.array(places, np.int64)).tolist() == [
        places[:at].count(place) for at, place in enumerate(places)
    ]


def test_too_few_eliminations_on_plain_items_say_nothing():
    rows, distance = themed(count=60)
    published = generalised(rows)
    attacked = tables(published, distance, None)
    strategy = CATALOGUE.rule("mda").compiled
    done = dict(enumerate(eliminate([table.d for table in attacked], strategy)))
    sure = estimate_confidence(done, done, [np.zeros(table.d.shape) for table in attacked])
    assert sure.p is None
    assert f"{sum(len(each.steps.row) for each in done.values())} eliminations were right and 0 wrong" in sure.reason
    assert FEWEST > 1


def attacked_by(tmp_path, attacks, method=COAT, more="measure: [recovery, calibration]\n"):
    (tmp_path / "s.yaml").write_text(f"scenario: sure\n{CLINIC}{method}attack: {attacks}\n{more}")
    return decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")


def test_every_attack_says_how_sure_it_is_or_why_not(tmp_path, call):
    expect = 'expect: ["certain_links(rba) >= 0", "brier(rba) < brier_baseline(rba) + 0.02"]\n'
    attacks = "[mda, tba, rba, centred, {rule: km_violation, k: 3, m: 2}]"
    done = attacked_by(tmp_path, attacks, more=f"measure: [recovery, calibration]\n{expect}")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        numbers = dict(connection.execute("select label, attack from run_attack").fetchall())
        for name in ("tba", "rba", "centred"):
            p = probabilities(connection, numbers[name])
            assert ((p > 0) & (p < 1)).all()
        assert probabilities(connection, numbers["mda"]) is None
        assert "too few for an estimate" in no_probabilities(connection, numbers["mda"])
        assert "is certain" in no_probabilities(connection, numbers["km_violation"])
    assert done.ok
    listed = json.loads(call("explain", "last", "--attack", "rba", "--store", tmp_path / "s.db", "--json").out)
    assert all("; right with probability 0." in row["because"] for row in listed)


def test_the_truth_has_no_part_in_it(tmp_path, call):
    """The same release without its originals gives the same probabilities."""
    attacked_by(tmp_path, "[rba]", more="")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        known = probabilities(connection, 1)
    assert call("publish", "1", tmp_path / "r.txt", "--store", tmp_path / "s.db").code == 0
    (tmp_path / "t.yaml").write_text(
        "scenario: sure\ndata: {published: r.txt}\nrelate: {measure: ngd, source: clinic-counts}\n"
        "attacker: {context: all}\nattack: [rba]\n"
    )
    decloak.run(tmp_path / "t.yaml", store=tmp_path / "t.db")
    with closing(connect_readonly(tmp_path / "t.db")) as connection:
        assert probabilities(connection, 1) == pytest.approx(known)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=20))
def test_a_levelled_curve_is_the_nearest_that_never_falls(points):
    from scipy.optimize import isotonic_regression

    values, weights = (np.array(part) for part in zip(*points, strict=True))
    nearest = isotonic_regression(values, weights=weights.astype(float)).x
    assert isotonic(values, weights) == pytest.approx(nearest, abs=1e-9)


def test_tosses_of_a_coin_are_not_said_to_be_certain(tmp_path):
    decloak.run(ROOT / "scenarios" / "quickstart.yaml", store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        (tossed,) = connection.execute("select attack from run_attack where label = 'ra'").fetchone()
        p = probabilities(connection, tossed)
    assert p is not None
    assert p.max() < 0.9  # chance is .75, and nothing tells one toss from another


def in_columns(weights, columns=1):
    """Eliminations of one table for each row of `weights`, in as many columns."""
    tables = []
    for of_table in np.asarray(weights, float):
        row = np.arange(len(of_table))
        steps = SimpleNamespace(row=row, col=row % columns, weight=of_table)
        tables.append(SimpleNamespace(steps=steps, kept=np.zeros((len(row), columns))))
    return tables


def recalibrated(weights, right, attacked, columns=(1, 1), items=None):
    """The probabilities of eliminations with the weights `attacked`, tried on some that are `right` or not.

    `columns` are those of each table that was tried, and of each attacked one. `items` is the number of items that the
    tried tables are of: each column has one of its own, if it is None.
    """
    tried, done = in_columns(weights, columns[0]), in_columns(attacked, columns[1])
    training = []
    for number, (table, of_table) in enumerate(zip(tried, np.asarray(right, float), strict=True)):
        cells = np.zeros(table.kept.shape)
        cells[table.steps.row, table.steps.col] = 1 - of_table
        names = (number * columns[0] + column for column in range(columns[0]))
        members = tuple(f"i{name if items is None else name % items}" for name in names)
        training.append(TrainingTable(cells, cells, members))
    return recalibrate(dict(enumerate(done)), tried, training)


def test_an_elimination_has_the_share_that_is_right_where_the_truth_is_known():
    """Also where this is less than the probability of its cell: a wrong probability would be no comfort either way."""
    weights = np.linspace(0.3, 0.8, 400).reshape(100, 4)
    for share in (0.0, 0.25, 0.5, 0.75):
        right = np.arange(400).reshape(100, 4) % 4 < 4 * share
        assert recalibrated(weights, right, weights).p == pytest.approx(share, abs=1e-3)


def test_errors_that_a_column_has_in_common_leave_no_probability():
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.45, 0.55, (1_000, 20))
    alone, together = rng.random((1_000, 20)) < 0.5, np.repeat(rng.random(1_000) < 0.5, 20).reshape(1_000, 20)
    few = weights[:5]
    assert np.isfinite(recalibrated(weights, alone, few).p).all()
    withheld = recalibrated(weights, together, few)
    assert withheld.p is None
    assert withheld.reason.startswith("100 of 100 eliminations have no probability: those of one member are often")
    # With enough members their errors cancel.
    many = rng.uniform(0.45, 0.55, (4_000, 2))
    assert np.isfinite(recalibrated(weights, together, many).p).all()


def test_few_published_items_behind_an_estimate_leave_no_probability():
    """Errors that an item has in all tables do not cancel, however many tables have it."""
    rng = np.random.default_rng(4)
    weights, many = rng.uniform(0.45, 0.55, (400, 20)), rng.uniform(0.45, 0.55, (4_000, 2))
    of_item = rng.random(20) < 0.5
    together = np.repeat(of_item[np.arange(400) % 20], 20).reshape(400, 20)
    assert recalibrated(weights, together, many, items=20).p is None
    assert np.isfinite(recalibrated(weights, together, many).p).all()


def test_errors_of_two_columns_of_a_table_that_cancel_leave_the_probability():
    """One member is right where the other is wrong: half of them are right in every table."""
    weights = np.full((200, 20), 0.5)
    first = np.random.default_rng(2).random(200) < 0.5
    opposite = (np.arange(20) % 2 == 0) == first[:, None]
    assert np.isfinite(recalibrated(weights, opposite, weights[:5], columns=(2, 2)).p).all()
    assert recalibrated(weights, opposite, weights[:5], columns=(2, 1)).p is None  # one of the two only


@pytest.mark.parametrize("less_sure", [0.5, 0.85])
def test_the_surest_eliminations_always_have_a_probability_and_a_reason_tells_of_the_others(less_sure):
    weights = np.concatenate([np.full((100, 20), 0.96), np.full((100, 20), less_sure)])
    together = np.repeat(np.random.default_rng(3).random(200) < np.repeat((0.96, less_sure), 100), 20).reshape(200, 20)
    confidence = recalibrated(weights, together, weights[97:103])
    assert np.isfinite(confidence.p).tolist() == [True] * 60 + [False] * 60
    assert confidence.reason.startswith("60 of 120 eliminations have no probability")


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(0.1, 0.9), st.booleans()), min_size=1, max_size=9
    ),
    st.booleans(),
)
def test_covariances_are_means_over_all_pairs(cells, apart):
    table, column, p, right = map(np.array, zip(*cells, strict=True))
    # A column of every table is of one item, or of an item of its own.
    item = 3 * table + column if apart else column
    places = _Places(table, 3 * table + column, item)
    found = _covariance_of(p, right.astype(float), places)
    error = (right - p) / np.sqrt(p * (1 - p))
    two = [(one, other) for one, other in product(range(len(cells)), repeat=2) if one != other]
    same = [error[a] * error[b] for a, b in two if item[a] == item[b]]
    other = [error[a] * error[b] for a, b in two if table[a] == table[b] and column[a] != column[b]]
    assert found == pytest.approx((np.mean(same or [0]), np.mean(other or [0])), abs=1e-9)
    expected = np.mean(p * (1 - p)) * (found.same * len(same) + found.other * len(other)) / len(cells) ** 2
    assert _shared_error(p, places, found) == pytest.approx(np.sqrt(max(0, expected)), abs=1e-9)


SELECTED = """\
scenario: Are eliminations as often right as they say?
data: {generate: DATA}
anonymise: {method: sets, size: SIZE, share: 0.4}
relate: {measure: ngd, source: SOURCE}
attacker: {context: all}
attack: [selftrained]
measure: [recovery, calibration]
repeat: {times: TIMES, seed: 1}
"""
CLINIC_800 = {"DATA": "clinic, transactions: 800, seed: 3", "SIZE": 3, "SOURCE": "clinic-counts"}
BASKETS_600 = {"DATA": "baskets, transactions: 600, seed: 1", "SIZE": 2, "SOURCE": "release"}


def learned_eliminations(tmp_path, monkeypatch, times, data=CLINIC_800):
    """Return the cells that `selftrained` eliminates, the stated probability of each, and whether it is right."""
    monkeypatch.setattr("decloak.rules.operators.eliminate.CONTROLS", ())
    text = SELECTED
    for word, value in {**data, "TIMES": times}.items():
        text = text.replace(word, str(value))
    (tmp_path / "s.yaml").write_text(text)
    decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    cells, said, right = [], [], []
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        for attack, release in connection.execute("select id, release from attack order by id").fetchall():
            held = form_of(connection, release).load(connection, release)
            original = {table.id: table.original for table in held.true_tables(release)}
            eliminated = read_eliminations(connection, attack)
            cells += eliminated.weights.tolist()
            stated = probabilities(connection, attack)
            said += [np.nan] * len(eliminated.weights) if stated is None else stated.tolist()
            places = zip(eliminated.tables.tolist(), eliminated.rows.tolist(), eliminated.cols.tolist(), strict=True)
            right += [not original[table][row, col] for table, row, col in places]
    return np.array(cells), np.array(said), np.array(right)


@pytest.mark.slow
def test_eliminations_are_said_to_be_right_as_often_as_what_is_eliminated_not_as_all_cells(tmp_path, monkeypatch):
    """A cell of .4 is eliminated only where a likelier member is left: the last of a row stays, so more are right."""
    cells, said, right = learned_eliminations(tmp_path, monkeypatch, 2)
    stated = np.isfinite(said)
    assert stated.mean() > 0.9
    cells, said, right = cells[stated], said[stated], right[stated]
    unlikely = cells < 0.65
    assert unlikely.sum() >= 200
    assert right[unlikely].mean() - cells[unlikely].mean() > 0.05
    assert said[unlikely].mean() == pytest.approx(right[unlikely].mean(), abs=0.05)
    assert said.mean() == pytest.approx(right.mean(), abs=0.03)


@pytest.mark.slow
def test_every_tenth_of_what_is_eliminated_is_right_as_often_as_it_says(tmp_path, monkeypatch):
    _, said, right = learned_eliminations(tmp_path, monkeypatch, 4)
    tenths = [tenth for tenth in (np.floor(said * 10) == number for number in range(10)) if tenth.sum() >= 200]
    assert len(tenths) >= 4
    for tenth in tenths:
        assert said[tenth].mean() == pytest.approx(right[tenth].mean(), abs=0.05)


@pytest.mark.slow
def test_on_a_small_release_of_unrelated_items_no_probability_is_stated(tmp_path, monkeypatch, call):
    """The items of a set are right or wrong together there: .496 was stated where .255 were right."""
    _, said, right = learned_eliminations(tmp_path, monkeypatch, 1, BASKETS_600)
    assert len(right) > 1_000
    assert np.isnan(said).all()
    shown = call("show", "last", "--store", tmp_path / "s.db")
    assert "calibration cannot be measured" in " ".join((shown.out + shown.err).split())
    (one,) = json.loads(call("explain", "last", "--store", tmp_path / "s.db", "--json", "--most", 1).out)
    assert "right with probability" not in one["because"]
