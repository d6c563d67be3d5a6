"""The calibration of an attack: how far the probabilities that it gives are from the shares that are right.

`p` is the probability of a finding. `right` is 1 where the finding is right, 0 where it is not, and a share where the
records it may be about are equal. The Brier score is the mean of (p - right)^2. Its baseline says of every finding the
share that is right, and has the score share x (1 - share).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from decloak.data.forms import FormName
from decloak.figures import metrics_of
from decloak.measure.exposure_links import links_of
from decloak.measure.family import POOLED, Attacked, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN
from decloak.store.assigned import no_probabilities, probabilities


def brier(p: ArrayLike, right: ArrayLike) -> tuple[float | None, float | None]:
    """Return the Brier score of the probabilities `p` of findings, and their share that is `right`, or None."""
    chances, truly = np.asarray(p, float), np.asarray(right, float)
    if not len(chances):
        return None, None
    share = float(truly.mean())
    return float(np.mean(chances**2 - 2 * chances * truly + truly)), share * (1 - share)


class ReliabilityBin(NamedTuple):
    """Findings with a probability from number / 10 to the next tenth: number, sum of p, and right ones."""

    number: int
    findings: int
    p: float
    right: float


def reliability_bins(p: ArrayLike, right: ArrayLike) -> list[ReliabilityBin]:
    """Return the reliability curve of the probabilities `p` with the correctness `right`: every tenth that has
    findings.

    A probability of 1 belongs to the last tenth.

    >>> [tuple(one) for one in reliability_bins([0.5, 1.0, 0.5, 0.25], [True, True, False, False])]
    [(2, 1, 0.25, 0.0), (5, 2, 1.0, 1.0), (9, 1, 1.0, 1.0)]
    """
    chances, truly = np.asarray(p, float), np.asarray(right, float)
    number = np.minimum((chances * 10).astype(int), 9)
    findings, sums, correct = (np.bincount(number, weights, 10) for weights in (None, chances, truly))
    return [
        ReliabilityBin(place, int(findings[place]), float(sums[place]), float(correct[place]))
        for place in np.flatnonzero(findings).tolist()
    ]


def miscalibration(p: ArrayLike, right: ArrayLike) -> float | None:
    """Return the mean distance of `p` from the share that is `right`, over tenths weighted by their findings.

    >>> miscalibration([0.95, 0.95, 0.15, 0.15], [True, True, True, False])
    0.2
    """
    parts = reliability_bins(p, right)
    count = sum(part.findings for part in parts)
    return round(sum(abs(part.p - part.right) for part in parts) / count, 12) if count else None


NOTHING = "calibration cannot be measured: {}"
PARTLY = "some eliminations of {} have no probability: those of one member are often right or wrong together"


def _measure(attacked: Attacked) -> MetricResult:

    stated = probabilities(attacked.connection, attacked.number)
    if stated is None:
        return [], NOTHING.format(no_probabilities(attacked.connection, attacked.number))
    if attacked.release.original is None:
        return [], UNKNOWN.format("calibration")
    p, right, _ = links_of(attacked) or ((), (), ())
    figures: list[MetricValue] = []
    score, of_share = brier(p, right)
    scores = {"brier": score, "brier_baseline": of_share, "miscalibration": miscalibration(p, right)}
    figures += [(POOLED, name, value, None, None) for name, value in scores.items()]
    for number, findings, sure, truly in reliability_bins(p, right):
        figures.append((number, "tenth_p", sure / findings, sure, findings))
        figures.append((number, "tenth_right", truly / findings, truly, findings))
    if np.isfinite(stated).all():
        return figures, None
    # An assignment can lack a probability for other reasons.
    query = "select r.name from attack a join rule r on r.id = a.rule where a.id = ? and r.form = 'eliminate'"
    rule = attacked.connection.execute(query, (attacked.number,)).fetchone()
    return figures, None if rule is None else PARTLY.format(*rule)


FAMILY = Family(
    name="calibration",
    about="Error of the probabilities that an attack gives",
    metrics=metrics_of("calibration"),
    measure=_measure,
    fits=frozenset(FormName) - {FormName.DISTANCES},
    rule_forms=frozenset({"eliminate", "reassociate"}),
)
