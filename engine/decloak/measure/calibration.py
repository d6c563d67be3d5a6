"""The calibration of an attack: how far the probabilities that it gives are from the shares that are right."""

import numpy as np

from decloak.data.forms import FormName
from decloak.figures import metrics_of
from decloak.measure.exposure_links import links_of
from decloak.measure.family import POOLED, Attacked, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN
from decloak.store.probabilities import no_probabilities, probabilities

__all__ = ["FAMILY"]

NOTHING = "calibration cannot be measured: {}"
PARTLY = "some eliminations of {} have no probability: those of one member are often right or wrong together"


def _measure(attacked: Attacked) -> MetricResult:
    from decloak.measure.kernels.certainty import brier, miscalibration, reliability_bins

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
