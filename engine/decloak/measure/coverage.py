"""The coverage of every attack: the share of its pairs with scores."""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import Field

from decloak.data.forms import FormName
from decloak.figures import metrics_of
from decloak.measure.family import POOLED, Attacked, Family, MetricResult, MetricValue
from decloak.store.reading import coverage_of
from decloak.yaml.section import ConfigSection

LEAST = 0.2
"""The share of the pairs that an attack needs a score for, at least, to test a release."""


class CoverageSettings(ConfigSection):
    """How much an attacker must know for an attack to count as a test of a release."""

    least: float = Field(LEAST, ge=0, le=1)
    """The share of the pairs that an attack needs a score for, at least. With less the attack is not tested."""


class Tested(NamedTuple):
    """Whether an attack tests a release, and the reason if it does not."""

    tested: bool
    reason: str | None = None


def assess_coverage(figures: Mapping[str, float | None], least: float = LEAST) -> Tested:
    """Decide from the figures of an attack whether the attack tests a release.

    `figures` are values by key. `coverage_least` among them replaces `least`. Where an attack has no pairs, as on given
    distance tables, the occurrences decide. An attack without coverage needs no scores, so it tests the release.

    >>> assess_coverage({"coverage_pairs": 0.19})
    Tested(tested=False, reason='not tested, because its attacker has scores for 19% of the pairs (at least 20% are \
needed)')
    >>> assess_coverage({"coverage_pairs": 0.2}), assess_coverage({"precision": 0.9})
    (Tested(tested=True, reason=None), Tested(tested=True, reason=None))
    """
    bound = figures.get("coverage_least")
    bound = least if bound is None else bound
    for name in ("pairs", "occurrences"):
        share = figures.get(f"coverage_{name}")
        if share is not None:
            return Tested(True) if share >= bound else Tested(False, _reason(name, share, bound))
    return Tested(True)


def _reason(name: str, share: float, least: float) -> str:
    known = f"{share:.0%}" if round(100 * share) < round(100 * least) else f"{share:.3%}"
    return f"not tested, because its attacker has scores for {known} of the {name} (at least {least:.0%} are needed)"


def _measure(attacked: Attacked, *, least: float) -> MetricResult:
    counts = coverage_of(attacked.connection, attacked.number)
    if not counts:
        return [], None
    figures: list[MetricValue] = [
        (POOLED, f"coverage_{name}", known / needed if needed else None, known, needed)
        for name, (known, needed) in counts.items()
    ]
    figures.append((POOLED, "coverage_least", least, None, None))
    return figures, None


FAMILY = Family(
    name="coverage",
    about="Share of the needed scores that the attacker has; always measured",
    metrics=metrics_of("coverage"),
    measure=_measure,
    fits=frozenset(FormName),
    settings=CoverageSettings,
    always_measured=True,
)  # fmt: skip
