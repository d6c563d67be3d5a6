"""What a run measures of an attack, as figures for the store: name, value, and the counts of its ratio."""

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from decloak.attack.breach import breach, vulnerable_items, vulnerable_records
from decloak.attack.cover import cover_problems
from decloak.attack.knowledge import explicit, moderate, weak
from decloak.data.disassociated import Cluster, Disassociated
from decloak.data.lines import read_lines
from decloak.measure.breakage import km_breakage, transaction_breakage
from decloak.measure.link import Link, link
from decloak.measure.reassociation import accuracy
from decloak.measure.recovery import Recovery, mean_density, pool, recovery
from decloak.rules.reassociate_kernel import Assignment
from decloak.store.reading import holdings, knows_originals, outcomes, read_dataset
from decloak.store.results import facts_of
from decloak.store.torn import read_assigned, read_torn, read_truth

__all__ = ["POOLED", "Figure", "measure"]

POOLED = -1
"""The scope of a figure that pools all tables."""

Itemset = tuple[str, ...]
Figure = tuple[int, str, float | None, float | None, float | None]
"""Scope, name, value, and the counts above and below the line of a ratio."""

UNKNOWN = "{} cannot be measured: the original transactions are not known"


def measure(
    connection: sqlite3.Connection,
    family: str,
    attack: int,
    release: int,
    settings: Mapping[str, Any],
    folder: Path,
    seed: int,
) -> tuple[list[Figure], str | None]:
    """The figures of a family for one attack, and why some are missing."""
    if family == "findings":
        return count_findings(connection, attack)
    if family == "recovery":
        return measure_recovery(connection, attack, release)
    if family == "link":
        return measure_link(connection, attack, release, **settings)
    known = _torn(connection, release)
    if family == "breach":
        return measure_breach(connection, release, known, settings["attacker"], folder, seed)
    if known is None:
        return [], UNKNOWN.format(family)
    given = read_assigned(connection, attack)
    return (_accuracy(known, given) if family == "accuracy" else _breakage(known, given)), None


def count_findings(connection: sqlite3.Connection, attack: int) -> tuple[list[Figure], str | None]:
    """How much an attack found."""
    count = len(facts_of(connection, attack))
    return [(POOLED, "findings", count, count, None)], None


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


class _Torn(NamedTuple):
    """A disassociated release whose originals are known: the records, and the one behind every row."""

    release: Disassociated
    records: tuple[tuple[str, ...], ...]
    truth: list[list[int]]


def _torn(connection: sqlite3.Connection, release: int) -> _Torn | None:
    truth = read_truth(connection, release)
    row = connection.execute("select original from truth_release where release = ?", (release,)).fetchone()
    if truth is None or row is None:
        return None
    return _Torn(read_torn(connection, release), read_dataset(connection, row[0]).transactions, truth)


def _accuracy(known: _Torn, given: list[Assignment]) -> list[Figure]:
    found = accuracy(known.release, known.records, known.truth, given)
    return [
        (POOLED, "assigned", found.assigned, found.assigned, None),
        (POOLED, "true", found.true, found.true, None),
        (POOLED, "accuracy", found.accuracy, float(found.correct_exp), found.assigned),
        (POOLED, "accuracy_row", found.accuracy_row, found.correct_row, found.assigned),
        (POOLED, "accuracy_class", found.accuracy_class, found.correct_class, found.assigned),
        (POOLED, "chance", found.chance, float(found.expected), found.assigned),
        (POOLED, "recall", found.recall, float(found.correct_exp), found.true),
    ]


def _breakage(known: _Torn, given: list[Assignment]) -> list[Figure]:
    records = transaction_breakage(known.release, known.records, known.truth, given)
    figures: list[Figure] = [
        (POOLED, "transaction_breakage", records.row / records.records, records.row, records.records),
        (POOLED, "transaction_breakage_class", records.by_class / records.records, records.by_class, records.records),
    ]
    k, m = known.release.k, known.release.m
    if k is None or m is None:
        return figures
    sets = km_breakage(known.release, known.records, known.truth, given, k=k, m=m)
    for name, count in (("km_breakage", sets.row), ("km_breakage_class", sets.by_class)):
        figures.append((POOLED, name, count / sets.protected if sets.protected else None, count, sets.protected))
    return figures


def measure_breach(
    connection: sqlite3.Connection,
    release: int,
    known: _Torn | None,
    attacker: Mapping[str, Any],
    folder: Path,
    seed: int,
) -> tuple[list[Figure], str | None]:
    """What cover problems tell an attacker: the QPBD total, items and records that are vulnerable."""
    data = read_torn(connection, release)
    if known is None and attacker["knowledge"] is None and attacker["model"] == "moderate":
        return [], UNKNOWN.format("what a moderate attacker knows")
    knowledge = _knowledge(data, known, attacker, folder, seed)
    items = vulnerable_items(data, knowledge)
    figures: list[Figure] = [
        (POOLED, "cover_problems", count := len(cover_problems(data)), count, None),
        (POOLED, "breach", total := breach(data, knowledge), total, None),
        (POOLED, "vulnerable_items", len(items), len(items), None),
    ]
    if known is None:
        return figures, UNKNOWN.format("the number of vulnerable records")
    records = vulnerable_records(data, known.records, known.truth, knowledge)
    return [*figures, (POOLED, "vulnerable_records", len(records), len(records), len(known.records))], None


def _knowledge(
    data: Disassociated, known: _Torn | None, attacker: Mapping[str, Any], folder: Path, seed: int
) -> list[Itemset] | None:
    items = sorted({item for cluster in data.clusters for item in cluster_items(cluster)})
    m = data.m or 2
    if attacker["knowledge"] is not None:
        return explicit(folder / attacker["knowledge"], items)
    if attacker["model"] == "moderate" and known is not None:
        return moderate(known.records, m, share=attacker["share"], seed=seed)
    if attacker["model"] == "weak":
        words = [line.text.strip() for line in read_lines(folder / attacker["foreign"])]
        return weak(items, [word for word in words if word], m, seed=seed)
    return None


def cluster_items(cluster: Cluster) -> Iterator[str]:
    """Every item that a cluster publishes."""
    yield from cluster.term_chunk
    for chunk in cluster.record_chunks:
        yield from chunk.items
