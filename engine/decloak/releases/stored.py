"""A release in the store, read once for all who ask: its published part, and its ground truth apart from it.

Attacks receive the published part. The evaluator also receives the truth, None where the originals are not known.
"""

import json
import sqlite3
from abc import ABC
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from decloak.arrays import Mask
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Blocks, Part, PartedData, parts_folder
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.itemset_table import ItemsetTable
from decloak.data.published import Published, Synthetic
from decloak.data.rows import select_labels
from decloak.digest import Config, JsonObject
from decloak.errors import DecloakError
from decloak.store.disassociated import read_clusters
from decloak.store.outcomes import TableOutcome, TrueTable, fact_outcomes, outcomes, scoring_of, true_tables
from decloak.store.records import dataset_of, read_cut, read_dataset, read_origins, read_parts
from decloak.store.relations import ELIMINATION_COLUMNS, Derives
from decloak.store.releases import read_set_generalised, read_stored_itemsets, read_tree

UNKNOWN = "{} cannot be measured: the original records are not known"


Records = Sequence[tuple[str, ...]]
Arranged = TypeVar("Arranged")


class Making(NamedTuple):
    """The making of a release: the method, its settings, its notes on loss and cost, and remarks."""

    method: str
    parameters: Config
    loss: Config
    notes: Sequence[str]


class Rows(NamedTuple):
    """The ground truth of a disassociated release: the records, and the number of the record behind every row."""

    records: Records
    of_row: list[list[int]]


class StoredRelease(ABC):
    """A release of any form in the store."""

    def __init__(self, connection: sqlite3.Connection, number: int) -> None:
        self.connection = connection
        self.number = number
        self._cached: dict[object, object] = {}

    published: Any
    """The published part, in the type of its form."""
    rows: Rows | None = None
    """Truth: the record behind every row of a cluster, None where there are none or they are not known."""

    def cached(self, work_out: Callable[[Self], Arranged]) -> Arranged:
        """Return the result of `work_out` for this release, computed once."""
        if work_out not in self._cached:
            self._cached[work_out] = work_out(self)
        return self._cached[work_out]  # type: ignore[return-value]

    @property
    def shown(self) -> Dataset | None:
        """The items that each record shows, as rules read them in the relation `shown`; None without records."""
        return None

    @cached_property
    def making(self) -> Making:
        """The method, its settings and its notes."""
        method, parameters, loss = self.connection.execute(
            "select method, parameters, loss from release where id = ?", (self.number,)
        ).fetchone()
        noted = "select n.value from release r join json_each(r.notes) n where r.id = ?"
        notes = [str(note) for (note,) in self.connection.execute(noted, (self.number,))]
        return Making(method, _settings(parameters), _settings(loss), notes)

    @cached_property
    def original(self) -> Dataset | None:
        """Truth: the records it was made from, None where they are not known."""
        row = self.connection.execute("select original from truth_release where release = ?", (self.number,)).fetchone()
        return None if row is None else read_dataset(self.connection, row[0])

    def true_tables(self, scoring: int) -> list[TrueTable]:
        """Truth: the cells of the distance tables of a scoring; none where there are no tables."""
        return []

    def with_ground_truth(
        self, arrange: Callable[[Disassociated, Records, list[list[int]]], Arranged]
    ) -> Arranged | None:
        """Truth: what is published and the record behind every row; None where rows have none, or it is not known."""
        return None


def _settings(text: str) -> JsonObject:
    """Read a JSON object, perhaps from a foreign store."""
    # A foreign store may nest its JSON deeper than Python reads.
    with suppress(ValueError, RecursionError):
        if isinstance(value := json.loads(text), dict):
            return value
    raise DecloakError("the store says of a release in no JSON object how it was made", hint="name another store")


