"""Loss of a generalised release for analysts: labels, information, and supports of items.

An element is a published item, or a label that contains several items. An item of a record is suppressed if none of its
elements contains it.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import fsum
from typing import NamedTuple

from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.exact_ratio import ExactRatio
from decloak.data.generalised import Generalised
from decloak.errors import DecloakError
from decloak.figures import metrics_of
from decloak.measure.family import POOLED, SETS, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN, StoredSetRelease
from decloak.yaml.section import ConfigSection


class LabelCount(NamedTuple):
    """The number of different labels that occur, plain items included, and the share of all items
    that the widest has.
    """

    left: int
    widest: ExactRatio


def labels_left(release: Generalised, items: Iterable[str] = ()) -> LabelCount:
    """Count the labels that occur in `release`; a low information loss may hide that they are few.

    `items` are outside every label: suppressed ones, and items of the hierarchy without a record. Return the
    count.

    >>> from decloak.data.published import Published
    >>> labels_left(Generalised.of(Published((("knee", ("flu", "cold")), ("knee",)), ("1", "2"))))
    LabelCount(left=2, widest=0.6666666666666666)
    """
    used = release.published.rows.used_names
    widest = max((len(_members(element)) for element in used), default=0)
    return LabelCount(len(used), ExactRatio(Fraction(widest, max(1, len({*release.items, *items})))))


def information_loss(original: Dataset, release: Generalised) -> ExactRatio | None:
    """Return the NCP of `release`: the mean over occurrences in `original` of the size of the published label, in
    shares.

    The loss is 0 for an item that is published unchanged, and 1 for a suppressed item. If several labels contain an
    item, the narrowest counts. Return None without any occurrence.

    >>> from decloak.data.published import Published
    >>> release = Generalised.of(Published((("knee", ("flu", "cold")), ("knee",)), ("1", "2")))
    >>> information_loss(Dataset((("knee", "flu"), ("knee",)), ("1", "2")), release)
    0.2222222222222222
    """
    rows = release.published.rows
    if len(rows) != len(original.transactions):
        message = f"{len(rows)} published transactions, {len(original.transactions)} original ones"
        raise DecloakError(message, hint="give the data that the release was made from")
    # A suppressed item might have been any of all.
    everything = len({*release.items, *original.items})
    # Narrow labels come first, so that the first published one is the best available.
    above = _above(rows.used_names)
    lost = [
        next((len(_members(element)) for element in above.get(item, ()) if element in published), everything)
        for held, row in zip(original.transactions, rows, strict=True)
        for published in [frozenset(row)]
        for item in dict.fromkeys(held)
    ]
    # A label with one item is the item, which loses nothing.
    return ExactRatio(Fraction(sum(size for size in lost if size > 1), len(lost) * everything)) if lost else None


def support_error(original: Dataset, release: Generalised) -> float | None:
    """Return the mean of |e - s| / s over the items of `original`, or None without any.

    s is the number of records with the item. e is the estimate of an analyst who divides the support of every
    label of `release` evenly among its items.

    >>> from decloak.data.published import Published
    >>> release = Generalised.of(Published((("knee", ("flu", "cold")), ("knee",)), ("1", "2")))
    >>> support_error(Dataset((("knee", "flu"), ("knee",)), ("1", "2")), release)
    0.25
    """
    supports = original.rows.supports()
    expected = dict.fromkeys(supports, 0.0)
    for element, support in release.published.rows.supports().items():
        members = _members(element)
        for item in supports.keys() & members:
            expected[item] += support / len(members)
    errors = [abs(expected[item] - support) / support for item, support in supports.items()]
    return fsum(errors) / len(errors) if errors else None


def _members(element: Element) -> tuple[str, ...]:
    return (element,) if isinstance(element, str) else element


def _above(elements: Iterable[Element]) -> dict[str, list[Element]]:
    """Return the elements that contain each item, narrow ones first."""
    above: dict[str, list[Element]] = {}
    for element in sorted(set(elements), key=lambda label: len(_members(label))):
        for item in _members(element):
            above.setdefault(item, []).append(element)
    return above


FEW_CUTS = 50_000
"""Cuts of a hierarchy among which the optimum is looked for."""


class LossSettings(ConfigSection):
    """The loss of a generalised release."""

    optimum: bool = False
    """If true, decloak searches for the smallest loss of one cut, for hierarchies with at most 50,000 cuts."""


def _measure(attacked: AttackResult[StoredSetRelease], *, optimum: bool) -> MetricResult:

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

    loss = release.making.loss
    # Methods with a hierarchy have stored the exact loss, as text.
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
