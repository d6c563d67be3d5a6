"""What an operator is: one object per form of rule files, which knows all that differs between the forms.

An operator is asked in this order: `derives` and `compile` check a rule file, `heeds`, `fits`, `by_chance` and
`by_relatedness` say what a scenario must give it, `run` attacks, its result is written, `write_views` says why in
SQL, `earlier` lets other rules read the findings, `explain` and `evidence_steps` answer `decloak explain`. What stands
in the base class is what holds of rules whose findings are facts of a relation of their own.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar, get_args

from decloak.arrays import Floats
from decloak.attack.controls import Control
from decloak.attack.selftrained import Likeness, Taught
from decloak.data.assignment import Assigned, Closer, PairScores
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.forms import FormName
from decloak.data.rungs import Rung
from decloak.digest import digest
from decloak.errors import DecloakError, shown
from decloak.rules.because import nodes_named, sentence_sql
from decloak.rules.confidence import FACT, Confidence
from decloak.rules.coverage import Coverage
from decloak.rules.model import RuleModel, Settings, TestCase
from decloak.store import evidence, findings
from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.derivation import Derived
from decloak.store.evidence import ScoredItem
from decloak.store.relations import NODES, Derives, taken
from decloak.store.results import RunAttack
from decloak.store.rivals import Comparison
from decloak.store.sandbox import Sandbox
from decloak.yaml.source import Source

__all__ = ["DerivedFacts", "Explanation", "Inquiry", "NotRun", "Operator", "Result", "Rule", "RuleOf", "Sight"]

ModelT = TypeVar("ModelT", bound=RuleModel)


@dataclass(frozen=True)
class Sight:
    """What an attack may see; the release and the scores are read only by an attack that calls for them.

    The scores are of pairs of items, `closer` says whether smaller or larger ones are of closer items, `unrelated`
    which one items have that have nothing in common, where that is known; `apart` are the several measures that the
    scores were made of. `shown` is the relation of that name as transactions, `distances` the relation distance by
    table, None where they have to be asked for. `added` learns from the release, and gives the probability of every
    cell of its distance tables, by their numbers, that the member was added; `taught` are the tables of plain items it
    learned that from. `likenesses` are distance tables of plain
    items, of which it is known which cells are meant, or why there are none; `elsewhere` is a sandbox of nothing to try
    a rule on them in. `memory` is what attacks on one release leave to each other.
    """

    sandbox: Sandbox = None  # type: ignore[assignment]  # where a rule asks no database
    release: Callable[[], Disassociated] = lambda: Disassociated(())
    scores: Callable[[], Mapping[tuple[str, str], float | None]] = dict
    closer: Closer = "smaller"
    unrelated: float | None = None
    apart: Callable[[], Sequence[PairScores]] = tuple
    shown: Callable[[], Dataset | None] = lambda: None
    added: Callable[[Control | None], Mapping[int, Floats]] = lambda control: {}
    taught: Callable[[Control | None], Sequence[Taught]] = lambda control: ()
    distances: Callable[[], Sequence[Floats] | None] = lambda: None
    likenesses: Callable[[], Sequence[Likeness] | str] = lambda: "there is nothing to try it on"
    elsewhere: Callable[[], AbstractContextManager[Sandbox]] = lambda: nullcontext(Sandbox.empty({}))
    memory: dict[str, Any] = field(default_factory=dict)

    def measures(self) -> Sequence[PairScores]:
        """The measures of the attacker, each by itself."""
        return self.apart() or [PairScores(self.scores(), self.closer, self.unrelated)]


_CALLED = ("release", "scores", "apart", "shown", "distances")
"""What of a sight is read when it is called for."""


Writer = Callable[[sqlite3.Connection, int, int], None]
"""Writes the findings of an attack on a release, both given by number."""


class Result(ABC):
    """What a rule found, not yet written anywhere."""

    @property
    def idle(self) -> str | None:
        """Why there was nothing to work on, None where there was: then to have found nothing says something."""
        return None

    notes: Sequence[str] = ()
    """What a run is told beside the findings."""

    def assigned(self) -> Assigned | None:
        """Who got what, as it is read once it is written; None where it is to be read."""
        return None

    def numbered(self, rule: "Rule", database: AttackersDatabase) -> "Result":
        """The same with numbers of the store in place of those of the attacker's database."""
        return self

    @abstractmethod
    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        """Write it as the findings of an attack on a release, both given by number."""

    def writer(self) -> "Writer":
        """What writes it, with no more than that takes: it may be handed to another process."""
        return self.write

    @abstractmethod
    def as_tested(self, case: TestCase) -> Sequence[tuple[str, ...]] | Sequence[dict[str, Any]]:
        """It as a case of the rule's test expects it: strikes, which have an order, or facts, which have none."""


