"""Normalised Google distance: how unrelated two terms are, from how often they occur apart and together.

f(x), f(y) the pages that hold each term, f(x,y) those that hold both, N all pages there are:
NGD(x,y) = (max(ln f(x), ln f(y)) - ln f(x,y)) / (ln N - min(ln f(x), ln f(y))).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from decloak.arrays import Floats, Mask
from decloak.data.tables import Pair
from decloak.errors import DecloakError, nearest, shown
from decloak.relate.protocols import CountSource

__all__ = ["Scored", "Unseen", "distances", "ngd", "settled"]


Unseen = float | Literal["none"] | Mapping[str, float]
"""What f(x,y) = 0 means: that distance, no score, or {"pseudo_count": c}, which puts c for the zero."""

FEW = 3


class Scored(NamedTuple):
    """Distances as asked for, None where there is no score; and what was wrong with the counts, a line a kind."""

    distances: dict[Pair, float | None]
    warnings: list[str]


def ngd(fx: ArrayLike, fy: ArrayLike, fxy: ArrayLike, n: ArrayLike) -> Floats:
    """The distance of every pair; NaN is no count going in and no score coming out, +inf is f(x,y) = 0.

    No score when f(x) or f(y) is not positive, a count is missing or negative, N is not above the smaller of
    f(x) and f(y), or f(x,y) is above the larger.

    >>> ngd([1000, 10], [10, 10], [10, 0], 1_000_000).tolist()
    [0.4, inf]
    """
    x, y, both, pages = (np.asarray(count, dtype=float) for count in (fx, fy, fxy, n))
    low, high = np.minimum(x, y), np.maximum(x, y)
    founded = (low > 0) & (both >= 0) & (both <= high) & (pages > low)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (np.log(high) - np.log(both)) / (np.log(pages) - np.log(low))
    return np.where(founded, distance, np.nan)


def distances(
    source: CountSource, pairs: Iterable[Pair], *, unseen: Unseen = 1.0, cap: float | Literal["none"] = 1.0
) -> Scored:
    """Score pairs of terms by a source's counts.

    `unseen` is for pairs never seen together, whose distance would be infinite; `cap` cuts larger distances.
    """
    _check(unseen, cap)
    distinct = list(dict.fromkeys(pairs))
    terms = list(dict.fromkeys(term for pair in distinct for term in pair))
    counts, joint, n = source.counts(terms), source.joint(distinct), float(source.n)
    fx, fy = (_floats(counts.get(pair[side]) for pair in distinct) for side in (0, 1))
    fxy = _floats(joint.get(pair) for pair in distinct)
    warnings = [*_odd_terms(terms, _floats(counts.get(term) for term in terms), n), *_odd_pairs(distinct, fx, fy, fxy)]
    d = _bounded(ngd(fx, fy, _with_pseudo(fxy, unseen), n), unseen, cap)
    return Scored(_by_pair(distinct, d), warnings)


def settled(scores: Mapping[Pair, float | None], *, unseen: Unseen = 1.0, cap: float | Literal["none"] = 1.0) -> Scored:
    """Treat distances that somebody else computed as `distances` treats its own; negative ones are no score.

    >>> settled({("x", "y"): 1.7, ("x", "z"): float("inf")}, unseen="none").distances
    {('x', 'y'): 1.0, ('x', 'z'): None}
    """
    _check(unseen, cap)
    if isinstance(unseen, Mapping):
        raise DecloakError("scores hold no counts", "unseen", "write a distance, or none")
    pairs, d = list(scores), _floats(scores.values())
    warnings = [
        *_warning("no score for", np.isnan(d), pairs),
        *_warning("a score below 0, which is none, for", d < 0, pairs),
    ]
    if cap != "none":
        warnings += _warning(
            f"a score above {cap:g}, cut to it (cap: none keeps it), for", np.isfinite(d) & (d > cap), pairs
        )
    return Scored(_by_pair(pairs, _bounded(np.where(d < 0, np.nan, d), unseen, cap)), warnings)


def _by_pair(pairs: Sequence[Pair], d: Floats) -> dict[Pair, float | None]:
    return {pair: None if math.isnan(x) else x for pair, x in zip(pairs, d.tolist(), strict=True)}


def _floats(counts: Iterable[float | None]) -> Floats:
    return np.array([np.nan if count is None else float(count) for count in counts], dtype=float)


def _with_pseudo(fxy: Floats, unseen: Unseen) -> Floats:
    return np.where(fxy == 0, unseen["pseudo_count"], fxy) if isinstance(unseen, Mapping) else fxy


def _bounded(d: Floats, unseen: Unseen, cap: float | Literal["none"]) -> Floats:
    """Distances without the infinite ones, none above the cap."""
    if not isinstance(unseen, Mapping):
        d = np.where(np.isinf(d), np.nan if unseen == "none" else unseen, d)
    return d if cap == "none" else np.minimum(d, cap)


def _check(unseen: Unseen, cap: float | Literal["none"]) -> None:
    if isinstance(unseen, Mapping):
        _check_pseudo_count(unseen)
    elif unseen != "none" and not _is_distance(unseen):
        hint = "write a number, none, or {pseudo_count: 0.5}"
        raise DecloakError(f"{shown(unseen)} is not a distance", "unseen", hint)
    if cap != "none" and not _is_distance(cap):
        raise DecloakError(f"{shown(cap)} is not a distance", "cap", "write a number or none")
    if isinstance(unseen, float | int) and isinstance(cap, float | int) and unseen > cap:
        hint = "raise the cap, or set it to none"
        raise DecloakError(f"{unseen} would be cut to the cap, {cap}", "unseen", hint)


def _check_pseudo_count(unseen: Mapping[str, float]) -> None:
    for key in unseen:
        if key != "pseudo_count":
            hint = nearest(key, ["pseudo_count"]) or "the one key is pseudo_count"
            raise DecloakError(f"unknown key {shown(key)}", "unseen", hint)
    count = unseen.get("pseudo_count")
    if not _is_distance(count) or not 0 < count <= 1:
        raise DecloakError(f"{shown(count)} is not a pseudo-count", "unseen", "write a number above 0, at most 1")


def _is_distance(value: object) -> TypeGuard[float]:
    return isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value < math.inf


def _odd_terms(terms: Sequence[str], f: Floats, n: float) -> Iterator[str]:
    yield from _warning("no count (or a negative one), so no score, for", ~(f >= 0), terms)
    yield from _warning("a count of 0, so no score, for", f == 0, terms)
    everywhere = f"a count of all N = {n:g} documents or more, which shows of nothing that it is near, for"
    yield from _warning(everywhere, f >= n, terms)


def _odd_pairs(pairs: Sequence[Pair], fx: Floats, fy: Floats, fxy: Floats) -> Iterator[str]:
    counted = (fx > 0) & (fy > 0)
    more = counted & (fxy > np.minimum(fx, fy))
    yield from _warning("no joint count (or a negative one), so no score, for", counted & ~(fxy >= 0), pairs)
    yield from _warning("a joint count above one of the two single counts for", more, pairs)


def _warning(what: str, odd: Mask, names: Sequence[str | Pair]) -> Iterator[str]:
    """One line for all that share a fault: how many there are, and the first few."""
    where = np.flatnonzero(odd).tolist()
    if where:
        few = [names[number] for number in where[:FEW]]
        listed = ", ".join(shown(name) if isinstance(name, str) else " with ".join(map(shown, name)) for name in few)
        yield f"{what} {listed}" + (f" and {len(where) - FEW} more" if len(where) > FEW else "")
