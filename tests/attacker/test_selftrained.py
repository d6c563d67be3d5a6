"""What an attacker learns from a release's own plain items: likeness tables, features, the classifier, its controls."""

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.attacker import selftrained
from decloak.attacker.cell_features import Occurrences, cell_features, pairs_of
from decloak.attacker.logistic import learn
from decloak.attacker.selftrained import learn_from_release, plain_item_tables
from decloak.attacker.tables import tables
from decloak.data.pairs import AttackTable
from decloak.data.published import Published
from decloak.errors import DecloakError
from decloak.relate.combined import combine_measures
from decloak.rules.load import Catalogue
from decloak.rules.operators.eliminate import _threshold_for
from slowly import slow_but

ITEMS = ["knee pain", "knee injury", "flu", "cough", "back pain", "icd"]


def _of_cell(scores, context, member, best):
    known = [scores[item, member] for item in context if scores.get((item, member)) is not None]
    return best(known) if known else None


def naive_features(table, measures):
    """Cell by cell and word by word, from the definitions."""
    known = [[s for s in scores.values() if s is not None] for scores in measures]
    usual = [sum(values) / len(values) if values else 0.0 for values in known]
    grids = []
    for scores, mean in zip(measures, usual, strict=True):
        for best in (lambda values: sum(values) / len(values), min):
            grid = [[_of_cell(scores, context, m, best) for m in table.members] for context in table.contexts]
            there = [value for row in grid for value in row if value is not None]
            fill = sum(there) / len(there) if there else mean
            grids.append([[fill if value is None else value for value in row] for row in grid])
    grids.append(
        [
            [sum(bool(set(c.split()) & set(m.split())) for c in context) for m in table.members]
            for context in table.contexts
        ]
    )
    rows, columns = len(table.contexts), len(table.members)
    every = []
    for i in range(rows):
        for j in range(columns):
            cell = []
            for grid in grids:
                row, column = sum(grid[i]) / columns, sum(line[j] for line in grid) / rows
                whole = sum(map(sum, grid)) / rows / columns
                rank = sum(v < grid[i][j] or (v == grid[i][j] and at < j) for at, v in enumerate(grid[i]))
                cell += [
                    grid[i][j],
                    grid[i][j] - row,
                    grid[i][j] - column,
                    grid[i][j] - row - column + whole,
                    rank / max(1, columns - 1),
                ]
            every.append([*cell, math.log(rows), math.log(columns)])
    return every


score = st.none() | st.integers(0, 8).map(lambda eighth: eighth / 8)


@st.composite
def occurrences(draw):
    members = draw(st.lists(st.sampled_from(ITEMS), min_size=2, max_size=4, unique=True))
    context = st.lists(st.sampled_from(["knee cap", "pain", "fever", "heart"]), min_size=1, max_size=3, unique=True)
    return Occurrences(tuple(members), tuple(map(tuple, draw(st.lists(context, min_size=1, max_size=4)))))


@settings(max_examples=80)
@given(occurrences(), st.data())
def test_features_are_those_of_the_definitions(table, data):
    pairs = pairs_of([table])
    scored = st.lists(score, min_size=len(pairs), max_size=len(pairs))
    measures = [dict(zip(pairs, data.draw(scored), strict=True)) for _ in range(2)]
    found, expected = cell_features([table], measures), np.array(naive_features(table, measures))
    assert found[:, [c for c in range(27) if c % 5 != 4 or c > 24]] == pytest.approx(
        expected[:, [c for c in range(27) if c % 5 != 4 or c > 24]], abs=1e-9
    )
    # Ranks are of values that may differ by rounding alone: the sum of a row is what they share.
    assert np.sort(found[:, 4::5]).sum() == pytest.approx(expected[:, 4::5].sum())


