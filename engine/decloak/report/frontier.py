"""The risk-utility plot of a page: people exposed and item occurrences hidden, with a named point for each release."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

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


class Point(NamedTuple):
    """A release: the percentage of occurrences that it hides, and the people it exposes after the strongest attack."""

    name: str
    hidden: float
    people: float
    kind: str


def frontier_section(cards: Sequence[ExposureCard]) -> Section | None:
    """Plot the releases of `cards`; None for fewer than two releases with both figures."""
    title = {row.figure: row.title for row in ROWS}
    figures = []
    for figure in FIGURES:
        points = _points(cards, figure)
        if len(points) > 1 + (points[0].kind == "original"):
            figures.append(_drawn(points, title[figure], cards[0].people))
    if not figures:
        return None
    lines = ["Lower left is better: fewer people exposed, and fewer item occurrences hidden."]
    return Section("frontier", "Exposure and cost of the releases", lines, figures)


def _points(cards: Sequence[ExposureCard], figure: str) -> list[Point]:
    """Return a point for the original data, then a point for each release."""
    found = [
        (card.name, 100 * card.hidden, worst.mean)
        for card in cards
        if card.hidden is not None and (worst := card.cells[figure].worst) is not None and worst.mean is not None
    ]
    originals = {card.cells[figure].original for card in cards}
    first = [Point("original data", 0.0, original, "original") for original in originals if original is not None]
    points = [Point(*one, "dominated" if _dominated(one, found) else "best") for one in found]
    return [*(first if len(first) == 1 else ()), *points]


def _dominated(one: tuple[str, float, float], others: Sequence[tuple[str, float, float]]) -> bool:
    return any(hidden <= one[1] and people <= one[2] and (hidden, people) != one[1:] for _, hidden, people in others)


def _drawn(points: Sequence[Point], title: str, of: int) -> Drawn:
    releases = [point for point in points if point.kind != "original"]
    fewest, most = min(releases, key=lambda one: one.people), max(releases, key=lambda one: one.people)
    about = (
        f"{title}: {fewest.name} exposes {count(fewest.people)} of {of:,} people and hides "
        f"{percent(fewest.hidden / 100)}, "
        f"{most.name} exposes {count(most.people)} and hides {percent(most.hidden / 100)}"
    )
    wide, narrow = (charts.drawn(_spec(points, title, of, width, about), "svg").decode() for width in (WIDE, NARROW))
    rows = [[one.name, count(one.people), percent(one.hidden / 100)] for one in points]
    table = Table(f"{title}, of {of:,} people", ["release", "people", "hidden"], rows, frozenset({1, 2}))
    kinds = dict.fromkeys(point.kind for point in points)
    return Drawn(f"{title}, after the strongest attack", [wide], table, [narrow], [MARKS[kind] for kind in kinds])


def _spec(points: Sequence[Point], title: str, of: int, width: int, about: str) -> dict[str, Any]:
    named = [one for one in points if len(points) <= LABELLED or one.kind != "dominated"]
    most = max(1.0, *(one.hidden for one in points)), float(of)
    values = [one._asdict() for one in points]
    x = {
        "field": "hidden",
        "type": "quantitative",
        "title": "item occurrences hidden, %",
        "scale": {"domain": [0, most[0] * 1.05]},
    }
    y = {"field": "people", "type": "quantitative", "title": f"people, of {of:,}", "scale": {"domain": [0, of]}}
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
        for one, place in _placed(named, points, width / (most[0] * 1.05), TALL / of, width)
    ]
    return {
        "description": about, "width": width, "height": TALL, "data": {"values": values},
        "encoding": {"x": x, "y": y}, "layer": [dots, *texts],
    }  # fmt: skip


def _placed(
    named: Sequence[Point], points: Sequence[Point], across: float, up: float, width: float = WIDE
) -> Iterator[tuple[Point, dict[str, Any]]]:
    """Yield a place for each name: the first of four sides without a point or another name."""
    taken = [
        (one.hidden * across - 6, one.people * up - 6, one.hidden * across + 6, one.people * up + 6) for one in points
    ]
    for one in named:
        x, y, long = one.hidden * across, one.people * up, 6.2 * len(one.name)
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
