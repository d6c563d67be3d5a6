"""The time that stages took, and an estimate of the time that a stage will take."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

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


class KnownTimes:
    """The times of the stages of a store, and the sizes of its data sets."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sizes: dict[int, float] = {}
        self._times: dict[tuple[str, str], dict[int, _Seconds]] = {}
        found = "sum(seconds), count(*), min(seconds), max(seconds)"
        rows = connection.execute(f"select kind, name, dataset, {found} from stage_time group by 1, 2, 3")
        for kind, name, data, *seconds in rows:
            self._times.setdefault((kind, name), {})[data] = _Seconds(*seconds)

    def note(self, connection: sqlite3.Connection, kind: str, number: int, timing: Timing) -> None:
        """Write the `timing` of the stage `number` of a `kind` with `connection`, and know it from now on."""
        data = dataset_number(connection, timing.original, timing.release)
        row = (kind, number, timing.name, data, timing.cpu_seconds, timing.seconds)
        connection.execute("insert or replace into stage_time values (?, ?, ?, ?, ?, ?)", row)
        assert data is not None
        known, now = self._times.setdefault((kind, timing.name), {}), timing.seconds
        total, count, shortest, longest = known.get(data, _Seconds(0.0, 0, now, now))
        known[data] = _Seconds(total + now, count + 1, min(shortest, now), max(longest, now))

    def expected(self, kind: str, name: str, data: int | None, least: float = 0.0) -> float | None:
        """Estimate the seconds of a stage of `kind` and `name` on the data set `data`, None if nothing honest can be
        said, or if they are below `least`.

        The estimate is the mean on the same data. If there is none, it is the mean on the data set of the nearest size,
        in proportion to the item occurrences, and sizes may differ by the factor `NEAR`.
        """
        known = self._times.get((kind, name), {})
        # No estimate can reach `least`: the sizes of data sets need not be counted.
        if data is None or max((seconds.longest for seconds in known.values()), default=-1.0) * NEAR < least:
            return None
        ratios = {data: 1.0} if data in known else self._ratios(known, data)
        nearest = min(ratios, key=lambda other: max(ratios[other], 1 / ratios[other]), default=None)
        if nearest is None or not 1 / NEAR <= ratios[nearest] <= NEAR:
            return None
        total, count, shortest, longest = known[nearest]
        estimate = total / count * ratios[nearest]
        # Times that differ this much on one data set predict nothing.
        return None if estimate < least or longest > NEAR * max(shortest, SHORT) else estimate

    def _ratios(self, known: Iterable[int], data: int) -> dict[int, float]:
        """Return the size of `data` in relation to each of the `known` data sets."""
        size = self._size(data)
        sizes = {other: self._size(other) for other in known}
        return {other: size / count for other, count in sizes.items() if size and count}

    def _size(self, data: int) -> float:
        """Return the number of item occurrences of a data set, counted once."""
        if data not in self._sizes:
            self._sizes[data] = _occurrences(self._connection, data)
        return self._sizes[data]


def dataset_number(connection: sqlite3.Connection, original: str | None, release: str) -> int | None:
    """Return the number of the data set of a stage, given the keys of its original data, if any, and of its release."""
    query = "select id from dataset where digest = ?" if original else "select dataset from release where digest = ?"
    row = connection.execute(query, (original or release,)).fetchone()
    return None if row is None else int(row[0])


def _occurrences(connection: sqlite3.Connection, data: int) -> float:
    """Return the number of item occurrences of a data set; that of records in the store is estimated from the first."""
    (in_files,) = connection.execute("select sum(elements) from part where dataset = ?", (data,)).fetchone()
    records, first = connection.execute("select records, first from dataset where id = ?", (data,)).fetchone()
    # A damaged list is left out: an estimate of time must not end a run.
    (length,) = connection.execute(
        "select avg(json_array_length(elements)) from record where id >= ? and id < ? and json_valid(elements)",
        (first, first + min(records, SAMPLE)),
    ).fetchone()
    return float(in_files or records * (length or 0))
