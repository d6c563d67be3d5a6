"""What came of some runs in a few sentences, by a rule and not by taste.

Of each attack the lead is how much more often it was right than chance, on the same tables, with an interval at the
level 1 - .05 / n when n attacks in all are looked at (those that toss coins are the control and do not count).
Something *comes back* when the lower bound of some lead is above 0; *nothing beyond guessing* does when the upper
bounds of all are below MARGIN; else these runs *cannot tell*. The attack that is spoken of is the one with the most
right beyond chance, not the most precise one, which may have struck next to nothing.

What needs no guess is told beside that, or in its place: cover problems that hit records, itemsets in too few,
a release that hides nothing, and whom two known items lead to whatever the attack.
"""

import sqlite3
from collections.abc import Collection, Sequence
from enum import StrEnum
from math import fsum
from typing import Any, NamedTuple

from decloak.data.rungs import Rung, step_name
from decloak.measure.kernels.lead import repetitions_needed
from decloak.measure.kernels.statistics import interval
from decloak.report.knowledge import attacker_phrase, listed
from decloak.report.leads import Lead, attacks_beyond_chance, leads_of, steps, unproven
from decloak.report.study import Study
from decloak.report.verdict_words import (
    WHATEVER,
    considered,
    deed,
    digits_of,
    filled,
    in_hundred,
    points,
    times,
    way,
    whatever,
)
from decloak.rules.load import parse_rule
from decloak.store.results import attacks_of
from decloak.store.studies import StudyRun

__all__ = ["Conclusion", "Outcome", "conclusion", "judged"]

MARGIN = 0.02
"""A lead that nobody need mind."""
MUCH = 0.1
"""Of all there was to win back, won back beyond chance."""
UNKNOWN = "What comes back cannot be measured: the originals were not given"


class Outcome(StrEnum):
    """What there is to say, from the worst."""

    COMES_BACK = "comes back"
    CANNOT_TELL = "cannot tell"
    NOT_MEASURED = "not measured"
    NOTHING = "nothing beyond guessing"


