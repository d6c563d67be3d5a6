"""Try candidates on the data of an owner, and decide which one to lead with.

Every candidate is one run of the same scenario with another `anonymise`. So all of them are measured on the same
people, the same known items, the same control and the same counts. A written scenario gives the same figures again.
"""

import gc
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from decloak import ending
from decloak.advice.candidates import (
    OF_ATTACKS,
    READERS,
    Candidate,
    OwnerInputs,
    Tried,
    Untried,
    candidates_for,
    chosen,
    not_applicable,
)
from decloak.advice.screen import Advice
from decloak.arrays import Floats
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.look import look
from decloak.data.formats.plain_files import read, write
from decloak.data.formats.writing import write_text
from decloak.data.forms import FormName
from decloak.data.sampling import control_share, draw_sample
from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote
from decloak.measure.kernels.estimate.counts import errors_differ
from decloak.measure.utility import UtilitySettings, errors_of_release
from decloak.pipeline.inputs import Inputs
from decloak.pipeline.run import run
from decloak.releases.registry import form_of
from decloak.scenario.criteria import Accepted, Ranged, accepted, worst_figures
from decloak.scenario.document import load
from decloak.store.opening import connect_readonly
from decloak.store.results import release_of

FEWEST = 200
"""Records below which intervals are too wide to advise anything."""
MOST = 100_000
"""Records from which candidates are tried on a sample: all of them would take too long."""
RELEASES = ("disassociated", "generalised", "published")
ATTACKS = 4
"""The CPU time that the attacks on the leading candidate take, in candidates: the search leaves it in the budget."""
ROUNDS = 4
"""Candidates that are attacked at most, one after the other as each takes the lead."""

INTERRUPTED, NO_BUDGET = "it was interrupted", "the budget ended"

Progress = Callable[[int, int, Candidate], None]


