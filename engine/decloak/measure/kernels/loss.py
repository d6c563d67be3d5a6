"""Loss of a generalised release for analysts: labels, information, and supports of items.

An element is a published item, or a label that contains several items. An item of a record is suppressed if none of its
elements contains it.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import fsum
from typing import NamedTuple

from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.exact_ratio import ExactRatio
from decloak.data.generalised import Generalised
from decloak.data.published import Published
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError

__all__ = ["LabelCount", "information_loss", "labels_left", "support_error"]

Release = Generalised | Published


class LabelCount(NamedTuple):
    """The number of different labels that occur, plain items included, and the share of all items
    that the widest has.
    """

    left: int
    widest: ExactRatio


def labels_left(release: Release, items: Iterable[str] = ()) -> LabelCount:
    """Count the labels that occur in `release`; a low information loss may hide that they are few.

    `items` are outside every label: suppressed ones, and items of the hierarchy without a record. Return the
    count.

    >>> labels_left(Published((("knee", ("flu", "cold")), ("knee",)), ("1", "2")))
    LabelCount(left=2, widest=0.6666666666666666)
    """
    used = _rows(release).used_names
    widest = max((len(_members(element)) for element in used), default=0)
    return LabelCount(len(used), ExactRatio(Fraction(widest, max(1, len(_items(release).union(items))))))


def information_loss(original: Dataset, release: Release) -> ExactRatio | None:
    """Return the NCP of `release`: the mean over occurrences in `original` of the size of the published label, in
    shares.

    The loss is 0 for an item that is published unchanged, and 1 for a suppressed item. If several labels contain an
    item, the narrowest counts. Return None without any occurrence.

    >>> release = Published((("knee", ("flu", "cold")), ("knee",)), ("1", "2"))
    >>> information_loss(Dataset((("knee", "flu"), ("knee",)), ("1", "2")), release)
    0.2222222222222222
    """
    rows = _rows(release)
    if len(rows) != len(original.transactions):
        message = f"{len(rows)} published transactions, {len(original.transactions)} original ones"
        raise DecloakError(message, hint="give the data that the release was made from")
    # A suppressed item might have been any of all.
    everything = len(_items(release) | set(original.items))
    # Narrow labels come first, so that the first published one is the best available.
    above = _above(rows.used_names)
    lost = [
        next((len(_members(element)) for element in above.get(item, ()) if element in published), everything)
        for held, row in zip(original.transactions, rows, strict=True)
        for published in [frozenset(row)]
        for item in dict.fromkeys(held)
    ]
    return ExactRatio(Fraction(sum(size for size in lost if size > 1), len(lost) * everything)) if lost else None


def support_error(original: Dataset, release: Release) -> float | None:
    """Return the mean of |e - s| / s over the items of `original`, or None without any.

    s is the number of records with the item. e is the estimate of an analyst who divides the support of every
    label of `release` evenly among its items.

    >>> release = Published((("knee", ("flu", "cold")), ("knee",)), ("1", "2"))
    >>> support_error(Dataset((("knee", "flu"), ("knee",)), ("1", "2")), release)
    0.25
    """
    supports = original.rows.supports()
    expected = dict.fromkeys(supports, 0.0)
    for element, support in _rows(release).supports().items():
        members = _members(element)
        for item in supports.keys() & members:
            expected[item] += support / len(members)
    errors = [abs(expected[item] - support) / support for item, support in supports.items()]
    return fsum(errors) / len(errors) if errors else None


def _rows(release: Release) -> CodedRows[Element]:
    return (release.published if isinstance(release, Generalised) else release).rows


def _members(element: Element) -> tuple[str, ...]:
    return (element,) if isinstance(element, str) else element


def _items(release: Release) -> set[str]:
    """Return all items in labels; of a `Published` only labels that occur are known."""
    if isinstance(release, Generalised):
        return set(release.items)
    return {item for element in release.rows.used_names for item in _members(element)}


def _above(elements: Iterable[Element]) -> dict[str, list[Element]]:
    """Return the elements that contain each item, narrow ones first."""
    above: dict[str, list[Element]] = {}
    for element in sorted(set(elements), key=lambda label: len(_members(label))):
        for item in _members(element):
            above.setdefault(item, []).append(element)
    return above
