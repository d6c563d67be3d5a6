"""Sentences about the recovery of an attack, on this release and on other data of its kind."""

from decloak.data.forms import FormName
from decloak.measure.kernels.random_attack import MOST_EXACT, MOST_PERMUTED
from decloak.report.knowledge import listed
from decloak.report.verdict import (
    LEVEL,
    MOST_ADVANTAGE,
    OnOtherData,
    Recovery,
    on_other_data,
    works_here,
)
from decloak.report.verdict_figures import Judged
from decloak.report.wording import count, percent, points, probability

__all__ = ["capitalise", "claims_text", "compare_with_random", "missing_recovery", "transfer_to_other_data"]


def missing_recovery(judged: Judged) -> str:
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
    corrected = [min(1.0, p * comparisons) for p in known]
    several = f", corrected for {comparisons} comparisons" if comparisons > 1 else ""
    how = _method(judged, attack)
    if len(set(known)) == 1:
        does = "is less precise" if works_here(attack, comparisons) else "may be equally precise"
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
    return text[0].upper() + text[1:]
