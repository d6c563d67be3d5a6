"""Choice of the partner of a generalised item g for a privacy constraint: the last rule of COAT.

Sets of images of the constraint are bit masks, the lowest bit for the first image. A pattern is the set of all images
that some record supports. Partners are evaluated together: counts have a row for every pattern and a column for every
partner g' that occurs in a record of a pattern.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from decloak.anonymisers.kernels.coat_state import NOWHERE, Merging, loss
from decloak.anonymisers.kernels.rare_sets import PIECE, rare_sets, too_many
from decloak.arrays import Ints

__all__ = ["ConstraintSupport", "best_partner", "constraint_support"]

MOST_WORK = 1 << 37
"""Largest number of products in one step before a constraint is refused: some ten seconds."""


class ConstraintSupport(NamedTuple):
    """The support of a constraint in the records: its images, the records that support any, and the set that each
    supports.

    Then the patterns, which are the distinct sets, and the number of records of each.
    """

    images: Ints
    records: Ints
    sets: Ints
    patterns: Ints
    counts: Ints


def constraint_support(state: Merging, items: Ints) -> ConstraintSupport:
    """Return the support of a constraint over `items` in the current `state`."""
    images = np.unique(state.phi_of[items])
    images = images[images != NOWHERE]
    records, sets = state.supporting_records(images)
    return ConstraintSupport(images, records, sets, *np.unique(sets, return_counts=True))


def best_partner(state: Merging, seen: ConstraintSupport, least: int, k: int, place: str) -> int | None:
    """Return the best partner of g, the image at index `least` of `seen`, in `state` for `k`; None if no utility
    constraint allows any. `place` is for errors.
    """
    g = int(seen.images[least])
    partners = state.partners(g)
    if not len(partners):
        return None
    items, _ = state.items_of_records(state.record[state.places[g]])
    together = np.bincount(items, minlength=len(state.domain))[partners]
    support = state.support[g] + state.support[partners] - together
    still_rare = _still_rare(state, seen, least, partners, k, place) + (support < k)
    # The first key alone leaves ties: these go by the loss, then by the label.
    best = still_rare == still_rare.min()
    return _least_loss(partners[best], state.count[g] + state.count[partners[best]], support[best])


def _least_loss(partners: Ints, counts: Ints, supports: Ints) -> int:
    """Return the partner with the least loss, the first of several. Among equal sizes the rarest is sufficient."""
    choices = []
    for count in np.unique(counts).tolist():
        here = np.flatnonzero(counts == count)
        rarest = here[supports[here].argmin()]
        choices.append((loss(count, int(supports[rarest])), int(partners[rarest])))
    return min(choices)[1]


def _still_rare(state: Merging, seen: ConstraintSupport, least: int, partners: Ints, k: int, place: str) -> Ints:
    """Return for each partner g' the number of sets of images, without {g ∪ g'}, that are rare after merging.

    Sets R without g and g' stay the same, and the records that support R and g or g' support R ∪ {g ∪ g'}. Far partners
    have equal counts, in the last column.
    """
    beside = _other_images(state, seen, least, partners)
    bit_of = {int(image): 1 << bit for bit, image in enumerate(seen.images)}
    bits = np.array([*(bit_of.get(g, 0) for g in partners[beside.near].tolist()), 0])
    total = np.zeros(len(bits), np.int64)
    work = 0
    for columns, counts in beside.blocks():
        for sets, rare in rare_sets(beside.patterns, counts, k, place):
            without = sets[:, None] & bits[columns] == 0
            total[columns] += (rare[:, :-1] & without).sum(axis=0) + (rare[:, -1:] & without).sum(axis=0)
            work += len(sets) * counts.size
            if work > MOST_WORK:
                raise too_many(place)
    still_rare = np.full(len(partners), total[-1])
    still_rare[beside.near] = total[:-1]
    return still_rare


class _OtherImages(NamedTuple):
    """The patterns of the images other than g, and the number of records of each: with g, in all, and with a partner of
    g.

    `near` are the partners in a record of some pattern, and the images, by their index. For each there is a cell, the
    pattern and the index among the near, for each record that has it without g.
    """

    patterns: Ints
    with_g: Ints
    in_all: Ints
    near: Ints
    cells: tuple[Ints, Ints]

    def blocks(self) -> Iterator[tuple[slice, Ints]]:
        """Yield columns of counts in the support of g or g', in blocks: the near ones, then all others.

        The column of all records is appended to every block.
        """
        height, width = len(self.patterns), len(self.near) + 1
        step = max(1, PIECE // max(1, height))
        row, column = self.cells
        for begin in range(0, width, step):
            end = min(begin + step, width)
            here = (column >= begin) & (column < end)
            cell = row[here] * (end - begin) + column[here] - begin
            counts = np.bincount(cell, minlength=height * (end - begin)).reshape(height, end - begin)
            yield slice(begin, end), np.column_stack((counts + self.with_g[:, None], self.in_all))


def _other_images(state: Merging, seen: ConstraintSupport, least: int, partners: Ints) -> _OtherImages:
    remaining = seen.sets & ~(1 << least)
    nonempty = remaining != 0
    patterns, pattern = np.unique(remaining[nonempty], return_inverse=True)
    has_g = remaining[nonempty] != seen.sets[nonempty]
    index = np.full(len(state.domain), NOWHERE)
    index[partners] = np.arange(len(partners))
    items, record = state.items_of_records(seen.records[nonempty][~has_g])
    partner = index[items]
    near = np.setdiff1d(np.concatenate((partner, index[seen.images])), NOWHERE)
    is_partner = partner != NOWHERE
    cells = pattern[~has_g][record[is_partner]], np.searchsorted(near, partner[is_partner])
    size = len(patterns)
    return _OtherImages(
        patterns, np.bincount(pattern[has_g], minlength=size), np.bincount(pattern, minlength=size), near, cells
    )
