"""The loss of a generalised release."""

from collections.abc import Iterator
from fractions import Fraction

from decloak.data.dataset import Dataset
from decloak.figures import metrics_of
from decloak.measure.family import POOLED, SETS, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN, StoredSetRelease
from decloak.yaml.section import ConfigSection

__all__ = ["FAMILY", "LossSettings"]

FEW_CUTS = 50_000
"""Cuts of a hierarchy among which the optimum is looked for."""


class LossSettings(ConfigSection):
    """The loss of a generalised release."""

    optimum: bool = False
    """If true, decloak searches for the smallest loss of one cut, for hierarchies with at most 50,000 cuts."""


def _measure(attacked: AttackResult[StoredSetRelease], *, optimum: bool) -> MetricResult:
    from decloak.measure.kernels.loss import labels_left

    release = attacked.release
    loss, published, original, tree = release.making.loss, release.labels, release.behind, release.tree
    items = {*published.items, *(original.items if original else ()), *(tree.items if tree else ())}
    labels = labels_left(published, items)
    figures: list[MetricValue] = [
        (POOLED, name, loss[name], None, None) for name in ("ul_log10", "suppressed") if name in loss
    ]
    figures.append((POOLED, "labels", labels.left, labels.left, len(items)))
    figures.append((POOLED, "largest", float(labels.widest), None, None))
    if original is None:
        return figures, UNKNOWN.format("the loss of information")
    figures += _of_originals(release, original)
    least = _optimum(release, original) if optimum else None
    if least is not None:
        figures.append((POOLED, "optimum", float(least), None, None))
    return figures, None


def _of_originals(release: StoredSetRelease, original: Dataset) -> Iterator[MetricValue]:
    from decloak.measure.kernels.loss import information_loss, support_error

    loss = release.making.loss
    ncp = Fraction(loss["ncp"]) if "ncp" in loss else information_loss(original, release.labels)
    yield POOLED, "ncp", None if ncp is None else float(ncp), None, None
    yield POOLED, "support_error", support_error(original, release.labels), None, None


def _optimum(release: StoredSetRelease, original: Dataset) -> Fraction | None:
    """Return the least loss of one cut for all records, if the hierarchy has few enough cuts."""
    from decloak.anonymisers.kernels.optimal import cuts, optimum
    from decloak.anonymisers.registry import ONE_CUT

    method, settings, *_ = release.making
    if release.tree is None or method not in ONE_CUT or cuts(release.tree) > FEW_CUTS:
        return None
    return optimum(release.tree, release.tree.code(original), settings["k"], settings["m"], FEW_CUTS)


FAMILY = Family(
    name="loss",
    about="Information loss of a generalised release",
    metrics=metrics_of("loss"),
    measure=_measure,
    fits=SETS,
    settings=LossSettings,
    of_release=True,
)
