"""Naive Bayes for re-association: what an anchor holds and what it lacks both speak for or against a unit.

For a unit u and the anchor A of a row, among the items I of the cluster's anchors:

    odds(u | A) = odds(u) * prod over a in A of P(a|u) / P(a|not u)
                          * prod over a in I - A of (1 - P(a|u)) / (1 - P(a|not u))

P(a|not u) is near the share of the cluster's rows that show a, which is published. What u changes about it is taken as
an odds ratio, for that, unlike a probability, does not depend on how frequent a and u are in the cluster and so carries
over from the attacker's own knowledge: logit P(a|u) = logit P(a|not u) + theta(a, u). Then the factor of an item held
over the factor of the same item lacked is exp(theta), and

    ln odds(u | A) = constant of u and the cluster + sum over a in A of theta(a, u)

whatever the shares are: an anchor that lacks a related item is as much worse as one that holds it is better. The
constant decides nothing, neither for one unit nor for an assignment, which gives every unit a fixed number of rows.
theta(a, u) = sum over the items y of u of theta(a, y), as naive as the rest. A pair the attacker knows nothing of has
theta = 0; so an empty anchor has a value, unlike under the other rules.

theta(a, y) comes from what the attacker may see: from counts of a population he knows, the log of the odds ratio
(`odds_ratios`, to be given as scores with `unrelated` 0); from any other score, how far it is above that of
unrelated items. Its unit is irrelevant to the ranking, for the values of all rows are multiplied by it.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from decloak.errors import DecloakError, shown

__all__ = ["odds_ratios"]

HALF = 0.5
"""Added to each of the four counts, so that none is 0 (Haldane and Anscombe)."""

Pair = tuple[str, str]


def odds_ratios(
    counts: Mapping[str, float], joint: Mapping[Pair, float], n: float, pairs: Iterable[Pair] | None = None
) -> dict[Pair, float]:
    """Return the log odds ratio of pairs of items, 0 for independent ones, from how often they occur among n records.

    `counts` has the records of each item, `joint` those of each pair. A pair whose counts are missing is left out.

    >>> odds_ratios({"a": 50, "b": 20}, {("a", "b"): 10}, 100)
    {('a', 'b'): 0.0}
    """
    ratios = {}
    for pair in joint if pairs is None else pairs:
        fx, fy, both = counts.get(pair[0]), counts.get(pair[1]), joint.get(pair)
        if fx is not None and fy is not None and both is not None:
            ratios[pair] = _odds_ratio(pair, fx, fy, both, n)
    return ratios


def _odds_ratio(pair: Pair, fx: float, fy: float, both: float, n: float) -> float:
    cells = np.array([both, n - fx - fy + both, fx - both, fy - both])
    if not (np.isfinite(cells).all() and (cells >= 0).all()):
        names = " and ".join(map(shown, pair))
        raise DecloakError(f"the counts of {names} contradict each other", hint=f"n is {n:g}: check the counts")
    return float(np.log(cells + HALF) @ [1, 1, -1, -1])