class StoredSetRelease(StoredRelease):
    """A release of records that show items and generalised items."""

    _true_tables: tuple[int, list[TrueTable]] | None = None
    _eliminated: tuple[int | None, Sequence[tuple[TrueTable, Mask]]] = (None, ())

    @cached_property
    def published(self) -> Published:
        """The published part."""
        release = read_set_generalised(self.connection, self.number)
        return replace(release, method=self.making.method, parameters=self.making.parameters)

    @property
    def shown(self) -> Dataset:
        return Dataset(self.published.label_rows, self.published.labels)

    @cached_property
    def labels(self) -> Generalised:
        """The published part, with a label for every generalised item."""
        return Generalised.of(self.published)

    @cached_property
    def behind(self) -> Dataset | None:
        """Truth: the original record behind each row, None where they are not known."""
        places = read_origins(self.connection, self.number)
        if self.original is None or places is None:
            return None
        labels = select_labels(self.original.labels, places)
        return Dataset(self.original.rows.select(places), labels, self.original.origin)

    @cached_property
    def true(self) -> list[frozenset[str]] | None:
        """Truth: the items that each record really holds, None where the originals are not known."""
        return None if self.behind is None else list(map(frozenset, self.behind.transactions))

    def true_tables(self, scoring: int) -> list[TrueTable]:
        """Truth: the cells of the distance tables of a scoring; those last asked for are kept."""
        if self._true_tables is None or self._true_tables[0] != scoring:
            self._true_tables = scoring, true_tables(self.connection, scoring)
        return self._true_tables[1]

    def outcomes(self, attack: int, derives: Derives) -> Iterator[TableOutcome]:
        """Truth: what an `attack` eliminated by distance table, or by generalised item if `derives` has such facts."""
        if ELIMINATION_COLUMNS.issubset(derives.columns):
            made = fact_outcomes(self.connection, attack, derives.name)
        else:
            made = outcomes(self.connection, attack, self.true_tables(scoring_of(self.connection, attack)))
        eliminated = []
        for outcome in made:
            eliminated.append((outcome.table, outcome.order >= 0))
            yield outcome
        self._eliminated = attack, eliminated

    def eliminated(self, attack: int, derives: Derives) -> Sequence[tuple[TrueTable, Mask]]:
        """Truth: the tables of an attack and its eliminated members; those of the last attack are not read again."""
        # The families measure one attack in turn, so that one outcome is enough.
        if self._eliminated[0] != attack:
            # Runs the generator to its end, where it keeps what it found.
            deque(self.outcomes(attack, derives), maxlen=0)
        return self._eliminated[1]

    @cached_property
    def tree(self) -> Hierarchy | None:
        """The hierarchy it was generalised in, None where there is none."""
        return read_tree(self.connection, self.number)


class PartedStored(StoredRelease):
    """A release whose records or clusters are in files beside the store."""

    original: PartedData | None
    """Truth: the blocks of the original records; the pipeline sets them."""

    @property
    def store(self) -> Path:
        """The file of the store."""
        (file,) = self.connection.execute("select file from pragma_database_list where name = 'main'").fetchone()
        return Path(file)

    @property
    def files(self) -> Path:
        """The folder of the files that belong to the store."""
        return parts_folder(self.store)

    @property
    def parts(self) -> list[Part]:
        """The catalogue of the published files."""
        return read_parts(self.connection, dataset_of(self.connection, self.number))

    @property
    def blocks(self) -> Blocks:
        """The blocks of the published files."""
        return Blocks.of_parts(self.store.parent, self.files, self.parts)


class PartedSets(PartedStored, StoredSetRelease):
    """A release of transactions whose records are in files."""

    original: PartedData | None


class StoredSynthetic(StoredSetRelease):
    """Synthetic records in the store."""

    @cached_property
    def published(self) -> Synthetic:
        """The records."""
        release = super().published
        return Synthetic(**{entry.name: getattr(release, entry.name) for entry in fields(release)})


class StoredItemsetTable(StoredRelease):
    """An itemset table in the store."""

    @cached_property
    def published(self) -> ItemsetTable:
        """The table."""
        return read_stored_itemsets(self.connection, self.number)


class StoredDisassociation(StoredRelease):
    """A disassociated release."""

    @cached_property
    def published(self) -> Disassociated:
        """The published part."""
        return read_clusters(self.connection, self.number)

    @cached_property
    def rows(self) -> Rows | None:  # type: ignore[override]
        """Truth: the record behind every row, None where the originals are not known."""
        places = read_origins(self.connection, self.number)
        if places is None or self.original is None:
            return None
        sizes = [cluster.size for cluster in self.published.clusters]
        # Rows are stored cluster by cluster.
        return Rows(self.original.transactions, [part.tolist() for part in np.split(places, np.cumsum(sizes)[:-1])])

    def with_ground_truth(
        self, arrange: Callable[[Disassociated, Records, list[list[int]]], Arranged]
    ) -> Arranged | None:
        """Truth: what is published and the record behind every row, arranged once for all who ask for it so.

        Records lack the occurrences that the release suppressed, because no attack can recover them.
        """
        if self.rows is None:
            return None
        if arrange not in self._cached:
            # The store has whole originals, for measures of the loss.
            records = self.rows.records
            if cut := read_cut(self.connection, self.number):
                records = [
                    tuple(item for item in record if item not in cut.get(place, ()))
                    for place, record in enumerate(records)
                ]
            self._cached[arrange] = arrange(self.published, records, self.rows.of_row)
        return self._cached[arrange]  # type: ignore[return-value]


class PartedDisassociation(PartedStored, StoredDisassociation):
    """A disassociated release whose clusters are in files. Files in another folder have the records behind its rows."""

    original: PartedData | None
    rows: Rows | None = None

    def truth(self, path: str) -> Path:
        """Truth: return the file with the records behind the rows of the clusters in the file at `path`."""
        # The two folders have names that differ in their beginning alone.
        file = Path(path)
        return file.parent.with_name(file.parent.name.replace("release-", "truth-", 1)) / file.name

    def findings(self, path: str, key: str) -> Path:
        """Return the file with what the attack `key` found in the clusters in the file at `path`."""
        return self.files / f"attack-{key[:16]}" / Path(path).name