def test_every_pair_that_a_feature_needs_is_asked_for_once():
    table = Occurrences(("a", "b"), (("x", "y"), ("y",)))
    assert Counter(pairs_of([table, table])) == Counter([("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")])


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_no_other_weights_make_what_was_learned_from_more_likely(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 3)) * [1, 5, 0.1] + [0, 3, 1]
    kind = (rng.random(60) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)
    learned = learn(x, kind)

    def likelihood(weights):
        z = weights[0] + ((x - x.mean(0)) / x.std(0)) @ weights[1:]
        return (kind * z - np.logaddexp(0, z)).sum() - (weights[1:] ** 2).sum() / 2

    best = likelihood(learned.weights)
    for side in range(4):
        for step in (-0.01, 0.01):
            moved = learned.weights.copy()
            moved[side] += step
            assert likelihood(moved) <= best + 1e-9


def test_what_is_the_same_everywhere_is_not_learned_from():
    learned = learn(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0, 0.0, 1.0]))
    one, other = learned.probability(np.array([[9.0, 1.0], [1.0, 1.0]])).tolist()
    assert one == pytest.approx(other)


def themed(count=400, seed=1, each=20):
    """Transactions of items of one of three themes, and distances that are small within a theme, with noise."""
    rng = random.Random(seed)
    items = {theme: [f"{theme}{number}" for number in range(each)] for theme in "abc"}
    rows = [tuple(rng.sample(items[rng.choice("abc")], 5)) for _ in range(count)]
    noise = random.Random(seed + 1)
    every = sorted(item for group in items.values() for item in group)
    distance = {(x, y): (0.3 if x[0] == y[0] else 0.7) + noise.uniform(-0.35, 0.35) for x in every for y in every}
    return rows, distance


def generalised(rows, shuffled=None):
    """Four generalised items, of an item of each theme, or others."""
    sets = {f"{theme}{number}": tuple(f"{theme}{number}" for theme in "abc") for number in range(4) for theme in "abc"}
    sets = {item: members for members in sets.values() for item in members} if shuffled is None else shuffled
    published = tuple(tuple(sets.get(item, item) for item in row) for row in rows)
    return Published(tuple(tuple(dict.fromkeys(row)) for row in published), tuple(map(str, range(len(rows)))))


CONTROLLED = [(None, 0.9, 1), ("labels", 0.26, 0.41), ("contexts", 0.26, 0.41), ("words", 0.9, 1), ("order", 0.9, 1)]


@pytest.mark.parametrize(("control", "low", "high"), CONTROLLED)
def test_members_of_the_theme_are_told_from_added_ones_and_controls_fall_to_chance(control, low, high):
    rows, distance = themed()
    published = generalised(rows)
    attacked = tables(published, distance, None)
    p = learn_from_release(
        published, attacked, lambda pairs: [{pair: distance[pair] for pair in pairs}], control=control
    ).added
    right = []
    for table, of_table in zip(attacked, p, strict=True):
        for row, number in enumerate(table.transactions):
            best = table.columns[int(of_table[row].argmin())]
            right.append(best in rows[number])
    assert low <= np.mean(right) <= high  # one of three by chance


