"""The headline of a verdict: one sentence for each outcome, with the number of people.

Sentences about the recovery of an attack, on this release and on other data of its kind.
"""

from collections.abc import Callable, Mapping, Sequence

from decloak.data.forms import FormName
from decloak.measure.kernels.random_attack import MOST_EXACT, MOST_PERMUTED
from decloak.report.risk_card import RANDOM
from decloak.report.verdict import (
    COVERED,
    CRITERIA,
    LEVEL,
    MOST_ADVANTAGE,
    Advantage,
    OnOtherData,
    Outcome,
    People,
    Recovery,
    VerdictCriterion,
    beats_random,
    on_other_data,
)
from decloak.report.verdict_figures import Judged
from decloak.report.wording import count, listed, percent, points, probability

MEASURED = {
    Outcome.IDENTIFIERS: "ids",
    Outcome.ROW_ORDER: "row order",
    Outcome.MEMBER_ORDER: "the order of members in generalised items",
    Outcome.SINGLED_OUT: "people singled out with {} known items",
    Outcome.EXPOSED: "people exposed with {} known items",
    Outcome.IMPLIED: "implied items",
    Outcome.CERTAIN_LINKS: "links with certainty",
    Outcome.AFTER_ATTACK: "people singled out with {} known items after an attack",
}
"""The name of the figure of each criterion, with the number of known items."""
WITHIN_LIMITS = "No figure that was measured exceeds its limit"


def of_people(judged: Judged, people: People) -> str:
    """Write a number of people, of how many."""
    return f"{count(people.count)} of {judged.figures.people if people.of is None else people.of:,} people"


def in_original(people: People) -> str:
    """Return the number of people in the original data, in brackets, if it is known."""
    return "" if people.original is None else f" ({count(people.original)} in the original data)"


def _identified(judged: Judged) -> str:
    figures = judged.figures
    ways = [name for name, people in (("ids", figures.identifiers), ("row order", figures.row_order)) if people.count]
    people = max(figures.identifiers, figures.row_order, key=lambda one: one.count or 0)
    verb = "re-identify" if ways != ["row order"] else "re-identifies"
    return f"WARNING: {listed(ways)} {verb} {of_people(judged, people)}."


def _decisive(judged: Judged) -> tuple[VerdictCriterion, People]:
    """Return the criterion that decided the verdict, and the people of its figure."""
    criterion = judged.decision.criterion
    assert criterion is not None
    return criterion, criterion.of(judged.figures)


def _singling_headline(judged: Judged) -> str:
    criterion, people = _decisive(judged)
    # The other sentences are about 2 known items too, so that only another number is named.
    with_items = "" if criterion.known == 2 else f" with {criterion.known} known items"
    said = f"{of_people(judged, people)} can be singled out{with_items}{in_original(people)}"
    return f"{said}. The release does not prevent it."


def after_step(judged: Judged, people: People) -> str:
    """Name the step that singles out more people than the release alone."""
    chunks = judged.settings.form == FormName.DISASSOCIATED
    if people.attack == RANDOM:
        return "when parts are joined at random" if chunks else "when members are eliminated at random"
    return f"after {people.attack} {'re-associates parts' if chunks else 'eliminates members'}"


def _singling_after_attack(judged: Judged) -> str:
    criterion, people = _decisive(judged)
    people_after = f"{of_people(judged, people)} {after_step(judged, people)}{in_original(people)}"
    after = f"{criterion.known} known items single out {people_after}"
    return f"No person is singled out by the release alone. {after}."


def _exposed(judged: Judged) -> str:
    criterion, people = _decisive(judged)
    knows = f"an attacker who knows {criterion.known} of their items"
    return f"{of_people(judged, people)} are exposed to {knows}{in_original(people)}."


def implied_text(judged: Judged) -> str:
    """Return the sentence on items that two known items imply."""
    people = judged.figures.implied
    return f"2 known items reveal a third item with certainty for {of_people(judged, people)}{in_original(people)}."


def _linked(judged: Judged) -> str:
    _, people = _decisive(judged)
    return f"{people.attack} finds items that the release hides, with near certainty, for {of_people(judged, people)}."


def _recovered(judged: Judged) -> str:
    attack = judged.decision.strongest
    assert attack is not None
    return f"An attack recovers hidden items: {claims_text(judged, attack)}."


def _not_measured(judged: Judged) -> str:
    people = {criterion for criterion in CRITERIA if criterion.outcome in (Outcome.SINGLED_OUT, Outcome.EXPOSED)}
    # "No figure exceeds its limit" would reassure where no person was counted.
    nobody_counted = people.issubset(judged.decision.unknown)
    first = "It is not known how many people this release exposes" if nobody_counted else WITHIN_LIMITS
    missing, uncertain = unknown_figures(judged)
    return " ".join([f"{first}.", *([f"Not measured: {listed(missing)}."] if missing else []), *uncertain])


