"""The figures of each variant of some runs, read from the store for the decision table."""

import json
import math
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from decloak.data.forms import FormName
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.measure.coverage import LEAST
from decloak.measure.kernels.advantage import repetitions_needed, wilson
from decloak.measure.kernels.statistics import Interval, quantile
from decloak.releases.registry import form_of
from decloak.report.compare.attacks import AttackAdvantage, advantages_of, attacks_with_baseline
from decloak.report.risk_card import RELEASE, ExposureCard, exposure_cards
from decloak.report.study import Study
from decloak.report.verdict import (
    MOST_ADVANTAGE,
    MOST_INFERENCE,
    Advantage,
    Decision,
    Figures,
    Guarantee,
    People,
    Recovery,
    decide,
)
from decloak.rules.load import parse_rule
from decloak.scenario.criteria import JudgedCriteria, judged_criteria
from decloak.store.releases import knows_originals
from decloak.store.results import attacks_of, release_of

KNOWN_ITEMS = (1, 2, 3)
FEW_AT_PLACE = 4
"""Rows at their original places that a random order leaves there with a probability below 2%."""
STATED = ("k", "m", "l")
"""The settings of a method that its guarantee is stated by."""


@dataclass(frozen=True)
class VariantSettings:
    """The settings of a variant that its verdict mentions."""

    name: str
    run: int
    """The newest run."""
    several: bool
    """True if there are other variants."""
    repetitions: int
    differing: bool
    """True if a further repetition would draw random numbers again."""
    originals: bool
    form: FormName
    card: ExposureCard | None
    count_error: float | None
    knowledge_levels: frozenset[str]
    """The knowledge levels that some attack has."""
    levels_elsewhere: frozenset[str]
    """The knowledge levels that some attack on another variant has."""
    attacks: int
    """Attacks that were compared."""
    leads: Mapping[str, AttackAdvantage]
    claims: Mapping[str, float]
    """The number of claims of each attack, also without ground truth."""
    accepted: JudgedCriteria | None
    """The criteria of the scenario, judged."""

    def repetitions_needed(self, attack: str) -> int | None:
        """Return how many repetitions would decide on other data; None if they do not differ, or are too many."""
        lead = self.leads.get(attack)
        if lead is None or not self.differing or len(lead.repetitions) < 2:
            return None
        return repetitions_needed(lead.repetitions, lead.level, above=0.0, below=MOST_ADVANTAGE)


@dataclass(frozen=True)
class Judged:
    """A variant with its figures and its decision."""

    figures: Figures
    decision: Decision
    settings: VariantSettings


def judged_variants(connection: sqlite3.Connection, study: Study) -> list[Judged]:
    """Return the decision about every variant of some runs, in their order."""
    learned = attacks_with_baseline(connection, study)
    leads = advantages_of(connection, study.runs, learned)
    cards = {card.variant: card for card in exposure_cards(connection, study)}
    reader = _Reader(connection, study, learned, leads, cards)
    return [reader.judged(name, runs) for name, runs in study.variants]


