"""An attacker who trains on the release itself: its plain items show what it looks like when an item is meant.

Plain items are published as they are. So the attacker makes tables of them like those of the generalised items: for
each table as many plain items together as it has members, in about as many transactions, and knows of each cell
whether its item is meant. What is learned there (`features`, `logistic`) gives every cell of the true tables the
probability that its member was added, calibrated on tables that it was not learned from. The truth has no part in it.

Two controls tell whether there was anything to learn: `labels` teaches it kinds drawn in another order, `contexts`
shows it, when it attacks, the contexts of other rows and tables. Both have to fall to chance.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from decloak.attack.features import Occurrences, Scores, features, pairs_of
from decloak.attack.logistic import learn_calibrated
from decloak.attack.tables import context
from decloak.data.published import Element, Published
from decloak.data.tables import AttackTable, Floats, Pair

__all__ = ["Control", "added_probabilities", "likeness_tables"]

Integers = NDArray[np.int64]
Control = Literal["none", "labels", "contexts"]

LIKENESSES = 8
"""Tables of plain items for each table that is attacked."""

TRIES = 20
"""How often plain items are drawn for one of them until all differ."""

FEWEST = 50
"""Cells of each kind below which nothing is learned."""

Relate = Callable[[Sequence[Pair]], Sequence[Mapping[Pair, float | None]]]
"""Gives the scores of pairs by every measure there is."""


def added_probabilities(
    published: Published,
    tables: Sequence[AttackTable],
    relate: Relate,
    *,
    nearest: int | None = None,
    control: Control = "none",
    seed: int = 0,
) -> list[Floats]:
    """The probability of every cell of the tables that its member was added; NaN where there is too little to learn.

    `nearest` is how many plain items make a context, None for all.
    """
    rng = np.random.default_rng(seed)
    nothing = [np.full(table.d.shape, np.nan) for table in tables]
    likenesses = likeness_tables(published, [(len(t.columns), len(t.contexts)) for t in tables], rng, nearest)
    meant = np.concatenate([np.zeros(0), *(kind.ravel() for _, kind in likenesses)])
    if min(meant.sum(), len(meant) - meant.sum()) < FEWEST:
        return nothing
    attacked = _shuffled(tables, rng) if control == "contexts" else [Occurrences(t.columns, t.contexts) for t in tables]
    taught = [occurrences for occurrences, _ in likenesses]
    measures: Sequence[Scores] = relate(pairs_of([*attacked, *taught]))
    known = features(taught, measures)
    half = np.concatenate([np.full(kind.size, number % 2) for number, (_, kind) in enumerate(likenesses)])
    classifier = learn_calibrated(known, 1 - (rng.permutation(meant) if control == "labels" else meant), half)
    p = classifier.probability(features(attacked, measures))
    ends = np.cumsum([table.d.size for table in tables])[:-1]
    return [part.reshape(table.d.shape) for part, table in zip(np.split(p, ends), tables, strict=True)]


def _shuffled(tables: Sequence[AttackTable], rng: np.random.Generator) -> list[Occurrences]:
    """The tables with the contexts of all of them dealt out anew."""
    contexts = [context for table in tables for context in table.contexts]
    dealt = iter([contexts[place] for place in rng.permutation(len(contexts))])
    return [Occurrences(table.columns, tuple(next(dealt) for _ in table.contexts)) for table in tables]


def likeness_tables(
    published: Published, shapes: Sequence[tuple[int, int]], rng: np.random.Generator, nearest: int | None = None
) -> list[tuple[Occurrences, Floats]]:
    """Tables of plain items of about these shapes (columns, rows), each with which cells are meant."""
    held: dict[str, list[int]] = {}
    for number, row in enumerate(published.transactions):
        for element in row:
            if isinstance(element, str):
                held.setdefault(element, []).append(number)
    names = sorted(held, key=lambda item: (len(held[item]), item))
    support = np.array([len(held[item]) for item in names], np.int64)
    drawn = (_alike(columns, rows, support, rng) for columns, rows in shapes for _ in range(LIKENESSES))
    sets = (tuple(names[place] for place in places) for places in drawn if places)
    likenesses = (_likeness(members, held, published, nearest) for members in sets)
    return [table for table in likenesses if table is not None]


def _alike(columns: int, rows: int, support: Integers, rng: np.random.Generator) -> list[int]:
    """The places of so many items, ascending by support, that are in about so many transactions in all; or none.

    Every way to share the transactions among the items is equally likely.
    """
    for _ in range(TRIES if len(support) >= columns else 0):
        cuts = np.sort(rng.choice(max(rows, columns) - 1, columns - 1, replace=False)) + 1
        parts = np.diff(cuts, prepend=0, append=max(rows, columns))
        # Of the items in as many transactions; where there are none, of those in the next fewer.
        of_part = support[np.maximum(0, np.searchsorted(support, parts, side="right") - 1)]
        low, high = (np.searchsorted(support, of_part, side=side) for side in ("left", "right"))
        places: list[int] = rng.integers(low, high).tolist()
        if len(set(places)) == columns:
            return places
    return []


def _likeness(
    members: tuple[str, ...], held: Mapping[str, Sequence[int]], published: Published, nearest: int | None
) -> tuple[Occurrences, Floats] | None:
    """The table of these items taken for a generalised one: rows that show something plain, and what is meant."""
    of_member = [frozenset(held[member]) for member in members]
    shown = sorted(set().union(*of_member))
    contexts = {number: _context(published.transactions[number], members, nearest) for number in shown}
    rows = [number for number, items in contexts.items() if items]
    if not rows:
        return None
    meant = np.array([[number in numbers for numbers in of_member] for number in rows], float)
    return Occurrences(members, tuple(contexts[number] for number in rows)), meant


def _context(transaction: Sequence[Element], members: tuple[str, ...], nearest: int | None) -> tuple[str, ...]:
    """What stands beside the members, the first of those that are there generalised to all of them, the others gone."""
    hidden = frozenset(members)
    where = next(place for place, element in enumerate(transaction) if element in hidden)
    before = list(transaction[:where])
    after = [element for element in transaction[where + 1 :] if element not in hidden]
    return context([*before, members, *after], where, nearest)
