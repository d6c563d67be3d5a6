"""The rule form `reassociate`: assign the sub-records and terms of a disassociated cluster to its records."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from decloak.data.assignment import Assignment, AssignmentList, Unit
from decloak.data.disassociated import Disassociated
from decloak.data.forms import FormName
from decloak.rules.coverage import Confidence, Coverage
from decloak.rules.model import RuleModel, Settings, TestCase, join_names
from decloak.rules.operators.attacker_view import AttackerView, PortableInputs
from decloak.rules.operators.operator import (
    Explanation,
    ExplanationRequest,
    Operator,
    Result,
    RuleOf,
    RuleTraits,
    Value,
)  # fmt: skip
from decloak.rules.reassociate.relational import relational_form
from decloak.rules.reassociate.shared import is_shared
from decloak.rules.reassociate.strategy import Reassociation
from decloak.store import assigned, evidence, findings
from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.evidence import Comparison, row_comparison
from decloak.store.relations import Derives
from decloak.store.sandbox import Sandbox

if TYPE_CHECKING:
    from decloak.rules.reassociate.kernel import AttackedCluster

__all__ = ["REASSOCIATE", "RankedAssignments", "ReassociateRule"]


class ReassociateRule(RuleModel):
    """Content of a reassociate rule file."""

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
        description="each unit on its own, all sub-records of a chunk together, by probabilities, by exact ones for "
        "small clusters, or at random",
    )
    consistent: bool = Field(False, description="exclude placements that the algorithm could not have published")

    @property
    def is_random(self) -> bool:
        return self.match == "random"


@dataclass(frozen=True)
class RankedAssignments(Result):
    """Assignments by cluster, each with the value that ranked each of its rows; None where a row has no value."""

    ranked: Sequence[tuple[Assignment, Sequence[float | None]]]
    notes: Sequence[str] = ()
    ties: Mapping[Unit, tuple[int, ...]] = field(default_factory=dict)
    """Rows that are equally likely for the last copies of a unit, by cluster, chunk and unit."""

    @property
    def idle_reason(self) -> str | None:
        return None if self.ranked else "no cluster has both an anchor and something cut off it: nothing could be given"

    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        assigned.write_assigned(connection, attack, release, self.ranked, self.ties)

    def assigned(self) -> AssignmentList:
        return AssignmentList(assigned.as_read(assignment for assignment, _ in self.ranked), self.ties)

    def test_findings(self, case: TestCase) -> Sequence[dict[str, Value]]:
        return [
            {"cluster": cluster, "chunk": chunk, "unit": join_names(unit), "rows": join_names(rows)}
            for (cluster, chunk, unit, rows), _ in self.ranked
        ]


_Rule = RuleOf[ReassociateRule, Reassociation, RankedAssignments]


class ReassociateOperator(Operator[ReassociateRule, Reassociation, RankedAssignments]):
    """The form of rules that put the parts of disassociated records together again."""

    model = ReassociateRule
    columns = ("cluster", "chunk", "unit", "row")
    fits = frozenset({FormName.DISASSOCIATED})
    sentence = ("transaction", "cluster", "row", "chunk", "unit", "value")
    findings_table = "named_assigned"

    def compile(self, rule: _Rule, sandbox: Sandbox) -> Reassociation:
        model = rule.model
        return Reassociation.build(
            units=model.units,
            combine=model.combine,
            give=model.give,
            match=model.match,
            consistent=model.consistent,
            places={key: rule.place(key) for key in ("units", "combine", "give", "match", "consistent")},
        )

    def traits(self, rule: _Rule) -> RuleTraits:
        is_random, learns = rule.is_random, rule.compiled.combine == "fitted"
        return RuleTraits(
            is_random=is_random,
            # Fitted values use the lifts of the release itself, and work without any score.
            needs_relatedness=not is_random and not learns,
            ranks_by_probability=rule.compiled.by_probability,
            is_reference=rule.model.match == "exact",
            learns_from_release=learns,
            controls=("labels", "contexts", "order") if learns else (),
        )

    def portable_inputs(self, rule: _Rule, view: AttackerView) -> PortableInputs:
        inputs: PortableInputs = {
            "release": view.release(), "scores": view.scores(), "closer": view.closer, "unrelated": view.unrelated
        }  # fmt: skip
        if rule.traits.learns_from_release:
            inputs["measure_scores"] = view.measure_scores()
        return inputs

    def run(self, rule: _Rule, view: AttackerView, settings: Settings) -> RankedAssignments:
        from decloak.rules.reassociate.kernel import attack  # imports scipy.optimize; rules are listed without

        release, scores = view.release(), view.scores()
        clusters = attack(
            release,
            scores,
            rule.compiled,
            closer=view.closer,
            k=settings.k,
            m=settings.m,
            seed=settings.seed,
            unrelated=view.unrelated,
            control=settings.control,
            measures=view.all_measures() if rule.traits.learns_from_release else (),
        )
        # Clusters are attacked in batches of a size; findings are numbered as the release numbers its clusters.
        in_order = sorted(clusters, key=lambda attacked: attacked.case.number)
        notes = _note_inexact_clusters(rule, release, in_order) if rule.compiled.match == "exact" else ()
        ranked = [ranked for attacked in in_order for ranked in _ranked(attacked)]
        return RankedAssignments(ranked, notes, {unit: rows for attacked in in_order for unit, rows in _ties(attacked)})

    def confidence(self, rule: _Rule, result: RankedAssignments, view: AttackerView, settings: Settings) -> Confidence:
        from decloak.rules.reassociate.posterior import posterior

        if rule.traits.ranks_by_probability:
            return Confidence.of(np.array([np.nan if p is None else p for _, ranks in result.ranked for p in ranks]))
        release = view.release()
        if release.k is None:
            return Confidence.unavailable(
                "the release does not state its k, so the number of records with a term is unknown"
            )
        if view.cache.posterior is None:
            view.cache.posterior = posterior(release, view.all_measures())
        return Confidence.of(view.cache.posterior.of(assignment for assignment, _ in result.ranked))

    def coverage(self, rule: _Rule, result: RankedAssignments, view: AttackerView) -> Coverage | None:
        if rule.is_random:
            return None
        from decloak.rules.reassociate.coverage import coverage_in_clusters, coverage_of_learner

        # Coverage is the same for all attacks on one release that need the same scores.
        learns, cached = rule.traits.learns_from_release, view.cache.coverage
        if learns not in cached:
            release = view.release()
            cached[learns] = coverage_of_learner(release) if learns else coverage_in_clusters(release, view.scores())
        return cached[learns]

    def earlier(self, rule: _Rule, connection: sqlite3.Connection, attack: int, database: AttackersDatabase) -> Earlier:
        types = ("integer", "text", "text", "integer")
        return Earlier(rule.derives, assigned.read_rows_given(connection, attack), types)

    def as_query(self, rule: _Rule) -> str:
        return relational_form(f"{rule.name}_in_sql", rule.compiled).text(rule.model)

    def comparison(self, connection: sqlite3.Connection, derives: Derives, finding: int) -> Comparison:
        return row_comparison(connection, finding)

    def write_views(self, connection: sqlite3.Connection, rule: _Rule) -> None:
        findings.write_why(connection, rule.name, rule.digest, "named_assigned", rule.because_sql("x"))

    def explain(self, request: ExplanationRequest) -> Iterator[Explanation]:
        """Yield the items of the anchor of each record that got the item, with their scores for the unit."""
        connection, attack, _, transaction, item, sentence_of, _ = request
        for finding, value, unit in evidence.units_given(connection, attack.attack, transaction, item):
            contexts = tuple(evidence.anchor_scores(connection, finding))
            yield Explanation(attack.label, finding, sentence_of(finding), None, value, unit, contexts)


def _note_inexact_clusters(rule: _Rule, release: Disassociated, clusters: Sequence["AttackedCluster"]) -> Sequence[str]:
    """Return a note on the clusters that are too large for an exact rule."""
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
