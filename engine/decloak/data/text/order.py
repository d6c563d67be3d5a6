"""Whether the order of the items says what they mean, or only how they are spelt."""

from decloak.data.dataset import Dataset

__all__ = ["sorted_warning"]

FEWEST = 3
"""Items of a transaction whose order counts; fewer are in alphabetical order by chance too often."""


def sorted_warning(dataset: Dataset) -> str | None:
    """The warning that most transactions list their items alphabetically; None when they do not.

    An attacker takes the items beside a hidden one for related to it. Of a sorted transaction that is no sign.

    >>> sorted_warning(Dataset((("fever", "cough", "aspirin"),), ("1",))) is None
    True
    """
    orders = [items for items in dataset.transactions if len(items) >= FEWEST]
    ordered = sum(_is_sorted(items) for items in orders)
    if 2 * ordered <= len(orders):
        return None
    return (
        f"{ordered:,} of the {len(orders):,} transactions of {FEWEST} items or more list them alphabetically: the "
        "nearest items of a hidden one are near in spelling, not in meaning; keep the order in which items were "
        "recorded, or take all of them as the context"
    )


def _is_sorted(items: tuple[str, ...]) -> bool:
    """Whether the items are in alphabetical order, with capitals before small letters or beside them."""
    return list(items) == sorted(items) or list(items) == sorted(items, key=str.casefold)
