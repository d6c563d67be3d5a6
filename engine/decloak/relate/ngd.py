"""Normalised Google distance: the distance of two terms from how often they occur alone and together.

f(x) and f(y) are the numbers of documents with each term, f(x,y) the number with both, and N the number of all
documents: NGD(x,y) = (max(ln f(x), ln f(y)) - ln f(x,y)) / (ln N - min(ln f(x), ln f(y))).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from decloak.arrays import Floats, Mask
from decloak.data.pairs import Pair, Pairs, ScoredPairs
from decloak.errors import quote

Unseen = float | Literal["none"] | Mapping[str, float]
"""Meaning of f(x,y) = 0: that distance, no score, or {"pseudo_count": c}, which replaces the zero by c."""

FEW = 3


class CountSource(Protocol):
    """Counts of documents that contain terms; None where the source does not know a count."""

    @property
    def n(self) -> float:
        """N, the number of documents."""

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        """Return f(x), the number of documents that contain the term, for each of `terms`."""

    def joint(self, pairs: Sequence[Pair]) -> Mapping[Pair, float | None]:
        """Return f(x,y), the number of documents that contain both terms, for each of `pairs`."""


class Scored(NamedTuple):
    """Distances by pair, None where there is no score; and one warning for each kind of fault in the counts."""

    distances: ScoredPairs
    warnings: list[str]


def ngd(fx: ArrayLike, fy: ArrayLike, fxy: ArrayLike, n: ArrayLike) -> Floats:
    """Return the distance of every pair from the counts `fx`, `fy` and `fxy`, and the number `n` of documents.

    NaN is a missing count or score, and +inf the distance for f(x,y) = 0. A score is missing when f(x) or f(y) is not
    positive, or a count is missing or negative. It is also missing when N is not above the smaller of f(x) and f(y), or
    f(x,y) is above the larger.

    >>> ngd([1000, 10], [10, 10], [10, 0], 1_000_000).tolist()
    [0.4, inf]
    """
    x, y, both, pages = (np.asarray(count, dtype=float) for count in (fx, fy, fxy, n))
    low, high = np.minimum(x, y), np.maximum(x, y)
    # Counts of real sources contradict each other; such a pair gets no score, not an arbitrary distance.
    founded = (low > 0) & (both >= 0) & (both <= high) & (pages > low)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (np.log(high) - np.log(both)) / (np.log(pages) - np.log(low))
    return np.where(founded, distance, np.nan)


def distances(
    source: CountSource, pairs: Iterable[Pair], *, unseen: Unseen = 1.0, cap: float | Literal["none"] = 1.0
) -> Scored:
    """Return the distances of `pairs` by the counts of `source`.

    `unseen` is for pairs that never occur together, whose distance would be infinite; larger distances are set to
    `cap`.
    """
    # Each pair and each term is asked for once: sources may be slow services.
    distinct = Pairs.of(pairs)
    terms, n = distinct.terms, float(source.n)
    single = distinct.by_code(source.counts(terms))
    fxy = ScoredPairs.of(source.joint(distinct)).of_pairs(distinct)
    fx, fy = single[distinct.a], single[distinct.b]
    warnings = [*_term_warnings(terms, single[distinct.item_codes], n), *_pair_warnings(distinct, fx, fy, fxy)]
    # Warnings are about the counts as they are, so the zeros are replaced after them.
    counted = np.where(fxy == 0, unseen["pseudo_count"], fxy) if isinstance(unseen, Mapping) else fxy
    d = _apply_bounds(ngd(fx, fy, counted, n), unseen, cap)
    return Scored(ScoredPairs(distinct, d), warnings)


def bound_scores(
    scores: Mapping[Pair, float | None],
    *,
    unseen: float | Literal["none"] = 1.0,
    cap: float | Literal["none"] = 1.0,
) -> Scored:
    """Return distances that were computed elsewhere, with the same `unseen` and `cap` as in `distances`.

    Negative `scores` count as none.

    >>> bound_scores({("x", "y"): 1.7, ("x", "z"): float("inf")}, unseen="none").distances
    {('x', 'y'): 1.0, ('x', 'z'): None}
    """
    scored = ScoredPairs.of(scores)
    pairs, d = scored.pairs, scored.numbers
    warnings = [
        *_warning("no score for", np.isnan(d), pairs),
        *_warning("a score below 0, which is none, for", d < 0, pairs),
    ]
    if cap != "none":
        warnings += _warning(
            f"a score above {cap:g}, cut to it (cap: none keeps it), for", np.isfinite(d) & (d > cap), pairs
        )
    return Scored(ScoredPairs(pairs, _apply_bounds(np.where(d < 0, np.nan, d), unseen, cap)), warnings)


def _apply_bounds(d: Floats, unseen: Unseen, cap: float | Literal["none"]) -> Floats:
    """Return the distances without infinite ones, and none above the cap."""
    if not isinstance(unseen, Mapping):
        d = np.where(np.isinf(d), np.nan if unseen == "none" else unseen, d)
    return d if cap == "none" else np.minimum(d, cap)


def _term_warnings(terms: Sequence[str], f: Floats, n: float) -> Iterator[str]:
    # A missing count is NaN, for which `f < 0` would be false.
    yield from _warning("no score, because the count is missing or negative, for", ~(f >= 0), terms)
    yield from _warning("no score, because the count is 0, for", f == 0, terms)
    everywhere = f"a count of all N = {n:g} documents or more, which shows of nothing that it is near, for"
    yield from _warning(everywhere, f >= n, terms)


def _pair_warnings(pairs: Sequence[Pair], fx: Floats, fy: Floats, fxy: Floats) -> Iterator[str]:
    counted = (fx > 0) & (fy > 0)
    more = counted & (fxy > np.minimum(fx, fy))
    yield from _warning("no score, because the joint count is missing or negative, for", counted & ~(fxy >= 0), pairs)
    yield from _warning("a joint count above one of the two single counts for", more, pairs)


def _warning(what: str, odd: Mask, names: Sequence[str | Pair]) -> Iterator[str]:
    """Yield one line for all names that share a fault: their number, and the first few."""
    where = np.flatnonzero(odd).tolist()
    if where:
        few = [names[number] for number in where[:FEW]]
        listed = ", ".join(quote(name) if isinstance(name, str) else " with ".join(map(quote, name)) for name in few)
        yield f"{what} {listed}" + (f" and {len(where) - FEW} more" if len(where) > FEW else "")
