"""The store, the inputs and the memory that the stages of a run share, and the values that stages work on.

A `Workspace` belongs to the process that writes the store. A `WorkerWorkspace` belongs to a worker, which only reads
the store: it keeps the results of its stages until the writing process takes them. `Material` has the data, the release
and the distances of one plan: computed in this process, or read from the store.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from decloak import ending
from decloak.anonymisers.method import NewRelease, Stopwatch, StoredContent
from decloak.arrays import Floats
from decloak.compiled import compiling_message, reporting
from decloak.data.dataset import Dataset
from decloak.data.document_counter import Query, QueryPair
from decloak.data.pairs import AttackTable, Pair
from decloak.lazy import once
from decloak.parallel import Cluster
from decloak.pipeline.inputs import Inputs
from decloak.pipeline.plan import Plan, StageKey
from decloak.pipeline.progress import EXPECTED, duration
from decloak.relate.counting import Cache, MemoryCache
from decloak.relate.relatedness import Related, Supplies
from decloak.releases.stored import PartedStored, StoredRelease
from decloak.store import distance_tables
from decloak.store.counts import StoredCounts
from decloak.store.inserting import find
from decloak.store.opening import Store, connect_readonly
from decloak.store.records import dataset_of, read_dataset
from decloak.store.relations import Scope
from decloak.store.timing import KnownTimes, Timing, dataset_number

Write = Callable[[sqlite3.Connection], int]
"""A function that writes a computed stage inside a transaction and returns its number."""
Report = Callable[[Plan, str], None]
"""A function that is called with the stage of a plan before its computation, and with its progress."""
KeepCounts = Callable[[StoredCounts], None]
"""A call that keeps counts in the store; it is pickled, so it is a method of `StoredCounts` with arguments."""


class StageResult(NamedTuple):
    """A computed stage: its key, the function that writes it, its time, and the counts that computing it asked for."""

    stage: StageKey
    write: Write
    timing: Timing | None = None
    counts: Sequence[KeepCounts] = ()


LONG = 30.0
"""Seconds from which on the expected time of a stage is reported."""


class NotWritten(Exception):
    """A worker needs a stage that the store does not have yet."""


class Workspace:
    """The store that this process writes, the inputs, and the release that was loaded last.

    `cluster` computes heavy functions where there is one. `report` is called before each stage.
    """

    def __init__(self, store: Store, inputs: Inputs, cluster: Cluster | None = None) -> None:
        self.store, self.inputs, self.cluster = store, inputs, cluster
        self.report: Report = lambda plan, text: None
        self.at_work = ""
        """The stage that was reported last."""
        self.took: dict[StageKey, float] = {}
        """The seconds of the stages that this process has written."""
        self.checked: set[str] = set()
        """Keys of releases whose files were checked."""
        self.memory: object = None
        """The pipeline that ran last, with the values that it has in memory."""
        self._release: StoredRelease | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        """Return the connection to the store."""
        return self.store.connection

    @property
    def counts(self) -> Cache:
        """Return the counts of records and pairs that the store keeps."""
        return StoredCounts(self.store)

    def begin(self, plan: Plan, stage: StageKey) -> bool:
        """Report that `stage` of `plan` is computed now; return False if the store has it already."""
        ending.check()
        if self.has(stage):
            return False
        self.at_work = self._announced(plan, stage)
        self.report(plan, self.at_work)
        return True

    @once
    def times(self) -> KnownTimes:
        """Return the times of stages in the store, with the stages that this process has written since."""
        return KnownTimes(self.connection)

    def _announced(self, plan: Plan, stage: StageKey) -> str:
        """Return the title of `stage`, with its expected time if it is long."""
        title, name = plan.titles[stage]
        data = dataset_number(self.connection, plan.original, plan.release)
        seconds = self.times.expected(stage.kind, name, data, LONG)
        return title if seconds is None else f"{title}{EXPECTED}{duration(seconds)}"

    def write(self, result: StageResult) -> None:
        """Write a computed stage in one transaction, unless another run has written it in the meantime."""
        if self.has(result.stage):
            return
        # Before the stage, because each call is a transaction of its own.
        for keep in result.counts:
            keep(StoredCounts(self.store))
        with self.store.stage() as connection:
            # Another run may have written the stage before this transaction began.
            if not self.has(result.stage):
                clock, number = Stopwatch(), result.write(connection)
                if result.timing is not None:
                    timing = result.timing.with_more(clock.seconds)
                    self.times.note(connection, result.stage.kind, number, timing)
                    self.took[result.stage] = timing.seconds

    def has(self, stage: StageKey) -> bool:
        """Return whether the store has a stage."""
        return find(self.connection, *stage) is not None

    def number(self, stage: StageKey) -> int:
        """Return the number of a stage in the store."""
        number = find(self.connection, *stage)
        if number is None:
            raise NotWritten(stage)
        return number

    def number_of(self, kind: str, key: str | None) -> int | None:
        """Return the number of a stage in the store, None if the plan has no key for it."""
        return None if key is None else self.number(StageKey(kind, key))

    def load_release(self, plan: Plan) -> StoredRelease:
        """Return the stored release of `plan`; the last one stays in memory, because variants often share it."""
        number = self.number(StageKey("release", plan.release))
        if self._release is None or self._release.number != number:
            self._release = plan.scenario.form.load(self.connection, number)
        return self._release

    def check(self, plan: Plan) -> None:
        """Raise the first fault in the files of `plan`, before anything of it is written."""
        if plan.release not in self.checked and not self.has(StageKey("release", plan.release)):
            self.inputs.check(plan.scenario, plan.variant.seed, plan.variant.location)
        self.checked.add(plan.release)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Close the store inside: a connection to SQLite must not be copied with a process."""
        self.store.connection.close()
        try:
            yield
        finally:
            self.store.reopen()
            self._reconnect()

    def _reconnect(self) -> None:
        """Let the release in memory read through the present connection."""
        if self._release is not None:
            self._release.connection = self.store.connection


