"""The result of an advice, and its scenario.

A run of the scenario gives the figures again, and fails where a criterion no longer holds.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from decloak.advice.candidates import OF_ATTACKS, Tried, Untried, undominated
from decloak.data.formats.lines import location
from decloak.data.formats.writing import check_new, write_text
from decloak.digest import Config, JsonObject
from decloak.errors import DecloakError, escape_control
from decloak.scenario.criteria import Accepted, Criterion
from decloak.version import __version__

IN_SHORT = ("count_error", "exposed_3", "exposed_3_release", "inference_advantage", "inference_advantage_at_1")

FILES = ("file", "synonyms", "drop", "control", "workload")
"""Keys of a scenario that name files."""
SHOWN = ("exposed_", "inference_advantage", "membership_auc", "implied", "certain_links", "count_error", "hidden")
"""The beginnings of the figures that are written as comments."""


@dataclass(frozen=True)
class Advised:
    """The candidates that were tried by some criteria, and the one to lead with: it passes, or it is nearest.

    `records` and `items` describe the published part, `control` is the number of people held out, 0 if a file names
    them. `ended` says why not all candidates were tried, None where all were. `base` has the sections of a scenario of
    the same data, with absolute paths.
    """

    records: int
    items: int
    control: int
    by: Accepted
    tried: tuple[Tried, ...]
    untried: tuple[Untried, ...]
    lead: Tried | None
    passes: bool
    ended: str | None
    base: Config
    drawn_from: int | None = None
    """The number of records of which these were drawn, None if they are all."""
    counts: Tried | None = None
    """The leading candidate for readers who only count, None where there is none."""
    counts_pass: bool = False
    """True if `counts` meets all criteria."""
    digest: str = ""
    """The digest of the data."""

    @property
    def written(self) -> Tried | None:
        """The candidate to write a scenario of: the lead, or that for counts if it alone passes."""
        # A scenario of a release that passes is of more use than one of the nearest.
        return self.counts if self.counts_pass and not self.passes else self.lead

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        return self.by.criteria

    @property
    def front(self) -> list[Tried]:
        """The candidates that no other one of their class dominates, the lowest error first."""
        classes = ([one for one in self.tried if one.candidate.of_counts == counts] for counts in (False, True))
        front = [one for tried in classes for one in undominated(tried, self.criteria)]
        return sorted(front, key=lambda one: (one.error, one.candidate.name))

    def write(self, path: str | Path, *, front: bool = False) -> Path:
        """Write a scenario that repeats the figures of the leading candidate to `path`, and return the path.

        With `front` it repeats those of all candidates that no other one dominates. Run it with `data=` if the advice
        was about data in memory.
        """
        if self.written is None:
            raise DecloakError("no candidate shows anything", location(path), "advise on more records")
        check_new(path)
        goal = Path(path)
        write_text((front_text if front else scenario_text)(self, goal.resolve().parent), goal)
        return goal


def front_text(advice: Advised, folder: Path) -> str:
    """Return the scenario of the candidates that no other one dominates, for a file in a folder.

    Its page plots their exposure against their error.
    """
    attacks = [one.candidate.attack for one in advice.front]
    parts = {
        "vary": {"anonymise": [one.candidate.anonymise for one in advice.front]},
        "attack": [attack for place, attack in enumerate(attacks) if attack not in attacks[:place]],
        "measure": advice.tried[0].sections["measure"],
        "repeat": advice.tried[0].sections["repeat"],
    }
    head = [*_origin(advice), *_front_lines(advice)]
    return _text(head, _parts(advice, "the candidates that no other one dominates", parts, folder))


def _origin(advice: Advised) -> Iterator[str]:
    """Yield comments: the version, the date, the data and the criteria."""
    yield f"# Written by decloak {__version__} on {date.today().isoformat()}. This is no proof of safety."
    yield f"# Data: {advice.records + advice.control:,} records with the digest {advice.digest}."
    yield f"# Criteria: {escape_control(advice.by.name)}."


def _front_lines(advice: Advised) -> Iterator[str]:
    """Yield comments: the candidates that no other one dominates, with figures."""
    yield "# No other candidate dominates these. The lowest error is first."
    for one in advice.front:
        shown = (f"{key} {figure.value:.3g}" for key, figure in sorted(one.figures.items()) if key in IN_SHORT)
        yield f"#   {escape_control(one.candidate.name)}: {', '.join(shown)}"


def _parts(advice: Advised, title: str, parts: Config, folder: Path) -> JsonObject:
    """Return the sections of a scenario for a file in `folder`; `parts` are those of one kind of scenario."""
    sections = {**advice.base, **parts}
    return {"scenario": f"Advice: {title}", **{key: _rebase_paths(value, folder) for key, value in sections.items()}}


def _text(head: Iterable[str], parts: Config, foot: Iterable[str] = ()) -> str:
    return "\n".join([*head, *(f"{key}: {json.dumps(value)}" for key, value in parts.items()), *foot]) + "\n"


def scenario_text(advice: Advised, folder: Path) -> str:
    """Return the scenario of the leading candidate, for a file in a folder.

    Its figures are comments. The criteria that it meets are lines of `expect`.
    """
    lead = advice.written
    assert lead is not None
    shown = (f"{key}: {figure.value:.6g}" for key, figure in sorted(lead.figures.items()) if key.startswith(SHOWN))
    head = [
        *_origin(advice), "# Figures of the leading candidate:", *(f"#   {line}" for line in shown),
        *_front_lines(advice),
    ]  # fmt: skip
    foot = ["# A run ends with exit code 3 when one of these lines does not hold.", *_expected(advice, lead)]
    return _text(head, _parts(advice, lead.candidate.name, lead.sections, folder), foot)


def _rebase_paths(value: Any, folder: Path) -> Any:
    """Return a part of a scenario with the paths of its files as seen from a folder."""
    if isinstance(value, list | tuple):
        return [_rebase_paths(one, folder) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        # A written scenario may move with the data, so that its paths are relative.
        key: os.path.relpath(one, folder)
        if key in FILES and isinstance(one, str) and Path(one).is_absolute()
        else _rebase_paths(one, folder)
        for key, one in value.items()
    }


def _expected(advice: Advised, lead: Tried) -> Iterator[str]:
    """Yield `expect` with a line for each criterion that is met; the others are comments."""
    states = lead.states(advice.criteria)
    split = lead.candidate.kind == "disassociation"
    lines, missed = [], []
    for criterion in advice.criteria:
        for line in criterion.expectations(lead.figures):
            # A line that fails at once would guard nothing.
            if states[criterion.figure] != "met":
                missed.append(f"# not met: {line}  ({escape_control(criterion.source)})")
            # A synthetic release has no guarantee of this kind to check.
            elif lead.candidate.kind == "synthetic" and criterion.figure == "guarantee_violations":
                continue
            elif criterion.figure not in OF_ATTACKS or (
                lead.attacked and (split or lead.figures[criterion.figure].value)
            ):
                lines.append(f"  - {json.dumps(line)}  # {escape_control(criterion.source)}")
    yield from (["expect:", *lines] if lines else ["expect: []"])
    yield from missed
