"""The people exposed, on a page: tiles for one release, or a table and risk-utility plots of several releases."""

import math
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from decloak.measure.kernels.statistics import Interval
from decloak.report import charts
from decloak.report.advice import advice
from decloak.report.page import Drawn, PageTable, Section, Tile, TileRow
from decloak.report.risk_card import (
    RANDOM,
    RELEASE,
    ROWS,
    Cell,
    ExposureCard,
    exposure_cards,
    people_interval,
    pooled_cards,
)
from decloak.report.risk_tables import called_shortly, comparison_rows, costs_of, reasons, remark, unpooled
from decloak.report.study import Study
from decloak.report.wording import count, people, percent, whole

FIGURES = ("singled_out_2", "inferred_own")
"""The figures of people that the plots show."""
LABELLED = 12
"""The number of points up to which every point has a name. Above it, only the frontier has names."""
WIDE, NARROW, TALL = 430, 270, 260
"""Sizes of a plot in pixels."""
MARKS = {
    "original": ('<rect x="5" y="5" width="8" height="8" class="k-ink"/>', "original data"),
    "best": ('<circle cx="9" cy="9" r="4.5" class="k-blue"/>', "no other release is better in both figures"),
    "dominated": (
        '<circle cx="9" cy="9" r="4.5" class="k-grey"/>',
        "another release is at least as good in both figures",
    ),
}


class Axis(NamedTuple):
    """The cost of a plot: the title of its axis, the verb of a sentence about it, and its column in the table."""

    title: str
    verb: str
    column: str


HIDDEN = Axis("item occurrences hidden, %", "hides", "hidden")
ERROR = Axis("mean error of counts, %", "has an error of", "error")


class ReleasePoint(NamedTuple):
    """A release: its cost as a percentage, and the people it exposes after the strongest attack."""

    name: str
    cost: float
    people: float
    kind: str


def frontier_section(cards: Sequence[ExposureCard]) -> Section | None:
    """Plot the releases of `cards`; None for fewer than two releases with both figures."""
    title = {row.key: row.title for row in ROWS}
    figures = []
    of_counts = _error_points(cards)
    if len(of_counts) > 1:
        most = max(1, *(math.ceil(point.people) for point in of_counts))
        figures.append(_drawn(of_counts, "exposed by 3 random items", most, ERROR))
    for figure in FIGURES:
        points = _points(cards, figure)
        if len([point for point in points if point.kind != "original"]) > 1:
            figures.append(_drawn(points, title[figure], cards[0].people, HIDDEN))
    if not figures:
        return None
    lines = ["Lower left is better: fewer people exposed, and a lower cost for readers."]
    return Section("frontier", "Exposure and cost of the releases", lines, figures)


def _error_points(cards: Sequence[ExposureCard]) -> list[ReleasePoint]:
    """Return a point for each release with an error of counts, and people exposed by random items."""
    found = [(card.name, 100 * card.error, card.exposed) for card in cards
             if card.error is not None and card.exposed is not None]  # fmt: skip
    return [ReleasePoint(*one, "dominated" if _dominated(one, found) else "best") for one in found]


def _points(cards: Sequence[ExposureCard], figure: str) -> list[ReleasePoint]:
    """Return a point for the original data, then a point for each release."""
    found = [
        (card.name, 100 * card.hidden, worst.mean)
        for card in cards
        if card.hidden is not None and (worst := card.cells[figure].worst) is not None and worst.mean is not None
    ]
    originals = {card.cells[figure].original for card in cards}
    first = [ReleasePoint("original data", 0.0, original, "original") for original in originals if original is not None]
    points = [ReleasePoint(*one, "dominated" if _dominated(one, found) else "best") for one in found]
    # Releases of several data sets have no original data in common.
    return [*(first if len(first) == 1 else ()), *points]


def _dominated(one: tuple[str, float, float], others: Sequence[tuple[str, float, float]]) -> bool:
    return any(cost <= one[1] and people <= one[2] and (cost, people) != one[1:] for _, cost, people in others)


