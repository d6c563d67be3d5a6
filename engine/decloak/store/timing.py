"""The time that stages took, and an estimate of the time that a stage will take."""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["NEAR", "StageTimes", "Timing", "dataset_number", "expected_seconds", "note_time", "read_times"]

NEAR = 3.0
"""The largest ratio of two sizes, and of two times on one data set, from which a time is estimated. A time that grows
with the square of the size is still within this factor.
"""
SHORT = 0.5
"""Seconds below which times may differ by any factor."""
SAMPLE = 1000
"""The number of records whose lengths are counted."""


class Timing(NamedTuple):
    """The time of a stage of a `name`, and the keys of its original data and of its release."""

    name: str
    original: str | None
    release: str
    cpu_seconds: float
    seconds: float

    def with_more(self, took: Mapping[str, float]) -> "Timing":
        """Return the timing with the CPU and wall-clock seconds of `took` added."""
        return self._replace(**{clock: getattr(self, clock) + seconds for clock, seconds in took.items()})


class _Seconds(NamedTuple):
    """The times of stages of one name on one data set."""

    total: float
    number: int
    shortest: float
    longest: float


StageTimes = dict[tuple[str, str, int], _Seconds]
"""Times by kind and name of stages, and the number of their data set."""


def read_times(connection: sqlite3.Connection) -> StageTimes:
    """Return the times of all stages of a store."""
    found = "sum(seconds), count(*), min(seconds), max(seconds)"
    rows = connection.execute(f"select kind, name, dataset, {found} from stage_time group by 1, 2, 3")
    return {(kind, name, data): _Seconds(*seconds) for kind, name, data, *seconds in rows}


def note_time(connection: sqlite3.Connection, times: StageTimes, kind: str, number: int, timing: Timing) -> None:
    """Write the `timing` of the stage `number` of a `kind`, and add it to `times`."""
    data = dataset_number(connection, timing.original, timing.release)
    row = (kind, number, timing.name, data, timing.cpu_seconds, timing.seconds)
    connection.execute("insert or replace into stage_time values (?, ?, ?, ?, ?, ?)", row)
    assert data is not None
    key, now = (kind, timing.name, data), timing.seconds
    total, count, shortest, longest = times.get(key, _Seconds(0.0, 0, now, now))
    times[key] = _Seconds(total + now, count + 1, min(shortest, now), max(longest, now))


def dataset_number(connection: sqlite3.Connection, original: str | None, release: str) -> int | None:
    """Return the number of the data set of a stage, given the keys of its original data, if any, and of its release."""
    query = "select id from dataset where digest = ?" if original else "select dataset from release where digest = ?"
    row = connection.execute(query, (original or release,)).fetchone()
    return None if row is None else int(row[0])


def expected_seconds(
    connection: sqlite3.Connection, times: StageTimes, kind: str, name: str, data: int | None
) -> float | None:
    """Estimate the seconds of a stage of `kind` and `name` on the data set `data`, None if nothing honest can be said.

    The estimate is the mean on the same data. If there is none, it is the mean on the data set of the nearest size, in
    proportion to the item occurrences, and sizes may differ by the factor `NEAR`.
    """
    known = {key[2]: seconds for key, seconds in times.items() if key[:2] == (kind, name)}
    if data is None or not known:
        return None
    ratios = {data: 1.0} if data in known else _ratios(connection, known, data)
    nearest = min(ratios, key=lambda other: max(ratios[other], 1 / ratios[other]), default=None)
    if nearest is None or not 1 / NEAR <= ratios[nearest] <= NEAR:
        return None
    total, count, shortest, longest = known[nearest]
    return None if longest > NEAR * max(shortest, SHORT) else total / count * ratios[nearest]


def _ratios(connection: sqlite3.Connection, known: Mapping[int, object], data: int) -> dict[int, float]:
    """Return the size of `data` in relation to each of the `known` data sets."""
    size = _occurrences(connection, data)
    sizes = {other: _occurrences(connection, other) for other in known}
    return {other: size / count for other, count in sizes.items() if size and count}


def _occurrences(connection: sqlite3.Connection, data: int) -> float:
    """Return the number of item occurrences of a data set; that of records in the store is estimated from the first."""
    (in_files,) = connection.execute("select sum(elements) from part where dataset = ?", (data,)).fetchone()
    records, first = connection.execute("select records, first from dataset where id = ?", (data,)).fetchone()
    (length,) = connection.execute(
        "select avg(json_array_length(elements)) from record where id >= ? and id < ? and json_valid(elements)",
        (first, first + min(records, SAMPLE)),
    ).fetchone()
    return float(in_files or records * (length or 0))
