"""The decision table: from the figures of one release to an outcome. The sentences are elsewhere.

    finding        a figure above its limit; the outcome is the most severe finding
    this release   whether the attack does better here than a random attack: exact, so never inconclusive
    other data     whether it would do better on other data of this kind: an interval, so sometimes inconclusive

A figure without a value is None. This is never 0, and it excludes the outcome lower risk.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from decloak.measure.coverage import LEAST

LEVEL = 0.05
"""The probability that a random attack does as well, at or below which an attack works on this release."""
MOST_ADVANTAGE = 0.02
"""The upper bound of an attack's advantage (precision − baseline) up to which the risk is lower."""
MOST_INFERENCE = {"": 0.05, "_at_5": 0.10, "_at_1": 0.25}
"""The limits of the inference advantage: over all guesses, and over the surest 5% and 1% of them."""


class Outcome(StrEnum):
    """The result for one release, the most severe first."""

    IDENTIFIERS = "ids re-identify people"
    ROW_ORDER = "row order re-identifies people"
    MEMBER_ORDER = "the order of members reveals items"
    SINGLED_OUT = "people singled out"
    EXPOSED = "people exposed"
    IMPLIED = "items implied"
    CERTAIN_LINKS = "links with certainty"
    AFTER_ATTACK = "people singled out after an attack"
    INFERENCE = "items inferred"
    RECOVERY = "items recovered"
    GUARANTEE = "guarantee violated"
    NOT_MEASURED = "not measured"
    NOT_TESTED = "not tested"
    INCONCLUSIVE = "recovery inconclusive"
    LOWER_RISK = "lower risk"


class Status(StrEnum):
    """The comparison of a figure with its limit."""

    EXCEEDED = "exceeded"
    UNKNOWN = "unknown"
    WITHIN = "within"


class OnOtherData(StrEnum):
    """The advantage of an attack on other data of this kind."""

    WORKS = "works"
    INCONCLUSIVE = "inconclusive"
    BELOW_LIMIT = "below the limit"


@dataclass(frozen=True)
class People:
    """A number of people; `count` is None if it was not measured.

    `original` is the number in the original data. `high` is the upper bound if the people are a sample. `attack` is the
    source of the count, if it is not the release alone. A figure that does not apply to the published form is within
    every limit.
    """

    count: float | None = None
    original: float | None = None
    high: float | None = None
    attack: str = ""
    applies: bool = True
    of: int | None = None
    """The number of people that were counted, where it is not all of them."""


