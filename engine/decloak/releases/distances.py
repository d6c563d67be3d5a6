"""Distance tables that somebody else made: a release as its tables show it."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from decloak.anonymisers.method import NewRelease
from decloak.data.content import Element
from decloak.data.formats.distance_file import DistanceFile
from decloak.data.forms import FormName
from decloak.data.ordering import Order
from decloak.data.published import Published
from decloak.data.tables import AttackTable, DistanceTable, Pair
from decloak.errors import DecloakError
from decloak.releases.attacker import Attacker
from decloak.releases.held import HeldSets
from decloak.releases.set_generalised import SetGeneralisedForm
from decloak.yaml.part import Found

__all__ = ["DistancesForm", "made_of_tables"]


class DistancesForm(SetGeneralisedForm):
    """Tables are attacked as they are: nothing is left to relate, and no attacker chooses a context."""

    name = FormName.DISTANCES
    related = False
    audits = ()

    def misfits(self, attacker: Attacker, *, marked: bool, order: Order | None) -> Found:
        yield (), DecloakError("distance tables leave the attacker nothing to choose", hint="delete it")

    def tables(
        self,
        held: HeldSets,
        nearest: int | None,
        scores: Mapping[Pair, float | None] | None,
        listed: Iterable[DistanceTable],
    ) -> Sequence[AttackTable]:
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


def made_of_tables(file: DistanceFile, origin: str) -> NewRelease:
    """A release as distance tables show it: a transaction per row name, holding the generalised items."""
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
