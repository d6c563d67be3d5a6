"""An attacker who trains on the release itself: its plain items show what an original member looks like.

Plain items are published unchanged. So the attacker makes tables of them like the tables of generalised items. Each
table has the same number of members, about the same number of records, and known originals. Co-occurrence in the
release is one more measure, predicted for hidden items from their features (`cooccurrence_model`, `item_features`). For
that, the members of tables made together are hidden together. The classifier (`cell_features`, `logistic`) gives every
cell of the attacked tables the probability that its member was added, calibrated on tables that it was not trained on.
The originals have no part in it. Tables of plain items return with the probabilities that the other half of them gives
(`TrainingTable`), so that an attack can be tried on them.

Controls show whether there was anything to learn. `labels` permutes the labels: each row is judged by one of LABELLINGS
permutations, because a single permutation may happen to be near the truth, or far from it. `contexts` gives the
attacked cells the contexts of other rows and tables. Both have to fall to the baseline. `words` hides the spelling of
items: it leaves out the count of shared words, and distances between items that share a word. `order` shuffles rows,
columns and items, which must change nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.attacker.cell_features import (
    CooccurrenceModel,
    Occurrences,
    Scores,
    cell_features,
    cooccurrence_model,
    item_features,
    landmark_pairs,
    landmarks_of,
    pairs_of,
    words_of,
)
from decloak.attacker.logistic import learn_calibrated
from decloak.attacker.tables import context, mean_scores
from decloak.data.content import Element
from decloak.data.knowledge_levels import Control
from decloak.data.pairs import AttackTable, Pair
from decloak.data.published import Published

COPIES = 8
"""Tables of plain items for each table that is attacked, at least."""

MOST_COPIES = 24

ENOUGH_CELLS = 20_000
"""Cells of tables of plain items, about, below which there are more than COPIES of each."""

MOST_DRAWS = 20
"""Draws of plain items for one table until all are different."""

MOST_CELLS = 20_000
"""Cells of the tables of plain items that an attack is tried on, about."""

LABELLINGS = 20
"""Permutations of the labels that the control `labels` is taught; a row of the attacked tables is judged by one of
them.
"""

FEWEST_CELLS = 50
"""Cells of each class below which nothing is learned."""

Relate = Callable[[Sequence[Pair]], Sequence[Mapping[Pair, float | None]]]
"""Returns the scores of pairs by every measure."""


class TrainingTable(NamedTuple):
    """A table of plain items: the probability of every cell that its member was added, and which members are original.

    The probabilities are learned from tables of the other half. `members` has a name for each column.
    """

    added: Floats
    meant: Floats
    members: tuple[str, ...]


class Learned(NamedTuple):
    """The probability of every cell of the attacked tables that its member was added, and the tables that taught it."""

    added: list[Floats]
    training: Sequence[TrainingTable] = ()


def learn_from_release(
    published: Published,
    tables: Sequence[AttackTable],
    relate: Relate,
    *,
    resemble: Relate | None = None,
    others: Sequence[Sequence[str]] = (),
    nearest: int | None = None,
    control: Control | None = None,
) -> Learned:
    """Learn from the plain items of `published`, and return the probability that each member of `tables` was added.

    The probabilities are NaN where there is too little to learn. `relate` scores pairs by every measure, `resemble` by
    the measures that item features use (None: all). `others` are other records of the population that the attacker
    has. `nearest` is the number of plain items in a context (None: all). `control` spoils the training data.
    """
    measures = Measures(relate, resemble or relate, others, control != "words")
    # A fixed seed: one release teaches the same in every repetition.
    rng = np.random.default_rng(0)
    attacked = [Occurrences(table.columns, table.contexts) for table in tables]
    if control == "order":
        published = _shuffle_release(published, nearest, rng)
        places = [(rng.permutation(len(table.contexts)), rng.permutation(len(table.members))) for table in attacked]
        shuffled = [_reorder(*pair) for pair in zip(attacked, places, strict=True)]
        p, training = _learn(published, shuffled, measures, nearest, None, rng)
        return Learned([_restore_order(part, *order) for part, order in zip(p, places, strict=True)], training)
    if control == "contexts":
        attacked = _shuffle_contexts(attacked, rng)
    return _learn(published, attacked, measures, nearest, control, rng)


class Measures(NamedTuple):
    """Measures of cells, measures of item features, other records, and whether spelling may be used."""

    relate: Relate
    resemble: Relate
    others: Sequence[Sequence[str]]
    spelling: bool

    def of_pairs(self, pairs: Sequence[Pair]) -> Sequence[Scores]:
        """Return the scores of `pairs` by every measure, and the rarity of the member in the other records."""
        scored = self.relate(pairs)
        if not self.spelling:
            scored = [_drop_shared_words(scores) for scores in scored]
        if not self.others:
            return scored
        support = Counter(chain.from_iterable(map(set, self.others)))
        return [*scored, {(item, member): -math.log(support[member] + 0.5) for item, member in pairs}]

    def cooccurrence_model(self, published: Published, items: Iterable[str]) -> CooccurrenceModel:
        """Return the co-occurrence model of `published` for these `items` and its plain items."""
        rows = [[element for element in row if isinstance(element, str)] for row in published.transactions]
        support = Counter(chain.from_iterable(rows))
        every = sorted({*items, *support})
        landmarks = landmarks_of(support, every)
        scored = self.resemble(landmark_pairs(every, landmarks))
        return cooccurrence_model(
            rows, every, item_features(every, landmarks, scored, self.others, spelling=self.spelling)
        )

    def hidden_distances(self, release: CooccurrenceModel, tables: Sequence[Occurrences]) -> Scores:
        """Return the predicted distances to the members of `tables` in `release`, when all of
        these members are hidden.
        """
        hidden = {member for table in tables for member in table.members}
        distances = release.distances(pairs_of(tables), hidden)
        return distances if self.spelling else _drop_shared_words(distances)


def _learn(
    published: Published,
    attacked: Sequence[Occurrences],
    measures: Measures,
    nearest: int | None,
    control: Control | None,
    rng: np.random.Generator,
) -> Learned:
    """Learn for the tables as they are."""
    shapes = [(len(table.members), len(table.contexts)) for table in attacked]
    # Small tables get more copies: a classifier needs many cells, however few are attacked.
    copies = max(COPIES, min(MOST_COPIES, ENOUGH_CELLS // max(1, sum(map(math.prod, shapes)))))
    draws = plain_item_tables(published, shapes, rng, nearest, copies)
    training = [occurrences for draw in draws for occurrences, _ in draw]
    kinds = [kind for draw in draws for _, kind in draw]
    meant = np.concatenate([np.zeros(0), *map(np.ravel, kinds)])
    # Draws and tables alternate between the halves, so that both have all shapes of tables.
    halves = [(number + at) % 2 for number, draw in enumerate(draws) for at in range(len(draw))]
    half = np.repeat(np.array(halves, float), np.array([kind.size for kind in kinds], np.int64))
    # A classifier from few cells of one class would be noise that looks like knowledge.
    if min(meant.sum(), len(meant) - meant.sum()) < FEWEST_CELLS or len(np.unique(half)) < 2:
        return Learned([np.full(shape[::-1], np.nan) for shape in shapes])
    scored = measures.of_pairs(pairs_of([*attacked, *training]))
    carried = measures.cooccurrence_model(published, {member for table in attacked for member in table.members})
    asked, *known = (
        cell_features(
            group, scored, [[measures.hidden_distances(carried, group)] * len(group)], spelling=measures.spelling
        )
        for group in (attacked, *([occurrences for occurrences, _ in draw] for draw in draws))
    )
    if control == "labels":
        # What is learned differs from row to row, so there is no one table of plain items to try it on.
        cells = np.repeat([columns for columns, _ in shapes], [rows for _, rows in shapes])
        p = _learn_permuted_labels(np.concatenate(known), meant, half, asked, cells, rng)
        return Learned(_split_cells(p, [shape[::-1] for shape in shapes]))
    calibrated = learn_calibrated(np.concatenate(known), 1 - meant, half)
    held_out = _split_cells(calibrated.held_out, [kind.shape for kind in kinds])
    return Learned(
        _split_cells(calibrated.probability(asked), [shape[::-1] for shape in shapes]),
        list(map(TrainingTable, held_out, kinds, (table.members for table in training))),
    )


def _split_cells(p: Floats, shapes: Sequence[tuple[int, ...]]) -> list[Floats]:
    """Return the probabilities of all cells, table after table, as tables of these shapes."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(p, ends), shapes, strict=True)]


