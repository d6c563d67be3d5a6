"""The figures of the papers: the scenarios that repeat them, their outcomes, and the page that shows them.

The description of a figure is in its scenario, under `figure`; this module describes the papers.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from decloak.digest import digest
from decloak.errors import DecloakError, quote, suggest
from decloak.files import bundled
from decloak.measure.registry import metrics_by_key
from decloak.pipeline.run import run
from decloak.report import charts
from decloak.report.study import Study
from decloak.report.trends import Judged, judged_trend
from decloak.scenario.paper_figure import Figure
from decloak.scenario.plots import Plot, Plots
from decloak.store.opening import connect_readonly
from decloak.store.studies import read_runs
from decloak.yaml.source import check, read_source

__all__ = [
    "AGREES",
    "DIFFERS",
    "HALF",
    "PAPERS",
    "VERDICTS",
    "Entry",
    "FigureOutcome",
    "entries",
    "known_outcomes",
    "outcome",
]

PAPERS = {
    "set-generalisation": "Shao and Ong (2017): attacks on set-generalised transactions",
    "set-generalisation-thesis": "Ong (2015): thesis on semantic attacks on generalised transactions",
    "disassociation": "AlShuhail and Shao (2022): semantic attack on disassociated transactions",
    "cover-problem": "Barakat and others (2016): the cover problem of disassociation",
    "km-anonymity": "Terrovitis, Mamoulis and Kalnis (2011): k^m-anonymity by local and global recoding",
}
"""The papers by their folders, in the order in which they are shown."""

AGREES, HALF, DIFFERS = "agrees", "partly", "differs"
WORDS = ("number", "saw", "why", "quick")
VERDICTS = "verdicts.json"
"""The file with the outcomes, in the folder of the papers and in the folder of the pictures."""


class Entry(NamedTuple):
    """A scenario that repeats a figure: called after its folder and file."""

    name: str
    path: Path
    scenario: str
    figure: Figure
    plots: tuple[Plot, ...]
    digest: str

    @property
    def paper(self) -> str:
        """The folder it is in."""
        return self.path.parent.name


@dataclass(frozen=True)
class FigureOutcome:
    """The outcome of a figure: whether its trends agree with the paper."""

    digest: str
    variants: int
    trends: tuple[Judged, ...]

    @property
    def verdict(self) -> str:
        """Agrees where all trends do, half where some do."""
        holding = sum(trend.holds is True for trend in self.trends)
        return AGREES if holding == len(self.trends) else HALF if holding else DIFFERS

    def as_json(self) -> dict[str, object]:
        return {"verdict": self.verdict} | asdict(self) | {"trends": [trend._asdict() for trend in self.trends]}

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> "FigureOutcome":
        return cls(kept["digest"], kept["variants"], tuple(Judged(**trend) for trend in kept["trends"]))


def folder_of_papers() -> Path:
    return Path(str(bundled("scenarios"))) / "papers"


def entries(names: Sequence[str] = (), *, quick: bool = False) -> list[Entry]:
    """Return the figures whose names contain one of these, or all; with `quick`, only figures that take seconds."""
    listed = [entry for path in folder_of_papers().glob("*/*.yaml") if (entry := _entry(path)) is not None]
    order = list(PAPERS)
    listed.sort(key=lambda entry: (order.index(entry.paper) if entry.paper in order else len(order), entry.name))
    for name in names:
        if not any(name in entry.name for entry in listed):
            hint = suggest(name, [entry.name for entry in listed]) or "`decloak gallery` lists them"
            raise DecloakError(f"no figure {quote(name)}", hint=hint)
    return [
        entry
        for entry in listed
        if (not names or any(name in entry.name for name in names)) and (entry.figure.quick or not quick)
    ]


def _entry(path: Path) -> Entry | None:
    """Return a scenario as a figure, or None if it repeats none."""
    source = read_source(path)
    if not isinstance(source.value, dict) or "figure" not in source.value:
        return None
    figure = check(source, Figure, ("figure",))
    plots = check(source, Plots, ("report",)).plot if "report" in source.value else None
    name = f"{path.parent.name}/{path.stem}"
    return Entry(name, path, str(source.value.get("scenario", "")), figure, plots or (), _digest(source.value))


def _digest(said: Mapping[str, Any]) -> str:
    """Return the digest of the settings in `said` that decide an outcome: new titles and words keep it."""
    figure = {key: value for key, value in said["figure"].items() if key not in WORDS}
    figure["trends"] = [{key: value for key, value in one.items() if key != "says"} for one in figure["trends"]]
    return digest({**{key: value for key, value in said.items() if key != "scenario"}, "figure": figure})


def known_outcomes(folder: Path | None = None) -> dict[str, FigureOutcome]:
    """Return the outcomes of the last run of the figures, by name: from the package, or from a folder."""
    file = (folder or folder_of_papers()) / VERDICTS
    if not file.is_file():
        return {}
    kept = json.loads(file.read_text("utf-8"))
    return {name: FigureOutcome.of_json(of_figure) for name, of_figure in kept.items()}


def outcome(
    entry: Entry, store: Path | None, *, jobs: int = 1, overrides: Sequence[str] = ()
) -> tuple[FigureOutcome, list[dict[str, object]]]:
    """Run a figure and judge its trends; with it the panels that show it. A timed figure runs in one process."""
    titles = metrics_by_key()
    if any(titles[trend.of].clock for trend in entry.figure.trends):
        jobs = 1
    with tempfile.TemporaryDirectory() as folder:
        finished = run(entry.path, store=store or Path(folder) / "gallery.db", jobs=jobs, overrides=overrides)
        with closing(connect_readonly(finished.store)) as connection:
            study = Study.of(connection, read_runs(connection, [variant.run for variant in finished.variants]))
    trends = tuple(judged_trend(study, trend) for trend in entry.figure.trends)
    drawn = [
        panel
        for plot in entry.plots
        for panel in charts.panels(study, plot.x, plot.y, study.panel_keys(plot), close=True)
    ]
    return FigureOutcome(entry.digest, len(finished.variants), trends), drawn
