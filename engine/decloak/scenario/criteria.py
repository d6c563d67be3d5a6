"""Criteria of acceptance: a figure, a limit, and the source of the limit; presets, files and single expressions.

A criterion is judged by the upper end of its figure's 95% interval. No guideline of the EU, ISO or NIST gives a number,
so most limits are ours, and each says so. `decloak advise --accept` and `accept` in a scenario have the same criteria.
"""

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError

from decloak.data.forms import FormName
from decloak.digest import Config
from decloak.errors import DecloakError, quote, suggest
from decloak.measure.kernels.advantage import wilson
from decloak.measure.kernels.estimate.figures import Z
from decloak.measure.registry import metrics_by_key
from decloak.store.results import PooledFigure
from decloak.yaml.section import ConfigErrors, ConfigSection, checked_by
from decloak.yaml.source import Source, check, read_source

State = Literal["met", "inconclusive", "exceeded", "not measured"]
INFERENCE = "inference_advantage"
IMPLIED = "implied_advantage"
"""The share of the people with an implied third item, minus this share of the control."""
LEVELS = (1, 2, 3)
# Python writes small limits of YAML such as 0.00001 with an exponent.
EXPRESSION = re.compile(r"\s*([a-z]\w*)\s*(?:<=|≤)\s*((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?)\s*(%?)\s*")
OF_CONTROL = (INFERENCE, IMPLIED, "membership")
"""The beginnings of the figures that need people who are not in the data."""
LOOKED_UP = ("exposed", "inferred")
"""The beginnings of the figures that count the people who are looked up."""
TARGETS: int | str = 1_000
"""The people that a run looks up by default."""
FILES = (".yaml", ".yml")


class Ranged(NamedTuple):
    """A figure with the upper end of its 95% interval; a count of people is a share, `people` of `of`."""

    value: float
    high: float
    people: float | None = None
    of: float | None = None


Figures = Mapping[str, Ranged]
"""The figures of a release by key; a figure that could not be measured is missing."""
NOBODY = 0.001
"""The upper end of the interval for 0 of 5,000 people is below it."""
KINDS = {
    "exposed": "exposure", "singled": "exposure", "inference_advantage_at": "surest guesses",
    "inference": "inference", "membership": "membership", "guarantee": "guarantee", "certain": "certain links",
    "implied": "implied items", "count": "error",
}  # fmt: skip
"""The name of a criterion by the beginning of its figure."""
HOLDS: Mapping[State, bool | None] = {"met": True, "inconclusive": False, "exceeded": False, "not measured": None}


