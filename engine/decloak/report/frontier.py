"""The risk-utility plots of a page: people exposed and the cost for readers, with a named point for each release."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from decloak.report import charts
from decloak.report.page import Drawn, Section, Table
from decloak.report.risk_card import ROWS, ExposureCard
from decloak.report.wording import count, percent

__all__ = ["frontier_section"]

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
    title = {row.figure: row.title for row in ROWS}
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
    return [*(first if len(first) == 1 else ()), *points]


def _dominated(one: tuple[str, float, float], others: Sequence[tuple[str, float, float]]) -> bool:
    return any(cost <= one[1] and people <= one[2] and (cost, people) != one[1:] for _, cost, people in others)


def _drawn(points: Sequence[ReleasePoint], title: str, of: int, axis: Axis) -> Drawn:
    releases = [point for point in points if point.kind != "original"]
    fewest, most = min(releases, key=lambda one: one.people), max(releases, key=lambda one: one.people)
    about = (
        f"{title}: {fewest.name} exposes {count(fewest.people)} of {of:,} people and {axis.verb} "
        f"{percent(fewest.cost / 100)}, "
        f"{most.name} exposes {count(most.people)} and {axis.verb} {percent(most.cost / 100)}"
    )
    if axis is ERROR:  # people were looked up, and `of` is only the end of the axis
        about = about.replace(f" of {of:,} people", " people")
    wide, narrow = (
        charts.drawn(_spec(points, of, width, about, axis), "svg").decode() for width in (WIDE, NARROW)
    )  # fmt: skip
    rows = [[one.name, count(one.people), percent(one.cost / 100)] for one in points]
    heading = title if axis is ERROR else f"{title}, of {of:,} people"
    table = Table(heading, ["release", "people", axis.column], rows, frozenset({1, 2}))
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
    taken = [(one.cost * across - 6, one.people * up - 6, one.cost * across + 6, one.people * up + 6) for one in points]
    for one in named:
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
