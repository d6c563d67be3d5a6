"""One HTML page of what was found: it fetches nothing, and nothing in it is run but the script that comes with it.

Names are hostile: every text is escaped where it stands, data lie in an island that no tag can leave, and the policy
of the page allows one script by its hash.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

from decloak.errors import DecloakError
from decloak.extras import install

__all__ = ["Card", "Drawn", "Findings", "Page", "Section", "Table", "rendered"]


class Table(NamedTuple):
    """Rows under headings; `numeric` are the columns that hold numbers.

    `bars` are a share and its level by chance for each row, drawn beside it; a `folded` table opens on request.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()
    bars: Sequence[tuple[float | None, float | None]] = ()
    folded: bool = False


class Drawn(NamedTuple):
    """Panels as SVG, what they show, and the same as a table for who does not see them."""

    caption: str
    panels: Sequence[str]
    table: Table | None = None


class Card(NamedTuple):
    """A heading, the figure that matters, and what there is to say of it."""

    title: str
    value: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Section:
    """A part of the page, in the order in which it is shown."""

    id: str
    title: str
    lines: Sequence[str] = ()
    figures: Sequence[Drawn] = ()
    tables: Sequence[Table] = ()
    items: Sequence[str] = ()
    code: str = ""


class Findings(NamedTuple):
    """Rows to sort and to filter, and of how many they are."""

    said: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Page:
    """All that stands on it; `shows` says what it holds that is of persons, nothing where it holds none."""

    name: str
    title: str
    word: str
    tone: str
    sentences: Sequence[str]
    expectations: Sequence[tuple[str, str]] = ()
    cards: Sequence[Card] = ()
    sections: Sequence[Section] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    findings: Findings | None = None
    shows: str = ""
    verdict: Sequence[tuple[str, str]] = ()
    """The lines of the verdict: a label and a text."""


def rendered(page: Page) -> str:
    """The page as HTML; the same page is the same text."""
    environment, script, style = _templates()
    island: dict[str, Any] = {"name": page.name, "figures": page.figures}
    if page.findings is not None:
        island["findings"] = page.findings.rows
    text: str = environment.get_template("page.html").render(
        page=page, style=style, script=script, script_hash=_hash(script), data=island
    )
    return text


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


@cache
def _templates() -> tuple[Any, Any, Any]:
    try:
        jinja2, markup = import_module("jinja2"), import_module("markupsafe").Markup
    except ImportError:
        raise DecloakError("a report needs jinja2", hint=install("report")) from None
    folder = files("decloak.report") / "templates"
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        loader=jinja2.DictLoader({"page.html": (folder / "page.html").read_text("utf-8")}),
    )  # fmt: skip
    # Both come from decloak itself: the SVG of its own charts, in which names are escaped, and JSON without a "<".
    environment.filters["safe_svg"] = markup
    environment.filters["json_island"] = lambda value: markup(_island(value))
    return environment, *(markup((folder / name).read_text("utf-8")) for name in ("page.js", "page.css"))


def _island(value: object) -> str:
    """JSON that no tag can end, whatever names are in it."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
