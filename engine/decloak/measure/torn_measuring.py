"""What a run measures of an attack on a disassociated release."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from decloak.attack.breach import breach, vulnerable_items, vulnerable_records
from decloak.attack.cover import covers
from decloak.data.assignment import Assignment
from decloak.data.disassociated import Disassociated
from decloak.data.formats.delimited import records
from decloak.data.formats.distance_file import read_number
from decloak.data.formats.lines import read_lines
from decloak.measure.figure import POOLED, UNKNOWN, Figure
from decloak.measure.kernels.breakage import km_breakage, transaction_breakage
from decloak.measure.kernels.reassociation import accuracy, reconstructed
from decloak.measure.kernels.transport import mean_distance
from decloak.measure.kernels.utility import re_chunks, tkd_chunks, tlost
from decloak.store.assigned import read_assigned
from decloak.store.attackers import read_knowledge
from decloak.store.reading import read_dataset
from decloak.store.torn import read_truth

__all__ = ["Known", "known_of", "measure_torn"]


class Known(NamedTuple):
    """A disassociated release whose originals are known: the records, and the one behind every row."""

    release: Disassociated
    records: tuple[tuple[str, ...], ...]
    truth: list[list[int]]


def known_of(connection: sqlite3.Connection, release: int, data: Disassociated) -> Known | None:
    """A release of a number with its originals, None when these are not known."""
    truth = read_truth(connection, release)
    row = connection.execute("select original from truth_release where release = ?", (release,)).fetchone()
    if truth is None or row is None:
        return None
    return Known(data, read_dataset(connection, row[0]).transactions, truth)


def measure_torn(
    connection: sqlite3.Connection,
    family: str,
    attack: int,
    data: Disassociated,
    known: Known | None,
    settings: Mapping[str, Any],
    folder: Path,
) -> tuple[list[Figure], str | None]:
    """The figures of a family for one attack on a disassociated release, and why some are missing."""
    if family == "breach":
        return _breach(connection, attack, data, known, **settings)
    if known is None:
        return [], UNKNOWN.format(family)
    if family == "utility":
        return _utility(known, **settings), None
    given = read_assigned(connection, attack)
    if family == "wmd":
        return _wmd(known, given, folder / settings["vectors"]), None
    return (_accuracy(known, given) if family == "accuracy" else _breakage(known, given)), None


def _accuracy(known: Known, given: list[Assignment]) -> list[Figure]:
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


def _breakage(known: Known, given: list[Assignment]) -> list[Figure]:
    broken = transaction_breakage(known.release, known.records, known.truth, given)
    counts = [("transaction_breakage", broken.row), ("transaction_breakage_class", broken.by_class)]
    figures: list[Figure] = [(POOLED, name, count / broken.records, count, broken.records) for name, count in counts]
    k, m = known.release.k, known.release.m
    if k is None or m is None:
        return figures
    sets = km_breakage(known.release, known.records, known.truth, given, k=k, m=m)
    for name, count in (("km_breakage", sets.row), ("km_breakage_class", sets.by_class)):
        figures.append((POOLED, name, count / sets.protected if sets.protected else None, count, sets.protected))
    return figures


def _utility(known: Known, top: int) -> list[Figure]:
    values = {
        "tkd": tkd_chunks(known.release, known.records, top),
        "re": re_chunks(known.release, known.records),
        "tlost": tlost(known.release, known.records, known.release.k or 1),
    }
    return [(POOLED, name, value, None, None) for name, value in values.items()]


def _wmd(known: Known, given: list[Assignment], path: Path) -> list[Figure]:
    rebuilt = reconstructed(known.release, known.truth, given)
    found = mean_distance(known.records, rebuilt, _vectors(path, rebuilt, known.records))
    return [(POOLED, "wmd", found.mean, None, found.compared)]


def _vectors(path: Path, *records_of: Iterable[Iterable[str]]) -> Mapping[str, Sequence[float]]:
    """The vectors of items: those of a file of them, or by the words of a file of word vectors."""
    from decloak.relate.embedding import vectors_of
    from decloak.relate.vectors_file import is_vectors_file

    if is_vectors_file(path):
        items = {item for rows in records_of for row in rows for item in row}
        return {item: vector.tolist() for item, vector in vectors_of(path, sorted(items)).items()}
    vectors = {}
    for line, (name, *numbers) in records(read_lines(path)):
        try:
            vectors[name] = [read_number(number) for number in numbers]
        except ValueError:
            raise line.wrong("a vector that is not all numbers", "write an item, then its numbers") from None
    return vectors


def _breach(
    connection: sqlite3.Connection, attack: int, data: Disassociated, known: Known | None, reading: str
) -> tuple[list[Figure], str | None]:
    """What cover problems tell an attacker: the QPBD total, items and records that are vulnerable."""
    attacker, note = connection.execute(
        "select k.id, k.note from attack a join attacker k on k.id = a.attacker where a.id = ?", (attack,)
    ).fetchone()
    if note is not None:
        return [], None  # the run says it of the attacker
    knowledge = read_knowledge(connection, attacker)
    found = covers(data)
    nontrivial = sum(one.size > 1 for one in found)
    items, total = vulnerable_items(data, knowledge), breach(data, knowledge, reading)
    figures: list[Figure] = [
        (POOLED, "cover_problems", len(found), len(found), None),
        (POOLED, "nontrivial", nontrivial, nontrivial, len(found)),
        (POOLED, "breach", total, total, None),
        (POOLED, "vulnerable_items", len(items), len(items), None),
    ]
    if known is None:
        return figures, UNKNOWN.format("the number of vulnerable records")
    broken = vulnerable_records(data, known.records, known.truth, knowledge)
    return [*figures, (POOLED, "vulnerable_records", len(broken), len(broken), len(known.records))], None
