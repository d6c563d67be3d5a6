"""The rule form `reassociate`: assign the sub-records and terms of a disassociated cluster to its records."""

import sqlite3
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from decloak.arrays import Floats
from decloak.data.assignment import AssignmentList, PairScores
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
from decloak.rules.reassociate.strategy import Reassociation
from decloak.store import assigned, evidence, findings
from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.evidence import Comparison, row_comparison
from decloak.store.relations import Derives
from decloak.store.sandbox import Sandbox

if TYPE_CHECKING:
    from decloak.rules.reassociate.posterior import Posterior
    from decloak.rules.reassociate.scores import SplitRelease

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
    """Assignments by cluster, with the value that ranked each of their rows; one that is not finite is unknown.

    `scored` occurrences have a score; None where the values need none.
    """

    ranked: AssignmentList
    values: Floats
    notes: Sequence[str] = ()
    scored: int | None = None

    @property
    def idle_reason(self) -> str | None:
        return None if self.ranked else "no cluster has both an anchor and something cut off it: nothing could be given"

    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        assigned.write_assigned(connection, attack, release, self.ranked, self.values)

    def assigned(self) -> AssignmentList:
        return assigned.as_read(self.ranked)

    def test_findings(self, case: TestCase) -> Sequence[dict[str, Value]]:
        return [
            {"cluster": cluster, "chunk": chunk, "unit": join_names(unit), "rows": join_names(rows)}
            for cluster, chunk, unit, rows in self.ranked
        ]


_Rule = RuleOf[ReassociateRule, Reassociation, RankedAssignments]


class ReassociateOperator(Operator[ReassociateRule, Reassociation, RankedAssignments]):
    """The form of rules that put the parts of disassociated records together again."""

    model = ReassociateRule
    columns = ("cluster", "chunk", "unit", "row")
    fits = frozenset({FormName.DISASSOCIATED})
    sentence = ("record", "cluster", "row", "chunk", "unit", "value")
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
            # Log odds need a mean of all scores, and what is consistent is looked up for the whole release.
            by_cluster=not rule.compiled.by_probability
            and not rule.model.consistent
            and rule.compiled.combine not in ("bayes", "fitted"),
            controls=("labels", "contexts", "order") if learns else (),
        )

    def portable_inputs(self, rule: _Rule, view: AttackerView) -> PortableInputs:
        inputs: PortableInputs = {
            "release": view.release(), "scores": view.scores(), "closer": view.closer, "unrelated": view.unrelated
        }  # fmt: skip
        if rule.traits.learns_from_release:
            inputs["measure_scores"] = view.measure_scores()
        return inputs

    def prepare(self, rule: _Rule, view: AttackerView) -> None:
        # The posterior serves rules without probabilities of their own, and needs k.
        if rule.traits.ranks_by_probability or view.release().k is None:
            _split(view)
        else:
            _posterior(view)

    def run(self, rule: _Rule, view: AttackerView, settings: Settings) -> RankedAssignments:
        from decloak.rules.reassociate.kernel import (
            ClusterAttack,
            ranked_rows,
        )  # imports scipy.optimize; rules are listed without

        split = _split(view)
        attack = ClusterAttack(
            split,
            PairScores(view.scores(), view.closer, view.unrelated),
            rule.compiled,
            k=settings.k,
            m=settings.m,
            seed=settings.seed,
            control=settings.control,
            measures=view.all_measures() if rule.traits.learns_from_release else (),
        )

        ranked, values = ranked_rows(split, attack.batches())
        notes = _note_inexact_clusters(rule, split, attack.exactly) if rule.compiled.match == "exact" else ()
        return RankedAssignments(ranked, values, notes, attack.scored)

    def confidence(self, rule: _Rule, result: RankedAssignments, view: AttackerView, settings: Settings) -> Confidence:
        if rule.traits.ranks_by_probability:
            return Confidence.of(np.where(np.isfinite(result.values), result.values, np.nan))
        if view.release().k is None:
            return Confidence.unavailable(
                "the release does not state its k, so the number of records with a term is unknown"
            )
        return Confidence.of(_posterior(view).of(result.ranked))

    def coverage(self, rule: _Rule, result: RankedAssignments, view: AttackerView) -> Coverage | None:
        if rule.is_random:
            return None
        from decloak.rules.reassociate.coverage import coverage_in_clusters, coverage_of_learner

        # Coverage is the same for all attacks on one release that need the same scores.
        learns, cached = rule.traits.learns_from_release, view.cache.coverage
        if learns not in cached:
            split, scores = _split(view), PairScores(view.scores(), view.closer, view.unrelated)
            cached[learns] = (
                coverage_of_learner(split) if learns else coverage_in_clusters(split, scores, result.scored)
            )
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


def _split(view: AttackerView) -> "SplitRelease":
    """Return the release of `view` laid out for attacks: once for all attacks on it."""
    from decloak.rules.reassociate.scores import SplitRelease

    view.cache.split = view.cache.split or SplitRelease(view.release())
    return view.cache.split


def _posterior(view: AttackerView) -> "Posterior":
    """Return the probability of every row of the release of `view`: once for all attacks on it."""
    from decloak.rules.reassociate.posterior import posterior

    view.cache.posterior = view.cache.posterior or posterior(_split(view), view.all_measures())
    return view.cache.posterior


def _note_inexact_clusters(rule: _Rule, split: "SplitRelease", exactly: Set[int]) -> Sequence[str]:
    """Return a note on the clusters that are too large for an exact rule."""
    left = [case for case in split.cases if case.number not in exactly]
    if not left:
        return ()
    rows = sum(len(case.rows.of_row) for case in left)
    count = f"{rule.name} went through {len(exactly):,} of {len(split.cases):,} clusters"
    return (f"{count}; there is too much that the others, of {rows:,} records, may have been: they go by expectation",)


REASSOCIATE = ReassociateOperator()