@dataclass(frozen=True)
class _Reader:
    connection: sqlite3.Connection
    study: Study
    attacks: Sequence[str]
    leads: Sequence[AttackAdvantage]
    cards: Mapping[str, ExposureCard]

    def judged(self, name: str, runs: Sequence[int]) -> Judged:
        figures = self._figures(name, runs)
        return Judged(figures, decide(figures), self._settings(name, runs))

    def _settings(self, name: str, runs: Sequence[int]) -> VariantSettings:
        release = release_of(self.connection, runs[-1])
        form = form_of(self.connection, release).name
        config = next(run.config for run in self.study.runs if run.run == runs[-1])
        claims = {
            attack: max((self.study.mean(runs, key, attack) or 0.0) for key in ("eliminated", "assigned", "findings"))
            for attack in self.attacks
        }
        return VariantSettings(
            name=name,
            run=runs[-1],
            several=len(self.study.variants) > 1,
            repetitions=len(runs),
            differing=any(lead.random for lead in self.leads if lead.variant == name),
            originals=knows_originals(self.connection, release),
            form=form,
            card=self.cards.get(name),
            count_error=self.study.mean(runs, "count_error"),
            knowledge_levels=self._levels(runs),
            levels_elsewhere=self._levels({run for run, _ in self.study.knows}.difference(runs)),
            attacks=len(self.attacks),
            leads={lead.attack: lead for lead in self.leads if lead.variant == name},
            claims=claims,
            accepted=judged_criteria(
                config, form, [self.study.pooled[run] for run in runs], self.study.negative_controls
            ),
        )

    def _levels(self, runs: Collection[int]) -> frozenset[str]:
        known = (knows for (run, _), knows in self.study.knows.items() if run in runs)
        return frozenset(level for knows in known for level in knows.split(" + "))

    def _figures(self, name: str, runs: Sequence[int]) -> Figures:
        card = self.cards.get(name)
        records = 0 if card is None else card.records
        form = form_of(self.connection, release_of(self.connection, runs[-1])).name
        chunks, members = form == FormName.DISASSOCIATED, People(self.study.mean(runs, "revealed_by_members"))
        # These forms have no members in brackets.
        no_members = form in (FormName.DISASSOCIATED, FormName.ITEMSETS)
        return Figures(
            people=0 if card is None else card.people,
            identifiers=People(self.study.mean(runs, "reidentified_by_id")),
            row_order=People(at_place(self.study.mean(runs, "reidentified_by_order"), records)),
            member_order=People(applies=False) if no_members else members,
            singled_out={q: self._released(runs, f"singled_out_{q}", card) for q in KNOWN_ITEMS},
            after_attack={q: self._worst(runs, f"singled_out_{q}", card) for q in KNOWN_ITEMS},
            exposed={q: self._people_in_draw(runs, f"exposed_{q}") for q in KNOWN_ITEMS},
            implied=self._worst(runs, "implied", card),
            implied_outside=People(
                self.study.mean(runs, "implied_control"), of=self.study.whole(runs, "implied_control")
            ),
            certain_links=self._certain_link_people(runs),
            covered=self._by_attack(runs, "vulnerable_records") if chunks else People(applies=False),
            inference={ending: self._inference(runs, ending) for ending in MOST_INFERENCE},
            recoveries=tuple(self._recoveries(name, runs)),
            guarantees=tuple(self._guarantees(runs)),
            comparisons=max(1, len(self.attacks) * len(self.study.variants)),
        )

    def _worst(self, runs: Sequence[int], key: str, card: ExposureCard | None) -> People:
        """Read a number of people, as the release or the strongest attack has it, whichever is more."""
        original = self.study.mean(runs, f"{key}_original")
        cell = None if card is None else card.cells.get(key)
        if card is not None and cell is not None:
            worst = card.around(cell.worst)
            if worst is None:
                return People(original=original)
            high = worst.high if card.sampled else None
            return People(worst.mean, original, high, "" if cell.source in (None, RELEASE) else str(cell.source))
        return People(original=original)

    def _released(self, runs: Sequence[int], key: str, card: ExposureCard | None) -> People:
        """Read a number of people, as the release alone has it."""
        original, release = (self.study.mean(runs, f"{key}{way}") for way in ("_original", "_release"))
        around = None if card is None or not card.sampled else card.around(Interval(release, None, None, 1))
        return People(release, original, None if around is None else around.high)

    def _people_in_draw(self, runs: Sequence[int], key: str) -> People:
        """Read a number of people among those who were looked up, with Wilson's bound where these are a sample."""
        release, original = (self.study.mean(runs, f"{key}_{way}") for way in ("release", "original"))
        found = self._by_attack(runs, key)
        found = People(release) if found.count is None else found
        of = self.study.whole(runs, f"{key}_release")
        if found.count is None or of is None:
            return People()
        sampled = of < max(self.study.sizes.get(run, 0) for run in runs)
        high = of * wilson(found.count / of, quantile(math.inf, 0.025) ** 2 / of)[1] if sampled and of else None
        attack = found.attack if release is None or found.count > release else ""
        return People(found.count, original, high, attack, of=of)

    def _certain_link_people(self, runs: Sequence[int]) -> People:
        """Read the people with a certain link; without an attack that has probabilities the count is zero."""
        found = self._by_attack(runs, "certain_links_people")
        given = knows_originals(self.connection, release_of(self.connection, runs[-1])) and self.attacks
        # Attacks without probabilities were run, and are certain of nothing.
        return People(applies=False) if found.count is None and given else found

    def _by_attack(self, runs: Sequence[int], key: str) -> People:
        """Read the largest number of people that some attack gives."""
        attacks = self.study.real_attacks
        counts = {attack: count for attack in attacks if (count := self.study.mean(runs, key, attack)) is not None}
        attack = max(counts, key=lambda attack: counts[attack], default="")
        return People(counts.get(attack), attack=attack)

    def _inference(self, runs: Sequence[int], ending: str) -> Advantage:
        """Read the largest inference advantage over the numbers of known items."""
        found = [
            Advantage(*(self.study.mean(runs, f"{key}{part}") for part in ("", "_low", "_high")))
            for key in (f"inference_advantage_{q}{ending}" for q in KNOWN_ITEMS)
        ]
        # The attacker chooses the number of known items that serves best.
        known = [advantage for advantage in found if advantage.mean is not None]
        return max(known, key=lambda advantage: advantage.mean or 0.0, default=Advantage())

    def _recoveries(self, name: str, runs: Sequence[int]) -> Iterator[Recovery]:
        # An attack without a lead claimed nothing, or was not measured.
        leads = {lead.attack: lead for lead in self.leads if lead.variant == name}
        for attack in self.attacks:
            coverage, least = self._coverage(runs, attack)
            if attack in leads:
                lead = leads[attack]
                tried, right, expected = lead.pooled
                bounds = Advantage(lead.interval.mean, lead.interval.low, lead.interval.high)
                p = tuple(self.study.values(runs, "p_random", attack))
                yield Recovery(attack, tried, right, expected, p, bounds, coverage, lead.survived, least)
            elif any(("p_random", attack) in self.study.figures[run] for run in runs):
                # It was measured, and it claims nothing.
                yield Recovery(attack, 0.0, 0.0, 0.0, coverage=coverage, least=least)

    def _coverage(self, runs: Sequence[int], attack: str) -> tuple[float | None, float]:
        """Read what share of its pairs an attack knows something of, or of its cells where it has no pairs."""
        least = self.study.mean(runs, "coverage_least", attack)
        shares = (self.study.mean(runs, key, attack) for key in ("coverage_pairs", "coverage_occurrences"))
        # An attack without either needs no scores.
        return next((share for share in shares if share is not None), 1.0), LEAST if least is None else least

    def _guarantees(self, runs: Sequence[int]) -> Iterator[Guarantee]:
        """Read the guarantee of the method, and the guarantees that rules check."""
        method, text = self.connection.execute(
            "select method, parameters from release where id = ?", (release_of(self.connection, runs[-1]),)
        ).fetchone()
        parameters = _parameters(text)
        violations = [value for value in self.study.values(runs, "guarantee_violations") if value is not None]
        if violations:
            # One repetition that violates the guarantee is enough.
            yield Guarantee(_stated(method, parameters), max(violations) == 0)
        for run in runs:
            for attack in attacks_of(self.connection, run):
                rare = self.study.figures[run].get(("findings", attack.label))
                if attack.form == "itemsets" and parse_rule(attack.text).name == "km_violation" and rare is not None:
                    k, m = (attack.settings.get(name) for name in ("k", "m"))
                    items = "item" if m == 1 else "items"
                    words = f"every set of up to {m} {items} in 0 or at least {k} records, {attack.label}"
                    yield Guarantee(words, rare == 0)


def at_place(count: float | None, records: int) -> float | None:
    """Return zero if as few rows are at their original places as in a random order."""
    # A random order leaves one row at its place on average, and this is no leak.
    return 0.0 if count is not None and count < min(FEW_AT_PLACE, records) else count


def _parameters(text: str) -> Mapping[str, object]:
    value = json.loads(text)
    return value if isinstance(value, dict) else {}


def _stated(method: str, parameters: Mapping[str, object]) -> str:
    """Name a method and the settings that its guarantee is stated by."""
    said = [f"{name} = {parameters[name]:,}" for name in STATED if isinstance(parameters.get(name), int)]
    if isinstance(privacy := parameters.get("privacy"), int):
        said.append(f"{privacy:,} protected set{'s' * (privacy != 1)}")
    named = "" if method == "unknown" else f"{method}: "
    return f"{named}{', '.join(said)}" if said else method


def levels_not_tried(knowledge_levels: frozenset[str]) -> list[KnowledgeLevel]:
    """Return the knowledge levels that no attack has."""
    return [knowledge_level for knowledge_level in KnowledgeLevel if str(knowledge_level) not in knowledge_levels]
