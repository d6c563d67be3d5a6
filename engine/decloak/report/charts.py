"""Charts as Vega-Lite specifications, which vl-convert draws without a browser.

Each series has its own panel, because overlaid bands are unreadable. Text, axes and grid have the colour of the page.
The specification contains the data, so drawing requests nothing.

The drawing of a finding has known items on the left and alternatives on the right. A thicker line is a closer relation.
Eliminated members are crossed out; the subject of the finding is bold. A layout of a graph would show its shape, where
the question is a comparison.
"""

import re
from collections.abc import Sequence
from html import escape
from importlib import import_module

from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote
from decloak.extras import install
from decloak.measure.registry import metrics_by_key
from decloak.report.study import Point, Series, Study
from decloak.store.evidence import Comparison, Rival

BLUE, GREY = "#0072B2", "#808080"
"""Colours of Okabe and Ito, which readers with colour blindness distinguish. The baseline is grey."""
WIDE = 50
"""The ratio of the largest to the smallest value from which an axis is logarithmic."""
WIDTH, HEIGHT = 210, 140
_INK = "currentColor"
# They are a sixth of the bytes of a small picture.
_UNSEEN = re.compile(r'<path [^>]*d="(?:M0,0h0v0h0Z)?"[^>]*/>| (?:class|pointer-events|fill-opacity)="[^"]*"')
"""Invisible parts of the SVG that Vega writes."""
_CONFIG: dict[str, object] = {
    "background": None,
    "font": "sans-serif",
    "axis": {
        "labelColor": _INK, "titleColor": _INK, "domainColor": _INK, "tickColor": _INK, "gridColor": _INK,
        "gridOpacity": 0.15, "titleFontWeight": "normal",
    },
    "title": {"color": _INK, "anchor": "start", "fontSize": 12},
    "view": {"stroke": None},
}  # fmt: skip


def panels(study: Study, x: str, y: str, by: Sequence[str] = (), *, close: bool = False) -> list[dict[str, object]]:
    """Return a panel for each series of the figure `y` along `x`. A share has the scale 0 to 1, unless `close`."""
    series = [line for line in study.series(x, y, by) if any(point.value is not None for point in line.points)]
    if not series:
        raise DecloakError(f"{quote(y)} is undefined in all of these runs", "--y", "`decloak show` lists the figures")
    titles = metrics_by_key()
    title, count = (titles[y].title, titles[y].count) if y in titles else (y, False)
    reached = [bound for line in series for point in line.points for bound in (point.value, point.low, point.high)]
    highest = max(bound for bound in reached if bound is not None)
    # Shares have one scale, so that panels of several attacks can be compared.
    top = 1.0 if highest <= 1 and not count and not close else highest
    return [panel(line, x, title, top, _conclusion(line, x, title)) for line in series]


def _conclusion(series: Series, x: str, y: str) -> str:
    """Describe a panel: the first and the last value, or the largest and the smallest."""
    points = [point for point in series.points if point.value is not None]
    if all(_is_number(point.x) for point in points):
        ends, way = (min(points, key=lambda point: point.x), max(points, key=lambda point: point.x)), "goes from"
    else:
        ranked = sorted(points, key=lambda point: -(point.value or 0))
        ends, way = (ranked[0], ranked[-1]), "is between"
    of = f" of {series.by}" if series.by else ""
    if len(points) == 1:
        return f"{y}{of} is {_reached(ends[0])} at {x} {ends[0].x}"
    between = "to" if way == "goes from" else "and"
    return f"{y}{of} {way} {_reached(ends[0])} at {x} {ends[0].x} {between} {_reached(ends[1])} at {ends[1].x}"


def _reached(point: Point) -> str:
    return f"{point.value:.3g}" + ("" if point.baseline is None else f" (baseline {point.baseline:.3g})")


