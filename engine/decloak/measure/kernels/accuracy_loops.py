"""Compiled counts of right assignments in the clusters of a file. Importing this module needs numba.

The definitions are those of `measure.accuracy` and of the moments in `random_attack`. Items of a cluster have a place:
the number of their record chunk, or -1 for a term.
"""

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints
from decloak.compiled import compiled

Codes = NDArray[np.int32]


@compiled
def count_right(
    sizes: Ints, chunks: Ints, lists: Ints, items: Codes, subs: Ints, entries: Ints, held: Codes, terms: Ints,
    term: Codes, codes: int, starts: Ints, records: Codes, of_cluster: Ints, chunk: Ints, unit_start: Ints,
    unit: Ints, row_start: Ints, rows: Ints,
) -> tuple[Ints, Ints, Ints, Floats, Floats]:  # fmt: skip
    """Count the right assignments in each cluster.

    The first arguments are the fields of `ClusterArrays`, with `codes` different codes. `records` are the codes behind
    the rows of all clusters from `starts` on. An assignment has a cluster, a `chunk`, the codes of a `unit` and `rows`.
    Return the assigned, true, reachable and right rows and those right by class; the right ones and those expected of
    random rows as numerators by denominator; assigned, right, expected and reachable rows by cluster; and the moments.
    """
    counts, most = np.zeros(5, np.int64), int(sizes.max()) + 1 if len(sizes) else 1
    right_by, expected_by = np.zeros(most, np.int64), np.zeros(most, np.int64)
    by_cluster, moments = np.zeros((len(sizes), 4)), np.zeros(3)
    place, in_unit = np.full(codes, -2, np.int64), np.full(codes, -1, np.int64)
    first, assignment = 0, 0
    for c in range(len(sizes)):
        n, begin, end = sizes[c], chunks[c], chunks[c + 1]
        for j in range(begin, end):
            for at in range(lists[j], lists[j + 1]):
                place[items[at]] = j - begin
        for at in range(terms[c], terms[c + 1]):
            place[term[at]] = -1
        # Rows of one anchor are a class, and follow each other.
        classes, sizes_of = _classes(n, begin, end, subs, entries, held)
        own = np.zeros((n, max(1, end - begin)), np.int64)
        held_units = 0
        for row in range(n):
            for at in range(starts[first + row], starts[first + row + 1]):
                chunk_of = place[records[at]]
                if chunk_of > 0:
                    held_units += own[row, chunk_of] == 0
                    own[row, chunk_of] += 1
                elif chunk_of == -1:
                    held_units += 1
        counts[1] += held_units
        if end > begin:
            counts[2] += held_units
            by_cluster[c, 3] = held_units
        block, lines = np.int64(-2), np.zeros((0, 0))
        while assignment < len(of_cluster) and of_cluster[assignment] == c:
            if chunk[assignment] != block:
                _add_moments(lines, classes, sizes_of, moments)
                block, lines = chunk[assignment], np.zeros((n, len(sizes_of)))
            length = unit_start[assignment + 1] - unit_start[assignment]
            for at in range(unit_start[assignment], unit_start[assignment + 1]):
                in_unit[unit[at]] = assignment
            true = np.zeros(len(sizes_of), np.int64)
            has = np.zeros(n, np.bool_)
            for row in range(n):
                if block > 0 and own[row, block] != length:
                    continue
                found = 0
                for at in range(starts[first + row], starts[first + row + 1]):
                    found += in_unit[records[at]] == assignment
                if found == length:
                    has[row] = True
                    true[classes[row]] += 1
            given = np.zeros(len(sizes_of), np.int64)
            for at in range(row_start[assignment], row_start[assignment + 1]):
                counts[3] += has[rows[at]]
                given[classes[rows[at]]] += 1
                for one in range(len(sizes_of)):
                    lines[rows[at], one] += true[one] / sizes_of[one]
            times = row_start[assignment + 1] - row_start[assignment]
            counts[0] += times
            by_cluster[c, 0] += times
            expected_by[n] += times * true.sum()
            by_cluster[c, 2] += times * true.sum() / n
            for one in range(len(sizes_of)):
                counts[4] += min(given[one], true[one])
                right_by[sizes_of[one]] += given[one] * true[one]
                by_cluster[c, 1] += given[one] * true[one] / sizes_of[one]
            assignment += 1
        _add_moments(lines, classes, sizes_of, moments)
        for j in range(begin, end):
            place[items[lists[j] : lists[j + 1]]] = -2
        place[term[terms[c] : terms[c + 1]]] = -2
        first += n
    return counts, right_by, expected_by, by_cluster, moments


@compiled
def _classes(n: int, begin: int, end: int, subs: Ints, entries: Ints, held: Codes) -> tuple[Ints, Ints]:
    """Return the class of each row of a cluster, and the sizes of the classes."""
    classes, number = np.zeros(n, np.int64), -1
    first, last = (subs[begin], subs[begin + 1]) if end > begin else (0, 0)
    for row in range(n):
        new = row == 0 or row == last - first
        if not new and row < last - first:
            s = first + row
            new = entries[s + 1] - entries[s] != entries[s] - entries[s - 1]
            for at in range(0 if new else entries[s + 1] - entries[s]):
                new |= held[entries[s] + at] != held[entries[s - 1] + at]
        number += new
        classes[row] = number
    sizes = np.zeros(number + 1, np.int64)
    for row in range(n):
        sizes[classes[row]] += 1
    return classes, sizes


@compiled
def _add_moments(lines: Floats, classes: Ints, sizes: Ints, moments: Floats) -> None:
    """Add the right rows of a block, their mean and their variance over all permutations to `moments`."""
    n = len(lines)
    if not n:
        return
    total, squares, by_row, by_class = 0.0, 0.0, 0.0, np.zeros(len(sizes))
    for row in range(n):
        of_row = 0.0
        for one in range(len(sizes)):
            of_row += lines[row, one] * sizes[one]
            squares += lines[row, one] ** 2 * sizes[one]
            by_class[one] += lines[row, one]
        moments[0] += lines[row, classes[row]]
        total += of_row
        by_row += of_row**2
    moments[1] += total / n
    if n > 1:
        columns = (by_class**2 * sizes).sum()
        moments[2] += (squares - (by_row + columns) / n + total**2 / n**2) / (n - 1)
