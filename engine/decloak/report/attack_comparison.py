"""Compare the attacks of a run: how much more of the hidden items one recovers than another.

Recovery is the number of right claims above the baseline, so that a few lucky claims count little. Differences are
paired, by repetition or by table of one release. Their level is 1 - .05 / n for n pairs in all. Random attacks and
negative controls are left out.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum
from typing import Any

from decloak.measure.family import POOLED
from decloak.measure.kernels.advantage import Advantage, difference_over_repetitions, jackknife_difference
from decloak.measure.kernels.statistics import Interval
from decloak.report.advantage import attacks_with_baseline
from decloak.report.knowledge import listed
from decloak.report.study import Study
from decloak.report.wording import interval_of, points
from decloak.store.results import won_back

__all__ = ["AttackPair", "all_pairs", "attack_pairs", "basis", "sentence"]


@dataclass(frozen=True)
class AttackPair:
    """Two attacks of a variant, and how much more the first recovers; its mean is at least as large."""

    variant: str
    first: str
    second: str
    ahead: Interval
    level: float
    about: str

    @property
    def apart(self) -> bool:
        """Return whether their difference is significant."""
        return self.ahead.low is not None and self.ahead.low > 0

    def as_json(self) -> dict[str, Any]:
        """It as plain values."""
        ahead = {name: getattr(self.ahead, part) for name, part in _PARTS.items()}
        return {"variant": self.variant, "first": self.first, "second": self.second, **ahead, "level": self.level}


_PARTS = {"difference": "mean", "low": "low", "high": "high", "n": "n"}

Scopes = Mapping[int, Advantage]
"""The recovery of an attack in each table or cluster, and in all."""
OfRun = Mapping[str, Scopes]
"""What the attacks of a run won."""


def attack_pairs(connection: sqlite3.Connection, study: Study) -> list[AttackPair]:
    """Compare every two attacks of every variant with ground truth, with an interval of the difference."""
    attacks = attacks_with_baseline(connection, study.runs)
    by_run = {run.run: _of_run(connection, run.run) for run in study.runs}
    groups = {
        name: [_of_data_set(by_run, numbers) if isinstance(numbers, tuple) else by_run[numbers] for numbers in runs]
        for name, runs in study.groups
    }
    pooled = {name for name, _ in study.pools}
    ranked = {name: list(combinations(_ranked(group, attacks), 2)) for name, group in groups.items()}
    level = 1 - 0.05 / max(1, sum(map(len, ranked.values())))
    pairs = [_pair(name, groups[name], *two, level, name in pooled) for name, twos in ranked.items() for two in twos]
    return [pair for pair in pairs if pair.ahead.low is not None]


def _of_run(connection: sqlite3.Connection, run: int) -> OfRun:
    won: dict[str, dict[int, Advantage]] = {}
    for attack, scope, right, by_chance, hidden in won_back(connection, run):
        won.setdefault(attack, {})[scope] = Advantage(right - by_chance, hidden)
    return won


def _of_data_set(by_run: Mapping[int, OfRun], runs: Sequence[int]) -> OfRun:
    """Return the mean recovery of attacks on one data set, as if it were one release."""
    attacks = dict.fromkeys(attack for run in runs for attack in by_run[run])
    means = {attack: _mean_share([by_run[run] for run in runs], attack) for attack in attacks}
    return {attack: {POOLED: Advantage(mean, 1.0)} for attack, mean in means.items() if mean is not None}


def _ranked(group: Sequence[OfRun], attacks: Sequence[str]) -> list[str]:
    """Sort the attacks by their recovery, the largest first."""
    means = {attack: mean for attack in attacks if (mean := _mean_share(group, attack)) is not None}
    return sorted(means, key=lambda attack: -means[attack])


def _mean_share(group: Sequence[OfRun], attack: str) -> float | None:
    pooled = [won[POOLED].share for of_run in group if POOLED in (won := of_run.get(attack, {}))]
    shares = [share for share in pooled if share is not None]
    return fsum(shares) / len(shares) if shares else None


def _pair(variant: str, group: Sequence[OfRun], first: str, second: str, level: float, pooled: bool) -> AttackPair:
    both = [(of_run.get(first, {}), of_run.get(second, {})) for of_run in group]
    ahead, repeated = _repeated(both, level), len(group)
    if ahead.low is None and not pooled:  # repetitions that do not differ are one release
        ahead, repeated = _resampled(*both[0], level), 1
    said = (
        interval_of(ahead.n, data_sets=pooled)
        if pooled or repeated > 1
        else f"{ahead.n} parts of this release resampled"
    )
    return AttackPair(variant, first, second, ahead, level, said)


def _repeated(both: Sequence[tuple[Scopes, Scopes]], level: float) -> Interval:
    pooled = [_of_both(*of_run, POOLED) for of_run in both]
    return difference_over_repetitions([mine for mine, _ in pooled], [theirs for _, theirs in pooled], level)


def _resampled(won: Scopes, beside: Scopes, level: float) -> Interval:
    both = [_of_both(won, beside, scope) for scope in {**won, **beside} if scope != POOLED]
    return jackknife_difference([mine for mine, _ in both], [theirs for _, theirs in both], level)


def _of_both(mine: Scopes, theirs: Scopes, scope: int) -> tuple[Advantage, Advantage]:
    """Return the recovery of both attacks in the same scope: an item that one attack cannot recover counts for both."""
    both = mine.get(scope), theirs.get(scope)
    hidden = max((won.hidden for won in both if won is not None), default=0.0)
    if scope == POOLED and None in both:
        return Advantage(0.0, 0.0), Advantage(
            0.0, 0.0
        )  # a repetition where one had nothing to go by tells nothing of both
    first, second = (Advantage(0.0 if won is None else won.beyond, hidden) for won in both)
    return first, second


def sentence(pairs: Sequence[AttackPair]) -> str:
    """Say which attacks the strongest one of a variant is significantly better than; of several variants how many."""
    tested = f"{len(pairs)} {'pair' if len(pairs) == 1 else 'pairs'}, 95% intervals"
    variants = dict.fromkeys(pair.variant for pair in pairs)
    if len(variants) > 1:
        apart = len({pair.variant for pair in pairs if pair.apart})
        return f"one attack recovers significantly more than another in {apart} of {len(variants)} variants ({tested})"
    first = pairs[0].first
    worse = [pair.second for pair in pairs if pair.first == first and pair.apart]
    if not worse:
        return f"{first} does not recover significantly more than another attack ({tested})"
    return f"{first} recovers significantly more than {listed(worse)} ({tested})"


def all_pairs(pairs: Sequence[AttackPair]) -> tuple[list[str], list[list[str]]]:
    """Return a row for each pair, with its variant if there are several, and its result."""
    several = len({pair.variant for pair in pairs}) > 1
    rows = [
        [
            *([pair.variant] if several else []),
            *(pair.first, pair.second, _ahead(pair)),
            f"{pair.first} recovers more" if pair.apart else "no significant difference",
        ]
        for pair in pairs
    ]
    return [*(["variant"] if several else []), "attack", "compared with", "recall advantage", "result"], rows


def _ahead(pair: AttackPair) -> str:
    return f"{_points(pair.ahead.mean)}{_bounds(pair)}"


def _points(value: float | None) -> str:
    """Write a difference in points; a small positive one is not rounded to zero."""
    return points(value, 2 if value and abs(value) < 0.0005 else 1)


def _bounds(pair: AttackPair) -> str:
    return f" ({_points(pair.ahead.low)} to {_points(pair.ahead.high)})"


def basis(pairs: Sequence[AttackPair], of: int | None = None) -> str:
    """Describe the numbers of some pairs and their intervals: the comparisons of these pairs, or of `of` pairs."""
    count = len(pairs) if of is None else of
    abouts = dict.fromkeys(pair.about for pair in pairs)
    if len(abouts) > 1:  # each has its own number of parts
        abouts = dict.fromkeys("the parts of a release resampled" if "parts of" in one else one for one in abouts)
    all_pairs = {1: "one pair", 2: "both pairs"}.get(count, f"all {count} pairs")
    considered = f"95% intervals, {all_pairs} compared"
    return f"recall advantage in points, {considered}, {' or '.join(abouts)}"
