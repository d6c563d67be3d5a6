"""Run the figures of the papers, and write the gallery page with its pictures: each figure next to our results.

    python benchmarks/gallery_page.py FOLDER [--run] [FIGURE...]

Without --run the page is written from the results in FOLDER. `make gallery` writes docs/gallery.md.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from decloak.data.formats.writing import write_bytes, write_text
from decloak.measure.kernels.agreement import agreement
from decloak.parallel import cores
from decloak.relate.judgements import PRINTED, thirty_pairs
from decloak.report.charts import drawn, grid
from decloak.report.gallery import (
    AGREES,
    DIFFERS,
    HALF,
    PAPERS,
    VERDICTS,
    Entry,
    FigureOutcome,
    JudgedTrend,
    entries,
    known_outcomes,
    outcome,
)  # fmt: skip

INTRODUCTION = """\
# Gallery: the figures of the papers

`make gallery` writes this page; do not edit it. The page compares every figure and table of results of the five papers
with the results of decloak. The data of the papers are not public, so decloak uses generated data of a similar size,
and compares trends and not values. A scenario lists the trends of each figure. A figure **agrees** if all of its trends
agree, agrees **partly** if some agree, and **differs** if none agrees. With random choices, a difference counts if its
95% interval over the repetitions excludes zero.

Reproduce a figure with `decloak gallery NAME --run`. Use your own data with `decloak run FILE --set
data='{file: visits.dat, format: basket, separator: " "}'`.
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
    """Yield a table of the papers, and a table of the figures of each."""
    yield from ("| paper | figures | agree | agree partly | differ |", "|---|---|---|---|---|")
    for paper in dict.fromkeys(entry.paper for entry in listed):
        of_paper = [entry for entry in listed if entry.paper == paper]
        verdicts = [outcomes[entry.name].verdict for entry in of_paper if entry.name in outcomes]
        counts = " | ".join(str(verdicts.count(word)) for word in (AGREES, HALF, DIFFERS))
        yield f"| {_cell(PAPERS.get(paper, paper))} | {len(of_paper)} | {counts} |"
    yield from ("", "| figure | result | trends that agree |", "|---|---|---|")
    for entry in listed:
        known = outcomes.get(entry.name)
        agreeing = f"{sum(trend.holds is True for trend in known.trends)} of {len(known.trends)}" if known else "–"
        link = f"[{_cell(entry.scenario)}](#{_anchor(entry)})"
        yield f"| {link} | {known.verdict if known else 'not run'} | {agreeing} |"
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
    yield from (f"*{entry.scenario}* (`scenarios/papers/{entry.name}.yaml`)", "", f"**The paper.** {figure.saw}", "")
    if known is not None:
        yield from (f"**decloak**, in {known.variants} runs:", "", *map(_trend, known.trends), "")
    if figure.why:
        yield from (f"**Reason.** {figure.why}", "")
    picture = folder_of_pictures(folder) / picture_of(entry.name)
    if picture.is_file():
        yield from (f"![{_alt(entry, known)}](gallery/{picture.name})", "")


def _table_of_judgements() -> Iterator[str]:
    """Yield the table of the thesis that compares measures: no scenario repeats it."""
    data = thirty_pairs()
    worked_out = {name: agreement(data.human, scores).pearson.value or 0.0 for name, scores in data.others.items()}
    same = all(abs(worked_out[name] - printed) < 0.01 for name, printed in PRINTED.items())
    seen = "; ".join(f"{name} {value:.3f}, printed {PRINTED[name]:.2f}" for name, value in worked_out.items())
    yield from (f"### Table 3.1: {AGREES if same else DIFFERS}", "")
    yield from ("`decloak relate benchmark` compares any measure with these judgements.", "")
    yield from ("**The paper.** NGD agrees with human judgement of thirty pairs of words as well as other methods.", "")
    yield from (f"**decloak**, correlations calculated from the printed scores: `{seen}`.", "")


def _trend(trend: JudgedTrend) -> str:
    word = {True: "agrees", None: "inconclusive", False: "differs"}[trend.holds]
    share = "" if trend.lines == 1 or trend.holds else f" ({trend.holding} of {trend.lines} lines agree)"
    return f"- **{word}**{share}: {trend.says}. `{trend.seen}`"


def _alt(entry: Entry, known: FigureOutcome | None) -> str:
    drawn_of = ", ".join(dict.fromkeys(f"{plot.y} along {plot.x}" for plot in entry.plots))
    holding = "; ".join(f"{trend.says}: {'yes' if trend.holds else 'no'}" for trend in known.trends) if known else ""
    return f"{drawn_of}. {holding}".replace("[", "(").replace("]", ")")


def _anchor(entry: Entry) -> str:
    return f"figure-{entry.name.replace('/', '-')}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run", action="store_true", help="run the figures first")
    parser.add_argument("figures", nargs="*", help="parts of names; all figures without any")
    arguments = parser.parse_args()
    pictures = folder_of_pictures(arguments.folder)
    outcomes = known_outcomes(pictures)
    for number, entry in enumerate(chosen := entries(arguments.figures) if arguments.run else [], 1):
        print(f"{number} of {len(chosen)}: {entry.name}", file=sys.stderr)
        outcomes[entry.name], panels = outcome(entry, None, jobs=cores())
        pictures.mkdir(exist_ok=True)
        write_picture(entry, panels, arguments.folder)
        write_outcomes(entries(), outcomes, arguments.folder)
    write_outcomes(entries(), outcomes, arguments.folder)


if __name__ == "__main__":
    main()
