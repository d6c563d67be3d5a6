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
    place, in_unit, slot = np.full(codes, -2, np.int64), np.full(codes, -1, np.int64), np.zeros(codes, np.int64)
    first, assignment = 0, 0
    for c in range(len(sizes)):
        n, begin, end = sizes[c], chunks[c], chunks[c + 1]
        for j in range(begin, end):
            for at in range(lists[j], lists[j + 1]):
                place[items[at]] = j - begin
        for at in range(terms[c], terms[c + 1]):
            place[term[at]], slot[term[at]] = -1, at - terms[c]
        has_term = np.zeros((terms[c + 1] - terms[c], n), np.bool_)
        # Rows of one anchor are a class, and follow each other.
        classes, sizes_of = _classes(n, begin, end, subs, entries, held)
        own = np.zeros((max(1, end - begin), n), np.int64)
        has, true, given = np.zeros(n, np.bool_), np.zeros(len(sizes_of), np.int64), np.zeros(len(sizes_of), np.int64)
        held_units = 0
        for row in range(n):
            for at in range(starts[first + row], starts[first + row + 1]):
                chunk_of = place[records[at]]
                if chunk_of > 0:
                    held_units += own[chunk_of, row] == 0
                    own[chunk_of, row] += 1
                elif chunk_of == -1:
                    held_units += 1
                    has_term[slot[records[at]], row] = True
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
            true[:], given[:] = 0, 0
            if block < 0:
                has[:] = has_term[slot[unit[unit_start[assignment]]]]
            else:
                has[:] = own[block] == length
            for some in np.flatnonzero(has):
                if block >= 0:
                    found = 0
                    for at in range(starts[first + some], starts[first + some + 1]):
                        found += in_unit[records[at]] == assignment
                    has[some] = found == length
                true[classes[some]] += has[some]
            for at in range(row_start[assignment], row_start[assignment + 1]):
                counts[3] += has[rows[at]]
                given[classes[rows[at]]] += 1
            times = row_start[assignment + 1] - row_start[assignment]
            counts[0] += times
            by_cluster[c, 0] += times
            expected_by[n] += times * true.sum()
            by_cluster[c, 2] += times * true.sum() / n
            for one in range(len(sizes_of)):
                if not true[one]:
                    continue
                for at in range(row_start[assignment], row_start[assignment + 1]):
                    lines[rows[at], one] += true[one] / sizes_of[one]
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


@compiled
def search_rows(
    sizes: Ints, chunks: Ints, lists: Ints, items: Codes, subs: Ints, entries: Ints, held: Codes, terms: Ints,
    term: Codes, others: bool, of_cluster: Ints, unit_start: Ints, unit: Ints, row_start: Ints, rows: Ints,
    draw: int, sets: Ints, begin: Ints, first_row: int, hits: Ints, row: Ints,
) -> None:  # fmt: skip
    """Add to `hits` the rows that may have each of `sets`, up to 2, and write the number of the only one to `row`.

    The first arguments are the fields of `ClusterArrays`. With `others` a row may have all items of later chunks and
    terms. It also has the codes of each `unit` that is assigned to it, of the clusters `of_cluster`. With a `draw`
    above 0 each unit goes to as many random rows. `sets` are three codes, from `begin` on by their first code. Rows are
    numbered from `first_row` on, cluster after cluster.
    """
    place, assignment, state = np.full(len(begin) - 1, -1, np.int64), 0, np.uint64(draw)
    for c in range(len(sizes)):
        n, words = sizes[c], (sizes[c] + 63) // 64
        number = 0
        own = np.empty(lists[chunks[c + 1]] - lists[chunks[c]] + terms[c + 1] - terms[c], np.int64)
        for at in range(lists[chunks[c]], lists[chunks[c + 1]]):
            own[number] = items[at]
            number += 1
        anchors = lists[min(chunks[c] + 1, chunks[c + 1])] - lists[chunks[c]]
        for at in range(terms[c], terms[c + 1]):
            own[number] = term[at]
            number += 1
        for at in range(number):
            place[own[at]] = at
        bits = np.zeros((number, words), np.uint64)
        if others:
            for at in range(anchors, number):
                for one in range(n):
                    bits[at, one >> 6] |= np.uint64(1) << np.uint64(one & 63)
        if chunks[c + 1] > chunks[c]:
            for s in range(subs[chunks[c]], subs[chunks[c] + 1]):
                one = s - subs[chunks[c]]
                for entry in range(entries[s], entries[s + 1]):
                    bits[place[held[entry]], one >> 6] |= np.uint64(1) << np.uint64(one & 63)
        taken = np.full(n, -1, np.int64)
        while assignment < len(of_cluster) and of_cluster[assignment] == c:
            for at in range(row_start[assignment], row_start[assignment + 1]):
                chosen = np.int64(rows[at])
                while draw > 0:  # a row that the unit has already is drawn again
                    state += np.uint64(0x9E3779B97F4A7C15)
                    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    chosen = np.int64((mixed ^ (mixed >> np.uint64(31))) % np.uint64(n))
                    if taken[chosen] != assignment:
                        taken[chosen] = assignment
                        break
                for entry in range(unit_start[assignment], unit_start[assignment + 1]):
                    bits[place[unit[entry]], chosen >> 6] |= np.uint64(1) << np.uint64(chosen & 63)
            assignment += 1
        for at in range(number):
            for query in range(begin[own[at]], begin[own[at] + 1]):
                second, third = place[sets[query, 1]], place[sets[query, 2]]
                if hits[query] > 1 or second < 0 or third < 0:
                    continue
                for word in range(words):
                    left = bits[at, word] & bits[second, word] & bits[third, word]
                    while left and hits[query] < 2:
                        bit = 0
                        while not (left >> np.uint64(bit)) & np.uint64(1):
                            bit += 1
                        hits[query] += 1
                        row[query] = first_row + word * 64 + bit
                        left &= left - np.uint64(1)
        for at in range(number):
            place[own[at]] = -1
        first_row += n
