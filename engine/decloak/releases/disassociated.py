"""Disassociated releases: clusters of records, published in chunks."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from decloak.anonymisers.method import NewRelease
from decloak.attack.written_order import order_notes
from decloak.data.disassociated import Disassociated
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.data.ordering import Order
from decloak.data.tables import Pair
from decloak.errors import DecloakError
from decloak.releases.attacker import Attacker
from decloak.releases.carriers import CHUNKS, TABLES, Carrier
from decloak.releases.form import Form, Publishing
from decloak.releases.held import HeldChunks
from decloak.releases.knowledge import Knowledge, known_by_file, what_is_known
from decloak.releases.shown import names_shown
from decloak.store.disassociated import write_clusters
from decloak.store.origins import link_origins
from decloak.yaml.part import Found

__all__ = ["DisassociatedForm"]


class DisassociatedForm(Form[HeldChunks]):
    """Clusters of records in chunks that hide which record had what."""

    name = attacks = FormName.DISASSOCIATED
    rows_in_order = False
    audits = ("order_in_chunks",)
    closer = ("smaller", "larger")
    knows = apart = True
    contains = ("clusters of records: how many each has, and the chunks of items that hide which record had what",)

    def write(self, connection: sqlite3.Connection, digest: str, prepared: NewRelease, original: int | None) -> int:
        notes = (*prepared.notes, *order_notes(prepared.release))
        release = write_clusters(connection, digest, prepared.release, prepared.method, prepared.parameters, notes)
        if original is not None:
            link_origins(connection, release, original, prepared.truth)
        return release

    def hold(self, connection: sqlite3.Connection, number: int) -> HeldChunks:
        return HeldChunks(connection, number)

    def misfits(self, attacker: Attacker, *, marked: bool, order: Order | None) -> Found:
        if "context" in attacker.model_fields_set:
            message = "the anchors are the context in disassociated data"
            yield ("context",), DecloakError(message, hint="delete it")
        if attacker.auxiliary is not None:
            message = "no attack on disassociated data goes by what else the attacker has"
            yield ("auxiliary",), DecloakError(message, hint="delete it")
        for key in ("k", "utility"):
            if key in attacker.model_fields_set:
                hint = "delete it, or write marked: false under published"
                yield (key,), DecloakError(f"'{key}' is about unmarked data only", hint=hint)

    def context(self, nearest: int | None) -> int | str:
        return "anchor"

    def pairs(self, held: HeldChunks, nearest: int | None) -> Sequence[Pair]:
        """Every pair of an anchor's item and an item of a later chunk of its cluster."""
        pairs = {
            (anchor, item): None
            for cluster in held.published.clusters
            if cluster.record_chunks
            for anchor in cluster.record_chunks[0].items
            for chunk in (*(chunk.items for chunk in cluster.record_chunks[1:]), cluster.term_chunk)
            for item in chunk
        }
        return list(pairs)

    def documents(self, held: HeldChunks) -> Iterable[Iterable[str]]:
        return [cluster.items for cluster in held.published.clusters]

    def sizes(self, held: HeldChunks) -> Sequence[int]:
        return [cluster.size for cluster in held.published.clusters]

    def knowledge(self, held: HeldChunks, attacker: Attacker, folder: Folder, seed: int) -> Knowledge:
        return what_is_known(attacker, folder, seed, held)

    def check_knowledge(self, attacker: Attacker, folder: Folder, items: Callable[[], Sequence[str]]) -> None:
        known_by_file(attacker, folder, items)

    def carrier(self, file: Path, wish: Publishing) -> Carrier:
        if wish.original_ids or wish.cut is not None:
            hint = "leave --original-ids and --cut out"
            raise DecloakError("a disassociated release has rows without ids, and no labels", hint=hint)
        return TABLES if wish.text else CHUNKS

    def counts(self, release: Disassociated) -> Mapping[str, int]:
        return {
            "records": sum(cluster.size for cluster in release.clusters),
            "clusters": len(release.clusters),
            "joint clusters": len(release.joints),
            "items": len(names_shown(release)),
        }
