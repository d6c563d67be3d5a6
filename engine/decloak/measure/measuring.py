"""What a run measures of an attack, as figures for the store: name, value, and the counts of its ratio."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from decloak.measure.figure import POOLED, UNKNOWN, Figure
from decloak.measure.kernels.link import Link, link
from decloak.measure.kernels.recovery import Recovery, mean_density, pool, recovery
from decloak.store.reading import holdings, knows_originals, lacks_context, outcomes
from decloak.store.results import findings_count

__all__ = ["count_findings", "measure"]

HIDDEN = (
    "no transaction with a generalised item shows an item in the clear, so there is nothing to go by: "
    "no cell has a score"
)


def measure(
    connection: sqlite3.Connection, family: str, attack: int, release: int, settings: Mapping[str, Any]
) -> tuple[list[Figure], str | None]:
    """The figures of a family for one attack on set-generalised data, and why some are missing."""
    if family == "recovery":
        return measure_recovery(connection, attack, release)
    return measure_link(connection, attack, release, **settings)


def count_findings(connection: sqlite3.Connection, attack: int) -> tuple[list[Figure], str | None]:
    """How much an attack found, and why it can have found nothing."""
    count = findings_count(connection, attack)
    hidden = count == 0 and lacks_context(connection, attack)
    return [(POOLED, "findings", count, count, None)], HIDDEN if hidden else None


def measure_recovery(connection: sqlite3.Connection, attack: int, release: int) -> tuple[list[Figure], str | None]:
    """Precision and the like, per table and pooled; only the number of strikes when originals are unknown."""
    known = knows_originals(connection, release)
    found = [
        (one.table, recovery(one.order, one.original, one.scored, one.weight)) for one in outcomes(connection, attack)
    ]
    figures = [figure for table, counts in found for figure in _recovered(table, counts, counts.density, known)]
    whole = [counts for _, counts in found]
    figures += _recovered(POOLED, pool(whole), mean_density(whole), known)
    return figures, None if known else UNKNOWN.format("recovery")


def _recovered(scope: int, found: Recovery, density: float | None, known: bool) -> Iterator[Figure]:
    yield scope, "struck", found.struck, found.struck, found.scored
    if not known:
        return
    yield scope, "correct", found.correct, found.correct, found.struck
    yield scope, "added", found.added, found.added, found.cells
    yield scope, "precision", found.precision, found.correct, found.struck
    yield scope, "recall", found.recall, found.correct, found.added
    yield scope, "f", found.f, 2 * found.correct, found.struck + found.added
    yield scope, "density", density, found.originals, found.cells
    yield scope, "chance", found.chance_precision, found.expected, found.struck
    yield scope, "lift", found.lift, found.correct, found.expected
    yield scope, "auc", found.auc, found.concordance / 2, found.pairs


def measure_link(
    connection: sqlite3.Connection, attack: int, release: int, *, k: int, m: int
) -> tuple[list[Figure], str | None]:
    """Itemsets an attack pushed below k, and transactions it made unique."""
    held = holdings(connection, attack, release)
    found = link(held.before, held.after, held.originals, k=k, m=m)
    return list(_linked(found, len(held.before))), None


def _linked(found: Link, transactions: int) -> Iterator[Figure]:
    yield POOLED, "exposed", found.exposed, found.exposed, None
    if found.exposed_true is not None:
        yield POOLED, "exposed_true", found.exposed_true, found.exposed_true, found.exposed
    yield POOLED, "vanished", found.vanished, found.vanished, None
    yield POOLED, "unique", len(found.unique), len(found.unique), transactions
    yield POOLED, "unique_before", found.unique_before, found.unique_before, transactions
