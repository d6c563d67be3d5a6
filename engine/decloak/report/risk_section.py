"""The risk card on a page: three cards about one release, or a table of several with what to make of them."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from decloak.report.advice import advice
from decloak.report.card import ROWS, Cell, RiskCard, pooled_cards, risk_cards
from decloak.report.comparison import called_shortly, card_rows, comparison_rows, costs_of, reasons, remark, unpooled
from decloak.report.page import Card, Section, Table
from decloak.report.study import Study

__all__ = ["RiskParts", "grouped", "risk_parts"]

HEADLINES = {"singling out": "singled_2", "linkability": "linked", "inference": "inferred"}
"""The row of each group whose numbers are the largest on the page."""


class RiskParts(NamedTuple):
    """What a page says of people: cards, a section, and a paragraph for whoever must choose."""

    cards: Sequence[Card]
    section: Section | None
    advice: Sequence[str]


def risk_parts(connection: sqlite3.Connection, study: Study) -> RiskParts:
    """All of it; nothing where no people were counted. Of several data sets of a kind what is said is of the kind."""
    cards = called_shortly(risk_cards(connection, study))
    pooled = called_shortly(pooled_cards(connection, study))
    chosen = pooled or cards
    said = advice(chosen) if len(chosen) > 1 else ""
    groups = grouped(chosen[0]) if len(chosen) == 1 else []
    tables = [some for some in (pooled, cards) if len(some) > 1]
    notes = [*(note for some in tables for note in _notes(some)), unpooled(study, cards, pooled)]
    section = Section(
        "people", "Whom these releases tell of",
        tables=[_comparison(study, some)._replace(folded=some is cards and len(tables) > 1) for some in tables],
        items=list(dict.fromkeys(note for note in notes if note)),
    )  # fmt: skip
    return RiskParts(groups, section if tables else None, [said] if said else [])


def grouped(card: RiskCard) -> list[Card]:
    """A card for each of singling out, linkability and inference."""
    _, lines = card_rows(card)
    cells = {row.figure: line for row, line in zip(ROWS, lines, strict=True)}
    groups = []
    for group, headline in HEADLINES.items():
        _, _, published, _, _, said = cells[headline]
        value, about = (
            _headline(cells[headline], card.cells[headline], card.people) if published else ("–", said or "–")
        )
        lines_of = [
            _told(cells[row.figure], card.cells[row.figure]) for row in ROWS if row.group == group and published
        ]
        groups.append(Card(group.capitalize(), value, [about, *lines_of]))
    hidden, last = remark([card]), groups.pop()
    return [*groups, last._replace(lines=[*last.lines, *([hidden] if hidden else [])])]


def _headline(line: Sequence[str | None], cell: Cell, people: int) -> tuple[str, str]:
    """The numbers of a card, and what they are: who is led to fewer has the release as published as well."""
    _, _, published, attacked, chance, _ = line
    if not attacked:
        return str(published), f"people of {people:,}, as published"
    if cell.worst is cell.before:
        return str(published), f"people of {people:,}, as published; no attack leads to more"
    return f"{published} → {attacked}", f"people of {people:,}, as published → after the attack ({chance} by chance)"


def _told(line: Sequence[str | None], cell: Cell) -> str:
    """A row of the card as a line: what it is, in the raw data, as published, attacked, by chance, by which attack."""
    title, raw, published, attacked, chance, said = line
    named = said if cell.attack else cell.reason
    parts = [f"{raw} in the raw data" if raw else None, f"{chance} by chance" if chance else None, named]
    beside = "; ".join(part for part in parts if part)
    way = f"{published} → {attacked}" if attacked else published or "–"
    return f"{title}: {way}" + (f" ({beside})" if beside else "")


def _comparison(study: Study, cards: Sequence[RiskCard]) -> Table:
    columns, rows = comparison_rows(cards, costs_of(study))
    of = f"over {cards[0].data_sets} data sets, as" if cards[0].data_sets > 1 else "as"
    counts = {card.people for card in cards}
    whom = "People"
    if len(counts) == 1:  # one number for all of them needs no column
        columns, rows = [columns[0], *columns[2:]], [[row[0], *row[2:]] for row in rows]
        whom = f"Of {counts.pop():,} people"
    caption = f"{whom}: {of} published → after the attack that finds most (by chance)"
    cells = [[cell or "–" for cell in row] for row in rows]
    return Table(caption, columns, cells, frozenset(range(1, len(columns))))


def _notes(cards: Sequence[RiskCard]) -> list[str]:
    return [*reasons(cards), *([said] if (said := remark(cards)) else [])]
