"""Whether an original and a published data set belong together, transaction by transaction."""

from collections.abc import Sequence
from difflib import get_close_matches

from decloak.data.dataset import Dataset
from decloak.data.published import Published
from decloak.errors import DecloakError, shown

__all__ = ["check_pair", "misspelt"]

FEW = 3
NEAR = 0.75
"""How alike two spellings are, from 0 to 1, of which one may stand for the other."""
MOST = 500
"""Items on each side that are compared letter by letter."""


def check_pair(original: Dataset, published: Published) -> list[tuple[str, str]]:
    """The suppressed items as (label, item): those of the original that the published transaction lost.

    An item is published plain or as a member of a generalised item. A plain item that the original does not
    hold, and labels that do not match one to one, are errors: generalisation never makes them.

    >>> check_pair(Dataset((("knee", "icd"),), ("1",)), Published(((("icd", "limbs"),),), ("1",)))
    [('1', 'knee')]
    """
    _check_labels(original, published)
    elements_of = dict(zip(published.labels, published.transactions, strict=True))
    suppressed, strangers = [], []
    for label, items in zip(original.labels, original.transactions, strict=True):
        plain = {element for element in elements_of[label] if isinstance(element, str)}
        members = {item for element in elements_of[label] if not isinstance(element, str) for item in element}
        strangers += [(label, item) for item in sorted(plain.difference(items))]
        suppressed += [(label, item) for item in items if item not in plain and item not in members]
    if strangers:
        label, item = strangers[0]
        more = f", and {len(strangers) - 1} more like it" if len(strangers) > 1 else ""
        raise DecloakError(
            f"transaction {shown(label)} publishes {shown(item)}, which its original does not hold{more}",
            published.origin,
            f"compare with {original.origin}: is it the right original, is a bracket missing?",
        )
    return suppressed


def misspelt(original: Dataset, published: Published) -> list[tuple[str, str]]:
    """Items of the original that nothing shows, each with an item that is shown, that nobody has, and that is spelt
    nearly so: one was probably written for the other.

    >>> bread = Published(((("bread", "milk"),),), ("1",))
    >>> misspelt(Dataset((("bread", "mlk"),), ("1",)), bread)
    [('mlk', 'milk')]
    """
    shown_items, held = set(published.items), set(original.items)
    nowhere = sorted(held - shown_items)[:MOST]
    nobodys = sorted(shown_items - held)[:MOST]
    pairs = ((item, get_close_matches(item, nobodys, 1, NEAR)) for item in nowhere)
    return [(item, near[0]) for item, near in pairs if near]


def _check_labels(original: Dataset, published: Published) -> None:
    for data in (original, published):
        if len(set(data.labels)) < len(data.labels):
            raise DecloakError("two transactions have the same label", data.origin, "labels must be unique")
    for data, counterpart in ((original, published), (published, original)):
        missing = sorted(set(data.labels).difference(counterpart.labels))
        if missing:
            raise DecloakError(
                f"no transaction {_few(missing)}, though {data.origin} has",
                counterpart.origin,
                f"{len(original.labels)} original, {len(published.labels)} published transactions: "
                "give both the same ids, or neither any",
            )


def _few(labels: Sequence[str]) -> str:
    rest = [f"{len(labels) - FEW} more"] if len(labels) > FEW else []
    return ", ".join([*map(shown, labels[:FEW]), *rest])
