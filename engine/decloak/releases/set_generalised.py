"""Releases of transactions that show generalised items: sets of items, or labels of a hierarchy."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from decloak.anonymisers.method import NewRelease
from decloak.attack.tables import needed_pairs, tables
from decloak.data.formats.delimited import join
from decloak.data.formats.writing import write_lines
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.ordering import Order
from decloak.data.tables import AttackTable, DistanceTable, Pair
from decloak.errors import DecloakError, shown
from decloak.releases.attacker import Attacker
from decloak.releases.form import Form, Publishing
from decloak.releases.held import HeldSets
from decloak.store import releases
from decloak.store.origins import link_origins
from decloak.yaml.part import Found

__all__ = ["GeneralisedForm", "SetGeneralisedForm"]


class SetGeneralisedForm(Form[HeldSets]):
    """Transactions with generalised items in brackets."""

    name = attacks = FormName.SET_GENERALISED

    def write(self, connection: sqlite3.Connection, digest: str, prepared: NewRelease, original: int | None) -> int:
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
            prepared.notes,
        )
        if original is not None:
            link_origins(connection, release, original, prepared.truth)
        releases.mark_originals(connection, release, prepared.marked)
        releases.mark_suppressed(connection, release, prepared.suppressed)
        return release

    def hold(self, connection: sqlite3.Connection, number: int) -> HeldSets:
        return HeldSets(connection, number)

    def misfits(self, attacker: Attacker, *, marked: bool, order: Order | None) -> Found:
        for key in ("model", "share", "foreign", "knowledge"):
            if key in attacker.model_fields_set:
                yield (key,), DecloakError(f"{shown(key)} is about disassociated data only", hint="delete it")
        for key in ("k", "utility"):
            if key in attacker.model_fields_set and marked:
                hint = "delete it, or write marked: false under published"
                yield (key,), DecloakError(f"{shown(key)} is about unmarked data only", hint=hint)
        if order == "sorted" and attacker.context not in (None, "all"):
            hint = "write context: all, or order: recorded under anonymise"
            message = "what stands nearest in sorted records is near in spelling, and tells nothing"
            yield ("context",), DecloakError(message, hint=hint)

    def context(self, nearest: int | None) -> int | str:
        return "all" if nearest is None else nearest

    def pairs(self, held: HeldSets, nearest: int | None) -> Sequence[Pair]:
        return needed_pairs(held.published, nearest)

    def documents(self, held: HeldSets) -> Iterable[Iterable[str]]:
        """The items each published transaction may stand for."""
        for transaction in held.published.transactions:
            yield [item for element in transaction for item in ((element,) if isinstance(element, str) else element)]

    def tables(
        self,
        held: HeldSets,
        nearest: int | None,
        scores: Mapping[Pair, float | None] | None,
        given: Iterable[DistanceTable],
    ) -> Sequence[AttackTable]:
        return () if scores is None else tables(held.published, scores, nearest)

    def publish(self, held: HeldSets, file: Path, wish: Publishing) -> None:
        if wish.text:
            raise DecloakError("the release is set-generalised, and a text as it is", hint="leave --text out")
        # Worked out first: a name that CSV cannot carry leaves neither file behind.
        labels = [] if wish.cut is None else ["label,item", *_items_of_labels(held.labels)]
        held.published.write(file, ids=wish.ids)
        if wish.cut is not None:
            write_lines(labels, wish.cut)


class GeneralisedForm(SetGeneralisedForm):
    """Transactions of labels of a hierarchy: what a set-generalised release is, its generalised items named."""

    name = FormName.GENERALISED


def _items_of_labels(release: Generalised) -> Iterator[str]:
    for label in release.cut:
        yield from (join([label, item]) for item in release.members[label])
