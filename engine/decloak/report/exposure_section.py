"""The people exposed, on a page: four tiles for one release, or a table of several releases and their comparison."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from decloak.measure.kernels.statistics import Interval, interval
from decloak.report.advice import advice
from decloak.report.page import Section, Table, Tile, TileRow
from decloak.report.risk_card import RELEASE, Cell, ExposureCard, exposure_cards, pooled_cards
from decloak.report.risk_tables import called_shortly, comparison_rows, costs_of, reasons, remark, unpooled
from decloak.report.study import Study, flat
from decloak.report.wording import people, percent, whole
from decloak.store.results import pooled_figures

__all__ = ["ExposureParts", "exposure_parts", "tiles_of"]

TITLES = {
    "singled_out_2": ("Singled out with up to 2 items", "The most revealing 2 items of a person fit only one record."),
    "exposed_2": ("Exposed with 2 items", "An attacker who knows 2 random items finds the record with p > 1/11."),
    "implied": ("Third item implied by 2 items", "2 known items prove a third item with certainty."),
    "inferred_own": ("Item known or inferred", "The release shows an item, or one guess at it is right (expected)."),
}
"""The figures of the tiles, each with its title and its definition."""


class ExposureParts(NamedTuple):
    """The people exposed on a page: tiles, a section, sentences, and the cards that they are made from."""

    tiles: Sequence[Tile]
    section: Section | None
    advice: Sequence[str]
    cards: Sequence[ExposureCard]


def exposure_parts(connection: sqlite3.Connection, study: Study) -> ExposureParts:
    """Return the parts for the runs of `study`. With several data sets of a kind, they are about the kind."""
    cards = called_shortly(exposure_cards(connection, study))
    pooled = called_shortly(pooled_cards(connection, study))
    chosen = pooled or cards
    said = advice(chosen) if len(chosen) > 1 else ""
    tiles = tiles_of(chosen[0], study, _count_people_in_draw(connection, study, chosen[0])) if len(chosen) == 1 else []
    tables = [some for some in (pooled, cards) if len(some) > 1]
    notes = [*(note for some in tables for note in _notes(some)), unpooled(study, cards, pooled)]
    section = Section(
        "people", "People exposed", [said] if said else [],
        tables=[_comparison(study, some)._replace(folded=some is cards and len(tables) > 1) for some in tables],
        items=list(dict.fromkeys(note for note in notes if note)),
    )  # fmt: skip
    return ExposureParts(tiles, section if tables else None, [said] if said else [], chosen)


def _count_people_in_draw(connection: sqlite3.Connection, study: Study, card: ExposureCard) -> int:
    """Return the number of people with 2 items or more who were looked up."""
    pooled = (pooled_figures(connection, run) for run in flat(dict(study.groups)[card.variant]))
    wholes = (one.whole for figures in pooled for (key, _), one in figures.items() if key == "exposed_2_release")
    return int(max((whole for whole in wholes if whole is not None), default=card.people))


def tiles_of(card: ExposureCard, study: Study, looked_up: int) -> list[Tile]:
    """Return a tile for each figure of `TITLES` that was measured; `looked_up` people have 2 items or more."""
    cells = dict(card.cells) | {"exposed_2": _exposed(card, study, looked_up)}
    hidden = remark([card])
    tiles = [_tile(figure, cells[figure], card) for figure in TITLES if cells[figure].release is not None]
    return [*tiles[:-1], tiles[-1]._replace(foot=hidden.capitalize())] if tiles and hidden else tiles


def _exposed(card: ExposureCard, study: Study, of: int) -> Cell:
    """Return the people exposed with 2 items, after the attack that exposes most."""
    runs = dict(study.groups)[card.variant]
    original, release = (interval(study.values(runs, f"exposed_2_{where}")) for where in ("original", "release"))
    if release.mean is None:
        return Cell(of, original.mean)
    means = {attack: interval(study.values(runs, "exposed_2", attack)).mean for attack in study.attacks}
    after = {attack: mean for attack, mean in means.items() if mean is not None}
    if not after:
        reason = "not measured on disassociated data" if means else ""
        return Cell(of, original.mean, release, reason=reason or None)
    attack = max(after, key=lambda one: after[one])
    if after[attack] <= release.mean:
        return Cell(of, original.mean, release, release, source=RELEASE)
    return Cell(of, original.mean, release, Interval(after[attack], None, None, 1), attack=attack, source=attack)


def _tile(figure: str, cell: Cell, card: ExposureCard) -> Tile:
    title, definition = TITLES[figure]
    worst = card.around(cell.worst, cell.of)
    place = "in the release" if cell.after is None or cell.source == RELEASE else f"after the attack {cell.source}"
    return Tile(title, whole(worst.mean if worst else None) or "–", f"of {cell.of:,} people, {place}", definition,
                list(_rows(cell, card)), _interval(worst))  # fmt: skip


def _rows(cell: Cell, card: ExposureCard) -> Iterator[TileRow]:
    yield _row("original data", cell.original, cell.of, "not measured")
    yield _row("release", None if cell.release is None else cell.release.mean, cell.of, "not measured")
    after = None if cell.after is None else cell.after.mean
    yield _row("after the strongest attack", after, cell.of, cell.reason or "not measured: no attack was run")
    if cell.baseline is not None:
        yield _row("baseline", cell.baseline, cell.of, "")._replace(baseline=True)


def _row(label: str, value: float | None, of: int, note: str) -> TileRow:
    if value is None:
        return TileRow(label, note=note)
    return TileRow(label, f"{whole(value)} ({percent(value / of)})", value / of)


def _interval(worst: Interval | None) -> str:
    return "" if worst is None or worst.low is None else f"With 95% interval: {people(worst)}."


def _comparison(study: Study, cards: Sequence[ExposureCard]) -> Table:
    columns, rows = comparison_rows(cards, costs_of(study))
    of = f"over {cards[0].data_sets} data sets, " if cards[0].data_sets > 1 else ""
    counts = {card.people for card in cards}
    who = "People"
    if len(counts) == 1:
        who = f"Of {counts.pop():,} people"
    caption = f"{who}: {of}release → after the strongest attack (baseline)"
    cells = [[cell or "–" for cell in row] for row in rows]
    return Table(caption, columns, cells, frozenset(range(1, len(columns))))


def _notes(cards: Sequence[ExposureCard]) -> list[str]:
    return [*reasons(cards), *([said] if (said := remark(cards)) else [])]
