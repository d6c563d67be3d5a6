"""Run candidates through the pipeline, and read their figures.

Every candidate is one run of the same scenario with another `anonymise`. So all of them are measured on the same
people, the same known items, the same control and the same counts. A written scenario gives the same figures again.
"""

import gc
import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from decloak.advice.candidates import Candidate
from decloak.advice.decision import Tried
from decloak.arrays import Floats
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.digest import JsonObject
from decloak.measure.kernels.estimate.counts import errors_differ
from decloak.measure.utility import UtilitySettings, errors_of_release
from decloak.pipeline.inputs import Inputs
from decloak.pipeline.run import run_document
from decloak.releases.registry import form_of
from decloak.scenario.criteria import Ranged, worst_figures
from decloak.scenario.document import load
from decloak.store.opening import connect_readonly
from decloak.store.results import release_of

TARGETS = 5_000
"""People that are looked up: 0 of them have an upper end of 0.08%, below the smallest limit of a preset."""
OF_ATTACKS = ("certain_links",)
"""Figures that only attacks have."""
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
        overrides = [f"{key}={json.dumps(value)}" for key, value in {**sections, "expect": []}.items()]
        document = load(self.scenario, overrides)
        self.inputs = self.inputs or Inputs(document.folder)
        done = run_document(document, self.inputs, store=self.store, jobs=self.jobs, controls=False)
        self.seconds[candidate.kind] = time.process_time() - begun
        form = FORMS.get(candidate.kind, FormName.GENERALISED)
        figures = worst_figures(done.variants[0].figures, form, None if self.everyone else TARGETS)
        attacks = tuple(done.variants[0].knows)
        number = done.variants[0].run
        del done
        gc.collect()  # the arrays of one candidate, before those of the next
        if not every:  # a candidate in the lead is attacked before it passes
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