def panel(series: Series, x: str, y: str, top: float, about: str = "") -> dict[str, object]:
    """Plot a figure as a line through the means, a band of their intervals, and a dashed line for the baseline."""
    numeric = all(_is_number(point.x) for point in series.points)
    values = [_datum(point, numeric) for point in series.points if point.value is not None]
    across: dict[str, object] = {"field": "x", "title": x, "type": "quantitative" if numeric else "nominal"}
    if numeric:
        # Vega rounds labels to the digits that distinguish even steps, so the label is the value itself.
        axis: dict[str, object] = {"values": _ticks(series.points), "labelExpr": "toString(datum.value)"}
        across |= {"scale": {"zero": False, "nice": False, "padding": 6, "type": _scale(series.points)}, "axis": axis}
    else:
        # Vega would sort names by the alphabet, and not as the scenario has them.
        across |= {"sort": None, "axis": {"labelAngle": 0, "labelLimit": 90}}
    up = {"field": "y", "type": "quantitative", "title": y, "scale": {"domainMax": top, "zero": True, "nice": True}}
    low, high = {"field": "low", "type": "quantitative", "title": y}, {"field": "high"}
    band: dict[str, object] = {
        "type": "area" if numeric else "rule",
        "color": BLUE,
        "opacity": 0.25 if numeric else 0.8,
    }
    level: dict[str, object] = {"color": GREY, "type": "line" if numeric else "tick"}
    level |= {"strokeDash": [4, 3]} if numeric else {"thickness": 2}
    mark: dict[str, object] = (
        {"type": "line", "point": {"color": BLUE}} if numeric else {"type": "point", "filled": True}
    )
    layers = [
        {"mark": band, "encoding": {"y": low, "y2": high}},
        {"mark": mark | {"color": BLUE}, "encoding": {"y": up}},
    ]
    if any(point.baseline is not None for point in series.points):
        # The baseline lies above the band, and below the line of the attack.
        layers.insert(1, {"mark": level, "encoding": {"y": up | {"field": "baseline"}}})
    return {
        "title": {"text": series.by or y, "limit": WIDTH},
        "description": about,
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": values},
        "encoding": {"x": across},
        "layer": layers,
    }


def bars(counts: Sequence[tuple[str, int]], x: str, y: str, about: str) -> dict[str, object]:
    """Plot `counts`, the number of each value."""
    return {
        "description": about,
        "width": 2 * WIDTH,
        "height": HEIGHT,
        "data": {"values": [{"x": value, "y": count} for value, count in counts]},
        "mark": {"type": "bar", "color": BLUE},
        "encoding": {
            "x": {"field": "x", "type": "nominal", "sort": None, "title": x, "axis": {"labelAngle": 0}},
            "y": {"field": "y", "type": "quantitative", "title": y},
        },
    }


def reliability(points: Sequence[tuple[float, float, bool]], title: str, about: str) -> dict[str, object]:
    """Plot the share of correct findings against their stated probability. Points of few findings are hollow, and the
    dashed line is perfect calibration.
    """
    field: dict[str, object] = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    across = field | {"field": "x", "title": "stated probability"}
    up = field | {"field": "y", "title": "share of correct findings"}
    even: dict[str, object] = {"mark": {"type": "line", "color": GREY, "strokeDash": [4, 3]}}
    even |= {"data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]}, "encoding": {"x": across, "y": up}}
    curve = {"mark": {"type": "line", "color": BLUE}, "encoding": {"x": across, "y": up}}
    filled = {"condition": {"test": "datum.few", "value": "none"}, "value": BLUE}
    marked = {
        "mark": {"type": "point", "stroke": BLUE, "opacity": 1, "size": 40},
        "encoding": {"x": across, "y": up, "fill": filled},
    }
    return {
        "title": {"text": title, "limit": WIDTH},
        "description": about,
        "width": WIDTH,
        "height": WIDTH,
        "data": {"values": [{"x": x, "y": y, "few": few} for x, y, few in points]},
        "layer": [even, curve, marked],
    }


def grid(panels: Sequence[dict[str, object]], columns: int = 3) -> dict[str, object]:
    """Return `panels` as one picture."""
    return {"concat": list(panels), "columns": columns, "spacing": 24}


def drawn(spec: JsonObject, kind: str, *, image: bool = False) -> bytes:
    """Draw `spec` as svg, png or pdf. An SVG has the colour of its page.

    With `image` it is a separate small file, dark on white, without a description.
    """
    try:
        converter = import_module("vl_convert")
    except ImportError:
        raise DecloakError("drawing needs vl-convert-python", hint=install("report")) from None
    config = _CONFIG | {"aria": False, "background": "white"} if image else _CONFIG
    whole = spec | {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "config": config}
    if kind == "svg":
        svg: str = converter.vegalite_to_svg(whole)
        text = _UNSEEN.sub("", svg).replace(_INK, "#222") if image else _with_text(svg, spec.get("description", ""))
        return bytes(text, "utf-8")
    # A picture in a file has no page whose background it could show.
    paper = whole | {"config": _CONFIG | {"background": "white"}}
    return bytes(converter.vegalite_to_png(paper, scale=2) if kind == "png" else converter.vegalite_to_pdf(paper))


def _with_text(svg: str, text: str) -> str:
    """Add the description `text` to a picture, for screen readers."""
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(text)}" ', 1) if text else svg