class CalibrationTable(NamedTuple):
    """A distance table of plain items, NaN where there is no score, and which of its members are original."""

    d: Floats
    meant: Floats


def calibration_tables(
    published: Published,
    tables: Sequence[AttackTable],
    score: Callable[[Sequence[Pair]], Mapping[Pair, float | None]],
    nearest: int | None,
) -> list[CalibrationTable]:
    """Return tables of plain items to try an attack on, COPIES for each attacked table, at most MOST_CELLS cells in
    all.

    `published` has the plain items, `tables` are the attacked ones, `score` returns the scores of pairs, `nearest` is
    the number of items in a context (None: all).
    """
    rng = np.random.default_rng(0)
    shapes = [(len(table.columns), len(table.contexts)) for table in tables]
    cells = COPIES * sum(columns * rows for columns, rows in shapes)
    if cells > MOST_CELLS:
        shapes = [shape for shape in shapes if rng.random() < MOST_CELLS / cells] or shapes[:1]
    # Those of a shape stand side by side: halves by turns have all shapes in them.
    (made,) = plain_item_tables(published, [s for s in shapes for _ in range(COPIES)], rng, nearest, times=1)
    scores = score(pairs_of([occurrences for occurrences, _ in made]))
    scored = [(mean_scores(occurrences.contexts, occurrences.members, scores), kind) for occurrences, kind in made]
    return [CalibrationTable(d, kind) for d, kind in scored if np.isfinite(d).any()]


