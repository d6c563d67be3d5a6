"""Constraints of COAT: parsing, generation at random or by relatedness, and the search for rare sets.

A privacy constraint is a set of items that an attacker may know together: every combination of them must be frequent or
absent. A utility constraint is a set of items that may be generalised together; no item is in two of them.

Rare sets are in 1 to k - 1 records. They are searched for from the patterns downwards. Sets are bit masks; a pattern is
the set of all images that some record supports. A rare set is part of a pattern. Any set between the two is supported
by that record, and by no record that does not support the rare one: it is rare too. So it is enough to drop one member
after the other while sets stay rare.
"""

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.errors import DecloakError, quote, suggest

Constraints = tuple[tuple[str, ...], ...]

WIDEST = 60
"""Largest number of items of a privacy constraint: COAT stores sets of them as bits of one 64-bit number."""


def privacy_constraints(listed: Iterable[Sequence[str]], items: Collection[str]) -> Constraints:
    """Return the privacy constraints `listed`, all of whose items must be in `items`. Repeated items count once.

    >>> privacy_constraints([["b", "a", "b"]], ["a", "b", "c"])
    (('b', 'a'),)
    """
    constraints = _read(listed, items, "privacy constraint")
    if not constraints:
        raise DecloakError("no privacy constraints", hint="list the items to protect")
    for number, constraint in enumerate(constraints, 1):
        if len(constraint) > WIDEST:
            place, hint = f"privacy constraint {number}", f"give at most {WIDEST}: split the constraint"
            raise DecloakError(f"{len(constraint)} items", place, hint)
    return constraints


def utility_constraints(listed: Iterable[Sequence[str]], items: Collection[str]) -> Constraints:
    """Return the utility constraints `listed` over `items`, which must be disjoint. Without any, items can only be
    suppressed.
    """
    constraints = _read(listed, items, "utility constraint")
    owner: dict[str, int] = {}
    for number, constraint in enumerate(constraints, 1):
        for item in constraint:
            if item in owner:
                message = f"the item {quote(item)} is in utility constraints {owner[item]} and {number}"
                hint = "utility constraints must not overlap: unite them, or keep the item in one"
                raise DecloakError(message, hint=hint)
            owner[item] = number
    return constraints


def _read(listed: Iterable[Sequence[str]], items: Collection[str], kind: str) -> Constraints:
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise DecloakError(f"the {kind}s are {quote(listed)}", hint="give a list of lists of items")
    domain = set(items)
    return tuple(_items_of(constraint, domain, f"{kind} {number}") for number, constraint in enumerate(listed, 1))


def item_names(listed: object, place: str) -> tuple[str, ...]:
    """Return the distinct names `listed`; the names of a set in code point order. `place` is for errors."""
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise DecloakError(f"{quote(listed)} is not a list of items", place, "write one item as [item]")
    items = list(listed)
    for item in items:
        if not isinstance(item, str):
            raise DecloakError(f"the item {quote(item)} is not a string", place, "write it in quotes")
    # The order of a set differs from process to process.
    return tuple(sorted(items) if isinstance(listed, Set) else dict.fromkeys(items))


def _items_of(constraint: object, domain: set[str], place: str) -> tuple[str, ...]:
    items = item_names(constraint, place)
    if not items:
        raise DecloakError("no items", place, "name an item, or remove the constraint")
    for item in items:
        if item not in domain:
            hint = suggest(item, domain) or "check the spelling, or leave it out"
            raise DecloakError(f"the item {quote(item)} is in no record", place, hint)
    return items


def all_items(items: Iterable[str]) -> Constraints:
    """Return one utility constraint of all `items`: any may be generalised with any other.

    >>> all_items(["b", "a"])
    (('a', 'b'),)
    """
    return (tuple(sorted(items)),)


def random_items(items: Collection[str], share: float, seed: int) -> Constraints:
    """Return privacy constraints of one item each, for a `share` of the `items` drawn with `seed` (Shao & Ong 2017,
    6.1.4).

    One constraint of all those items would require every combination of them, far more than any data have k times.

    >>> random_items("abcd", 0.5, seed=1)
    (('b',), ('c',))
    """
    ordered = sorted(items)
    drawn = random.Random(seed).sample(ordered, max(1, round(share * len(ordered))) if ordered else 0)
    return tuple((item,) for item in sorted(drawn))


