"""The published form `disassociated`: clusters of records, published in chunks."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from decloak.anonymisers.chunk_parts import PartedClusters
from decloak.anonymisers.method import NewRelease
from decloak.attacker.tables import anchor_pairs, anchor_pairs_in_parts
from decloak.attacker.written_order import order_notes
from decloak.data.content import Cluster
from decloak.data.disassociated import DISASSOCIATION, Disassociated
from decloak.data.formats.cluster_files import read_clusters
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.data.ordering import Order
from decloak.data.pairs import Pair
from decloak.errors import DecloakError
from decloak.releases.attacker import Attacker
from decloak.releases.file_formats import CHUNKS, CHUNKS_CSV, TABLES, ReleaseFileFormat, published_items
from decloak.releases.form import Form, Publishing
from decloak.releases.knowledge import Knowledge, known_from_file, known_itemsets
from decloak.releases.stored import PartedDisassociation, StoredDisassociation
from decloak.store.disassociated import write_clusters
from decloak.store.records import dataset_of, link_original, link_origins, read_parts, write_cut
from decloak.yaml.section import ConfigErrors


class DisassociatedForm(Form[StoredDisassociation, Disassociated]):
    """Clusters of records in chunks that hide which record had which items."""

    name = attacks = FormName.DISASSOCIATED
    stored_as = ("format", FormName.DISASSOCIATED)
    rows_in_order = False
    audits = ("order_in_chunks",)
    header_method = DISASSOCIATION
    closer = ("smaller", "larger")
    knows = True
    contains = ("clusters of records: how many each has, and the chunks of items that hide which record had what",)

    def write(
        self, connection: sqlite3.Connection, digest: str, prepared: NewRelease[Disassociated], original: int | None
    ) -> int:
        notes = (*prepared.notes, *order_notes(prepared.release))
        parts = prepared.release.parts if isinstance(prepared.release, PartedClusters) else ()
        release = write_clusters(
            connection, digest, prepared.release, prepared.method, prepared.parameters, notes, prepared.loss, parts
        )
        if original is not None and parts:
            # No row is linked, because parts keep no order of the records.
            link_original(connection, release, original)
        elif original is not None:
            link_origins(connection, release, original, prepared.truth)
            write_cut(connection, release, prepared.cut)
        return release

    def load(self, connection: sqlite3.Connection, number: int) -> StoredDisassociation:
        in_parts = read_parts(connection, dataset_of(connection, number))
        return PartedDisassociation(connection, number) if in_parts else StoredDisassociation(connection, number)

    def unsupported_keys(self, attacker: Attacker, *, marked: bool, order: Order | None) -> ConfigErrors:
        # These keys would change nothing, and a reader of the scenario would think that they do.
        if "context" in attacker.model_fields_set:
            message = "the anchors are the context in disassociated data"
            yield ("context",), DecloakError(message, hint="delete it")
        if attacker.auxiliary is not None:
            message = "no attack on disassociated data uses other knowledge"
            yield ("auxiliary",), DecloakError(message, hint="delete it")
        for key in ("k", "utility"):
            if key in attacker.model_fields_set:
                hint = "delete it, or write marked: false under published"
                yield (key,), DecloakError(f"'{key}' is about unmarked data only", hint=hint)

    def context(self, nearest: int | None) -> int | str:
        return "anchor"

    def pairs(self, held: StoredDisassociation, nearest: int | None) -> Sequence[Pair]:
        """Return every pair of an anchor's item and an item of a later chunk of the same cluster in `held`.

        `nearest` has no meaning here: the anchor is the context.
        """
        if isinstance(held, PartedDisassociation):
            return anchor_pairs_in_parts(held.blocks)
        return anchor_pairs(held.published)

    def documents(self, held: StoredDisassociation) -> Iterable[Iterable[str]]:
        return (cluster.items for cluster in _clusters(held))

    def sizes(self, held: StoredDisassociation) -> Sequence[int]:
        return [cluster.size for cluster in _clusters(held)]

    def knowledge(self, held: StoredDisassociation, attacker: Attacker, folder: Folder, seed: int) -> Knowledge:
        return known_itemsets(attacker, folder, seed, held)

    def check_knowledge(self, attacker: Attacker, folder: Folder, items: Callable[[], Sequence[str]]) -> None:
        known_from_file(attacker, folder, items)

    def file_format(self, file: Path, wish: Publishing) -> ReleaseFileFormat:
        if wish.original_ids or wish.cut is not None:
            # An id beside a sub-record would put back together what the chunks split.
            hint = "leave --original-ids and --cut out"
            raise DecloakError("a disassociated release has no ids and no labels", hint=hint)
        return TABLES if wish.text else CHUNKS_CSV if file.suffix.lower() == ".csv" else CHUNKS

    def counts(self, release: Disassociated) -> Mapping[str, int]:
        return {
            "records": sum(cluster.size for cluster in release.clusters),
            "clusters": len(release.clusters),
            "joint clusters": len(release.joints),
            "items": len(published_items(release)),
        }


def _clusters(held: StoredDisassociation) -> Iterable[Cluster]:
    """Return the clusters of `held`, without their sub-records where they are in files."""
    if isinstance(held, PartedDisassociation):
        return (cluster for block in held.blocks.blocks for cluster in read_clusters(block, whole=False))
    return held.published.clusters
