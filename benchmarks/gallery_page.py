"""Run the figures of the papers, and write the gallery page with its pictures: each figure next to our results.

    python benchmarks/gallery_page.py FOLDER [--run] [--data REAL] [--timed] [--store FILE] [FIGURE...]

--run is for generated data, --data for the real data in the folder REAL, --timed only for the figures about time.
Without --run and --data, the page is written from the results in FOLDER. `make gallery` writes docs/gallery.md.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from decloak.data.formats.writing import write_bytes, write_text
from decloak.parallel import cores
from decloak.relate.judgements import PRINTED, agreement, thirty_pairs
from decloak.report.charts import drawn, grid
from decloak.report.gallery import (
    AGREES,
    CHECKED,
    DIFFERS,
    HALF,
    OUTCOMES,
    PAPERS,
    Entry,
    FigureOutcome,
    entries,
    known_outcomes,
    outcome,
    real_files,
)  # fmt: skip
from decloak.report.trends import JudgedTrend
from decloak.scenario.plots import TOLERANT, Trend

INTRODUCTION = """\
# Gallery: the figures of the papers

`make gallery` writes this page; do not edit it. The page compares every figure and table of results of the five papers
with the results of decloak: on generated data, and on real data where real data fit. A scenario splits the result of
the paper into clauses, and judges each clause by a trend. A figure **agrees** if all of its trends agree, and agrees
**partly** if some agree. It is **not reproduced, checked** if an experiment shows why the other trends do not agree,
and it **differs** if no trend agrees. With random choices, a difference counts if its 95% interval over the repetitions
excludes zero. A tolerance follows the words of a trend in brackets. For "level" and "near" it is a share of the larger
value. For "linear" it is the share of the variance that a straight line does not explain.

The first table is a summary. It names a paper by its year, and **checked** is short for not reproduced, checked. A
dash means that no real data fit.

