"""Hypothesis strategies for testing your own anonymiser: data, hierarchies, and the guarantee itself::

    from hypothesis import given
    from decloak.strategies import cases, keeps_km

    @given(cases())
    def test_my_anonymiser(case):
        release = mine(case.transactions, case.hierarchy, case.k, case.m)
        keeps_km(case, release)

Needs the package hypothesis, which decloak itself does not.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from decloak.counting.generalisation_guarantee import check_generalised
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy

try:
    from hypothesis import strategies as st
except ModuleNotFoundError:
    message = "decloak.strategies needs the package hypothesis; pip install hypothesis"
    raise ModuleNotFoundError(message, name="hypothesis") from None

__all__ = ["Case", "cases", "hierarchies", "items", "keeps_km", "transactions"]

Transactions = list[list[str]]


class Case(NamedTuple):
    """Transactions over the items of a hierarchy, with parameters. At least k transactions are not empty, or none."""

    transactions: Transactions
    hierarchy: Hierarchy
    k: int
    m: int


def items(most: int = 8) -> st.SearchStrategy[list[str]]:
    """Return a strategy for at least two and at most `most` different names of items."""
    return st.integers(2, most).map(lambda count: [f"i{number}" for number in range(count)])


@st.composite
def transactions(draw: st.DrawFn, names: Sequence[str], most: int = 12) -> Transactions:
    """Return at most `most` transactions over `names`, including empty ones, made with `draw`."""
    transaction = st.lists(st.sampled_from(names), unique=True, max_size=min(len(names), 6))
    return draw(st.lists(transaction, max_size=most))


@st.composite
def hierarchies(draw: st.DrawFn, names: Collection[str]) -> Hierarchy:
    """Return any hierarchy over `names`, made with `draw`: groups of uneven size and depth, some of a single node."""
    level, parents, number = list(names), dict[str, str](), 0
    while len(level) > 1 or not parents:
        size = draw(st.integers(1 if number < 3 else 2, max(2, len(level))))
        group, level = level[:size], level[size:]
        number += 1
        parents |= dict.fromkeys(group, f"n{number}")
        level.append(f"n{number}")
    order = {name: position for position, name in enumerate(names)}
    return Hierarchy.from_parents(dict(sorted(parents.items(), key=lambda edge: order.get(edge[0], len(order)))))


@st.composite
def cases(draw: st.DrawFn, most_items: int = 8, most: int = 12) -> Case:
    """Return data, a hierarchy, k and m that some release can meet, made with `draw`: at most `most_items` items and
    `most` transactions.
    """
    names = draw(items(most_items))
    rows = draw(transactions(names, most))
    filled = sum(map(bool, rows))
    return Case(rows, draw(hierarchies(names)), draw(st.integers(1, max(1, filled))), draw(st.integers(1, 3)))


def keeps_km(case: Case, release: Generalised) -> None:
    """Raise AssertionError unless `release` of `case` is k^m-anonymous and has every occurrence by exactly one label.

    Its rows may be in any order, if each can belong to a different transaction.
    """
    rows = _match_rows(case.transactions, release)
    original = Dataset(rows, release.ids)
    for fault in check_generalised(original, release, case.k, case.m):
        raise AssertionError(fault)


def _match_rows(transactions: Transactions, release: Generalised) -> tuple[tuple[str, ...], ...]:
    """Return a transaction for every row; in the given order if they cannot be matched."""
    originals = [tuple(transaction) for transaction in transactions]
    fits = [[_may_show(items, row, release) for items in originals] for row in release.transactions]
    if len(originals) != len(release.transactions) or not any(map(any, fits)):
        return tuple(originals)
    chosen = maximum_bipartite_matching(csr_array(np.array(fits)), perm_type="column").tolist()
    return tuple(originals) if -1 in chosen else tuple(originals[number] for number in chosen)


def _may_show(items: Collection[str], row: Collection[str], release: Generalised) -> bool:
    """Return True if a row has each item by exactly one label, and nothing else."""
    over = [[label for label in row if item in release.members[label]] for item in items]
    return all(len(labels) == 1 for labels in over) and {label for labels in over for label in labels} == set(row)
