"""The frequent itemsets of a generalised release."""

from pydantic import Field

from decloak.figures import metrics_of
from decloak.measure.family import POOLED, SETS, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN, StoredSetRelease
from decloak.yaml.section import ConfigSection

__all__ = ["FAMILY", "MiningSettings"]


class MiningSettings(ConfigSection):
    """The frequent itemsets of a generalised release."""

    support: float = Field(0.01, gt=0, le=1)
    """The share of the records that hold a frequent itemset."""
    top: int = Field(100, ge=1)
    """How many of the most frequent itemsets are compared."""


def _measure(attacked: AttackResult[StoredSetRelease], *, support: float, top: int) -> MetricResult:
    from decloak.measure.kernels.mining import least_support, ml2, tkd_labels

    release = attacked.release
    published, original, tree = release.labels, release.behind, release.tree
    if original is None:
        return [], UNKNOWN.format("what mining finds")
    figures: list[MetricValue] = [(POOLED, "tkd", tkd_labels(published, original.transactions, top), None, None)]
    # Levels are those of the hierarchy; without one there still are the most frequent labels to compare.
    if tree is None:
        return figures, "ML2 needs the hierarchy that the release was generalised in"
    levels = ml2(tree, original, published, least_support(support, len(original.transactions)))
    values = {"ml2": levels.ml2, "dml2": levels.dml2_eq2, "dml2_lost": levels.dml2_experiments}
    figures += [(POOLED, name, None if value is None else float(value), None, None) for name, value in values.items()]
    return figures, None


FAMILY = Family(
    name="mining",
    about="Frequent itemsets that a generalised release loses",
    metrics=metrics_of("mining"),
    measure=_measure,
    fits=SETS,
    settings=MiningSettings,
    of_release=True,
)
