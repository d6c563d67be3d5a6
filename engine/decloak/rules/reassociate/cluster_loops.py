"""Compiled loops over the clusters of a file: the attack by means of scores. Importing this module needs numba."""

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints
from decloak.compiled import compiled

Codes = NDArray[np.int32]

EPSILON = 1e-9
"""Difference up to which values are equal, as in `scores`."""


@compiled
def assign_by_means(
    sizes: Ints, chunks: Ints, subs: Ints, entries: Ints, held: Codes, terms: Ints, term: Codes, table: Codes,
    scores: Floats, most: int,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Assign each unit to the rows whose anchors have the largest mean of mean scores.

    `sizes` are the rows of clusters. `chunks` has the first chunk of each cluster, `subs` the first sub-record of each
    chunk, and `entries` the first of the codes `held` of each sub-record. `terms` has the first `term` of each cluster.
    `table` has the place of the score of two codes in `scores`, NaN for none. A term goes to `most` rows. Return a line
    for each unit: the cluster, the chunk (-1 for terms), the sub-record or the term, and the end of its rows. Also
    return the rows.
    """
    bound = 0
    for c in range(len(sizes)):
        bound += min(most, sizes[c]) * (terms[c + 1] - terms[c])
    units, rows = np.empty((len(entries) + len(term), 4), np.int64), np.empty(bound + len(entries), np.int64)
    unit, count = 0, 0
    for c in range(len(sizes)):
        if chunks[c] == chunks[c + 1]:
            continue
        # Anchors: equal sub-records follow each other, and empty rows come last.
        first, last = subs[chunks[c]], subs[chunks[c] + 1]
        anchors, begins = np.empty(last - first + 1, np.int64), np.empty(last - first + 2, np.int64)
        number = 0
        for s in range(first, last):
            if s == first or _differ(entries, held, s - 1, s):
                anchors[number], begins[number] = s, s - first
                number += 1
        if last - first < sizes[c]:
            anchors[number], begins[number] = -1, last - first
            number += 1
        begins[number] = sizes[c]
        for j in range(chunks[c] + 1, chunks[c + 1]):
            s = subs[j]
            while s < subs[j + 1]:
                end = s + 1
                while end < subs[j + 1] and not _differ(entries, held, end - 1, end):
                    end += 1
                values = _values(anchors[:number], entries, held, held[entries[s] : entries[s + 1]], table, scores)
                count = _take(values, begins, end - s, rows, count)
                units[unit] = c, j - chunks[c], s, count
                unit += 1
                s = end
        for t in range(terms[c], terms[c + 1]):
            values = _values(anchors[:number], entries, held, term[t : t + 1], table, scores)
            count = _take(values, begins, min(most, sizes[c]), rows, count)
            units[unit] = c, -1, t, count
            unit += 1
    return units[:unit], rows[:count]


@compiled
def _differ(entries: Ints, held: Codes, one: int, other: int) -> bool:
    length = entries[one + 1] - entries[one]
    different = length != entries[other + 1] - entries[other]
    for at in range(0 if different else length):
        different |= held[entries[one] + at] != held[entries[other] + at]
    return bool(different)


@compiled
def _values(anchors: Ints, entries: Ints, held: Codes, items: Codes, table: Codes, scores: Floats) -> Floats:
    """Return the mean, over the items of each anchor, of the mean score with `items`; -inf without any."""
    values = np.empty(len(anchors))
    for at in range(len(anchors)):
        total, count = 0.0, 0
        for entry in range(entries[anchors[at]], entries[anchors[at] + 1]) if anchors[at] >= 0 else range(0):
            of_unit, scored = 0.0, 0
            for item in items:
                score = scores[table[held[entry], item]]
                if not np.isnan(score):
                    of_unit += score
                    scored += 1
            if scored:
                total += of_unit / scored
                count += 1
        values[at] = total / count if count else -np.inf
    return values


@compiled
def _take(values: Floats, begins: Ints, most: int, rows: Ints, count: int) -> int:
    """Write the best rows, ascending, and return the end; of anchors with equal values the lowest rows are taken."""
    order = np.argsort(-values, kind="mergesort")
    at, end_of_rows = 0, count + most
    first = count
    while at < len(order) and count < end_of_rows:
        end = at + 1
        while end < len(order) and not values[order[end - 1]] - values[order[end]] > EPSILON:
            end += 1
        for anchor in np.sort(order[at:end]):
            for row in range(begins[anchor], min(begins[anchor + 1], begins[anchor] + end_of_rows - count)):
                rows[count] = row
                count += 1
        at = end
    rows[first:count].sort()
    return count
