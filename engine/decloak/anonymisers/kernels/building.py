"""Hierarchies made from the data. Consecutive items are grouped, so only their order matters.

`learned` brings related items together: average linkage over distances, with leaves in the order that keeps neighbours
close. Groups of `fanout` are cut from any order in the same way, so that trees differ only in the order. Cutting the
merges themselves gives lopsided trees whose labels are exhausted together (NCP 1 on clickstreams).
"""

import random
from collections.abc import Mapping, Sequence

import numpy as np

from decloak.arrays import Floats
from decloak.data.dataset import Dataset
from decloak.data.hierarchy import Hierarchy, natural
from decloak.data.pairs import ScoredPairs
from decloak.errors import DecloakError

GROUPINGS = ("names", "file", "popularity", "random")
"""Orders that need only the data."""
MOST = 8_000
"""Largest number of items for a learned order: the distances of all pairs are in memory, 8 bytes each."""
FEW = 1_000
"""Largest number of items with an optimal leaf order, which takes more than quadratic time."""


def ordered(data: Dataset, by: str, fanout: int, seed: int = 0) -> Hierarchy:
    """Return a hierarchy of groups of `fanout` items of `data`, in the order `by`: names (numbers as numbers), file,
    popularity, or random with `seed`.
    """
    items = data.rows.used_names if by == "file" else ordered_names(data.rows.supports(), by, seed)
    return Hierarchy.balanced(items, fanout, f"{by}, fanout {fanout}")


def ordered_names(supports: Mapping[str, int], by: str, seed: int) -> Sequence[str]:
    """Return the items of `supports` in the order `by`: names, popularity, or random with `seed`."""
    names = sorted(supports, key=natural)
    if by == "popularity":
        return sorted(names, key=lambda item: -supports[item])
    if by == "random":
        random.Random(seed).shuffle(names)
    return names


def by_cooccurrence(data: Dataset, fanout: int) -> Hierarchy:
    """Return a hierarchy of groups of `fanout` items of `data` that share records: 1 - cosine of their columns is
    the distance.
    """
    items = sorted(data.items, key=natural)
    check_items(items, "cooccurrence")
    # A tree of one level numbers the items in this order.
    records = Hierarchy.balanced(items, max(2, len(items))).code(data.transactions).astype(np.float64)
    together = (records.T @ records).toarray()
    norm = np.sqrt(np.diag(together))
    return _learned(items, 1 - together / np.outer(norm, norm), fanout, "cooccurrence")


def by_relatedness(items: Sequence[str], scores: Mapping[tuple[str, str], float | None], fanout: int) -> Hierarchy:
    """Return a hierarchy of groups of `fanout` related `items`: `scores` are distances; pairs without a finite one are
    the farthest apart.
    """
    names = sorted(items, key=natural)
    check_items(names, "relatedness")
    place, scored = {name: position for position, name in enumerate(names)}, ScoredPairs.of(scores)
    position = np.array([place.get(item, -1) for item in scored.pairs.items], np.int64)
    a, b, d = position[scored.pairs.a], position[scored.pairs.b], scored.numbers
    known = np.isfinite(d) & (a >= 0) & (b >= 0)
    a, b, d = a[known], b[known], d[known]
    distance = np.full((len(names), len(names)), d.max() if len(d) else 1.0)
    # Side by side, so that of both directions the last one counts.
    distance[np.stack([a, b], axis=1), np.stack([b, a], axis=1)] = d[:, None]
    return _learned(names, distance, fanout, "relatedness")


def check_items(items: Sequence[str], by: str) -> None:
    """Raise an error if there are no `items`, or too many for a hierarchy learned in the order `by`."""
    if not items:
        raise DecloakError("no items to make a hierarchy of", hint="leave some in the data that are not sensitive")
    if by not in GROUPINGS and len(items) > MOST:
        message = f"a hierarchy of {len(items):,} items cannot be learned"
        raise DecloakError(message, hint=f"at most {MOST:,}: order them by popularity")


def _learned(items: Sequence[str], distance: Floats, fanout: int, origin: str) -> Hierarchy:
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering  # 0.3 s that other orders save

    if len(items) < 3:
        return Hierarchy.balanced(items, fanout, f"{origin}, fanout {fanout}")
    rows, columns = np.triu_indices(len(items), 1)
    # Rounding takes the cosine of equal columns beyond 1.
    condensed = np.maximum(distance[rows, columns], 0)
    tree = linkage(condensed, "average")
    if len(items) <= FEW:
        tree = optimal_leaf_ordering(tree, condensed)
    order = [items[position] for position in leaves_list(tree).tolist()]
    return Hierarchy.balanced(order, fanout, f"{origin}, fanout {fanout}")