Reproduce a figure with `decloak gallery NAME --run`, and on your own copies of the real data with `decloak gallery NAME
--data FOLDER`. decloak finds these by their content, or by their names. It has no copies of them.
"""

Outcomes = Mapping[str, FigureOutcome]


def folder_of_pictures(folder: Path) -> Path:
    return folder / "gallery"


def picture_of(name: str) -> str:
    return f"{name.replace('/', '-')}.svg"


def write_picture(entry: Entry, panels: Sequence[dict[str, Any]], folder: Path) -> None:
    if panels:
        picture = drawn(grid(panels) | {"padding": 8}, "svg", image=True)
        write_bytes(picture, folder_of_pictures(folder) / picture_of(entry.name))


def write_outcomes(listed: Sequence[Entry], generated: Outcomes, real: Outcomes, folder: Path) -> None:
    for outcomes, file in ((generated, OUTCOMES[False]), (real, OUTCOMES[True])):
        kept = {entry.name: outcomes[entry.name].as_json() for entry in listed if entry.name in outcomes}
        write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", folder_of_pictures(folder) / file)
    write_text(page_text(listed, generated, real, folder), folder / "gallery.md")


def page_text(listed: Sequence[Entry], generated: Outcomes, real: Outcomes, folder: Path) -> str:
    return "\n".join([INTRODUCTION, *_index(listed, generated, real), *_papers(listed, generated, real, folder), ""])


def _index(listed: Sequence[Entry], generated: Outcomes, real: Outcomes) -> Iterator[str]:
    """Yield a table of the figures that fits a screen, and a table of the papers with the number of each verdict."""
    yield from ("| paper | figure | the paper | generated | real | reason |", "|---|---|---|---|---|---|")
    for entry in listed:
        verdicts = entry.verdict(generated.get(entry.name)), entry.verdict(real.get(entry.name), real=True)
        short = (verdict.replace(CHECKED, "checked").replace("no real data fit", "–") for verdict in verdicts)
        link = f"[{_cell(short_number(entry.figure.number))}](#{_anchor(entry)})"
        cells = year_of(entry.paper), link, _cell(entry.figure.claim), *short, _cell(reason_of(entry))
        yield f"| {' | '.join(cells)} |"
    words = (AGREES, HALF, CHECKED, DIFFERS)
    yield from ("", f"| paper | data | figures | {' | '.join(words)} |", f"|{'---|' * 7}")
    for paper in dict.fromkeys(entry.paper for entry in listed):
        of_paper = [entry for entry in listed if entry.paper == paper]
        for title, outcomes in (("generated", generated), ("real", real)):
            verdicts = [outcomes[entry.name].verdict(entry.figure) for entry in of_paper if entry.name in outcomes]
            counts = " | ".join(str(verdicts.count(word)) for word in words)
            yield f"| {_cell(PAPERS.get(paper, paper))} | {title} | {len(verdicts)} | {counts} |"
    yield ""


def year_of(paper: str) -> str:
    """Return the year of `paper`, from its title."""
    return next(iter(re.findall(r"[(](\d{4})[)]", PAPERS.get(paper, ""))), paper)


def short_number(number: str) -> str:
    """Return the `number` of a figure without the word Figure.

    >>> short_number("Figures 4 to 9, the worked example")
    '4 to 9, example'
    """
    return re.sub("^Figures? ", "", number).replace("the worked ", "")


def reason_of(entry: Entry) -> str:
    """Return the first sentence of the reason."""
    return re.split(r"(?<=[.]) (?=[A-Z])", " ".join((entry.figure.why or "").split()))[0]


def _papers(listed: Sequence[Entry], generated: Outcomes, real: Outcomes, folder: Path) -> Iterator[str]:
    for paper in dict.fromkeys(entry.paper for entry in listed):
        yield from (f"## {PAPERS.get(paper, paper)}", "")
        for entry in listed:
            if entry.paper == paper:
                yield from _figure(entry, generated.get(entry.name), real.get(entry.name), folder)
        if paper == "set-generalisation-thesis":
            yield from _table_of_judgements()


def _figure(entry: Entry, generated: FigureOutcome | None, real: FigureOutcome | None, folder: Path) -> Iterator[str]:
    figure = entry.figure
    yield from (f"({_anchor(entry)})=", f"### {figure.number}: {entry.verdict(generated)}", "")
    yield from (f"*{entry.scenario}* (`scenarios/papers/{entry.name}.yaml`)", "")
    yield from (f"**The paper.** {' '.join(figure.saw)}", "")
    for title, known, is_real in (("generated data", generated, False), ("real data", real, True)):
        if known is not None:
            yield f"**decloak on {title}: {entry.verdict(known, real=is_real)}**, in {known.variants} runs:"
            trends = {trend.says: trend for trend in figure.trends}  # a changed figure may have others
            yield from ("", *(_trend(trends.get(judged.says), judged) for judged in known.trends if judged.lines), "")
    if isinstance(figure.real, str):
        yield from (f"**No real data.** {figure.real}", "")
    for trend in figure.trends:
        if trend.checked:
            yield from (f"**Not reproduced, checked: {trend.says}.** {trend.checked}", "")
    if figure.why:
        yield from (f"**Reason.** {figure.why}", "")
    picture = folder_of_pictures(folder) / picture_of(entry.name)
    if picture.is_file():
        yield from (f"![{_alt(entry, generated)}](gallery/{picture.name})", "")


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


def _trend(trend: Trend | None, judged: JudgedTrend) -> str:
    word = {True: "agrees", None: "inconclusive", False: "differs"}[judged.holds]
    share = "" if judged.lines == 1 or judged.holds else f" ({judged.holding} of {judged.lines} lines agree)"
    tolerance = f" [{trend.within:g}]" if trend and trend.trend in TOLERANT else ""
    return f"- **{word}**{share}: {judged.says}{tolerance}. `{judged.seen}`"


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
    parser.add_argument("--run", action="store_true", help="run the figures on generated data")
    parser.add_argument("--data", type=Path, help="run the figures on the real data in this folder")
    parser.add_argument("--timed", action="store_true", help="only the figures about time, such as on an idle machine")
    parser.add_argument("--store", type=Path, help="keep the runs, so that nothing is computed again")
    parser.add_argument("figures", nargs="*", help="parts of names; all figures without any")
    arguments = parser.parse_intermixed_args()  # figures may follow options
    pictures = folder_of_pictures(arguments.folder)
    chosen = [entry for entry in entries(arguments.figures) if entry.timed or not arguments.timed]
    pictures.mkdir(exist_ok=True)
    outcomes = {is_real: known_outcomes(pictures, real=is_real) for is_real in (False, True)}
    files = real_files(arguments.data) if arguments.data else {}
    works = [(entry, False, []) for entry in chosen if arguments.run]
    works += [(entry, True, given) for entry in chosen if (given := entry.settings_on_real_data(files)) is not None]
    for number, (entry, is_real, settings) in enumerate(works, 1):
        print(f"{number} of {len(works)}: {entry.name}{' on real data' if is_real else ''}", file=sys.stderr)
        outcomes[is_real][entry.name], panels = outcome(
            entry, arguments.store, jobs=cores(), overrides=settings, data=arguments.data if is_real else None
        )
        if not is_real:
            write_picture(entry, panels, arguments.folder)
        write_outcomes(entries(), outcomes[False], outcomes[True], arguments.folder)
    write_outcomes(entries(), outcomes[False], outcomes[True], arguments.folder)


if __name__ == "__main__":
    main()
