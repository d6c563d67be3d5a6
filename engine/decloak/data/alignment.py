"""Alignment of an original with a published data set, record by record."""

from collections.abc import Sequence
from difflib import get_close_matches

from decloak.data.dataset import Dataset
from decloak.data.published import Published
from decloak.errors import DecloakError, quote

__all__ = ["check_alignment", "likely_misspellings"]

FEW = 3
"""Largest number of labels that an error lists."""
NEAR = 0.75
"""Least similarity of two spellings, from 0 to 1, to suggest one for the other."""
MOST = 500
"""Largest number of items on each side that are compared letter by letter."""


def check_alignment(original: Dataset, published: Published) -> list[tuple[str, str]]:
    """Return the suppressed items as (label, item): items of `original` that the record in `published` lost.

    An item is published plain or as a member of a generalised item. A plain item that the original lacks, and labels
    that do not match one to one, are errors: generalisation never produces them.

    >>> check_alignment(Dataset((("knee", "icd"),), ("1",)), Published(((("icd", "limbs"),),), ("1",)))
    [('1', 'knee')]
    """
    _check_labels(original, published)
    elements_of = dict(zip(published.labels, published.transactions, strict=True))
    suppressed, strangers = [], []
    for label, items in zip(original.labels, original.transactions, strict=True):
        # Sets, because a record may have thousands of items.
        plain = {element for element in elements_of[label] if isinstance(element, str)}
        members = {item for element in elements_of[label] if not isinstance(element, str) for item in element}
        strangers += [(label, item) for item in sorted(plain.difference(items))]
        suppressed += [(label, item) for item in items if item not in plain and item not in members]
    if strangers:
        label, item = strangers[0]
        more = f", and {len(strangers) - 1} more like it" if len(strangers) > 1 else ""
        raise DecloakError(
            f"transaction {quote(label)} publishes {quote(item)}, which its original does not hold{more}",
            published.origin,
            f"compare with {original.origin}: is it the right original, is a bracket missing?",
        )
    return suppressed


def likely_misspellings(original: Dataset, published: Published) -> list[tuple[str, str]]:
    """Return (item, published item) pairs where one name was probably misspelt.

    The first is an item of `original` that `published` lacks, the second a similar published item that no record has.

    >>> bread = Published(((("bread", "milk"),),), ("1",))
    >>> likely_misspellings(Dataset((("bread", "mlk"),), ("1",)), bread)
    [('mlk', 'milk')]
    """
    shown_items, original_items = set(published.items), set(original.items)
    nowhere = sorted(original_items - shown_items)[:MOST]
    nobodys = sorted(shown_items - original_items)[:MOST]
    pairs = ((item, get_close_matches(item, nobodys, 1, NEAR)) for item in nowhere)
    return [(item, near[0]) for item, near in pairs if near]


def _check_labels(original: Dataset, published: Published) -> None:
    for data in (original, published):
        if len(set(data.labels)) < len(data.labels):
            raise DecloakError("two records have the same label", data.origin, "labels must be unique")
    for data, counterpart in ((original, published), (published, original)):
        missing = sorted(set(data.labels).difference(counterpart.labels))
        if missing:
            raise DecloakError(
                f"no transaction {_list_some(missing)}, though {data.origin} has",
                counterpart.origin,
                f"{len(original.labels)} original, {len(published.labels)} published transactions: "
                "give both the same ids, or neither any",
            )


def _list_some(labels: Sequence[str]) -> str:
    rest = [f"{len(labels) - FEW} more"] if len(labels) > FEW else []
    return ", ".join([*map(quote, labels[:FEW]), *rest])
