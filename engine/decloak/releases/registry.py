"""The published forms by name, and the one that a release in the store has."""

import sqlite3
from typing import Any

from decloak.data.forms import FormName
from decloak.releases.disassociated import DisassociatedForm
from decloak.releases.distances import DistancesForm
from decloak.releases.form import Form
from decloak.releases.set_generalised import GeneralisedForm, SetGeneralisedForm

__all__ = ["FORMS", "form_of"]

FORMS: dict[FormName, Form[Any]] = {
    form.name: form for form in (SetGeneralisedForm(), GeneralisedForm(), DisassociatedForm(), DistancesForm())
}


def form_of(connection: sqlite3.Connection, release: int) -> Form[Any]:
    """The form of a release in the store."""
    written, hierarchy, method = connection.execute(
        "select d.format, r.hierarchy, r.method from release r join dataset d on d.id = r.dataset where r.id = ?",
        (release,),
    ).fetchone()
    if written == FormName.DISASSOCIATED:
        return FORMS[FormName.DISASSOCIATED]
    if method == FormName.DISTANCES:
        return FORMS[FormName.DISTANCES]
    return FORMS[FormName.SET_GENERALISED if hierarchy is None else FormName.GENERALISED]
