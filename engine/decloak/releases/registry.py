"""The registry of published forms, and the form of a release in the store."""

import sqlite3

from decloak.data.forms import FormName
from decloak.releases.disassociated import DisassociatedForm
from decloak.releases.distances import DistancesForm
from decloak.releases.form import AnyForm, StoredRow
from decloak.releases.itemset_table import ItemsetTableForm
from decloak.releases.set_generalised import GeneralisedForm, SetGeneralisedForm, SyntheticForm

__all__ = ["FORMS", "form_of"]

_ALL: tuple[AnyForm, ...] = (
    DisassociatedForm(), ItemsetTableForm(), SyntheticForm(), DistancesForm(), GeneralisedForm(),
    SetGeneralisedForm(),
)  # fmt: skip

FORMS: dict[FormName, AnyForm] = {form.name: form for form in _ALL}
"""Forms by name. The first that recognises a release in the store has it, so the most general form is last."""


def form_of(connection: sqlite3.Connection, release: int) -> AnyForm:
    """Return the form of the `release` with this id, which `connection` reads."""
    stored = StoredRow(*connection.execute(
        "select d.format, r.hierarchy is not null, r.method from release r join dataset d on d.id = r.dataset "
        "where r.id = ?",
        (release,),
    ).fetchone())  # fmt: skip
    return next(form for form in FORMS.values() if form.recognises(stored))
