"""Criteria of acceptance: a figure, a limit, and the source of the limit; presets, files and single expressions.

A criterion is judged by the upper end of its figure's 95% interval. No guideline of the EU, ISO or NIST gives a number,
so most limits are ours, and each says so.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import yaml

from decloak.errors import DecloakError, quote, suggest
from decloak.measure.registry import metrics_by_key
from decloak.yaml.source import read_source

__all__ = ["PRESETS", "RISK", "Accepted", "Criterion", "Figures", "Ranged", "State", "accepted"]

State = Literal["met", "inconclusive", "exceeded", "not measured"]
INFERENCE = "inference_advantage"
LEVELS = (1, 2, 3)
EXPRESSION = re.compile(r"\s*([a-z]\w*)\s*(?:<=|≤)\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*")


class Ranged(NamedTuple):
    """A figure with the upper end of its 95% interval; a count of people is a share, `people` of `of`."""

    value: float
    high: float
    people: float | None = None
    of: float | None = None


Figures = Mapping[str, Ranged]
"""The figures of a candidate by key; a figure that could not be measured is missing."""


@dataclass(frozen=True)
class Criterion:
    """A figure that may be at most `limit`; shares of people are shares."""

    figure: str
    limit: float
    source: str

    def key(self, figures: Figures) -> str:
        """Return the key to judge by: where an attack had nothing to do, the figure of the release alone."""
        released = f"{self.figure}_release"
        return released if self.figure not in figures and released in figures else self.figure

    def state(self, figures: Figures) -> State:
        """Judge a candidate by its figures."""
        figure = figures.get(self.key(figures))
        if figure is None:
            return "not measured"
        if figure.value > self.limit + 1e-9:
            return "exceeded"
        return "met" if figure.high <= self.limit + 1e-9 else "inconclusive"

    def ratio(self, figures: Figures) -> float:
        """Return the upper end of the figure in limits: at most 1 if the criterion is met."""
        figure = figures.get(self.key(figures))
        if figure is None:
            return math.inf
        high = max(0.0, figure.high)
        return high / self.limit if self.limit else (math.inf if high > 1e-9 else 0.0)

    def expectations(self, figures: Figures) -> tuple[str, ...]:
        """Return the lines of a scenario that fail where the criterion is exceeded; none of what was not measured."""
        if self.figure.startswith(INFERENCE):
            ending = self.figure.removeprefix(INFERENCE)
            keys = (f"{INFERENCE}_{known}{ending}" for known in LEVELS)
            return tuple(f"{key}_high <= {self.limit:g}" for key in keys if key in figures)
        key = self.key(figures)
        if key not in figures:
            return ()
        share = metrics_by_key()[key].count and self.limit > 0
        return (f"{key} <= {self.limit * 100:g}%" if share else f"{key} <= {self.limit:g}",)


class Accepted(NamedTuple):
    """Criteria, and their name."""

    name: str
    criteria: tuple[Criterion, ...]

    @property
    def asks_for_nobody(self) -> bool:
        """True if a criterion allows no exposed person: a sample of the people cannot show this."""
        return any(one.figure.startswith("exposed_") and one.limit == 0 for one in self.criteria)


RISK = "probability 1/11: EMA Policy 0070, Health Canada; share of people: ours"
USABLE = 0.4
NOBODY = 0.001
"""The upper end of the interval for 0 of 5,000 people is below it."""
WP216 = "WP216 names the criterion, the limit is ours"


def _preset(
    three: float, two: float, advantage: float, at_5: float, at_1: float, auc: float, risk: str = RISK
) -> tuple[Criterion, ...]:
    return (
        Criterion("exposed_3", three, risk),
        Criterion("exposed_2", two, risk),
        Criterion(INFERENCE, advantage, WP216),
        Criterion(f"{INFERENCE}_at_5", at_5, "ours, after Francis and Wagner (2025)"),
        Criterion(f"{INFERENCE}_at_1", at_1, "ours, after Francis and Wagner (2025)"),
        Criterion("membership_auc", auc, "Ontario IPC (2025) names the criterion, the limit is ours"),
        Criterion("guarantee_violations", 0, "the method's own guarantee"),
        Criterion("count_error", USABLE, "ours: readers cannot use counts with larger errors; give your own limit"),
    )


def _cells(source: str) -> tuple[Criterion, ...]:
    """Return the criteria of a rule for tables: none of the people looked up is in a small cell of 1 to 3 items."""
    return (
        *(Criterion(f"exposed_{known}", NOBODY, source) for known in LEVELS),
        Criterion("guarantee_violations", 0, "the method's own guarantee"),
        Criterion("count_error", USABLE, "ours: readers cannot use counts with larger errors; give your own limit"),
    )


PRESETS: Mapping[str, tuple[Criterion, ...]] = {
    "public": (*_preset(0.01, 0.001, 0.05, 0.10, 0.25, 0.55), Criterion("certain_links", 0, WP216)),
    "controlled": _preset(0.10, 0.02, 0.10, 0.25, 0.50, 0.60),
    "ontario": _preset(
        0.01, 0.001, 0.05, 0.10, 0.25, 0.55, "probability .09: Ontario IPC (2025), from a second source"
    ),
    "cms": _cells("CMS: no cell of 1 to 10 people may be shown or derived"),
    "tre": (*_cells("SACRO: no cell below 10 people"), Criterion("implied_release", 0, "SACRO: no cell of 0 people")),
    "nhs": _cells("NHS Digital: no cell of 1 to 7 people; 1/11 is stricter"),
}
"""The criteria of rules for tables of counts ask that nobody who was looked up is in a cell of fewer than 11 people."""


def accepted(words: Sequence[str]) -> Accepted:
    """Read criteria: the name of a preset, a file of criteria, or expressions such as "exposed_3 <= 1%"."""
    if len(words) == 1 and words[0] in PRESETS:
        return Accepted(words[0], PRESETS[words[0]])
    if len(words) == 1 and words[0].endswith((".yaml", ".yml")):
        return Accepted(Path(words[0]).name, tuple(_of_file(Path(words[0]))))
    return Accepted("as given", tuple(_of_expression(word, "your own limit") for word in words))


def _of_expression(text: str, source: str, place: str | None = None) -> Criterion:
    found = EXPRESSION.fullmatch(text)
    if found is None:
        hint = suggest(text, PRESETS) or f"write such as 'exposed_3 <= 1%', a file.yaml, or {' or '.join(PRESETS)}"
        raise DecloakError(f"{quote(text)} is no criterion", place, hint)
    figure, number, percent = found.groups()
    if figure not in _known():
        raise DecloakError(f"no figure {quote(figure)} for a criterion", place, suggest(figure, _known()) or _listed())
    return Criterion(figure, float(number) / (100 if percent else 1), source)


def _known() -> tuple[str, ...]:
    keys = [key for criteria in PRESETS.values() for criterion in criteria for key in [criterion.figure]]
    return tuple(dict.fromkeys((*keys, "exposed_1", "singled_out_2", "singled_out_3", "implied_release")))


def _listed() -> str:
    return f"figures are {', '.join(_known())}"


def _of_file(path: Path) -> Iterable[Criterion]:
    """Yield the criteria of a file: a list of mappings with `figure`, `limit` and `reason`."""
    try:
        read_source(path)  # refuses what YAML would make of a hostile file
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DecloakError(f"cannot be read: {error}", str(path), "name a readable file") from None
    hint = "write a list of {figure: exposed_3, limit: 1%, reason: TEXT}"
    if not isinstance(entries, list) or not entries:
        raise DecloakError("no list of criteria", str(path), hint)
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or set(entry) != {"figure", "limit", "reason"}:
            raise DecloakError(f"criterion {number} has not the keys figure, limit and reason", str(path), hint)
        yield _of_expression(f"{entry['figure']} <= {entry['limit']}", str(entry["reason"]), str(path))
