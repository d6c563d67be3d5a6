"""What mining finds in a generalised release."""

from pydantic import Field

from decloak.measure.family import POOLED, SETS, AttackedRelease, Family, Figure, FigureTitle, Measured
from decloak.measure.kernels.statistics import COUNT
from decloak.releases.held import UNKNOWN, HeldSets
from decloak.yaml.part import Part

__all__ = ["FAMILY", "MiningSettings"]


class MiningSettings(Part):
    """What mining finds in a generalised release."""

    support: float = Field(0.01, gt=0, le=1)
    """The share of the transactions that hold a frequent itemset."""
    top: int = Field(100, ge=1)
    """How many of the most frequent itemsets are compared."""


def _measure(attacked: AttackedRelease[HeldSets], *, support: float, top: int) -> Measured:
    from decloak.measure.kernels.mining import least_support, ml2, tkd_labels

    release = attacked.release
    published, original, tree = release.labels, release.behind, release.tree
    if original is None:
        return [], UNKNOWN.format("what mining finds")
    figures: list[Figure] = [(POOLED, "tkd", tkd_labels(published, original.transactions, top), None, None)]
    # Levels are those of the hierarchy; without one there still are the most frequent labels to compare.
    if tree is None:
        return figures, "ML2 needs the hierarchy that the release was generalised in"
    levels = ml2(tree, original, published, least_support(support, len(original.transactions)))
    values = {"ml2": levels.ml2, "dml2": levels.dml2_eq2, "dml2_lost": levels.dml2_experiments}
    figures += [(POOLED, name, None if value is None else float(value), None, None) for name, value in values.items()]
    return figures, None


FAMILY = Family(
    name="mining",
    about="What mining still finds at every level of the hierarchy",
    figures=(
        FigureTitle("ml2", "ML2", "frequent itemsets no longer found, of those of all levels"),
        FigureTitle("dml2", "dML2", "levels higher they are found", bounds=COUNT),
        FigureTitle("dml2_lost", "dML2 of lost", "the same of those not found at their own level", bounds=COUNT),
        FigureTitle("tkd", "top lost", "the most frequent itemsets that are no longer among these"),
    ),
    measure=_measure,
    fits=SETS,
    settings=MiningSettings,
    of_release=True,
)
