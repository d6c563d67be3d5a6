"""The page of the figures of the papers, and the pictures on it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from decloak.data.formats.writing import write_bytes, write_text
from decloak.measure.kernels.agreement import agreement
from decloak.relate.judgements import PRINTED, thirty_pairs
from decloak.report.charts import drawn, grid
from decloak.report.gallery import AGREES, DIFFERS, HALF, PAPERS, VERDICTS, Entry, FigureOutcome
from decloak.report.trends import Judged

__all__ = ["folder_of_pictures", "page_text", "picture_of", "write_outcomes", "write_picture"]

INTRODUCTION = """\
# The papers' figures, and what we see

Written by `make gallery`; do not edit. Every figure and table of results of the five papers stands here with what the
paper saw and what decloak sees. The papers' data cannot be handed out, so all of this is on generated data of a fitting
size: what is compared is the trend, not the number. Every trend is a line of its scenario, judged by what was
measured: a figure **agrees** when all of its trends do, **half** when some do, **does not** when none does. Where
chance decides, a difference counts when its 95% interval over the repetitions lies on one side of zero.

A figure on data of your own: `decloak run FILE --set data='{file: visits.dat, format: basket, separator: " "}'`.
`decloak gallery NAME` prints what stands here, `decloak gallery NAME --run` runs it anew.
"""


def folder_of_pictures(folder: Path) -> Path:
    return folder / "gallery"


def picture_of(name: str) -> str:
    return f"{name.replace('/', '-')}.svg"


def write_picture(entry: Entry, panels: Sequence[dict[str, Any]], folder: Path) -> None:
    if panels:
        picture = drawn(grid(panels) | {"padding": 8}, "svg", image=True)
        write_bytes(picture, folder_of_pictures(folder) / picture_of(entry.name))


def write_outcomes(listed: Sequence[Entry], outcomes: Mapping[str, FigureOutcome], folder: Path) -> None:
    kept = {entry.name: outcomes[entry.name].as_json() for entry in listed if entry.name in outcomes}
    write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", folder_of_pictures(folder) / VERDICTS)
    write_text(page_text(listed, outcomes, folder), folder / "gallery.md")


def page_text(listed: Sequence[Entry], outcomes: Mapping[str, FigureOutcome], folder: Path) -> str:
    return "\n".join([INTRODUCTION, *_index(listed, outcomes), *_papers(listed, outcomes, folder), ""])


def _index(listed: Sequence[Entry], outcomes: Mapping[str, FigureOutcome]) -> Iterator[str]:
    verdicts = [outcomes[entry.name].verdict for entry in listed if entry.name in outcomes]
    counts = ", ".join(f"{word}: {verdicts.count(word)}" for word in (AGREES, HALF, DIFFERS))
    yield from (f"{len(listed)} scenarios; {counts}.", "", "| figure | verdict | reason |", "|---|---|---|")
    for entry in listed:
        known = outcomes.get(entry.name)
        verdict = known.verdict if known else "not run"
        reason = "" if verdict == AGREES else _cell(entry.figure.why or "")
        link = f"[{entry.paper}: {_cell(entry.figure.number)}](#{_anchor(entry)})"
        yield f"| {link} | {verdict} | {reason} |"
    yield ""


def _papers(listed: Sequence[Entry], outcomes: Mapping[str, FigureOutcome], folder: Path) -> Iterator[str]:
    for paper in dict.fromkeys(entry.paper for entry in listed):
        yield from (f"## {PAPERS.get(paper, paper)}", "")
        for entry in listed:
            if entry.paper == paper:
                yield from _figure(entry, outcomes.get(entry.name), folder)
        if paper == "set-generalisation-thesis":
            yield from _table_of_judgements()


def _figure(entry: Entry, known: FigureOutcome | None, folder: Path) -> Iterator[str]:
    figure = entry.figure
    yield from (f"({_anchor(entry)})=", f"### {figure.number}: {known.verdict if known else 'not run'}", "")
    yield from (f"*{entry.scenario}* (`scenarios/papers/{entry.name}.yaml`)", "", f"The paper: {figure.saw}", "")
    if known is not None:
        yield from (f"We see, in {known.variants} runs:", "", *map(_trend, known.trends), "")
    if figure.why:
        yield from (figure.why, "")
    picture = folder_of_pictures(folder) / picture_of(entry.name)
    if picture.is_file():
        yield from (f"![{_alt(entry, known)}](gallery/{picture.name})", "")


def _table_of_judgements() -> Iterator[str]:
    """The one table of results that is about a measure and not about a release, so that no scenario repeats it."""
    data = thirty_pairs()
    worked_out = {name: agreement(data.human, scores).pearson.value or 0.0 for name, scores in data.others.items()}
    same = all(abs(worked_out[name] - printed) < 0.01 for name, printed in PRINTED.items())
    seen = "; ".join(f"{name} {value:.3f}, printed {PRINTED[name]:.2f}" for name, value in worked_out.items())
    yield from (f"### Table 3.1: {AGREES if same else DIFFERS}", "")
    yield from ("No scenario: `decloak relate benchmark`, which compares any measure with the same people.", "")
    yield from ("The paper: NGD agrees with people's judgements of thirty pairs of words as well as other methods.", "")
    yield from (f"We see, from the scores it prints, as correlations with the judgements: {seen}.", "")


def _trend(trend: Judged) -> str:
    word = {True: "holds", None: "cannot be told", False: "does not hold"}[trend.holds]
    share = "" if trend.lines == 1 or trend.holds else f", in {trend.holding} of {trend.lines} it does"
    return f"- {trend.says}: **{word}**{share} ({trend.seen})"


def _alt(entry: Entry, known: FigureOutcome | None) -> str:
    drawn_of = ", ".join(dict.fromkeys(f"{plot.y} along {plot.x}" for plot in entry.plots))
    holding = "; ".join(f"{trend.says}: {'yes' if trend.holds else 'no'}" for trend in known.trends) if known else ""
    return f"{drawn_of}. {holding}".replace("[", "(").replace("]", ")")


def _anchor(entry: Entry) -> str:
    return f"figure-{entry.name.replace('/', '-')}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
