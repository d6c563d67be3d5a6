"""An attacker who trains on the release itself: its plain items show what it looks like when an item is meant.

Plain items are published as they are. So the attacker makes tables of them like those of the generalised items: for
each table as many plain items together as it has members, in about as many transactions, and knows of each cell
whether its item is meant. What stands beside each other in the release is one more measure, carried over to hidden
items by their traits (`carried`, `traits`); for that the members of the tables made together are hidden together. What
is learned (`features`, `logistic`) gives every cell of the true tables the probability that its member was added,
calibrated on tables that it was not learned from. The truth has no part in it. Tables of plain items come back with
what each half of them teaches about the other (`Taught`), so that an attack can be tried on them.

Controls tell whether there was anything to learn. `labels` teaches kinds drawn in another order: each row is judged
by one of LABELLINGS orders, for one order alone may happen to be near the truth, or far from it. `contexts` shows, at
the attack, the contexts of other rows and tables. Both have to fall to chance. `words` hides what items share in
spelling: no count of shared words, and no distance between items that share one. `order` deals rows, columns and items
out anew, which must change nothing.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.attack.carried import Carrier, carrier
from decloak.attack.controls import Control
from decloak.attack.features import Occurrences, Scores, features, pairs_of, words_of
from decloak.attack.logistic import learn_calibrated
from decloak.attack.tables import context, mean_scores
from decloak.attack.traits import landmark_pairs, landmarks_of, traits
from decloak.data.content import Element
from decloak.data.published import Published
from decloak.data.tables import AttackTable, Pair

__all__ = ["Learned", "Likeness", "Taught", "learned", "likeness_tables", "likenesses"]


LIKENESSES = 8
"""Tables of plain items for each table that is attacked, at least."""

MOST_LIKENESSES = 24

ENOUGH = 20_000
"""Cells of tables of plain items, about, for which there are more of them than LIKENESSES."""

TRIES = 20
"""How often plain items are drawn for one of them until all differ."""

MOST = 20_000
"""Cells of the tables of plain items that an attack is tried on, about."""

LABELLINGS = 20
"""Orders of the kinds that the control `labels` is taught, a row of the attacked tables judged by one of them."""

FEWEST = 50
"""Cells of each kind below which nothing is learned."""

Relate = Callable[[Sequence[Pair]], Sequence[Mapping[Pair, float | None]]]
"""Gives the scores of pairs by every measure there is."""


class Taught(NamedTuple):
    """A table of plain items: the probability of every cell that its member was added, and which cells are meant.

    The probabilities are those that tables of the other half teach.
    """

    added: Floats
    meant: Floats


class Learned(NamedTuple):
    """The probability of every cell of the attacked tables that its member was added, and the tables that taught it."""

    added: list[Floats]
    taught: Sequence[Taught] = ()


def learned(
    published: Published,
    tables: Sequence[AttackTable],
    relate: Relate,
    *,
    resemble: Relate | None = None,
    others: Sequence[Sequence[str]] = (),
    nearest: int | None = None,
    control: Control | None = None,
    seed: int = 0,
) -> Learned:
    """The probability of every cell of the tables that its member was added; NaN where there is too little to learn.

    Traits go by the measures of `resemble`, None for all. `others` are other transactions of the population that the
    attacker has. `nearest` is how many plain items make a context, None for all.
    """
    measures = Measures(relate, resemble or relate, others, control != "words")
    rng = np.random.default_rng(seed)
    attacked = [Occurrences(table.columns, table.contexts) for table in tables]
    if control == "order":
        published, places = _dealt(published, nearest, rng), [_order(table, rng) for table in attacked]
        shuffled = [_ordered(*pair) for pair in zip(attacked, places, strict=True)]
        p, taught = _learned(published, shuffled, measures, nearest, None, rng)
        return Learned([_restored(part, *order) for part, order in zip(p, places, strict=True)], taught)
    if control == "contexts":
        attacked = _shuffled(attacked, rng)
    return _learned(published, attacked, measures, nearest, control, rng)


class Measures(NamedTuple):
    """The measures of cells, those that tell traits, other transactions, and whether spelling tells anything."""

    relate: Relate
    resemble: Relate
    others: Sequence[Sequence[str]]
    spelling: bool

    def of_pairs(self, pairs: Sequence[Pair]) -> Sequence[Scores]:
        """The scores of pairs by every measure, and how rare the member is in the other transactions."""
        scored = self.relate(pairs)
        if not self.spelling:
            scored = [_unspelt(scores) for scores in scored]
        if not self.others:
            return scored
        support = Counter(chain.from_iterable(map(set, self.others)))
        return [*scored, {(item, member): -math.log(support[member] + 0.5) for item, member in pairs}]

    def carrier(self, published: Published, items: Iterable[str]) -> Carrier:
        """What the release tells of what stands together, with the traits of these items and of its plain ones."""
        rows = [[element for element in row if isinstance(element, str)] for row in published.transactions]
        support = Counter(chain.from_iterable(rows))
        every = sorted({*items, *support})
        landmarks = landmarks_of(support, every)
        scored = self.resemble(landmark_pairs(every, landmarks))
        return carrier(rows, every, traits(every, landmarks, scored, self.others, spelling=self.spelling))

    def carried(self, release: Carrier, tables: Sequence[Occurrences]) -> Scores:
        """The distances of what is carried over to the members of some tables, when all of them are hidden."""
        hidden = {member for table in tables for member in table.members}
        distances = release.distances(pairs_of(tables), hidden)
        return distances if self.spelling else _unspelt(distances)


def _learned(
    published: Published,
    attacked: Sequence[Occurrences],
    measures: Measures,
    nearest: int | None,
    control: Control | None,
    rng: np.random.Generator,
) -> Learned:
    """What is learned of the tables as they stand."""
    shapes = [(len(table.members), len(table.contexts)) for table in attacked]
    draws = likeness_tables(published, shapes, rng, nearest, _times(shapes))
    taught = [occurrences for draw in draws for occurrences, _ in draw]
    meant = np.concatenate([np.zeros(0), *(kind.ravel() for draw in draws for _, kind in draw)])
    if min(meant.sum(), len(meant) - meant.sum()) < FEWEST:
        return Learned([np.full(shape[::-1], np.nan) for shape in shapes])
    scored = measures.of_pairs(pairs_of([*attacked, *taught]))
    carried = measures.carrier(published, {member for table in attacked for member in table.members})
    asked, *known = (
        features(group, scored, [[measures.carried(carried, group)] * len(group)], spelling=measures.spelling)
        for group in (attacked, *([occurrences for occurrences, _ in draw] for draw in draws))
    )
    half = np.concatenate(
        [
            np.full(kind.size, (number + at) % 2)
            for number, draw in enumerate(draws)
            for at, (_, kind) in enumerate(draw)
        ]
    )
    if control == "labels":
        # What is learned differs from row to row, so there is no one table of plain items to try it on.
        p = _mislabelled(np.concatenate(known), meant, half, asked, np.repeat(*_rows(shapes)), rng)
        return Learned(_cut(p, [shape[::-1] for shape in shapes]))
    calibrated = learn_calibrated(np.concatenate(known), 1 - meant, half)
    kinds = [kind for draw in draws for _, kind in draw]
    held_out = _cut(calibrated.held_out, [kind.shape for kind in kinds])
    return Learned(
        _cut(calibrated.probability(asked), [shape[::-1] for shape in shapes]), list(map(Taught, held_out, kinds))
    )


def _cut(p: Floats, shapes: Sequence[tuple[int, ...]]) -> list[Floats]:
    """The probabilities of all cells, table after table, as tables of these shapes."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(p, ends), shapes, strict=True)]


