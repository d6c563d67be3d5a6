"""The attacks as plain functions: a table in, what was struck out; no store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from decloak.arrays import Floats, Mask
from decloak.data.assignment import Assignment, Closer
from decloak.data.disassociated import Disassociated, as_disassociated
from decloak.errors import DecloakError, shown

__all__ = ["Eliminated", "Step", "eliminate", "reassociate"]


class Step(NamedTuple):
    """One strike: the round, the cell, the group it was the farthest in, and what was compared with the threshold."""

    round: int
    row: int
    column: int
    group: str
    index: int  # type: ignore[assignment]  # hides tuple.index, which a step has no use for
    suspicion: float


@dataclass(frozen=True, eq=False)
class Eliminated:
    """What an attack left of a distance table: `kept` is False where a cell was struck."""

    kept: Mask
    steps: list[Step]
    threshold: float | None


def eliminate(
    distances: ArrayLike | Sequence[Sequence[float | None]],
    rule: str = "rba",
    threshold: float | None = None,
    ratio: float = 1.0,
    *,
    seed: int = 0,
) -> Eliminated:
    """Attack one distance table: a row per transaction, a column per member, NaN or None where there is no score.

    `rule` is the name of an eliminate rule, or the path of a rule file. `threshold` replaces the rule's own,
    `ratio` multiplies it; `seed` is for rules that toss coins.

    >>> done = eliminate([[0.5, 2.0], [1.5, 0.5]], rule="mda")
    >>> done.kept.tolist(), done.steps[0][1:3]
    ([[True, False], [True, True]], (0, 1))
    """
    from decloak.rules.eliminate.kernel import eliminate as kernel
    from decloak.rules.eliminate.strategy import GROUP_KINDS, Strategy
    from decloak.rules.load import Catalogue

    strategy = Catalogue().rule(rule).compiled
    if not isinstance(strategy, Strategy) or strategy.further:
        reason = "reads more than distances" if isinstance(strategy, Strategy) else "is no eliminate rule"
        raise DecloakError(f"the rule {shown(rule)} {reason}", hint="run it in a scenario instead")
    (done,) = kernel(
        [_table(distances)],
        strategy,
        threshold=threshold,
        ratio=ratio,
        seeds=[seed] if strategy.strike == "coin" else None,
    )
    steps = done.steps
    columns: list[list[Any]] = [steps.round.tolist(), steps.row.tolist(), steps.col.tolist()]
    columns += [[GROUP_KINDS[kind] for kind in steps.kind.tolist()], steps.group.tolist(), steps.suspicion.tolist()]
    return Eliminated(done.kept, [Step(*values) for values in zip(*columns, strict=True)], done.threshold)


def reassociate(
    release: Disassociated,
    scores: Mapping[tuple[str, str], float | None],
    rule: str = "aba",
    closer: Closer = "larger",
    *,
    seed: int = 0,
) -> list[Assignment]:
    """Give what was taken off the records of a disassociated release back to them: (cluster, chunk, unit, rows).

    `scores` are of pairs of items, `closer` says whether larger or smaller ones are of closer items. `rule` is the
    name of a reassociate rule, or the path of a rule file; `seed` is for one that goes by chance.

    >>> from decloak.data.disassociated import Chunk, Cluster
    >>> cluster = Cluster(2, (Chunk(("a", "b"), (("a",), ("b",))),), ("d",))
    >>> reassociate(Disassociated((cluster,), k=2), {("a", "d"): 0.1, ("b", "d"): 0.7})
    [Assignment(cluster=0, chunk='T', unit=('d',), rows=(1,))]
    """
    from decloak.rules.load import Catalogue
    from decloak.rules.reassociate.kernel import reassociate as kernel
    from decloak.rules.reassociate.strategy import Reassociation

    strategy = Catalogue().rule(rule).compiled
    if not isinstance(strategy, Reassociation):
        raise DecloakError(f"the rule {shown(rule)} is no reassociate rule", hint="name one such as aba")
    return kernel(as_disassociated(release), scores, strategy, closer=closer, seed=seed)


def _table(distances: Any) -> Floats:
    try:
        table = np.array(distances, dtype=float)
    except (TypeError, ValueError):
        hint = "give rows of the same length; NaN or None is no score"
        raise DecloakError("the distances are no table of numbers", hint=hint) from None
    if table.size == 0:
        return np.empty((0, 0))
    if table.ndim != 2:
        raise DecloakError(f"the distances have {table.ndim} dimensions", hint="give rows of numbers")
    return table
