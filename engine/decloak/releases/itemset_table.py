"""The published form `itemset-table`: supports of itemsets in place of records."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from decloak.anonymisers.method import NewRelease
from decloak.data.forms import FormName
from decloak.data.itemset_table import ITEMSETS, ItemsetTable
from decloak.data.ordering import Order
from decloak.data.pairs import Pair
from decloak.errors import DecloakError, quote
from decloak.releases.attacker import Attacker
from decloak.releases.file_formats import ITEMSET_LINES, ReleaseFileFormat
from decloak.releases.form import Form, Publishing
from decloak.releases.stored import StoredItemsetTable
from decloak.store.records import link_original
from decloak.store.releases import mark_suppressed, write_itemset_table
from decloak.yaml.section import ConfigErrors


class ItemsetTableForm(Form[StoredItemsetTable, ItemsetTable]):
    """The number of records, and the supports of some itemsets."""

    name = attacks = FormName.ITEMSETS
    stored_as = ("format", FormName.ITEMSETS)
    rows_in_order = False
    related = False
    header_method = ITEMSETS
    contains = ("the number of records, and the number of records that have all items of some itemsets",)

    def write(
        self, connection: sqlite3.Connection, digest: str, prepared: NewRelease[ItemsetTable], original: int | None
    ) -> int:
        release = write_itemset_table(
            connection, digest, prepared.release, prepared.method, prepared.parameters, prepared.notes, prepared.loss
        )
        if original is not None:
            link_original(connection, release, original)
            mark_suppressed(connection, release, prepared.suppressed)
        return release

    def load(self, connection: sqlite3.Connection, number: int) -> StoredItemsetTable:
        return StoredItemsetTable(connection, number)

    def unsupported_keys(self, attacker: Attacker, *, marked: bool, order: Order | None) -> ConfigErrors:
        for key in attacker.model_fields_set:
            message = f"no attack on an itemset table uses {quote(key)}"
            yield (key,), DecloakError(message, hint="delete it")

    def context(self, nearest: int | None) -> int | str:
        return "all"

    def pairs(self, held: StoredItemsetTable, nearest: int | None) -> Sequence[Pair]:
        return ()

    def documents(self, held: StoredItemsetTable) -> Iterable[Iterable[str]]:
        return ()

    def file_format(self, file: Path, wish: Publishing) -> ReleaseFileFormat:
        if wish.original_ids or wish.text or wish.cut is not None:
            hint = "leave --original-ids, --text and --cut out"
            raise DecloakError("an itemset table has no ids, no text and no labels", hint=hint)
        return ITEMSET_LINES

    def counts(self, release: ItemsetTable) -> Mapping[str, int]:
        return {"records": release.records, "itemsets": len(release.itemsets), "items": len(release.items)}
