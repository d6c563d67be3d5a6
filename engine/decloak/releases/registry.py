"""The registry of published forms, and the form of a release in the store."""

import sqlite3

from decloak.data.forms import FormName
from decloak.releases.disassociated import DisassociatedForm
from decloak.releases.distances import DistancesForm
from decloak.releases.form import AnyForm
from decloak.releases.itemset_table import ItemsetTableForm
from decloak.releases.set_generalised import GeneralisedForm, SetGeneralisedForm, SyntheticForm

_ALL: tuple[AnyForm, ...] = (
    DisassociatedForm(), ItemsetTableForm(), SyntheticForm(), DistancesForm(), GeneralisedForm(),
    SetGeneralisedForm(),
)  # fmt: skip

FORMS: dict[FormName, AnyForm] = {form.name: form for form in _ALL}
"""Forms by name."""


def form_of(connection: sqlite3.Connection, release: int) -> AnyForm:
    """Return the form of the `release` with this id, which `connection` reads."""
    file_format, method, has_hierarchy = connection.execute(
        "select d.format, r.method, r.hierarchy is not null from release r join dataset d on d.id = r.dataset "
        "where r.id = ?",
        (release,),
    ).fetchone()
    stored = ("format", file_format), ("method", method)
    # Distance tables and synthetic records share the format of others: only the method shows them.
    recognised = next((form for form in FORMS.values() if form.stored_as in stored), None)
    # Labels of a hierarchy are names of generalised items, so the other tables are the same.
    return recognised or FORMS[FormName.GENERALISED if has_hierarchy else FormName.SET_GENERALISED]
