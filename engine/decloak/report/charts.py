"""Charts as Vega-Lite specifications, drawn by vl-convert without a browser.

One panel for each series, since six bands on top of each other are mud. Text, axes and grid take the colour of the
page; nothing is clipped, and nothing is fetched: data stand in the specification.
"""

import re
from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any

from decloak.errors import DecloakError, shown
from decloak.extras import install
from decloak.measure.registry import figure_titles
from decloak.report.study import Point, Series, Study

__all__ = ["bars", "drawn", "grid", "panel", "panels", "reliability", "scatter"]

BLUE, GREY = "#0072B2", "#808080"
"""Of Okabe and Ito's colours, which nobody takes for one another; grey is chance."""
WIDE = 50
"""So many times its least value an axis has at most that is not logarithmic."""
WIDTH, HEIGHT = 210, 140
_INK = "currentColor"
_UNSEEN = re.compile(r'<path [^>]*d="(?:M0,0h0v0h0Z)?"[^>]*/>| (?:class|pointer-events|fill-opacity)="[^"]*"')
"""What Vega writes into an SVG and nobody sees."""
_CONFIG: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    "axis": {
        "labelColor": _INK, "titleColor": _INK, "domainColor": _INK, "tickColor": _INK, "gridColor": _INK,
        "gridOpacity": 0.15, "titleFontWeight": "normal",
    },
    "title": {"color": _INK, "anchor": "start", "fontSize": 12},
    "view": {"stroke": None},
}  # fmt: skip


def panels(study: Study, x: str, y: str, by: Sequence[str] = (), *, close: bool = False) -> list[dict[str, Any]]:
    """A panel for each series of a figure, all on one scale: a share on that from 0 to 1, unless it is seen close."""
    series = [line for line in study.series(x, y, by) if any(point.value is not None for point in line.points)]
    if not series:
        raise DecloakError(f"{shown(y)} is undefined in all of these runs", "--y", "`decloak show` lists the figures")
    titles = figure_titles()
    title, count = (titles[y].title, titles[y].count) if y in titles else (y, False)
    reached = [bound for line in series for point in line.points for bound in (point.value, point.low, point.high)]
    highest = max(bound for bound in reached if bound is not None)
    top = 1.0 if highest <= 1 and not count and not close else highest
    return [panel(line, x, title, top, _conclusion(line, x, title)) for line in series]


def _conclusion(series: Series, x: str, y: str) -> str:
    """What a panel shows, in words: where the figure begins and ends, or where it is highest and lowest."""
    points = [point for point in series.points if point.value is not None]
    if all(_is_number(point.x) for point in points):
        ends, way = (min(points, key=lambda point: point.x), max(points, key=lambda point: point.x)), "goes from"
    else:
        ranked = sorted(points, key=lambda point: -(point.value or 0))
        ends, way = (ranked[0], ranked[-1]), "lies between"
    of = f" of {series.by}" if series.by else ""
    if len(points) == 1:
        return f"{y}{of} is {_reached(ends[0])} at {x} {ends[0].x}"
    between = "to" if way == "goes from" else "and"
    return f"{y}{of} {way} {_reached(ends[0])} at {x} {ends[0].x} {between} {_reached(ends[1])} at {ends[1].x}"


def _reached(point: Point) -> str:
    return f"{point.value:.3g}" + ("" if point.chance is None else f" (chance {point.chance:.3g})")


