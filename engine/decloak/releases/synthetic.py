"""The published form `synthetic`: records drawn from a model, none of them that of a person."""

import sqlite3
from dataclasses import fields
from functools import cached_property

from decloak.anonymisers.method import NewRelease
from decloak.data.forms import FormName
from decloak.data.ordering import Order
from decloak.data.published import Published
from decloak.data.synthetic import Synthetic
from decloak.errors import DecloakError, quote
from decloak.releases.attacker import Attacker
from decloak.releases.form import StoredRow
from decloak.releases.set_generalised import SetGeneralisedForm
from decloak.releases.stored import StoredSetRelease
from decloak.store.record_links import link_original
from decloak.yaml.section import ConfigErrors

__all__ = ["StoredSynthetic", "SyntheticForm"]


class StoredSynthetic(StoredSetRelease):
    """Synthetic records in the store."""

    @cached_property
    def published(self) -> Synthetic:
        """The records."""
        release = super().published
        return Synthetic(**{entry.name: getattr(release, entry.name) for entry in fields(release)})


class SyntheticForm(SetGeneralisedForm):
    """Transactions drawn from a model."""

    name = attacks = FormName.SYNTHETIC
    audits = ()
    related = rows_in_order = False
    contains = ("synthetic records, drawn from a model of the original records",)

    def recognises(self, stored: StoredRow) -> bool:
        return stored.method == FormName.SYNTHETIC

    def write(
        self, connection: sqlite3.Connection, digest: str, prepared: NewRelease[Published], original: int | None
    ) -> int:
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