class WorkerWorkspace(Workspace):
    """The workspace of a worker, which reads the store through a connection of its own and writes nothing.

    `home` is the workspace of the writing process. Its release stays in memory only for a forked worker: threads share
    no connection.
    """

    def __init__(self, home: Workspace, report: Report, *, forked: bool) -> None:
        store = Store(home.store.path, connect_readonly(home.store.path))
        # Threads get a copy each: inputs keep what was read last, and would exchange it.
        super().__init__(store, home.inputs if forked else replace(home.inputs), home.cluster)
        self.report, self.checked = report, set(home.checked)
        self.claimed: Collection[StageKey] = ()
        """The stages that this worker is to compute; other workers compute the others."""
        self._results: dict[StageKey, StageResult] = {}
        self._counts = BufferedCounts(StoredCounts(self.store))
        if forked:
            self.memory, self._release = home.memory, home._release
            self._reconnect()

    @property
    def counts(self) -> Cache:
        """Return the counts that the store keeps, with the later answers of this worker."""
        return self._counts

    def begin(self, plan: Plan, stage: StageKey) -> bool:
        """Report that `stage` of `plan` is computed now; return False if there is a result of it."""
        if stage in self._results:
            return False
        if stage not in self.claimed and not self.has(stage):
            raise NotWritten(stage)
        return super().begin(plan, stage)

    def write(self, result: StageResult) -> None:
        """Keep the result of a stage until `take_results`."""
        self._results[result.stage] = result._replace(counts=self._counts.drain())

    def take_results(self) -> list[StageResult]:
        """Return the results since the last call, and forget them."""
        results, self._results = list(self._results.values()), {}
        return results


class BufferedCounts(MemoryCache):
    """Counts for a worker: read from the store; new ones stay here until the writing process takes them."""

    def __init__(self, stored: Cache) -> None:
        super().__init__()
        self._stored = stored
        self._calls: list[KeepCounts] = []

    def known_n(self, origin: str) -> int | None:
        """Return the number of documents behind the counts of `origin`, None if it is not known."""
        fresh = super().known_n(origin)
        return self._stored.known_n(origin) if fresh is None else fresh

    def known(self, origin: str, queries: Sequence[Query]) -> dict[Query, int | None]:
        """Return the counts of `queries` that are known."""
        return {**self._stored.known(origin, queries), **super().known(origin, queries)}

    def known_pairs(self, origin: str, pairs: Sequence[QueryPair]) -> dict[QueryPair, int | None]:
        """Return the counts of `pairs` that are known."""
        return {**self._stored.known_pairs(origin, pairs), **super().known_pairs(origin, pairs)}

    def keep_n(self, origin: str, n: int) -> None:
        """Keep the number of documents behind the counts of `origin`."""
        super().keep_n(origin, n)
        # Not a method of `self._stored`: its connection cannot be pickled.
        self._calls.append(partial(StoredCounts.keep_n, origin=origin, n=n))

    def keep_counts(self, origin: str, counts: Mapping[Query, int | None]) -> None:
        """Keep the counts of queries."""
        super().keep_counts(origin, counts)
        self._calls.append(partial(StoredCounts.keep_counts, origin=origin, counts=dict(counts)))

    def keep_pairs(self, origin: str, counts: Mapping[QueryPair, int | None]) -> None:
        """Keep the counts of pairs."""
        super().keep_pairs(origin, counts)
        self._calls.append(partial(StoredCounts.keep_pairs, origin=origin, counts=dict(counts)))

    def drain(self) -> list[KeepCounts]:
        """Return the calls since the last `drain`, for the writing process to repeat."""
        calls, self._calls = self._calls, []
        return calls


