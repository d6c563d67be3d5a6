"""Runs of a scenario: every variant, its figures, and the expectations that hold."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from decloak import ending
from decloak.data.dataset import Dataset
from decloak.data.formats.lines import location
from decloak.errors import DecloakError, NoRelease, escape_control
from decloak.figures import Metric, all_metrics
from decloak.measure.kernels.statistics import interval
from decloak.measure.registry import metrics_by_key
from decloak.pipeline.cluster import check_address, cluster_at
from decloak.pipeline.inputs import Inputs
from decloak.pipeline.permission import allowed_hosts, named_files, outgoing_requests, outside_notes
from decloak.pipeline.plan import Plan
from decloak.pipeline.progress import Progress, ProgressReporter, RunVariant
from decloak.pipeline.scheduler import run_plans
from decloak.pipeline.validate import plans, selected
from decloak.pipeline.workspace import Workspace
from decloak.relate.sending import allow_hosts
from decloak.scenario.criteria import PRESETS, judged_criteria
from decloak.scenario.document import Document, load
from decloak.scenario.expect import Expectation
from decloak.scenario.variant import identical_repetitions, pool_variants
from decloak.store.counts import kept_counts
from decloak.store.documentation import unwritten_figures, write_criteria, write_figures
from decloak.store.opening import Store, open_store
from decloak.store.results import PooledFigure, attacks_of, last_requests, notes_of, pooled_figures
from decloak.store.sandbox_guard import one_process
from decloak.store.writing import write_requests
from decloak.yaml.tree import Location

CONTROL = "control"
"""The knowledge level of a negative control, which is no attack."""


class Measure(NamedTuple):
    """A figure of one attack in one variant: the mean over its repetitions, between the bounds of its 95% interval.

    The bounds are None where repetitions do not differ. `n` of them have a value. `part` and `of` are the counts above
    and below the line of a ratio, or a count and of how many it is one, on the mean.
    """

    variant: str
    attack: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    part: float | None
    of: float | None
    knows: str = ""
    """The knowledge level of the attack."""


class Verdict(NamedTuple):
    """An expectation judged for one variant; `holds` is None where a measure is undefined.

    `expected` is what the scenario says, `text` that with what was measured; `line` and `column` are where
    the scenario writes it.
    """

    variant: str
    holds: bool | None
    text: str
    expected: str = ""
    line: int = 1
    column: int = 1


class Missing(NamedTuple):
    """A variant, and its repetition, that there is no release of, since its method cannot make one; and why."""

    variant: str
    repetition: int
    reason: str


@dataclass(frozen=True)
class Run:
    """The results of a scenario.

    `variants` lists the runs in the store. `measures` has their figures over repetitions with 95% intervals, also
    over data sets of one kind. `missing` lists the variants without a release. `ok` is true if every variant has a
    release and no expectation failed.
    """

    scenario: str
    store: Path
    variants: tuple[RunVariant, ...]
    measures: tuple[Measure, ...]
    verdicts: tuple[Verdict, ...]
    missing: tuple[Missing, ...] = ()
    warnings: tuple[str, ...] = ()
    """What of the scenario makes its results say less than they seem to."""

    def __repr__(self) -> str:
        """Return one line: a notebook prints the value of a cell, and the figures are thousands."""
        runs = "1 run" if len(self.variants) == 1 else f"{len(self.variants)} runs"
        return f"<Run of {self.scenario!r} in {str(self.store)!r}: {runs}, {len(self.measures)} figures, ok={self.ok}>"

    @property
    def ok(self) -> bool:
        """Return whether every variant has a release, and every expectation holds in it."""
        return not self.missing and all(verdict.holds is True for verdict in self.verdicts)

    @property
    def without_release(self) -> dict[str, str]:
        """Return the variants that have no release in any repetition, with the reason."""
        ran = {variant.name for variant in self.variants}
        # Reversed, so that the reason of the first repetition stays.
        return {entry.variant: entry.reason for entry in reversed(self.missing) if entry.variant not in ran}


@one_process()
def run(
    scenario: str | Path | Mapping[str, object] | Document,
    *,
    data: Dataset | None = None,
    store: str | Path = "store.db",
    overrides: Sequence[str] = (),
    progress: Progress | None = None,
    allow_send: Sequence[str] = (),
    only: str | None = None,
    jobs: int = 1,
    memory: int | None = None,
    dask: str | None = None,
    inputs: Inputs | None = None,
    controls: bool = True,
) -> Run:
    """Run `scenario`, a file or a mapping, with the results in `store`, and return them. decloak reuses stored results.

    - `data`: original records in place of the file of the scenario.
    - `overrides`: "key=value" texts that replace keys of the scenario.
    - `allow_send`: hosts that may receive item names in this run.
    - `only`: a part of the names of the variants to run.
    - `jobs`: the number of processes, on Linux and for programs with one thread. Results do not depend on it.
    - `memory`: the memory limit of all processes in bytes.
    - `dask`: the address of a scheduler whose workers run heavy stages. `allow_send` must name another machine.
    - `inputs`: files in memory. Runs with the same inputs read their files once.
    - `controls`: False leaves out the negative controls of attacks that learn. They change no other figure.
    """
    if dask is not None:
        check_address(dask, allow_send)
    document = scenario if isinstance(scenario, Document) else load(scenario, overrides, data)
    inputs = inputs or Inputs(document.folder)
    if any(case.scenario.offline for case in document.cases):
        inputs.kept_counts = kept_counts(store)
    planned = selected(plans(document, inputs, controls=controls), only)
    ending.check()
    listener, place = progress or Progress(), location(document.path)
    checked = set[str]()
    if not Path(store).exists():  # before the store is made, so that a fault leaves no empty one behind
        checked.add(_first_possible(planned, inputs).release)
        allowed_hosts(place, tuple(outgoing_requests(planned, inputs, lambda _: False)), allow_send)
    parted = any(plan.scenario.data.in_parts for plan in planned)
    if parted and memory is not None:
        message = "a run over records in parts keeps no more than a block of each process in memory"
        raise DecloakError(message, "--memory", "leave it out, or use fewer --jobs")
    with _processes(jobs if parted and dask is None else 1), open_store(store) as opened:
        workspace = Workspace(opened, inputs)
        # Stages that the store already has need no service, so fewer hosts are asked for than the plans name.
        requests = tuple(outgoing_requests(planned, inputs, workspace.has))
        with allow_hosts(allowed_hosts(place, requests, allow_send)), cluster_at(dask, allow_send) as cluster:
            workspace.cluster = None if requests else cluster  # services are asked by one at a time
            workspace.checked |= checked
            # One process: services get one request at a time, and parts have a pool of their own.
            runs, missing = _executed(planned, workspace, listener, 1 if requests or parted else jobs, memory)
        _note_run(opened, [variant.run for variant in runs])
    return _summed_up(document, Path(store), planned, runs, missing, whole=only is None)


def _processes(number: int) -> AbstractContextManager[None]:
    """Return a block in which tasks over records in files have `number` processes."""
    if number < 2:
        return nullcontext()
    from decloak.processes import local_pool  # takes time to import, and most runs need no processes

    return local_pool(number)


def _note_run(store: Store, runs: Sequence[int]) -> None:
    """Note that `runs` were asked for last, their figures and the criteria, unless `store` has them."""
    metrics = ({metric.key: metric for metric in all_metrics()} | metrics_by_key()).values()
    criteria = {
        (name, one.figure, place, one.limit, one.source)
        for name, preset in PRESETS.items()
        for place, one in enumerate(preset)
    }
    figures = unwritten_figures(store.connection, metrics)
    # Asked first, so that a run with nothing to do writes nothing.
    if figures or set(store.connection.execute("select * from criterion")) != criteria:
        with store.stage() as connection:
            write_figures(connection, figures)
            write_criteria(connection, criteria)
    if last_requests(store.connection, len(runs)) != runs:
        with store.stage() as connection:
            write_requests(connection, runs)


def _first_possible(planned: Sequence[Plan], inputs: Inputs) -> Plan:
    """Return the first plan that its method accepts, or raise the first refusal."""
    refusals = []
    for plan in planned:
        try:
            inputs.check(plan.scenario, plan.variant.seed, plan.variant.location)
        except NoRelease as error:
            refusals.append(error)
        else:
            return plan
    raise refusals[0]


def _executed(
    planned: Sequence[Plan], workspace: Workspace, listener: Progress, jobs: int, memory: int | None
) -> tuple[list[RunVariant], list[Missing]]:
    """Return every variant as it ran, and those without a release; raise the first refusal if none ran."""
    reporter = ProgressReporter(planned, listener)
    runs, missing, refusals = list[RunVariant](), list[Missing](), list[NoRelease]()
    for plan, ended in zip(planned, run_plans(planned, workspace, reporter, jobs, memory), strict=True):
        reporter.turn(plan)
        if isinstance(ended, NoRelease):
            reason = f"{ended.message}; {ended.hint}" if ended.hint else ended.message
            missing.append(Missing(plan.variant.name, plan.variant.repetition, escape_control(reason)))
            refusals.append(ended)
            reporter.no_release(plan)
        else:
            runs.append(_ran(plan, workspace, *ended))
            reporter.finished(plan, runs[-1])
    if not runs:
        raise refusals[0]
    return runs, missing


def _ran(plan: Plan, workspace: Workspace, number: int, fresh: bool) -> RunVariant:
    variant, connection = plan.variant, workspace.connection
    outside = outside_notes(named_files([variant.scenario], workspace.inputs.folder.path))
    notes = dict.fromkeys([*workspace.inputs.warnings(variant.scenario.data), *notes_of(connection, number)])
    return RunVariant(
        number, variant.name, variant.repetition, variant.seed, fresh, pooled_figures(connection, number),
        (*notes, *_skipped(plan), *outside),
        {attack.label: attack.knows for attack in attacks_of(connection, number)},
        _took(plan, workspace),
    )  # fmt: skip


def _took(plan: Plan, workspace: Workspace) -> dict[str, list[float]]:
    """Return the seconds of the stages that were computed for `plan`, by title, each stage for one plan."""
    took: dict[str, list[float]] = {}
    for stage in plan.stages:
        if stage in workspace.took:
            took.setdefault(plan.titles[stage][0], []).append(workspace.took.pop(stage))
    return took


def _skipped(plan: Plan) -> list[str]:
    """Return notes about listed families that do not apply to this variant, and about deprecated rules."""
    entries = plan.variant.whole.get("measure") or ()
    names = [entry if isinstance(entry, str) else next(iter(entry)) for entry in entries]
    measured = {family.name for planned in plan.attacks for family, _, _ in planned.measures}
    skipped = [name for name in (*names, *plan.scenario.listed_families) if name not in measured]
    listed = ", ".join(dict.fromkeys(skipped))
    notes = [f"skipped measures, which are for other releases or attacks: {listed}"] if listed else []
    # Rules without a label run for others: the scenario does not name them.
    models = {planned.rule.name: planned.rule.model for planned in plan.attacks if planned.label is not None}
    old = [model for model in models.values() if model.status == "deprecated"]
    return notes + [f"the rule {model.rule} is deprecated; use {', '.join(model.related)}" for model in old]


def _summed_up(
    document: Document,
    store: Path,
    planned: Sequence[Plan],
    runs: Sequence[RunVariant],
    missing: Sequence[Missing],
    *,
    whole: bool,
) -> Run:
    measures = tuple(over_repetitions(runs))
    written = document.source.root.children.get("expect")
    # Reversed, so that the first of equal lines gives the place.
    spots = {} if written is None else {node.value: node.place for node in reversed(written.children.values())}
    variants = {plan.variant.name: plan for plan in planned}
    verdicts = [
        _judged(expectation, spots[expectation.text], of_variant, name, sum(p.variant.name == name for p in planned))
        for name, plan in variants.items()
        for of_variant in [[measure for measure in measures if measure.variant == name]]
        for expectation in plan.scenario.expectations
    ]
    verdicts += _accepted(document, variants, runs)
    of_some = {verdict.expected for verdict in verdicts}
    verdicts += [
        Verdict("", None, f"{text} cannot be judged: no variant has what it names", text, spot.line, spot.column)
        for text, spot in spots.items()
        # With `only`, a variant that did not run may have it.
        if whole and isinstance(text, str) and text not in of_some
    ]
    pooled = _over_data(measures, pool_variants({name: plan.variant.settings for name, plan in variants.items()}))
    return Run(
        document.scenario.scenario,
        store,
        tuple(runs),
        (*measures, *pooled),
        tuple(verdicts),
        tuple(missing),
        tuple(identical_repetitions(document)),
    )


def _accepted(document: Document, variants: Mapping[str, Plan], runs: Sequence[RunVariant]) -> Iterator[Verdict]:
    """Yield the verdict of each criterion for each variant with a release."""
    for name, plan in variants.items():
        of_variant = [ran for ran in runs if ran.name == name]
        controls = {attack for ran in of_variant for attack, knows in ran.knows.items() if knows == CONTROL}
        figures, form = [ran.figures for ran in of_variant], plan.scenario.form.name
        judged = judged_criteria(plan.variant.config, form, figures, controls) if figures else None
        spot = document.source.find(("accept",)).place
        for one in judged.criteria if judged is not None else ():
            yield Verdict(name, one.holds, one.text, one.title, spot.line, spot.column)


def _judged(expectation: Expectation, spot: Location, measures: Sequence[Measure], variant: str, times: int) -> Verdict:
    """Judge an expectation of a variant by means over its repetitions."""
    holds, text = judge(expectation, measures, times)
    if not measures:
        text += " (no release)"
    return Verdict(variant, holds, text, expectation.text, spot.line, spot.column)


def judge(expectation: Expectation, measures: Sequence[Measure], times: int) -> tuple[bool | None, str]:
    """Judge an `expectation` by `measures`, the means over as many repetitions as `times`; return also the reason."""
    named = {(measure.measure, measure.attack): measure for measure in measures}
    means, counts = ({key: getattr(named[key], part) for key in named} for part in ("value", "n"))
    controls = {measure.attack for measure in measures if measure.knows == CONTROL}
    return expectation.judged(means, counts, times, _shares(measures), controls)


def _shares(measures: Sequence[Measure]) -> dict[tuple[str, str], float | None]:
    """Return counts as shares of their wholes."""
    titles = metrics_by_key()
    return {
        (measure.measure, measure.attack): None
        if measure.value is None or not measure.of
        else measure.value / measure.of
        for measure in measures
        if titles[measure.measure].count
    }


def over_repetitions(runs: Iterable[RunVariant]) -> Iterator[Measure]:
    """Yield the figures of `runs`, which are sorted by variant, as means over the repetitions of each variant."""
    titles = metrics_by_key()
    for name, group in groupby(runs, key=lambda run: run.name):
        repetitions = list(group)
        # A store of an older version has figures that nobody measures any more.
        for measure, attack in (key for key in repetitions[0].figures if key[0] in titles):
            figures = [figure for run in repetitions if (figure := run.figures.get((measure, attack))) is not None]
            chances = [chance.value for run in repetitions if (chance := run.figures.get(("baseline", attack)))]
            yield _mean(name, attack, titles[measure], figures, chances)._replace(knows=repetitions[0].knows[attack])


def _over_data(measures: Sequence[Measure], pools: Mapping[str, Sequence[str]]) -> Iterable[Measure]:
    """Yield the pooled figures of variants that differ only in their data set, each a mean over its repetitions."""
    titles = metrics_by_key()
    for pool, names in pools.items():
        figures: dict[tuple[str, str], list[Measure]] = {}
        for measure in measures:
            if measure.variant in names:
                figures.setdefault((measure.measure, measure.attack), []).append(measure)
        for (name, attack), repeated in figures.items():
            values = [PooledFigure(measure.value, measure.part, measure.of) for measure in repeated]
            chances = [measure.value for measure in figures.get(("baseline", attack), ())]
            yield _mean(pool, attack, titles[name], values, chances)._replace(knows=repeated[0].knows)


def _mean(
    variant: str, attack: str, title: Metric, figures: Sequence[PooledFigure], chances: Sequence[float | None]
) -> Measure:
    wholes = {figure.whole for figure in figures}
    # Counts of different wholes share no upper bound.
    bounds = title.bounds_of(wholes.pop() if len(wholes) == 1 else None, chances)
    mean = interval([figure.value for figure in figures], bounds=bounds)
    part, of = (_average([figure[column] for figure in figures]) for column in (1, 2))
    return Measure(variant, attack, title.key, mean.mean, mean.low, mean.high, mean.n, part, of)


def _average(counts: Sequence[float | None]) -> float | None:
    defined = [count for count in counts if count is not None]
    return math.fsum(defined) / len(defined) if defined else None
