"""How far the attacks of some runs lead chance, and which step of the ladder of attackers leads furthest."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from decloak.measure.kernels.lead import Claims, repeated_lead, resampled_lead, total
from decloak.measure.kernels.statistics import Interval
from decloak.report.card import controls_of
from decloak.report.knowledge import listed
from decloak.report.study import Study
from decloak.report.verdict_words import about, in_hundred
from decloak.store.claims import claims_of
from decloak.store.results import attacks_of
from decloak.store.studies import StudyRun

__all__ = ["Lead", "attacks_beyond_chance", "leads_of", "steps"]

POOLED = -1


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

    @property
    def pooled(self) -> Claims:
        return total(self.repetitions)

    @property
    def about(self) -> str:
        """What the interval is about."""
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
    """The attacks that strike items or give them to records, and do not toss coins."""
    controls = controls_of(connection, runs)
    attacks = (attack for run in runs for attack in attacks_of(connection, run.run))
    guessing = (attack.label for attack in attacks if attack.form in ("eliminate", "reassociate"))
    return [label for label in dict.fromkeys(guessing) if label not in controls]


def leads_of(connection: sqlite3.Connection, runs: Sequence[StudyRun], attacks: Sequence[str]) -> list[Lead]:
    knows = {(run.run, attack.label): attack.knows for run in runs for attack in attacks_of(connection, run.run)}
    claims = {run.run: claims_of(connection, run.run) for run in runs}
    variants: dict[str, list[int]] = {}
    for run in runs:
        variants.setdefault(run.variant, []).append(run.run)
    level = 1 - 0.05 / max(1, len(attacks) * len(variants))
    leads = []
    for variant, numbers in variants.items():
        for attack in attacks:
            made = [[claim for claim in claims[number] if claim.attack == attack] for number in numbers]
            repetitions = tuple(Claims(*claim[2:]) for one in made for claim in one if claim.scope == POOLED)
            if not repetitions:
                continue
            tables = [Claims(*claim[2:]) for claim in made[0] if claim.scope != POOLED]
            interval = repeated_lead(repetitions, level) if len(repetitions) > 1 else resampled_lead(tables, level)
            made_here = runs[0].config.get("anonymise") is not None
            leads.append(Lead(variant, attack, repetitions, interval, made_here, knows.get((numbers[0], attack), "")))
    return leads


def steps(study: Study, leads: Sequence[Lead], winner: Lead) -> list[str]:
    """How often each step of the ladder was right, by the attack on it that won back most, where there are several."""
    here = _beside(study, winner.variant)
    best: dict[str, Lead] = {}
    for lead in leads:
        if lead.variant in here and lead.knows:
            before = best.setdefault(lead.knows, lead)
            best[lead.knows] = max(before, lead, key=lambda one: one.worth(study))
    if len(best) < 2:
        return []
    right = [
        f"{knows} {in_hundred(lead.pooled.right, lead.pooled.tried)} ({lead.attack})" for knows, lead in best.items()
    ]
    return [f"Right in 100 by what is known: {listed(right)}; most is shown to come back by {winner.knows}."]


def _beside(study: Study, variant: str) -> set[str]:
    """The variants that differ from this one in nothing but what the attacker knows."""
    configs = {run.variant: _without_knowledge(run.config) for run in study.runs}
    return {name for name, config in configs.items() if config == configs.get(variant)}


def _without_knowledge(config: Any) -> dict[str, Any]:
    attacker = {key: value for key, value in (config.get("attacker") or {}).items() if key != "knows"}
    return {key: value for key, value in config.items() if key != "attack"} | {"attacker": attacker}