def panel(series: Series, x: str, y: str, top: float, about: str = "") -> dict[str, Any]:
    """How a figure changes: a line through the means, a band of their intervals, and chance as a dashed line."""
    numeric = all(_is_number(point.x) for point in series.points)
    values = [_datum(point, numeric) for point in series.points if point.value is not None]
    across: dict[str, Any] = {"field": "x", "title": x, "type": "quantitative" if numeric else "nominal"}
    if numeric:
        # Spelt as the value is: Vega would round it to the digits that tell ticks of even steps apart.
        axis: dict[str, Any] = {"values": _ticks(series.points), "labelExpr": "toString(datum.value)"}
        across |= {"scale": {"zero": False, "nice": False, "padding": 6, "type": _scale(series.points)}, "axis": axis}
    else:
        across |= {"sort": None, "axis": {"labelAngle": 0, "labelLimit": 90}}
    up = {"field": "y", "type": "quantitative", "title": y, "scale": {"domainMax": top, "zero": True, "nice": True}}
    low, high = {"field": "low", "type": "quantitative", "title": y}, {"field": "high"}
    band: dict[str, Any] = {"type": "area" if numeric else "rule", "color": BLUE, "opacity": 0.25 if numeric else 0.8}
    level: dict[str, Any] = {"color": GREY, "type": "line" if numeric else "tick"}
    level |= {"strokeDash": [4, 3]} if numeric else {"thickness": 2}
    mark: dict[str, Any] = {"type": "line", "point": {"color": BLUE}} if numeric else {"type": "point", "filled": True}
    layers = [
        {"mark": band, "encoding": {"y": low, "y2": high}},
        {"mark": mark | {"color": BLUE}, "encoding": {"y": up}},
    ]
    if any(point.chance is not None for point in series.points):
        layers.insert(1, {"mark": level, "encoding": {"y": up | {"field": "chance"}}})
    return {
        "title": {"text": series.by or y, "limit": WIDTH},
        "description": about,
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": values},
        "encoding": {"x": across},
        "layer": layers,
    }


def bars(counts: Sequence[tuple[str, int]], x: str, y: str, about: str) -> dict[str, Any]:
    """How often each of a few values occurs."""
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


def scatter(places: Sequence[tuple[str, float, float]], x: str, y: str, about: str) -> dict[str, Any]:
    """Named places between two figures, such as what a release costs and what comes back of it."""
    fields = {
        "x": {"field": "x", "type": "quantitative", "title": x, "scale": {"zero": False, "padding": 30}},
        "y": {"field": "y", "type": "quantitative", "title": y, "scale": {"zero": True}},
    }
    return {
        "description": about,
        "width": 2 * WIDTH,
        "height": HEIGHT + 40,
        "data": {"values": [{"label": name, "x": across, "y": up} for name, across, up in places]},
        "encoding": fields,
        "layer": [
            {"mark": {"type": "point", "filled": True, "size": 60, "color": BLUE}},
            {
                "mark": {"type": "text", "align": "left", "dx": 7, "color": _INK, "limit": WIDTH},
                "encoding": {"text": {"field": "label"}},
            },
        ],
    }


def reliability(points: Sequence[tuple[float, float, bool]], title: str, about: str) -> dict[str, Any]:
    """The share that is right along the probability that was said, and whether that is of few findings: then the point
    is hollow. Who is as right as said lies on the dashed line.
    """
    field: dict[str, Any] = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    across, up = field | {"field": "x", "title": "probability"}, field | {"field": "y", "title": "share right"}
    even: dict[str, Any] = {"mark": {"type": "line", "color": GREY, "strokeDash": [4, 3]}}
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


def grid(panels: Sequence[dict[str, Any]], columns: int = 3) -> dict[str, Any]:
    """Several panels as one picture."""
    return {"concat": list(panels), "columns": columns, "spacing": 24}


def drawn(spec: dict[str, Any], kind: str, *, image: bool = False) -> bytes:
    """A specification as a picture: svg, png or pdf; an SVG takes the colour of the page it is in, unless it is an
    image of its own: that one is small, dark on white, and has no text but what its page says of it.
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
    paper = whole | {"config": _CONFIG | {"background": "white"}}
    return bytes(converter.vegalite_to_png(paper, scale=2) if kind == "png" else converter.vegalite_to_pdf(paper))


def _with_text(svg: str, text: str) -> str:
    """A picture that says what it shows to who does not see it."""
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(text)}" ', 1) if text else svg


def _datum(point: Point, numeric: bool) -> dict[str, Any]:
    low = point.value if point.low is None else point.low
    high = point.value if point.high is None else point.high
    x = point.x if numeric else str(point.x)
    return {"x": x, "y": point.value, "low": low, "high": high, "chance": point.chance}


def _ticks(points: Sequence[Point]) -> list[Any]:
    """The values that were tried, every other of them where they are many."""
    values = sorted(point.x for point in points)
    return values[:: 1 + len(values) // 8]


def _scale(points: Sequence[Point]) -> str:
    """Logarithmic where values grow by factors."""
    least, most = min(point.x for point in points), max(point.x for point in points)
    return "log" if least > 0 and most >= WIDE * least else "linear"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