@dataclass(frozen=True)
class Criterion:
    """A figure that may be at most `limit`; shares of people are shares."""

    figure: str
    limit: float
    source: str

    @property
    def needs_control(self) -> bool:
        """True if it needs people who are not in the data."""
        return self.figure.startswith(OF_CONTROL)

    def key(self, figures: Figures) -> str:
        """Return the key to judge by: where an attack had nothing to do, the figure of the release alone."""
        released = f"{self.figure}_release"
        return released if self.figure not in figures and released in figures else self.figure

    def state(self, figures: Figures) -> State:
        """Judge a release by its figures."""
        figure = figures.get(self.key(figures))
        if figure is None:
            return "not measured"
        # A share may differ from an equal limit in its last digits.
        if figure.value > self.limit + 1e-9:
            return "exceeded"
        return "met" if figure.high <= self.limit + 1e-9 else "inconclusive"

    def ratio(self, figures: Figures) -> float:
        """Return the upper end of its figure among `figures` in limits, at most 1 if it is met; 0 counts as 0.1%."""
        figure = figures.get(self.key(figures))
        # A limit of 0 would make every ratio infinite, so that no release was nearer than another.
        return math.inf if figure is None else max(0.0, figure.high) / (self.limit or NOBODY)

    def expectations(self, figures: Figures) -> tuple[str, ...]:
        """Return the lines of a scenario that fail where the criterion is exceeded; none of what was not measured."""
        if self.figure.startswith(INFERENCE):
            ending = self.figure.removeprefix(INFERENCE)
            keys = (f"{INFERENCE}_{known}{ending}" for known in LEVELS)
            return tuple(f"{key}_high <= {self.limit:g}" for key in keys if key in figures)
        key = self.key(figures)
        if key not in figures:
            return ()
        # The advantage is no figure of the store, so that the line is a difference of two that are.
        if self.figure == IMPLIED:
            return (f"implied_release - implied_control <= {self.limit * 100:g}%",)
        return (self._text(key),)

    def _text(self, key: str) -> str:
        metric = metrics_by_key().get(key)
        share = metric is not None and metric.count and self.limit > 0
        return f"{key} <= {self.limit * 100:g}%" if share else f"{key} <= {self.limit:g}"

    @property
    def kind(self) -> str:
        """The name of what it limits."""
        return next((kind for beginning, kind in KINDS.items() if self.figure.startswith(beginning)), self.figure)

    def judged(self, figures: Figures) -> "JudgedCriterion":
        """Judge a release by its figures, and give the reason."""
        state, key = self.state(figures), self.key(figures)
        figure = figures.get(key)
        sign, said = {True: "passed", False: "FAILED", None: "UNDEFINED"}[HOLDS[state]], "not measured"
        if figure is not None:
            share = figure.people is not None and figure.of is not None
            said = f"{figure.people:,.6g} of {figure.of:,.0f}" if share else f"{figure.value:.4g}"
            high = f"{figure.high:.2%}" if share else f"{figure.high:.4g}"
            said += f", at most {high} (95% interval)" if figure.high > figure.value else ""
        text = f"{sign}: {self._text(key)}: {said}; source of the limit: {self.source}"
        return JudgedCriterion(self, self._text(self.figure), HOLDS[state], text)


class JudgedCriterion(NamedTuple):
    """A criterion, its text, the reason, and whether it holds: None if its figure was not measured."""

    criterion: Criterion
    title: str
    holds: bool | None
    text: str


class JudgedCriteria(NamedTuple):
    """All criteria of a release, judged, and their name."""

    name: str
    criteria: tuple[JudgedCriterion, ...]

    @property
    def missed(self) -> list[str]:
        """The names of what does not meet its limit."""
        return list(dict.fromkeys(one.criterion.kind for one in self.criteria if not one.holds))


class Accepted(NamedTuple):
    """Criteria, and their name: that of a file may be hostile."""

    name: str
    criteria: tuple[Criterion, ...]

    @property
    def asks_for_nobody(self) -> bool:
        """True if a criterion allows no exposed person: a sample of the people cannot show this."""
        return any(one.figure.startswith("exposed_") and one.limit == 0 for one in self.criteria)


RISK = "probability 1/11: EMA Policy 0070, Health Canada; share of people: ours"
USABLE = 0.4
WP216 = "WP216 names the criterion, the limit is ours"


KEPT = (
    Criterion("guarantee_violations", 0, "the method's own guarantee"),
    Criterion("count_error", USABLE, "ours: readers cannot use counts with larger errors; give your own limit"),
)
"""The criteria of every preset: the release is as promised, and its readers can use it."""


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
        *KEPT,
    )


def _cells(source: str) -> tuple[Criterion, ...]:
    """Return the criteria of a rule for tables: none of the people looked up is in a small cell of 1 to 3 items."""
    return (
        *(Criterion(f"exposed_{known}", NOBODY, source) for known in LEVELS),
        *KEPT,
    )


PRESETS: Mapping[str, tuple[Criterion, ...]] = {
    "public": (
        *_preset(0.01, 0.001, 0.05, 0.10, 0.25, 0.55),
        Criterion("certain_links", 0, WP216),
        Criterion(IMPLIED, 0, WP216),
    ),
    "controlled": _preset(0.10, 0.02, 0.10, 0.25, 0.50, 0.60),
    "ontario": _preset(
        0.01, 0.001, 0.05, 0.10, 0.25, 0.55, "probability .09: Ontario IPC (2025), from a second source"
    ),
    "cms": _cells("CMS: no cell of 1 to 10 people may be shown or derived"),
    "tre": (*_cells("SACRO: no cell below 10 people"), Criterion("implied_release", 0, "SACRO: no cell of 0 people")),
    "nhs": _cells("NHS Digital: no cell of 1 to 7 people; 1/11 is stricter"),
}
"""The criteria of rules for tables of counts ask that nobody who was looked up is in a cell of fewer than 11 people."""