def _learn_permuted_labels(
    known: Floats, meant: Floats, half: Floats, asked: Floats, cells: Ints, rng: np.random.Generator
) -> Floats:
    """Learn from many permutations of the labels; each row is judged by one of them. `cells` has the cells of rows."""
    p = np.empty(len(asked))
    judge = np.repeat(rng.integers(LABELLINGS, size=len(cells)), cells)
    for number in range(LABELLINGS):
        chosen = judge == number
        if chosen.any():
            p[chosen] = learn_calibrated(known, 1 - rng.permutation(meant), half).probability(asked[chosen])
    return p


def _drop_shared_words(scores: Scores) -> Scores:
    """Return the scores without pairs of items that share a word."""
    # A pair that shares a word would reveal the spelling through its distance.
    words = words_of({item for pair in scores for item in pair})
    return {(a, b): None if words[a] & words[b] else score for (a, b), score in scores.items()}


def _shuffle_release(published: Published, nearest: int | None, rng: np.random.Generator) -> Published:
    """Return the release with shuffled records, and shuffled items where contexts do not depend on positions."""
    rows = [published.transactions[place] for place in rng.permutation(len(published.transactions)).tolist()]
    if nearest is None:
        rows = [tuple(row[place] for place in rng.permutation(len(row)).tolist()) for row in rows]
    return Published(tuple(rows), tuple(map(str, range(1, len(rows) + 1))))


def _reorder(table: Occurrences, order: tuple[Ints, Ints]) -> Occurrences:
    rows, columns = (places.tolist() for places in order)
    return Occurrences(tuple(table.members[at] for at in columns), tuple(table.contexts[at] for at in rows))


