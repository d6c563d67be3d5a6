"""The published forms of records with generalised items: sets of items, or labels of a hierarchy.

Synthetic records are drawn from a model, and none of them belongs to a person.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np

from decloak.anonymisers.method import NewRelease
from decloak.anonymisers.parts import PartedRelease
from decloak.attacker.tables import needed_pairs, tables
from decloak.attacker.written_order import order_notes
from decloak.data.formats.generalised_file import GENERALISATION
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.data.ordering import Order
from decloak.data.pairs import AttackTable, DistanceTable, Pair
from decloak.data.published import Published
from decloak.data.rows import CodedRows, Coding, runs
from decloak.errors import DecloakError, quote
from decloak.releases.attacker import Attacker
from decloak.releases.file_formats import LABELS, LABELS_CSV, TEXT, ReleaseFileFormat
from decloak.releases.form import Form, Publishing
from decloak.releases.stored import PartedSets, StoredSetRelease, StoredSynthetic
from decloak.store import releases
from decloak.store.records import dataset_of, link_original, link_origins, read_parts
from decloak.yaml.section import ConfigErrors


class SetGeneralisedForm(Form[StoredSetRelease, Published]):
    """Transactions with generalised items in brackets."""

    name = attacks = FormName.SET_GENERALISED
    contains: ClassVar[tuple[str, ...]] = (
        "the published records: plain items, and generalised items with one original member or more",
        "the members of the generalised items that records show",
    )
    audits: ClassVar[tuple[str, ...]] = ("order",)
    header_method = GENERALISATION

    def write(
        self, connection: sqlite3.Connection, digest: str, prepared: NewRelease[Published], original: int | None
    ) -> int:
        tree, hierarchy = prepared.tree, None
        if tree is not None:
            hierarchy = releases.write_tree(connection, tree.parents(), tree.items, tree.origin)
        release = releases.write_release(
            connection,
            digest,
            prepared.release,
            prepared.method,
            prepared.parameters,
            hierarchy,
            prepared.loss,
            (*prepared.notes, *order_notes(prepared.release)),
            prepared.release.parts if isinstance(prepared.release, PartedRelease) else (),
        )
        if original is not None and isinstance(prepared.release, PartedRelease):
            # No row is linked, because parts keep no order of the records.
            link_original(connection, release, original)
        elif original is not None:
            link_origins(connection, release, original, prepared.truth)
        releases.mark_originals(connection, release, prepared.marked)
        releases.mark_suppressed(connection, release, prepared.suppressed)
        return release

    def load(self, connection: sqlite3.Connection, number: int) -> StoredSetRelease:
        in_parts = read_parts(connection, dataset_of(connection, number))
        return PartedSets(connection, number) if in_parts else StoredSetRelease(connection, number)

    def unsupported_keys(self, attacker: Attacker, *, marked: bool, order: Order | None) -> ConfigErrors:
        for key in ("model", "share", "foreign", "frequent", "knowledge"):
            if key in attacker.model_fields_set:
                yield (key,), DecloakError(f"{quote(key)} is about disassociated data only", hint="delete it")
        # Brackets already show what is generalised, so that these keys would change nothing.
        for key in ("k", "utility"):
            if key in attacker.model_fields_set and marked:
                hint = "delete it, or write marked: false under published"
                yield (key,), DecloakError(f"{quote(key)} is about unmarked data only", hint=hint)
        if KnowledgeLevel.PERSON in (attacker.knowledge_levels or ()):
            message = f"no attack on {self.attacks} data uses items of specific people"
            yield ("knows",), DecloakError(message, hint="leave person out; the exposure figures count such people")
        if order == "sorted" and attacker.context not in (None, "all"):
            hint = "write `context: all`, or `order: recorded` under anonymise"
            message = "neighbours in sorted records are only similar in spelling"
            yield ("context",), DecloakError(message, hint=hint)

    def context(self, nearest: int | None) -> int | str:
        return "all" if nearest is None else nearest

    def pairs(self, held: StoredSetRelease, nearest: int | None) -> Sequence[Pair]:
        return needed_pairs(held.published, nearest)

    def documents(self, held: StoredSetRelease) -> Iterable[Iterable[str]]:
        """Return the possible items of each published record of `held`."""
        rows, code = held.published.rows.with_used_names, Coding[str]()
        members = [[code[item] for item in ((name,) if isinstance(name, str) else name)] for name in rows.names]
        sizes = np.array(list(map(len, members)), np.int64)
        first, flat = np.cumsum(sizes) - sizes, np.array(list(chain.from_iterable(members)), np.int32)
        # The members of every element of every row, by arrays: there are many more than elements.
        begin, of_element = first[rows.codes], sizes[rows.codes]
        ends = np.concatenate(([0], np.cumsum(of_element)))
        return CodedRows(ends[rows.start], flat[runs(begin, begin + of_element)[0]], tuple(code))

    def tables(
        self,
        held: StoredSetRelease,
        nearest: int | None,
        scores: Mapping[Pair, float | None] | None,
        listed: Iterable[DistanceTable],
    ) -> Sequence[AttackTable]:
        return () if scores is None else tables(held.published, scores, nearest)

    def file_format(self, file: Path, wish: Publishing) -> ReleaseFileFormat:
        if wish.text:
            raise DecloakError("the release is set-generalised, and a text as it is", hint="leave --text out")
        if file.suffix.lower() == ".csv":
            return LABELS_CSV
        return LABELS if file.suffix == ".jsonl" else TEXT

    def labels(self, held: StoredSetRelease) -> Generalised:
        return held.labels

    def counts(self, release: Published | Generalised) -> Mapping[str, int]:
        published = release.published if isinstance(release, Generalised) else release
        plain = {element for element in published.rows.used_names if isinstance(element, str)}
        # Two labels with the same members hide the same items.
        hiding = {frozenset(members) for members in published.generalised}
        return {
            "transactions": len(published.transactions),
            "transactions that show nothing": int((published.rows.lengths == 0).sum()),
            "plain items": len(plain),
            "generalised items": len(hiding),
            "items": len(plain.union(*hiding)),
        }


class GeneralisedForm(SetGeneralisedForm):
    """Transactions of labels of a hierarchy: a set-generalised release whose generalised items have names."""

    name = FormName.GENERALISED


class SyntheticForm(SetGeneralisedForm):
    """Transactions drawn from a model."""

    name = attacks = FormName.SYNTHETIC
    stored_as = ("method", FormName.SYNTHETIC)
    audits = ()
    related = rows_in_order = False
    contains = ("synthetic records, drawn from a model of the original records",)

    def write(
        self, connection: sqlite3.Connection, digest: str, prepared: NewRelease[Published], original: int | None
    ) -> int:
        # No row comes from one record, so none is linked to an original.
        release = super().write(connection, digest, prepared, None)
        if original is not None:
            link_original(connection, release, original)
        return release

    def load(self, connection: sqlite3.Connection, number: int) -> StoredSynthetic:
        return StoredSynthetic(connection, number)

    def unsupported_keys(self, attacker: Attacker, *, marked: bool, order: Order | None) -> ConfigErrors:
        for key in attacker.model_fields_set:
            message = f"no attack on synthetic records uses {quote(key)}"
            yield (key,), DecloakError(message, hint="delete it")