def nested_sets(items: Collection[str], count: int, seed: int, sizes: Sequence[int] = (3, 4, 5, 6)) -> Constraints:
    """Return privacy constraints over `items` drawn with `seed`, `count` of each of `sizes`, each inside one of the
    next size (thesis, 5.1.2).

    All sets of a size are drawn by adding one random item to every set of the size below. So one seed gives the same
    sets for all requested sizes, and sizes=(3,) and sizes=(4,) can be compared. Sets may overlap.

    >>> nested_sets("abcdef", 1, seed=1, sizes=(2, 3))
    (('b', 'e'), ('b', 'e', 'a'))
    """
    ordered = sorted(items)
    if max(sizes) > len(ordered):
        raise DecloakError(f"random sets of {max(sizes)} out of {len(ordered)} items", hint="give smaller sizes")
    rng = random.Random(seed)
    sets: list[tuple[str, ...]] = [()] * count
    drawn = []
    for size in range(1, max(sizes) + 1):
        # Every size is drawn, asked for or not, so that the draws of a seed do not depend on the sizes.
        sets = [_extended_by_random_item(itemset, ordered, rng) for itemset in sets]
        drawn += sets if size in sizes else []
    return tuple(drawn)


def _extended_by_random_item(itemset: tuple[str, ...], ordered: Sequence[str], rng: random.Random) -> tuple[str, ...]:
    while (item := rng.choice(ordered)) in itemset:
        pass
    return (*itemset, item)


def related_sets(
    items: Collection[str],
    privacy: Iterable[Sequence[str]],
    similar: Callable[[str, str], float | None],
    threshold: float = 0.5,
) -> Constraints:
    """Return utility constraints of `items` related to each constraint of `privacy` (Shao & Ong 2017, 6.2.3).

    For each privacy constraint in order: its items, and every item more similar than `threshold` to one of them;
    `similar` returns None for unknown pairs. The paper does not define the set of an item related to several. As COAT
    needs disjoint constraints, an item stays in the first. Connected components would be disjoint too, but they chain:
    through a few common words nearly all items end in one set, which has no meaning. Here every item is one step from a
    protected item.

    >>> close = {("ale", "beer"), ("beer", "bread")}
    >>> related_sets(["ale", "beer", "bread"], [["ale"], ["bread"]], lambda a, b: float((a, b) in close))
    (('ale', 'beer'), ('bread',))
    """
    remaining = dict.fromkeys(sorted(items))
    constraints = []
    for constraint in privacy_constraints(privacy, items):
        taken = [item for item in remaining if _is_related(item, constraint, similar, threshold)]
        for item in taken:
            del remaining[item]
        constraints += [tuple(taken)] if taken else []
    return tuple(constraints)


def _is_related(
    item: str, constraint: Sequence[str], similar: Callable[[str, str], float | None], threshold: float
) -> bool:
    scores = (similar(member, item) for member in constraint)
    return item in constraint or any(score is not None and score > threshold for score in scores)


MOST = 1 << 16
"""Largest number of sets that are visited: the number of subsets of 16 members."""
PIECE = 1 << 22
"""Number of entries of a table in one step."""


def too_many(place: str) -> DecloakError:
    """Return the error for a constraint at `place` that would take too long."""
    return DecloakError(
        "too many combinations of its items are rare or nearly so",
        place,
        "split the constraint: one of at most 10 items is never too large",
    )


def rare_patterns(patterns: Ints, counts: Ints, k: int) -> Ints:
    """Return the `patterns` with `counts` below `k`; none if no set is rare."""
    pieces = [piece[_support(piece, patterns, counts) < k] for piece in _pieces(patterns, len(patterns))]
    return np.concatenate([patterns[:0], *pieces])


def rare_sets(patterns: Ints, counts: Ints, k: int, place: str) -> Iterator[tuple[Ints, Mask]]:
    """Yield sets of `patterns`, each once, and masks: rare by every column of `counts`, for all that are rare (`k`) by
    any.

    A column has the number of records of each pattern. `place` is for errors.
    """
    smaller = ~(1 << np.arange(int(patterns.max(initial=0)).bit_length()))
    # The empty set is met from the start: all records support it.
    met, new = np.array([0]), patterns
    while len(new):
        met = np.concatenate((met, new))
        if len(met) > MOST:
            raise too_many(place)
        below = []
        for sets in _pieces(new, max(counts.shape)):
            support = _support(sets, patterns, counts)
            rare = (support > 0) & (support < k)
            yield sets, rare
            below.append((sets[rare.any(axis=1), None] & smaller).ravel())
        new = np.setdiff1d(np.concatenate(below), met)


def _pieces(sets: Ints, width: int) -> Iterator[Ints]:
    """Yield runs of sets whose table of that width is small."""
    step = max(1, PIECE // max(1, width))
    for start in range(0, len(sets), step):
        yield sets[start : start + step]


def _support(sets: Ints, patterns: Ints, counts: Ints) -> Floats:
    """Return the number of records that support each set, for every column of counts; integers stored as floats for
    speed.
    """
    inside: Floats = (patterns & sets[:, None] == sets[:, None]).astype(np.float64)
    return inside @ counts.astype(np.float64)