class Material:
    """The data, the release and the distances of one plan.

    Stages that this process computed leave their results here (`anonymised`, `scored`), so that only results of
    earlier runs are read from the store.
    """

    def __init__(self, plan: Plan, workspace: Workspace) -> None:
        self.plan, self.workspace, self.inputs = plan, workspace, workspace.inputs
        self.scenario, self.form = plan.scenario, plan.scenario.form
        self.anonymised: NewRelease[StoredContent] | None = None
        self.scored: Related | None = None

    def report(self, text: str) -> None:
        """Report how far a stage is."""
        self.workspace.report(self.plan, text)

    @contextmanager
    def reporting_compilation(self) -> Iterator[None]:
        """Report, inside, when the stage at work waits for loops to be compiled."""
        stage = self.workspace.at_work
        with reporting(lambda begins: self.report(f"{stage}: {compiling_message()}" if begins else stage)):
            yield

    @once
    def dataset(self) -> Dataset:
        """Return the original records, from the store where reading their file takes long."""
        key, data = self.plan.original, self.scenario.data
        if not (data.reads_early or data.in_parts) and key is not None:
            stage = StageKey("dataset", key)
            if self.workspace.has(stage):
                return read_dataset(self.workspace.connection, self.workspace.number(stage))
        return self.inputs.published_part(
            self.scenario, self.plan.variant.seed, lambda done, of: self.report(f"reading: {done:,} of {of:,}")
        )

    @once
    def release(self) -> StoredRelease:
        """Return the stored release; values that this process made or read are not read again."""
        release = self.workspace.load_release(self.plan)
        if self.anonymised is not None:
            release.published = self.anonymised.release
        # A value of `once` is an attribute from its first use on.
        if "dataset" in vars(self) or isinstance(release, PartedStored):
            release.original = self.dataset
        return release

    @property
    def supplies(self) -> Supplies:
        """Return what sources of relatedness may use."""
        seed = self.plan.variant.seed
        return Supplies(
            self.inputs.folder,
            documents=lambda: self.form.documents(self.release),
            sizes=lambda: self.form.sizes(self.release),
            cache=self.workspace.counts,
            progress=lambda count, total: self.report(f"relatedness: {count:,} of {total:,} counts"),
            sample=(lambda: self.inputs.sample(self.scenario, seed)) if self.scenario.attacker.sample else None,
        )

    @once
    def scores(self) -> Mapping[Pair, float | None] | None:
        """Return the scores of pairs of items, None if no items are related."""
        if self.scored is not None:
            return self.scored.scores
        key = self.plan.relatedness
        if key is None:
            return None
        number = self.workspace.number(StageKey("relatedness", key))
        return distance_tables.read_pair_scores(self.workspace.connection, number)

    @once
    def tables(self) -> Sequence[AttackTable]:
        """Return the distance tables, computed from the scores."""
        listed = self.scenario.data.read_tables(self.inputs.folder)
        return self.form.tables(self.release, self.scenario.nearest, self.scores, listed)

    @once
    def distances(self) -> Sequence[Floats]:
        """Return the distances of every table, from the store unless this process has computed the tables."""
        if "tables" in vars(self):
            return [table.d for table in self.tables]
        number = self.workspace.number(StageKey("scoring", self.plan.scoring))
        return distance_tables.read_distances(self.workspace.connection, number)

    @once
    def scope(self) -> Scope:
        """Return the numbers of the stages that rules read."""
        plan, workspace = self.plan, self.workspace
        release = workspace.number(StageKey("release", plan.release))
        return Scope(
            release,
            dataset_of(workspace.connection, release),
            workspace.number(StageKey("scoring", plan.scoring)),
            workspace.number_of("attacker", plan.attacker),
            workspace.number_of("dataset", plan.auxiliary),
            workspace.number_of("relatedness", plan.relatedness),
        )
