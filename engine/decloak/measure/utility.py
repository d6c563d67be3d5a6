"""The utility of a release for its readers: counts of itemsets, frequent itemsets, and remaining items.

"Chunks" in a name means that the records are compared with the sub-records of record and shared chunks, each as a row
of its own. s and s' are the supports of an itemset in the records and in these rows.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from decloak.arrays import Floats, Ints
from decloak.counting.itemsets import coded_items, itemset_supports, sizes
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.folder import Folder
from decloak.data.formats.lines import FilePath, location
from decloak.data.formats.plain_files import read
from decloak.data.forms import FormName
from decloak.errors import DecloakError, quote, quote_some
from decloak.figures import metrics_of
from decloak.lazy import sparse
from decloak.measure.estimates import Published, published_by, with_exclusive
from decloak.measure.family import POOLED, Attacked, Family, MetricResult, MetricValue
from decloak.measure.kernels.estimate import counts
from decloak.measure.kernels.estimate.estimator import estimates_of
from decloak.releases.stored import UNKNOWN, StoredDisassociation, StoredRelease
from decloak.yaml.section import ConfigSection, File, Item

Records = Sequence[Collection[str]]
Itemset = tuple[str, ...]
Ranked = tuple[int, int, Itemset]

LARGEST = 3
"""Items of the itemsets that tKd ranks, at most."""


def chunk_rows(release: Disassociated) -> list[tuple[str, ...]]:
    """Return every sub-record of a record or shared chunk of `release`."""
    record_chunks = chain.from_iterable(cluster.record_chunks for cluster in release.clusters)
    shared_chunks = chain.from_iterable(joint.shared_chunks for joint in release.joints)
    return [subrecord for chunk in chain(record_chunks, shared_chunks) for subrecord in chunk.subrecords]


def tkd_chunks(release: Disassociated, records: Records, top: int) -> float | None:
    """Return tKd of `release`: the share of the `top` itemsets of `records` that its sub-records lose."""
    return tkd(chunk_rows(release), records, top)


def tkd(rows: Records, records: Records, top: int) -> float | None:
    """Return the share of the `top` most frequent itemsets of `records` that the published `rows` lose.

    Itemsets of 1 to 3 items are ranked by support, then the smaller, then by name; there may be fewer than `top`.
    Return None without records.
    """
    if top < 1:
        raise DecloakError(f"the top {top} itemsets", hint="ask for at least 1")
    kept = _most_frequent(records, top)
    published = _most_frequent(rows, top)
    return 1 - len(kept & published) / len(kept) if kept else None


def _most_frequent(rows: Records, top: int) -> set[Itemset]:
    matrix, items = coded_items(rows)
    best: list[Ranked] = []
    for size in sizes(matrix, LARGEST):
        # Larger itemsets have lower supports: the last of the best is a bound for all that follow.
        low = -best[-1][0] if len(best) == top else 1
        best = sorted(chain(best, _ranked(matrix, items, size, low)))[:top]
    return {itemset for _, _, itemset in best}


def _ranked(matrix: "sparse.csr_array", items: Sequence[str], size: int, low: int) -> Iterator[Ranked]:
    for block in itemset_supports(matrix, size, low=low):
        for codes, support in zip(block.itemsets.tolist(), block.supports.tolist(), strict=True):
            yield -support, size, tuple(items[code] for code in codes)


def re_chunks(release: Disassociated, records: Records) -> float | None:
    """Return the mean of |s - s'| / ((s + s') / 2) over pairs of items in `release` or `records`, or None."""
    rows = chunk_rows(release)
    # Coded together, so that an item has the same column in both parts.
    matrix, _ = coded_items([*records, *rows])
    kept, published = (_pairs(part) for part in (matrix[: len(records)], matrix[len(records) :]))
    total, apart = kept + published, abs(kept - published)
    if not total.nnz:
        return None
    return float((apart.multiply(total.power(-1.0)) * 2).sum() / total.nnz)


def _pairs(matrix: "sparse.csr_array") -> "sparse.csr_array":
    # Each pair counts once, and an item is no pair with itself.
    return sparse.csr_array(sparse.triu(matrix.T @ matrix, k=1), dtype=np.float64)


def tlost(release: Disassociated, records: Records, k: int) -> float | None:
    """Return the share of the items with a support of `k` or more in `records` that no chunk of `release` shows.

    Return None without such items.

    >>> from decloak.data.disassociated import Chunk, Cluster
    >>> release = Disassociated((Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ("b",)),))
    >>> tlost(release, [["a", "b"], ["a", "b"]], k=2)
    0.5
    """
    matrix, items = coded_items(records)
    frequent = {items[code] for code in np.flatnonzero(matrix.sum(axis=0) >= k).tolist()}
    lost = frequent.difference(*chunk_rows(release))
    return len(lost) / len(frequent) if frequent else None


SIZES = range(1, 4)
PLAIN = "basket"
NO_CONTROL = "nothing is classified without people to predict: name a control under exposure to measure"
NO_TABLES = "distance tables contain no records, so their utility cannot be measured"


class UtilitySettings(ConfigSection):
    """The utility of a release for its readers."""

    FILES = ("workload", "constraints")

    top: int = Field(100, ge=1)
    """How many of the most frequent itemsets are compared as counted in the chunks of a disassociated release."""
    queries: int = Field(1_000, ge=1)
    """How many random itemsets of each size are counted."""
    itemsets: int = Field(1_000, ge=1)
    """How many of the most frequent itemsets are compared by their estimates."""
    bound: float = Field(0.001, ge=0, le=1)
    """The share of the records below which the count of an itemset counts as this share, so that errors at rare
    itemsets do not outweigh all others."""
    seed: int = Field(0, ge=0)
    """The seed of random itemsets."""
    workload: File | None = None
    """The itemsets that readers count, a set of 1 to 3 items a line. They replace the random itemsets."""
    constraints: File | None = None
    """Utility constraints, a set of items a line: the error of counts is also measured inside each of them."""
    classify: Item | Annotated[tuple[Item, ...], Field(min_length=1)] | None = None
    """The item, or mutually exclusive items, that readers predict from all others with the release. People of the
    control of `exposure` are predicted."""


def _measure(
    attacked: Attacked,
    *,
    top: int,
    queries: int,
    itemsets: int,
    bound: float,
    seed: int,
    workload: str | None,
    constraints: str | None,
    classify: str | Sequence[str] | None,
) -> MetricResult:
    held = attacked.release
    if held.making.method == FormName.DISTANCES:
        return [], NO_TABLES
    if held.original is None:
        return [], UNKNOWN.format("utility")
    published = with_exclusive(published_by(held), attacked.exclusive)
    counted = attacked.shared.of(held.original, _Counted(queries, seed, workload, attacked.folder))
    frequent = attacked.shared.of(held.original, _Frequent(itemsets))
    figures = list(_of_estimates(published, counted, frequent, itemsets, bound))
    notes = []
    if constraints is not None:
        path = attacked.folder / constraints
        sets = read(path, PLAIN).transactions
        figures += _of_constraints(held, published, sets, queries, bound, seed)
        known = set(held.original.rows.used_names)
        if unknown := sorted({item for items in sets for item in items} - known):
            # A note, because held out records may be the only ones with the item.
            notes.append(
                f"counts inside constraints leave out items of {location(path)} in no record: {quote_some(unknown)}"
            )
    if classify is not None:
        classes = (classify,) if isinstance(classify, str) else tuple(classify)
        note: str | None = NO_CONTROL
        others = attacked.control()
        if others is not None:
            classification, note = _of_classes(held, published, classes, others)
            figures += classification
        notes += [note] if note else []
    if isinstance(held, StoredDisassociation) and held.rows is not None:
        figures += _of_chunks(held, top)
    return figures, "; ".join(notes) or None


def _read_wanted_itemsets(path: FilePath) -> Dataset:
    """Read the itemsets that readers count from the file at `path` and return them."""
    wanted = read(path, PLAIN)
    for items, label in zip(wanted.transactions, wanted.labels, strict=True):
        if len(items) not in SIZES:
            raise DecloakError(f"{len(items)} items", f"{location(path)}:{label}", "write 1 to 3 items a line")
    return wanted


class _Counts(NamedTuple):
    """The itemsets that readers count, by their size, as columns of numbers of items, and their original counts."""

    names: Sequence[str]
    records: int
    asked: Mapping[int, tuple[Ints, Floats]]


@dataclass(frozen=True)
class _Counted:
    """Draws or reads the itemsets that readers count; equal for equal settings."""

    queries: int
    seed: int
    workload: str | None
    folder: Folder = field(compare=False)

    def __call__(self, original: Dataset) -> _Counts:
        records, names = coded_items(original.rows)
        whole, asked = counts.plain_records(records), {}
        wanted = None if self.workload is None else _read_wanted_itemsets(self.folder / self.workload).transactions
        place = {name: at for at, name in enumerate(names)}
        for size in SIZES:
            if wanted is None:
                drawn = counts.drawn_queries(records, counts.signatures(records), size, self.queries, self.seed)
            else:  # an item that no record has is -1, as in a release
                sets = [[place.get(item, -1) for item in items] for items in wanted if len(items) == size]
                drawn = np.array(sets, np.int64).reshape(-1, size).T
            if drawn.shape[1]:
                asked[size] = drawn, estimates_of(whole, drawn)
        return _Counts(names, records.shape[0], asked)


@dataclass(frozen=True)
class _Frequent:
    """Finds the most frequent itemsets; equal for equal settings."""

    itemsets: int

    def __call__(self, original: Dataset) -> list[counts.Frequent]:
        return counts.most_frequent_itemsets(coded_items(original.rows)[0], counts.WIDER * self.itemsets)


def _of_estimates(
    published: Published, counted: _Counts, frequent: Sequence[counts.Frequent], itemsets: int, bound: float
) -> Iterator[MetricValue]:
    """Yield the errors of counts by size and over all sizes, and the share of frequent itemsets that remain."""
    errors = _query_errors(published, counted, bound)
    for size, of_size in errors.items():
        yield POOLED, f"count_error_{size}", float(of_size.mean()), None, None
    if errors:
        every = np.concatenate(list(errors.values()))
        # All sizes weigh the same, however many itemsets of each were drawn.
        yield POOLED, "count_error", float(np.mean([one.mean() for one in errors.values()])), None, None
        yield POOLED, "count_error_median", float(np.median(every)), None, None
        yield POOLED, "count_error_95", float(np.percentile(every, 95)), None, None
    number = _numbered(published, counted.names)
    places = np.concatenate([one.places for one in frequent])
    estimates = np.concatenate([estimates_of(published.estimator, number[one.itemsets]) for one in frequent])
    # Sizes were estimated one by one, and the comparison needs the order of frequency.
    order = np.argsort(places)
    kept = counts.kept_itemsets(estimates[order], np.concatenate([one.counts for one in frequent])[order], itemsets)
    if kept is not None:
        yield POOLED, "itemsets_lost", kept.lost, None, None
        yield POOLED, "itemsets_f1", kept.f1, None, None


def _numbered(published: Published, names: Sequence[str]) -> Ints:
    """Return the number that a release has for each item, -1 for an item it does not have."""
    return np.array([published.number.get(name, -1) for name in names], np.int64)


def _query_errors(published: Published, counted: _Counts, bound: float) -> dict[int, Floats]:
    """Return the error of each count, by the size of its itemset.

    `published` is the estimator of the release. Counts below the share `bound` of the records count as it.
    """
    # An item of a workload that no record has is -1, which picks this last number.
    number = np.append(_numbered(published, counted.names), -1)
    least = max(bound * counted.records, np.finfo(float).tiny)
    return {
        size: counts.count_errors(estimates_of(published.estimator, number[drawn]), true, least)
        for size, (drawn, true) in counted.asked.items()
    }


def errors_of_release(
    held: StoredRelease, settings: UtilitySettings, folder: Folder, exclusive: Sequence[str]
) -> dict[int, Floats]:
    """Return the error of each count of a release, as the settings of the family draw or name them in `folder`.

    Items of one of the columns in `exclusive` exclude each other.
    """
    assert held.original is not None
    counted = _Counted(settings.queries, settings.seed, settings.workload, folder)(held.original)
    return _query_errors(with_exclusive(published_by(held), exclusive), counted, settings.bound)


def _of_constraints(
    held: StoredRelease, published: Published, sets: Sequence[Sequence[str]], queries: int, bound: float, seed: int
) -> Iterator[MetricValue]:
    """Yield the error of counts of items of each of `sets`, by its number, their mean and the largest."""
    assert held.original is not None
    records, names = coded_items(held.original.rows)
    number = _numbered(published, names)
    least, errors = max(bound * records.shape[0], np.finfo(float).tiny), []
    for place, items in enumerate(sets):
        columns = np.array([at for at, name in enumerate(names) if name in set(items)], np.int64)
        inside = records[:, columns]
        whole, of_size = counts.plain_records(inside), []
        for size in SIZES:
            drawn = counts.drawn_queries(inside, counts.signatures(inside), size, queries, seed)
            if drawn.shape[1]:
                estimates = estimates_of(published.estimator, number[columns][drawn])
                off = counts.count_errors(estimates, estimates_of(whole, drawn), least)
                of_size.append(float(off.mean()))
        if of_size:
            errors.append(float(np.mean(of_size)))
            yield place, "count_error_within", errors[-1], None, None
    if errors:
        yield POOLED, "count_error_within", float(np.mean(errors)), None, None
        yield POOLED, "count_error_within_most", max(errors), None, None


def _of_classes(
    held: StoredRelease, published: Published, classes: Sequence[str], others: Dataset
) -> tuple[list[MetricValue], str | None]:
    """Return the share of people outside the data whose class is predicted, and a note where that is impossible."""
    assert held.original is not None
    records, names = coded_items(held.original.rows)
    place = {name: at for at, name in enumerate(names)}
    missing = [name for name in classes if name not in place]
    if missing:
        return [], f"nothing is classified: no record has {quote(missing[0])}"
    at = [place[name] for name in classes]
    # The last column collects the items that no published record has.
    column = np.array([place.get(name, len(names)) for name in others.rows.names], np.int64)
    people = others.rows.matrix(column, len(names) + 1)[:, : len(names)]
    true, size = counts.class_of(people, at), records.shape[0]
    number = _numbered(published, names)
    trained = {
        "_original": counts.class_counts(counts.plain_records(records), np.arange(len(names)), at, size),
        "_release": counts.class_counts(published.estimator, number, at, size),
    }
    right = {way: int((counts.classified(of, people, at) == true).sum()) for way, of in trained.items()}
    right["_baseline"] = int((true == int(np.argmax(trained["_original"][:, 0]))).sum())
    return [(POOLED, f"classification{way}", n / len(true), n, len(true)) for way, n in right.items()], None


def _of_chunks(held: StoredDisassociation, top: int) -> Iterator[MetricValue]:
    """Yield the figures of the papers, which count the sub-records of chunks as records."""
    assert held.rows is not None
    release, records = held.published, held.rows.records
    yield POOLED, "tkd", tkd_chunks(release, records, top), None, None
    yield POOLED, "re", re_chunks(release, records), None, None
    # A file may lack its k, and then each item that occurs counts.
    yield POOLED, "tlost", tlost(release, records, release.k or 1), None, None


FAMILY = Family(
    name="utility",
    about="Information loss of a release for its readers",
    metrics=metrics_of("utility"),
    measure=_measure,
    fits=frozenset(FormName),
    settings=UtilitySettings,
    of_release=True,
)
