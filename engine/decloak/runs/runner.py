"""Run a scenario: every variant, what was measured, and whether what was expected holds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from decloak.data.formats.folder import Folder
from decloak.errors import DecloakError, shown
from decloak.measure.family import Family
from decloak.measure.kernels.statistics import Interval, interval
from decloak.measure.registry import by_name
from decloak.rules.load import Catalogue, Rule, bundled_names
from decloak.runs.inputs import Inputs
from decloak.runs.plan import Plan, check_bounds, check_fits
from decloak.runs.plan import plan as plan_of
from decloak.runs.stages import Session, execute
from decloak.scenario.model import Case, Document, load
from decloak.scenario.parts import Attack
from decloak.scenario.sweep import together
from decloak.scenario.variant import Variant, variants
from decloak.store.counts import kept_counts
from decloak.store.inserting import find
from decloak.store.opening import connect_readonly, open_store
from decloak.store.results import notes_of, pooled_figures
from decloak.yaml.source import Fault

__all__ = ["Measure", "Progress", "Run", "RunVariant", "Verdict", "plans", "run"]


class Progress:
    """Told what a run is doing; this one says nothing."""

    def begin(self, variant: str, number: int, of: int) -> None:
        """A variant begins."""

    def stage(self, name: str) -> None:
        """A stage of it begins."""


class Measure(NamedTuple):
    """A figure of one attack in one variant, over its repetitions."""

    variant: str
    attack: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class RunVariant:
    """One variant and repetition as it ran; `fresh` when anything had to be done for it."""

    run: int
    name: str
    repetition: int
    seed: int
    fresh: bool
    measures: Mapping[tuple[str, str], float | None]
    notes: tuple[str, ...]


class Verdict(NamedTuple):
    """An expectation judged for one variant; `holds` is None where a measure is undefined."""

    variant: str
    holds: bool | None
    text: str


@dataclass(frozen=True)
class Run:
    """What a scenario came to.

    `variants` are the runs in the store, `measures` their figures over repetitions with 95% intervals, `ok` tells
    whether every expectation holds.
    """

    scenario: str
    store: Path
    variants: tuple[RunVariant, ...]
    measures: tuple[Measure, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def ok(self) -> bool:
        """Whether every expectation holds in every variant."""
        return all(verdict.holds is True for verdict in self.verdicts)


def run(
    scenario: str | Path,
    *,
    store: str | Path = "store.db",
    overrides: Sequence[str] = (),
    progress: Progress | None = None,
) -> Run:
    """Run a scenario file into a store; what the store has already is not done again.

    `overrides` are "key=value" texts, put on top of the file.
    """
    document = load(scenario, overrides)
    offline = any(case.scenario.offline for case in document.cases)
    inputs = Inputs(Folder(document.path.parent), kept_counts(store) if offline else 0)
    planned = plans(document, inputs)
    listener = progress or Progress()
    checked = set() if Path(store).exists() else {planned[0].release}
    if checked:  # before the store is made, so that a fault leaves no empty one behind
        inputs.check(planned[0].scenario)
    done: list[tuple[Variant, int, bool]] = []
    with open_store(store) as opened:
        session = Session(opened, inputs, listener.stage)
        for number, plan in enumerate(planned, 1):
            listener.begin(plan.variant.title, number, len(planned))
            if plan.release not in checked and find(opened, "release", plan.release) is None:
                inputs.check(plan.scenario)
            done.append((plan.variant, *execute(plan, session)))
    with closing(connect_readonly(store)) as connection:
        found = tuple(
            RunVariant(
                number, variant.name, variant.repetition, variant.seed, fresh,
                pooled_figures(connection, number), tuple(notes_of(connection, number)),
            )
            for variant, number, fresh in done
        )  # fmt: skip
    return _summed_up(document, Path(store), found)


def plans(document: Document, inputs: Inputs | None = None) -> list[Plan]:
    """Check everything a scenario names, and plan its variants."""
    inputs = inputs or Inputs(Folder(document.path.parent))
    folder = inputs.folder
    catalogue = Catalogue()
    for case in document.cases:  # first all of them, for rules may read what those below derive
        for attack in case.scenario.attacks:
            catalogue.path(attack.rule, folder.path)
    # The first of each variant: what is amiss with one attack is mostly so with all of them.
    faults = [list(islice(_faults(case, catalogue, folder), 1)) for case in document.cases]
    if any(faults):
        raise together([case.source for case in document.cases], faults)
    return [plan_of(variant, inputs, catalogue) for variant in variants(document)]


def _faults(case: Case, catalogue: Catalogue, folder: Folder) -> Iterator[Fault]:
    """What the attacks of a variant lack, or say in vain, each at its place in the scenario."""
    listed = {str(catalogue.path(attack.rule, folder.path)) for attack in case.scenario.attacks}
    for number, attack in enumerate(case.scenario.attacks):
        try:
            rule = catalogue.rule(attack.rule, folder.path)
            _require_effect(attack, rule)
            check_fits(case.scenario, rule)
            check_bounds(case.scenario, attack, rule, folder)
            for other in catalogue.needed(rule):
                check_fits(case.scenario, other)
                if other.path not in listed:
                    check_bounds(case.scenario, None, other, folder)
        except DecloakError as error:
            if error.place:  # in the file of a rule, or of a release
                raise
            place = case.source.spot(("attack", number))
            yield place, DecloakError(error.message, str(place), error.hint)
    yield from _pointless(case, catalogue, folder)


def _pointless(case: Case, catalogue: Catalogue, folder: Folder) -> Iterator[Fault]:
    """What a variant says is to be measured, though there is no attack to measure it of."""
    scenario = case.scenario
    rules = [catalogue.rule(attack.rule, folder.path) for attack in scenario.attacks]
    for number, family in enumerate(map(by_name, scenario.families if scenario.measure else ())):
        if not any(_measured_by(family, rule) for rule in rules):
            others = [name for name in scenario.fitting if any(_measured_by(by_name(name), rule) for rule in rules)]
            attacks = [name for name in bundled_names() if _measured_by(family, catalogue.rule(name))]
            hints = [f"attack with {' or '.join(attacks)}"] if attacks else []
            hints += [f"measure {' or '.join(others)}"] if others else []
            place = case.source.spot(("measure", number))
            message = f"{shown(family.name)} says nothing of any attack here"
            yield place, DecloakError(message, str(place), ", or ".join(hints))


def _measured_by(family: Family, rule: Rule) -> bool:
    return family.says_of(rule.model.form, rule.derives.columns)


def _require_effect(attack: Attack, rule: Rule) -> None:
    """Refuse a setting that the rule would take no notice of."""
    heeded = rule.operator.heeds(rule)
    for key in ("threshold", "ratio", "k", "m"):
        if getattr(attack, key) is not None and key not in heeded:
            raise DecloakError(f"the rule {rule.name} takes no {key}", hint="delete it")


def _summed_up(document: Document, store: Path, found: tuple[RunVariant, ...]) -> Run:
    measures = tuple(_over_repetitions(found))
    verdicts = [
        Verdict(name, expectation.holds(values), expectation.explain(values))
        for name, group in groupby(measures, key=lambda one: one.variant)
        for values in [{(one.measure, one.attack): one.value for one in group}]
        for expectation in document.scenario.expectations
    ]
    return Run(document.scenario.scenario, store, found, measures, tuple(verdicts))


def _over_repetitions(found: Iterable[RunVariant]) -> Iterable[Measure]:
    for name, group in groupby(found, key=lambda one: one.name):
        repetitions = list(group)
        for measure, attack in repetitions[0].measures:
            over: Interval = interval([one.measures.get((measure, attack)) for one in repetitions])
            yield Measure(name, attack, measure, over.mean, over.low, over.high, over.n)
