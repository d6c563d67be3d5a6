"""How likely a random attack does as well on one release: against every choice it could make."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

import naive_random_attack as naive
from decloak.measure.kernels import random_attack
from decloak.measure.kernels.random_attack import BlockAssignments, Table, eliminations_p, moments_of, reassociation_p


@st.composite
def tables(draw):
    cells = draw(st.integers(1, 7))
    return Table(cells, draw(st.integers(0, cells)), draw(st.integers(0, cells)))


@given(st.lists(tables(), max_size=3), st.integers(-1, 22))
def test_eliminations_against_every_choice_of_cells(some, right):
    eliminated = [table for table in some if table.eliminated]
    if not eliminated:
        assert eliminations_p(some, right) is None
        return
    expected = naive.at_least(naive.right_of_tables(eliminated), right)
    assert eliminations_p(some, right) == pytest.approx(float(expected), abs=1e-12)
    distribution = naive.right_of_tables(eliminated)
    mean = sum(value * share for value, share in distribution.items())
    variance = sum((value - mean) ** 2 * share for value, share in distribution.items())
    assert math.fsum(table.mean for table in eliminated) == pytest.approx(float(mean))
    assert math.fsum(table.variance for table in eliminated) == pytest.approx(float(variance), abs=1e-12)


def test_the_quickstart():
    """115 of 120 right over three tables of 64, 60 and 36 cells, of which three in four were added."""
    some = [Table(64, 48, 48), Table(60, 45, 45), Table(36, 27, 27)]
    p = eliminations_p(some, 115)
    one = [stats.hypergeom(cells, added, n) for cells, added, n in some]
    parts = [law.pmf(np.arange(121)) for law in one]
    expected = np.convolve(np.convolve(parts[0], parts[1]), parts[2])[115:].sum()
    assert p == pytest.approx(expected, rel=1e-9)
    assert 4.5e-24 < p < 4.7e-24


def test_a_small_probability_is_exact_and_so_is_1():
    assert eliminations_p([Table(400, 200, 200)], 200) == pytest.approx(1 / math.comb(400, 200), rel=1e-9)
    assert eliminations_p([Table(400, 200, 200)], 0) == 1.0


def test_many_eliminations_are_normal(monkeypatch):
    some = [Table(300, 200, 120)] * 5
    exact = [eliminations_p(some, right) for right in (390, 400, 410, 420)]
    monkeypatch.setattr(random_attack, "MOST_EXACT", 599)
    near = [eliminations_p(some, right) for right in (390, 400, 410, 420)]
    assert near == pytest.approx(exact, rel=0.02)
    monkeypatch.setattr(random_attack, "MOST_EXACT", 600)
    assert [eliminations_p(some, right) for right in (390, 400, 410, 420)] == exact


@st.composite
def blocks(draw):
    """One block: units given to rows, units that records have, and the anchor of each row."""
    n = draw(st.integers(1, 5))
    few = st.frozensets(st.integers(0, 2), max_size=2)
    anchors = sorted(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    return draw(st.lists(few, min_size=n, max_size=n)), draw(st.lists(few, min_size=n, max_size=n)), anchors


def block_assignments(some):
    """The blocks as the kernel takes them, each in a cluster of its own."""
    block, row, unit, behind, sizes, home, entries = [], [], [], [], [], [], []
    for number, (given_rows, records, anchors) in enumerate(some):
        first = len(behind)
        for anchor in sorted(set(anchors)):
            alike = [place for place, other in enumerate(anchors) if other == anchor]
            for u in range(3):
                share = sum(u in records[place] for place in alike) / len(alike)
                entries.append((3 * number + u, len(sizes), share))
            behind += [len(sizes)] * len(alike)
            sizes.append(len(alike))
            home.append(number)
        for place, units in enumerate(given_rows):
            for u in units:
                block.append(number)
                row.append(first + place)
                unit.append(3 * number + u)
    lines, columns, shares = (list(column) for column in zip(*entries, strict=True))
    matrix = sparse.csr_array((shares, (lines, columns)), (3 * len(some), len(sizes)))
    ints = (np.array(column, np.int64) for column in (behind, sizes, home, range(len(some))))
    return BlockAssignments(*(np.array(column, np.int64) for column in (block, row, unit)), matrix, *ints)


@settings(max_examples=40)
@given(st.lists(blocks(), min_size=1, max_size=2))
def test_reassociation_against_every_order_of_rows(some):
    gifts = block_assignments(some)
    if not len(gifts.row):
        assert reassociation_p(gifts) is None
        return
    distribution = naive.convolved([naive.permuted(*block) for block in some])
    right = sum((naive.right_units(*block) for block in some), Fraction(0))
    mean = sum(value * share for value, share in distribution.items())
    variance = sum((value - mean) ** 2 * share for value, share in distribution.items())
    assert moments_of(gifts) == pytest.approx((float(right), float(mean), float(variance)), abs=1e-9)
    p = float(naive.at_least(distribution, right))
    found = reassociation_p(gifts)
    assert abs(found - p) < 5 * math.sqrt(p * (1 - p) / 9_999) + 2e-4


def test_many_rows_have_the_gamma_distribution_with_the_same_moments(monkeypatch):
    chance = np.random.default_rng(3)
    some = []
    for _ in range(40):
        records = [frozenset({int(u)}) for u in chance.integers(0, 3, 12)]
        kept = chance.random(12) < 0.2  # right beyond chance for some
        given_rows = [one if keep else frozenset({int(chance.integers(0, 3))})
                      for one, keep in zip(records, kept, strict=True)]  # fmt: skip
        some.append((given_rows, records, list(range(12))))
    near = reassociation_p(block_assignments(some))
    monkeypatch.setattr(random_attack, "MOST_PERMUTED", 480)
    drawn = reassociation_p(block_assignments(some))
    assert drawn <= near + 5 * math.sqrt(near / 9_999), "the tail is the heavier one"
    assert near < 4 * drawn + 1e-3


def test_a_unit_that_no_record_has_is_never_right():
    gifts = block_assignments([([frozenset({0})], [frozenset({0})], [0])])
    assert moments_of(gifts).right == 1
    assert moments_of(gifts._replace(unit=np.array([-1]))).right == 0
