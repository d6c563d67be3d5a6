"""reassociate: give the sub-records and terms of a disassociated cluster to its records."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from decloak.attack.controls import Control
from decloak.data.assignment import Assigned, Assignment, Unit
from decloak.data.disassociated import Disassociated
from decloak.data.forms import FormName
from decloak.data.rungs import Rung
from decloak.rules.confidence import Confidence, known, unsure
from decloak.rules.coverage import Coverage
from decloak.rules.model import RuleModel, Settings, TestCase, as_written
from decloak.rules.operators.operator import Explanation, Inquiry, Operator, Result, RuleOf, Sight
from decloak.rules.reassociate.shared import is_shared
from decloak.rules.reassociate.strategy import Reassociation
from decloak.store import assigned, evidence, findings
from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.relations import Derives
from decloak.store.rivals import Comparison, row_comparison
from decloak.store.sandbox import Sandbox

if TYPE_CHECKING:
    from decloak.rules.reassociate.kernel import AttackedCluster

__all__ = ["REASSOCIATE", "RankedAssignments", "ReassociateRule"]


class ReassociateRule(RuleModel):
    """Give the sub-records and terms of a disassociated cluster to its records."""

    form: Literal["reassociate"]
    units: list[Literal["term", "subrecord"]] = Field(
        ["term", "subrecord"], min_length=1, description="the units `combine` is for; others go by the mean"
    )
    combine: Literal["mean", "upper_half", "best", "bayes", "fitted"] | None = Field(
        None, description="how the scores of a unit with the items of an anchor make one value"
    )
    give: Literal["k - 1", "multiplicity", "expected"] = Field("k - 1", description="to how many records a term goes")
    match: Literal["best", "assignment", "expectation", "exact", "random"] = Field(
        "best",
        description="each unit on its own, all sub-records of a chunk at once, by probabilities, by exact ones where a "
        "cluster is small, or by chance",
    )
    consistent: bool = Field(False, description="rule out what the algorithm could not have published")


@dataclass(frozen=True)
class RankedAssignments(Result):
    """Who gets what, by cluster, and what each of these rows was ranked by: None where nothing is known."""

    ranked: Sequence[tuple[Assignment, Sequence[float | None]]]
    notes: Sequence[str] = ()
    ties: Mapping[Unit, tuple[int, ...]] = field(default_factory=dict)
    """The rows that share the last places of a unit, by cluster, chunk and unit."""

    @property
    def idle(self) -> str | None:
        return None if self.ranked else "no cluster has both an anchor and something cut off it: nothing could be given"

    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        assigned.write_assigned(connection, attack, release, self.ranked, self.ties)

    def assigned(self) -> Assigned:
        return Assigned(assigned.as_read(assignment for assignment, _ in self.ranked), self.ties)

    def as_tested(self, case: TestCase) -> Sequence[dict[str, Any]]:
        return [
            {"cluster": cluster, "chunk": chunk, "unit": as_written(unit), "rows": as_written(rows)}
            for (cluster, chunk, unit, rows), _ in self.ranked
        ]


class ReassociateOperator(Operator[ReassociateRule]):
    """A rule goes over the clusters of a disassociated release."""

    model = ReassociateRule
    columns = ("cluster", "chunk", "unit", "row")
    fits = frozenset({FormName.DISASSOCIATED})

    def sentence_columns(self, derives: Derives) -> tuple[str, ...]:
        return ("transaction", "cluster", "row", "chunk", "unit", "value")

    def compile(self, rule: RuleOf[ReassociateRule], sandbox: Sandbox) -> Reassociation:
        model = rule.model
        return Reassociation.build(
            units=model.units,
            combine=model.combine,
            give=model.give,
            match=model.match,
            consistent=model.consistent,
            places={key: rule.place(key) for key in ("units", "combine", "give", "match", "consistent")},
        )

    def by_chance(self, rule: RuleOf[ReassociateRule]) -> bool:
        return rule.model.match == "random"

    def by_probability(self, rule: RuleOf[ReassociateRule]) -> bool:
        return bool(rule.compiled.by_probability)

    def is_yardstick(self, rule: RuleOf[ReassociateRule]) -> bool:
        return rule.model.match == "exact"

    def by_relatedness(self, rule: RuleOf[ReassociateRule]) -> bool:
        return not self.by_chance(rule) and rule.compiled.combine != "fitted"  # lifts are the release's own

    def rungs(self, rule: RuleOf[ReassociateRule], sources: frozenset[Rung]) -> frozenset[Rung]:
        # Fitted values take scores beside the release's own lifts, where there are any.
        return super().rungs(rule, sources) | (sources if self.by_release(rule) else frozenset())

    def by_release(self, rule: RuleOf[ReassociateRule]) -> bool:
        return bool(rule.compiled.combine == "fitted")

    def controls(self, rule: RuleOf[ReassociateRule]) -> tuple[Control, ...]:
        return ("labels", "contexts", "order") if self.by_release(rule) else ()

    def carried(self, rule: RuleOf[ReassociateRule], sight: Sight) -> Mapping[str, Any]:
        values = {"release": sight.release(), "scores": sight.scores()}
        if self.by_release(rule):
            values["apart"] = sight.apart()
        return {**values, "closer": sight.closer, "unrelated": sight.unrelated}

    def run(self, rule: RuleOf[ReassociateRule], sight: Sight, settings: Settings) -> RankedAssignments:
        from decloak.rules.reassociate.kernel import attack  # imports scipy.optimize; rules are listed without

        release, scores = sight.release(), sight.scores()
        clusters = attack(
            release,
            scores,
            rule.compiled,
            closer=sight.closer,
            k=settings.k,
            m=settings.m,
            seed=settings.seed,
            unrelated=sight.unrelated,
            control=settings.control,
            measures=sight.measures() if self.by_release(rule) else (),
        )
        # Clusters are attacked in batches of a size; findings are numbered as the release numbers its clusters.
        in_order = sorted(clusters, key=lambda attacked: attacked.case.number)
        notes = _gone_through(rule, release, in_order) if rule.compiled.match == "exact" else ()
        ranked = [ranked for attacked in in_order for ranked in _ranked(attacked)]
        return RankedAssignments(ranked, notes, {unit: rows for attacked in in_order for unit, rows in _ties(attacked)})

    def confidence(
        self, rule: RuleOf[ReassociateRule], result: RankedAssignments, sight: Sight, settings: Settings
    ) -> Confidence:
        from decloak.rules.reassociate.posterior import posterior

        if self.by_probability(rule):
            return known(np.array([np.nan if p is None else p for _, ranks in result.ranked for p in ranks]))
        release = sight.release()
        if release.k is None:
            return unsure("the release does not say its k, without which nobody knows how many records have a term")
        if "posterior" not in sight.memory:
            sight.memory["posterior"] = posterior(release, sight.measures())
        return known(sight.memory["posterior"].of(assignment for assignment, _ in result.ranked))

    def coverage(self, rule: RuleOf[ReassociateRule], result: RankedAssignments, sight: Sight) -> Coverage | None:
        if self.by_chance(rule):
            return None
        from decloak.rules.reassociate.coverage import coverage_in_clusters, coverage_of_learner

        learns = self.by_release(rule)
        kept: dict[bool, Coverage] = sight.memory.setdefault("coverage", {})
        if learns not in kept:
            release = sight.release()
            kept[learns] = coverage_of_learner(release) if learns else coverage_in_clusters(release, sight.scores())
        return kept[learns]

    def earlier(
        self, rule: RuleOf[ReassociateRule], connection: sqlite3.Connection, attack: int, database: AttackersDatabase
    ) -> Earlier:
        types = ("integer", "text", "text", "integer")
        return Earlier(rule.derives, assigned.read_rows_given(connection, attack), types)

    def findings_sql(self, derives: Derives) -> str:
        return "named_assigned"

    def comparison(self, connection: sqlite3.Connection, derives: Derives, finding: int) -> Comparison:
        return row_comparison(connection, finding)

    def write_views(self, connection: sqlite3.Connection, rule: RuleOf[ReassociateRule]) -> None:
        findings.write_why(connection, rule.name, rule.digest, "named_assigned", rule.because_sql("x"))

    def explain(self, inquiry: Inquiry) -> Iterator[Explanation]:
        """The items of the anchor of each record that got the item, with their scores for the unit."""
        connection, attack, _, transaction, item, say = inquiry
        for finding, value, unit in evidence.units_given(connection, attack.attack, transaction, item):
            contexts = tuple(evidence.anchor_scores(connection, finding))
            yield Explanation(attack.label, finding, say(finding), None, value, unit, contexts)


def _gone_through(
    rule: RuleOf[ReassociateRule], release: Disassociated, clusters: Sequence["AttackedCluster"]
) -> Sequence[str]:
    """A note on the clusters that an exact rule did not go through."""
    own = [attacked for attacked in clusters if not any(is_shared(unit.chunk) for unit in attacked.case.units)]
    left = [attacked for attacked in own if not attacked.exactly]
    if not left:
        return ()
    rows = sum(release.clusters[attacked.case.number].size for attacked in left)
    count = f"{rule.name} went through {len(own) - len(left):,} of {len(own):,} clusters"
    return (f"{count}; there is too much that the others, of {rows:,} records, may have been: they go by expectation",)


def _ties(attacked: "AttackedCluster") -> Iterator[tuple[Unit, tuple[int, ...]]]:
    for unit, rows in zip(attacked.case.units, attacked.ties, strict=bool(attacked.ties)):
        if rows:
            yield (attacked.case.number, unit.chunk, unit.items), rows


def _ranked(attacked: "AttackedCluster") -> Iterator[tuple[Assignment, list[float | None]]]:
    of_row = np.array(attacked.case.rows.of_row)
    times = [len(rows) for rows in attacked.rows]
    row = np.array(list(chain.from_iterable(attacked.rows)), np.int64)
    values = attacked.values[np.repeat(np.arange(len(times)), times), of_row[row]]
    ranks: list[float | None] = values.tolist()
    for place in np.flatnonzero(~np.isfinite(values)).tolist():
        ranks[place] = None
    ends = accumulate(filter(None, times))
    for assignment, end in zip(attacked.assignments, ends, strict=True):
        yield assignment, ranks[end - len(assignment.rows) : end]


REASSOCIATE = ReassociateOperator()
