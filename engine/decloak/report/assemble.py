"""Assemble the page about some runs from the store, in the order of a decision."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from decloak.measure.kernels.statistics import interval
from decloak.measure.registry import metrics_by_key
from decloak.report import charts
from decloak.report.ci import SIGNS
from decloak.report.compare.attacks import attack_pairs
from decloak.report.decision import facts_of, findings_of, left_out_section, next_step
from decloak.report.drawing import comparison_svg
from decloak.report.exposure_section import exposure_parts
from decloak.report.frontier import frontier_section
from decloak.report.page import Drawn, Findings, Page, Section, Table
from decloak.report.reliability import reliability_section
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
from decloak.report.verdict import Outcome
from decloak.report.verdict_figures import judged_variants
from decloak.report.verdict_lines import leading, most_severe
from decloak.rules.explain import compare_alternatives, list_findings
from decloak.rules.load import parse_rule
from decloak.scenario.expect import Expectation
from decloak.store.outcomes import Exposure, exposure
from decloak.store.results import attacks_of, notes_of, pooled_figures
from decloak.store.studies import StudyRun

__all__ = ["page_of"]

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
        facts=facts_of(study, exposed.cards[0].people if exposed.cards else None),
        verdict=findings_of(verdict, worst),
        tiles=exposed.tiles,
        expectations=_expectations(connection, study),
        sections=[section for section in sections if section is not None],
        figures=_figures(study),
        findings=_findings(connection, runs[-1].run) if evidence else None,
        shows=f"CONFIDENTIAL: this page shows {' and '.join(shown)}. Do not share it." if shown else "",
    )


def _expectations(connection: sqlite3.Connection, study: Study) -> list[tuple[str, str]]:
    """Return each expectation of each variant, with the sign of its result."""
    judged = []
    counts_of = {name for name, title in metrics_by_key().items() if title.count}
    for name, runs in study.variants:
        keys = dict.fromkeys(key for run in runs for key in study.figures[run])
        over = {key: interval(study.values(runs, *key)) for key in keys}
        means, counts = ({key: getattr(over[key], part) for key in keys} for part in ("mean", "n"))
        figures = [pooled_figures(connection, run) for run in runs]
        shares = {
            key: interval([figure.share for of_run in figures if (figure := of_run.get(key)) is not None]).mean
            for key in keys
            if key[0] in counts_of
        }
        config = next(run.config for run in study.runs if run.variant == name)
        for text in config.get("expect") or ():
            expectation = Expectation.parse(text)
            where = f"{name}: " if len(study.variants) > 1 else ""
            holds, said = expectation.judged(means, counts, len(runs), shares)
            judged.append((SIGNS[holds], f"{where}{said}"))
    return judged


def _weakest(connection: sqlite3.Connection, study: Study, originals: bool) -> Section | None:
    """Plot the eliminated members per record, for the most successful attack of the newest run."""
    run = study.runs[-1].run
    figures = study.figures[run]
    won = [(figures.get(("correct", attack.label)) or 0.0, attack) for attack in attacks_of(connection, run)]
    correct, attack = max(won, key=lambda pair: pair[0])
    spread = exposure(connection, attack.attack, parse_rule(attack.text).derives, MOST_ITEMS) if correct else None
    if spread is None:
        return None
    drawn, lines = _histogram(spread, attack.label), []
    tables = []
    if originals:
        tables = [
            Table("Items that were eliminated correctly most often", ("item", "times"), _rows(spread), frozenset({1}))
        ]
    else:
        lines = ["Use decloak report --with-originals to list the items."]
    return Section("weakest", "Most exposed records", lines, [drawn], tables)


def _rows(spread: Exposure) -> list[list[str]]:
    return [[item, str(times)] for item, times in spread.items]


def _histogram(spread: Exposure, attack: str) -> Drawn:
    size = sum(spread.records.values())
    hit = size - spread.records[0]
    said = f"{attack} eliminated at least one added member in {hit:,} of {size:,} records"
    most = max(spread.records)
    shown = range(most + 1) if most <= MOST_BARS else spread.records  # a gap is seen as one
    bars = [(str(items), spread.records.get(items, 0)) for items in shown]
    spec = charts.bars(bars, "correct eliminations", "records", said)
    rows = [[str(items), f"{records:,}"] for items, records in spread.records.items()]
    table = Table(said, ("correct eliminations", "records"), rows, frozenset({0, 1}))
    return Drawn(f"{said}.", [charts.drawn(spec, "svg").decode()], table)


def _evidence(connection: sqlite3.Connection, run: int) -> Section:
    figures = [
        Drawn(f"{finding.attack}: {finding.sentence}", [comparison_svg(comparison)])
        for finding, comparison in _pictures(connection, run)
    ]
    return Section("evidence", "Reasons of some findings", figures=figures)


def _pictures(connection: sqlite3.Connection, run: int) -> Iterator[tuple[Any, Any]]:
    """The first finding of each attack, as far as it can be drawn."""
    count = 0
    for attack in attacks_of(connection, run):
        for finding in list_findings(connection, run, attack.label, 1):
            comparison = compare_alternatives(connection, run, finding.finding)
            if comparison is not None and count < MOST_PICTURES:
                count += 1
                yield finding, comparison


def _findings(connection: sqlite3.Connection, run: int) -> Findings:
    rows = list_findings(connection, run, None, MOST_FINDINGS)
    listed = [tuple(finding) for finding in rows[:MOST_FINDINGS]]
    said = f"The first {len(listed):,} findings of run {run}" if len(rows) > len(listed) else f"All of run {run}"
    return Findings(f"{said}.", ("attack", "finding", "because"), listed)


def _figures(study: Study) -> dict[str, Any]:
    """Return every figure of every run, as numbers."""
    columns = ["run", "variant", "repetition", "attack", *study.measures]
    rows = [
        [run.run, run.variant, run.repetition, attack]
        + [study.figures[run.run].get((measure, attack)) for measure in study.measures]
        for run in study.runs
        for attack in study.attacks
    ]
    titles = metrics_by_key()
    return {"columns": columns, "rows": rows, "titles": {name: titles[name].title for name in study.measures}}
