"""How much of what a disassociated release took apart an attack put back where it belongs.

Rows are those of the attack; truth[cluster][row] is the number of the row's record. A unit is truly in a row when the
record, cut down to the items of the unit's chunk, is the unit. For a unit and a class of rows (of the same anchor), a
rows of the class were given the unit and t truly have it:

correct_row = rows given that truly have it; correct_class = sum of min(a, t), for which any record behind an identical
anchor is right; correct_exp = sum of a t / |class|, what a guesser who cannot tell identical anchors apart expects to
have right. Accuracy = correct / assigned, recall = correct / true; clusters are pooled by summing counts.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from decloak.data.assignment import Assignment, ChunkNumber
from decloak.data.disassociated import Cluster, Disassociated
from decloak.errors import DecloakError
from decloak.rules.reassociate.units import rows_of_cluster

__all__ = ["Accuracy", "Truth", "accuracy", "added_items", "check_truth", "reconstructed"]

Truth = Sequence[Sequence[int]]
"""The number of the record of every row of every cluster."""

Records = Sequence[Collection[str]]
Unit = tuple[ChunkNumber, tuple[str, ...]]


@dataclass(frozen=True)
class Accuracy:
    """The counts of a release; a measure is None where its divisor is 0.

    `expected` is how many rows would be correct had the same number been drawn at random for every unit.
    """

    assigned: int
    true: int
    correct_row: int
    correct_class: int
    correct_exp: Fraction
    expected: Fraction

    @property
    def accuracy(self) -> float | None:
        """The headline: identical anchors told apart by chance."""
        return _ratio(self.correct_exp, self.assigned)

    @property
    def accuracy_row(self) -> float | None:
        return _ratio(self.correct_row, self.assigned)

    @property
    def accuracy_class(self) -> float | None:
        """Any record behind an identical anchor is right; chance alone gets much of it where anchors are few."""
        return _ratio(self.correct_class, self.assigned)

    @property
    def recall(self) -> float | None:
        return _ratio(self.correct_exp, self.true)

    @property
    def chance(self) -> float | None:
        """The accuracy that as many rows drawn at random would have."""
        return _ratio(self.expected, self.assigned)


def _ratio(part: Fraction | int, whole: int) -> float | None:
    return float(Fraction(part) / whole) if whole else None


def accuracy(release: Disassociated, records: Records, truth: Truth, assignments: Iterable[Assignment]) -> Accuracy:
    """Count what an attack has right; units it did not give anybody count as true all the same.

    >>> from decloak.data.disassociated import Chunk
    >>> chunks = (Chunk(("a",), (("a",), ("a",))), Chunk(("c",), (("c",),)))
    >>> release = Disassociated((Cluster(2, chunks, ()),))
    >>> found = accuracy(release, [["a"], ["a", "c"]], [[0, 1]], [Assignment(0, 1, ("c",), (0,))])
    >>> found.accuracy, found.accuracy_row, found.accuracy_class
    (0.5, 0.0, 1.0)
    """
    check_truth(release, records, truth)
    counts: Counter[str] = Counter()
    # Summed by denominator and divided once at the end: exact, and without a fraction for every unit.
    exp, expected = Counter[int](), Counter[int]()
    true = [_true_rows(cluster, [records[number] for number in truth[i]]) for i, cluster in enumerate(release.clusters)]
    of_row = [rows_of_cluster(cluster).of_row for cluster in release.clusters]
    sizes = [Counter(class_of_row) for class_of_row in of_row]
    for cluster, chunk, unit, rows in assignments:
        true_rows = true[cluster].get((chunk, unit), [])
        counts["assigned"] += len(rows)
        counts["row"] += len({*true_rows}.intersection(rows))
        expected[len(of_row[cluster])] += len(rows) * len(true_rows)
        has = Counter(of_row[cluster][row] for row in true_rows)
        for row_class, count in Counter(of_row[cluster][row] for row in rows).items():
            counts["class"] += min(count, has[row_class])
            exp[sizes[cluster][row_class]] += count * has[row_class]
    held = sum(len(rows) for units in true for rows in units.values())
    return Accuracy(counts["assigned"], held, counts["row"], counts["class"], _summed(exp), _summed(expected))


def _summed(numerators: Counter[int]) -> Fraction:
    return sum((Fraction(top, bottom) for bottom, top in numerators.items()), Fraction(0))


def check_truth(release: Disassociated, records: Records, truth: Truth) -> None:
    """Refuse a truth that is not a record for every row, each record once."""
    if [len(rows) for rows in truth] != [cluster.size for cluster in release.clusters]:
        raise DecloakError("the truth does not have a record for every row", hint="is it of another release?")
    if sorted(number for rows in truth for number in rows) != list(range(len(records))):
        raise DecloakError(f"the truth does not name each of {len(records)} records once", hint="records count from 0")


def _true_rows(cluster: Cluster, records: Records) -> dict[Unit, list[int]]:
    """The rows that truly have every unit of a cluster."""
    chunk_of: dict[str, ChunkNumber] = {
        item: j for j, chunk in enumerate(cluster.record_chunks) for item in chunk.items
    }
    chunk_of |= dict.fromkeys(cluster.term_chunk, "T")
    rows_of_unit: dict[Unit, list[int]] = {}
    for row, record in enumerate(records):
        for unit in _units(record, chunk_of):
            rows_of_unit.setdefault(unit, []).append(row)
    return rows_of_unit


def _units(record: Collection[str], chunk_of: dict[str, ChunkNumber]) -> Iterator[Unit]:
    """The units of a record."""
    parts: dict[ChunkNumber, list[str]] = {}
    for item in sorted(record):
        chunk = chunk_of.get(item, 0)
        if chunk == "T":
            yield "T", (item,)
        elif chunk:
            parts.setdefault(chunk, []).append(item)
    yield from ((chunk, tuple(items)) for chunk, items in parts.items())


def added_items(release: Disassociated, assignments: Iterable[Assignment]) -> list[list[set[str]]]:
    """Return the items an attack added to every row of every cluster."""
    added: list[list[set[str]]] = [[set() for _ in range(cluster.size)] for cluster in release.clusters]
    for cluster, _, unit, rows in assignments:
        for row in rows:
            added[cluster][row].update(unit)
    return added


def reconstructed(release: Disassociated, truth: Truth, assignments: Iterable[Assignment]) -> list[frozenset[str]]:
    """Return every record as the attack has it, its anchor and what was added, in the order of the records."""
    rebuilt: dict[int, frozenset[str]] = {}
    for numbers, cluster, added in zip(truth, release.clusters, added_items(release, assignments), strict=True):
        anchors, of_row = rows_of_cluster(cluster)
        for record, anchor, more in zip(numbers, of_row, added, strict=True):
            rebuilt[record] = frozenset(anchors[anchor]) | more
    return [rebuilt[record] for record in sorted(rebuilt)]
