"""What making a release took."""

from decloak.measure.family import POOLED, SETS, AttackedRelease, Family, Figure, FigureTitle, Measured
from decloak.measure.kernels.statistics import COUNT
from decloak.releases.held import HeldRelease

__all__ = ["FAMILY"]

FIGURES = (
    FigureTitle("cpu_seconds", "CPU s", "seconds of work that making the release took", bounds=COUNT, clock=True),
    FigureTitle("seconds", "seconds", "the same by the clock", bounds=COUNT, clock=True),
    FigureTitle("tree_nodes", "tree nodes", "nodes of the largest count tree of aa, da, lra or vpa", count=True),
)


def _measure(attacked: AttackedRelease[HeldRelease]) -> Measured:
    making = attacked.release.making.loss
    names = [figure.name for figure in FIGURES if figure.name in making]
    figures: list[Figure] = [(POOLED, name, making[name], None, None) for name in names]
    return figures, None if figures else "what making the release took is not known"


FAMILY = Family(
    name="cost", about="What making a release took", figures=FIGURES, measure=_measure, fits=SETS, of_release=True
)