def _inferred(judged: Judged) -> str:
    worst = max(judged.figures.inference.values(), key=lambda one: one.low or 0.0)
    return (
        f"An attacker infers items of people beyond their control group: inference advantage {advantage_text(worst)}."
    )


STILL = {
    Outcome.SINGLED_OUT: "{known} known items single them out{original}.",
    Outcome.EXPOSED: "An attacker who knows {known} of their items finds their records{original}.",
    Outcome.IMPLIED: "2 known items reveal a third item with certainty{original}.",
    Outcome.CERTAIN_LINKS: "{attack} finds hidden items with near certainty.",
    Outcome.AFTER_ATTACK: "{known} known items single them out {after}{original}.",
}
"""The exposure by a release that meets its guarantee, by outcome."""


def despite_guarantee(judged: Judged) -> str:
    """Say that a release meets all of its guarantees and still exposes people, or nothing."""
    criterion, guarantees = judged.decision.criterion, judged.figures.guarantees
    if criterion is None or criterion.outcome not in STILL or not guarantees or not all(one.met for one in guarantees):
        return ""
    people = criterion.of(judged.figures)
    known, after = criterion.known, after_step(judged, people)
    # The words begin with the method, as in "cut: k = 5". The sentence needs its settings alone.
    meets = guarantees[0].words.rpartition(": ")[2]
    how = STILL[criterion.outcome].format(known=known, original=in_original(people), attack=people.attack, after=after)
    return f"The release meets its guarantee ({meets}) and still exposes {of_people(judged, people)}. {how}"


HEADLINES: Mapping[Outcome, Callable[[Judged], str]] = {
    Outcome.IDENTIFIERS: _identified,
    Outcome.ROW_ORDER: _identified,
    Outcome.MEMBER_ORDER: lambda judged: (
        "WARNING: the order of members in generalised items reveals items of "
        f"{of_people(judged, judged.figures.member_order)}."
    ),
    Outcome.SINGLED_OUT: _singling_headline,
    Outcome.EXPOSED: _exposed,
    Outcome.IMPLIED: implied_text,
    Outcome.CERTAIN_LINKS: _linked,
    Outcome.AFTER_ATTACK: _singling_after_attack,
    Outcome.INFERENCE: _inferred,
    Outcome.RECOVERY: _recovered,
    Outcome.GUARANTEE: lambda judged: "WARNING: the release violates its guarantee.",
    Outcome.NOT_MEASURED: _not_measured,
    Outcome.NOT_TESTED: lambda judged: "No figure exceeds its limit, but attacks were not tested.",
    Outcome.INCONCLUSIVE: lambda judged: "No figure exceeds its limit. Recovery on other data is inconclusive.",
    Outcome.LOWER_RISK: lambda judged: "Lower risk: every figure is within its limit.",
}


def advantage_text(advantage: Advantage) -> str:
    """Return the mean advantage with its interval, if it has one."""
    said = percent(advantage.mean or 0.0)
    if advantage.low is None or advantage.high is None:
        return said
    # The interval of a normalised advantage has no lower bound, and "-340%" reads like an error.
    low = "below -100%" if advantage.low < -1 else percent(advantage.low)
    return f"{said} (95% interval {low} to {percent(advantage.high)})"


def unknown_figures(judged: Judged) -> tuple[list[str], list[str]]:
    """Name the figures that are missing, and write a sentence about those for which too few people were counted."""
    figures, unknown = judged.figures, judged.decision.unknown
    missing = _named([criterion for criterion in unknown if criterion.of(figures).count is None])
    drawn = _named([criterion for criterion in unknown if criterion.of(figures).count is not None])
    if any(advantage.mean is None for advantage in figures.inference.values()):
        missing.append("inference advantage")
    if any(one.met is None for one in figures.guarantees):
        missing.append("the guarantee")
    return missing, [f"Too few people were counted to be sure about {listed(drawn)}."] if drawn else []


def _named(criteria: Sequence[VerdictCriterion]) -> list[str]:
    """Name the figures of `criteria`, with their numbers of known items."""
    known: dict[str, list[str]] = {}
    for criterion in criteria:
        name = "re-associations with certainty" if criterion is COVERED else MEASURED[criterion.outcome]
        known.setdefault(name, []).append(str(criterion.known))
    return [name.format(" or ".join(items)) for name, items in known.items()]