def _of_expression(text: str, source: str = "your own limit") -> Criterion:
    found = EXPRESSION.fullmatch(text)
    if text in PRESETS:
        raise DecloakError(f"{quote(text)} has several criteria", hint="name it alone, or list each criterion")
    if found is None:
        hint = suggest(text, PRESETS) or f"write such as 'exposed_3 <= 1%', a file.yaml, or {' or '.join(PRESETS)}"
        raise DecloakError(f"{quote(text)} is no criterion", hint=hint)
    figure, number, percent = found.groups()
    if figure not in FIGURES:
        hint = suggest(figure, FIGURES) or f"figures are {', '.join(FIGURES)}"
        raise DecloakError(f"no figure {quote(figure)} for a criterion", hint=hint)
    return Criterion(figure, float(number) / (100 if percent else 1), source)


FIGURES = tuple(dict.fromkeys([
    *(criterion.figure for criteria in PRESETS.values() for criterion in criteria),
    "exposed_1", "singled_out_2", "singled_out_3", "implied_release",
]))  # fmt: skip
"""The figures that a criterion can name."""


class Limit(ConfigSection):
    """A criterion with its reason."""

    figure: str
    """The figure."""
    limit: Annotated[float, Field(ge=0)] | str
    """The largest value, such as 0.05 or 1%."""
    reason: str = Field(min_length=1)
    """The source of the limit, or the reason for it."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for an unknown figure or a limit that is no number."""
        try:
            self.criterion()
        except DecloakError as error:
            yield (), error

    def criterion(self) -> Criterion:
        return _of_expression(f"{self.figure} <= {self.limit}", self.reason)


Accept = (
    # The name is looked up late: `accepted` needs this type to read files.
    Annotated[str, checked_by(lambda text: accepted(text))]
    | Annotated[tuple[Annotated[str, checked_by(_of_expression)] | Limit, ...], Field(min_length=1)]
)


class _Judging(ConfigSection):
    """The key of a scenario that decides what a run accepts."""

    accept: Accept | None = None


def accepted(given: str | Sequence[str | Limit]) -> Accepted:
    """Read criteria: the name of a preset, a file of criteria, or expressions such as "exposed_3 <= 1%".

    They are called after the preset or the file.
    """
    listed = [given] if isinstance(given, str) else given
    first = listed[0]
    if len(listed) == 1 and isinstance(first, str):
        if first in PRESETS:
            return Accepted(first, PRESETS[first])
        if first.endswith(FILES):
            listed = check(_with_file(Source.parse("{}", first), first), _Judging).accept or ()
            return accepted(listed)._replace(name=Path(first).name)
    criteria = (one.criterion() if isinstance(one, Limit) else _of_expression(one) for one in listed)
    return Accepted("as given", tuple(criteria))


def _with_file(source: Source, path: str | Path) -> Source:
    """Return the document `source` with the criteria in the file at `path` under `accept`."""
    root = read_source(path).root
    # A file of criteria could name itself without an end.
    if isinstance(root.value, str) and root.value.endswith(FILES):
        raise DecloakError(f"the file names another file, {quote(root.value)}", str(path), "write the criteria here")
    return source.put(("accept",), root, root.place)


def with_criteria(source: Source, folder: Path) -> Source:
    """Return the scenario `source` with the criteria themselves in place of the name of their file in `folder`."""
    named = source.root.children.get("accept")
    if named is None or not isinstance(named.value, str) or not named.value.endswith(FILES):
        return source
    return _with_file(source, folder / named.value)


