"""Everything that an attack may read: published data, scores, and what the attacker learned, never the originals."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, cast

from decloak.arrays import Floats
from decloak.attacker.selftrained import CalibrationTable, TrainingTable
from decloak.data.assignment import PairScores, ScoreDirection
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.knowledge_levels import Control
from decloak.data.pairs import Pair
from decloak.rules.coverage import Coverage
from decloak.store.sandbox import Sandbox

if TYPE_CHECKING:
    from decloak.rules.reassociate.posterior import Posterior  # it imports scipy.optimize; rules are listed without
    from decloak.rules.reassociate.scores import SplitRelease


class PortableInputs(TypedDict, total=False):
    """Published inputs of an attack as plain values, so that a worker can attack without the store."""

    release: Disassociated
    scores: Mapping[Pair, float | None]
    measure_scores: Sequence[PairScores]
    transactions: Dataset
    distances: Sequence[Floats]
    closer: ScoreDirection
    unrelated: float | None


@dataclass
class ReleaseCache:
    """Results that several attacks on one release share; an attack computes them when it is the first to need them."""

    split: "SplitRelease | None" = None
    posterior: "Posterior | None" = None
    coverage: dict[bool, Coverage] = field(default_factory=dict)
    """Coverage by whether the attack learns from the release."""


@dataclass(frozen=True)
class AttackerView:
    """Everything an attack may read: never the originals.

    Most fields are functions, so that decloak loads only what an attack calls for.

    `scores` are scores of pairs of items. `closer` says whether smaller or larger scores mean closer items. `unrelated`
    is the score of items without any relation, if it is known. `measure_scores` has the scores of each measure where
    the attacker combines several. `transactions` are the published records, and `distances` the distance tables;
    both are None where a rule has to query the attacker's database. `learned_probabilities` gives, by the number of the
    distance table, the probability of each cell that its member was added. `training_tables` are the tables of plain
    items that taught these probabilities. `calibration_tables` are distance tables of plain items with their true
    members, or the reason why there are none. `scratch_sandbox` opens an empty database to try a rule in.
    """

    sandbox: Sandbox = None  # type: ignore[assignment]  # where a rule asks no database
    release: Callable[[], Disassociated] = lambda: Disassociated(())
    scores: Callable[[], Mapping[Pair, float | None]] = dict
    closer: ScoreDirection = "smaller"
    unrelated: float | None = None
    measure_scores: Callable[[], Sequence[PairScores]] = tuple
    transactions: Callable[[], Dataset | None] = lambda: None
    learned_probabilities: Callable[[Control | None], Mapping[int, Floats]] = lambda control: {}
    training_tables: Callable[[Control | None], Sequence[TrainingTable]] = lambda control: ()
    distances: Callable[[], Sequence[Floats] | None] = lambda: None
    calibration_tables: Callable[[], Sequence[CalibrationTable] | str] = lambda: "there is nothing to try it on"
    scratch_sandbox: Callable[[], AbstractContextManager[Sandbox]] = lambda: nullcontext(Sandbox.empty({}))
    cache: ReleaseCache = field(default_factory=ReleaseCache)

    @classmethod
    def from_inputs(cls, inputs: PortableInputs) -> "AttackerView":
        """Make a view of portable `inputs`, for a worker that has no store; return it."""
        # The view loads lazily, so that values become functions; two fields are plain settings.
        values = cast(dict[str, object], inputs)
        settings = {name: value for name, value in values.items() if name in ("closer", "unrelated")}
        loaders = {name: (lambda value=value: value) for name, value in values.items() if name not in settings}
        return cls(**settings, **loaders)  # type: ignore[arg-type]

    def all_measures(self) -> Sequence[PairScores]:
        """Return the scores of each measure of the attacker, also where there is only one."""
        return self.measure_scores() or [PairScores(self.scores(), self.closer, self.unrelated)]
