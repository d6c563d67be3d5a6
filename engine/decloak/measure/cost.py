"""Cost of making a release."""

from decloak.figures import metrics_of
from decloak.measure.family import POOLED, SETS, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import StoredRelease

__all__ = ["FAMILY"]


def _measure(attacked: AttackResult[StoredRelease]) -> MetricResult:
    making = attacked.release.making.loss
    names = [metric.key for metric in FAMILY.metrics if metric.key in making]
    figures: list[MetricValue] = [(POOLED, name, making[name], None, None) for name in names]
    return figures, None if figures else "what making the release took is not known"


FAMILY = Family(
    name="cost",
    about="Time of making a release",
    metrics=metrics_of("cost"),
    measure=_measure,
    fits=SETS,
    of_release=True,
)
