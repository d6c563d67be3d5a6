"""Assemble the page about some runs from the store, in the order of a decision."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from decloak.digest import JsonObject
from decloak.measure.registry import metrics_by_key
from decloak.pipeline.run import judge, over_repetitions
from decloak.report import charts
from decloak.report.charts import comparison_svg
from decloak.report.ci import SIGNS
from decloak.report.compare.attacks import attack_pairs
from decloak.report.compare.runs import stored_variant
from decloak.report.exposure_section import exposure_parts, frontier_section
from decloak.report.page import Drawn, Finding, Findings, Page, PageTable, Section
from decloak.report.pictures import reliability_section
from decloak.report.sections import (
    attacker_section,
    attacks_section,
    costs_section,
    limits_section,
    making_section,
    nameless,
    sweep_section,
)
from decloak.report.study import Study
from decloak.report.verdict import Outcome, Status, inference_statuses, recovers
from decloak.report.verdict_figures import Judged, judged_variants
from decloak.report.verdict_lines import Conclusion, leading, most_severe
from decloak.rules.explain import compare_alternatives, list_findings
from decloak.rules.load import parse_rule
from decloak.scenario.expect import Expectation
from decloak.store.outcomes import Exposure, exposure
from decloak.store.results import StudyRun, attacks_of, notes_of

SINGLING = "Compare other methods, or use a larger k or fewer items, and run the attacks again."
NEXT = {
    Outcome.IDENTIFIERS: "Use decloak publish, which removes ids and sorts the records. Then run the attacks again.",
    Outcome.ROW_ORDER: "Use decloak publish, which sorts the records. Then run the attacks again.",
    Outcome.MEMBER_ORDER: "Use decloak publish, which sorts members by name. Then run the attacks again.",
    Outcome.GUARANTEE: "Correct the method or its parameters: the release violates its guarantee.",
    Outcome.NOT_MEASURED: "Add the missing measures to the scenario, and run it again.",
    Outcome.NOT_TESTED: "Give the attacker more knowledge under attacker: {knows: ...}, and run the scenario again.",
    Outcome.INCONCLUSIVE: "Use more records or more repetitions, and run the scenario again.",
    Outcome.LOWER_RISK: "Compare the limits with the recipients and the access below, and decide.",
}
OUTCOMES = {
    "Singling out": (Outcome.SINGLED_OUT, Outcome.AFTER_ATTACK),
    "Exposed": (Outcome.EXPOSED,),
    "Identifiers": (Outcome.IDENTIFIERS, Outcome.ROW_ORDER, Outcome.MEMBER_ORDER),
    "Implied items": (Outcome.IMPLIED,),
    "Certain links": (Outcome.CERTAIN_LINKS,),
}
"""The outcomes that each line of a verdict is about."""
STATES = {
    Status.EXCEEDED: ("fails", "above the limit"),
    Status.UNKNOWN: ("open", "unknown"),
    Status.WITHIN: ("meets", "within the limit"),
}
"""The state of a line by the status of its figures, the worst first."""


def findings_of(conclusion: Conclusion, judged: Judged) -> list[Finding]:
    """Return the lines of `conclusion` with their states, from the decision of `judged`."""
    findings: list[Finding] = []
    for label, text in conclusion.lines:
        if label or not findings:
            findings.append(Finding(label, text, *_state(label, text, judged)))
        else:
            # A line without a label continues the line above.
            findings[-1] = findings[-1]._replace(text=f"{findings[-1].text} {text}")
    return findings


def _state(label: str, text: str, judged: Judged) -> tuple[str, str]:
    decision = judged.decision
    if label in OUTCOMES:
        if any(one.outcome in OUTCOMES[label] for one in decision.exceeded):
            return STATES[Status.EXCEEDED]
        unknown = any(one.outcome in OUTCOMES[label] for one in decision.unknown)
        return STATES[Status.UNKNOWN if unknown else Status.WITHIN]
    if label == "Inference":
        return STATES[min(inference_statuses(judged.figures), key=list(STATES).index)]
    if label == "Recovery":
        if any(recovers(one, judged.figures.comparisons) for one in judged.figures.recoveries):
            return "fails", "above the baseline"
        return ("open", "inconclusive") if judged.figures.recoveries else ("none", "not tested")
    if label == "Guarantee":
        if "WARNING" in text:
            return "fails", "violated"
        return ("none", "none") if "states no guarantee" in text else ("meets", "met")
    return ("open", "risk unknown") if label in ("Not tested", "Not measured") else ("none", "")


def next_step(conclusion: Conclusion, advice: Sequence[str]) -> str:
    """Return the recommended next step: the best of the compared releases, and a step by the outcome."""
    # The first sentence names the best release. The others are in the section of people.
    best = " ".join(advice).partition(". ")[0]
    return " ".join([*([f"{best}."] if best else []), NEXT.get(conclusion.outcome, SINGLING)])


def facts_of_study(study: Study, people: int | None) -> list[tuple[str, str]]:
    """Return the facts of the runs: data, releases, attacks and the open decision."""
    configs = [run.config.get("anonymise") or {} for run in study.runs]
    methods = dict.fromkeys(str(config["method"]) for config in configs if config.get("method"))
    size = max((size for size in study.sizes.values() if size), default=None)
    data = f"{size:,} records, one per person" if size else "distance tables without records"
    counted = f"{people:,} people" if people else "no people"
    variants, runs = len(study.variants), len(study.runs)
    attacks = [one for one in study.attacks if one not in study.negative_controls]
    return [
        ("Data", data),
        ("Counted", counted),
        ("Methods", ", ".join(methods) or "a given release"),
        (
            "Runs",
            f"{runs} runs of {variants} variants" if variants > 1 else f"{runs} repetitions" if runs > 1 else "1 run",
        ),
        ("Attacks", f"{len(attacks)}: {', '.join(attacks)}" if attacks else "none"),
        ("Decision", "open: sign at the end of this page"),
    ]


def left_out_section(study: Study, conclusion: Conclusion) -> Section:
    """List the data, the knowledge and the attacks that the result does not cover."""
    items = ["Columns: decloak reads the items of each record, and no dates, prices, quantities or other columns."]
    attacker = study.runs[-1].config.get("attacker") or {}
    if attacker.get("sample") is not None:
        items.append("Records: the attacker knows a sample of the records, which is not in the release.")
    items.append("Attacks: every attack that this page does not list. Unknown attacks may recover more.")
    items += [f"{label}: {text}" for label, text in conclusion.lines if label in ("Not tested", "Not measured")]
    return Section("left-out", "What was left out", items=items, half=True)


# Outcomes are sorted by severity: every one before NOT_MEASURED is a finding.
TONES = dict.fromkeys(list(Outcome)[: list(Outcome).index(Outcome.NOT_MEASURED)], "bad") | {Outcome.LOWER_RISK: "good"}

MOST_FINDINGS, MOST_PICTURES, MOST_ITEMS, MOST_BARS = 5_000, 3, 20, 40


def page_of(
    connection: sqlite3.Connection, store: Path, runs: Sequence[StudyRun], *, evidence: bool, originals: bool
) -> Page:
    """Return the page about `runs`; `evidence` adds findings with item names, `originals` the recovered items."""
    study = Study.of(connection, runs)
    judged = judged_variants(connection, study)
    verdict = most_severe(judged)
    worst = leading(judged)
    exposed = exposure_parts(connection, study)
    notes = list(dict.fromkeys(note for run in runs for note in notes_of(connection, run.run)))
    # A page without evidence names no item, also not in notes and settings.
    names = set[str]() if evidence else {name for (name,) in connection.execute("select name from item")}
    sections = (
        exposed.section,
        frontier_section(exposed.cards),
        attacks_section(study, attack_pairs(connection, study)),
        sweep_section(study),
        costs_section(study),
        attacker_section(study),
        left_out_section(study, verdict),
        _weakest(connection, study, originals),
        reliability_section(connection, study) if evidence else None,
        _evidence(connection, runs[-1].run) if evidence else None,
        limits_section(nameless(notes, names)),
        making_section(study, store.name, names),
    )
    shown = [text for asked, text in ((evidence, "findings about records"), (originals, "original items")) if asked]
    return Page(
        name=f"run-{runs[-1].run}",
        title=runs[0].scenario,
        headline=verdict.headline,
        tone=TONES.get(verdict.outcome, "open"),
        next=next_step(verdict, exposed.advice),
        facts=facts_of_study(study, exposed.cards[0].people if exposed.cards else None),
        verdict=findings_of(verdict, worst),
        tiles=exposed.tiles,
        expectations=[*_expectations(connection, study), *_criteria(judged)],
        sections=[section for section in sections if section is not None],
        figures=_figures(study),
        findings=_findings(connection, runs[-1].run) if evidence else None,
        shows=f"CONFIDENTIAL: this page shows {' and '.join(shown)}. Do not share it." if shown else "",
    )


def _expectations(connection: sqlite3.Connection, study: Study) -> Iterator[tuple[str, str]]:
    """Yield each expectation of each variant, with the sign of its result."""
    for name, numbers in study.variants:
        runs = [run for run in study.runs if run.run in numbers]
        measures = list(over_repetitions(stored_variant(connection, run) for run in runs))
        where = f"{name}: " if len(study.variants) > 1 else ""
        for text in runs[0].config.get("expect") or ():
            holds, said = judge(Expectation.parse(text), measures, len(runs))
            yield SIGNS[holds], f"{where}{said}"


def _criteria(judged: Sequence[Judged]) -> Iterator[tuple[str, str]]:
    """Yield each criterion of each variant, with the sign of its result."""
    for one in judged:
        where = f"{one.settings.name}: " if one.settings.several else ""
        for criterion in one.settings.accepted.criteria if one.settings.accepted is not None else ():
            yield SIGNS[criterion.holds], f"{where}{criterion.text}"


def _weakest(connection: sqlite3.Connection, study: Study, originals: bool) -> Section | None:
    """Plot the eliminated members per record, for the most successful attack of the newest run."""
    run = study.runs[-1].run
    figures = study.figures[run]
    # Without a right elimination no record is more exposed than another.
    won = [(figures.get(("correct", attack.label)) or 0.0, attack) for attack in attacks_of(connection, run)]
    correct, attack = max(won, key=lambda pair: pair[0])
    spread = exposure(connection, attack.attack, parse_rule(attack.text).derives, MOST_ITEMS) if correct else None
    if spread is None:
        return None
    drawn = [_histogram(spread, attack.label)]
    if not originals:
        hint = "Use decloak report --with-originals to list the items."
        return Section("weakest", "Most exposed records", [hint], drawn)
    rows = [[item, str(times)] for item, times in spread.items]
    table = PageTable("Items that were eliminated correctly most often", ("item", "times"), rows, frozenset({1}))
    return Section("weakest", "Most exposed records", figures=drawn, tables=[table])


def _histogram(spread: Exposure, attack: str) -> Drawn:
    size = sum(spread.records.values())
    hit = size - spread.records[0]
    said = f"{attack} eliminated at least one added member in {hit:,} of {size:,} records"
    most = max(spread.records)
    # Without bars for values that are absent, a gap would not be seen.
    shown = range(most + 1) if most <= MOST_BARS else spread.records
    bars = [(str(items), spread.records.get(items, 0)) for items in shown]
    spec = charts.bars(bars, "correct eliminations", "records", said)
    rows = [[str(items), f"{records:,}"] for items, records in spread.records.items()]
    table = PageTable(said, ("correct eliminations", "records"), rows, frozenset({0, 1}))
    return Drawn(f"{said}.", [charts.drawn(spec, "svg").decode()], table)


def _evidence(connection: sqlite3.Connection, run: int) -> Section:
    figures = [
        Drawn(f"{finding.attack}: {finding.sentence}", [comparison_svg(comparison)])
        for finding, comparison in _pictures(connection, run)
    ]
    return Section("evidence", "Reasons of some findings", figures=figures)


def _pictures(connection: sqlite3.Connection, run: int) -> Iterator[tuple[Any, Any]]:
    """Yield the first finding of each attack that can be drawn."""
    count = 0
    for attack in attacks_of(connection, run):
        for finding in list_findings(connection, run, attack.label, 1):
            comparison = compare_alternatives(connection, run, finding.finding)
            if comparison is not None and count < MOST_PICTURES:
                count += 1
                yield finding, comparison


def _findings(connection: sqlite3.Connection, run: int) -> Findings:
    # One more than is shown: `list_findings` cuts each attack, and the page has to say so.
    rows = list_findings(connection, run, None, MOST_FINDINGS + 1)
    listed = [tuple(finding) for finding in rows[:MOST_FINDINGS]]
    said = f"The first {len(listed):,} findings of run {run}" if len(rows) > len(listed) else f"All of run {run}"
    return Findings(f"{said}.", ("attack", "finding", "because"), listed)


def _figures(study: Study) -> JsonObject:
    """Return every figure of every run, as numbers."""
    columns = ["run", "variant", "repetition", "attack", *study.measures]
    rows = [
        [run.run, run.variant, run.repetition, attack]
        + [study.figures[run.run].get((measure, attack)) for measure in study.measures]
        for run in study.runs
        for attack in study.attacks
    ]
    metrics = metrics_by_key()
    # A store of an older version has figures that nobody measures any more.
    titles = {name: metrics[name].title if name in metrics else name for name in study.measures}
    return {"columns": columns, "rows": rows, "titles": titles}
