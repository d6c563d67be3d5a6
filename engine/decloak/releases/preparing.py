"""What a run does before it attacks: read or anonymise, relate items, build distance tables."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from decloak.anonymisers.method import Made
from decloak.attack.tables import needed_pairs, tables
from decloak.attack.unmarked import mark
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.disassociated_file import read_disassociated
from decloak.data.formats.distance_file import Distances as DistanceFile
from decloak.data.formats.distance_file import read_distances
from decloak.data.formats.generalised_file import read_generalised
from decloak.data.formats.published import read_published as read_published_file
from decloak.data.formats.readers import read
from decloak.data.generators.baskets import baskets
from decloak.data.generators.clinic import generate as clinic
from decloak.data.pair import check_pair
from decloak.data.published import Element, Published
from decloak.data.tables import AttackTable
from decloak.errors import DecloakError
from decloak.relate.counting import Progress
from decloak.relate.relatedness import Documents, Related, Supplies
from decloak.scenario.data import Distances, Generated, Notes, Original, Pair, PublishedFile, Release, Searchlog
from decloak.scenario.data import Published as PublishedOnly
from decloak.scenario.model import Scenario
from decloak.store.counts import StoredCounts
from decloak.store.opening import Store
from decloak.store.reading import read_dataset, read_published, read_scores

__all__ = [
    "distance_tables",
    "original_of",
    "published_beside",
    "published_of",
    "relate",
    "relate_torn",
]


def original_of(scenario: Scenario, folder: Path, progress: Progress | None = None) -> tuple[Dataset, str]:
    """Read the original transactions, or make them up; with them the name of their format."""
    data = scenario.data
    if isinstance(data, Generated):
        if data.generate == "clinic":
            return clinic(data.transactions, data.seed), "generated"
        return baskets(data.transactions, data.items, data.length, data.seed), "generated"
    if isinstance(data, Notes | Searchlog):
        return _from_words(data, folder, progress)
    assert isinstance(data, Original)
    options = {"transaction": data.transaction, "item": data.item} if data.format == "long" else {}
    found = read(folder / data.file, data.format, ids=data.ids, separator=data.separator, **options)
    return Dataset(found.transactions, found.labels, data.file), data.format


def _from_words(data: Notes | Searchlog, folder: Path, progress: Progress | None) -> tuple[Dataset, str]:
    from decloak.data.text.notes import read_text
    from decloak.data.text.searchlog import read_searchlog

    if isinstance(data, Notes):
        found = read_text(folder / data.text, field=data.field, ids=data.ids, headers=data.headers, progress=progress)
        return Dataset(found.transactions, found.labels, data.text), "text"
    found = read_searchlog([folder / file for file in data.files], short=data.short, progress=progress)
    return Dataset(found.transactions, found.labels, ", ".join(data.files)), "searchlog"


def published_of(scenario: Scenario, folder: Path, seed: int, store: Store, original: int | None) -> Made:
    """Read what was published, or anonymise the original."""
    data = scenario.data
    if isinstance(data, Distances):
        return _of_tables(read_distances(folder / data.distances), data.distances)
    before = None if original is None else read_dataset(store.connection, original)
    if scenario.anonymise is not None:
        assert before is not None
        made = scenario.anonymise.make(before, folder, seed, StoredCounts(store))
        # not from the file itself
        return replace(made, release=replace(made.release, origin=f"{made.method} of {before.origin}"))
    if isinstance(scenario.data, Release):
        return Made(read_disassociated(folder / scenario.data.release), "unknown", {})
    return published_beside(scenario, folder, before)


def published_beside(scenario: Scenario, folder: Path, before: Dataset | None) -> Made:
    """Read what was published; when the original is known it must be what was made of it."""
    data = scenario.data
    assert isinstance(data, Pair | PublishedOnly)
    published = _read_published(data.published_file, scenario, folder)
    if before is not None:
        try:
            suppressed = check_pair(before, published)
        except DecloakError as error:
            place = str(folder / (error.place or data.published_file.file))
            raise DecloakError(error.message, place, error.hint) from None
        return Made(published, "unknown", {"suppressed": len(suppressed)})
    return Made(published, "unknown", {})


def _read_published(file: PublishedFile, scenario: Scenario, folder: Path) -> Published:
    if file.file.endswith(".jsonl"):
        found = read_generalised(folder / file.file).published
    elif file.marked:
        found = read_published_file(folder / file.file, ids=file.ids)
    else:
        plain = read(folder / file.file, "basket", ids=file.ids)
        attacker = scenario.attacker
        found = mark(plain.transactions, plain.labels, k=attacker.k, utility=attacker.utility)
    return Published(found.transactions, found.labels, file.file, found.names)


def _of_tables(file: DistanceFile, origin: str) -> Made:
    """A release as distance tables show it: a transaction per row name, holding the generalised items."""
    rows: dict[str, list[Element]] = {}
    for table in file.tables:
        for name in table.rows:
            rows.setdefault(name, []).append(table.columns)
    marked = [
        (table.rows[row], table.columns[col])
        for table, stars in zip(file.tables, file.originals or (), strict=bool(file.originals))
        for row, col in zip(*np.nonzero(stars), strict=True)
    ]
    published = Published(tuple(map(tuple, rows.values())), tuple(rows), origin)
    return Made(published, "distance tables", {"tables": len(file.tables)}, marked=marked)


def relate(scenario: Scenario, folder: Path, store: Store, published: Published, progress: Progress) -> Related:
    """Score every pair of a context item and a member that the distance tables need."""
    pairs = needed_pairs(published, scenario.attacker.nearest)
    return _scored(scenario, folder, store, pairs, lambda: map(_possible, published.transactions), progress)


def _possible(transaction: Sequence[Element]) -> Iterator[str]:
    """The items a published transaction may stand for."""
    for element in transaction:
        yield from (element,) if isinstance(element, str) else element


def relate_torn(scenario: Scenario, folder: Path, store: Store, release: Disassociated, progress: Progress) -> Related:
    """Score every pair of an anchor's item and an item that was torn from it."""
    pairs = {
        (anchor, item): None
        for cluster in release.clusters
        if cluster.record_chunks
        for anchor in cluster.record_chunks[0].items
        for chunk in (*(chunk.items for chunk in cluster.record_chunks[1:]), cluster.term_chunk)
        for item in chunk
    }
    shown = [cluster.items for cluster in release.clusters]
    return _scored(scenario, folder, store, list(pairs), lambda: shown, progress)


def _scored(
    scenario: Scenario,
    folder: Path,
    store: Store,
    pairs: Sequence[tuple[str, str]],
    documents: Documents,
    progress: Progress,
) -> Related:
    assert scenario.relate is not None
    return scenario.relate.related(pairs, Supplies(folder, documents, StoredCounts(store), progress))


def distance_tables(
    scenario: Scenario, folder: Path, store: Store, release: int, relatedness: int | None
) -> list[AttackTable]:
    """The distance table of every generalised item that has one; none where nothing tells what is related."""
    published = read_published(store.connection, release)
    if relatedness is not None:
        return tables(published, read_scores(store.connection, relatedness), scenario.attacker.nearest)
    if not isinstance(scenario.data, Distances):
        return []
    places = {label: at for at, label in enumerate(published.labels)}
    return [
        AttackTable(
            table.columns,
            np.array([places[name] for name in table.rows], np.intp),
            table.columns,
            tuple(() for _ in table.rows),
            np.where(np.isfinite(table.d) & (table.d >= 0), table.d, np.nan),
        )
        for table in read_distances(folder / scenario.data.distances).tables
    ]