def worst_figures(
    figures: Mapping[tuple[str, str], PooledFigure], form: FormName, targets: int | None
) -> dict[str, Ranged]:
    """Return the largest value of each figure over all attacks, which an attacker may choose from.

    `figures` are those of a release of a `form`, by figure and attack. A count of people has an interval if `targets`
    people were looked up, None if all were.
    """
    titles = metrics_by_key()
    worst: dict[str, Ranged] = {}
    for (key, _), figure in figures.items():
        # The ends of an interval belong to their figure, and are no figures of their own.
        if figure.value is None or key.endswith(("_low", "_high")):
            continue
        if titles[key].count and figure.whole:
            share = figure.value / figure.whole
            # Where the data have fewer people than targets, all were looked up and nothing is estimated.
            drawn = targets is not None and figure.whole >= targets and key.startswith(LOOKED_UP)
            high = wilson(share, Z * Z / figure.whole)[1] if drawn else share
            ranged = Ranged(share, high, figure.value, figure.whole)
        else:
            ends = [end.value for (name, _), end in figures.items() if name == f"{key}_high"]
            ranged = Ranged(figure.value, max([figure.value, *(end for end in ends if end is not None)]))
        if key not in worst or ranged.value > worst[key].value:
            worst[key] = ranged
    return {**_absent(form), **worst, **_beyond_control(worst)}


def _absent(form: FormName) -> Figures:
    """Return the figures of a form that cannot have any: nothing was split, or nothing was guaranteed."""
    none, absent = Ranged(0.0, 0.0), dict[str, Ranged]()
    if form != FormName.DISASSOCIATED:
        absent["certain_links"] = none
    if form == FormName.SYNTHETIC:
        absent |= {"guarantee_violations": none, IMPLIED: none}
    return absent


def _beyond_control(worst: Figures) -> Figures:
    """Return the largest inference advantages over all numbers of known items, and the advantage of implied items."""
    beyond = {}
    for ending in ("", "_at_5", "_at_1"):
        of_level = [worst[key] for known in LEVELS if (key := f"{INFERENCE}_{known}{ending}") in worst]
        if of_level:
            beyond[f"{INFERENCE}{ending}"] = Ranged(
                max(one.value for one in of_level), max(one.high for one in of_level)
            )
    implied, control = worst.get("implied_release"), worst.get("implied_control")
    # A share of 0 exceeds no control, so that it needs none.
    if implied is not None and (not implied.value or control is not None):
        share = 0.0 if control is None else control.value
        # The largest advantage compares with the lowest share that the control may have.
        least = 0.0 if control is None or not control.of else wilson(share, Z * Z / control.of)[0]
        beyond[IMPLIED] = Ranged(max(0.0, implied.value - share), max(0.0, implied.value - least))
    return beyond


def judged_criteria(
    config: Config,
    form: FormName,
    repetitions: Sequence[Mapping[tuple[str, str], PooledFigure]],
    controls: Collection[str] = (),
) -> JudgedCriteria | None:
    """Judge the release of a scenario by its criteria, by the means over its `repetitions`.

    `config` is the scenario. `controls` names the negative controls, which are no attacks. Return None if it has no
    criteria, or some that this version does not know.
    """
    try:
        accept = _Judging.model_validate_json(json.dumps({"accept": config.get("accept")})).accept
    except ValidationError:
        return None
    if accept is None:
        return None
    by, targets = accepted(accept), TARGETS
    for entry in config.get("measure") or ():
        settings = entry.get("exposure") if isinstance(entry, Mapping) else None
        targets = settings.get("targets", TARGETS) if isinstance(settings, Mapping) else targets
    mean = {
        key: PooledFigure(*(_mean([figures[key][part] for figures in repetitions]) for part in range(3)))
        for key in repetitions[0]
        if key[1] not in controls and all(key in figures for figures in repetitions)
    }
    found = worst_figures(mean, form, targets if isinstance(targets, int) else None)
    return JudgedCriteria(by.name, tuple(criterion.judged(found) for criterion in by.criteria))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if len(known) == len(values) else None
