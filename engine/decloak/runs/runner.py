"""Run a scenario: every variant, what was measured, and whether what was expected holds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from decloak import ending
from decloak.errors import NoRelease, harmless
from decloak.measure.family import FigureTitle
from decloak.measure.kernels.statistics import interval
from decloak.measure.registry import figure_titles
from decloak.relate.sending import allowing
from decloak.runs.carrying import Team, carried_out
from decloak.runs.checking import plans, selected
from decloak.runs.clusters import check_address, cluster_at
from decloak.runs.consent import allowed_hosts, asker_of, sendings
from decloak.runs.inputs import Inputs
from decloak.runs.named_files import named_files, outside_notes
from decloak.runs.plan import Plan
from decloak.runs.progress import Progress, RunVariant, Teller
from decloak.runs.session import Session
from decloak.scenario.document import Document, load
from decloak.scenario.drawn import same_repetitions
from decloak.scenario.expect import Expectation
from decloak.scenario.variant import pools
from decloak.store.counts import kept_counts
from decloak.store.inserting import find
from decloak.store.opening import open_store
from decloak.store.results import PooledFigure, attacks_of, notes_of, pooled_figures
from decloak.store.sandbox_guard import one_process
from decloak.store.showing import show_if_usual
from decloak.yaml.tree import Place

__all__ = ["Measure", "Missing", "Progress", "Run", "RunVariant", "Verdict", "run"]


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
    """The step of the ladder of attackers that the attack stands on."""


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
    """What a scenario came to.

    `variants` are the runs in the store, `measures` their figures over repetitions with 95% intervals, and of variants
    that differ in their data set alone over those; `missing` are those that there is no release of. `ok` tells whether
    there are none of these, and every expectation holds.
    """

    scenario: str
    store: Path
    variants: tuple[RunVariant, ...]
    measures: tuple[Measure, ...]
    verdicts: tuple[Verdict, ...]
    missing: tuple[Missing, ...] = ()
    warnings: tuple[str, ...] = ()
    """What of the scenario makes its results say less than they seem to."""
    shown: bool = True
    """Whether rows show all transactions of the store."""

    def __repr__(self) -> str:
        """What it came to in a line: a notebook prints what a cell ends in, and figures are thousands."""
        runs = "1 run" if len(self.variants) == 1 else f"{len(self.variants)} runs"
        return f"<Run of {self.scenario!r} in {str(self.store)!r}: {runs}, {len(self.measures)} figures, ok={self.ok}>"

    @property
    def ok(self) -> bool:
        """Whether every variant has a release, and every expectation holds in it."""
        return not self.missing and all(verdict.holds is True for verdict in self.verdicts)

    @property
    def without_release(self) -> dict[str, str]:
        """The variants that there is no release of in any repetition, and why."""
        ran = {variant.name for variant in self.variants}
        return {entry.variant: entry.reason for entry in reversed(self.missing) if entry.variant not in ran}


@one_process()
def run(
    scenario: str | Path,
    *,
    store: str | Path = "store.db",
    overrides: Sequence[str] = (),
    progress: Progress | None = None,
    rows: int | None = None,
    allow_send: Sequence[str] = (),
    only: str | None = None,
    jobs: int = 1,
    memory: int | None = None,
    dask: str | None = None,
) -> Run:
    """Run a scenario file into a store; what the store has already is not done again.

    `overrides` are "key=value" texts, put on top of the file. `allow_send` names hosts that words of its data may be
    sent to, which is remembered for this scenario with these files. `rows` is the number of rows beyond which a store
    keeps arrays alone, until `decloak rows` or a query asks for the rows: two million, if not said. `only` is part
    of the names of the variants to run, all of them if not said. `jobs` processes work at a time where the system is
    Linux and the program has one thread, with the same results; `memory` is the bytes they may take with this one.
    `dask` is the address of a scheduler, whose workers take the heavy pieces; `allow_send` has to name it where it is
    not of this machine.
    """
    if dask is not None:
        check_address(dask, allow_send)
    document = load(scenario, overrides)
    offline = any(case.scenario.offline for case in document.cases)
    inputs = Inputs(document.folder, kept_counts(store) if offline else 0)
    planned = selected(plans(document, inputs), only)
    ending.check()
    listener, asker = progress or Progress(), asker_of(document, inputs)
    checked = set[str]()
    if not Path(store).exists():  # before the store is made, so that a fault leaves no empty one behind
        checked.add(_first_possible(planned, inputs).release)
        allowed_hosts(asker, tuple(sendings(planned, inputs, lambda *_: False)), allow_send)
    with open_store(store) as opened:
        would = tuple(sendings(planned, inputs, lambda stage, key: find(opened, stage, key) is not None))
        with allowing(allowed_hosts(asker, would, allow_send)), cluster_at(dask, allow_send) as cluster:
            # Services are asked by one at a time.
            team, helper = (Team(1, memory), None) if would else (Team(jobs, memory), cluster)
            session = Session(opened, inputs, helper, checked=checked)
            runs, missing = _executed(planned, session, team, listener)
        shown = show_if_usual(opened, rows)
    return _summed_up(document, Path(store), planned, runs, missing, shown, whole=only is None)


def _first_possible(planned: Sequence[Plan], inputs: Inputs) -> Plan:
    """The first plan that its method does not refuse at once; there has to be one."""
    refusals = []
    for plan in planned:
        try:
            inputs.check(plan.scenario, plan.variant.seed, plan.variant.place)
        except NoRelease as error:
            refusals.append(error)
        else:
            return plan
    raise refusals[0]


def _executed(
    planned: Sequence[Plan], session: Session, team: Team, listener: Progress
) -> tuple[list[RunVariant], list[Missing]]:
    """Every variant as it ran, and those of which there is no release; there has to be one of some."""
    teller, runs, missing, refusals = Teller(planned, listener), list[RunVariant](), list[Missing](), list[NoRelease]()
    for plan, ended in zip(planned, carried_out(planned, session, team, teller), strict=True):
        teller.turn(plan)
        if isinstance(ended, NoRelease):
            reason = f"{ended.message}; {ended.hint}" if ended.hint else ended.message
            missing.append(Missing(plan.variant.name, plan.variant.repetition, harmless(reason)))
            refusals.append(ended)
            teller.without(plan)
        else:
            runs.append(_ran(plan, session, *ended))
            teller.done(plan, runs[-1])
    if not runs:
        raise refusals[0]
    return runs, missing


def _ran(plan: Plan, session: Session, number: int, fresh: bool) -> RunVariant:
    variant, connection = plan.variant, session.store.connection
    outside = outside_notes(named_files([variant.scenario], session.inputs.folder.path))
    return RunVariant(
        number, variant.name, variant.repetition, variant.seed, fresh, pooled_figures(connection, number),
        (*session.inputs.warnings(variant.scenario.data), *notes_of(connection, number), *outside),
        {attack.label: attack.knows for attack in attacks_of(connection, number)},
    )  # fmt: skip


def _summed_up(
    document: Document,
    store: Path,
    planned: Sequence[Plan],
    runs: Sequence[RunVariant],
    missing: Sequence[Missing],
    shown: bool,
    *,
    whole: bool,
) -> Run:
    measures = tuple(_over_repetitions(runs))
    written = document.source.root.children.get("expect")
    spots = {} if written is None else {node.value: node.place for node in reversed(written.children.values())}
    variants = {plan.variant.name: plan for plan in planned}
    verdicts = [
        _judged(expectation, spots[expectation.text], of_variant, name, sum(p.variant.name == name for p in planned))
        for name, plan in variants.items()
        for of_variant in [[measure for measure in measures if measure.variant == name]]
        for expectation in plan.scenario.expectations
    ]
    of_some = {verdict.expected for verdict in verdicts}
    verdicts += [
        Verdict("", None, f"{text} cannot be judged: no variant has what it names", text, spot.line, spot.column)
        for text, spot in spots.items()
        if whole and isinstance(text, str) and text not in of_some
    ]
    pooled = _over_data(measures, pools({name: plan.variant.settings for name, plan in variants.items()}))
    return Run(
        document.scenario.scenario,
        store,
        tuple(runs),
        (*measures, *pooled),
        tuple(verdicts),
        tuple(missing),
        tuple(same_repetitions(document)),
        shown,
    )


def _judged(expectation: Expectation, spot: Place, measures: Sequence[Measure], variant: str, times: int) -> Verdict:
    """An expectation of a variant, by means over so many repetitions."""
    named = {(measure.measure, measure.attack): measure for measure in measures}
    means, counts = ({key: getattr(named[key], part) for key in named} for part in ("value", "n"))
    holds, text = expectation.judged(means, counts, times, _shares(measures))
    if not measures:
        text += " (no release)"
    return Verdict(variant, holds, text, expectation.text, spot.line, spot.column)


def _shares(measures: Sequence[Measure]) -> dict[tuple[str, str], float | None]:
    """Counts as shares of what they are counted of."""
    titles = figure_titles()
    return {
        (measure.measure, measure.attack): None
        if measure.value is None or not measure.of
        else measure.value / measure.of
        for measure in measures
        if titles[measure.measure].count
    }


def _over_repetitions(runs: Iterable[RunVariant]) -> Iterable[Measure]:
    titles = figure_titles()
    for name, group in groupby(runs, key=lambda run: run.name):
        repetitions = list(group)
        for measure, attack in repetitions[0].figures:
            figures = [figure for run in repetitions if (figure := run.figures.get((measure, attack))) is not None]
            chances = [chance.value for run in repetitions if (chance := run.figures.get(("chance", attack)))]
            yield _mean(name, attack, titles[measure], figures, chances)._replace(knows=repetitions[0].knows[attack])


def _over_data(measures: Sequence[Measure], pools: Mapping[str, Sequence[str]]) -> Iterable[Measure]:
    """The figures of variants that differ in their data set alone, each a mean over its repetitions, together."""
    titles = figure_titles()
    for pool, names in pools.items():
        figures: dict[tuple[str, str], list[Measure]] = {}
        for measure in measures:
            if measure.variant in names:
                figures.setdefault((measure.measure, measure.attack), []).append(measure)
        for (name, attack), repeated in figures.items():
            values = [PooledFigure(measure.value, measure.part, measure.of) for measure in repeated]
            chances = [measure.value for measure in figures.get(("chance", attack), ())]
            yield _mean(pool, attack, titles[name], values, chances)._replace(knows=repeated[0].knows)


def _mean(
    variant: str, attack: str, title: FigureTitle, figures: Sequence[PooledFigure], chances: Sequence[float | None]
) -> Measure:
    wholes = {figure.whole for figure in figures}
    bounds = title.bounds_of(wholes.pop() if len(wholes) == 1 else None, chances)
    mean = interval([figure.value for figure in figures], bounds=bounds)
    part, of = (_average([figure[column] for figure in figures]) for column in (1, 2))
    return Measure(variant, attack, title.name, mean.mean, mean.low, mean.high, mean.n, part, of)


def _average(counts: Sequence[float | None]) -> float | None:
    defined = [count for count in counts if count is not None]
    return math.fsum(defined) / len(defined) if defined else None
