"""The scenario of an advice: a run of it gives the figures again, and fails where a criterion no longer holds."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from decloak.advice.decision import Tried
from decloak.advice.screen import Advice
from decloak.advice.trial import OF_ATTACKS
from decloak.errors import escape_control
from decloak.version import __version__

__all__ = ["front_text", "scenario_text"]

IN_SHORT = ("count_error", "exposed_3", "exposed_3_release", "inference_advantage")

FILES = ("file", "synonyms", "drop")
"""Keys under `data` that name files."""
SHOWN = ("exposed_", "inference_advantage", "membership_auc", "implied", "certain_links", "count_error", "hidden")
"""The beginnings of the figures that are written as comments."""


def front_text(advice: Advice, folder: Path) -> str:
    """Return the scenario of the candidates that no other one dominates, for a file in a folder.

    Its page plots their exposure against their error.
    """
    parts = {
        "scenario": "Advice: the candidates that no other one dominates",
        **{key: _beside(value, folder) for key, value in advice.base.items()},
        "vary": {"anonymise": [one.candidate.anonymise for one in advice.front]},
        "attack": list(dict.fromkeys(one.candidate.attack for one in advice.front)),
        "measure": advice.measures,
        "repeat": {"seed": advice.seed},
    }
    lines = [
        f"# Written by decloak {__version__}. The lowest error first; this is no proof of safety.",
        *(f"# {escape_control(one.candidate.name)}: {_in_short(one)}" for one in advice.front),
        *(f"{key}: {json.dumps(value)}" for key, value in parts.items()),
    ]
    return "\n".join(lines) + "\n"


def _in_short(one: Tried) -> str:
    shown = (f"{key} {figure.value:.3g}" for key, figure in sorted(one.figures.items()) if key in IN_SHORT)
    return ", ".join(shown)


def scenario_text(advice: Advice, folder: Path) -> str:
    """Return the scenario of the leading candidate, for a file in a folder.

    Its figures are comments. The criteria that it meets are lines of `expect`.
    """
    lead = advice.written
    assert lead is not None
    parts = {
        "scenario": f"Advice: {lead.candidate.name}",
        **{key: _beside(value, folder) for key, value in advice.base.items()},
        "anonymise": lead.candidate.anonymise,
        "attack": "all" if lead.attacked else [lead.candidate.attack],
        "measure": advice.measures,
        "repeat": {"seed": advice.seed},
    }
    lines = [
        f"# Written by decloak {__version__}. Figures of the leading candidate; this is no proof of safety.",
        *(f"# {key}: {figure.value:.6g}" for key, figure in sorted(lead.figures.items()) if key.startswith(SHOWN)),
        *(f"{key}: {json.dumps(value)}" for key, value in parts.items()),
        "# A run ends with exit code 3 when one of these lines does not hold.",
        *_expected(advice, lead),
    ]
    return "\n".join(lines) + "\n"


def _beside(value: Any, folder: Path) -> Any:
    """Return a part of a scenario with the paths of its files as seen from a folder."""
    if not isinstance(value, dict):
        return value
    beside = {key: os.path.relpath(value[key], folder) for key in FILES if isinstance(value.get(key), str)}
    inner = {"clean": _beside(value["clean"], folder)} if "clean" in value else {}
    return {**value, **beside, **inner}


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
            elif criterion.figure not in OF_ATTACKS or (lead.attacked and split):
                lines.append(f"  - {json.dumps(line)}  # {escape_control(criterion.source)}")
    yield from (["expect:", *lines] if lines else ["expect: []"])
    yield from missed
