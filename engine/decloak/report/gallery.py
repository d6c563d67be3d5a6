"""The figures of the papers: the scenarios that repeat them, and whether the trends of our results agree.

The description of a figure is in its scenario, under `figure`; this module describes the papers.
"""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

from decloak.data.formats.unpacked import unpacked
from decloak.digest import Config, digest
from decloak.errors import DecloakError, quote, suggest
from decloak.files import bundled
from decloak.measure.registry import metrics_by_key
from decloak.pipeline import run as runs
from decloak.report import charts
from decloak.report.study import Study
from decloak.report.trends import JudgedTrend, judged_trend
from decloak.scenario.plots import Figure, Plot, Plots
from decloak.store.opening import connect_readonly
from decloak.store.results import read_runs
from decloak.yaml.source import check, read_source

PAPERS = {
    "set-generalisation": "Shao and Ong (2017): attacks on set-generalised transactions",
    "set-generalisation-thesis": "Ong (2015): thesis on semantic attacks on generalised transactions",
    "disassociation": "AlShuhail and Shao (2022): semantic attack on disassociated transactions",
    "cover-problem": "Barakat and others (2016): the cover problem of disassociation",
    "km-anonymity": "Terrovitis, Mamoulis and Kalnis (2011): k^m-anonymity by local and global recoding",
}
"""The papers by their folders, in the order in which they are shown."""

AGREES, HALF, CHECKED, DIFFERS = "agrees", "partly", "not reproduced, checked", "differs"
WORDS = ("number", "claim", "saw", "why", "quick", "real")
"""Keys of a figure that decide no outcome."""
SAYINGS = ("says", "clause", "checked")
"""Keys of a trend that decide no outcome."""
OUTCOMES = {False: "verdicts.json", True: "verdicts-real.json"}
"""The files with the outcomes on generated and on real data, in the folders of the papers and of the pictures."""
REAL_DATA = "real-data.json"
"""The file in the folder of the papers that says how to know the real data sets: by the start of a name without
punctuation, or by the SHA-256 digest of the lines.
"""


class Entry(NamedTuple):
    """A scenario that repeats a figure: called after its folder and file."""

    name: str
    path: Path
    scenario: str
    figure: Figure
    plots: tuple[Plot, ...]
    digest: str
    real_digest: str

    @property
    def paper(self) -> str:
        """The folder it is in."""
        return self.path.parent.name

    @property
    def timed(self) -> bool:
        """True if a trend is about time: then one process runs the figure."""
        titles = metrics_by_key()
        return any(titles[trend.of].clock for trend in self.figure.trends)

    def verdict(self, outcome: "FigureOutcome | None", *, real: bool = False) -> str:
        """Return the verdict of `outcome`, on generated or on `real` data, and whether it is of the figure as it is."""
        if outcome is None:
            return "not run" if not real or isinstance(self.figure.real, dict) else "no real data fit"
        current = outcome.digest == (self.real_digest if real else self.digest)
        return outcome.verdict(self.figure) if current else f"{outcome.verdict(self.figure)} (before it was changed)"

    def settings_on_real_data(self, files: Mapping[str, Mapping[str, object]]) -> list[str] | None:
        """Return the settings that put `files` in place of generated data, None if one of them is missing.

        `files` are the data sections by the names of real data sets.
        """
        if not isinstance(self.figure.real, dict):
            return None
        try:
            return [f"{key}={json.dumps(_with_files(value, files))}" for key, value in self.figure.real.items()]
        except KeyError:
            return None


def _with_files(value: object, files: Mapping[str, Mapping[str, object]]) -> object:
    """Return `value` with the data section of each {real: NAME} in it."""
    if isinstance(value, dict):
        if "real" in value:
            return {**files[str(value["real"])], **{key: kept for key, kept in value.items() if key != "real"}}
        return {key: _with_files(inner, files) for key, inner in value.items()}
    return [_with_files(inner, files) for inner in value] if isinstance(value, list) else value


def real_files(folder: Path) -> dict[str, dict[str, object]]:
    """Return the data sections of the real data sets whose files are in `folder`, found by digest or else by name."""
    if not folder.is_dir():
        raise DecloakError("no such folder", str(folder), hint="name the folder with your copies of the real data")
    known = json.loads((folder_of_papers() / REAL_DATA).read_text("utf-8"))
    present = sorted(path for path in folder.iterdir() if path.is_file())
    plain = {path: re.sub(r"[^a-z0-9]", "", path.name.lower()) for path in present}
    digests: dict[Path, str] = {}
    for path in present:
        # A packed copy has the digest of its content.
        with unpacked(path) as lines:
            digests[path] = file_digest(lines, "sha256").hexdigest()
    found: dict[str, dict[str, object]] = {}
    for name, data_set in known.items():
        # A name may lie, so that the content decides where it is known.
        fitting = [path for path in present if digests[path] in data_set["sha256"]] or [
            path for path in present if any(plain[path].startswith(start) for start in data_set["names"])
        ]
        if fitting:
            found[name] = {data_set.get("key", "file"): str(fitting[0].absolute()), **data_set["read"]}
    return found