def missing_recovery(judged: Judged) -> str:
    """Return the reason why recovery was not measured, with a remedy."""
    settings = judged.settings
    if settings.attacks and not settings.originals:
        claims = listed([f"{name} {count(claimed)}" for name, claimed in settings.claims.items() if claimed])
        claimed = f" Claims of the attacks: {claims}." if claims else ""
        return f"Not measured, because the original data were not given.{claimed}"
    if settings.attacks:
        return "Not measured: add recovery or accuracy under measure."
    return "Not tested: no attack was run that recovers hidden items."


def claims_text(judged: Judged, attack: Recovery) -> str:
    """Describe the claims of an attack, their precision, and the baseline."""
    releases = max(1, judged.settings.repetitions)
    tried, right = attack.tried / releases, attack.right / releases
    many = "" if releases == 1 else f" on average in {releases} repetitions,"
    did = "re-associated" if judged.settings.form == FormName.DISASSOCIATED else "eliminated"
    what = "sub-records" if judged.settings.form == FormName.DISASSOCIATED else "items"
    precision, baseline = attack.right / attack.tried, attack.expected / attack.tried
    # Two percentages that look equal would hide a small advantage.
    digits = 1 if abs(precision - baseline) < 0.1 else 0
    return (
        f"{attack.attack} {did} {count(tried)} {what}{many} with a precision of {percent(precision, digits)} "
        f"({count(right)} of {count(tried)}). Random guessing reaches {percent(baseline, digits)}"
    )


def compare_with_random(judged: Judged, attack: Recovery) -> str:
    """Say how a random attack does on the same release."""
    comparisons = judged.figures.comparisons
    known = [p for p in attack.p if p is not None]
    if not known:
        return "A random attack was not compared."
    # Bonferroni: of many attacks one is good by chance, so that each probability counts that often.
    corrected = [min(1.0, p * comparisons) for p in known]
    several = f", corrected for {comparisons} comparisons" if comparisons > 1 else ""
    how = _method(judged, attack)
    if len(set(known)) == 1:
        does = "is less precise" if beats_random(attack, comparisons) else "may be equally precise"
        reaches = f"It reaches this precision with probability {probability(corrected[0])}"
        return f"A random attack {does}. {reaches} ({how}{several})."
    works = sum(p <= LEVEL for p in corrected)
    return (
        f"In {works} of {len(known)} repetitions a random attack reaches this precision with a probability of at most "
        f"{percent(LEVEL)} ({how}{several})."
    )


def _method(judged: Judged, attack: Recovery) -> str:
    each = attack.tried / max(1, judged.settings.repetitions)
    if judged.settings.form == FormName.DISASSOCIATED:
        records = judged.settings.card.records if judged.settings.card else MOST_PERMUTED
        return "permutations within clusters" + (", gamma approximation" if records > MOST_PERMUTED else "")
    return "exact, within the item groups" if each <= MOST_EXACT else "normal approximation within the item groups"


def transfer_to_other_data(judged: Judged, attack: Recovery) -> str:
    """Say what the interval of the advantage shows of other data."""
    low, high = attack.advantage.low, attack.advantage.high
    lead = judged.settings.leads[attack.attack]
    compared = f"{judged.figures.comparisons} comparison{'s' * (judged.figures.comparisons > 1)}"
    if low is None or high is None:
        return "inconclusive. One item group or cluster gives no interval. More data of this kind would give one."
    parts = "clusters" if judged.settings.form == FormName.DISASSOCIATED else "item groups"
    if judged.settings.card is not None and judged.settings.card.in_files:
        parts = "groups of clusters"
    basis = f"{lead.interval.n} repetitions" if lead.repeated else f"{lead.interval.n} {parts} resampled"
    digits = 1 if max(abs(low), abs(high)) < 0.1 else 0
    interval = (
        f"95% interval of the advantage {points(low, digits)} to {points(high, digits)} points ({basis}, {compared})"
    )
    match on_other_data(attack):
        case OnOtherData.WORKS:
            return f"the attack works. {capitalise(interval)}."
        case OnOtherData.BELOW_LIMIT:
            return f"the advantage is at most the limit of {100 * MOST_ADVANTAGE:g} points. {capitalise(interval)}."
    needed = judged.settings.repetitions_needed(attack.attack)
    if needed is not None:
        more = f" About {needed:,} repetitions would decide (--set repeat.times={needed})."
    elif judged.settings.differing and judged.settings.repetitions == 1:
        more = " Repetitions would narrow it (--set repeat.times=10)."
    else:
        more = " More records of this kind would narrow it."
    return f"inconclusive. {capitalise(interval)}.{more}"


def capitalise(text: str) -> str:
    """Return `text` with a capital letter at its beginning."""
    return text[0].upper() + text[1:]
