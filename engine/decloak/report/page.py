"""The HTML page of a decision: its parts as types, and their rendering.

Names are hostile input. The template escapes every text, data are in a JSON island that no tag can leave, and the
policy of the page allows one script by its hash. The page requests nothing.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib import import_module
from importlib.resources import files
from math import ceil
from typing import Any, NamedTuple

from decloak.digest import Config, JsonObject
from decloak.errors import DecloakError
from decloak.extras import install

GLOSSARY = {
    "advantage": "Precision minus baseline, in percentage points.",
    "baseline": "The expected result of random guessing.",
    "certain link": "A link with a stated probability of at least 80%.",
    "eliminated": "Removed by an attack as an added member of a generalised item.",
    "exposed": "An attacker finds the record of a person with a probability above 1/11.",
    "implied": "Known items prove a further item with certainty.",
    "inferred": "Guessed correctly by an attacker.",
    "k^m-anonymity": "Every set of up to m items is in no record or in at least k records.",
    "knowledge level": "The knowledge of an attacker: nothing, language, release, sample or person.",
    "negative control": "The attack with permuted input. It must not be better than random guessing.",
    "normalised advantage": "(Precision - baseline) / (1 - baseline): 0 is random, 1 is always correct.",
    "precision": "Correct eliminations divided by all eliminations.",
    "re-associated": "Put together again: parts of a record that the release splits.",
    "recall": "Correct eliminations divided by all added members.",
    "singled out": "Only one candidate record fits the known items.",
    "suppressed": "Left out of the release.",
}
"""Each term with its definition, in alphabetical order."""
# Longest first, so that "normalised advantage" is not found as "advantage".
_TERM = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(map(re.escape, GLOSSARY), key=len, reverse=True))})(?![\w-])")


def marked_terms(text: str) -> str:
    """Return `text` as HTML: escaped, with the definition of each term at its first use."""
    used = set[str]()

    def marked(found: re.Match[str]) -> str:
        term = found[0]
        if term in used:
            return term
        used.add(term)
        return f'<abbr title="{escape(GLOSSARY[term])}">{term}</abbr>'

    return _TERM.sub(marked, escape(text))


SIGNS = {"fails": "✗", "open": "?", "meets": "✓", "none": "–"}
"""The sign of each state, always next to a word."""
DOTS = 100
"""People of a line of a strip, which has ten lines."""


class PageTable(NamedTuple):
    """Rows under headings; `numeric` are the columns that contain numbers.

    `bars` are a share and its baseline for each row, drawn next to it. A `folded` table opens on request.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()
    bars: Sequence[tuple[float | None, float | None]] = ()
    folded: bool = False


class Drawn(NamedTuple):
    """Panels as SVG, their conclusion, and a table with the same figures.

    `narrow` are the same panels for a narrow screen, `legend` pairs of a mark and its meaning.
    """

    caption: str
    panels: Sequence[str]
    table: PageTable | None = None
    narrow: Sequence[str] = ()
    legend: Sequence[tuple[str, str]] = ()


class Finding(NamedTuple):
    """A line of the verdict: its label, its state in a sign and a word, and its text."""

    label: str
    text: str
    state: str = "none"
    word: str = ""


class TileRow(NamedTuple):
    """People of a tile: a label, their number, their share, or a `note` where there is no number."""

    label: str
    number: str = ""
    share: float | None = None
    note: str = ""
    baseline: bool = False


class Tile(NamedTuple):
    """One kind of exposure: its number of people, its definition, and the number of each stage."""

    title: str
    value: str
    of: str
    definition: str
    rows: Sequence[TileRow]
    foot: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the page, in the order of the page; two `half` sections share a row on a wide screen."""

    id: str
    title: str
    lines: Sequence[str] = ()
    figures: Sequence[Drawn] = ()
    tables: Sequence[PageTable] = ()
    items: Sequence[str] = ()
    code: str = ""
    half: bool = False


class Findings(NamedTuple):
    """Rows to sort and to filter, with a line that states their number."""

    said: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Page:
    """The contents of a page; `shows` names the personal data on it, and is empty where it has none."""

    name: str
    title: str
    headline: str
    tone: str
    next: str = ""
    """The recommended next step."""
    facts: Sequence[tuple[str, str]] = ()
    verdict: Sequence[Finding] = ()
    expectations: Sequence[tuple[str, str]] = ()
    tiles: Sequence[Tile] = ()
    sections: Sequence[Section] = ()
    figures: Config = field(default_factory=dict)
    findings: Findings | None = None
    shows: str = ""


def rendered(page: Page) -> str:
    """Return `page` as HTML; equal pages give equal texts."""
    environment, script, style = _templates()
    island: JsonObject = {"name": page.name, "figures": page.figures}
    if page.findings is not None:
        island["findings"] = page.findings.rows
    text: str = environment.get_template("page.html").render(
        page=page, style=style, script=script, script_hash=_hash(script), data=island, signs=SIGNS, glossary=GLOSSARY
    )
    return text


def strip(share: float, baseline: bool = False) -> str:
    """Draw 1,000 people as ten lines of dots, a `share` of them filled; one person is always visible."""
    # Rounded up, because a strip without a dot would say that nobody is exposed.
    filled, kind = ceil(min(1.0, share) * 10 * DOTS), "base" if baseline else "exposed"
    lines = []
    for row in range(10):
        on = min(DOTS, max(0, filled - DOTS * row))
        spans = ((kind, 0, on), ("off", on, DOTS))
        lines += [
            f'<line class="{name}" x1="{4 * start + 2}" x2="{4 * end - 1}" y1="{4 * row + 2}" y2="{4 * row + 2}"/>'
            for name, start, end in spans
            if end > start
        ]
    return f'<svg class="strip" viewBox="0 0 {4 * DOTS} 40" aria-hidden="true">{"".join(lines)}</svg>'


def _groups(sections: Sequence[Section]) -> list[list[Section]]:
    """Group sections: two neighbouring halves together, every other section alone."""
    groups: list[list[Section]] = []
    for section in sections:
        last = groups[-1] if groups else []
        if section.half and len(last) == 1 and last[0].half:
            last.append(section)
        else:
            groups.append([section])
    return groups


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
        # A misspelt variable is an error, and no empty place on a page about people.
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        loader=jinja2.DictLoader({"page.html": (folder / "page.html").read_text("utf-8")}),
    )  # fmt: skip
    # These come from decloak: SVG with escaped names, JSON without a "<", and escaped text with terms.
    environment.filters["safe_svg"] = markup
    environment.filters["strip"] = lambda share, baseline: markup(strip(share, baseline))
    environment.filters["terms"] = lambda text: markup(marked_terms(text))
    environment.filters["batch_halves"] = _groups
    environment.filters["json_island"] = lambda value: markup(_island(value))
    return environment, *(markup((folder / name).read_text("utf-8")) for name in ("page.js", "page.css"))


def _island(value: object) -> str:
    """Return JSON that no tag can end."""
    # NaN is no JSON: the script could not read the island.
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