def _drawn(points: Sequence[ReleasePoint], title: str, of: int, axis: Axis) -> Drawn:
    releases = [point for point in points if point.kind != "original"]
    fewest, most = min(releases, key=lambda one: one.people), max(releases, key=lambda one: one.people)
    # Next to errors of counts, people were looked up, and `of` is only the end of the axis.
    people = "people" if axis is ERROR else f"of {of:,} people"
    about = (
        f"{title}: {fewest.name} exposes {count(fewest.people)} {people} and {axis.verb} {percent(fewest.cost / 100)}, "
        f"{most.name} exposes {count(most.people)} and {axis.verb} {percent(most.cost / 100)}"
    )
    wide, narrow = (
        charts.drawn(_spec(points, of, width, about, axis), "svg").decode() for width in (WIDE, NARROW)
    )  # fmt: skip
    rows = [[one.name, count(one.people), percent(one.cost / 100)] for one in points]
    heading = title if axis is ERROR else f"{title}, {people}"
    table = PageTable(heading, ["release", "people", axis.column], rows, frozenset({1, 2}))
    kinds = dict.fromkeys(point.kind for point in points)
    return Drawn(f"{title}, after the strongest attack", [wide], table, [narrow], [MARKS[kind] for kind in kinds])


def _spec(points: Sequence[ReleasePoint], of: int, width: int, about: str, axis: Axis) -> dict[str, object]:
    named = [one for one in points if len(points) <= LABELLED or one.kind != "dominated"]
    most = max(1.0, *(one.cost for one in points)), float(of)
    values = [one._asdict() for one in points]
    x = {
        "field": "cost",
        "type": "quantitative",
        "title": axis.title,
        "scale": {"domain": [0, most[0] * 1.05]},
    }
    people = "people" if axis is ERROR else f"people, of {of:,}"
    y = {"field": "people", "type": "quantitative", "title": people, "scale": {"domain": [0, of]}}
    colour = {
        "field": "kind",
        "legend": None,
        "scale": {"domain": list(MARKS), "range": ["currentColor", charts.BLUE, charts.GREY]},
    }
    shape = {"field": "kind", "legend": None, "scale": {"domain": list(MARKS), "range": ["square", "circle", "circle"]}}
    dots = {
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
        "encoding": {"color": colour, "shape": shape},
    }
    texts = [
        {
            "data": {"values": [one._asdict()]},
            "mark": {"type": "text", "color": "currentColor", "limit": width // 2, **place},
            "encoding": {"text": {"field": "name"}},
        }
        for one, place in _place_names(named, points, width / (most[0] * 1.05), TALL / of, width)
    ]
    return {
        "description": about, "width": width, "height": TALL, "data": {"values": values},
        "encoding": {"x": x, "y": y}, "layer": [dots, *texts],
    }  # fmt: skip


def _place_names(
    named: Sequence[ReleasePoint], points: Sequence[ReleasePoint], across: float, up: float, width: float = WIDE
) -> Iterator[tuple[ReleasePoint, dict[str, object]]]:
    """Yield a place for each name: the first of four sides without a point or another name."""
    # Dots have a radius of about 5 pixels, and a name needs a little air.
    taken = [(one.cost * across - 6, one.people * up - 6, one.cost * across + 6, one.people * up + 6) for one in points]
    for one in named:
        # A letter of a label is about 6.2 pixels wide.
        x, y, long = one.cost * across, one.people * up, 6.2 * len(one.name)
        sides = {
            (x + 7, y - 6, x + 7 + long, y + 6): {"align": "left", "dx": 8},
            (x - 7 - long, y - 6, x - 7, y + 6): {"align": "right", "dx": -8},
            (x - 2, y + 7, x - 2 + long, y + 19): {"align": "left", "dx": -2, "dy": -13},
            (x - 2, y - 19, x - 2 + long, y - 7): {"align": "left", "dx": -2, "dy": 13},
        }
        box = min(
            sides,
            key=lambda box: (
                box[0] < 0 or box[2] > width + 20,
                sum(_overlap(box, other) for other in taken),
                list(sides).index(box),
            ),
        )
        taken.append(box)
        yield one, sides[box]


Box = tuple[float, float, float, float]


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


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
    tiles = tiles_of(chosen[0], study) if len(chosen) == 1 else []
    # One release has tiles in place of a table.
    tables = [some for some in (pooled, cards) if len(some) > 1]
    notes = [*(note for some in tables for note in _notes(some)), unpooled(study, cards, pooled)]
    section = Section(
        "people", "People exposed", [said] if said else [],
        tables=[_comparison(study, some)._replace(folded=some is cards and len(tables) > 1) for some in tables],
        items=list(dict.fromkeys(note for note in notes if note)),
    )  # fmt: skip
    return ExposureParts(tiles, section if tables else None, [said] if said else [], chosen)


def tiles_of(card: ExposureCard, study: Study) -> list[Tile]:
    """Return a tile for each figure of `TITLES` that was measured."""
    cells = dict(card.cells) | {"exposed_2": _exposed(card, study)}
    hidden = remark([card])
    tiles = [_tile(figure, cells[figure], card) for figure in TITLES if cells[figure].release is not None]
    return [*tiles[:-1], tiles[-1]._replace(foot=hidden.capitalize())] if tiles and hidden else tiles


def _exposed(card: ExposureCard, study: Study) -> Cell:
    """Return the people exposed with 2 items, after the attack that exposes most."""
    runs = dict(study.groups)[card.variant]
    original = study.mean(runs, "exposed_2_original")
    # Only people with 2 items or more are looked up.
    of = study.whole(runs, "exposed_2_release")
    of = card.people if of is None else of
    release = people_interval(study.values(runs, "exposed_2_release"), of)
    if release.mean is None:
        return Cell(of, original)
    means = {attack: study.mean(runs, "exposed_2", attack) for attack in study.real_attacks}
    after = {attack: mean for attack, mean in means.items() if mean is not None}
    if not after:
        # Attacks that reached people but not this figure are on clusters, where it is that of the release alone.
        idle = card.cells["singled_out_2"]
        return Cell(of, original, release, reason="not measured on disassociated data" if idle.after else idle.reason)
    attack = max(after, key=lambda one: after[one])
    # An attacker can leave the attack out, and use the release as it is.
    if after[attack] <= release.mean:
        return Cell(of, original, release, release, source=RELEASE)
    return Cell(of, original, release, Interval(after[attack], None, None, 1), attack=attack, source=attack)


def _tile(figure: str, cell: Cell, card: ExposureCard) -> Tile:
    title, definition = TITLES[figure]
    worst = card.around(cell.worst, cell.of)
    # A random guess that finds as many people is the baseline, and no attack.
    places = {RELEASE: "in the release", RANDOM: "after random guessing"}
    place = places[RELEASE] if cell.after is None else places.get(str(cell.source), f"after the attack {cell.source}")
    return Tile(title, whole(worst.mean if worst else None) or "–", f"of {cell.of:,} people, {place}", definition,
                list(_rows(cell)), _interval(worst))  # fmt: skip


def _rows(cell: Cell) -> Iterator[TileRow]:
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


def _comparison(study: Study, cards: Sequence[ExposureCard]) -> PageTable:
    columns, rows = comparison_rows(cards, costs_of(study))
    of = f"over {cards[0].data_sets} data sets, " if cards[0].data_sets > 1 else ""
    counts = {card.people for card in cards}
    who = "People"
    if len(counts) == 1:
        who = f"Of {counts.pop():,} people"
    caption = f"{who}: {of}release → after the strongest attack (baseline)"
    cells = [[cell or "–" for cell in row] for row in rows]
    return PageTable(caption, columns, cells, frozenset(range(1, len(columns))))


def _notes(cards: Sequence[ExposureCard]) -> list[str]:
    return [*reasons(cards), *([said] if (said := remark(cards)) else [])]
