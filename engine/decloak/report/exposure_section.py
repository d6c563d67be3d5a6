"""The exposure card on a page: two cards for one release, or a table of several releases and the advice."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from decloak.report.advice import advice
from decloak.report.card import RELEASE, ROWS, Cell, ExposureCard, exposure_cards, pooled_cards
from decloak.report.comparison import called_shortly, card_rows, comparison_rows, costs_of, reasons, remark, unpooled
from decloak.report.page import Card, Section, Table
from decloak.report.study import Study

__all__ = ["ExposureParts", "exposure_parts", "grouped"]

HEADLINES = {"singling out": "singled_out_2", "inference": "inferred_own"}
"""The row of each group whose numbers are the largest on the page."""


class ExposureParts(NamedTuple):
    """What a page says of people: cards, a section, and a paragraph for whoever must choose."""

    cards: Sequence[Card]
    section: Section | None
    advice: Sequence[str]


def exposure_parts(connection: sqlite3.Connection, study: Study) -> ExposureParts:
    """All of it; nothing where no people were counted. Of several data sets of a kind what is said is of the kind."""
    cards = called_shortly(exposure_cards(connection, study))
    pooled = called_shortly(pooled_cards(connection, study))
    chosen = pooled or cards
    said = advice(chosen) if len(chosen) > 1 else ""
    groups = grouped(chosen[0]) if len(chosen) == 1 else []
    tables = [some for some in (pooled, cards) if len(some) > 1]
    notes = [*(note for some in tables for note in _notes(some)), unpooled(study, cards, pooled)]
    section = Section(
        "people", "People exposed",
        tables=[_comparison(study, some)._replace(folded=some is cards and len(tables) > 1) for some in tables],
        items=list(dict.fromkeys(note for note in notes if note)),
    )  # fmt: skip
    return ExposureParts(groups, section if tables else None, [said] if said else [])


def grouped(card: ExposureCard) -> list[Card]:
    """Return a card for singling out and a card for inference."""
    _, lines = card_rows(card)
    cells = {row.figure: line for row, line in zip(ROWS, lines, strict=True)}
    groups = []
    for group, headline in HEADLINES.items():
        _, _, release, _, _, said = cells[headline]
        value, about = _headline(cells[headline], card.cells[headline], card.people) if release else ("–", said or "–")
        lines_of = [_line(cells[row.figure], card.cells[row.figure]) for row in ROWS if row.group == group and release]
        groups.append(Card(group.capitalize(), value, [about, *lines_of]))
    hidden, last = remark([card]), groups.pop()
    return [*groups, last._replace(lines=[*last.lines, *([hidden] if hidden else [])])]


def _headline(line: Sequence[str | None], cell: Cell, people: int) -> tuple[str, str]:
    """Return the numbers of a card and what they count."""
    _, _, release, after, baseline, _ = line
    if not after:
        return str(release), f"of {people:,} people, in the release"
    if cell.source == RELEASE:
        return str(release), f"of {people:,} people, in the release; no attack exposes more"
    return f"{release} → {after}", f"of {people:,} people, in the release → after the attack (baseline {baseline})"


def _line(line: Sequence[str | None], cell: Cell) -> str:
    """Return a row of the card as one line of text."""
    title, original, release, after, baseline, source = line
    named = source if cell.attack else cell.reason
    parts = [
        f"original data {original}" if original else None,
        f"baseline {baseline}" if baseline else None,
        f"largest by {named}" if cell.attack else named,
    ]
    beside = "; ".join(part for part in parts if part)
    way = " → ".join(number for number in (release, after) if number) or "–"
    return f"{title}: {way}" + (f" ({beside})" if beside else "")


def _comparison(study: Study, cards: Sequence[ExposureCard]) -> Table:
    columns, rows = comparison_rows(cards, costs_of(study))
    of = f"over {cards[0].data_sets} data sets, as" if cards[0].data_sets > 1 else "as"
    counts = {card.people for card in cards}
    who = "People"
    if len(counts) == 1:  # one number for all of them needs no column
        columns, rows = [columns[0], *columns[2:]], [[row[0], *row[2:]] for row in rows]
        who = f"Of {counts.pop():,} people"
    caption = f"{who}: {of} released → after the attack that exposes most (baseline)"
    cells = [[cell or "–" for cell in row] for row in rows]
    return Table(caption, columns, cells, frozenset(range(1, len(columns))))


def _notes(cards: Sequence[ExposureCard]) -> list[str]:
    return [*reasons(cards), *([said] if (said := remark(cards)) else [])]