def _datum(point: Point, numeric: bool) -> dict[str, object]:
    low = point.value if point.low is None else point.low
    high = point.value if point.high is None else point.high
    x = point.x if numeric else str(point.x)
    return {"x": x, "y": point.value, "low": low, "high": high, "baseline": point.baseline}


def _ticks(points: Sequence[Point]) -> list[object]:
    """Return the varied values, or a part of them if they are many."""
    values = sorted(point.x for point in points)
    # About eight labels fit below a panel.
    return values[:: 1 + len(values) // 8]


def _scale(points: Sequence[Point]) -> str:
    """Return the type of the scale: logarithmic for values that grow by factors."""
    least, most = min(point.x for point in points), max(point.x for point in points)
    return "log" if least > 0 and most >= WIDE * least else "linear"


def _is_number(value: object) -> bool:
    # To Python, true is the number 1.
    return isinstance(value, (int, float)) and not isinstance(value, bool)


ROW, LEFT, RIGHT, NOTE, PICTURE_WIDTH = 24, 200, 320, 590, 760
"""The height of a line of text; where lines between the sides begin and end, where notes begin, and the width."""
LONGEST = {"start": 38, "end": 28}
"""Characters of a name that there is room for, right and left."""
MOST = 40
"""The most known items, and the most alternatives, that a picture shows."""


def comparison_svg(comparison: Comparison) -> str:
    """Return the picture as SVG in the colour of the surrounding text, with all names escaped."""
    known, rivals = comparison.known[:MOST], comparison.rivals[:MOST]
    height = ROW * (max(len(known), len(rivals)) + 2.5)
    shift = max(0, len(rivals) - len(known)) / 2
    heights = [ROW * (place + 2.5 + shift) for place in range(len(known))]
    places = [ROW * (place + 2.5) for place in range(len(rivals))]
    lines = [
        _line(heights[a], places[b], closeness)
        for (a, b), closeness in sorted(comparison.closeness.items())
        if a < len(known) and b < len(rivals) and closeness > 0
    ]
    left = [_text(LEFT - 10, y, name, anchor="end") for y, name in zip(heights, known, strict=True)]
    right = [part for y, rival in zip(places, rivals, strict=True) for part in _rival(y, rival)]
    heads = [
        _text(LEFT - 10, ROW, "known", 'opacity=".7"', anchor="end"),
        _text(RIGHT + 12, ROW, "possible members", 'opacity=".7"'),
        _text(NOTE, ROW, comparison.about, 'opacity=".7"'),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PICTURE_WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="currentColor" '
        f'aria-label="{escape(comparison_in_words(comparison))}">'
        f"{''.join([*heads, *lines, *left, *right])}</svg>"
    )


def comparison_in_words(comparison: Comparison) -> str:
    """Describe the picture in words, for readers who cannot see it."""
    rivals = "; ".join(f"{rival.name}: {rival.note}" for rival in comparison.rivals[:MOST])
    return f"Known: {', '.join(comparison.known[:MOST])}. The members of {comparison.about}: {rivals}."


def _line(y: float, end: float, closeness: float) -> str:
    middle = (LEFT + RIGHT) / 2
    return (
        f'<path d="M{LEFT},{y:g}C{middle:g},{y:g} {middle:g},{end:g} {RIGHT},{end:g}" fill="none" stroke="#0072B2" '
        f'stroke-width="{0.5 + 6 * closeness:.1f}" stroke-opacity=".55"/>'
    )


def _rival(y: float, rival: Rival) -> tuple[str, str, str]:
    style = 'font-weight="bold"' if rival.subject else ""
    if rival.eliminated:
        style += ' text-decoration="line-through"'
    dot = "none" if rival.eliminated else "currentColor"
    circle = f'<circle cx="{RIGHT}" cy="{y:g}" r="4" fill="{dot}" stroke="currentColor"/>'
    note = _text(NOTE, y, rival.note, 'opacity=".7" font-size="11"')
    return circle, _text(RIGHT + 12, y, rival.name, style), note


def _text(x: float, y: float, text: str, style: str = "", *, anchor: str = "start") -> str:
    longest = LONGEST[anchor]
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    title = "" if short == text else f"<title>{escape(text)}</title>"
    return f'<text x="{x:g}" y="{y + 4:g}" text-anchor="{anchor}" {style}>{title}{escape(short)}</text>'