def frequent_and_rare(seed):
    """As `themed`, but of a hundred items of each theme that are the rarer the higher their number."""
    rng = random.Random(seed)
    items = {theme: [f"{theme}{number}" for number in range(100)] for theme in "abc"}
    weights = [1 / (number + 5) for number in range(100)]
    rows = [tuple(dict.fromkeys(rng.choices(items[rng.choice("abc")], weights, k=6))) for _ in range(600)]
    every = sorted({item for row in rows for item in row})
    distance = {(x, y): (0.3 if x[0] == y[0] else 0.7) + rng.uniform(-0.35, 0.35) for x in every for y in every}
    hidden = rng.sample(every, len(every) // 9 * 3)
    return rows, distance, {item: tuple(hidden[at - at % 3 : at - at % 3 + 3]) for at, item in enumerate(hidden)}


def test_the_control_of_words_alone_sees_no_spelling(monkeypatch):
    seen = []
    monkeypatch.setattr(selftrained, "_learn", lambda published, attacked, measures, *_: seen.append(measures.spelling))
    rows, _ = themed(count=20)
    published = generalised(rows)
    for control in (None, "labels", "contexts", "words"):
        learn_from_release(published, [], lambda pairs: [], control=control)
    assert seen == [True, True, True, False]


@pytest.mark.parametrize("seeds", slow_but([2], [2, 4]))
def test_probabilities_are_calibrated_on_what_the_training_never_saw(seeds):
    pairs = []
    for seed in range(seeds):
        rows, distance, sets = frequent_and_rare(seed)
        published = generalised(rows, sets)
        attacked = tables(published, distance, None)
        relate = lambda asked, d=distance: [{pair: d[pair] for pair in asked}]  # noqa: E731
        for table, p in zip(attacked, learn_from_release(published, attacked, relate).added, strict=True):
            added = [[member not in rows[number] for member in table.columns] for number in table.transactions]
            pairs += zip(p.ravel().tolist(), np.array(added).ravel().tolist(), strict=True)
    parts = [[(p, added) for p, added in pairs if low <= p < low + 0.2] for low in (0, 0.2, 0.4, 0.6, 0.8)]
    assert sum(len(part) >= 200 for part in parts) >= 4
    for part in parts:
        if len(part) >= 200:
            assert np.mean([added for _, added in part]) == pytest.approx(np.mean([p for p, _ in part]), abs=0.07)


def test_likeness_tables_are_of_plain_items_and_of_the_same_shapes():
    rows, _ = themed()
    published = generalised(rows)
    hidden = {item for element in published.generalised for item in element}
    draws = plain_item_tables(published, [(3, 90), (4, 120)], np.random.default_rng(1))
    made = [table for draw in draws for table in draw]
    assert len(made) == 16
    for occurrences_, meant in made:
        assert not hidden & set(occurrences_.members)
        assert meant.shape == (len(occurrences_.contexts), len(occurrences_.members))
        assert meant.any(axis=1).all()
        assert all(not set(context) & set(occurrences_.members) for context in occurrences_.contexts)
    assert np.mean([len(one.contexts) for one, meant in made if len(one.members) == 3]) == pytest.approx(90, rel=0.35)


@pytest.mark.parametrize(("cells", "times"), [(90, 24), (1_000, 20), (2_400, 8), (90_000, 8)])
def test_the_fewer_cells_are_attacked_the_more_tables_teach(monkeypatch, cells, times):
    rows, _ = themed()
    asked = []

    def drawn(published, shapes, rng, nearest, times):
        asked.append(times)
        return []

    monkeypatch.setattr(selftrained, "plain_item_tables", drawn)
    members, contexts = ("a", "b"), (("c",),) * (cells // 2)
    table = AttackTable(members, np.arange(cells // 2), members, contexts, np.zeros((cells // 2, 2)))
    learn_from_release(generalised(rows), [table], lambda pairs: [])
    assert asked == [times]


def test_the_nearest_items_are_those_around_what_would_be_generalised():
    published = Published((("x", "y", "a", "z"), ("a", "b", "q"), ("b", "r")), ("1", "2", "3"))
    draws = plain_item_tables(published, [(2, 3)], np.random.default_rng(0), nearest=1)
    made = [table for draw in draws for table in draw]
    contexts = {table.members: table.contexts for table, _ in made}
    for members, shown in contexts.items():
        assert all(len(context) == 1 for context in shown)
        if set(members) == {"a", "b"}:
            assert shown == (("y",), ("q",), ("r",))


def test_with_too_little_to_learn_from_nothing_is_known():
    published = Published((("x", ("a", "b")), ("y", ("a", "b"))), ("1", "2"))
    attacked = tables(published, {("x", "a"): 0.1, ("y", "b"): 0.2}, None)
    assert all(np.isnan(p).all() for p in learn_from_release(published, attacked, lambda pairs: []).added)


@pytest.mark.slow
def test_a_run_learns_and_its_controls_fall_to_chance(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "scenario: What do the plain items teach?\n"
        "data: {generate: clinic, transactions: 600, seed: 7}\n"
        "anonymise: {method: coat, k: 10, privacy: {count: 20, sizes: [3]}}\n"
        "relate: [{measure: ngd, source: clinic-counts}, {measure: ngd, source: release}]\n"
        "attacker: {context: all}\n"
        "attack: [selftrained, centred]\n"
        'expect: ["f1(selftrained) > f1(selftrained_contexts) + 0.05", '
        '"f1(selftrained) > f1(selftrained_labels) + 0.05"]\n'
    )
    assert decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db").ok


def test_distance_tables_have_no_plain_items_to_learn_from(tmp_path):
    (tmp_path / "d.csv").write_text("clinic,a,b\nx,0.1,0.9\ny,0.8,0.2\n")
    (tmp_path / "s.yaml").write_text("scenario: x\ndata: {distances: d.csv}\nattack: [selftrained]\n")
    with pytest.raises(DecloakError, match="learns from plain items"):
        decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")


@settings(max_examples=80)
@given(st.lists(st.lists(score, min_size=5, max_size=5), min_size=1, max_size=3), st.sampled_from(["mean", "minimum"]))
def test_combined_distances_are_those_of_standardised_measures(drawn, by):
    pairs = [("x", str(number)) for number in range(5)]
    measures = [dict(zip(pairs, values, strict=True)) for values in drawn]
    z = []
    for values in drawn:
        known = [v for v in values if v is not None]
        mean = sum(known) / len(known) if known else 0
        deviation = math.sqrt(sum((v - mean) ** 2 for v in known) / len(known)) if known else 0
        z.append([None if v is None else (v - mean) / deviation if deviation > 1e-9 else 0.0 for v in values])
    expected = []
    for values in zip(*z, strict=True):
        known = [v for v in values if v is not None]
        expected.append(None if not known else min(known) if by == "minimum" else sum(known) / len(known))
    least = min((v for v in expected if v is not None), default=0)
    found = list(combine_measures(measures, by).values())
    assert [v is None for v in found] == [v is None for v in expected]
    assert [v for v in found if v is not None] == pytest.approx(
        [v - least for v in expected if v is not None], abs=1e-9
    )


def test_weights_count_among_the_measures_that_have_a_score():
    one, two = {("a", "b"): 0.0, ("a", "c"): 2.0}, {("a", "b"): 4.0, ("a", "c"): 2.0}
    assert combine_measures([one, two], weights=[3, 1]) == {("a", "b"): 0.0, ("a", "c"): 1.0}
    assert combine_measures([one, two | {("a", "b"): None}], weights=[3, 1])[("a", "b")] == 0.0


SURE = """\
rule: sure
form: eliminate
about: x
cells: select * from distance
learn: release
weigh: added
groups: [table]
suspicion: largest
threshold: none
eliminate: while precision >= 0.9
because: x
reference: ours
wrong_when: never
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("learn: release\nweigh: added", "weigh: d", "precision is expected of what is learned"),
        ("threshold: none", "threshold: 0.5", "precision is expected of what is learned"),
        ("while precision >= 0.9", "while precision >= 90", "unknown choice 'while precision >= 90'"),
        ("weigh: added", "weigh: d", "what is learned is not weighed"),
    ],
)
def test_what_is_not_learned_cannot_be_weighed(tmp_path, old, new, message):
    (tmp_path / "sure.yaml").write_text(SURE.replace(old, new))
    with pytest.raises(DecloakError, match=message):
        Catalogue().rule(str(tmp_path / "sure.yaml"))


@settings(max_examples=80)
@given(st.lists(st.integers(0, 20).map(lambda p: p / 20), max_size=12), st.sampled_from([0.5, 0.8, 0.9, 1.0]))
def test_eliminations_go_on_as_long_as_their_mean_probability_allows(drawn, precision):
    threshold = _threshold_for([np.array(drawn[:5]), np.array(drawn[5:])], precision)
    falling = sorted(drawn, reverse=True)
    enough = [n for n in range(1, len(falling) + 1) if sum(falling[:n]) / n >= precision - 1e-12]
    eliminated = sum(p > threshold for p in drawn)
    # Of equals that together would be too many, all go: nothing tells them apart.
    assert eliminated == sum(p >= falling[max(enough) - 1] for p in falling) if enough else eliminated == 0