@dataclass(frozen=True)
class Advantage:
    """An advantage with its interval; None is an absent value or bound."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Guarantee:
    """The guarantee of a method, and whether the release meets it; None if it was not checked."""

    words: str
    met: bool | None


@dataclass(frozen=True)
class Recovery:
    """The recovery of one attack, over all repetitions.

    `p` has one probability for each release: that a random attack which claims as much is right as often. `coverage` is
    the share of its pairs with scores, or None if it was not measured. `controls` are negative controls that do as
    well, so that nothing it learned is behind its advantage.
    """

    attack: str
    tried: float
    right: float
    expected: float
    p: tuple[float | None, ...] = ()
    advantage: Advantage = Advantage()
    coverage: float | None = 1.0
    controls: tuple[str, ...] = ()
    least: float = LEAST
    """The coverage below which the attack was not tested."""

    @property
    def beyond(self) -> float:
        """The number of right claims above the baseline."""
        return self.right - self.expected


@dataclass(frozen=True)
class Figures:
    """All that a decision needs of one release; every count is of `people`.

    `singled_out`, `exposed` and `after_attack` are by the number of known items, `inference` by the ending of the
    figure's name. `after_attack` is the largest count of the release, an attack and a random attack. `comparisons` is
    the number of attacks, over all variants, for which probabilities are corrected.
    """

    people: int
    identifiers: People = People()
    row_order: People = People()
    member_order: People = People(applies=False)
    """People with an original item that the order of members in brackets reveals."""
    singled_out: Mapping[int, People] = field(default_factory=dict)
    exposed: Mapping[int, People] = field(default_factory=dict)
    after_attack: Mapping[int, People] = field(default_factory=dict)
    implied: People = People()
    implied_outside: People = People()
    """The people of the control for whom the release implies an item that they have."""
    certain_links: People = People()
    covered: People = People()
    inference: Mapping[str, Advantage] = field(default_factory=dict)
    recoveries: tuple[Recovery, ...] = ()
    guarantees: tuple[Guarantee, ...] = ()
    comparisons: int = 1


class VerdictCriterion(NamedTuple):
    """A number of people, the share of all people it may reach, and the outcome where it is more."""

    outcome: Outcome
    known: int
    """The number of known items, 0 where the figure has none."""
    limit: float
    of: Callable[[Figures], People]


# Of one outcome with certain links, and measured by another family: each has its own name where it is missing.
COVERED = VerdictCriterion(Outcome.CERTAIN_LINKS, 0, 0.0, lambda figures: figures.covered)
CRITERIA = (
    VerdictCriterion(Outcome.IDENTIFIERS, 0, 0.0, lambda figures: figures.identifiers),
    VerdictCriterion(Outcome.ROW_ORDER, 0, 0.0, lambda figures: figures.row_order),
    VerdictCriterion(Outcome.MEMBER_ORDER, 0, 0.0, lambda figures: figures.member_order),
    VerdictCriterion(Outcome.SINGLED_OUT, 2, 0.0, lambda figures: figures.singled_out.get(2, People())),
    VerdictCriterion(Outcome.SINGLED_OUT, 3, 0.0, lambda figures: figures.singled_out.get(3, People())),
    VerdictCriterion(Outcome.EXPOSED, 2, 0.001, lambda figures: figures.exposed.get(2, People())),
    VerdictCriterion(Outcome.EXPOSED, 3, 0.01, lambda figures: figures.exposed.get(3, People())),
    VerdictCriterion(Outcome.IMPLIED, 2, 0.0, lambda figures: figures.implied),
    VerdictCriterion(Outcome.CERTAIN_LINKS, 0, 0.0, lambda figures: figures.certain_links),
    COVERED,
    VerdictCriterion(Outcome.AFTER_ATTACK, 2, 0.0, lambda figures: figures.after_attack.get(2, People())),
    VerdictCriterion(Outcome.AFTER_ATTACK, 3, 0.0, lambda figures: figures.after_attack.get(3, People())),
)
"""The most severe first; 1 in 11 and the shares of people exposed are from the criteria `public`."""


def status_of(criterion: VerdictCriterion, figures: Figures) -> Status:
    """Compare a number of people with its limit."""
    found = criterion.of(figures)
    most = criterion.limit * (figures.people if found.of is None else found.of)
    if not found.applies:
        return Status.WITHIN
    if found.count is None:
        return Status.UNKNOWN
    if found.count > most:
        return Status.EXCEEDED
    # A sample within the limit may stand for more people than the limit.
    return Status.UNKNOWN if found.high is not None and found.high > most else Status.WITHIN


def inference_status(limit: float, advantage: Advantage) -> Status:
    """Compare an inference advantage with its limit."""
    if advantage.low is not None and advantage.low > limit:
        return Status.EXCEEDED
    return Status.WITHIN if advantage.high is not None and advantage.high <= limit else Status.UNKNOWN


def beats_random(recovery: Recovery, comparisons: int) -> bool | None:
    """Compare an attack with a random one on these releases; return None if its probability is unknown.

    It works where it does in more than half of the releases, each at the level divided by the number of comparisons.
    """
    known = [p for p in recovery.p if p is not None]
    if not known:
        return None
    # Bonferroni: of many attacks one is good by chance.
    works = sum(p * comparisons <= LEVEL for p in known)
    # A majority: one lucky repetition of many proves nothing.
    return 2 * works > len(known)


def on_other_data(recovery: Recovery) -> OnOtherData:
    """Read the interval of the advantage; without bounds the result is inconclusive."""
    low, high = recovery.advantage.low, recovery.advantage.high
    # First: an advantage may be above 0 for certain, and still too small to matter.
    if high is not None and high <= MOST_ADVANTAGE:
        return OnOtherData.BELOW_LIMIT
    # An attack that is no better than its negative control learned nothing that other data share.
    if low is not None and low > 0 and not recovery.controls:
        return OnOtherData.WORKS
    return OnOtherData.INCONCLUSIVE


def tested(recovery: Recovery) -> bool | None:
    """Return whether an attack had enough input, or None if its coverage was not measured."""
    # An attack that claimed nothing is right in nothing, and proves nothing.
    if not recovery.tried:
        return False
    return None if recovery.coverage is None else recovery.coverage >= recovery.least


def recovers(recovery: Recovery, comparisons: int) -> bool:
    """Say whether an attack recovers something: here or on other data, and by more than the limit."""
    if on_other_data(recovery) == OnOtherData.BELOW_LIMIT:
        return False
    return on_other_data(recovery) == OnOtherData.WORKS or beats_random(recovery, comparisons) is True


class Decision(NamedTuple):
    """The outcome, and its reasons."""

    outcome: Outcome
    criterion: VerdictCriterion | None
    """The limit that was exceeded; None if the outcome does not count people."""
    exceeded: tuple[VerdictCriterion, ...]
    unknown: tuple[VerdictCriterion, ...]
    strongest: Recovery | None
    """The attack that recovers most beyond its baseline; one that works before one that does not."""
    untested: tuple[str, ...]
    """Attacks with too little input."""


def decide(figures: Figures) -> Decision:
    """Find the most severe outcome of one release."""
    statuses = [(criterion, status_of(criterion, figures)) for criterion in CRITERIA]
    exceeded = tuple(criterion for criterion, status in statuses if status == Status.EXCEEDED)
    unknown = tuple(criterion for criterion, status in statuses if status == Status.UNKNOWN)
    outcome = next(outcome for outcome, holds in FINDINGS if holds(figures, exceeded, unknown))
    first = next((criterion for criterion in exceeded if criterion.outcome == outcome), None)
    return Decision(outcome, first, exceeded, unknown, _strongest(figures), tuple(_untested(figures)))


Holds = Callable[[Figures, Sequence[VerdictCriterion], Sequence[VerdictCriterion]], bool]


def _exceeds(outcome: Outcome) -> Holds:
    return lambda figures, exceeded, unknown: any(criterion.outcome == outcome for criterion in exceeded)


FINDINGS: tuple[tuple[Outcome, Holds], ...] = (
    *((outcome, _exceeds(outcome)) for outcome in dict.fromkeys(criterion.outcome for criterion in CRITERIA)),
    (Outcome.INFERENCE, lambda figures, *_: Status.EXCEEDED in inference_statuses(figures)),
    (Outcome.RECOVERY, lambda figures, *_: any(recovers(one, figures.comparisons) for one in figures.recoveries)),
    (Outcome.GUARANTEE, lambda figures, *_: any(one.met is False for one in figures.guarantees)),
    (
        Outcome.NOT_MEASURED,
        lambda figures, exceeded, unknown: (
            bool(unknown)
            or any(figures.inference.get(ending, Advantage()).mean is None for ending in MOST_INFERENCE)
            or any(one.met is None for one in figures.guarantees)
        ),
    ),
    (
        Outcome.NOT_TESTED,
        lambda figures, *_: not figures.recoveries or any(tested(one) is not True for one in figures.recoveries),
    ),
    (
        Outcome.INCONCLUSIVE,
        lambda figures, *_: (
            Status.UNKNOWN in inference_statuses(figures)
            or any(on_other_data(one) != OnOtherData.BELOW_LIMIT for one in figures.recoveries)
        ),
    ),
    (Outcome.LOWER_RISK, lambda *_: True),
)
"""The first row that holds is the outcome."""


def inference_statuses(figures: Figures) -> list[Status]:
    """Compare each inference advantage of `figures` with its limit; return the statuses."""
    return [inference_status(MOST_INFERENCE[ending], advantage) for ending, advantage in figures.inference.items()]


def _strongest(figures: Figures) -> Recovery | None:
    """Find the strongest attack: by its right claims above the baseline, so that a few lucky claims count little."""

    def rank(one: Recovery) -> tuple[bool, bool, float]:
        return recovers(one, figures.comparisons), tested(one) is not False, one.beyond

    return max(figures.recoveries, key=rank, default=None)


def _untested(figures: Figures) -> Iterator[str]:
    for one in figures.recoveries:
        if tested(one) is False and not recovers(one, figures.comparisons):
            yield one.attack
