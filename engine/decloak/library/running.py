"""Runs and attacks from Python, on data and releases in memory.

Progress in a notebook: one line that is replaced.
"""

import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.delimited import join
from decloak.data.formats.plain_files import read, write
from decloak.data.formats.writing import write_lines
from decloak.data.forms import FormName, Release
from decloak.data.frames import SHAPES, is_frame
from decloak.data.generalised import Generalised
from decloak.data.published import Published
from decloak.digest import Config
from decloak.errors import DecloakError, quote
from decloak.library.results import Run
from decloak.library.scenario import Scenario
from decloak.pipeline import run as pipeline
from decloak.pipeline.progress import Progress, RunVariant
from decloak.report.progress import Screen
from decloak.yaml.source import read_source

if TYPE_CHECKING:
    from rich.text import Text


def run(
    scenario: str | Path | Mapping[str, object] | Scenario,
    *,
    data: Dataset | Iterable[Iterable[str]] | object | None = None,
    store: str | Path | None = "store.db",
    overrides: Sequence[str] = (),
    progress: Progress | None = None,
    allow_send: Sequence[str] = (),
    only: str | None = None,
    jobs: int = 1,
    memory: int | None = None,
    dask: str | None = None,
) -> Run:
    """Run `scenario` with the results in `store`, and return the results. decloak reuses stored results.

    - `scenario`: the path of a file, a mapping with the same keys, or a `Scenario`.
    - `data`: original records in place of the file of the scenario: a Dataset, a frame, or lists of items. The keys
      under `data` of the scenario name the columns of a frame, as in `{format: long, transaction: id, item: symptom}`.
    - `store`: the file of the results, which then contains the original data. None is a temporary file.
    - `overrides`: "key=value" texts that replace keys of the scenario.
    - `progress`: a listener. A notebook shows the progress without one.
    - `allow_send`: hosts that may receive item names in this run.
    - `only`: a part of the names of the variants to run.
    - `jobs`: the number of processes, on Linux and for programs with one thread. Results do not depend on it.
    - `memory`: the memory limit of all processes in bytes.
    - `dask`: the address of a scheduler whose workers run heavy stages. `allow_send` must name another machine.
    """
    given = scenario.value if isinstance(scenario, Scenario) else scenario
    original = None if data is None else _dataset(data, given)
    folder = None if store is not None else tempfile.mkdtemp(prefix="decloak-")
    path = Path(store) if store is not None else Path(folder or "") / "store.db"
    try:
        done = Run.of(
            pipeline.run(
                given, data=original, store=path, overrides=overrides, progress=progress or notebook_progress(),
                allow_send=allow_send, only=only, jobs=jobs, memory=memory, dask=dask,
            )
        )  # fmt: skip
    # Also on Ctrl-C: the folder has the original data.
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if folder is not None:
        # A temporary store is there as long as its results.
        weakref.finalize(done, shutil.rmtree, folder, ignore_errors=True)
    return done


def _dataset(data: Any, scenario: str | Path | Config) -> Dataset:
    """Return `data` as a data set; the `scenario` says how to read a frame."""
    if not is_frame(data):
        return Dataset.of(data)
    whole = scenario if isinstance(scenario, Mapping) else read_source(scenario).value
    section = whole.get("data") if isinstance(whole, Mapping) else None
    section = section if isinstance(section, Mapping) else {}
    shape = section.get("format") if section.get("format") in SHAPES else None
    known = SHAPES.get(str(shape), {"transaction", "item"}) | {"repeats"}
    return read(data, shape, **{key: value for key, value in section.items() if key in known})


def attack(
    release: object,
    rule: str | Sequence[str] = "all",
    knows: str | Sequence[str] = "release",
    *,
    relate: Mapping[str, object] | None = None,
    store: str | Path | None = None,
    seed: int = 0,
) -> Run:
    """Attack a `release` in memory with the knowledge of its recipients, and return the results.

    `rule` names one or more rules, or rule files. `knows` is the knowledge of the attacker, as in a scenario. `relate`
    is the measure of relatedness that the attacker has. `store` and `seed` are for the results and for random rules.

    `explain` lists the findings of the result. The number of right findings is unknown without the original data: `run`
    measures it.
    """
    release = _checked_release(release)
    with tempfile.TemporaryDirectory(prefix="decloak-") as folder:
        # From a release file sets would come back as labels; a text with brackets keeps them.
        headed = release.form != FormName.SET_GENERALISED
        file = Path(folder) / ("release.jsonl" if headed else "release.txt")
        release.write(file)
        scenario: dict[str, object] = {
            "scenario": "attack on a release in memory",
            "data": {"release" if headed else "published": str(file)},
            "attacker": {"knows": knows if isinstance(knows, str) else list(knows)},
            "attack": rule if rule == "all" else [rule] if isinstance(rule, str) else list(rule),
            "repeat": {"seed": seed},
        }
        return run(scenario | ({} if relate is None else {"relate": dict(relate)}), store=store)


