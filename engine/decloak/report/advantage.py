"""The advantage of each attack of some runs over random guessing, and how sure it is on other data."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from decloak.attacker.controls import MUST_FAIL
from decloak.measure.family import POOLED
from decloak.measure.kernels.advantage import StrikeCounts, advantage_over_repetitions, jackknife_advantage, total
from decloak.measure.kernels.statistics import Interval
from decloak.report.risk_card import controls_of
from decloak.rules.load import parse_rule
from decloak.scenario.randomness import is_random
from decloak.store.reading import idle
from decloak.store.relations import STRIKES
from decloak.store.results import ClaimCount, RunAttack, attacks_of, claims_of
from decloak.store.studies import StudyRun

__all__ = ["AttackAdvantage", "advantages_of", "attacks_with_baseline"]


@dataclass(frozen=True)
class AttackAdvantage:
    """An attack in a variant, over its repetitions or over the tables of its one release."""

    variant: str
    attack: str
    repetitions: tuple[StrikeCounts, ...]
    interval: Interval
    random: bool
    """True if a further repetition would draw random numbers again."""
    level: float
    """The level of the interval, corrected for the number of attacks."""
    knows: str = ""
    """The step of the ladder of attackers."""
    survived: tuple[str, ...] = ()
    """The controls which show that the advantage does not depend on learning."""

    @property
    def pooled(self) -> StrikeCounts:
        return total(self.repetitions)

    @property
    def about(self) -> str:
        """Say what the interval is about: repetitions, or the tables or clusters of one release."""
        return "repetitions" if self.repeated else "parts"

    @property
    def repeated(self) -> bool:
        """Return whether repetitions differ; equal repetitions count as one release."""
        return len(set(self.repetitions)) > 1


def attacks_with_baseline(connection: sqlite3.Connection, runs: Sequence[StudyRun]) -> list[str]:
    """The attacks that make claims, except random attacks and controls; attacks by facts if they found some."""
    controls = controls_of(connection, runs)
    attacks = (attack for run in runs for attack in attacks_of(connection, run.run))
    guessing = (attack.label for attack in attacks if _guesses(connection, attack))
    return [label for label in dict.fromkeys(guessing) if label not in controls]


def _guesses(connection: sqlite3.Connection, attack: RunAttack) -> bool:
    if attack.form in ("eliminate", "reassociate"):
        return True
    by_facts = STRIKES.issubset(parse_rule(attack.text).derives.columns)
    return by_facts and idle(connection, attack.attack) is None


def advantages_of(
    connection: sqlite3.Connection, runs: Sequence[StudyRun], attacks: Sequence[str]
) -> list[AttackAdvantage]:
    """The leads of attacks in every variant."""
    variants: dict[str, list[StudyRun]] = {}
    for run in runs:
        variants.setdefault(run.variant, []).append(run)
    level = 1 - 0.05 / max(1, len(attacks) * len(variants))
    every = [_leads(connection, variant, of_variant, attacks, level) for variant, of_variant in variants.items()]
    return [lead for leads in every for lead in leads]


def _leads(
    connection: sqlite3.Connection, variant: str, runs: Sequence[StudyRun], attacks: Sequence[str], level: float
) -> Iterator[AttackAdvantage]:
    """The leads in one variant, over its repetitions, or over the tables of one release."""
    claims = [_by_scope(claims_of(connection, run.run)) for run in runs]
    ran = {attack.label: attack for attack in attacks_of(connection, runs[0].run)}
    for name in attacks:
        made = tuple(of_run[name][POOLED] for of_run in claims if POOLED in of_run.get(name, ()))
        if made:
            interval = _interval([of_run.get(name, {}) for of_run in claims], level)
            spoilt = {other.control or "": label for label, other in ran.items() if other.is_control_of(ran[name])}
            survived = tuple(c for c, label in spoilt.items() if _survives(claims, name, label, c))
            yield AttackAdvantage(
                variant, name, made, interval, is_random(runs[0].config), level, ran[name].knows, survived
            )


def _by_scope(claims: Iterable[ClaimCount]) -> dict[str, dict[int, StrikeCounts]]:
    """The claims of each attack by table, and of all its tables."""
    by_scope: dict[str, dict[int, StrikeCounts]] = {}
    for attack, scope, *counts in claims:
        by_scope.setdefault(attack, {})[scope] = StrikeCounts(*counts)
    return by_scope


def _interval(claims: Sequence[Mapping[int, StrikeCounts]], level: float) -> Interval:
    pooled = [of_run[POOLED] for of_run in claims if POOLED in of_run]
    if len(set(pooled)) > 1:
        return advantage_over_repetitions(pooled, level)
    return jackknife_advantage([claim for scope, claim in claims[0].items() if scope != POOLED], level)


def _survives(
    claims: Sequence[Mapping[str, Mapping[int, StrikeCounts]]], attack: str, label: str, control: str
) -> bool:
    """Return whether an attack survives a control: a negative control does worse, an unchanged one equally well."""
    beside = [(of_run.get(attack, {}), of_run.get(label, {})) for of_run in claims]
    beyond = [_beyond(mine, other) for mine, other in beside if _share(other.get(POOLED)) is not None]
    if not beyond:
        return False  # it claimed nothing at all
    ahead = _interval(beyond, 0.95).low
    if control in MUST_FAIL:
        return ahead is None or ahead <= 0
    return control == "order" and ahead is not None and ahead > 0


def _beyond(attack: Mapping[int, StrikeCounts], control: Mapping[int, StrikeCounts]) -> dict[int, StrikeCounts]:
    """Return the claims of an attack, with the rate of its control in place of the baseline."""
    usual = _share(control[POOLED]) or 0.0
    shares = {scope: _share(control.get(scope)) for scope in attack}
    return {
        scope: claim._replace(expected=claim.tried * (usual if share is None else share))
        for (scope, claim), share in zip(attack.items(), shares.values(), strict=True)
    }


def _share(claims: StrikeCounts | None) -> float | None:
    return claims.right / claims.tried if claims is not None and claims.tried else None
