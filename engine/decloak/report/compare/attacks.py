"""Compare the attacks of each variant with random guessing, with their controls, and with each other.

    advantage          precision minus baseline: the share of right claims beyond the expected ones
    recall advantage   right claims beyond the expected ones, as a share of all hidden members
    scope              a distance table or cluster of one release, or all of them (POOLED)

Each comparison is paired. Its interval is about repetitions, if these differ, or else about the scopes of one release.
With n comparisons in all, its level is 1 - .05 / n. Random attacks and negative controls are not ranked.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum

from decloak.data.knowledge_levels import MUST_FAIL
from decloak.measure.family import POOLED
from decloak.measure.kernels.advantage import (
    Advantage,
    ClaimCounts,
    advantage_over_repetitions,
    difference_over_repetitions,
    jackknife_advantage,
    jackknife_difference,
    total,
)
from decloak.measure.kernels.statistics import Interval
from decloak.report.risk_tables import short_titles
from decloak.report.study import Study
from decloak.report.wording import interval_of, listed, points
from decloak.rules.load import parse_rule
from decloak.scenario.variant import is_random
from decloak.store.findings import idle
from decloak.store.relations import ELIMINATION_COLUMNS
from decloak.store.results import RunAttack, StudyRun, attacks_of, claims_of, recovered_by

Claims = Mapping[int, ClaimCounts]
"""The claims of one attack by scope."""
Recovered = Mapping[int, Advantage]
"""The recall advantage of one attack by scope."""


@dataclass(frozen=True)
class AttackAdvantage:
    """An attack in a variant, over its repetitions or over the tables of its one release."""

    variant: str
    attack: str
    repetitions: tuple[ClaimCounts, ...]
    interval: Interval
    random: bool
    """True if a further repetition would draw random numbers again."""
    level: float
    """The level of the interval, corrected for the number of attacks."""
    knows: str = ""
    """The knowledge level of the attacker."""
    survived: tuple[str, ...] = ()
    """The controls which show that the advantage does not depend on learning."""

    @property
    def pooled(self) -> ClaimCounts:
        """Return the claims of all repetitions."""
        return total(self.repetitions)

    @property
    def repeated(self) -> bool:
        """Return whether repetitions differ; equal repetitions count as one release."""
        return len(set(self.repetitions)) > 1


def attacks_with_baseline(connection: sqlite3.Connection, study: Study) -> list[str]:
    """Return the attacks of `study` that make claims, without random attacks and controls."""
    attacks = (attack for run in study.runs for attack in attacks_of(connection, run.run))
    claiming = (attack.label for attack in attacks if _makes_claims(connection, attack))
    return [label for label in dict.fromkeys(claiming) if label not in study.controls]


def _makes_claims(connection: sqlite3.Connection, attack: RunAttack) -> bool:
    """Return whether `attack` eliminates or assigns; a query does so if it derived facts of that kind."""
    if attack.form in ("eliminate", "reassociate"):
        return True
    by_facts = ELIMINATION_COLUMNS.issubset(parse_rule(attack.text).derives.columns)
    return by_facts and idle(connection, attack.attack) is None


def advantages_of(
    connection: sqlite3.Connection, runs: Sequence[StudyRun], attacks: Sequence[str]
) -> list[AttackAdvantage]:
    """Return the advantage of each of `attacks` in every variant of `runs`, with its interval."""
    variants: dict[str, list[StudyRun]] = {}
    for run in runs:
        variants.setdefault(run.variant, []).append(run)
    # Bonferroni: of many intervals one excludes 0 by chance.
    level = 1 - 0.05 / max(1, len(attacks) * len(variants))
    every = (_advantages(connection, name, repeated, attacks, level) for name, repeated in variants.items())
    return [advantage for advantages in every for advantage in advantages]


def _advantages(
    connection: sqlite3.Connection, variant: str, runs: Sequence[StudyRun], attacks: Sequence[str], level: float
) -> Iterator[AttackAdvantage]:
    claims = [
        {attack: {scope: ClaimCounts(*counts) for scope, counts in scopes.items()} for attack, scopes in made.items()}
        for run in runs
        for made in [claims_of(connection, run.run)]
    ]
    ran = {attack.label: attack for attack in attacks_of(connection, runs[0].run)}
    random = is_random(runs[0].config)
    for name in attacks:
        pooled = tuple(made[name][POOLED] for made in claims if POOLED in made.get(name, ()))
        if pooled:
            interval = _interval([made.get(name, {}) for made in claims], level)
            controls = {other.control or "": label for label, other in ran.items() if other.is_control_of(ran[name])}
            survived = tuple(one for one, label in controls.items() if _survives(claims, name, label, one))
            yield AttackAdvantage(variant, name, pooled, interval, random, level, ran[name].knows, survived)


def _interval(claims: Sequence[Claims], level: float) -> Interval:
    """Return the advantage over the repetitions `claims`, or over the scopes of one release if these are equal."""
    pooled = [made[POOLED] for made in claims if POOLED in made]
    # Equal repetitions are one release that was made several times.
    if len(set(pooled)) > 1:
        return advantage_over_repetitions(pooled, level)
    return jackknife_advantage([counts for scope, counts in claims[0].items() if scope != POOLED], level)


def _survives(claims: Sequence[Mapping[str, Claims]], attack: str, label: str, control: str) -> bool:
    """Return whether an attack survives a control: a negative control does worse, an unchanged one equally well."""
    both = [(made.get(attack, {}), made.get(label, {})) for made in claims]
    beyond = [_beyond(mine, other) for mine, other in both if _precision(other.get(POOLED)) is not None]
    if not beyond:
        # A control that claims nothing shows nothing.
        return False
    low = _interval(beyond, 0.95).low
    if control in MUST_FAIL:
        return low is None or low <= 0
    # An attack that does better in the written order than in another one used the order, and learned nothing.
    return control == "order" and low is not None and low > 0


def _beyond(attack: Claims, control: Claims) -> dict[int, ClaimCounts]:
    """Return the claims of an attack, with the precision of its control in place of the baseline."""
    # In a scope where the control claims nothing, its precision over all scopes stands for it.
    usual = _precision(control[POOLED]) or 0.0
    expected = {scope: _precision(control.get(scope)) for scope in attack}
    return {
        scope: counts._replace(expected=counts.tried * (usual if share is None else share))
        for (scope, counts), share in zip(attack.items(), expected.values(), strict=True)
    }


def _precision(counts: ClaimCounts | None) -> float | None:
    return counts.right / counts.tried if counts is not None and counts.tried else None


@dataclass(frozen=True)
class AttackPair:
    """Two attacks of a variant, with the difference of their recall advantages. On average the first recovers more."""

    variant: str
    first: str
    second: str
    difference: Interval
    level: float
    about: str

    @property
    def significant(self) -> bool:
        """Return whether the difference is more than random."""
        return self.difference.low is not None and self.difference.low > 0

    def as_json(self) -> dict[str, object]:
        """Return the pair as plain values."""
        mean, low, high, n, _ = self.difference
        interval = {"difference": mean, "low": low, "high": high, "n": n}
        return {"variant": self.variant, "first": self.first, "second": self.second, **interval, "level": self.level}


def attack_pairs(connection: sqlite3.Connection, study: Study) -> list[AttackPair]:
    """Compare every two attacks of every variant with ground truth, with an interval of the difference."""
    attacks = attacks_with_baseline(connection, study)
    by_run = {run.run: _recovered(connection, run.run) for run in study.runs}
    groups = {
        name: [_of_data_set(by_run, runs) if isinstance(runs, tuple) else by_run[runs] for runs in group]
        for name, group in study.groups
    }
    pooled = {name for name, _ in study.pooled_variants}
    ranked = {name: list(combinations(_ranked(group, attacks), 2)) for name, group in groups.items()}
    # Pairs of all variants are compared at once, and corrected together.
    level = 1 - 0.05 / max(1, sum(map(len, ranked.values())))
    pairs = [_pair(name, groups[name], *two, level, name in pooled) for name, twos in ranked.items() for two in twos]
    # A difference without an interval may be chance alone.
    return [pair for pair in pairs if pair.difference.low is not None]


def _recovered(connection: sqlite3.Connection, run: int) -> dict[str, Recovered]:
    return {
        attack: {scope: Advantage(right - expected, hidden) for scope, (right, expected, hidden) in scopes.items()}
        for attack, scopes in recovered_by(connection, run).items()
    }


def _of_data_set(by_run: Mapping[int, Mapping[str, Recovered]], runs: Sequence[int]) -> dict[str, Recovered]:
    """Return the mean recovery of attacks on one data set, as if it were one release."""
    attacks = dict.fromkeys(attack for run in runs for attack in by_run[run])
    means = {attack: _mean_share([by_run[run] for run in runs], attack) for attack in attacks}
    return {attack: {POOLED: Advantage(mean, 1.0)} for attack, mean in means.items() if mean is not None}


def _ranked(group: Sequence[Mapping[str, Recovered]], attacks: Sequence[str]) -> list[str]:
    """Sort the attacks by their recovery, the largest first."""
    means = {attack: mean for attack in attacks if (mean := _mean_share(group, attack)) is not None}
    return sorted(means, key=lambda attack: -means[attack])


def _mean_share(group: Sequence[Mapping[str, Recovered]], attack: str) -> float | None:
    pooled = [scopes[POOLED].share for recovered in group if POOLED in (scopes := recovered.get(attack, {}))]
    shares = [share for share in pooled if share is not None]
    return fsum(shares) / len(shares) if shares else None


def _pair(
    variant: str, group: Sequence[Mapping[str, Recovered]], first: str, second: str, level: float, pooled: bool
) -> AttackPair:
    both = [(recovered.get(first, {}), recovered.get(second, {})) for recovered in group]
    repeated = [_both_in(*scopes, POOLED) for scopes in both]
    difference = difference_over_repetitions([one for one, _ in repeated], [other for _, other in repeated], level)
    about = interval_of(difference.n, data_sets=pooled)
    # Repetitions that do not differ are one release, made several times.
    if difference.low is None and not pooled:
        parts = [_both_in(*both[0], scope) for scope in {**both[0][0], **both[0][1]} if scope != POOLED]
        difference = jackknife_difference([one for one, _ in parts], [other for _, other in parts], level)
        about = f"{difference.n} parts of this release resampled"
    return AttackPair(variant, first, second, difference, level, about)


def _both_in(first: Recovered, second: Recovered, scope: int) -> tuple[Advantage, Advantage]:
    """Return the recovery of two attacks in one scope: an item that one of them cannot recover counts for both."""
    both = first.get(scope), second.get(scope)
    hidden = max((recovered.hidden for recovered in both if recovered is not None), default=0.0)
    # A repetition that lacks one of the attacks compares nothing.
    if scope == POOLED and None in both:
        return Advantage(0.0, 0.0), Advantage(0.0, 0.0)
    mine, other = (Advantage(0.0 if recovered is None else recovered.beyond, hidden) for recovered in both)
    return mine, other


def describe_pairs(pairs: Sequence[AttackPair]) -> str:
    """Say which attacks the strongest one of a variant is significantly better than; of several variants how many."""
    tested = f"{len(pairs)} {'pair' if len(pairs) == 1 else 'pairs'}, 95% intervals"
    variants = dict.fromkeys(pair.variant for pair in pairs)
    if len(variants) > 1:
        count = len({pair.variant for pair in pairs if pair.significant})
        return f"one attack recovers significantly more than another in {count} of {len(variants)} variants ({tested})"
    first = pairs[0].first
    worse = [pair.second for pair in pairs if pair.first == first and pair.significant]
    if not worse:
        return f"{first} does not recover significantly more than another attack ({tested})"
    return f"{first} recovers significantly more than {listed(worse)} ({tested})"


def tabulate_pairs(pairs: Sequence[AttackPair]) -> tuple[list[str], list[list[str]]]:
    """Return the columns and a row for each pair, with its variant if there are several, and its result."""
    names = list(dict.fromkeys(pair.variant for pair in pairs))
    several, titles = len(names) > 1, dict(zip(names, short_titles(names), strict=True))
    rows = [
        [
            *([titles[pair.variant]] if several else []),
            *(pair.first, pair.second, f"{_points(mean)} ({_points(low)} to {_points(high)})"),
            f"{pair.first} recovers more" if pair.significant else "no significant difference",
        ]
        for pair in pairs
        for mean, low, high, *_ in [pair.difference]
    ]
    return [*(["variant"] if several else []), "attack", "compared with", "recall advantage", "result"], rows


def _points(value: float | None) -> str:
    """Write a difference in points; a small positive one is not rounded to zero."""
    return points(value, 2 if value and abs(value) < 0.0005 else 1)


def comparison_basis(pairs: Sequence[AttackPair], count: int | None = None) -> str:
    """Describe the intervals of `pairs`: the number of all comparisons (`count`), and what was repeated."""
    count = len(pairs) if count is None else count
    abouts = dict.fromkeys(pair.about for pair in pairs)
    # Each release has its own number of parts, and the sentence has room for none of them.
    if len(abouts) > 1:
        abouts = dict.fromkeys("the parts of a release resampled" if "parts of" in one else one for one in abouts)
    compared = {1: "one pair", 2: "both pairs"}.get(count, f"all {count} pairs")
    return f"recall advantage in points, 95% intervals, {compared} compared, {' or '.join(abouts)}"
