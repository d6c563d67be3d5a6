"""Attacks on clusters in files: a rule attacks some clusters at a time, and writes what it assigns to files.

A task gets a file of the release and the scores of pairs of items. It gets nothing of the original records, and the
store keeps no finding of these attacks.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from decloak.anonymisers.parts import making_folder
from decloak.counting.blocks import some_clusters
from decloak.data.assignment import AssignmentArrays, AssignmentList
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Block
from decloak.data.formats.cluster_files import write_assignments
from decloak.parallel import gather_tasks
from decloak.releases.stored import PartedDisassociation
from decloak.rules.model import Settings, TestCase
from decloak.rules.operators.attacker_view import AttackerView, ReleaseCache
from decloak.rules.operators.operator import Result, Rule
from decloak.rules.reassociate.kernel import assigned_by_means
from decloak.rules.reassociate.scores import Scores, SplitRelease, coded_scores


@dataclass(frozen=True)
class AssignmentsInFiles(Result):
    """Assignments in files beside the store."""

    in_files: int

    @property
    def idle_reason(self) -> str | None:
        return (
            None if self.in_files else "no cluster has both an anchor and something cut off it: nothing could be given"
        )

    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        """Write nothing: the store has no row for each finding."""

    def test_findings(self, case: TestCase) -> Sequence[tuple[str, ...]]:
        """Return nothing: a test of a rule has no files."""
        return ()


def attack_in_parts(
    rule: Rule, view: AttackerView, settings: Settings, held: PartedDisassociation, key: str
) -> AssignmentsInFiles:  # fmt: skip
    """Attack the clusters of `held` by `rule`, which knows the scores of `view`; `key` is that of the attack."""
    scores = view.scores()
    items = sorted({item for pair in scores for item in pair})
    coded = coded_scores(scores, view.closer, items, view.unrelated)
    whole = Disassociated((), k=held.published.k, m=held.published.m)

    with making_folder(held.store, key, "attack") as making:
        tasks = [
            (number, block, making / Path(block.path).name, rule, settings, coded, whole)
            for number, block in enumerate(held.blocks.blocks)
        ]
        given = gather_tasks(_attack, tasks)
    return AssignmentsInFiles(sum(given))


def _attack(
    number: int, block: Block, file: Path, rule: Rule, settings: Settings, coded: Scores, whole: Disassociated
) -> int:  # fmt: skip
    """Write what `rule` assigns in the clusters of `block` to `file`, and return the number of assigned rows."""
    k = settings.k if settings.k is not None else whole.k
    assigned = assigned_by_means(rule.compiled, block, coded, k)
    if assigned is None:
        assigned = AssignmentArrays.of(_batches(number, block, rule, settings, coded, whole))
    write_assignments(file, assigned)
    return len(assigned.given.rows)


def _batches(
    number: int, block: Block, rule: Rule, settings: Settings, coded: Scores, whole: Disassociated
) -> Iterator[tuple[int, AssignmentList]]:  # fmt: skip
    """Yield the number of the first of some clusters of `block`, and what `rule` assigns in them."""
    first = 0
    for at, some in enumerate(some_clusters(block)):
        release = replace(whole, clusters=some.clusters)
        view = AttackerView(cache=ReleaseCache(split=SplitRelease(release, coded)))
        # A seed of its own for each batch: clusters count from 0 in each.
        seed = int(np.random.SeedSequence([settings.seed, number, at]).generate_state(1)[0])
        yield first, rule.operator.run(rule, view, settings.model_copy(update={"seed": seed})).ranked
        first += len(some.clusters)
