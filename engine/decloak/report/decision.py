"""The decision on a page: the states of the findings, the next step, the facts, and everything that was left out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from decloak.report.page import Finding, Section
from decloak.report.study import Study
from decloak.report.verdict import Outcome, recovers
from decloak.report.verdict_figures import Judged
from decloak.report.verdict_lines import Conclusion

__all__ = ["facts_of", "findings_of", "left_out_section", "next_step"]

SINGLING = "Compare other methods, or use a larger k or fewer items, and run the attacks again."
NEXT = {
    Outcome.IDENTIFIERS: "Use decloak publish, which removes ids and sorts the records. Then run the attacks again.",
    Outcome.ROW_ORDER: "Use decloak publish, which sorts the records. Then run the attacks again.",
    Outcome.GUARANTEE: "Correct the method or its parameters: the release violates its guarantee.",
    Outcome.NOT_MEASURED: "Add the missing measures to the scenario, and run it again.",
    Outcome.NOT_TESTED: "Give the attacker more knowledge under attacker: {knows: ...}, and run the scenario again.",
    Outcome.INCONCLUSIVE: "Use more records or more repetitions, and run the scenario again.",
    Outcome.LOWER_RISK: "Compare the limits with the recipients and the access below, and decide.",
}
OUTCOMES = {
    "Singling out": (Outcome.SINGLED_OUT, Outcome.AFTER_ATTACK),
    "Exposed": (Outcome.EXPOSED,),
    "Identifiers": (Outcome.IDENTIFIERS, Outcome.ROW_ORDER),
    "Implied items": (Outcome.IMPLIED,),
    "Certain links": (Outcome.CERTAIN_LINKS,),
}
"""The outcomes that each line of a verdict is about."""


def findings_of(conclusion: Conclusion, judged: Judged) -> list[Finding]:
    """Return the lines of `conclusion` with their states, from the decision of `judged`."""
    findings: list[Finding] = []
    for label, text in conclusion.lines:
        if label or not findings:
            findings.append(Finding(label, text, *_state(label, text, judged)))
        else:  # a line without a label continues the line above
            findings[-1] = findings[-1]._replace(text=f"{findings[-1].text} {text}")
    return findings


def _state(label: str, text: str, judged: Judged) -> tuple[str, str]:
    decision = judged.decision
    if label in OUTCOMES:
        if any(one.outcome in OUTCOMES[label] for one in decision.exceeded):
            return "fails", "above the limit"
        unknown = any(one.outcome in OUTCOMES[label] for one in decision.unknown)
        return ("open", "unknown") if unknown else ("meets", "within the limit")
    if label == "Recovery":
        if any(recovers(one, judged.figures.comparisons) for one in judged.figures.recoveries):
            return "fails", "above the baseline"
        return ("open", "inconclusive") if judged.figures.recoveries else ("none", "not tested")
    if label == "Guarantee":
        return (
            ("fails", "violated")
            if "WARNING" in text
            else ("none", "none")
            if text.startswith("None")
            else ("meets", "met")
        )
    return ("open", "risk unknown") if label in ("Not tested", "Not measured") else ("none", "")


def next_step(conclusion: Conclusion, advice: Sequence[str]) -> str:
    """Return the recommended next step: the best of the compared releases, and a step by the outcome."""
    best = " ".join(advice).partition(". ")[0]
    return " ".join([*([f"{best}."] if best else []), NEXT.get(conclusion.outcome, SINGLING)])


def facts_of(study: Study, people: int | None) -> list[tuple[str, str]]:
    """Return the facts of the runs: data, releases, attacks and the open decision."""
    config = study.runs[-1].config
    size = max((size for size in study.sizes.values() if size), default=None)
    data = f"{size:,} records, one per person" if size else "distance tables without records"
    counted = f"{people:,} people" if people else "no people"
    variants, runs = len(study.variants), len(study.runs)
    controls = {name for (_, name), knows in study.knows.items() if knows == "control"}
    attacks = [one for one in study.attacks if one not in controls]
    return [
        ("Data", data),
        ("Counted", counted),
        ("Methods", _methods(config, study) or "a given release"),
        (
            "Runs",
            f"{runs} runs of {variants} variants" if variants > 1 else f"{runs} repetitions" if runs > 1 else "1 run",
        ),
        ("Attacks", f"{len(attacks)}: {', '.join(attacks)}" if attacks else "none"),
        ("Decision", "open: sign at the end of this page"),
    ]


def _methods(config: Mapping[str, Any], study: Study) -> str:
    configs = [run.config.get("anonymise") or {} for run in study.runs]
    return ", ".join(dict.fromkeys(str(one["method"]) for one in configs if one.get("method")))


def left_out_section(study: Study, conclusion: Conclusion) -> Section:
    """List the data, the knowledge and the attacks that the result does not cover."""
    return Section("left-out", "What was left out", items=list(_left_out(study, conclusion)), half=True)


def _left_out(study: Study, conclusion: Conclusion) -> Iterator[str]:
    yield "Columns: decloak reads the items of each record, and no dates, prices, quantities or other columns."
    attacker = study.runs[-1].config.get("attacker") or {}
    if attacker.get("sample") is not None:
        yield "Records: the attacker knows a sample of the records, which is not in the release."
    yield "Attacks: every attack that this page does not list. Unknown attacks may recover more."
    for label, text in conclusion.lines:
        if label in ("Not tested", "Not measured"):
            yield f"{label}: {text}"
