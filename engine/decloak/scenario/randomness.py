"""The random parts of a repetition. Without any, every repetition has the same release and the same attackers."""

import json
from collections.abc import Iterable, Mapping
from functools import cache

from pydantic import TypeAdapter, ValidationError

from decloak.anonymisers.method import Method
from decloak.anonymisers.registry import AnyMethod
from decloak.digest import Config
from decloak.errors import DecloakError
from decloak.scenario.document import Document
from decloak.scenario.model import Scenario

__all__ = ["identical_repetitions", "is_random"]

DRAWING = ("moderate", "weak")
"""The attackers whose knowledge of people is random."""


def is_random(config: Config) -> bool:
    """Return True if repetitions of a stored run with the configuration `config` differ."""
    attacker = config.get("attacker") or {}
    steps = attacker.get("knows")
    steps = steps if isinstance(steps, list) else [steps]
    held_out = any(isinstance(step, Mapping) and isinstance(step.get("sample"), float) for step in steps)
    if held_out or attacker.get("model") in DRAWING:
        return True
    try:
        method = _methods().validate_json(json.dumps(config.get("anonymise")))
    # A store may contain configurations of older versions that no longer parse.
    except (ValidationError, DecloakError):  # of an older version: nobody is advised to repeat it
        return False
    return method is not None and method.is_random


@cache
def _methods() -> TypeAdapter[Method | None]:
    return TypeAdapter(AnyMethod | None)


def identical_repetitions(document: Document) -> Iterable[str]:
    """Yield a warning if the repetitions of the scenario in `document` do not differ, with its location and a
    remedy.
    """
    first = document.scenario
    if first.repeat.times < 2 or any(_draws(case.scenario) for case in document.cases):
        return
    repeat = document.source.root.children["repeat"]
    place = repeat.children.get("times", repeat).place
    why = "the release is given" if first.anonymise is None else f"{first.anonymise.method} draws nothing at random"
    yield (
        f"{place}: the {first.repeat.times} repetitions do not differ ({why}), so they say nothing about other data; "
        "remove repeat, or vary the data (vary: {data.file: [...]})"
    )


def _draws(scenario: Scenario) -> bool:
    """Return True if a release, a holdout, or the knowledge of people is random."""
    return scenario.random_release or scenario.held_out is not None or scenario.attacker.model in DRAWING
