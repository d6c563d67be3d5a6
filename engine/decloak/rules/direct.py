"""Attacks as plain functions for Python users: a table or a release in, the findings out, without a store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from decloak.arrays import Floats, Mask
from decloak.data.assignment import Assignment, ScoreDirection
from decloak.data.disassociated import Disassociated, as_disassociated
from decloak.errors import DecloakError, quote


class Step(NamedTuple):
    """One elimination: the round, the cell, its group, and the value that was compared with the threshold."""

    round: int
    row: int
    column: int
    group: str
    index: int  # type: ignore[assignment]  # hides tuple.index, which a step has no use for
    suspicion: float


@dataclass(frozen=True, eq=False)
class Eliminated:
    """Result of an attack on a distance table: `kept` is False for an eliminated cell."""

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
    """Attack one table of `distances`: a row per record, a column per member, NaN or None where there is no score.

    `rule` is the name of an eliminate rule, or the path of a rule file. `threshold` replaces the rule's own, `ratio`
    multiplies it; `seed` is for random rules. Return the eliminated cells.

    >>> done = eliminate([[0.5, 2.0], [1.5, 0.5]], rule="mda")
    >>> done.kept.tolist(), done.steps[0][1:3]
    ([[True, False], [True, True]], (0, 1))
    """
    from decloak.rules.eliminate.kernel import eliminate as kernel
    from decloak.rules.eliminate.strategy import GROUP_KINDS, Strategy
    from decloak.rules.load import Catalogue

    # The same rule files as in a scenario, so that both ways give the same result.
    strategy = Catalogue().rule(rule).compiled
    if not isinstance(strategy, Strategy) or strategy.further_columns:
        reason = "reads more than distances" if isinstance(strategy, Strategy) else "is no eliminate rule"
        raise DecloakError(f"the rule {quote(rule)} {reason}", hint="run it in a scenario instead")
    (done,) = kernel(
        [_table(distances)],
        strategy,
        threshold=threshold,
        ratio=ratio,
        seeds=[seed] if strategy.eliminate == "random" else None,
    )
    steps = done.steps
    columns: list[list[object]] = [steps.round.tolist(), steps.row.tolist(), steps.col.tolist()]
    columns += [[GROUP_KINDS[kind] for kind in steps.kind.tolist()], steps.group.tolist(), steps.suspicion.tolist()]
    return Eliminated(done.kept, [Step(*values) for values in zip(*columns, strict=True)], done.threshold)


def reassociate(
    release: Disassociated,
    scores: Mapping[tuple[str, str], float | None],
    rule: str = "aba",
    closer: ScoreDirection = "larger",
    *,
    seed: int = 0,
) -> list[Assignment]:
    """Assign the split parts of a disassociated `release` to its records; return (cluster, chunk, unit, rows) for each.

    `scores` has the relatedness of pairs of items. `closer` states if larger or smaller scores mean closer items.

    `rule` is the name of a reassociate rule, or the path of a rule file. Random rules use `seed`.

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
        raise DecloakError(f"the rule {quote(rule)} is no reassociate rule", hint="name one such as aba")
    return kernel(as_disassociated(release), scores, strategy, closer=closer, seed=seed)


def _table(distances: ArrayLike | Sequence[Sequence[float | None]]) -> Floats:
    try:
        table = np.array(distances, dtype=float)
    except (TypeError, ValueError):
        hint = "give rows of equal length, with NaN or None for a missing score"
        raise DecloakError("the distances are no table of numbers", hint=hint) from None
    if table.size == 0:
        return np.empty((0, 0))
    if table.ndim != 2:
        raise DecloakError(f"the distances have {table.ndim} dimensions", hint="give rows of numbers")
    return table
