"""The findings of every attack, and its coverage: the share of its pairs with scores.

Without findings the reason is in a note, and an attack with a small coverage tests nothing.
"""

from collections.abc import Mapping

from pydantic import Field

from decloak.data.forms import FormName
from decloak.figures import metrics_of
from decloak.measure.family import POOLED, Attacked, Family, MetricResult, MetricValue
from decloak.store.assigned import findings_count
from decloak.store.findings import coverage_of, hides_nothing, lacks_context
from decloak.yaml.section import ConfigSection

LEAST = 0.2
"""The share of the pairs that an attack needs a score for, at least, to test a release."""


class CoverageSettings(ConfigSection):
    """How much an attacker must know for an attack to count as a test of a release."""

    least: float = Field(LEAST, ge=0, le=1)
    """The share of the pairs that an attack needs a score for, at least. With less the attack is not tested."""


def untested_reason(figures: Mapping[str, float | None]) -> str | None:
    """Return why an attack does not test a release, or None if it does; `figures` are its values by key.

    Where an attack has no pairs, as on given distance tables, the occurrences decide. An attack without coverage needs
    no scores, so it tests the release.

    >>> untested_reason({"coverage_pairs": 0.19})
    'not tested, because its attacker has scores for 19% of the pairs (at least 20% are needed)'
    >>> untested_reason({"coverage_pairs": 0.2}), untested_reason({"precision": 0.9})
    (None, None)
    """
    stated = figures.get("coverage_least")
    least = LEAST if stated is None else stated
    shares = ((name, figures.get(f"coverage_{name}")) for name in ("pairs", "occurrences"))
    name, share = next(((name, share) for name, share in shares if share is not None), ("pairs", None))
    if share is None or share >= least:
        return None
    # A share just below the limit needs more digits, or both would be printed as 20%.
    known = f"{share:.0%}" if round(100 * share) < round(100 * least) else f"{share:.3%}"
    return f"not tested, because its attacker has scores for {known} of the {name} (at least {least:.0%} are needed)"


def _measure_coverage(attacked: Attacked, *, least: float) -> MetricResult:
    counts = coverage_of(attacked.connection, attacked.number)
    if not counts:
        return [], None
    figures: list[MetricValue] = [
        (POOLED, f"coverage_{name}", known / needed if needed else None, known, needed)
        for name, (known, needed) in counts.items()
    ]
    # Later readers of the store judge the attack by the limit of its own run.
    figures.append((POOLED, "coverage_least", least, None, None))
    return figures, None


COVERAGE = Family(
    name="coverage",
    about="Share of the needed scores that the attacker has; always measured",
    metrics=metrics_of("coverage"),
    measure=_measure_coverage,
    fits=frozenset(FormName),
    settings=CoverageSettings,
    always_measured=True,
)


BARE = "no record contains a generalised item, so the attack had nothing to eliminate"
HIDDEN = "no record with a generalised item has a published item, so the attack has no evidence: no cell has a score"


def _count_findings(attacked: Attacked) -> MetricResult:
    """How much an attack found, and why it can have found nothing."""
    count = findings_count(attacked.connection, attacked.number)
    note = attacked.idle
    # The release may say more exactly than the rule why there was nothing to do.
    if note and hides_nothing(attacked.connection, attacked.number):
        note = BARE
    elif note and lacks_context(attacked.connection, attacked.number):
        note = HIDDEN
    return [(POOLED, "findings", count, count, None)], note


FINDINGS = Family(
    name="findings",
    about="Findings of a rule; always counted",
    metrics=metrics_of("findings"),
    measure=_count_findings,
    fits=frozenset(FormName),
    always_measured=True,
)
