"""The stages of a plan before its attacks: each that the store has not got is computed, and handed in to be written in
one transaction.

What a stage made is handed on in memory; only what an earlier run has made is read from the store.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

from decloak import ending
from decloak.anonymisers.method import Method, NewRelease
from decloak.arrays import Floats
from decloak.compiled import compiling, telling
from decloak.data.dataset import Dataset
from decloak.data.tables import AttackTable, Pair
from decloak.data.text.order import sorted_warning
from decloak.errors import no_release
from decloak.lazy import once
from decloak.relate.relatedness import Supplies
from decloak.releases.attacker import Auxiliary
from decloak.releases.held import HeldRelease
from decloak.runs import pieces
from decloak.runs.desk import Claim, Made, Node, Offer, Question, Told, Write
from decloak.runs.plan import Plan
from decloak.runs.session import Session
from decloak.store import attackers, distance_tables, inserting, pair_scores, writing
from decloak.store.reading import read_dataset
from decloak.store.relations import Scope
from decloak.store.transactions import dataset_of

__all__ = ["Stages"]


@dataclass
class Stages:
    """What the attacks of a plan need of the store, stage by stage."""

    plan: Plan
    session: Session
    _anonymised: NewRelease | None = field(default=None, init=False)
    _scores: Mapping[Pair, float | None] | None = field(default=None, init=False)
    _scores_apart: Sequence[Mapping[Pair, float | None]] = field(default=(), init=False)
    _tables: Sequence[AttackTable] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.inputs = self.session.inputs
        self.scenario, self.form = self.plan.scenario, self.plan.scenario.form

    def in_session(self, session: Session) -> Self:
        """The same with another session, and all that is in memory but what reads by a connection."""
        other = type(self)(self.plan, session)
        vars(other).update((name, value) for name, value in vars(self).items() if name not in ("session", "held"))
        return other

    @property
    def connection(self) -> sqlite3.Connection:
        return self.session.store.connection

    def ask(self, question: Question) -> Any:
        """Put a question to whoever writes the store; end here if the user has asked for it."""
        ending.check()
        return self.session.ask(question)

    def stage(self, kind: str, key: str, make: Callable[[], Write]) -> int:
        """The number of a finished stage; when it is not there, `make` computes and its result writes."""
        node = Node(kind, key)
        number = self.ask(Claim(node))
        if number is None:
            self._hand_in(node, make())
            number = self.ask(Claim(node))
        return int(number)

    def ready(self, kind: str, key: str, make: Callable[[], Write]) -> None:
        """See that a stage is made, without waiting until it is written."""
        node = Node(kind, key)
        if self.ask(Offer(node)):
            self._hand_in(node, make())

    def _hand_in(self, node: Node, write: Write) -> None:
        noted = self.session.noted
        self.ask(Made(node, write, () if noted is None else noted.handed_in()))

    def number(self, kind: str, key: str) -> int:
        """The number of a stage that somebody makes."""
        return int(self.ask(Claim(Node(kind, key))))

    def progress(self, text: str) -> None:
        self.ask(Told(text))

    def telling(self, kind: str) -> AbstractContextManager[None]:
        """Inside, tell who listens that a stage of this kind waits for loops to be compiled."""
        return telling(lambda begins: self.progress(f"{kind}: {compiling()}" if begins else kind))

    @once
    def original(self) -> int | None:
        """The number of the original data set, None where there is none."""
        key = self.plan.original
        return None if key is None else self.stage("dataset", key, lambda: self._keep_original(key))

    def _keep_original(self, key: str) -> Write:
        data, source = self.dataset, self.scenario.data
        note = sorted_warning(data)
        return partial(
            writing.write_dataset, digest=key, data=data, kind="original", file_format=source.kept_as, note=note
        )

    @once
    def dataset(self) -> Dataset:
        """The original transactions: as they were read, or from the store where reading takes long."""
        key = self.plan.original
        number = (
            None if self.scenario.data.quick or key is None else inserting.finished(self.connection, "dataset", key)
        )
        if number is not None:
            return read_dataset(self.connection, number)
        return self.inputs.published_part(
            self.scenario, self.plan.variant.seed, lambda done, of: self.progress(f"reading: {done:,} of {of:,}")
        )

    @once
    def release(self) -> int:
        """The number of the release: anonymised here, or read."""
        original = self.original
        return self.stage("release", self.plan.release, lambda: self._publish(original))

    def _publish(self, original: int | None) -> Write:
        if self.scenario.anonymise is None:
            release = self.inputs.release(self.scenario)
        else:
            with no_release(self.plan.variant.place):
                release = self._anonymised = self._anonymise(self.scenario.anonymise)
        return partial(self.form.write, digest=self.plan.release, prepared=release, original=original)

    def _anonymise(self, method: Method) -> NewRelease:
        data = self.dataset
        with self.telling("release"):
            prepared = pieces.published(method, data, self.inputs.folder, self.plan.variant.seed, self.session)
        # Where it comes from: not from the file itself.
        return replace(prepared, release=replace(prepared.release, origin=f"{prepared.method} of {data.origin}"))

    @once
    def held(self) -> HeldRelease:
        """The release as everybody reads it; what was made or read here is not read again."""
        held = self.session.hold(self.plan, self.release)
        if self._anonymised is not None:
            held.published = self._anonymised.release
        if "dataset" in vars(self):
            held.original = self.dataset
        return held

    @once
    def relatedness(self) -> int | None:
        """The number of the scores of pairs of items, None where nothing is related."""
        key = self.plan.relatedness
        _ = self.release
        return None if key is None else self.stage("relatedness", key, lambda: self._relate(key))

    def _relate(self, key: str) -> Write:
        relate, form, held = self.scenario.related_by, self.form, self.held
        assert relate is not None
        scored = relate.related(form.pairs(held, self.scenario.nearest), self.supplies)
        self._scores, self._scores_apart = scored.scores, scored.apart
        return partial(
            pair_scores.write_relatedness,
            digest=key, measure=scored.measure, origin=scored.origin, scores=scored.scores, warnings=scored.warnings,
        )  # fmt: skip

    @property
    def supplies(self) -> Supplies:
        """What a source of relatedness goes by."""
        seed = self.plan.variant.seed
        return Supplies(
            self.inputs.folder,
            documents=lambda: self.form.documents(self.held),
            sizes=lambda: self.form.sizes(self.held),
            cache=self.session.counts,
            progress=lambda count, total: self.progress(f"relatedness: {count:,} of {total:,} counts"),
            sample=(lambda: self.inputs.sample(self.scenario, seed)) if self.scenario.attacker.sample else None,
        )

    @once
    def scores(self) -> Mapping[Pair, float | None] | None:
        number = self.relatedness
        if number is None or self._scores is not None:
            return self._scores
        return pair_scores.read_pair_scores(self.connection, number)

    @once
    def scoring(self) -> int:
        """The number of the distance tables."""
        relatedness = self.relatedness
        return self.stage("scoring", self.plan.scoring, lambda: self._score(relatedness))

    def _score(self, relatedness: int | None) -> Write:
        context = "given" if not self.form.related else str(self.form.context(self.scenario.nearest))
        tables = self.tables
        return partial(
            distance_tables.write_scoring,
            digest=self.plan.scoring, release=self.release, relatedness=relatedness, context=context, tables=tables,
        )  # fmt: skip

    @once
    def attacker(self) -> int | None:
        """The number of the attacker who knows something of persons, None where nobody does."""
        key = self.plan.attacker
        _ = self.release
        return None if key is None else self.stage("attacker", key, lambda: self._know(key))

    def _know(self, key: str) -> Write:
        knowledge = self.form.knowledge(self.held, self.scenario.attacker, self.inputs.folder, self.plan.variant.seed)
        return partial(attackers.write_attacker, digest=key, release=self.release, **knowledge._asdict())

    @once
    def auxiliary(self) -> int | None:
        """The number of the data set that the attacker has beside the release, None where there is none."""
        key, beside = self.plan.auxiliary, self.scenario.attacker.beside
        if key is None or beside is None:
            return None
        return self.stage("dataset", key, lambda: self._keep_beside(key, beside))

    def _keep_beside(self, key: str, beside: Auxiliary) -> Write:
        data = beside.read(self.inputs.folder)
        return partial(writing.write_dataset, digest=key, data=data, kind="original", file_format=beside.format)

    @property
    def tables(self) -> Sequence[AttackTable]:
        """The distance tables, made anew where the store has had them from an earlier run."""
        if self._tables is None:
            listed = self.scenario.data.read_tables(self.inputs.folder)
            self._tables = self.form.tables(self.held, self.scenario.nearest, self.scores, listed)
        return self._tables

    @once
    def distances(self) -> Sequence[Floats]:
        """The distances of every table: those that were worked out here, or from the store."""
        if self._tables is None:
            return distance_tables.read_distances(self.connection, self.scoring)
        return [table.d for table in self._tables]

    @once
    def scope(self) -> Scope:
        """What rules see of the store."""
        release, scoring = self.release, self.scoring
        dataset = dataset_of(self.connection, release)
        return Scope(release, dataset, scoring, self.attacker, self.auxiliary, self.relatedness)
