"""The scenario of an advice: a run of it gives the figures again, and fails where a criterion no longer holds."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from decloak.advice.decision import Tried
from decloak.advice.screen import Advice
from decloak.advice.trial import OF_ATTACKS
from decloak.digest import Config, JsonObject
from decloak.errors import escape_control
from decloak.version import __version__

__all__ = ["front_text", "scenario_text"]

IN_SHORT = ("count_error", "exposed_3", "exposed_3_release", "inference_advantage", "inference_advantage_at_1")

FILES = ("file", "synonyms", "drop", "control", "workload")
"""Keys of a scenario that name files."""
SHOWN = ("exposed_", "inference_advantage", "membership_auc", "implied", "certain_links", "count_error", "hidden")
"""The beginnings of the figures that are written as comments."""


def front_text(advice: Advice, folder: Path) -> str:
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


def _origin(advice: Advice) -> Iterator[str]:
    """Yield comments: the version, the date, the data and the criteria."""
    yield f"# Written by decloak {__version__} on {date.today().isoformat()}. This is no proof of safety."
    yield f"# Data: {advice.records + advice.control:,} records with the digest {advice.digest}."
    yield f"# Criteria: {escape_control(advice.by.name)}."


def _front_lines(advice: Advice) -> Iterator[str]:
    """Yield comments: the candidates that no other one dominates, with figures."""
    yield "# No other candidate dominates these. The lowest error is first."
    for one in advice.front:
        shown = (f"{key} {figure.value:.3g}" for key, figure in sorted(one.figures.items()) if key in IN_SHORT)
        yield f"#   {escape_control(one.candidate.name)}: {', '.join(shown)}"


def _parts(advice: Advice, title: str, parts: Config, folder: Path) -> JsonObject:
    """Return the sections of a scenario for a file in `folder`; `parts` are those of one kind of scenario."""
    sections = {**advice.base, **parts}
    return {"scenario": f"Advice: {title}", **{key: _beside(value, folder) for key, value in sections.items()}}


def _text(head: Iterable[str], parts: Config, foot: Iterable[str] = ()) -> str:
    return "\n".join([*head, *(f"{key}: {json.dumps(value)}" for key, value in parts.items()), *foot]) + "\n"


def scenario_text(advice: Advice, folder: Path) -> str:
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


def _beside(value: Any, folder: Path) -> Any:
    """Return a part of a scenario with the paths of its files as seen from a folder."""
    if isinstance(value, list | tuple):
        return [_beside(one, folder) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: os.path.relpath(one, folder)
        if key in FILES and isinstance(one, str) and Path(one).is_absolute()
        else _beside(one, folder)
        for key, one in value.items()
    }


def _expected(advice: Advice, lead: Tried) -> Iterator[str]:
    """Yield `expect` with a line for each criterion that is met; the others are comments."""
    states = lead.states(advice.criteria)
    split = lead.candidate.kind == "disassociation"
    lines, missed = [], []
    for criterion in advice.criteria:
        for line in criterion.expectations(lead.figures):
            if states[criterion.figure] != "met":
                missed.append(f"# not met: {line}  ({escape_control(criterion.source)})")
            elif lead.candidate.kind == "synthetic" and criterion.figure == "guarantee_violations":
                continue
            elif criterion.figure not in OF_ATTACKS or (
                lead.attacked and (split or lead.figures[criterion.figure].value)
            ):
                lines.append(f"  - {json.dumps(line)}  # {escape_control(criterion.source)}")
    yield from (["expect:", *lines] if lines else ["expect: []"])
    yield from missed
