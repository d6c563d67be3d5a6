"""The values that the stages of one plan work on: computed in this process, or read from the store."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from decloak.anonymisers.method import NewRelease, StoredContent
from decloak.arrays import Floats
from decloak.compiled import compiling_message, reporting
from decloak.data.dataset import Dataset
from decloak.data.pairs import AttackTable, Pair
from decloak.lazy import once
from decloak.pipeline.plan import Plan, StageKey
from decloak.pipeline.workspace import Workspace
from decloak.relate.relatedness import Related, Supplies
from decloak.releases.stored import PartedStored, StoredRelease
from decloak.store import distance_tables
from decloak.store.records import dataset_of, read_dataset
from decloak.store.relations import Scope


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
