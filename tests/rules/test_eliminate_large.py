"""Eliminations from large tables by compiled loops: the same cells as the naive twin, and as the plain rounds."""

import hashlib
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import naive_eliminate as naive
from decloak.errors import DecloakError
from decloak.rules.eliminate.kernel import eliminate
from published_attacks import ATTACKS, BY_COUNTS, TABLE, cells, groups
from slowly import slow_but
from test_eliminate_golden import GOLDEN, agrees
from test_eliminate_properties import IN_ROUNDS, same, tables

pytest.importorskip("numba", reason="numba is not installed")
loops = pytest.importorskip("decloak.rules.eliminate.loops")

# No factor makes 1e-9 of them: what differs by just that is decided by the last digit, which depends on what is
# multiplied first.
NUDGES = [0, 0, 0, 4.0327e-10, 8.1739e-10, 1.28917e-9]
PLANS = {"wba": naive.WBA, "gba": naive.GBA, "rba": naive.RBA}
CALLED = ("blocks", "gaps", "keys", "moves", "patterns", "suspicions")
UNSEPARATED = [name for name in IN_ROUNDS if name not in PLANS]


@pytest.fixture
def small_blocks(monkeypatch):
    """Lines in blocks of four, and all that is handed on is noted with them, as in lines of many thousand cells."""
    monkeypatch.setattr(loops, "lines", partial(loops.lines, full=4, eager=0))


@pytest.fixture(params=["by patterns", "one by one"])
def alike(request, monkeypatch):
    """Bars are looked at by patterns however small the table, or never."""
    monkeypatch.setattr(loops, "patterns", partial(loops.patterns, few=0 if request.param == "by patterns" else 10**9))


@st.composite
def tall(draw):
    """A table of many rows, or of many columns, of many ties or few, some cells unscored."""
    shape = draw(st.sampled_from([(40, 3), (3, 40), (25, 6), (6, 25), (14, 14), (60, 2)]))
    rng, levels = np.random.default_rng(draw(st.integers(0, 10**6))), draw(st.sampled_from([2, 4, 20, 10**6]))
    d = rng.integers(0, levels + 1, shape) / levels + rng.choice(NUDGES, shape) * draw(st.booleans())
    d[rng.random(shape) < draw(st.sampled_from([0, 0, 0.3]))] = np.nan
    return d


def as_plain(d, name, **choices):
    """The same from the plain form and from the loops."""
    (plain,), (loops,) = (eliminate([d], ATTACKS[name], accelerated=how, **choices) for how in (False, True))
    assert (cells(loops), groups(loops)) == (cells(plain), groups(plain))
    assert loops.threshold == plain.threshold
    for ours, theirs in (
        *zip(loops.steps[5:7], plain.steps[5:7], strict=True),
        *((getattr(loops, name), getattr(plain, name)) for name in ("weight", "row_weight", "col_weight")),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", slow_but(set(PLANS) - {"gba"}, PLANS))
def test_random_tables_of_the_golden_file(name):
    tables = GOLDEN["tables"]
    for done, one in zip(
        eliminate([one["table"] for one in tables], ATTACKS[name], accelerated=True), tables, strict=True
    ):
        agrees(done, one[name])


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("case", GOLDEN["edge"], ids=lambda case: case["name"])
def test_edge_cases_of_the_golden_file(name, case):
    (done,) = eliminate([case["table"]], ATTACKS[name], accelerated=True)
    agrees(done, case[name])


@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=st.lists(tables(largest=9), min_size=1, max_size=4))
def test_small_tables_are_those_of_the_naive_twin(small_blocks, alike, name, batch):
    for done, rows in zip(eliminate(batch, ATTACKS[name], accelerated=True), batch, strict=True):
        same(done, rows, PLANS[name])


@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(d=tall(), threshold=st.sampled_from([None, None, 0.0, 0.05, 0.25]))
def test_tall_and_wide_tables_are_those_of_the_naive_twin(small_blocks, alike, name, d, threshold):
    rows = [[None if np.isnan(x) else x for x in row] for row in d.tolist()]
    (done,) = eliminate([d], ATTACKS[name], threshold=threshold, accelerated=True)
    same(done, rows, PLANS[name], threshold)


@pytest.mark.parametrize("name", slow_but(["wba"], PLANS))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), shape=st.sampled_from([(500, 5), (4, 700), (80, 80)]))
@example(7721, (4, 700))  # a split moves the value of a tie by its last digit, and the one put in into a full block
def test_many_cells_go_as_in_the_plain_form(small_blocks, alike, name, seed, shape):
    rng = np.random.default_rng(seed)
    as_plain(rng.random(shape), name)
    as_plain(rng.integers(0, 8, shape) / rng.integers(1, 8, (shape[0], 1)), name)


