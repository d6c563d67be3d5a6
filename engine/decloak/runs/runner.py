"""Run a scenario: every variant, what was measured, and whether what was expected holds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from decloak.errors import DecloakError
from decloak.measure.statistics import Interval, interval
from decloak.rules.load import Catalogue, Rule
from decloak.rules.model import ItemsetsRule
from decloak.runs.inputs import Originals, check_inputs
from decloak.runs.plan import Files, Plan, check_bounds, check_fits, plan
from decloak.runs.stages import execute
from decloak.scenario.model import Case, Document, load
from decloak.scenario.parts import Attack
from decloak.scenario.sweep import Variant, together, variants
from decloak.store.counts import kept_counts
from decloak.store.inserting import find
from decloak.store.opening import connect_readonly, open_store
from decloak.store.results import notes_of, pooled
from decloak.store.sandbox_guard import one_process
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


@one_process()
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
    planned = plans(document, kept_counts(store) if offline else 0)
    told = progress or Progress()
    originals = Originals()
    checked = set() if Path(store).exists() else {planned[0].release}
    if checked:  # before the store is made, so that a fault leaves no empty one behind
        check_inputs(planned[0].scenario, planned[0].folder, originals)
    done: list[tuple[Variant, int, bool]] = []
    with open_store(store) as opened:
        for number, one in enumerate(planned, 1):
            told.begin(one.variant.title, number, len(planned))
            if one.release not in checked and find(opened, "release", one.release) is None:
                check_inputs(one.scenario, one.folder, originals)
            done.append((one.variant, *execute(one, opened, told.stage)))
    with closing(connect_readonly(store)) as connection:
        found = tuple(
            RunVariant(
                number, variant.name, variant.repetition, variant.seed, fresh,
                pooled(connection, number), tuple(notes_of(connection, number)),
            )
            for variant, number, fresh in done
        )  # fmt: skip
    return _summed_up(document, Path(store), found)


@one_process()
def plans(document: Document, kept: int = 0) -> list[Plan]:
    """Check everything a scenario names, and plan its variants; `kept` counts are in the store."""
    folder = document.path.parent
    catalogue = Catalogue()
    for case in document.cases:  # first all of them, for rules may read what those below derive
        for attack in case.scenario.attacks:
            catalogue.path(attack.rule, folder)
    # The first of each variant: what is amiss with one attack is mostly so with all of them.
    faults = [list(islice(_faults(case, catalogue, folder), 1)) for case in document.cases]
    if any(faults):
        raise together([case.source for case in document.cases], faults)
    files = Files(folder, kept)
    return [plan(variant, files, catalogue) for variant in variants(document)]


def _faults(case: Case, catalogue: Catalogue, folder: Path) -> Iterator[Fault]:
    """What the attacks of a variant lack, or say in vain, each at its place in the scenario."""
    listed = {str(catalogue.path(attack.rule, folder)) for attack in case.scenario.attacks}
    for number, attack in enumerate(case.scenario.attacks):
        try:
            rule = catalogue.rule(attack.rule, folder)
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


def _require_effect(attack: Attack, rule: Rule) -> None:
    """Refuse a setting that the rule would take no notice of."""
    strategy, model = rule.strategy, rule.model
    heeded = {
        "threshold": strategy is not None and strategy.strike != "coin",
        "ratio": strategy is not None and strategy.threshold is not None,
        "k": isinstance(model, ItemsetsRule) and "k" in model.open,
        "m": isinstance(model, ItemsetsRule) and "m" in model.open,
    }
    for key, does in heeded.items():
        if getattr(attack, key) is not None and not does:
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