@dataclass(frozen=True)
class FigureOutcome:
    """The outcome of a figure: whether its trends agree with the paper."""

    digest: str
    variants: int
    trends: tuple[JudgedTrend, ...]

    def verdict(self, figure: Figure) -> str:
        """Return whether all trends of `figure` agree, some or none, or those that do not were checked."""
        # Real data may lack the variants of a trend, which then decides nothing.
        compared = [pair for pair in zip(figure.trends, self.trends, strict=False) if pair[1].lines]
        failing = [trend for trend, judged in compared if judged.holds is not True]
        if not failing:
            return AGREES
        if all(trend.checked for trend in failing):
            return CHECKED
        return HALF if len(failing) < len(compared) else DIFFERS

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"trends": [trend._asdict() for trend in self.trends]}

    @classmethod
    def of_json(cls, kept: Config) -> "FigureOutcome":
        return cls(kept["digest"], kept["variants"], tuple(JudgedTrend(**trend) for trend in kept["trends"]))


def folder_of_papers() -> Path:
    """Return the folder of the scenarios that repeat figures."""
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
    title, real = str(source.value.get("scenario", "")), _replaced(source.value, figure.real)
    return Entry(name, path, title, figure, plots or (), _digest(source.value), _digest(real))


def _replaced(said: Config, real: object) -> Config:
    """Return the settings in `said` with those on `real` data, so that the generated data decide nothing."""
    settings = dict(said)
    for key, value in real.items() if isinstance(real, dict) else ():
        section, _, inner = key.partition(".")
        settings[section] = {**settings[section], inner: value} if inner else value
        if section == "vary":
            # What varies replaces this setting in each variant.
            settings.pop(inner, None)
    return settings


def _digest(said: Config) -> str:
    """Return the digest of the settings in `said` that decide an outcome: new titles and words keep it."""
    # A corrected word must not make an outcome look old.
    figure = {key: value for key, value in said["figure"].items() if key not in WORDS}
    figure["trends"] = [{key: value for key, value in one.items() if key not in SAYINGS} for one in figure["trends"]]
    return digest({**{key: value for key, value in said.items() if key != "scenario"}, "figure": figure})


def known_outcomes(folder: Path | None = None, *, real: bool = False) -> dict[str, FigureOutcome]:
    """Return the outcomes of the last run of the figures, by name: from the package, or from a `folder`.

    With `real`, they are those on real data.
    """
    file = (folder or folder_of_papers()) / OUTCOMES[real]
    if not file.is_file():
        return {}
    kept = json.loads(file.read_text("utf-8"))
    return {name: FigureOutcome.of_json(of_figure) for name, of_figure in kept.items()}


def outcome(
    entry: Entry, store: Path | None, *, jobs: int = 1, overrides: Sequence[str] = (), data: Path | None = None
) -> tuple[FigureOutcome, list[dict[str, object]]]:
    """Run a figure and judge its trends; with it the panels that show it, without real data. A timed figure runs in one
    process.

    `overrides` are settings of the scenario. If they put real data in place of generated ones, `data` is their folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        # Stages that share the processors take longer, so that a timed figure has one process.
        kept, processes = store or Path(folder) / "gallery.db", 1 if entry.timed else jobs
        finished = runs.run(entry.path, store=kept, jobs=processes, overrides=overrides)
        with closing(connect_readonly(finished.store)) as connection:
            study = Study.of(connection, read_runs(connection, [variant.run for variant in finished.variants]))
    trends = tuple(judged_trend(study, trend, without=data is not None) for trend in entry.figure.trends)
    # The outcomes are published, and the path of a user's data is private.
    if data is not None:
        place = f"{data.absolute()}/"
        trends = tuple(judged._replace(seen=judged.seen.replace(place, "")) for judged in trends)
    drawn = [
        panel
        for plot in (entry.plots if data is None else ())
        for panel in charts.panels(study, plot.x, plot.y, study.panel_keys(plot), close=True)
    ]
    return FigureOutcome(entry.digest if data is None else entry.real_digest, len(finished.variants), trends), drawn
