"""Cost of making a release."""

from collections.abc import Callable, Iterator

from decloak.data.dataset import Dataset
from decloak.figures import metrics_of
from decloak.measure.family import POOLED, SETS, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN, StoredSetRelease
from decloak.yaml.section import ConfigSection


class CostSettings(ConfigSection):
    """Cost of making a release."""

    built: bool = False
    """If true, decloak also counts the nodes of the tree of the papers. This can take longer than the method."""


def _measure(attacked: AttackResult[StoredSetRelease], *, built: bool) -> MetricResult:
    making = attacked.release.making.loss
    names = [metric.key for metric in FAMILY.metrics if metric.key in making]
    figures: list[MetricValue] = [(POOLED, name, making[name], None, None) for name in names]
    if built and "tree_nodes" in making:
        original = attacked.release.behind
        if original is None:
            return figures, UNKNOWN.format("the tree that is built")
        figures += _built_nodes(attacked.release, original)
    return figures, None if figures else "what making the release took is not known"


def _built_nodes(release: StoredSetRelease, original: Dataset) -> Iterator[MetricValue]:
    """Yield the nodes of the count tree as the papers build it for `release` of `original`, and of a part's tree."""
    from decloak.anonymisers.kernels.count_tree import aa, da
    from decloak.anonymisers.kernels.lra_vpa import lra, vpa
    from decloak.anonymisers.kernels.raised_cut import Local, Walked

    method, settings, *_ = release.making
    assert release.tree is not None
    finds: dict[str, Callable[..., Walked | Local]] = {"aa": aa, "da": da, "lra": lra, "vpa": vpa}
    options = {name: value for name, value in settings.items() if name != "order"}  # of the published records
    # The release was cured while the tree was walked, so the whole tree was never met.
    found = finds[method](release.tree, release.tree.code(original), **options, built=True)
    yield POOLED, "built_nodes", found.tree_nodes, None, None
    if isinstance(found, Walked) and found.part_nodes is not None:
        yield POOLED, "part_nodes", found.part_nodes, None, None


FAMILY = Family(
    name="cost",
    about="Time of making a release",
    metrics=metrics_of("cost"),
    measure=_measure,
    fits=SETS,
    settings=CostSettings,
    of_release=True,
)
