"""The sentences of a verdict: a label and a text for each line, the worst finding first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from decloak.data.forms import FormName
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.measure.kernels.random_attack import MOST_EXACT, MOST_PERMUTED
from decloak.report.knowledge import listed
from decloak.report.risk_card import RANDOM
from decloak.report.risk_tables import short_titles
from decloak.report.verdict import (
    CRITERIA,
    LEVEL,
    MOST_ADVANTAGE,
    MOST_INFERENCE,
    Advantage,
    Criterion,
    OnOtherData,
    Outcome,
    People,
    Recovery,
    on_other_data,
    works_here,
)
from decloak.report.verdict_figures import Judged, levels_not_tried
from decloak.report.wording import count, percent, points, probability

__all__ = ["LIMITS", "Conclusion", "Line", "concluded", "leading", "most_severe"]

WIDTH = 110
LABEL = 15
"""Characters of a line, and of its label."""

REMEDY = "Remedy: decloak publish {run} FILE writes the rows sorted and without ids."
TRIED = {
    KnowledgeLevel.LANGUAGE: "know how items are related in language",
    KnowledgeLevel.RELEASE: "learn from the release",
    KnowledgeLevel.SAMPLE: "know a sample of the population",
    KnowledgeLevel.PERSON: "know items of specific people",
}
MEASURED = {
    Outcome.IDENTIFIERS: "ids",
    Outcome.ROW_ORDER: "row order",
    Outcome.MEMBER_ORDER: "the order of members in brackets",
    Outcome.SINGLED_OUT: "people singled out with {} known items",
    Outcome.EXPOSED: "people exposed with {} known items",
    Outcome.IMPLIED: "implied items",
    Outcome.CERTAIN_LINKS: "links with certainty",
    Outcome.AFTER_ATTACK: "people singled out with {} known items after an attack",
}
"""The name of the figure of each criterion, with the number of known items."""


class Line(NamedTuple):
    """A label, and a text of one or more sentences."""

    label: str
    text: str


class Conclusion(NamedTuple):
    """The outcome of some runs: the headline, and a line for each thing there is to say."""

    outcome: Outcome
    headline: str
    lines: tuple[Line, ...]
    variant: str = ""
    """The variant it is about, where there are several."""

    @property
    def text(self) -> str:
        """Lay the lines out for a terminal, labels on the left."""
        rows = [row for line in (Line("RESULT", self.headline), *self.lines) for row in _rows(line)]
        return "\n".join(rows)

    @property
    def result(self) -> str:
        """Lay out the headline alone."""
        return "\n".join(_rows(Line("RESULT", self.headline)))

    def as_json(self) -> dict[str, Any]:
        lines = [line._asdict() for line in self.lines]
        limits = (
            {"/".join(filter(None, (str(one.outcome), str(one.known or "")))): one.limit for one in CRITERIA}
            | {"advantage": MOST_ADVANTAGE}
            | {f"inference advantage{end}": most for end, most in MOST_INFERENCE.items()}
        )
        shared = {"outcome": str(self.outcome), "variant": self.variant, "headline": self.headline}
        return shared | {"lines": lines, "limits": limits}


def _rows(line: Line) -> Iterator[str]:
    for number, row in enumerate(wrap(line.text, WIDTH - LABEL, break_on_hyphens=False)):
        yield f"{line.label if not number else '':<{LABEL}}{row}"


def leading(judged: Sequence[Judged]) -> Judged:
    """Return the most severe of the decisions about some variants."""
    order = list(Outcome)

    def severity(one: Judged) -> tuple[int, float]:
        criterion = one.decision.criterion
        people = 0.0 if criterion is None else (criterion.of(one.figures).count or 0.0) / max(1, one.figures.people)
        return -order.index(one.decision.outcome), people

    return max(judged, key=severity)


def most_severe(judged: Sequence[Judged]) -> Conclusion:
    """Say what the decisions about some variants come to: the most severe of them."""
    names, worst = [one.settings.name for one in judged], leading(judged)
    return concluded(worst, dict(zip(names, short_titles(names), strict=True))[worst.settings.name])


def concluded(judged: Judged, title: str = "") -> Conclusion:
    """Say what the decision about one variant, called `title` among several, rests on."""
    lines = [line for make in LINES for line in make(judged)]
    identifiers = (Outcome.IDENTIFIERS, Outcome.ROW_ORDER, Outcome.MEMBER_ORDER)
    first = dict.fromkeys(identifiers, "Identifiers") | {Outcome.RECOVERY: "Recovery"}
    leading = first.get(judged.decision.outcome)
    lines.sort(key=lambda line: line.label != leading)
    name = judged.settings.name if judged.settings.several else ""
    headline = HEADLINES[judged.decision.outcome](judged)
    said = f"{title or name}: {headline}" if name else headline
    return Conclusion(judged.decision.outcome, said, tuple(lines), name)


def _of(judged: Judged, people: People) -> str:
    """Write a number of people, of how many."""
    return f"{count(people.count)} of {judged.figures.people if people.of is None else people.of:,} people"


def _beside(people: People, where: str = "in the original data") -> str:
    return "" if people.original is None else f" ({count(people.original)} {where})"


def _identified(judged: Judged) -> str:
    figures = judged.figures
    ways = [name for name, people in (("ids", figures.identifiers), ("row order", figures.row_order)) if people.count]
    people = max(figures.identifiers, figures.row_order, key=lambda one: one.count or 0)
    verb = "re-identify" if ways != ["row order"] else "re-identifies"
    return f"WARNING: {listed(ways)} {verb} {_of(judged, people)}."


def _revealed(judged: Judged) -> str:
    return f"WARNING: the order of members in brackets reveals items of {_of(judged, judged.figures.member_order)}."


def _singled(judged: Judged) -> str:
    criterion = judged.decision.criterion
    assert criterion is not None
    people = criterion.of(judged.figures)
    with_items = "" if criterion.known == 2 else f" with {criterion.known} known items"
    return f"{_of(judged, people)} can be singled out{with_items}{_beside(people)}. The release does not prevent it."


def _after(judged: Judged, people: People) -> str:
    """Name the step that singles out more people than the release alone."""
    chunks = judged.settings.form == FormName.DISASSOCIATED
    if people.attack == RANDOM:
        return "when parts are joined at random" if chunks else "when members are eliminated at random"
    return f"after {people.attack} {'re-associates parts' if chunks else 'eliminates members'}"


def _singled_after(judged: Judged) -> str:
    criterion = judged.decision.criterion
    assert criterion is not None
    people = criterion.of(judged.figures)
    after = f"{criterion.known} known items single out {_of(judged, people)} {_after(judged, people)}{_beside(people)}"
    return f"No person is singled out by the release alone. {after}."


def _exposed(judged: Judged) -> str:
    criterion = judged.decision.criterion
    assert criterion is not None
    people = criterion.of(judged.figures)
    return (
        f"{_of(judged, people)} are exposed to an attacker who knows {criterion.known} of their items{_beside(people)}."
    )


def _implied(judged: Judged) -> str:
    people = judged.figures.implied
    return f"2 known items reveal a third item with certainty for {_of(judged, people)}{_beside(people)}."


def _linked(judged: Judged) -> str:
    criterion = judged.decision.criterion
    assert criterion is not None
    people = criterion.of(judged.figures)
    return f"{people.attack} finds items that the release hides, with near certainty, for {_of(judged, people)}."


def _recovered(judged: Judged) -> str:
    attack = judged.decision.strongest
    assert attack is not None
    return f"An attack recovers hidden items: {_claims(judged, attack)}."


def _not_measured(judged: Judged) -> str:
    return f"No figure that was measured exceeds its limit. Not measured: {listed(_unknown(judged))}."


def _inferred(judged: Judged) -> str:
    worst = max(judged.figures.inference.values(), key=lambda one: one.low or 0.0)
    return f"An attacker infers items of people beyond their control group: inference advantage {_interval(worst)}."


HEADLINES: Mapping[Outcome, Callable[[Judged], str]] = {
    Outcome.IDENTIFIERS: _identified,
    Outcome.ROW_ORDER: _identified,
    Outcome.MEMBER_ORDER: _revealed,
    Outcome.SINGLED_OUT: _singled,
    Outcome.EXPOSED: _exposed,
    Outcome.IMPLIED: _implied,
    Outcome.CERTAIN_LINKS: _linked,
    Outcome.AFTER_ATTACK: _singled_after,
    Outcome.INFERENCE: _inferred,
    Outcome.RECOVERY: _recovered,
    Outcome.GUARANTEE: lambda judged: "WARNING: the release violates its guarantee.",
    Outcome.NOT_MEASURED: _not_measured,
    Outcome.NOT_TESTED: lambda judged: "No figure exceeds its limit, but attacks were not tested.",
    Outcome.INCONCLUSIVE: lambda judged: "No figure exceeds its limit. Recovery on other data is inconclusive.",
    Outcome.LOWER_RISK: lambda judged: "Lower risk: every figure is within its limit.",
}


def _identifier_lines(judged: Judged) -> Iterator[Line]:
    figures, said = judged.figures, []
    by_id, by_order = figures.identifiers.count, figures.row_order.count
    if by_id:
        said.append(
            f"The release contains ids. Anyone who knows the ids re-identifies {_of(judged, figures.identifiers)}."
        )
    if by_order:
        rows = f"re-identifies {_of(judged, figures.row_order)} (1 expected in a random order)"
        said.append(f"The rows are not sorted by content. Anyone who has the original row order {rows}.")
    if by_order is None and judged.settings.form == FormName.SET_GENERALISED and not judged.settings.originals:
        said.append(
            "The rows are not sorted by content. If they are in the original order, anyone who has that order "
            "re-identifies people."
        )
    if figures.member_order.count:
        said.append(
            "The members of generalised items are in an order that depends on the record. The place of a member "
            f"reveals an original item of {_of(judged, figures.member_order)}; write members by name."
        )
    if said:
        said.append(REMEDY.format(run=judged.settings.run))
    if by_order is None and judged.settings.form == FormName.DISASSOCIATED:
        said.append("The order of clusters, chunks and rows was not tested.")
    if said:
        yield Line("Identifiers", " ".join(said))


def _singling_lines(judged: Judged) -> Iterator[Line]:
    figures = judged.figures
    two, three = (figures.singled_out.get(known, People()) for known in (2, 3))
    if two.count is None and three.count is None:
        return
    said = []
    for known, people in ((2, two), (3, three)):
        said.append(f"{known} known items single out {_of(judged, people)} in the release{_beside(people)}.")
        after = figures.after_attack.get(known, People())
        if round(after.count or 0) > round(people.count or 0):
            said.append(f"{_capital(_after(judged, after))}: {count(after.count)}.")
    yield Line("Singling out", " ".join(said))


def _exposed_lines(judged: Judged) -> Iterator[Line]:
    by_items = {known: people for known, people in judged.figures.exposed.items() if people.count is not None}
    said = []
    for known, people in by_items.items():
        items = "1 random item" if known == 1 else f"{known} random items"
        said.append(f"{_of(judged, people)} with {items}{_beside(people)}")
    if said:
        found = "An attacker finds the record of a person with a probability above 1/11"
        yield Line("Exposed", f"{found}: {', '.join(said)}.")


def _implied_lines(judged: Judged) -> Iterator[Line]:
    if judged.figures.implied.count is not None:
        yield Line("Implied items", _implied(judged))


def _link_lines(judged: Judged) -> Iterator[Line]:
    label = "Certain links"
    for people, what in (
        (judged.figures.certain_links, "is right and at least 80% sure about an item of"),
        (judged.figures.covered, "re-associates separated items with certainty for"),
    ):
        if people.applies and people.count:
            yield Line(label, f"{people.attack} {what} {_of(judged, people)}.")
            label = ""


def _inference_lines(judged: Judged) -> Iterator[Line]:
    names = {"": "all guesses", "_at_5": "the surest 5%", "_at_1": "the surest 1%"}
    found = [
        f"{names[ending]}: {_interval(advantage)}, limit {percent(MOST_INFERENCE[ending])}"
        for ending, advantage in judged.figures.inference.items()
        if advantage.mean is not None
    ]
    if found:
        yield Line("Inference", f"Inference advantage over a control group. {'; '.join(found)}.")


def _interval(advantage: Advantage) -> str:
    said = percent(advantage.mean or 0.0)
    if advantage.low is None or advantage.high is None:
        return said
    return f"{said} (95% interval {percent(advantage.low)} to {percent(advantage.high)})"


def _recovery_lines(judged: Judged) -> Iterator[Line]:
    attack = judged.decision.strongest
    if attack is None:
        yield Line("Recovery", _without_attack(judged))
        return
    if attack.attack in judged.decision.untested:
        yield Line("Recovery", "Not tested: no attack had enough to go by.")
        return
    yield Line("Recovery", f"This release: {_claims(judged, attack)}. {_here(judged, attack)}")
    yield Line("", f"Other data of this kind: {_elsewhere(judged, attack)}")
    if attack.controls:
        controls = listed([f"{attack.attack}_{control}" for control in attack.controls])
        yield Line("", f"{attack.attack} is not shown to do better than its negative control ({controls}).")


def _without_attack(judged: Judged) -> str:
    settings = judged.settings
    if settings.attacks and not settings.originals:
        claims = listed([f"{name} {count(claimed)}" for name, claimed in settings.claims.items() if claimed])
        claimed = f" Claims of the attacks: {claims}." if claims else ""
        return f"Not measured: the original data were not given.{claimed}"
    if settings.attacks:
        return "Not measured: add recovery or accuracy under measure."
    return "Not tested: no attack was run that recovers hidden items."


def _claims(judged: Judged, attack: Recovery) -> str:
    """Describe the claims of an attack, their precision, and the baseline."""
    releases = max(1, judged.settings.repetitions)
    tried, right = attack.tried / releases, attack.right / releases
    many = "" if releases == 1 else f" in each of {releases} repetitions, on average,"
    did = "re-associated" if judged.settings.form == FormName.DISASSOCIATED else "eliminated"
    what = "sub-records" if judged.settings.form == FormName.DISASSOCIATED else "items"
    precision, baseline = attack.right / attack.tried, attack.expected / attack.tried
    digits = 1 if abs(precision - baseline) < 0.1 else 0
    return (
        f"{attack.attack} {did} {count(tried)} {what}{many} with a precision of {percent(precision, digits)} "
        f"({count(right)} of {count(tried)}); random guessing reaches {percent(baseline, digits)}"
    )


def _here(judged: Judged, attack: Recovery) -> str:
    """Say how a random attack does on the same release."""
    comparisons = judged.figures.comparisons
    known = [p for p in attack.p if p is not None]
    if not known:
        return "A random attack was not compared."
    corrected = [min(1.0, p * comparisons) for p in known]
    several = f", corrected for {comparisons} comparisons" if comparisons > 1 else ""
    how = _method(judged, attack)
    if len(set(known)) == 1:
        does = "does worse" if works_here(attack, comparisons) else "may do as well"
        often = f"it is right as often with probability {probability(corrected[0])}"
        return f"A random attack {does}: {often} ({how}{several})."
    works = sum(p <= LEVEL for p in corrected)
    return (
        f"In {works} of {len(known)} repetitions a random attack is right as often with a probability of at most "
        f"{percent(LEVEL)} ({how}{several})."
    )


def _method(judged: Judged, attack: Recovery) -> str:
    each = attack.tried / max(1, judged.settings.repetitions)
    if judged.settings.form == FormName.DISASSOCIATED:
        records = judged.settings.card.records if judged.settings.card else MOST_PERMUTED
        return "permutations within clusters" + (", gamma approximation" if records > MOST_PERMUTED else "")
    return "exact, within the item groups" if each <= MOST_EXACT else "normal approximation within the item groups"


def _elsewhere(judged: Judged, attack: Recovery) -> str:
    """Say what the interval of the advantage shows of other data."""
    low, high = attack.advantage.low, attack.advantage.high
    lead = judged.settings.leads[attack.attack]
    compared = f"{judged.figures.comparisons} comparison{'s' * (judged.figures.comparisons > 1)}"
    if low is None or high is None:
        return "inconclusive. One item group or cluster gives no interval. More data of this kind would give one."
    parts = "clusters" if judged.settings.form == FormName.DISASSOCIATED else "item groups"
    basis = f"{lead.interval.n} repetitions" if lead.repeated else f"{lead.interval.n} {parts} resampled"
    digits = 1 if max(abs(low), abs(high)) < 0.1 else 0
    interval = (
        f"95% interval of the advantage {points(low, digits)} to {points(high, digits)} points ({basis}, {compared})"
    )
    match on_other_data(attack):
        case OnOtherData.WORKS:
            return f"the attack works. {_capital(interval)}."
        case OnOtherData.BELOW_LIMIT:
            return f"the advantage is at most the limit of {100 * MOST_ADVANTAGE:g} points. {_capital(interval)}."
    needed = judged.settings.repetitions_needed(attack.attack)
    if needed is not None:
        more = f" About {needed:,} repetitions would decide (repeat: {{times: {needed}}})."
    elif judged.settings.differing and judged.settings.repetitions == 1:
        more = " Repetitions would narrow it (repeat: {times: 10})."
    else:
        more = " More records of this kind would narrow it."
    return f"inconclusive. {_capital(interval)}.{more}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _guarantee_lines(judged: Judged) -> Iterator[Line]:
    if not judged.figures.guarantees:
        yield Line("Guarantee", "None: the release states no guarantee, so none was checked.")
    for one in dict.fromkeys(judged.figures.guarantees):
        verb = "WARNING: the release violates" if one.met is False else "The release meets"
        said = f"{verb} its guarantee ({one.words})." if one.met is not None else f"Not checked ({one.words})."
        yield Line("Guarantee", said)


def _cost_lines(judged: Judged) -> Iterator[Line]:
    card, said = judged.settings.card, []
    if card is not None and card.hidden is not None:
        nothing = " Every item is published with its record." if card.hidden == 0 else ""
        said.append(f"The release hides {percent(card.hidden)} of the item occurrences.{nothing}")
    if card is not None and card.taken_for_hidden is not None:
        said.append(f"An attacker takes {percent(card.taken_for_hidden)} of the item occurrences for generalised.")
    if judged.settings.count_error is not None:
        said.append(f"Counts are off by {percent(judged.settings.count_error)} on average.")
    if said:
        yield Line("Cost", " ".join(said))


def _untested_lines(judged: Judged) -> Iterator[Line]:
    said = []
    missing = [
        TRIED[knowledge_level]
        for knowledge_level in levels_not_tried(judged.settings.knowledge_levels)
        if knowledge_level in TRIED
    ]
    for name in judged.decision.untested:
        attack = next(one for one in judged.figures.recoveries if one.attack == name)
        if attack.coverage is not None and attack.coverage < attack.least:
            known = percent(attack.coverage)
            least = percent(attack.least)
            said.append(f"{name}: the attacker has scores for {known} of the pairs it needs ({least} is the least).")
        else:
            said.append(f"{name}: it had nothing to go by.")
    if missing:
        said.append(f"Attackers who {_either(missing)}.")
    if said:
        yield Line("Not tested", " ".join(said))


def _either(phrases: Sequence[str]) -> str:
    """Join phrases by commas, the last two by "or"."""
    return " or ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))


def _unmeasured_lines(judged: Judged) -> Iterator[Line]:
    unknown = _unknown(judged)
    if unknown and judged.decision.outcome != Outcome.NOT_MEASURED:
        yield Line("Not measured", f"{_capital(listed(unknown))}.")


def _unknown(judged: Judged) -> list[str]:
    """Name the figures that are missing or too uncertain."""
    names = [_measured(criterion) for criterion in judged.decision.unknown]
    if any(advantage.mean is None for advantage in judged.figures.inference.values()):
        names.append("inference advantage")
    if any(one.met is None for one in judged.figures.guarantees):
        names.append("the guarantee")
    return list(dict.fromkeys(names))


def _measured(criterion: Criterion) -> str:
    return MEASURED[criterion.outcome].format(criterion.known)


def _limit_lines(judged: Judged) -> Iterator[Line]:
    if judged.decision.outcome == Outcome.LOWER_RISK:
        yield Line("Limits", LIMITS)


LIMITS = " ".join(
    (
        "Nobody by ids, by row order, singled out with 3 items, with an implied item or a certain link.",
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

LINES: Sequence[Callable[[Judged], Iterator[Line]]] = (
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
