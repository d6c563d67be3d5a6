"""The probabilities that an attack gives its links: those that are certain, and how far they are from what is right.

A link is a member that the attack eliminates, right if the record lacks it. Or it is a sub-record that the attack
assigns to a row, right if the record of the row has it. `p` is the probability of a finding. `right` is 1 where the
finding is right, 0 where it is not, and a share where the records it may be about are equal. The Brier score is the
mean of (p - right)^2. Its baseline says of every finding the share that is right, and has the score
share x (1 - share).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from decloak.arrays import Floats, Ints
from decloak.data.forms import FormName
from decloak.figures import metrics_of
from decloak.measure.family import POOLED, Attacked, Family, MetricResult, MetricValue
from decloak.measure.kernels.true_rows import TrueRows
from decloak.releases.stored import UNKNOWN
from decloak.store.assigned import no_probabilities
from decloak.store.eliminations import read_eliminations
from decloak.store.lists import damaged
from decloak.store.outcomes import scoring_of

CERTAIN = 0.8
"""The probability from which on a link counts as certain."""
Links = tuple[Floats, Floats, Ints]
"""The probability of every link, how likely it is right, and the row of the release that it is about.

Identical rows share a link: it is right for the share of them that truly has it.
"""


def links_of(attacked: Attacked, least: float = 0.0) -> Links | None:
    """Return the links of an attack with a probability of at least `least`.

    Return None if the attack gives no probabilities, or the release has no ground truth.
    """
    p = attacked.probabilities
    if p is None or attacked.release.original is None:
        return None
    # Rounding must not drop a probability that equals the limit.
    chosen = np.flatnonzero(p >= least - 1e-12)  # false of NaN: no probability is known
    eliminations = read_eliminations(attacked.connection, attacked.number)
    if eliminations is not None:
        right, rows = np.zeros(len(p)), np.zeros(len(p), np.int64)
        # Eliminations are in the order of the attack, tables in that of the scoring.
        order = np.argsort(eliminations.tables, kind="stable")
        of_table = eliminations.tables[order]
        for table in attacked.release.true_tables(scoring_of(attacked.connection, attacked.number)):
            some = order[slice(*np.searchsorted(of_table, (table.id, table.id + 1)))]
            row = eliminations.rows[some]
            try:
                right[some], rows[some] = ~table.original[row, eliminations.cols[some]], table.places[row]
            except IndexError:
                raise damaged(f"attack {attacked.number} is on other cells than those of its distance tables") from None
        return p[chosen], right[chosen], rows[chosen]
    behind = attacked.release.with_ground_truth(TrueRows)
    if behind is None:
        return None
    if not attacked.assignments and len(chosen):
        return None  # the findings are facts, which are no links
    links = attacked.assignments.by_finding(chosen)
    return p[chosen], behind.right_of_equals(links, attacked.assignments), behind.given_rows(links)


def certain_links(attacked: Attacked) -> MetricResult:
    """Count the links that are certain and right, and the people with one."""
    links = None if attacked.idle else links_of(attacked, CERTAIN)
    if links is None or attacked.release.original is None:
        return [], None
    _, right, rows = links
    count, of = float(right.sum()), len(attacked.release.original.rows)
    surest = np.zeros(of)
    # A person with several certain links counts once, by the likeliest of them.
    np.maximum.at(surest, rows, right)
    people = float(surest.sum())
    return [
        (POOLED, "certain_links", count, count, len(right)),
        (POOLED, "certain_links_people", people, people, of),
    ], None


def brier(p: ArrayLike, right: ArrayLike) -> tuple[float | None, float | None]:
    """Return the Brier score of the probabilities `p` of findings, and their share that is `right`, or None."""
    chances, truly = np.asarray(p, float), np.asarray(right, float)
    if not len(chances):
        return None, None
    share = float(truly.mean())
    # A share stands for links that are each wholly right or wrong, so it is not squared.
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
    stated = attacked.probabilities
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