class Conclusion(NamedTuple):
    """The outcome, a heading, and sentences with all it rests on."""

    outcome: Outcome
    heading: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it as one paragraph."""
        return filled(" ".join((f"{self.heading}.", *self.sentences)))

    def as_json(self) -> dict[str, Any]:
        return {"outcome": str(self.outcome), "heading": self.heading, "sentences": list(self.sentences)}


def conclusion(connection: sqlite3.Connection, study: Study) -> Conclusion:
    """What came of runs of one scenario."""
    learned = attacks_beyond_chance(connection, study.runs)
    every = [_by_persons(study), _by_frequency(connection, study), _in_the_open(study)]
    without_guessing = [each for each in every if each is not None]
    found = min(without_guessing, key=lambda each: each.outcome != Outcome.COMES_BACK, default=None)
    if not learned:
        nobody = "No attack was run that learns anything: what there is goes by chance, or finds no items."
        return found or Conclusion(Outcome.CANNOT_TELL, "These runs cannot tell", (nobody, *whatever(study)))
    leads = leads_of(connection, study.runs, learned)
    if not leads:
        return found if found and found.outcome == Outcome.COMES_BACK else _unknown(study, learned)
    return judged(study, leads, learned, found)


def judged(study: Study, leads: Sequence[Lead], attacks: Sequence[str], found: Conclusion | None) -> Conclusion:
    proven = [lead for lead in leads if lead.interval.low is not None and lead.interval.low > 0 and not lead.survived]
    placed = found if found is not None and found.outcome == Outcome.COMES_BACK else None
    if proven:
        winner = max(proven, key=lambda lead: lead.worth(study))
        return _comes_back(
            study, winner, attacks, [*steps(study, leads, winner), *unproven(study, leads, winner)], placed
        )
    if placed is not None:
        return placed
    if all(lead.interval.high is not None and lead.interval.high < MARGIN for lead in leads):
        return _nothing(study, leads, attacks)
    return _undecided(study, max(leads, key=lambda lead: lead.worth(study)), attacks, leads)


def _comes_back(
    study: Study, lead: Lead, attacks: Sequence[str], by_step: Sequence[str], placed: Conclusion | None
) -> Conclusion:
    """What the attack won back beyond chance, beside other steps of the ladder, and what needs no guessing."""
    pooled, n, digits = lead.pooled, len(lead.repetitions), digits_of(lead.interval)
    run = _run_of(study, lead.variant)
    added = fsum(study.figures[other.run].get(("added", lead.attack)) or 0 for other in study.runs
                 if other.variant == lead.variant)  # fmt: skip
    much = lead.beyond >= MUCH * added if added else lead.interval.low is not None and lead.interval.low > MUCH
    little = placed is None and lead.interval.high is not None and lead.interval.high < MARGIN
    amount = "Much" if much else "Very little" if little else "Some"
    heading = f"{amount} of what {_release(study, lead)} hides comes back"
    who = attacker_phrase(run.config, lead.knows)
    what = deed(pooled.tried / n, added > 0)
    right = (
        f"{who} {what} and is right {in_hundred(pooled.right, pooled.tried, digits)} times in 100 with the attack "
        f"{lead.attack}; guessing would be right {in_hundred(pooled.by_chance, pooled.tried, digits)} times."
    )
    mean, low, high = (points(bound, digits) for bound in (lead.interval.mean, lead.interval.low, lead.interval.high))
    gain = (
        f"The gain is {mean} points ({low} to {high} with 95% confidence, {considered(attacks, study)}, {lead.about})."
    )
    beside = [sentence for sentence in (placed.sentences if placed else ()) if not sentence.startswith(WHATEVER)]
    return Conclusion(
        Outcome.COMES_BACK, heading, (right, gain, *by_step, *beside, *whatever(study, lead.variant, named=True))
    )


def _nothing(study: Study, leads: Sequence[Lead], attacks: Sequence[str]) -> Conclusion:
    highest = max(lead.interval.high or 0.0 for lead in leads)
    widest = max(leads, key=lambda lead: lead.interval.high or 0.0)
    run, pooled = _run_of(study, widest.variant), widest.pooled
    heading = f"{'This attack wins' if len(attacks) == 1 else 'These attacks win'} back nothing beyond guessing"
    who = attacker_phrase(run.config, step_name({rung for lead in leads for rung in lead.knows.split(" + ")}))
    guessing = (
        f"{who} is right no more often than by chance: guessing is right "
        f"{in_hundred(pooled.by_chance, pooled.tried)} times in 100, and no attack tried is better by more than "
        f"{max(0.0, 100 * highest):.1f} points (95%, {considered(attacks, study)}, "
        f"{widest.about}; below {100 * MARGIN:g} points counts as nothing)."
    )
    more = "An attacker who knows more may win back more."
    return Conclusion(Outcome.NOTHING, heading, (guessing, more, *whatever(study, widest.variant)))


def _undecided(study: Study, lead: Lead, attacks: Sequence[str], leads: Sequence[Lead]) -> Conclusion:
    pooled, n, interval, digits = lead.pooled, len(lead.repetitions), lead.interval, digits_of(lead.interval)
    run = _run_of(study, lead.variant)
    who = attacker_phrase(run.config, lead.knows)
    heading = f"{times(n).capitalize()} cannot tell"
    if not pooled.tried:
        return Conclusion(Outcome.CANNOT_TELL, heading, (_idle(who), *whatever(study, lead.variant)))
    seen = (
        f"{who} was right {in_hundred(pooled.right, pooled.tried, digits)} times in 100 with the attack "
        f"{lead.attack} where guessing would be {in_hundred(pooled.by_chance, pooled.tried, digits)}"
    )
    if lead.survived and interval.low is not None and interval.low > 0:
        between = f"{seen}, and so was what had nothing to go by: that it learned anything is not shown."
    elif interval.low is None or interval.high is None:
        between = f"{seen}, which {'one release' if n == 1 else 'equal repetitions'} alone cannot tell from chance."
    else:
        between = (
            f"{seen}, but with {considered(attacks, study)} the true gain lies anywhere between "
            f"{way(interval.low, digits)} and {way(interval.high, digits)} (95%, {lead.about})."
        )
    flagged = unproven(study, leads, None)
    return Conclusion(
        Outcome.CANNOT_TELL, heading, (between, *flagged, *_more(lead, len(leads)), *whatever(study, lead.variant))
    )


def _more(lead: Lead, considered: int) -> list[str]:
    """How many repetitions would decide."""
    if len(lead.repetitions) < 2:
        random = lead.random and "repetitions would tell: repeat: {times: 10}"
        return [f"More {random or 'records of the same kind would tell'}."]
    level = 1 - 0.05 / considered
    needed = repetitions_needed(lead.repetitions, level, above=0.0, below=MARGIN)
    if needed is None:
        return ["If they go on like this, a thousand repetitions do not decide either."]
    return [f"If they go on like this, {needed} repetitions decide: repeat: {{times: {needed}}}."]


def _unknown(study: Study, attacks: Sequence[str]) -> Conclusion:
    last = study.runs[-1]
    figures = study.figures[last.run]
    struck = [(name, figures.get(("struck", name)) or figures.get(("findings", name)) or 0.0) for name in attacks]
    if not any(count for _, count in struck):
        idle = _idle(attacker_phrase(last.config))
        return Conclusion(Outcome.CANNOT_TELL, "These runs cannot tell", (idle, *whatever(study)))
    counts = listed([f"{name} {count:,.0f}" for name, count in struck])
    heading, tells = UNKNOWN, "only the publisher can tell"
    if study.values([last.run], "singled_out_2_original")[0] is not None:
        heading, tells = "What comes back was not measured", "'measure: [recovery, accuracy]' tells"
    said = f"Items struck or given to records: {counts}; how many rightly, {tells}."
    return Conclusion(Outcome.NOT_MEASURED, heading, (said, *_placed_by_cover(study), *whatever(study)))


def _placed_by_cover(study: Study) -> list[str]:
    """What cover problems let somebody place who knows items of persons, where nobody can tell of whom."""
    worst = _worst(study, "vulnerable_items")
    if worst is None or worst[2] <= 0:
        return []
    run, attack, count = worst
    who = attacker_phrase({"attacker": run.config.get("attacker")}, Rung.PERSON)
    items = "item of a cluster" if count == 1 else "items of clusters"
    return [
        f"{who} can place {count:,.0f} {items} that the release was to keep apart, where somebody has them ({attack})."
    ]


def _idle(who: str) -> str:
    return f"{who} had nothing to go by: no attack claimed anything."


def _in_the_open(study: Study) -> Conclusion | None:
    """That some release shows whole what it is of: then no attack is needed."""
    for variant, runs in study.variants:
        if interval(study.values(runs, "hidden")).mean == 0:
            release = f"The release with {variant}" if study.varied else "This release"
            shown = "All that its records hold is shown with them, so that no attack is needed to win anything back."
            sentences = (shown, *whatever(study, variant, named=True))
            return Conclusion(Outcome.COMES_BACK, f"{release} hides nothing", sentences)
    return None


def _by_persons(study: Study) -> Conclusion | None:
    """What cover problems give away to somebody who knows items of persons."""
    worst = _worst(study, "vulnerable_records")
    if worst is None:
        by_cover = _placed_by_cover(study)
        return Conclusion(Outcome.NOT_MEASURED, UNKNOWN, (*by_cover, *whatever(study))) if by_cover else None
    run, attack, count = worst
    who = attacker_phrase({"attacker": run.config.get("attacker")}, Rung.PERSON)
    records = f"{count:,.0f} of the {study.sizes.get(run.run) or 0:,} records"
    if count > 0:
        placed = f"{who} can place items that the release was to keep apart in {records} ({attack})."
        return Conclusion(
            Outcome.COMES_BACK, "Some of what this release hides comes back", (placed, *whatever(study, run.variant))
        )
    none = f"{who} can place no items by cover problems ({attack}); no attack that guesses was tried."
    return Conclusion(Outcome.CANNOT_TELL, "These runs cannot tell", (none, *whatever(study, run.variant)))


def _by_frequency(connection: sqlite3.Connection, study: Study) -> Conclusion | None:
    """Sets of items that too few records show; who asked, the method or the scenario, is told by k and m alone."""
    counting = {
        attack.label
        for run in study.runs
        for attack in attacks_of(connection, run.run)
        if attack.form == "itemsets" and parse_rule(attack.text).name == "km_violation"
    }
    worst = _worst(study, "findings", counting)
    if worst is None:
        return None
    run, attack, count = worst
    bounds = next(ran.settings for ran in attacks_of(connection, run.run) if ran.label == attack)
    k, m = bounds["k"], bounds["m"]
    sets = f"of at most {m} item{'s' * (m > 1)}"
    if count > 0:
        found = f"set {sets} is" if count == 1 else f"sets {sets} are"
        broken = f"{count:,.0f} {found} in fewer than k = {k} records ({attack})."
        return Conclusion(
            Outcome.COMES_BACK,
            f"What is known of a person may leave fewer than {k} records",
            (broken, *whatever(study, run.variant)),
        )
    kept = f"Every set {sets} that a record shows is in k = {k} records or more ({attack})"
    tried = f"{kept}; no attack that guesses what is meant was tried."
    return Conclusion(
        Outcome.CANNOT_TELL, "These runs cannot tell what comes back", (tried, *whatever(study, run.variant))
    )


def _worst(study: Study, measure: str, attacks: Collection[str] | None = None) -> tuple[StudyRun, str, float] | None:
    """The run and attack with the highest value of a figure."""
    values = [
        (value, run, attack)
        for run in study.runs
        for (name, attack), value in study.figures[run.run].items()
        if name == measure and value is not None and (attacks is None or attack in attacks)
    ]
    if not values:
        return None
    value, run, attack = max(values, key=lambda entry: entry[0])
    return run, attack, value


def _run_of(study: Study, variant: str) -> StudyRun:
    return next(run for run in study.runs if run.variant == variant)


def _release(study: Study, lead: Lead) -> str:
    return f"the release with {lead.variant}" if study.varied else "this release"