@dataclass(frozen=True)
class DerivedFacts(Result):
    """Facts of a relation that a rule derives."""

    derives: Derives
    facts: Sequence[Derived]

    def numbered(self, rule: "Rule", database: AttackersDatabase) -> "Result":
        rows = database.numbering.facts(
            rule.operator.nodes(rule), self.derives.columns, (fact.values for fact in self.facts)
        )
        try:
            numbered = [Derived(fact.round, row) for fact, row in zip(self.facts, rows, strict=True)]
        except DecloakError as error:
            key = "derives" if rule.source.value.get("derives") else "rule"
            raise rule.source.error((key,), error.message, error.hint) from None
        return replace(self, facts=numbered)

    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        findings.write_facts(connection, attack, self.derives.name, self.derives.columns, self.facts)

    def as_tested(self, case: TestCase) -> Sequence[dict[str, Any]]:
        return [dict(zip(self.derives.columns, fact.values, strict=True)) for fact in self.facts]


@dataclass(frozen=True)
class NotRun(DerivedFacts):
    """What there is of a rule that could not be run, where a run goes on without it: why."""

    idle: str = ""
    notes: Sequence[str] = ()


class Inquiry(NamedTuple):
    """Of which attack, item and transaction somebody wants to know; `say` gives a finding's sentence."""

    connection: sqlite3.Connection
    attack: RunAttack
    derives: Derives
    transaction: str
    item: str
    say: Callable[[int], str]


@dataclass(frozen=True)
class Explanation:
    """What one attack made of one member in one transaction."""

    attack: str
    finding: int | None
    sentence: str
    d: float | None
    weight: float | None
    generalised: str
    contexts: tuple[ScoredItem, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"contexts": [context._asdict() for context in self.contexts]}


@dataclass(frozen=True, eq=False)
class RuleOf(Generic[ModelT]):
    """A rule of one form: what its file says, and what came of checking its SQL and formulas."""

    operator: "Operator[ModelT]"
    model: ModelT
    source: Source = field(repr=False)
    text: str = field(repr=False)
    path: str
    derives: Derives
    reads: frozenset[str] = frozenset()
    """The relations it reads, none before it is checked."""
    compiled: Any = None
    """What its operator made of it, for `run`."""

    @property
    def name(self) -> str:
        return self.model.rule

    @property
    def digest(self) -> str:
        return digest(self.text)

    @property
    def random(self) -> bool:
        """Whether it goes by chance, so that a seed decides what it finds."""
        return self.operator.by_chance(self)

    def place(self, *loc: str) -> str:
        return self.source.place(loc)

    def because_sql(self, table: str) -> str:
        """The sentence as SQL over a table or view that has the columns it names."""
        return sentence_sql(self.model.because, self.operator.sentence_columns(self.derives), table)

    def require(self, key: str, columns: Sequence[str], required: Sequence[str]) -> None:
        """Refuse SQL whose columns lack a required one."""
        missing = [column for column in required if column not in columns]
        if missing:
            hint = f"select ... as {missing[0]}; it gives {', '.join(map(shown, columns))}"
            raise self.source.error((key,), f"the SQL gives no column {shown(missing[0])}", hint)


Rule = RuleOf[Any]
"""A rule of any form."""


