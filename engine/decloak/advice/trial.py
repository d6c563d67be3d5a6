"""Run candidates through the pipeline, and read their figures.

Every candidate is one run of the same scenario with another `anonymise`. So all of them are measured on the same
people, the same known items, the same control and the same counts. A written scenario gives the same figures again.
"""

import gc
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from decloak.advice.candidates import Candidate
from decloak.advice.criteria import INFERENCE, LEVELS, Ranged
from decloak.advice.decision import Tried
from decloak.digest import JsonObject
from decloak.measure.kernels.advantage import wilson
from decloak.measure.kernels.estimate.guess_advantage import Z
from decloak.measure.registry import metrics_by_key
from decloak.pipeline.progress import RunVariant
from decloak.pipeline.run import run

__all__ = ["TARGETS", "Bench"]

TARGETS = 5_000
"""People that are looked up: 0 of them have an upper end of 0.08%, below the smallest limit of a preset."""
OF_ATTACKS = ("certain_links",)
"""Figures that only attacks have."""
LEARNED = {"measure": "ngd", "source": "release"}
"""The relatedness that an attacker learns from a release of records, where the scenario names none."""


@dataclass
class Bench:
    """A scenario that every candidate is put into, the store of the results, and what measuring costs.

    `control` and `workload` are files, or held out and random. With `everyone`, all people are looked up. `related`
    is true if the scenario has a measure of relatedness. `seconds` are the CPU seconds of the last run of each kind
    of candidate.
    """

    scenario: Path
    store: Path
    control: str = "held_out"
    workload: str | None = None
    seed: int = 0
    jobs: int = 1
    everyone: bool = False
    related: bool = False
    seconds: dict[str, float] = field(default_factory=dict)

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
        done = run(self.scenario, store=self.store, overrides=overrides, jobs=self.jobs)
        self.seconds[candidate.kind] = time.process_time() - begun
        figures = dict(_figures(done.variants[0], everyone=self.everyone))
        attacks = tuple(label for label, knows in done.variants[0].knows.items() if knows != "control")
        del done
        gc.collect()  # the arrays of one candidate, before those of the next
        none = dict.fromkeys(OF_ATTACKS, Ranged(0.0, 0.0))
        if not every:  # a candidate in the lead is attacked before it passes
            figures |= none
        elif candidate.kind != "disassociation":  # nothing was split, so an attack may have no links to measure
            figures = none | figures
        if candidate.kind == "synthetic":  # it guarantees nothing, so nothing is violated
            figures["guarantee_violations"] = Ranged(0.0, 0.0)
        return Tried(candidate, figures, sections, attacks if every else ())


def _figures(ran: RunVariant, *, everyone: bool) -> Iterator[tuple[str, Ranged]]:
    """Yield the largest value of each figure over all attacks, which an attacker may choose from.

    A count of people who are not `everyone` has an interval.
    """
    titles = metrics_by_key()
    worst: dict[str, Ranged] = {}
    for (key, _), figure in ran.figures.items():
        if figure.value is None or key.endswith(("_low", "_high")):
            continue
        if titles[key].count and figure.whole:
            share = figure.value / figure.whole
            drawn = not everyone and figure.whole >= TARGETS and key.startswith(("exposed", "inferred"))
            high = wilson(share, Z * Z / figure.whole)[1] if drawn else share
            ranged = Ranged(share, high, figure.value, figure.whole)
        else:
            ranged = Ranged(figure.value, _high(ran, key, figure.value))
        if key not in worst or ranged.value > worst[key].value:
            worst[key] = ranged
    yield from worst.items()
    for ending in ("", "_at_5", "_at_1"):
        of_level = [worst[key] for known in LEVELS if (key := f"{INFERENCE}_{known}{ending}") in worst]
        if of_level:
            yield f"{INFERENCE}{ending}", Ranged(max(one.value for one in of_level), max(one.high for one in of_level))


def _high(ran: RunVariant, key: str, value: float) -> float:
    """Return the upper end of the interval of a figure that has one, else the figure."""
    ends = [figure.value for (name, _), figure in ran.figures.items() if name == f"{key}_high"]
    return max([value, *(end for end in ends if end is not None)])
