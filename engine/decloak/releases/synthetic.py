"""The published form `synthetic`: records drawn from a model, none of which belongs to a person."""

import sqlite3

from decloak.anonymisers.method import NewRelease
from decloak.data.forms import FormName
from decloak.data.ordering import Order
from decloak.data.published import Published
from decloak.errors import DecloakError, quote
from decloak.releases.attacker import Attacker
from decloak.releases.form import StoredRow
from decloak.releases.set_generalised import SetGeneralisedForm
from decloak.releases.stored import StoredSynthetic
from decloak.store.record_links import link_original
from decloak.yaml.section import ConfigErrors

__all__ = ["SyntheticForm"]


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