def advise(
    data: str | Path | Dataset | Iterable[Iterable[str]],
    *,
    accept: str | Sequence[str] = "public",
    hierarchies: Sequence[str | Path] = (),
    constraints: str | Path | None = None,
    sensitive: str | Path | Sequence[str] = (),
    control: str | Path | None = None,
    readers: str = "any",
    workload: str | Path | None = None,
    budget: float | None = None,
    jobs: int = 1,
    seed: int = 0,
    store: str | Path | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Try candidates on `data` and return which one to lead with; this never says that a release is without risk.

    `data` is a file of records, a scenario (.yaml) with original data, a Dataset, or an iterable of records.
    `accept` names a preset, a file of criteria, or expressions. `hierarchies` and `constraints` are files for
    methods that need them. `sensitive` lists sensitive items, or is a file of them, an item a line. `control` is a
    file of people who are not in the data; without it a tenth of the records is held out of every release.
    `readers` need "records", "counts" or "any" of them. `workload` is a file of the itemsets that they count, a set
    a line; without it random itemsets are counted. `budget` are the CPU seconds to spend. `jobs` processes work at
    a time, with the same results. `seed` is what people and itemsets are drawn from. `store` keeps the results; it
    then contains the original data. `progress` gets the number of candidates tried, the number of all, and the next
    one.
    """
    by = accepted([accept] if isinstance(accept, str) else list(accept))
    if readers not in READERS:
        raise DecloakError(f"readers is {quote(readers)}", hint=f"give {', '.join(READERS[:-1])} or {READERS[-1]}")
    # The scenario of the trials is in another folder, where relative paths would lead elsewhere.
    trees, sets = tuple(map(_absolute, hierarchies)), None if constraints is None else _absolute(constraints)
    with tempfile.TemporaryDirectory(prefix="decloak-") as folder:
        base, original = _base(data, Path(folder))
        base, original, drawn_from = _drawn(base, original, seed)
        records = len(original.transactions)
        if records < FEWEST:
            hint = f"add records until there are {FEWEST}, or compare releases by `decloak run`"
            # The copy of data in memory is no place that a user knows.
            place = original.origin if isinstance(data, str | Path) else None
            raise DecloakError(f"{records} records are too few to advise", place, hint)
        inputs = OwnerInputs(
            trees, sets, sensitive=_listed(sensitive), relate=base.get("relate"),
            columns=base["data"].get("columns", ()), readers=readers,
        )  # fmt: skip
        bench = Bench(
            _write_scenario(base, Path(folder)), Path(store or Path(folder) / "advice.db"),
            "held_out" if control is None else _absolute(control),
            None if workload is None else _absolute(workload), seed, jobs, everyone=by.asks_for_nobody,
            related="relate" in base, exclusive=inputs.columns,
        )  # fmt: skip
        session = _Session(bench, by, budget, progress)
        session.search(candidates_for(records, inputs))
        lead, passes = session.attack_leads(counts=readers == "counts")
        # Readers who only count have an answer of their own, also where a release of records leads.
        counts, counts_pass = session.attack_leads(counts=True) if readers == "any" else (None, False)
        # The copy goes with the temporary folder.
        if not isinstance(data, str | Path):
            base = {**base, "data": {**base["data"], "file": "data.jsonl"}}
        held_out = round(control_share(records) * records) if control is None else 0
        untried = (*not_applicable(records, inputs), *session.left, *session.refused)
        return Advice(
            records - held_out, len(original.items), held_out, by, tuple(session.tried), untried, lead, passes,
            session.ended, base, drawn_from,
            counts, counts_pass, original.digest,
        )  # fmt: skip


def _absolute(path: str | Path) -> str:
    return str(Path(path).resolve())


def _listed(sensitive: str | Path | Sequence[str]) -> Sequence[str]:
    """Return sensitive items, from a file with an item a line or as they are."""
    if not isinstance(sensitive, str | Path):
        return sensitive
    return sorted({item for items in read(sensitive, "basket").transactions for item in items})


def _base(data: str | Path | Dataset | Iterable[Iterable[str]], folder: Path) -> tuple[JsonObject, Dataset]:
    """Return what every scenario says of the data, with absolute paths, and the data."""
    if isinstance(data, str | Path) and Path(data).suffix in (".yaml", ".yml"):
        return _of_scenario(Path(data))
    if isinstance(data, str | Path):
        settings = _reading(Path(data))
    else:
        path = folder / "data.jsonl"
        write(Dataset.of(data), path, "jsonl", ids=True)
        settings = {"file": str(path), "format": "jsonl"}
    options = {key: value for key, value in settings.items() if key not in ("file", "format")}
    return {"data": settings}, read(settings["file"], settings["format"], **options)


def _drawn(base: JsonObject, original: Dataset, seed: int) -> tuple[JsonObject, Dataset, int | None]:
    """Return the same for a sample of the records where there are very many, and how many there are then."""
    records = len(original.transactions)
    if records <= MOST or "file" not in base["data"] or "sample" in base["data"]:
        return base, original, None
    # The written scenario has the same sample, so that it gives the same figures.
    data = {**base["data"], "sample": MOST, "seed": seed}
    return {**base, "data": data}, draw_sample(original, MOST, None, seed), records


def _of_scenario(path: Path) -> tuple[JsonObject, Dataset]:
    """Return the data and the relatedness of a scenario, and its original data."""
    document = load(path)
    part, source = document.cases[0].scenario.data, document.cases[0].source.value
    if len(document.cases) > 1 or part.is_published or not part.has_original:
        hint = "name a scenario with one data set of original records"
        raise DecloakError("advice is about one data set of originals", str(path), hint)
    if part.in_parts:
        raise DecloakError("advice needs all records in memory", str(path), "delete parts, or advise on a sample")
    base = {key: source[key] for key in ("data", "relate") if key in source}
    for value in base.values():
        if isinstance(value, dict) and "file" in value:
            value["file"] = os.path.realpath(path.parent / value["file"])
    clean = base["data"].get("clean")
    for key in ("synonyms", "drop") if isinstance(clean, dict) else ():
        if isinstance(clean.get(key), str):
            clean[key] = os.path.realpath(path.parent / clean[key])
    return base, part.read_original(Folder(path.parent), None)


def _write_scenario(base: JsonObject, folder: Path) -> Path:
    """Write the scenario that every candidate is put into, and return its path."""
    scenario = folder / "advice.yaml"
    parts = {"scenario": "advice", "anonymise": PLACEHOLDER, **base}
    write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in parts.items()), scenario)
    return scenario


PLACEHOLDER = {"method": "disassociation", "k": 2, "m": 2}
"""The entry under `anonymise` that a candidate replaces."""


def _reading(path: Path) -> JsonObject:
    """Return what a scenario says under `data` of a file, as it seems to be."""
    seen = look(path)
    reading = seen.sure_reading("the keys under data in a scenario")
    if seen.format in RELEASES or seen.format in ("text", "searchlog"):
        hint = "name a file of original records, or a scenario with original data"
        raise DecloakError(f"advice is not about a file of format {seen.format}", str(path), hint)
    return {"file": os.path.realpath(path), "format": seen.format, **reading.settings}


TARGETS = 5_000
"""People that are looked up: 0 of them have an upper end of 0.08%, below the smallest limit of a preset."""
FORMS = {"disassociation": FormName.DISASSOCIATED, "synthetic": FormName.SYNTHETIC}
"""The form of the candidates of a kind, where a figure that is absent depends on it."""
LEARNED = {"measure": "ngd", "source": "release"}
"""The relatedness that an attacker learns from a release of records, where the scenario names none."""


@dataclass
class Bench:
    """A scenario that every candidate is put into, the store of the results, and what measuring costs.

    `control` and `workload` are files, or held out and random. With `everyone`, all people are looked up. `related`
    is true if the scenario has a measure of relatedness. Items of a column in `exclusive` exclude each other.
    `seconds` are the CPU seconds of the last run of each kind of candidate. `errors` are those of counts by run, and
    `differing` has the pairs of runs that were compared. `inputs` keeps the data of the first run for the others.
    """

    scenario: Path
    store: Path
    control: str = "held_out"
    workload: str | None = None
    seed: int = 0
    jobs: int = 1
    everyone: bool = False
    related: bool = False
    exclusive: Sequence[str] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    errors: dict[int, list[Floats]] = field(default_factory=dict)
    differing: dict[tuple[int, int, int], bool] = field(default_factory=dict)
    inputs: Inputs | None = None

    def measures(self) -> list[Any]:
        """Return what a scenario lists under `measure`."""
        targets = "all" if self.everyone else TARGETS
        exposure = {"control": self.control, "targets": targets, "seed": self.seed}
        asked = {} if self.workload is None else {"workload": self.workload}
        return [{"exposure": exposure}, {"utility": {"seed": self.seed, **asked}}]

    def sections(self, candidate: Candidate, *, every: bool) -> JsonObject:
        """Return the sections of a scenario that measures a candidate, with every attack or that of least cost."""
        learned = {"relate": LEARNED} if every and not (self.related or candidate.of_counts) else {}
        return {
            "anonymise": candidate.anonymise, **learned, "attack": "all" if every else [candidate.attack],
            "measure": self.measures(), "repeat": {"seed": self.seed},
        }  # fmt: skip

    def run(self, candidate: Candidate, *, every: bool = False) -> Tried:
        """Publish a candidate and measure it, with the attack of least cost or with every one that can run."""
        begun = time.process_time()
        sections = self.sections(candidate, every=every)
        overrides = [f"{key}={json.dumps(value)}" for key, value in sections.items()]
        document = load(self.scenario, overrides)
        self.inputs = self.inputs or Inputs(document.folder)
        done = run(document, inputs=self.inputs, store=self.store, jobs=self.jobs, controls=False)
        self.seconds[candidate.kind] = time.process_time() - begun
        form = FORMS.get(candidate.kind, FormName.GENERALISED)
        figures = worst_figures(done.variants[0].figures, form, None if self.everyone else TARGETS)
        attacks = tuple(done.variants[0].knows)
        number = done.variants[0].run
        del done
        # The arrays of one candidate go before those of the next are made.
        gc.collect()
        # No attack was run that can find links. The candidate in the lead gets one before it passes.
        if not every:
            figures |= dict.fromkeys(OF_ATTACKS, Ranged(0.0, 0.0))
        return Tried(candidate, figures, sections, attacks if every else (), number)

    def differ(self, one: Tried, other: Tried, pairs: int) -> bool:
        """Tell whether the errors of two candidates differ beyond chance, if as many `pairs` are compared."""
        key = (one.run, other.run, pairs)
        if key not in self.differing:
            self.differing[key] = errors_differ(self._errors(one), self._errors(other), pairs)
        return self.differing[key]

    def _errors(self, tried: Tried) -> list[Floats]:
        """Return the error of each count of a candidate, by the size of the itemset."""
        if tried.run not in self.errors:
            settings = UtilitySettings(seed=self.seed, workload=self.workload)
            with closing(connect_readonly(self.store)) as connection:
                release = release_of(connection, tried.run)
                held = form_of(connection, release).load(connection, release)
                found = errors_of_release(held, settings, Folder(self.scenario.parent), self.exclusive)
            self.errors[tried.run] = list(found.values())
        return self.errors[tried.run]


class _Session:
    """The trials of one call: what was tried, what was refused, what the budget left."""

    def __init__(self, bench: Bench, by: Accepted, budget: float | None, progress: Progress | None) -> None:
        self.bench, self.by, self.budget, self.progress = bench, by, budget, progress
        self.begun = time.process_time()
        self.tried: list[Tried] = []
        self.refused: list[Untried] = []
        self.left: list[Untried] = []
        self.ended: str | None = None

    def search(self, candidates: Sequence[Candidate]) -> None:
        """Try candidates in their order until the budget ends or the user stops the search."""
        for number, candidate in enumerate(candidates):
            # The rest is listed as not tried, so that nobody takes the search for complete.
            if self.ended is None and not self._affords(candidate):
                self.ended = NO_BUDGET
            if self.ended is not None:
                self.left.append(Untried(candidate.name, self.ended))
                continue
            try:
                if self.progress is not None:
                    self.progress(number, len(candidates), candidate)
                self._try(candidate)
            except KeyboardInterrupt:
                self._interrupted()
                self.left.append(Untried(candidate.name, INTERRUPTED))

    def _interrupted(self) -> None:
        """Take a Ctrl-C as the wish to see what there is; where there is nothing, the process ends."""
        if not self.tried:
            raise
        # The wish is granted by what follows, so that the process does not also end.
        ending.forget()
        self.ended = INTERRUPTED

    def _affords(self, candidate: Candidate) -> bool:
        if self.budget is None or not self.tried:
            return True
        # A kind that was never tried is taken to be as slow as the slowest one.
        likely = self.bench.seconds.get(candidate.kind, max(self.bench.seconds.values()))
        attacks = ATTACKS * max(self.bench.seconds.values())
        return time.process_time() - self.begun + likely + attacks <= self.budget

    def _try(self, candidate: Candidate) -> None:
        try:
            self.tried.append(self.bench.run(candidate))
        except DecloakError as error:
            # A method that cannot treat these data, such as too few records for its k, is no reason to stop.
            self.refused.append(Untried(candidate.name, error.message))

    def attack_leads(self, *, counts: bool) -> tuple[Tried | None, bool]:
        """Attack the candidate in the lead, until one that was attacked leads: the worst figures decide.

        With `counts` it is the lead of the candidates for readers who only count, else that of the others.
        """
        lead, passes = self._lead(counts)
        for _ in range(ROUNDS):
            if self.ended == INTERRUPTED or lead is None or lead.attacked:
                break
            # The search left time for attacks, which may have taken longer than expected.
            if self.budget is not None and time.process_time() - self.begun > self.budget:
                self.ended = NO_BUDGET
                break
            try:
                self.tried[self.tried.index(lead)] = self.bench.run(lead.candidate, every=True)
            except KeyboardInterrupt:
                self._interrupted()
            except DecloakError as error:
                # Nothing is advised that was not attacked.
                self.tried.remove(lead)
                self.refused.append(Untried(lead.candidate.name, f"attacks: {error.message}"))
            lead, passes = self._lead(counts)
        return lead, passes and lead is not None and lead.attacked

    def _lead(self, counts: bool) -> tuple[Tried | None, bool]:
        tried = [one for one in self.tried if one.candidate.of_counts == counts]
        return chosen(tried, self.by.criteria, self.bench.differ)
