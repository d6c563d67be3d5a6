"""The rule form `eliminate`: remove members from generalised items by their distance to the context."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast

import numpy as np
from pydantic import Field

from decloak.arrays import Floats
from decloak.attacker.selftrained import CalibrationTable, TrainingTable
from decloak.data.forms import FormName
from decloak.data.knowledge_levels import CONTROLS, KnowledgeLevel
from decloak.data.published import Published
from decloak.rules.because import record_phrase
from decloak.rules.coverage import Confidence, Count, Coverage, of_scores
from decloak.rules.eliminate.confidence import estimate_confidence, recalibrate
from decloak.rules.eliminate.kernel import Elimination, eliminate
from decloak.rules.eliminate.relational import elimination_form
from decloak.rules.eliminate.state import EPS
from decloak.rules.eliminate.strategy import GROUP_KINDS, Strategy
from decloak.rules.model import Formula, Grid, RuleModel, Settings, Sql, TestCase
from decloak.rules.operators.attacker_view import AttackerView, PortableInputs
from decloak.rules.operators.cells import ADDED, TableCells, add_learned, read_cells, selects_distances
from decloak.rules.operators.operator import (
    Explanation,
    ExplanationRequest,
    Operator,
    Result,
    RuleOf,
    RuleTraits,
    Writer,
)  # fmt: skip
from decloak.store import eliminations, evidence, findings
from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.evidence import Comparison, JudgedCell, member_comparison
from decloak.store.relations import Derives
from decloak.store.sandbox import Sandbox

__all__ = ["ELIMINATE", "EliminateRule"]

_CELL = ("item_group", "row", "col", "d")
_GROUPS = np.array([eliminations.GROUPS.index({"col": "column"}.get(kind, kind)) for kind in GROUP_KINDS])
"""Number in the store of each kind of group of the kernel."""
_WHILE = re.compile(r"while precision >= (0?\.[0-9]+|1|1\.0)")


class EliminateRule(RuleModel):
    """Content of an eliminate rule file."""

    form: Literal["eliminate"]
    cells: Sql = Field(description="SELECT giving item_group, row, col, d and any further numeric columns")
    learn: Literal["release"] | None = Field(
        None, description="learn from the release's plain items the probability that a member was added: `added`"
    )
    weigh: Formula = Field("d", description="the weighted distance of a cell")
    redistribute: Literal["none", "all", "lower_cluster"] = Field(
        "none", description="the cells that share the weight of an eliminated cell"
    )
    groups: list[Literal["table", "row", "col"]] = Field(description="which cells are compared with each other")
    suspicion: Formula = Field(description="largest, largest_gap, random, or a formula over w")
    threshold: Formula = Field("none", description="a formula taken once, before the first round, or none")
    eliminate: str = Field(
        description="the cells eliminated in a round: once, all, in_order, heaviest, random; in a rule that "
        "learns also, by probability, while precision >= 0.9"
    )

    @property
    def is_random(self) -> bool:
        return self.eliminate == "random"

    @property
    def precision(self) -> float | None:
        """Return the precision that the eliminations together are expected to have; None where the rule sets none."""
        match = _WHILE.fullmatch(self.eliminate)
        return None if match is None else float(match[1])


@dataclass(frozen=True)
class EliminationResult(Result):
    """Eliminated members of each distance table, by the number of the table."""

    tables: dict[int, Elimination]
    notes: Sequence[str] = ()

    @property
    def idle_reason(self) -> str | None:
        scored = any(done.scored.any() for done in self.tables.values())
        return None if scored else "no cell has a score, so the attack eliminates nothing"

    def writer(self) -> Writer:
        return partial(
            _write, eliminations.concatenate_eliminations([_stored(*table) for table in self.tables.items()])
        )

    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        self.writer()(connection, attack, release)

    def test_findings(self, case: TestCase) -> Sequence[tuple[str, ...]]:
        grid = case.relations.get("distance")
        cells = [
            (table, row, col)
            for table, done in self.tables.items()
            for row, col in zip(done.steps.row.tolist(), done.steps.col.tolist(), strict=True)
        ]
        if isinstance(grid, Grid):
            return [(list(grid.rows)[row], grid.columns[col]) for _, row, col in cells]
        return [(str(table), str(row), str(col)) for table, row, col in cells]


_Rule = RuleOf[EliminateRule, Strategy, EliminationResult]


class EliminateOperator(Operator[EliminateRule, Strategy, EliminationResult]):
    """The form of rules that remove members of generalised items, cell by cell of the distance tables."""

    model = EliminateRule
    columns = ("item_group", "row", "col", "round")
    sentence = (
        *("round", "record", "item", "generalised", "group_kind"),
        *("suspicion", "threshold", "weight", "d", "item_group"),
    )
    findings_table = "named_eliminated"
    ordered_findings = True
    fits = frozenset({FormName.SET_GENERALISED, FormName.GENERALISED, FormName.DISTANCES})

    def compile(self, rule: _Rule, sandbox: Sandbox) -> Strategy:
        model = rule.model
        columns = sandbox.columns(model.cells, rule.place("cells"))
        rule.require("cells", columns, _CELL)
        if model.precision is not None and (model.learn is None or model.threshold != "none"):
            hint = "write learn: release and threshold: none, or eliminate: all"
            raise rule.source.error(("eliminate",), "precision is expected of what is learned, with no threshold", hint)
        if model.learn is not None:
            columns = (*columns, ADDED)
            if ADDED not in str(model.weigh):
                raise rule.source.error(("weigh",), f"what is learned is not weighed: {ADDED}", f"write weigh: {ADDED}")
        keys = ("weigh", "redistribute", "groups", "suspicion", "threshold", "eliminate")
        return Strategy.build(
            weigh=str(model.weigh),
            redistribute=model.redistribute,
            groups=tuple(model.groups),
            suspicion=str(model.suspicion),
            threshold=None if model.threshold == "none" else str(model.threshold),
            eliminate="all" if model.precision is not None else model.eliminate,
            columns=[column for column in columns if column not in _CELL],
            places={key: rule.place(key) for key in keys},
        )

    def traits(self, rule: _Rule) -> RuleTraits:
        is_random, learns = rule.is_random, rule.model.learn is not None
        accepted = {
            "threshold": not is_random and rule.model.precision is None,
            # The ratio multiplies the rule's own threshold.
            "ratio": rule.compiled.threshold is not None,
        }
        return RuleTraits(
            is_random=is_random,
            # Distance tables are made of scores of relatedness, also those that a random attack eliminates in.
            needs_relatedness=True,
            ranks_by_probability=learns and rule.model.weigh == ADDED,
            learns_from_release=learns,
            learns_from_plain_items=learns,
            controls=CONTROLS if learns else (),
            accepted_settings=frozenset(name for name, accepts in accepted.items() if accepts),
            extra_knowledge=frozenset({KnowledgeLevel.SAMPLE}) if "auxiliary" in rule.reads else frozenset(),
        )

    def relations_read(self, rule: _Rule, view: AttackerView) -> frozenset[str]:
        in_memory = selects_distances(rule.model.cells) and view.distances() is not None
        return rule.reads - ({"distance"} if in_memory else frozenset())

    def portable_inputs(self, rule: _Rule, view: AttackerView) -> PortableInputs | None:
        distances = view.distances() if selects_distances(rule.model.cells) and rule.model.learn is None else None
        return None if distances is None else {"distances": distances}

    def run(self, rule: _Rule, view: AttackerView, settings: Settings) -> EliminationResult:
        # Learned probabilities are no column of the SQL: they are joined to the cells afterwards.
        strategy, learns = rule.compiled, rule.model.learn is not None
        threshold, is_random = settings.threshold, rule.is_random
        further = [name for name in strategy.further_columns if name != ADDED or not learns]
        tables = read_cells(rule.model.cells, further, view, rule.place("cells"))
        if learns:
            tables = add_learned(tables, view.learned_probabilities(settings.control))
        # The threshold follows from the probabilities: the lowest one that keeps the expected precision.
        if rule.model.precision is not None:
            threshold = _threshold_for([table.further[ADDED] for table in tables], rule.model.precision)
        done = eliminate(
            [table.d for table in tables],
            strategy,
            threshold=threshold,
            ratio=settings.ratio,
            # Neighbouring seeds are as good as distant ones: splitmix64 mixes every bit of its state.
            seeds=[settings.seed + table.table for table in tables] if is_random else None,
            further={name: [table.further[name] for table in tables] for name in strategy.further_columns},
        )
        eliminated = {cells.table: elimination for cells, elimination in zip(tables, done, strict=True)}
        ignores_distances = is_random or learns
        notes = [
            *([] if selects_distances(rule.model.cells) else _rows_without_scores(rule, tables)),
            *([] if ignores_distances else _equal_distances(tables)),
        ]
        return EliminationResult(eliminated, tuple(notes))

    def confidence(self, rule: _Rule, result: EliminationResult, view: AttackerView, settings: Settings) -> Confidence:
        if rule.traits.ranks_by_probability:
            training = view.training_tables(settings.control)
            tried = _eliminate_in_training(rule, result, training, settings)
            return recalibrate(result.tables, tried, training)
        if rule.model.learn is not None or rule.reads - {"distance"}:
            return Confidence.unavailable(
                "the rule needs more than distances, and tables of published items have only distances"
            )
        # Tables of plain items show how often the rule is right where the truth is known.
        tables = view.calibration_tables()
        if isinstance(tables, str):
            return Confidence.unavailable(tables)
        rehearsed = self._eliminate_plain_items(rule, tables, view, settings)
        return estimate_confidence(result.tables, rehearsed.tables, [table.meant for table in tables])

    def _eliminate_plain_items(
        self, rule: _Rule, tables: Sequence[CalibrationTable], view: AttackerView, settings: Settings
    ) -> EliminationResult:
        """Return what the rule eliminates in tables of plain items, whose true members are known."""
        distances = [table.d for table in tables]
        if selects_distances(rule.model.cells):
            return self.run(rule, replace(view, distances=lambda: distances), settings)
        with view.scratch_sandbox() as sandbox:
            cells = ((number, d, cell) for number, d in enumerate(distances) for cell in np.ndindex(d.shape))
            rows = [(number, *cell, None if np.isnan(d[cell]) else float(d[cell])) for number, d, cell in cells]
            sandbox.fill("distance", _CELL, rows)
            return self.run(rule, replace(view, sandbox=sandbox), settings)

    def coverage(self, rule: _Rule, result: EliminationResult, view: AttackerView) -> Coverage | None:
        if rule.is_random:
            return None
        scores = view.scores()
        items, pairs = of_scores(scores) if scores else (None, None)
        known = sum(int(done.scored.sum()) for done in result.tables.values())
        return Coverage(items, pairs, Count(known, cast(Published, view.release()).hidden_cells))

    def earlier(self, rule: _Rule, connection: sqlite3.Connection, attack: int, database: AttackersDatabase) -> Earlier:
        return Earlier(rule.derives, eliminations.read_eliminated(connection, attack), ["integer"] * len(self.columns))

    def as_query(self, rule: _Rule) -> str:
        model = rule.model
        form = elimination_form(f"{rule.name}_in_sql", rule.compiled, model.cells, bool(model.learn), model.precision)
        return form.text(rule.model)

    def comparison(self, connection: sqlite3.Connection, derives: Derives, finding: int) -> Comparison:
        return member_comparison(connection, finding)

    def write_views(self, connection: sqlite3.Connection, rule: _Rule) -> None:
        # The view of the first weights reads the distance tables, so it exists only for rules that read these.
        if selects_distances(rule.model.cells) and rule.model.learn is None and not rule.is_random:
            weigh = rule.compiled.weigh.sql(findings.START, over="partition by x.distance_table")
            findings.write_start(connection, rule.name, weigh)
        findings.write_why(connection, rule.name, rule.digest, "named_eliminated", rule.because_sql("x"))

    def explain(self, request: ExplanationRequest) -> Iterator[Explanation]:
        connection, attack, _, transaction, item, sentence_of, model = request
        assert isinstance(model, EliminateRule)
        for cell in evidence.cells_named(connection, attack.attack, transaction, item):
            sentence = (
                _kept_sentence(model, cell, transaction, item) if cell.finding is None else sentence_of(cell.finding)
            )
            contexts = tuple(evidence.contexts(connection, cell))
            yield Explanation(attack.label, cell.finding, sentence, cell.d, cell.weight, cell.generalised, contexts)


def _kept_sentence(model: EliminateRule, cell: JudgedCell, transaction: str, item: str) -> str:
    """Return the reason why an attack kept a member: the rule that stopped it at the end."""
    where = record_phrase(transaction)
    kept = f"{item} was not eliminated from {where}"
    if cell.d is None:
        return f"{kept}: no context item has a score with it"
    weighted = "" if cell.weight in (None, cell.d) else f", weighted {cell.weight:.2f} at the end"
    return f"{kept}: at distance {cell.d:.2f}{weighted}, {_kept_reason(model, cell, where)}"


def _kept_reason(model: EliminateRule, cell: JudgedCell, where: str) -> str:
    if cell.left_in_row == 1:
        return f"it is the last member left in {where}"
    if cell.left_in_column == 1:
        return "no other record has it left"
    if model.is_random:
        return "the random choice kept it"
    if model.eliminate == "once":
        return "another member of the table is the farthest, and the attack eliminates one"
    if model.precision is not None:
        return f"the attack stopped, because its precision would fall below {model.precision:g}"
    if cell.threshold is None:
        return "the attack stopped before it"
    if model.eliminate == "heaviest":
        return f"the attack stopped, because no group was left above the threshold {cell.threshold:.2f}"
    return f"it does not exceed the threshold {cell.threshold:.2f}"


def _write(
    eliminated: eliminations.ConcatenatedEliminations, connection: sqlite3.Connection, attack: int, _: int
) -> None:
    eliminations.write_eliminations(connection, attack, eliminated)


def _stored(table: int, done: Elimination) -> eliminations.TableEliminations:
    steps, kept = done.steps, (done.kept & done.scored).nonzero()
    return eliminations.TableEliminations(
        table=table,
        rounds=steps.round,
        rows=steps.row,
        cols=steps.col,
        groups=_GROUPS[steps.kind],
        suspicions=steps.suspicion,
        threshold=done.threshold,
        weights=steps.weight,
        kept_rows=kept[0],
        kept_cols=kept[1],
        kept_weights=done.weight[kept],
    )


def _eliminate_in_training(
    rule: _Rule, result: EliminationResult, training: Sequence[TrainingTable], settings: Settings
) -> Sequence[Elimination]:
    """Return what a rule that ranks by probability eliminates in its own training tables, with the same threshold."""
    threshold = settings.threshold
    if rule.model.precision is not None:
        # The release decided the threshold, and it was the same for all of its tables.
        threshold = next((done.threshold for done in result.tables.values()), None)
    added = [table.added for table in training]
    return eliminate(added, rule.compiled, threshold=threshold, ratio=settings.ratio, further={ADDED: added})


def _threshold_for(probabilities: Sequence[Floats], precision: float) -> float:
    """Return the lowest probability to exceed so that the eliminations together are expected to reach `precision`."""
    p = np.sort(np.concatenate([np.zeros(0), *(part[np.isfinite(part)] for part in probabilities)]))[::-1]
    expected = np.cumsum(p) / np.arange(1, len(p) + 1)
    enough = np.flatnonzero(expected >= precision - EPS)  # the running mean of falling numbers falls
    # An eliminated cell exceeds the threshold by more than EPS. No probability exceeds 1.
    return float(p[enough[-1]]) - 2 * EPS if len(enough) else 1.0


def _rows_without_scores(rule: _Rule, tables: Sequence[TableCells]) -> Iterator[str]:
    """Yield a note if the cells of a rule leave some rows without any score, and other rows have scores."""
    count = sum(len(table.d) for table in tables)
    unscored = sum(int((~np.isfinite(table.d)).all(axis=1).sum()) for table in tables)
    if 0 < unscored < count:
        yield (
            f"{rule.name} has no score in {unscored:,} of {count:,} rows of distance tables, and leaves them as they "
            "are"
        )


def _equal_distances(tables: Sequence[TableCells]) -> Iterator[str]:
    """Yield a note if all members are equally far from their contexts, as where a release has no plain items."""
    several = [table.d[np.isfinite(table.d).sum(axis=1) > 1] for table in tables]
    rows = [d for d in several if len(d)]
    if rows and all((np.nanmax(d, axis=1) - np.nanmin(d, axis=1) <= EPS).all() for d in rows):
        yield (
            "the members of each generalised item have equal distances to every context, so this attack is no better "
            "than random"
        )


ELIMINATE = EliminateOperator()
