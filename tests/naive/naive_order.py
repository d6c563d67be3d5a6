"""What stands in an order rules out, written from what the rule says it does, without SQL.

An element of a transaction is an item (text) or a generalised item (a tuple of items).
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

Element = str | tuple[str, ...]
Transactions = Sequence[Sequence[Element]]


def _natural(name: str) -> tuple[str, int]:
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0)


def _keys(transactions: Transactions) -> list[dict[str, object]]:
    """The key of every item in every order that is looked for; none of an item that is nowhere plain, by frequency."""
    names = {item for row in transactions for e in row for item in ((e,) if isinstance(e, str) else e)}
    shown = Counter(e for row in transactions for e in row if isinstance(e, str))
    return [
        {name: name for name in names},
        {name: "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name) for name in names},
        {name: _natural(name) for name in names},
        {name: -count for name, count in shown.items()},
    ]


def _plain(row: Sequence[Element]) -> list[str]:
    return [e for e in row if isinstance(e, str)]


def kept_order(transactions: Transactions) -> tuple[dict[str, object], int] | None:
    """The keys of the order that most neighbours keep and its direction, None where too few do."""
    best = None
    for choice, key in enumerate(_keys(transactions)):
        pairs = [(key[a], key[b]) for row in transactions for a, b in pairwise(_plain(row)) if key[a] != key[b]]
        for direction in (1, -1):
            fits = sum((a < b) if direction == 1 else (a > b) for a, b in pairs)
            if len(pairs) >= 20 and (best is None or fits / len(pairs) > best[0] + 1e-12):
                best = fits / len(pairs), choice, key, direction, fits >= 0.95 * len(pairs)
    return None if best is None or not best[4] else (best[2], best[3])


def misplaced(transactions: Transactions) -> set[tuple[int, tuple[str, ...], str]]:
    """The members that cannot stand where what is generalised does: transaction, generalised item, member."""
    order = kept_order(transactions)
    if order is None:
        return set()
    key, direction = order
    ranks = {k: direction * n for n, k in enumerate(sorted(set(key.values())))}
    rank = {name: ranks[k] for name, k in key.items()}
    low, high = -(10**9), 10**9
    bounds = []  # place, position, generalised item, highest before, lowest after
    for place, row in enumerate(transactions):
        plain = [rank[e] for e in _plain(row)]
        if plain != sorted(plain):
            continue
        for position, e in enumerate(row):
            if not isinstance(e, str):
                before = max((rank[x] for x in _plain(row[:position])), default=low)
                after = min((rank[x] for x in _plain(row[position + 1 :])), default=high)
                bounds.append((place, position, e, before, after))
    if not _tells(bounds):
        return set()
    possible = {
        (place, position): [m for m in e if m not in rank or before <= rank[m] <= after]
        for place, position, e, before, after in bounds
    }
    eliminated = set()
    for place, position, e, *_ in bounds:
        around = [(p, found) for (where, p), found in possible.items() if where == place and found]
        known = [(p, [rank[m] for m in found]) for p, found in around if all(m in rank for m in found)]
        least = max((min(r) for p, r in known if p < position), default=low)
        most = min((max(r) for p, r in known if p > position), default=high)
        left = [m for m in possible[place, position] if m not in rank or least <= rank[m] <= most]
        eliminated |= {(place, e, m) for m in e if left and m not in left}
    return eliminated


def _tells(bounds: Sequence[tuple[int, int, tuple[str, ...], int, int]]) -> bool:
    """Whether a tenth of the generalised items that are there often stand where no one place would explain."""
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for *_, e, before, after in bounds:
        places.setdefault(e, []).append((before, after))
    fewest = 5 if any(len(found) >= 5 for found in places.values()) else 2
    often = [found for found in places.values() if len(found) >= fewest]
    moving = [found for found in often if max(b for b, _ in found) > min(a for _, a in found)]
    return bool(often) and len(moving) >= 0.1 * len(often)
