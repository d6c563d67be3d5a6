"""Human judgements of relatedness, and the agreement of a measure with them.

Files are CSV with the header a,b,human and columns of other methods.

`judgements.csv` in this folder has the facts of table 3.1 of Shao's thesis (2015): thirty pairs of nouns judged by 32
people (Rubenstein and Goodenough 1965), and the scores of three methods. Larger is closer in every column.

r is Pearson's correlation and rho Spearman's: the correlation of the ranks, where ties share their mean rank. By
Fisher's transform atanh(r) is approximately normal with the variance 1 / (n - 3), atanh(rho) with 1.06 / (n - 3)
(Fieller, Hartley and Pearson 1957). There is no correlation for fewer than four pairs, or for values that are all
equal.
"""

import math
from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from decloak.arrays import Floats
from decloak.data.formats.delimited import read_number, split
from decloak.data.formats.lines import FilePath, Line, read_lines
from decloak.data.pairs import Pair
from decloak.errors import quote

PRINTED = {"NGD' of the thesis": 0.72, "Li et al.": 0.72, "Islam et al.": 0.64}
"""Correlations that the thesis prints below its table."""


class Judgements(NamedTuple):
    """Pairs with their human judgements, and the scores of other methods by name."""

    pairs: list[Pair]
    human: list[float]
    others: dict[str, list[float | None]]


def thirty_pairs() -> Judgements:
    """Return the judgements of the thesis."""
    with as_file(files("decloak.relate") / "judgements.csv") as path:
        return read_judgements(path)


def read_judgements(path: FilePath) -> Judgements:
    """Read the judgements at `path` and return them; a pair may occur again, and a method may leave out a pair."""
    lines = read_lines(path)
    header = split(lines[0])
    if header[:3] != ["a", "b", "human"] or len(set(header)) < len(header) or not all(header):
        raise lines[0].error("expected the header a,b,human", "further columns are named after other methods")
    judgements = Judgements([], [], {name: [] for name in header[3:]})
    for line in lines[1:]:
        values = split(line)
        if len(values) != len(header):
            raise line.error(f"{len(values)} values where the header has {len(header)}", "put commas in quotes")
        a, b, human, *further = values
        if not (a and b):
            raise line.error("a pair needs two names", "write both, or remove the line")
        judgements.pairs.append((a, b))
        judgements.human.append(_number(line, human))
        for column, value in zip(judgements.others.values(), further, strict=True):
            column.append(_number(line, value) if value else None)
    return judgements


def _number(line: Line, text: str) -> float:
    try:
        value = read_number(text)
    except ValueError:
        value = float("nan")
    # NaN is not below infinity either, so that one test refuses both.
    if not abs(value) < float("inf"):
        raise line.error(f"{quote(text)} is not a number", "write such as 0.85")
    return value


class Correlation(NamedTuple):
    """A correlation with its interval; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


class Agreement(NamedTuple):
    """Both correlations over the pairs that have a score, and the number of these pairs."""

    pairs: int
    pearson: Correlation
    spearman: Correlation


NONE = Correlation(None, None, None)
LEVEL = 0.95
"""Confidence level of the intervals."""


def agreement(human: Sequence[float], scores: Sequence[float | None]) -> Agreement:
    """Compare `human` judgements with `scores` of the same pairs; larger is closer, None is an absent score.

    >>> found = agreement([0.1, 0.2, 0.3, 0.4, 0.5], [1.0, 2.0, None, 4.0, 8.0])
    >>> found.pairs, round(found.pearson.value, 3), found.spearman.value
    (4, 0.944, 1.0)
    """
    judged = [(judgement, score) for judgement, score in zip(human, scores, strict=True) if score is not None]
    x, y = map(_scaled, np.array(judged, dtype=float).reshape(-1, 2).T)
    if len(judged) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Agreement(len(judged), NONE, NONE)
    ranks = rankdata(x), rankdata(y)
    return Agreement(
        len(judged),
        _correlation_interval(float(np.corrcoef(x, y)[0, 1]), 1.0, len(judged)),
        _correlation_interval(float(np.corrcoef(*ranks)[0, 1]), 1.06, len(judged)),
    )


def _scaled(values: Floats) -> Floats:
    """Return the values scaled to at most 1: correlations stay the same, and squares stay finite."""
    largest = np.abs(values).max(initial=0.0)
    return values / largest if largest > 0 else values


def _correlation_interval(r: float, variance: float, n: int) -> Correlation:
    # A value that differs from 1 only by the rounding of a sum is 1; otherwise the interval would have a width from
    # rounding.
    r = min(1.0, max(-1.0, round(r, 12)))
    if abs(r) == 1:
        return Correlation(r, r, r)
    half = float(ndtri(0.5 + LEVEL / 2)) * math.sqrt(variance / (n - 3))
    return Correlation(r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half))
