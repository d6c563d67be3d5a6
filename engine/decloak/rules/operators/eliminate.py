"""eliminate: strike members from generalised items by their distance to the context."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
from pydantic import Field

from decloak.arrays import Floats
from decloak.attack.controls import CONTROLS, Control
from decloak.attack.selftrained import Likeness, Taught
from decloak.data.forms import FormName
from decloak.data.published import Published
from decloak.data.rungs import Rung
from decloak.rules.because import called
from decloak.rules.confidence import Confidence, unsure
from decloak.rules.coverage import Count, Coverage, of_scores
from decloak.rules.eliminate.confidence import confident, recalibrated
from decloak.rules.eliminate.kernel import Elimination, eliminate
from decloak.rules.eliminate.state import EPS
from decloak.rules.eliminate.strategy import GROUP_KINDS, Strategy
from decloak.rules.model import Formula, Grid, RuleModel, Settings, Sql, TestCase
from decloak.rules.operators.cells import ADDED, TableCells, cells_of, is_plain, with_learned
from decloak.rules.operators.operator import Explanation, Inquiry, Operator, Result, RuleOf, Sight, Writer
from decloak.store import evidence, findings, strikes
from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.evidence import JudgedCell
from decloak.store.relations import Derives
from decloak.store.rivals import Comparison, member_comparison
from decloak.store.sandbox import Sandbox

__all__ = ["ELIMINATE", "EliminateRule"]

_CELL = ("table", "row", "col", "d")
_GROUPS = np.array([strikes.GROUPS.index({"col": "column"}.get(kind, kind)) for kind in GROUP_KINDS])
"""The place of each kind of groups among those of the store."""
_WHILE = re.compile(r"while precision >= (0?\.[0-9]+|1|1\.0)")


class EliminateRule(RuleModel):
    """Strike members from generalised items by their distance to the context."""

    form: Literal["eliminate"]
    cells: Sql = Field(description="SELECT giving table, row, col, d and any further numeric columns")
    learn: Literal["release"] | None = Field(
        None, description="learn from the release's plain items the probability that a member was added: `added`"
    )
    weigh: Formula = Field("d", description="the weighted distance of a cell")
    redistribute: Literal["none", "all", "lower_cluster"] = Field(
        "none", description="who shares the weight of a struck cell"
    )
    groups: list[Literal["table", "row", "col"]] = Field(description="which cells are compared with each other")
    suspicion: Formula = Field(description="largest, largest_gap, random, or a formula over w")
    threshold: Formula = Field("none", description="a formula taken once, before the first round, or none")
    strike: str = Field(
        description="what goes in a round: once, all, in_order, heaviest, coin; of what is learned also, "
        "by probability, while precision >= 0.9"
    )

    @property
    def precision(self) -> float | None:
        """The precision that is expected of all strikes together, None where it does not decide."""
        match = _WHILE.fullmatch(self.strike)
        return None if match is None else float(match[1])


@dataclass(frozen=True)
class Struck(Result):
    """What became of each distance table, by its number."""

    tables: dict[int, Elimination]
    notes: Sequence[str] = ()

    @property
    def idle(self) -> str | None:
        scored = any(done.scored.any() for done in self.tables.values())
        return None if scored else "no cell has a score, so there was nothing to strike"

    def writer(self) -> Writer:
        return partial(_write, strikes.gathered([_stored(*table) for table in self.tables.items()]))

    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        self.writer()(connection, attack, release)

    def as_tested(self, case: TestCase) -> Sequence[tuple[str, ...]]:
        grid = case.relations.get("distance")
        cells = [
            (table, row, col)
            for table, done in self.tables.items()
            for row, col in zip(done.steps.row.tolist(), done.steps.col.tolist(), strict=True)
        ]
        if isinstance(grid, Grid):
            return [(list(grid.rows)[row], grid.columns[col]) for _, row, col in cells]
        return [(str(table), str(row), str(col)) for table, row, col in cells]


class EliminateOperator(Operator[EliminateRule]):
    """A rule goes over distance tables."""

    model = EliminateRule
    columns = ("table", "row", "col", "round")
    in_order = True
    fits = frozenset({FormName.SET_GENERALISED, FormName.GENERALISED, FormName.DISTANCES})

    def sentence_columns(self, derives: Derives) -> tuple[str, ...]:
        return (
            *("round", "transaction", "item", "generalised", "group"),
            *("suspicion", "threshold", "weight", "d", "table"),
        )

    def compile(self, rule: RuleOf[EliminateRule], sandbox: Sandbox) -> Strategy:
        model = rule.model
        columns = sandbox.columns(model.cells, rule.place("cells"))
        rule.require("cells", columns, _CELL)
        if model.precision is not None and (model.learn is None or model.threshold != "none"):
            hint = "write learn: release and threshold: none, or strike: all"
            raise rule.source.error(("strike",), "precision is expected of what is learned, with no threshold", hint)
        if model.learn is not None:
            columns = (*columns, ADDED)
            if ADDED not in str(model.weigh):
                raise rule.source.error(("weigh",), f"what is learned is not weighed: {ADDED}", f"write weigh: {ADDED}")
        keys = ("weigh", "redistribute", "groups", "suspicion", "threshold", "strike")
        return Strategy.build(
            weigh=str(model.weigh),
            redistribute=model.redistribute,
            groups=tuple(model.groups),
            suspicion=str(model.suspicion),
            threshold=None if model.threshold == "none" else str(model.threshold),
            strike="all" if model.precision is not None else model.strike,
            columns=[column for column in columns if column not in _CELL],
            places={key: rule.place(key) for key in keys},
        )

    def by_chance(self, rule: RuleOf[EliminateRule]) -> bool:
        return rule.model.strike == "coin"

    def by_relatedness(self, rule: RuleOf[EliminateRule]) -> bool:
        return True  # distance tables come of nothing else, also those that a coin is tossed over

    def by_probability(self, rule: RuleOf[EliminateRule]) -> bool:
        return rule.model.learn is not None and rule.model.weigh == ADDED

    def rungs(self, rule: RuleOf[EliminateRule], sources: frozenset[Rung]) -> frozenset[Rung]:
        beside = frozenset({Rung.SAMPLE}) if "auxiliary" in rule.reads else frozenset[Rung]()
        return super().rungs(rule, sources) | beside

    def by_plain_items(self, rule: RuleOf[EliminateRule]) -> bool:
        return rule.model.learn is not None

    def controls(self, rule: RuleOf[EliminateRule]) -> tuple[Control, ...]:
        return CONTROLS if rule.model.learn is not None else ()

    def heeds(self, rule: RuleOf[EliminateRule]) -> frozenset[str]:
        free = not self.by_chance(rule) and rule.model.precision is None
        heeded = {"threshold": free, "ratio": rule.compiled.threshold is not None}
        return frozenset(name for name, does in heeded.items() if does)

    def asked(self, rule: RuleOf[EliminateRule], sight: Sight) -> frozenset[str]:
        return rule.reads - ({"distance"} if is_plain(rule) and sight.distances() is not None else frozenset())

    def carried(self, rule: RuleOf[EliminateRule], sight: Sight) -> Mapping[str, Any] | None:
        distances = sight.distances() if is_plain(rule) and rule.model.learn is None else None
        return None if distances is None else {"distances": distances}

    def run(self, rule: RuleOf[EliminateRule], sight: Sight, settings: Settings) -> Struck:
        strategy, tables = rule.compiled, cells_of(rule, sight)
        threshold = settings.threshold
        if rule.model.learn is not None:
            tables = with_learned(tables, sight.added(settings.control))
        if rule.model.precision is not None:
            threshold = _last([table.further[ADDED] for table in tables], rule.model.precision)
        done = eliminate(
            [table.d for table in tables],
            strategy,
            threshold=threshold,
            ratio=settings.ratio,
            # Neighbouring seeds are as good as distant ones: splitmix64 mixes every bit of its state.
            seeds=[settings.seed + table.table for table in tables] if self.by_chance(rule) else None,
            further={name: [table.further[name] for table in tables] for name in strategy.further},
        )
        struck = {cells.table: elimination for cells, elimination in zip(tables, done, strict=True)}
        blind = self.by_chance(rule) or rule.model.learn is not None
        notes = [*([] if is_plain(rule) else _bare(rule, tables)), *([] if blind else _alike(tables))]
        return Struck(struck, tuple(notes))

    def confidence(self, rule: RuleOf[EliminateRule], result: Struck, sight: Sight, settings: Settings) -> Confidence:
        if self.by_probability(rule):
            taught = sight.taught(settings.control)
            return recalibrated(result.tables, _tried(rule, result, taught, settings), [one.meant for one in taught])
        if rule.model.learn is not None or rule.reads - {"distance"}:
            return unsure("the rule goes by more than distances, which is all that tables of plain items have")
        likenesses = sight.likenesses()
        if isinstance(likenesses, str):
            return unsure(likenesses)
        rehearsed = self._rehearsed(rule, likenesses, sight, settings)
        return confident(result.tables, rehearsed.tables, [likeness.meant for likeness in likenesses])

    def _rehearsed(
        self, rule: RuleOf[EliminateRule], likenesses: Sequence[Likeness], sight: Sight, settings: Settings
    ) -> Struck:
        """What the rule does to tables of plain items."""
        tables = [likeness.d for likeness in likenesses]
        if is_plain(rule):
            return self.run(rule, replace(sight, distances=lambda: tables), settings)
        with sight.elsewhere() as sandbox:
            cells = ((number, d, cell) for number, d in enumerate(tables) for cell in np.ndindex(d.shape))
            rows = [(number, *cell, None if np.isnan(d[cell]) else float(d[cell])) for number, d, cell in cells]
            sandbox.fill("distance", _CELL, rows)
            return self.run(rule, replace(sight, sandbox=sandbox), settings)

    def coverage(self, rule: RuleOf[EliminateRule], result: Struck, sight: Sight) -> Coverage | None:
        if self.by_chance(rule):
            return None
        scores = sight.scores()
        items, pairs = of_scores(scores) if scores else (None, None)
        known = sum(int(done.scored.sum()) for done in result.tables.values())
        return Coverage(items, pairs, Count(known, cast(Published, sight.release()).hidden_cells))

    def earlier(
        self, rule: RuleOf[EliminateRule], connection: sqlite3.Connection, attack: int, database: AttackersDatabase
    ) -> Earlier:
        return Earlier(rule.derives, strikes.read_struck(connection, attack), ["integer"] * len(self.columns))

    def findings_sql(self, derives: Derives) -> str:
        return "named_struck"

    def comparison(self, connection: sqlite3.Connection, derives: Derives, finding: int) -> Comparison:
        return member_comparison(connection, finding)

    def write_views(self, connection: sqlite3.Connection, rule: RuleOf[EliminateRule]) -> None:
        # The view of the first weights is over the distances themselves, so it is of no other cells.
        if is_plain(rule) and rule.model.learn is None and not self.by_chance(rule):
            weigh = rule.compiled.weigh.sql(findings.START, over="partition by x.distance_table")
            findings.write_start(connection, rule.name, weigh)
        findings.write_why(connection, rule.name, rule.digest, "named_struck", rule.because_sql("x"))

    def explain(self, inquiry: Inquiry) -> Iterator[Explanation]:
        connection, attack, _, transaction, item, say = inquiry
        for cell in evidence.cells_named(connection, attack.attack, transaction, item):
            sentence = _spared(cell, transaction, item) if cell.finding is None else say(cell.finding)
            contexts = tuple(evidence.contexts(connection, cell))
            yield Explanation(attack.label, cell.finding, sentence, cell.d, cell.weight, cell.generalised, contexts)


def _spared(cell: JudgedCell, transaction: str, item: str) -> str:
    kept = f"{item} was not struck from {called(transaction)}"
    if cell.d is None:
        return f"{kept}: no context item has a score with it"
    weighted = "" if cell.weight in (None, cell.d) else f", weighted {cell.weight:.2f} at the end,"
    return f"{kept}: at distance {cell.d:.2f}{weighted} it never was the one to strike"


def _write(struck: strikes.GatheredStrikes, connection: sqlite3.Connection, attack: int, _: int) -> None:
    strikes.write_strikes(connection, attack, struck)


def _stored(table: int, done: Elimination) -> strikes.TableStrikes:
    steps, spared = done.steps, (done.kept & done.scored).nonzero()
    return strikes.TableStrikes(
        table=table,
        rounds=steps.round,
        rows=steps.row,
        cols=steps.col,
        groups=_GROUPS[steps.kind],
        suspicions=steps.suspicion,
        threshold=done.threshold,
        weights=steps.weight,
        spared_rows=spared[0],
        spared_cols=spared[1],
        spared_weights=done.weight[spared],
    )


def _tried(
    rule: RuleOf[EliminateRule], result: Struck, taught: Sequence[Taught], settings: Settings
) -> Sequence[Elimination]:
    """What a rule that goes by probabilities does to the tables that taught them, with the threshold it has here."""
    threshold = settings.threshold
    if rule.model.precision is not None:
        threshold = next((done.threshold for done in result.tables.values()), None)
    added = [one.added for one in taught]
    return eliminate(added, rule.compiled, threshold=threshold, ratio=settings.ratio, further={ADDED: added})


def _last(probabilities: Sequence[Floats], precision: float) -> float:
    """What the probability of a strike has to exceed, so that such strikes are expected to be right that often."""
    p = np.sort(np.concatenate([np.zeros(0), *(part[np.isfinite(part)] for part in probabilities)]))[::-1]
    expected = np.cumsum(p) / np.arange(1, len(p) + 1)
    enough = np.flatnonzero(expected >= precision - EPS)  # the running mean of falling numbers falls
    return float(p[enough[-1]]) - 2 * EPS if len(enough) else 1.0


def _bare(rule: RuleOf[EliminateRule], tables: Sequence[TableCells]) -> Iterator[str]:
    """A note on the rows that the cells of a rule leave without any score, where others have some."""
    count = sum(len(table.d) for table in tables)
    bare = sum(int((~np.isfinite(table.d)).all(axis=1).sum()) for table in tables)
    if 0 < bare < count:
        yield f"{rule.name} has no score in {bare:,} of {count:,} rows of distance tables, and leaves them as they are"


def _alike(tables: Sequence[TableCells]) -> Iterator[str]:
    """A note where distances tell no member from another, as by a release in which none stands in the clear."""
    several = [table.d[np.isfinite(table.d).sum(axis=1) > 1] for table in tables]
    rows = [d for d in several if len(d)]
    if rows and all((np.nanmax(d, axis=1) - np.nanmin(d, axis=1) <= EPS).all() for d in rows):
        yield (
            "the members of each generalised item are equally far from every context, so that distances tell none from "
            "another: which of them is struck says nothing"
        )


ELIMINATE = EliminateOperator()