class Operator(ABC, Generic[ModelT]):
    """One form of rules."""

    model: type[ModelT]
    """What a rule file of the form may say."""
    columns: tuple[str, ...] = ()
    """What a rule derives, under its own name."""
    fits: frozenset[FormName] = frozenset(FormName)
    """The published forms it can attack."""
    in_order: bool = False
    """Whether a test of a rule expects findings in the order in which they were made."""

    @property
    def form(self) -> str:
        """What a rule file calls the form."""
        return str(get_args(self.model.model_fields["form"].annotation)[0])

    def derives(self, model: ModelT, source: Source) -> Derives:
        """The relation that a rule gives to others, refused where it cannot be one."""
        if problem := taken(model.rule):
            raise source.error(("rule",), f"{shown(model.rule)} {problem}", "choose another name")
        return Derives(model.rule, self.columns)

    def nodes(self, rule: RuleOf[ModelT]) -> Mapping[str, str]:
        """Return the columns of what a rule derives that hold numbers of nodes, with the kind of the nodes.

        A column holds what its name says, unless the sentence of the rule names it as something else.
        """
        return {column: column for column in rule.derives.columns if column in NODES} | nodes_named(rule.model.because)

    def sentence_columns(self, derives: Derives) -> tuple[str, ...]:
        """What the sentence of a rule may name."""
        return ("round", *derives.columns)

    @abstractmethod
    def compile(self, rule: RuleOf[ModelT], sandbox: Sandbox) -> Any:
        """Check the SQL of a rule in a sandbox without rows, and its choices; what comes of it is for `run`."""

    def by_chance(self, rule: RuleOf[ModelT]) -> bool:
        """Whether a seed decides what a rule finds."""
        return False

    def by_relatedness(self, rule: RuleOf[ModelT]) -> bool:
        """Whether a rule finds nothing where nobody says how items are related."""
        return False

    def by_probability(self, rule: RuleOf[ModelT]) -> bool:
        """Whether what a rule ranks its findings by is the probability that they are right."""
        return False

    def is_yardstick(self, rule: RuleOf[ModelT]) -> bool:
        """Whether a rule shows how good another one is, from the same knowledge: nobody who audits needs both."""
        return False

    def rungs(self, rule: RuleOf[ModelT], sources: frozenset[Rung]) -> frozenset[Rung]:
        """The rungs of the ladder of attackers that a rule takes, `sources` being those of how items are related."""
        related = sources if self.by_relatedness(rule) and not self.by_chance(rule) else frozenset[Rung]()
        return related | (frozenset({Rung.RELEASE}) if self.by_release(rule) else frozenset())

    def by_release(self, rule: RuleOf[ModelT]) -> bool:
        """Whether a rule learns from what the release shows of its own items."""
        return self.by_plain_items(rule)

    def by_plain_items(self, rule: RuleOf[ModelT]) -> bool:
        """Whether a rule learns from the items that a release shows as they are."""
        return False

    def controls(self, rule: RuleOf[ModelT]) -> tuple[Control, ...]:
        """What spoils what a rule learns from, to see whether it has learned anything."""
        return ()

    def heeds(self, rule: RuleOf[ModelT]) -> frozenset[str]:
        """The settings of an attack that a rule takes notice of: of threshold, ratio, k and m."""
        return frozenset()

    def asked(self, rule: RuleOf[ModelT], sight: Sight) -> frozenset[str]:
        """Return the relations that `run` asks the attacker's database for, beside what it is handed."""
        return rule.reads

    def carried(self, rule: RuleOf[ModelT], sight: Sight) -> Mapping[str, Any] | None:
        """What of it `run` goes by, as values that can go elsewhere; None where it asks the attacker's database."""
        return None

    def run_on(self, rule: RuleOf[ModelT], values: Mapping[str, Any], settings: Settings) -> Result:
        constant = {name: (lambda value=value: value) for name, value in values.items() if name in _CALLED}
        plain = {name: value for name, value in values.items() if name not in _CALLED}
        return self.run(rule, Sight(**constant, **plain), settings)  # type: ignore[arg-type]

    @abstractmethod
    def run(self, rule: RuleOf[ModelT], sight: Sight, settings: Settings) -> Result:
        """Attack."""

    def confidence(self, rule: RuleOf[ModelT], result: Any, sight: Sight, settings: Settings) -> Confidence:
        """How likely each finding of `run` is right, by what the attacker sees."""
        return FACT

    def coverage(self, rule: RuleOf[ModelT], result: Any, sight: Sight) -> Coverage | None:
        """Return how much of what `run` needed had a score; None of a rule that goes by no scores."""
        return None

    def earlier(
        self, rule: RuleOf[ModelT], connection: sqlite3.Connection, attack: int, database: AttackersDatabase
    ) -> Earlier:
        """Return what an earlier attack found, for other rules to read."""
        facts = findings.read_facts(connection, attack, rule.derives)
        return Earlier(rule.derives, database.numbering.derived(self.nodes(rule), rule.derives.columns, facts))

    def findings_sql(self, derives: Derives) -> str:
        """The findings that the sentence is about, as a table expression."""
        return evidence.facts_sql(derives.name)

    def write_views(self, connection: sqlite3.Connection, rule: RuleOf[ModelT]) -> None:
        """(Re)make the views of a rule: each finding with its sentence, and what else is worth seeing."""
        findings.write_why_derived(connection, rule.name, rule.digest, rule.derives.name, rule.because_sql("x"))

    def explain(self, inquiry: Inquiry) -> Iterator[Explanation]:
        """Why an attack found something of an item in a transaction, or not."""
        yield from ()

    def comparison(self, connection: sqlite3.Connection, derives: Derives, finding: int) -> Comparison | None:
        """What a finding was chosen among, None where that cannot be told."""
        return None

    def evidence_steps(self, model: ModelT) -> Sequence[str]:
        """The steps whose rows lie behind a fact."""
        return ()

    def retrace(self, model: ModelT, sandbox: Sandbox) -> None:
        """Make the steps of a rule again."""
