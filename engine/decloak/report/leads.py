"""How far the attacks of some runs lead chance, and which step of the ladder of attackers leads furthest."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decloak.attack.controls import SPOILT
from decloak.data.rungs import Rung
from decloak.measure.family import POOLED
from decloak.measure.kernels.lead import Claims, repeated_lead, resampled_lead, total
from decloak.measure.kernels.statistics import Interval
from decloak.report.card import controls_of
from decloak.report.knowledge import listed
from decloak.report.study import Study
from decloak.report.verdict_words import about, in_hundred
from decloak.rules.load import parse_rule
from decloak.store.reading import idle
from decloak.store.relations import STRIKES
from decloak.store.results import ClaimCount, RunAttack, attacks_of, claims_of
from decloak.store.studies import StudyRun

__all__ = ["Lead", "attacks_beyond_chance", "leads_of", "steps", "unproven"]


@dataclass(frozen=True)
class Lead:
    """An attack in a variant, over its repetitions or over the tables of its one release."""

    variant: str
    attack: str
    repetitions: tuple[Claims, ...]
    interval: Interval
    random: bool
    """Whether there is anything to repeat: a release that was made here."""
    knows: str = ""
    """The step of the ladder of attackers."""
    survived: tuple[str, ...] = ()
    """The controls that show that the lead is not due to what the attack learned."""

    @property
    def pooled(self) -> Claims:
        return total(self.repetitions)

    @property
    def about(self) -> str:
        return about(len(self.repetitions), self.interval)

    @property
    def beyond(self) -> float:
        """How many more were right than by chance."""
        return self.pooled.right - self.pooled.by_chance

    def worth(self, study: Study) -> float:
        """The same for each record: comparable between releases of different sizes."""
        sizes = [study.sizes[run.run] for run in study.runs if run.variant == self.variant]
        return self.beyond / max(1, sum(sizes))


def attacks_beyond_chance(connection: sqlite3.Connection, runs: Sequence[StudyRun]) -> list[str]:
    """The attacks that strike items or give them to records, and neither toss coins nor are controls of others; those
    by facts where they found some.
    """
    controls = controls_of(connection, runs)
    attacks = (attack for run in runs for attack in attacks_of(connection, run.run))
    guessing = (attack.label for attack in attacks if _guesses(connection, attack))
    return [label for label in dict.fromkeys(guessing) if label not in controls]


def _guesses(connection: sqlite3.Connection, attack: RunAttack) -> bool:
    if attack.form in ("eliminate", "reassociate"):
        return True
    by_facts = STRIKES.issubset(parse_rule(attack.text).derives.columns)
    return by_facts and idle(connection, attack.attack) is None


def leads_of(connection: sqlite3.Connection, runs: Sequence[StudyRun], attacks: Sequence[str]) -> list[Lead]:
    """The leads of attacks in every variant."""
    variants: dict[str, list[StudyRun]] = {}
    for run in runs:
        variants.setdefault(run.variant, []).append(run)
    level = 1 - 0.05 / max(1, len(attacks) * len(variants))
    every = [_leads(connection, variant, of_variant, attacks, level) for variant, of_variant in variants.items()]
    return [lead for leads in every for lead in leads]


def _leads(
    connection: sqlite3.Connection, variant: str, runs: Sequence[StudyRun], attacks: Sequence[str], level: float
) -> Iterator[Lead]:
    """The leads in one variant, over its repetitions, or over the tables of one release."""
    claims = [_by_scope(claims_of(connection, run.run)) for run in runs]
    ran = {attack.label: attack for attack in attacks_of(connection, runs[0].run)}
    for name in attacks:
        made = tuple(of_run[name][POOLED] for of_run in claims if POOLED in of_run.get(name, ()))
        if made:
            interval = _interval([of_run.get(name, {}) for of_run in claims], level)
            spoilt = {other.control or "": label for label, other in ran.items() if other.is_control_of(ran[name])}
            survived = tuple(c for c, label in spoilt.items() if _survives(claims, name, label, c))
            made_here = runs[0].config.get("anonymise") is not None
            yield Lead(variant, name, made, interval, made_here, ran[name].knows, survived)


def _by_scope(claims: Iterable[ClaimCount]) -> dict[str, dict[int, Claims]]:
    """The claims of each attack by table, and of all its tables."""
    by_scope: dict[str, dict[int, Claims]] = {}
    for attack, scope, *counts in claims:
        by_scope.setdefault(attack, {})[scope] = Claims(*counts)
    return by_scope


def _interval(claims: Sequence[Mapping[int, Claims]], level: float) -> Interval:
    if len(claims) > 1:
        return repeated_lead([of_run[POOLED] for of_run in claims if POOLED in of_run], level)
    return resampled_lead([claim for scope, claim in claims[0].items() if scope != POOLED], level)


def _survives(claims: Sequence[Mapping[str, Mapping[int, Claims]]], attack: str, label: str, control: str) -> bool:
    """Whether a control speaks against an attack: one that leaves nothing to learn does as well as far as one can tell,
    one that must change nothing does worse.
    """
    beside = [(of_run.get(attack, {}), of_run.get(label, {})) for of_run in claims]
    beyond = [_beyond(mine, other) for mine, other in beside if _share(other.get(POOLED)) is not None]
    if not beyond:
        return False  # it claimed nothing at all
    ahead = _interval(beyond, 0.95).low
    if ahead is None:  # repetitions that do not differ are one release
        ahead = _interval(beyond[:1], 0.95).low
    if control in SPOILT:
        return ahead is None or ahead <= 0
    return control == "order" and ahead is not None and ahead > 0


def _beyond(attack: Mapping[int, Claims], control: Mapping[int, Claims]) -> dict[int, Claims]:
    """The claims of an attack, with what its control would have had right of as many in place of chance."""
    usual = _share(control[POOLED]) or 0.0
    shares = {scope: _share(control.get(scope)) for scope in attack}
    return {
        scope: claim._replace(by_chance=claim.tried * (usual if share is None else share))
        for (scope, claim), share in zip(attack.items(), shares.values(), strict=True)
    }


def _share(claims: Claims | None) -> float | None:
    return claims.right / claims.tried if claims is not None and claims.tried else None


def steps(study: Study, leads: Sequence[Lead], winner: Lead) -> list[str]:
    """How often each step of the ladder was right, by the attack on it that won back most, where there are several."""
    here = _beside(study, winner.variant)
    best: dict[str, Lead] = {}
    for lead in leads:
        if lead.variant in here and lead.knows and not lead.survived:
            before = best.setdefault(lead.knows, lead)
            best[lead.knows] = max(before, lead, key=lambda one: one.worth(study))
    if len(best) < 2:
        return []
    right = [
        f"{knows} {in_hundred(lead.pooled.right, lead.pooled.tried)} ({lead.attack})" for knows, lead in best.items()
    ]
    by = "nothing but the release" if winner.knows == Rung.NOTHING else winner.knows
    return [f"Right in 100 by what is known: {listed(right)}; most is shown to come back by {by}."]


def _beside(study: Study, variant: str) -> set[str]:
    """The variants that differ from this one in nothing but what the attacker knows."""
    configs = {run.variant: _without_knowledge(run.config) for run in study.runs}
    return {name for name, config in configs.items() if config == configs.get(variant)}


def _without_knowledge(config: Any) -> dict[str, Any]:
    attacker = {key: value for key, value in (config.get("attacker") or {}).items() if key != "knows"}
    return {key: value for key, value in config.items() if key != "attack"} | {"attacker": attacker}


def unproven(study: Study, leads: Sequence[Lead], winner: Lead | None) -> list[str]:
    """What leads chance further than what is counted as a win, and owes it to nothing that was learned."""
    flagged = [lead for lead in leads if lead.survived and lead.beyond > 0]
    if winner is not None:
        flagged = [lead for lead in flagged if lead.worth(study) > winner.worth(study)]
    if not flagged:
        return []
    lead = max(flagged, key=lambda each: each.worth(study))
    controls = listed([f"{lead.attack}_{control}" for control in lead.survived])
    have = "has" if len(lead.survived) == 1 else "have"
    return [f"{lead.attack} is not counted: it is not shown to be ahead of {controls}, which {have} nothing to go by."]
