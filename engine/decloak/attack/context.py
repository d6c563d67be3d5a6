"""The context of a generalised item: the plain items near it, which the attacker holds its members against.

Every element of a transaction, plain or generalised, takes one position.
"""

from collections.abc import Sequence

from decloak.data.published import Element

__all__ = ["context"]


def context(transaction: Sequence[Element], position: int, n: int | None) -> tuple[str, ...]:
    """The n plain items nearest to the position, the left of two at the same distance first.

    None takes every plain item, in the order of the transaction. There may be fewer than n, or none.

    >>> context(["i1", ("i2", "i3"), "i4", "i5"], 1, 2)
    ('i1', 'i4')
    """
    plain = [place for place, element in enumerate(transaction) if isinstance(element, str)]
    if n is not None:
        plain = sorted(plain, key=lambda place: abs(place - position))[:n]
    return tuple(str(transaction[place]) for place in plain)
