"""The decision between candidates: all that meet the criteria, the one with the lowest error, and the nearest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from decloak.advice.candidates import Candidate
from decloak.digest import Config
from decloak.scenario.criteria import Criterion, Figures, State

NO_COUNTS, NO_RECORDS = 0.9, 0.99
"""The error from which no counts are left, and the share hidden from which a disassociated release has no records.

A generalised release may hide all of its items and still show labels.
"""


@dataclass(frozen=True)
class Tried:
    """A candidate and its figures. `attacks` are all that can run, or empty after the one of least cost alone.

    `sections` are those of the scenario that gave the figures.
    """

    candidate: Candidate
    figures: Figures
    sections: Config = field(default_factory=dict)
    attacks: Sequence[str] = ()
    run: int = 0
    """The run in the store."""

    @property
    def attacked(self) -> bool:
        """True if all attacks that can run were run."""
        return bool(self.attacks)

    @property
    def error(self) -> float:
        return self.figures["count_error"].value

    def states(self, criteria: Sequence[Criterion]) -> dict[str, State]:
        """Return the state of each criterion by its figure."""
        return {criterion.figure: criterion.state(self.figures) for criterion in criteria}

    def meets(self, criteria: Sequence[Criterion]) -> bool:
        return all(state == "met" for state in self.states(criteria).values()) and not hides_everything(self)

    def costs(self, criteria: Sequence[Criterion]) -> tuple[float, ...]:
        """Return what a better candidate has less of: the error, and each figure of a criterion in limits."""
        return (self.error, *(criterion.ratio(self.figures) for criterion in criteria))

    def distance(self, criteria: Sequence[Criterion]) -> tuple[float, float]:
        """Return the largest figure in limits, then the error: the nearest candidate has the least."""
        return max(self.costs(criteria)[1:], default=0.0), self.error


def hides_everything(tried: Tried) -> bool:
    """Tell whether a release shows nothing that a reader could use."""
    hidden = tried.figures.get("hidden")
    split = tried.candidate.kind == "disassociation" and hidden is not None
    return tried.error >= NO_COUNTS or (split and hidden is not None and hidden.value >= NO_RECORDS)


def dominates(one: Tried, other: Tried, criteria: Sequence[Criterion]) -> bool:
    """Tell whether one candidate is at most as bad as another in every figure, and better in one."""
    costs, others = one.costs(criteria), other.costs(criteria)
    return all(a <= b for a, b in zip(costs, others, strict=True)) and costs != others


def undominated(tried: Sequence[Tried], criteria: Sequence[Criterion]) -> list[Tried]:
    """Return the candidates that show something and are not dominated by another."""
    left = [one for one in tried if not hides_everything(one)]
    return [one for one in left if not any(dominates(other, one, criteria) for other in left)]


Differ = Callable[[Tried, Tried, int], bool]
"""Tells whether the errors of two candidates differ beyond chance, of so many pairs that are compared."""


def chosen(tried: Sequence[Tried], criteria: Sequence[Criterion], differ: Differ) -> tuple[Tried | None, bool]:
    """Return the candidate to lead with, and whether it meets all criteria; None where each one hides everything.

    Candidates that meet all criteria come first, sorted by their error. Among errors that do not `differ` from the
    lowest, it is the candidate that exposes fewer people, then hides less, then has the plainer method. If none meets
    all criteria, the nearest one leads: its worst figure, in limits, is the smallest.
    """
    left = undominated(tried, criteria)
    meeting = [one for one in left if one.meets(criteria)]
    if meeting:
        first, *others = sorted(meeting, key=lambda one: one.error)
        equal = [first, *(one for one in others if not differ(first, one, len(others)))]
        return min(equal, key=_among_equals), True
    if not left:
        return None, False
    return min(left, key=lambda one: one.distance(criteria)), False


def _among_equals(tried: Tried) -> tuple[float, float, int, float, str]:
    exposed = tried.figures.get("exposed_3", tried.figures.get("exposed_3_release"))
    hidden = tried.figures.get("hidden")
    return (
        0.0 if exposed is None else exposed.value,
        0.0 if hidden is None else hidden.value,
        tried.candidate.plainness,
        tried.error,
        tried.candidate.name,
    )


def nearest_changes(lead: Tried, tried: Sequence[Tried]) -> list[Tried]:
    """Return the candidates that differ from the leading one in one setting."""
    own = lead.candidate.anonymise
    return [
        one
        for one in tried
        if one.candidate.anonymise.keys() == own.keys()
        and sum(one.candidate.anonymise[key] != own[key] for key in own) == 1
    ]
