"""What the variants of a run share where they are worked on: in the one process that writes, or in one beside it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from decloak.cells.shapes import Ask
from decloak.data.query import Both, Query
from decloak.relate.counting import Cache, Memory
from decloak.releases.held import HeldRelease
from decloak.runs.inputs import Inputs
from decloak.runs.plan import Plan
from decloak.store.counts import StoredCounts
from decloak.store.inserting import find
from decloak.store.opening import Store, connect_readonly

if TYPE_CHECKING:
    from decloak.cells.cluster import DaskCluster

__all__ = ["Kept", "NotedCounts", "Session"]

Kept = tuple[str, tuple[Any, ...]]
"""A call that keeps counts: the name of the method, and what it is given."""


class NotedCounts:
    """The counts of a store that somebody else writes: what is to be kept is noted down, and known from then on."""

    def __init__(self, stored: Cache) -> None:
        self._stored, self._fresh = stored, Memory()
        self.kept: list[Kept] = []

    def known_n(self, origin: str) -> int | None:
        fresh = self._fresh.known_n(origin)
        return self._stored.known_n(origin) if fresh is None else fresh

    def keep_n(self, origin: str, n: int) -> None:
        self._fresh.keep_n(origin, n)
        self.kept.append(("keep_n", (origin, n)))

    def known(self, origin: str, queries: Sequence[Query]) -> dict[Query, int | None]:
        return {**self._stored.known(origin, queries), **self._fresh.known(origin, queries)}

    def known_pairs(self, origin: str, pairs: Sequence[Both]) -> dict[Both, int | None]:
        return {**self._stored.known_pairs(origin, pairs), **self._fresh.known_pairs(origin, pairs)}

    def keep(self, origin: str, counts: Mapping[Query, int | None]) -> None:
        self._fresh.keep(origin, counts)
        self.kept.append(("keep", (origin, dict(counts))))

    def keep_pairs(self, origin: str, counts: Mapping[Both, int | None]) -> None:
        self._fresh.keep_pairs(origin, counts)
        self.kept.append(("keep_pairs", (origin, dict(counts))))

    def handed_in(self) -> list[Kept]:
        """What was noted down since this was asked for last."""
        kept, self.kept = self.kept, []
        return kept


@dataclass
class Session:
    """What is there to work with: the store, the inputs, whom to ask, and what was worked on last."""

    store: Store
    inputs: Inputs
    cluster: "DaskCluster | None" = None
    """Who works on heavy pieces, None where this process does."""
    ask: Ask = field(default=lambda question: None)
    noted: NotedCounts | None = None
    executing: tuple[Plan, Any] | None = None
    """The plan that was carried out last, and what is in memory of it."""
    checked: set[str] = field(default_factory=set)
    """The keys of releases whose files were looked at."""
    _held: HeldRelease | None = None

    @property
    def is_home(self) -> bool:
        """Whether this is the process that writes."""
        return self.noted is None

    @property
    def counts(self) -> Cache:
        """The counts that are known; more of them are kept at once by who writes, with their stage by others."""
        return self.noted or StoredCounts(self.store)

    def hold(self, plan: Plan, number: int) -> HeldRelease:
        """A release in the store; the last one is kept, since variants often share it."""
        if self._held is None or self._held.number != number:
            self._held = plan.scenario.form.hold(self.store.connection, number)
        return self._held

    def check(self, plan: Plan) -> None:
        """Raise what is wrong with the files of a plan, before the first of it is written."""
        if plan.release not in self.checked and find(self.store, "release", plan.release) is None:
            self.inputs.check(plan.scenario, plan.variant.seed, plan.variant.place)
        self.checked.add(plan.release)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Inside, the store is closed: SQLite is not to be copied with a process."""
        self.store.connection.close()
        try:
            yield
        finally:
            self.store.reopen()
            self._reconnect()

    def beside(self) -> None:
        """Go on in a process beside the one that writes: with a connection of its own, for reading alone."""
        self.store = Store(self.store.path, connect_readonly(self.store.path))
        self.noted = NotedCounts(StoredCounts(self.store))
        self._reconnect()

    def in_thread(self) -> "Session":
        """The same for a thread beside the one that writes."""
        session = Session(self.store, replace(self.inputs), self.cluster, checked=set(self.checked))
        session.beside()
        return session

    def _reconnect(self) -> None:
        """Let what is held read by the connection that there is now."""
        if self._held is not None:
            self._held.connection = self.store.connection