def _restore_order(p: Floats, rows: Ints, columns: Ints) -> Floats:
    back = np.empty_like(p)
    back[np.ix_(rows, columns)] = p
    return back


def _shuffle_contexts(tables: Sequence[Occurrences], rng: np.random.Generator) -> list[Occurrences]:
    """Return the tables with the contexts of all of them permuted."""
    contexts = [context for table in tables for context in table.contexts]
    dealt = iter([contexts[place] for place in rng.permutation(len(contexts))])
    return [Occurrences(table.members, tuple(next(dealt) for _ in table.contexts)) for table in tables]


def plain_item_tables(
    published: Published,
    shapes: Sequence[tuple[int, int]],
    rng: np.random.Generator,
    nearest: int | None = None,
    times: int = COPIES,
) -> list[list[tuple[Occurrences, Floats]]]:
    """Draw tables of plain items of about these `shapes` (columns, rows), each with its original members.

    `published` has the items, `rng` draws them, `nearest` is the number of items in a context (None: all). Return a
    list of tables for each of `times` repetitions.
    """
    held: dict[str, list[int]] = {}
    for number, row in enumerate(published.transactions):
        for element in row:
            if isinstance(element, str):
                held.setdefault(element, []).append(number)
    names = sorted(held, key=lambda item: (len(held[item]), item))
    support = np.array([len(held[item]) for item in names], np.int64)

    def drawn() -> Iterator[tuple[Occurrences, Floats]]:
        for columns, rows in shapes:
            members = tuple(names[place] for place in _draw_plain_items(columns, rows, support, rng))
            table = _plain_item_table(members, held, published, nearest) if members else None
            if table is not None:
                yield table

    return [list(drawn()) for _ in range(times)]


def _draw_plain_items(columns: int, rows: int, support: Ints, rng: np.random.Generator) -> list[int]:
    """Draw `columns` items, ascending by support, that are in about `rows` records in all; return none if that
    fails.

    Every way to share the records among the items is equally likely.
    """
    for _ in range(MOST_DRAWS if len(support) >= columns else 0):
        # The cuts divide the records among the items; each division is equally likely.
        cuts = np.sort(rng.choice(max(rows, columns) - 1, columns - 1, replace=False)) + 1
        parts = np.diff(cuts, prepend=0, append=max(rows, columns))
        # Of the items in as many records; where there are none, of those in the next fewer.
        of_part = support[np.maximum(0, np.searchsorted(support, parts, side="right") - 1)]
        low, high = (np.searchsorted(support, of_part, side=side) for side in ("left", "right"))
        places: list[int] = rng.integers(low, high).tolist()
        if len(set(places)) == columns:
            return places
    return []


def _plain_item_table(
    members: tuple[str, ...], held: Mapping[str, Sequence[int]], published: Published, nearest: int | None
) -> tuple[Occurrences, Floats] | None:
    """Return the table of these items as if they were generalised together, with the original members of each row."""
    # A row is a record with at least one of the items: there the true members are known.
    of_member = [frozenset(held[member]) for member in members]
    shown = sorted(set().union(*of_member))
    contexts = {number: _plain_context(published.transactions[number], members, nearest) for number in shown}
    rows = [number for number, items in contexts.items() if items]
    if not rows:
        return None
    meant = np.array([[number in numbers for numbers in of_member] for number in rows], float)
    return Occurrences(members, tuple(contexts[number] for number in rows)), meant


def _plain_context(transaction: Sequence[Element], members: tuple[str, ...], nearest: int | None) -> tuple[str, ...]:
    """Return the context of the members, as if the first of them were generalised to all and the others removed."""
    hidden = frozenset(members)
    where = next(place for place, element in enumerate(transaction) if element in hidden)
    before = list(transaction[:where])
    after = [element for element in transaction[where + 1 :] if element not in hidden]
    return context([*before, members, *after], where, nearest)
