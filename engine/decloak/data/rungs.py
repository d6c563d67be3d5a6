"""The ladder of attackers: what somebody knows beside a release, from nothing up."""

from collections.abc import Iterable
from enum import StrEnum

__all__ = ["Rung", "step_name"]


class Rung(StrEnum):
    """A rung of the ladder; an attacker may stand on several."""

    NOTHING = "nothing"  # chance, order, what can be counted
    LANGUAGE = "language"  # a corpus, word vectors, WordNet: what anybody may know of items
    RELEASE = "release"  # what the release shows of its own items
    SAMPLE = "sample"  # other records of the same population
    PERSON = "person"  # items of single persons


def step_name(rungs: Iterable[str]) -> str:
    """What a step of the ladder is called, by all rungs that it takes.

    >>> step_name({"sample", "language"})
    'language + sample'
    """
    here = set(rungs)
    return " + ".join(rung for rung in Rung if rung in here)
