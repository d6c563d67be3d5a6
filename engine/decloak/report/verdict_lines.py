"""The sentences of a verdict: a label and a text for each line, the worst finding first.

With the people that each variant exposes it is the account of some runs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from decloak.data.forms import FormName
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.report.compare.attacks import AttackPair, attack_pairs
from decloak.report.headlines import (
    HEADLINES,
    advantage_text,
    after_step,
    capitalise,
    claims_text,
    compare_with_random,
    despite_guarantee,
    implied_text,
    in_original,
    missing_recovery,
    of_people,
    transfer_to_other_data,
    unknown_figures,
)
from decloak.report.risk_card import ExposureCard, exposure_cards, pooled_cards
from decloak.report.risk_tables import short_titles
from decloak.report.study import Study
from decloak.report.verdict import (
    CRITERIA,
    MOST_ADVANTAGE,
    MOST_INFERENCE,
    Outcome,
    People,
)
from decloak.report.verdict_figures import Judged, judged_variants, levels_not_tried
from decloak.report.wording import WIDTH, count, listed, percent
from decloak.scenario.criteria import JudgedCriteria
from decloak.store.opening import connect_readonly
from decloak.store.results import read_runs

LABEL = 15
"""Characters of the label of a line."""
REMEDY = "Remedy: decloak publish {run} FILE writes the rows sorted and without ids."
KNOWLEDGE = {
    KnowledgeLevel.LANGUAGE: "know how items are related in language",
    KnowledgeLevel.RELEASE: "learn from the release",
    KnowledgeLevel.SAMPLE: "know a sample of the population",
    KnowledgeLevel.PERSON: "know items of specific people",
}


class VerdictLine(NamedTuple):
    """A label, and a text of one or more sentences."""

    label: str
    text: str


class Conclusion(NamedTuple):
    """The outcome of some runs: the headline, and a line for each thing there is to say."""

    outcome: Outcome
    headline: str
    lines: tuple[VerdictLine, ...]
    variant: str = ""
    """The variant it is about, where there are several."""

    @property
    def text(self) -> str:
        """Lay the lines out for a terminal, labels on the left."""
        rows = [row for line in (VerdictLine("RESULT", self.headline), *self.lines) for row in _rows(line)]
        return "\n".join(rows)

    @property
    def result(self) -> str:
        """Lay out the headline alone."""
        return "\n".join(_rows(VerdictLine("RESULT", self.headline)))

    def as_json(self) -> dict[str, object]:
        lines = [line._asdict() for line in self.lines]
        limits = (
            {"/".join(filter(None, (str(one.outcome), str(one.known or "")))): one.limit for one in CRITERIA}
            | {"advantage": MOST_ADVANTAGE}
            | {f"inference advantage{end}": most for end, most in MOST_INFERENCE.items()}
        )
        shared = {"outcome": str(self.outcome), "variant": self.variant, "headline": self.headline}
        return shared | {"lines": lines, "limits": limits}


def _rows(line: VerdictLine) -> Iterator[str]:
    for number, row in enumerate(wrap(line.text, WIDTH - LABEL, break_on_hyphens=False)):
        yield f"{line.label if not number else '':<{LABEL}}{row}"


def leading(judged: Sequence[Judged]) -> Judged:
    """Return the most severe of the decisions about some variants."""
    order = list(Outcome)

    def severity(one: Judged) -> tuple[int, float]:
        criterion = one.decision.criterion
        people = 0.0 if criterion is None else (criterion.of(one.figures).count or 0.0) / max(1, one.figures.people)
        # Of equal outcomes the one about the largest share of people is the worst.
        return -order.index(one.decision.outcome), people

    return max(judged, key=severity)


def most_severe(judged: Sequence[Judged]) -> Conclusion:
    """Say what the decisions about some variants come to: the most severe of them."""
    names, worst = [one.settings.name for one in judged], leading(judged)
    title = dict(zip(names, short_titles(names), strict=True))[worst.settings.name]
    which = f" Variant {title} is the worst of {len(names)}." if len(names) > 1 else ""
    return concluded(worst, f"{which}{_accepted_text([one.settings.accepted for one in judged])}")


def _accepted_text(judged: Sequence[JudgedCriteria | None]) -> str:
    """Say which criteria of the scenario one variant misses, or how many of several meet them all."""
    given = [one for one in judged if one is not None]
    if not given:
        return ""
    name = f'"{given[0].name}"'
    meeting = sum(not one.missed for one in given)
    if len(given) > 1:
        return f" {meeting} of {len(given)} variants meet{'s' * (meeting == 1)} all criteria {name}."
    missed = listed(given[0].missed)
    return f" Criteria {name} not met: {missed}." if missed else f" All criteria {name} are met."


def concluded(judged: Judged, which: str = "") -> Conclusion:
    """Say what the decision about one variant rests on; the sentence `which` names it among several."""
    lines = [line for make in LINES for line in make(judged)]
    identifiers = (Outcome.IDENTIFIERS, Outcome.ROW_ORDER, Outcome.MEMBER_ORDER)
    first = dict.fromkeys(identifiers, "Identifiers") | {Outcome.RECOVERY: "Recovery"}
    leading = first.get(judged.decision.outcome)
    # The sort is stable: the line of the outcome comes first, and the others keep their order.
    lines.sort(key=lambda line: line.label != leading)
    name = judged.settings.name if judged.settings.several else ""
    headline = despite_guarantee(judged) or HEADLINES[judged.decision.outcome](judged)
    return Conclusion(judged.decision.outcome, f"{headline}{which}", tuple(lines), name)


def _identifier_lines(judged: Judged) -> Iterator[VerdictLine]:
    figures, said = judged.figures, []
    by_id, by_order = figures.identifiers.count, figures.row_order.count
    if by_id:
        people = of_people(judged, figures.identifiers)
        said.append(f"The release contains ids. Anyone who knows the ids re-identifies {people}.")
    if by_order:
        rows = f"re-identifies {of_people(judged, figures.row_order)} (1 expected in a random order)"
        said.append(f"The rows are not sorted by content. Anyone who has the original row order {rows}.")
    # Without originals nobody can compare the order, so that the line says "if".
    if by_order is None and judged.settings.form == FormName.SET_GENERALISED and not judged.settings.originals:
        said.append(
            "The rows are not sorted by content. If they are in the original order, anyone who has that order "
            "re-identifies people."
        )
    if figures.member_order.count:
        said.append(
            "The members of generalised items are in an order that depends on the record. The place of a member "
            f"reveals an original item of {of_people(judged, figures.member_order)}. Write members by name."
        )
    if said:
        said.append(REMEDY.format(run=judged.settings.run))
    if by_order is None and judged.settings.form == FormName.DISASSOCIATED:
        said.append("The order of clusters, chunks and rows was not tested.")
    if said:
        yield VerdictLine("Identifiers", " ".join(said))


def _singling_lines(judged: Judged) -> Iterator[VerdictLine]:
    figures = judged.figures
    two, three = (figures.singled_out.get(known, People()) for known in (2, 3))
    if two.count is None and three.count is None:
        return
    said = []
    for known, people in ((2, two), (3, three)):
        said.append(f"{known} known items single out {of_people(judged, people)} in the release{in_original(people)}.")
        after = figures.after_attack.get(known, People())
        # Less than a person more is the rounding of a mean.
        if round(after.count or 0) > round(people.count or 0):
            said.append(f"{capitalise(after_step(judged, after))}: {count(after.count)}.")
    yield VerdictLine("Singling out", " ".join(said))


def _exposed_lines(judged: Judged) -> Iterator[VerdictLine]:
    said = [
        f"With {known} random item{'s' * (known > 1)}: {of_people(judged, people)}{in_original(people)}."
        for known, people in judged.figures.exposed.items()
        if people.count is not None
    ]
    if said:
        found = "An attacker finds the record of some people with a probability above 1/11."
        yield VerdictLine("Exposed", " ".join([found, *said]))


def _implied_lines(judged: Judged) -> Iterator[VerdictLine]:
    if judged.figures.implied.count is not None:
        outside = judged.figures.implied_outside
        control = "" if outside.count is None else f" The control: {of_people(judged, outside)} outside the data."
        yield VerdictLine("Implied items", implied_text(judged) + control)


def _link_lines(judged: Judged) -> Iterator[VerdictLine]:
    label = "Certain links"
    for people, what in (
        (judged.figures.certain_links, "is right and at least 80% sure about an item of"),
        (judged.figures.covered, "re-associates separated items with certainty for"),
    ):
        if people.applies and people.count:
            yield VerdictLine(label, f"{people.attack} {what} {of_people(judged, people)}.")
            label = ""


def _inference_lines(judged: Judged) -> Iterator[VerdictLine]:
    names = {"": "All guesses", "_at_5": "The surest 5%", "_at_1": "The surest 1%"}
    found = [
        f"{names[ending]}: {advantage_text(advantage)}, limit {percent(MOST_INFERENCE[ending])}."
        for ending, advantage in judged.figures.inference.items()
        if advantage.mean is not None
    ]
    if found:
        yield VerdictLine("Inference", f"Inference advantage over a control group. {' '.join(found)}")


def _recovery_lines(judged: Judged) -> Iterator[VerdictLine]:
    attack = judged.decision.strongest
    if attack is None:
        yield VerdictLine("Recovery", missing_recovery(judged))
        return
    if attack.attack in judged.decision.untested:
        yield VerdictLine("Recovery", "Not tested: no attack had enough input.")
        return
    yield VerdictLine("Recovery", f"This release: {claims_text(judged, attack)}. {compare_with_random(judged, attack)}")
    yield VerdictLine("", f"Other data of this kind: {transfer_to_other_data(judged, attack)}")
    if attack.controls:
        controls = listed([f"{attack.attack}_{control}" for control in attack.controls])
        yield VerdictLine("", f"{attack.attack} is not shown to do better than its negative control ({controls}).")


def _guarantee_lines(judged: Judged) -> Iterator[VerdictLine]:
    if not judged.figures.guarantees:
        yield VerdictLine("Guarantee", "The release states no guarantee.")
    # Repetitions state one guarantee, which is said once.
    for one in dict.fromkeys(judged.figures.guarantees):
        verb = "WARNING: the release violates" if one.met is False else "The release meets"
        said = f"{verb} its guarantee ({one.words})." if one.met is not None else f"Not checked ({one.words})."
        yield VerdictLine("Guarantee", said)


def _cost_lines(judged: Judged) -> Iterator[VerdictLine]:
    card, said = judged.settings.card, []
    if card is not None and card.hidden is not None:
        nothing = " Every item is published with its record." if card.hidden == 0 else ""
        said.append(f"The release hides {percent(card.hidden)} of the item occurrences.{nothing}")
    if card is not None and card.taken_for_hidden is not None:
        said.append(f"An attacker takes {percent(card.taken_for_hidden)} of the item occurrences for generalised.")
    if judged.settings.count_error is not None:
        said.append(f"Counts are off by {percent(judged.settings.count_error)} on average.")
    if said:
        yield VerdictLine("Cost", " ".join(said))


def _untested_lines(judged: Judged) -> Iterator[VerdictLine]:
    said = []
    settings = judged.settings
    missing = [level for level in levels_not_tried(settings.knowledge_levels) if level in KNOWLEDGE]
    elsewhere = [level for level in missing if str(level) in settings.levels_elsewhere]
    for name in judged.decision.untested:
        attack = next(one for one in judged.figures.recoveries if one.attack == name)
        if attack.coverage is not None and attack.coverage < attack.least:
            known = percent(attack.coverage)
            least = percent(attack.least)
            said.append(f"{name} has scores for {known} of the pairs that it needs; it needs at least {least}.")
        else:
            said.append(f"{name} had no input that it can use.")
    for levels, whose in ((missing, "Attackers"), (elsewhere, "Only other variants have attackers")):
        if levels:
            said.append(f"{whose} who {listed([KNOWLEDGE[level] for level in levels], 'or')}.")
    if said:
        yield VerdictLine("Not tested", " ".join(said))


def _unmeasured_lines(judged: Judged) -> Iterator[VerdictLine]:
    missing, said = unknown_figures(judged)
    if missing and not judged.settings.originals:
        said.insert(0, "These figures need the original data, which was not given.")
    if missing:
        said.insert(0, f"{capitalise(listed(missing))}.")
    # Else the headline has said it.
    if said and judged.decision.outcome != Outcome.NOT_MEASURED:
        yield VerdictLine("Not measured", " ".join(said))


def _limit_lines(judged: Judged) -> Iterator[VerdictLine]:
    # Only a verdict that could reassure needs all of its limits.
    if judged.decision.outcome == Outcome.LOWER_RISK:
        yield VerdictLine("Limits", LIMITS)


LIMITS = " ".join(
    (
        "0 people re-identified by ids or row order, singled out with 3 items, with an implied item or a certain link.",
        *(
            f"Exposed with {one.known} items: {percent(one.limit, 1)} of the people."
            for one in CRITERIA
            if one.outcome == Outcome.EXPOSED
        ),
        f"Upper bound of each advantage: {100 * MOST_ADVANTAGE:g} points.",
        f"Inference advantage: {percent(MOST_INFERENCE[''])}, {percent(MOST_INFERENCE['_at_5'])} over the surest 5%,",
        f"{percent(MOST_INFERENCE['_at_1'])} over the surest 1%.",
        "This result is about these attacks and this data only.",
    )
)
"""The limits up to which the risk is said to be lower."""
LINES: Sequence[Callable[[Judged], Iterator[VerdictLine]]] = (
    _singling_lines,
    _exposed_lines,
    _identifier_lines,
    _implied_lines,
    _link_lines,
    _inference_lines,
    _recovery_lines,
    _guarantee_lines,
    _cost_lines,
    _untested_lines,
    _unmeasured_lines,
    _limit_lines,
)
"""The lines in their order."""


class Account(NamedTuple):
    """The verdict of some runs, the card of each variant and of variants over data sets, and the pairs of attacks."""

    study: Study
    verdict: Conclusion
    cards: Sequence[ExposureCard]
    pooled: Sequence[ExposureCard]
    pairs: Sequence[AttackPair]


def account_of(store: Path, numbers: Iterable[int]) -> Account:
    """Read the account of the runs of a store from their `numbers`."""
    with closing(connect_readonly(store)) as connection:
        study = Study.of(connection, read_runs(connection, numbers))
        verdict = most_severe(judged_variants(connection, study))
        cards = exposure_cards(connection, study)
        return Account(study, verdict, cards, pooled_cards(connection, study), attack_pairs(connection, study))