def _times(shapes: Sequence[tuple[int, int]]) -> int:
    """How many tables of plain items there are for each that is attacked: the fewer cells, the more."""
    cells = sum(columns * rows for columns, rows in shapes)
    return max(LIKENESSES, min(MOST_LIKENESSES, ENOUGH // max(1, cells)))


class Likeness(NamedTuple):
    """A distance table of plain items, NaN where there is no score, and which of its cells are meant."""

    d: Floats
    meant: Floats


def likenesses(
    published: Published,
    tables: Sequence[AttackTable],
    score: Callable[[Sequence[Pair]], Mapping[Pair, float | None]],
    nearest: int | None,
    seed: int = 0,
) -> list[Likeness]:
    """Tables of plain items to try an attack on, some for each table that is attacked, at most MOST cells in all."""
    rng = np.random.default_rng(seed)
    shapes = [(len(table.columns), len(table.contexts)) for table in tables]
    cells = LIKENESSES * sum(columns * rows for columns, rows in shapes)
    if cells > MOST:
        shapes = [shape for shape in shapes if rng.random() < MOST / cells] or shapes[:1]
    # Those of a shape stand side by side: halves by turns have all shapes in them.
    (made,) = likeness_tables(published, [s for s in shapes for _ in range(LIKENESSES)], rng, nearest, times=1)
    scores = score(pairs_of([occurrences for occurrences, _ in made]))
    scored = [(mean_scores(occurrences.contexts, occurrences.members, scores), kind) for occurrences, kind in made]
    return [Likeness(d, kind) for d, kind in scored if np.isfinite(d).any()]


def _rows(shapes: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
    """The number of each row over all tables, and how many cells it has."""
    cells = np.repeat([columns for columns, _ in shapes], [rows for _, rows in shapes])
    return np.arange(len(cells)), cells


def _mislabelled(
    known: Floats, meant: Floats, half: Floats, asked: Floats, row: Ints, rng: np.random.Generator
) -> Floats:
    """What is learned of kinds in many other orders, each row of cells judged by one of them."""
    p = np.empty(len(asked))
    judge = rng.integers(LABELLINGS, size=int(row.max(initial=-1)) + 1)[row]
    for number in range(LABELLINGS):
        cells = judge == number
        if cells.any():
            p[cells] = learn_calibrated(known, 1 - rng.permutation(meant), half).probability(asked[cells])
    return p


def _unspelt(scores: Scores) -> Scores:
    """Scores without those of items that share a word."""
    words = words_of({item for pair in scores for item in pair})
    return {(a, b): None if words[a] & words[b] else score for (a, b), score in scores.items()}


def _dealt(published: Published, nearest: int | None, rng: np.random.Generator) -> Published:
    """The transactions in another order, and their items where it is of no account which are nearest."""
    rows = [published.transactions[place] for place in rng.permutation(len(published.transactions)).tolist()]
    if nearest is None:
        rows = [tuple(row[place] for place in rng.permutation(len(row)).tolist()) for row in rows]
    return Published(tuple(rows), tuple(map(str, range(1, len(rows) + 1))))


def _order(table: Occurrences, rng: np.random.Generator) -> tuple[Ints, Ints]:
    return rng.permutation(len(table.contexts)), rng.permutation(len(table.members))


def _ordered(table: Occurrences, order: tuple[Ints, Ints]) -> Occurrences:
    rows, columns = (places.tolist() for places in order)
    return Occurrences(tuple(table.members[at] for at in columns), tuple(table.contexts[at] for at in rows))


def _restored(p: Floats, rows: Ints, columns: Ints) -> Floats:
    back = np.empty_like(p)
    back[np.ix_(rows, columns)] = p
    return back


def _shuffled(tables: Sequence[Occurrences], rng: np.random.Generator) -> list[Occurrences]:
    """The tables with the contexts of all of them dealt out anew."""
    contexts = [context for table in tables for context in table.contexts]
    dealt = iter([contexts[place] for place in rng.permutation(len(contexts))])
    return [Occurrences(table.members, tuple(next(dealt) for _ in table.contexts)) for table in tables]


def likeness_tables(
    published: Published,
    shapes: Sequence[tuple[int, int]],
    rng: np.random.Generator,
    nearest: int | None = None,
    times: int = LIKENESSES,
) -> list[list[tuple[Occurrences, Floats]]]:
    """Tables of plain items of about these shapes (columns, rows), each with which cells are meant; so many times."""
    held: dict[str, list[int]] = {}
    for number, row in enumerate(published.transactions):
        for element in row:
            if isinstance(element, str):
                held.setdefault(element, []).append(number)
    names = sorted(held, key=lambda item: (len(held[item]), item))
    support = np.array([len(held[item]) for item in names], np.int64)

    def drawn() -> Iterator[tuple[Occurrences, Floats]]:
        for columns, rows in shapes:
            members = tuple(names[place] for place in _alike(columns, rows, support, rng))
            table = _likeness(members, held, published, nearest) if members else None
            if table is not None:
                yield table

    return [list(drawn()) for _ in range(times)]


def _alike(columns: int, rows: int, support: Ints, rng: np.random.Generator) -> list[int]:
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
