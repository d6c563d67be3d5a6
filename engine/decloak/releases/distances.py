"""The published form `distance tables`: a release known only by its distance tables."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from decloak.anonymisers.method import NewRelease
from decloak.data.content import Element
from decloak.data.formats.distance_file import DistanceFile
from decloak.data.forms import FormName
from decloak.data.ordering import Order
from decloak.data.pairs import AttackTable, DistanceTable, Pair
from decloak.data.published import Published
from decloak.errors import DecloakError
from decloak.releases.attacker import Attacker
from decloak.releases.form import StoredRow
from decloak.releases.set_generalised import SetGeneralisedForm
from decloak.releases.stored import StoredSetRelease
from decloak.yaml.section import ConfigErrors

__all__ = ["DistancesForm", "release_of_tables"]


class DistancesForm(SetGeneralisedForm):
    """Tables that are attacked as they are: there is nothing to relate, and no context to choose."""

    name = FormName.DISTANCES
    related = False
    audits = ()

    def recognises(self, stored: StoredRow) -> bool:
        return stored.method == FormName.DISTANCES

    def unsupported_keys(self, attacker: Attacker, *, marked: bool, order: Order | None) -> ConfigErrors:
        yield (), DecloakError("distance tables leave the attacker nothing to choose", hint="delete it")

    def tables(
        self,
        held: StoredSetRelease,
        nearest: int | None,
        scores: Mapping[Pair, float | None] | None,
        listed: Iterable[DistanceTable],
    ) -> Sequence[AttackTable]:
        # A table names its rows, and the release numbers them.
        places = {label: at for at, label in enumerate(held.published.labels)}
        return [
            AttackTable(
                table.columns,
                np.array([places[name] for name in table.rows], np.intp),
                table.columns,
                tuple(() for _ in table.rows),
                np.where(np.isfinite(table.d) & (table.d >= 0), table.d, np.nan),
            )
            for table in listed
        ]


def release_of_tables(file: DistanceFile, origin: str) -> NewRelease[Published]:
    """Return the release that the distance tables of `file` show: a record per row name, with the generalised
    items.

    `origin` is the name of the file.
    """
    rows: dict[str, list[Element]] = {}
    for table in file.tables:
        for name in table.rows:
            rows.setdefault(name, []).append(table.columns)
    marked = [
        (table.rows[row], table.columns[col])
        for table, stars in zip(file.tables, file.originals or (), strict=bool(file.originals))
        for row, col in zip(*np.nonzero(stars), strict=True)
    ]
    published = Published(tuple(map(tuple, rows.values())), tuple(rows), origin)
    return NewRelease(published, "distance tables", {"tables": len(file.tables)}, marked=marked)