@pytest.mark.parametrize("levels", slow_but([5], [2, 5, 30]))
@pytest.mark.parametrize("turned", [False, True], ids=["tall", "wide"])
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), lines=st.integers(2, 9), unscored=st.sampled_from([0, 0, 0.2]))
def test_distances_that_tie_go_as_in_the_plain_form(alike, levels, turned, seed, lines, unscored):
    rng = np.random.default_rng(seed)
    d = np.round(rng.random((700, lines)) * rng.integers(1, levels, (700, 1), endpoint=True)) / levels
    d[rng.random(d.shape) < unscored] = np.nan
    as_plain(d.T if turned else d, "gba", threshold=rng.choice([None, 0.0, 0.1]), rounds=400)


@pytest.mark.parametrize("turned", [False, True], ids=["tall", "wide"])
@pytest.mark.parametrize("name", ["gba", "rba"])
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), levels=st.sampled_from([3, 20]), size=st.sampled_from([1e-3, 1e-4, 1e-5]))
def test_changes_far_below_a_tie_go_as_in_the_plain_form(monkeypatch, name, turned, seed, levels, size):
    # An elimination changes such weights by less than what counts as equal, as in tables of many thousand rows.
    monkeypatch.setattr(loops, "patterns", partial(loops.patterns, few=10**9))
    d = np.random.default_rng(seed).integers(0, levels, (300, 4)) / levels * size
    as_plain(d.T if turned else d, name)


@pytest.mark.parametrize(("seed", "shape"), [(10, (40, 20)), (34, (40, 20)), (53, (20, 60))])
def test_gaps_that_are_lost_after_their_ends_moved_within_the_tolerance(small_blocks, seed, shape):
    rng = np.random.default_rng(seed)
    d = rng.integers(0, 4, shape) * 1e-5
    d[rng.random(shape) < 0.1] = np.nan
    as_plain(d, "rba", threshold=0.0, rounds=800)


@pytest.mark.parametrize("seed", [23, 40, 50])
def test_gaps_that_are_divided_by_a_cell_of_another_weight(small_blocks, seed):
    rng = np.random.default_rng(seed)
    d = rng.integers(0, 12, (40, 20)) / 11 * rng.integers(1, 4, (40, 1))
    as_plain(d, "rba", threshold=0.0, rounds=800)


@pytest.mark.parametrize("seed", range(20))
def test_distances_that_nearly_tie_go_as_in_the_plain_form(small_blocks, alike, seed):
    rng = np.random.default_rng(seed)
    as_plain(rng.integers(0, 5, (60, 2)) / 4 + rng.choice(NUDGES, (60, 2)), "gba", threshold=0.0)


@pytest.mark.parametrize("name", PLANS)
def test_lines_of_thousands_go_as_in_the_plain_form(name):
    as_plain(np.random.default_rng(5).random((5_000, 4)), name, rounds=600)


@pytest.mark.parametrize("name", PLANS)
def test_rounds_limit_the_eliminations(name):
    d = np.random.default_rng(3).random((30, 7))
    whole, few = (eliminate([d], ATTACKS[name], rounds=rounds, accelerated=True)[0] for rounds in (None, 3))
    assert cells(few) == cells(whole)[:3]


@pytest.mark.parametrize("name", UNSEPARATED)
@settings(max_examples=5)
@given(batch=st.lists(tables(), min_size=1, max_size=3))
def test_weights_that_loops_do_not_know_are_weighed_in_full(name, batch):
    attack, plan = IN_ROUNDS[name]
    for done, rows in zip(eliminate(batch, attack, accelerated=True), batch, strict=True):
        same(done, rows, plan)


@pytest.mark.parametrize("largest", [2e6, 1e300])
def test_distances_too_far_apart_for_sums_go_in_the_plain_form(largest):
    d = np.random.default_rng(3).random((30, 7))
    d[4, 4] = largest
    for name in PLANS:
        as_plain(d, name)


def test_factors_by_the_size_of_the_table():
    weigh = "d * (1 - 1/row_left / cols) * max(0, 1 - 1/col_left)"
    choices = {**TABLE, "eliminate": "heaviest", "redistribute": "all", "threshold": "mean(w)"}
    attack = type(ATTACKS["wba"]).build(weigh=weigh, **choices)
    assert weigh != BY_COUNTS
    d = np.random.default_rng(3).random((30, 7))
    (plain,), (loops,) = (eliminate([d], attack, accelerated=how) for how in (False, True))
    assert cells(loops) == cells(plain) != []


def test_loops_that_are_asked_for_need_numba(monkeypatch):
    monkeypatch.setitem(sys.modules, "decloak.rules.eliminate.loops", None)
    monkeypatch.delattr("decloak.rules.eliminate.loops", raising=False)
    d = np.random.default_rng(3).random((30, 7))
    with pytest.raises(DecloakError, match=r"numba cannot be used: .*pip install 'numba"):
        eliminate([d], ATTACKS["rba"], accelerated=True)
    (done,) = eliminate([d], ATTACKS["rba"])
    assert cells(done)


def test_loops_are_compiled_anew_when_those_they_call_have_changed():
    parts = [Path(sys.modules[f"decloak.rules.eliminate.loops.{name}"].__file__) for name in CALLED]
    digest = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:16]
    assert digest == loops.by_lines.PARTS, f"loops have changed: write PARTS = {digest!r} in loops/by_lines.py"
