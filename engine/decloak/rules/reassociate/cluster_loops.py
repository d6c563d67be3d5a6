"""Compiled loops over clusters: the values of units, and the attack by means of scores on a file of clusters.

Importing this module needs numba.
"""

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints
from decloak.compiled import compiled

Codes = NDArray[np.int32]

EPSILON = 1e-9
"""Difference up to which values are equal, as in `scores`."""


MEAN, UPPER_HALF, BEST, BAYES, FITTED = range(5)


@compiled
def value_units(
    values: Floats, units: Ints, codes: Ints, owner: Ints, items: Ints, anchors: Ints, count: Ints, table: Codes,
    scores: Floats, neutral: float, combine: int,
) -> None:  # fmt: skip
    """Fill the lines `units` of `values` as `scores.values` does, to the last digit.

    `codes` and `owner` are of all units. `items`, `anchors` and their `count` are of all cases. `table` has the place
    of the score of two codes in `scores`. `combine` is the number of the way to combine them.
    """
    width, longest = items.shape[1], anchors.shape[2]
    of_item, x, ordered = np.empty(width + 1), np.empty(longest), np.empty(longest)
    for u in units:
        case = owner[u]
        _score_items(of_item, items[case], codes[u], table, scores, neutral if combine >= BAYES else 0.0, combine)
        for c in range(count[case]):
            seen = held = 0
            for at in range(longest):
                held += anchors[case, c, at] < width
                x[at] = of_item[anchors[case, c, at]]
                if not np.isnan(x[at]):
                    ordered[seen] = x[at]
                    seen += 1
            values[u, c] = _combined(x, ordered[:seen], held, combine)


@compiled
def _score_items(
    of_item: Floats, items: Ints, codes: Ints, table: Codes, scores: Floats, neutral: float, combine: int
) -> None:
    """Compute the score of a unit with each of `items`: the mean over its `codes`, for log odds the sum."""
    of_item[:] = np.nan
    for at in range(len(items)):
        total, count = 0.0, 0
        for code in codes:
            score = scores[table[items[at], code]] if code >= 0 else np.nan
            if not np.isnan(score):
                total += score - neutral
                count += 1
        if count:
            of_item[at] = total if combine >= BAYES else total / count


@compiled
def _combined(x: Floats, seen: Floats, held: int, combine: int) -> float:
    """Combine the scores `x` of an anchor, of which those `seen` are known, and which holds `held` items."""
    if combine == BEST:
        return seen.max() if len(seen) else -np.inf
    count, least = len(seen), -np.inf
    if combine == UPPER_HALF and count:
        least = _select(seen, min(count // 2, len(x) - 1)) - EPSILON
    for at in range(len(x)):
        if not x[at] >= least:
            count -= not np.isnan(x[at])
            x[at] = 0.0
    total = _add(x)
    if combine == BAYES:
        return total
    if combine == FITTED:
        return total / np.sqrt(np.float64(max(held, 1)))  # type: ignore[no-any-return]
    return total / count if count else -np.inf


@compiled
def _select(x: Floats, k: int) -> float:
    """Return number `k` of `x` in ascending order, from 0; change the order of `x`."""
    low, high = 0, len(x) - 1
    while low < high:
        pivot, i, j = x[k], low, high
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i, j = i + 1, j - 1
        low, high = i if j < k else low, j if k < i else high
    return x[k]  # type: ignore[no-any-return]


@compiled
def _add(x: Floats) -> float:
    """Add up `x` in the order of `scores.add_lines`."""
    if len(x) < 8:
        few = x[0]
        for at in range(1, len(x)):
            few += x[at]
        return few  # type: ignore[no-any-return]
    if len(x) > 128:
        half = len(x) // 16 * 8
        return _add(x[:half]) + _add(x[half:])
    # Eight sums side by side, as numbers: an array for each call would take longer than the sums.
    a, b, c, d, e, f, g, h = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
    for at in range(8, len(x) - 7, 8):
        a, b, c, d = a + x[at], b + x[at + 1], c + x[at + 2], d + x[at + 3]
        e, f, g, h = e + x[at + 4], f + x[at + 5], g + x[at + 6], h + x[at + 7]
    total = (a + b + (c + d)) + (e + f + (g + h))
    for at in range(len(x) // 8 * 8, len(x)):
        total += x[at]
    return total  # type: ignore[no-any-return]


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