def _checked_release(release: object) -> Release:
    """Return `release`; raise an error if it is something else."""
    if not isinstance(release, Release):
        hint = "make one by decloak.anonymise, or read one by decloak.read_release"
        raise DecloakError(f"a {type(release).__name__} is no release", hint=hint)
    return release


def evaluate(
    release: Disassociated | Generalised | Published,
    original: Dataset | Iterable[Iterable[str]],
    rows: Sequence[int],
    *,
    attack: str | Sequence[object] = "all",
    measure: Sequence[object] = ("exposure", "utility"),
    store: str | Path | None = "store.db",
    jobs: int = 1,
    **sections: object,
) -> Run:
    """Attack a `release` from any method, measure it against its ground truth, and return the results.

    - `original`: the records that were published.
    - `rows`: for each row of `release`, the place of its record in `original`, from 0.
    - `attack`, `measure`: the sections of a scenario with these names.
    - `sections`: further sections, such as `relate` or `attacker`.
    - `store`, `jobs`: as in `run`. The store then contains the original data.
    """
    data, ids = Dataset.of(original), _checked_release(release).ids
    if len(rows) != len(ids):
        raise DecloakError(f"{len(rows):,} records for {len(ids):,} rows", "rows", "name one record for every row")
    if wrong := [
        place for place in rows if not isinstance(place, int | np.integer) or not 0 <= place < len(data.labels)
    ]:
        raise DecloakError(f"there is no record {quote(wrong[0])}", "rows", f"name 0 to {len(data.labels) - 1}")
    with tempfile.TemporaryDirectory(prefix="decloak-") as folder:
        home = Path(folder)
        release.write(home / "release.jsonl")
        # Records are called by their places, because `rows.csv` names them so.
        write(Dataset(data.transactions, tuple(map(str, range(1, len(data.labels) + 1)))), home / "data.jsonl", "jsonl")
        # The release file is written without ids, so its rows are numbered when it is read.
        written = ids if isinstance(release, Disassociated) else range(1, len(ids) + 1)
        pairs = (join([str(row), str(place + 1)]) for row, place in zip(written, rows, strict=True))
        write_lines(["row,record", *pairs], home / "rows.csv")
        # decloak wrote this file, so its format needs no check, and equal records are different people.
        named = {"file": str(home / "data.jsonl"), "format": "jsonl", "as_said": True, "repeats": True}
        scenario = {
            "scenario": "a release with its ground truth",
            "data": {"release": str(home / "release.jsonl"), "original": named, "rows": str(home / "rows.csv")},
            "attack": attack if isinstance(attack, str) else list(attack),
            "measure": list(measure),
            **sections,
        }
        return run(scenario, store=store, jobs=jobs)


class _Cell:
    """The output of a cell, which takes the place of a terminal."""

    def __init__(self, display: Any) -> None:
        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def update(self, renderable: "Text", *, refresh: bool) -> None:
        """Show `renderable` in place of the last text."""
        self._handle.update({"text/plain": renderable.plain}, raw=True)


class _NotebookScreen(Screen):
    """The lines of a terminal, of which the last ones stay in the notebook."""

    def done(self, variant: str, number: int, of: int, ran: RunVariant) -> None:
        # Zero lifts the limit on redrawing, so that the last line of a variant always stays.
        self._drawn = 0.0
        super().done(variant, number, of, ran)


def notebook_progress() -> Progress:
    """Return a progress for the running notebook, or one that shows nothing elsewhere."""
    # Never imported here: in a notebook it is loaded already.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return Progress()
    from IPython.display import display

    return _NotebookScreen(_Cell(display))
