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

__all__ = ["scenario_text"]

SHOWN = ("exposed_", "inference_advantage", "membership_auc", "implied", "certain_links", "count_error", "hidden")
"""The beginnings of the figures that are written as comments."""


def scenario_text(advice: Advice, folder: Path) -> str:
    """Return the scenario of the leading candidate, for a file in a folder.

    Its figures are comments. The criteria that it meets are lines of `expect`.
    """
    lead = advice.lead
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
    file = {"file": os.path.relpath(value["file"], folder)} if "file" in value else {}
    return {**value, **file}


def _expected(advice: Advice, lead: Tried) -> Iterator[str]:
    """Yield `expect` with a line for each criterion that is met; the others are comments."""
    states = lead.states(advice.criteria)
    split = lead.candidate.kind == "disassociation"
    lines, missed = [], []
    for criterion in advice.criteria:
        for line in criterion.expectations(lead.figures):
            if states[criterion.figure] != "met":
                missed.append(f"# not met: {line}  ({escape_control(criterion.source)})")
            elif criterion.figure not in OF_ATTACKS or (lead.attacked and split):
                lines.append(f"  - {json.dumps(line)}  # {escape_control(criterion.source)}")
    yield from (["expect:", *lines] if lines else ["expect: []"])
    yield from missed
