"""The runs that are looked at together: all variants of a sweep, each repetition the newest there is."""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from decloak.digest import Config, JsonObject
from decloak.store.results import find_run

__all__ = ["StudyRun", "chosen_runs", "read_runs", "sweep_of"]

# A variant is called `key=value, key=value`; only parts of a scenario vary, and values hold no such key.
_KEY = re.compile(r"(?:^|, )((?:data|anonymise|relate|attacker|attack|measure)(?:\.[\w.*]+)?)=")


class StudyRun(NamedTuple):
    """A run: its name and its complete configuration."""

    run: int
    scenario: str
    variant: str
    repetition: int
    seed: int
    started: str
    config: Config

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(_KEY.findall(self.variant))


def read_runs(connection: sqlite3.Connection, numbers: Iterable[int] | None = None) -> list[StudyRun]:
    """Return the runs of `numbers` in this order, or all there are, the one that was asked for last at the end."""
    sql = "select id, scenario, variant, repetition, seed, started, config from run"
    if numbers is None:
        requested = "(select q.id from request q where q.run = run.id)"
        return [_run(row) for row in connection.execute(f"{sql} order by {requested}, id")]
    return [_run(connection.execute(f"{sql} where id = ?", (number,)).fetchone()) for number in numbers]


def _run(row: Sequence[Any]) -> StudyRun:
    run, scenario, variant, repetition, seed, started, config = row
    return StudyRun(run, scenario, variant, repetition, seed, started, json.loads(config))


def chosen_runs(connection: sqlite3.Connection, names: Sequence[str]) -> list[StudyRun]:
    """Several runs as they are named; of one run its whole sweep."""
    numbers = [find_run(connection, name) for name in names]
    return sweep_of(connection, numbers[0]) if len(numbers) == 1 else read_runs(connection, dict.fromkeys(numbers))


def sweep_of(connection: sqlite3.Connection, number: int) -> list[StudyRun]:
    """All runs of the sweep that a run is of: what was asked differs in nothing but what varies."""
    (run,) = read_runs(connection, [number])
    newest = {
        (other.variant, other.repetition): other
        for other in read_runs(connection)
        if other.scenario == run.scenario and other.keys == run.keys and _fixed(other) == _fixed(run)
    }
    return sorted(newest.values(), key=lambda other: other.run)


def _fixed(run: StudyRun) -> JsonObject:
    """Return the configuration without the varied keys."""
    return dict(_drop_keys(run.config, [tuple(key.split(".")) for key in run.keys]))


def _drop_keys(config: Config, paths: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        inside = [path[1:] for path in paths if path[0] in (key, "*")]
        if () in inside:
            continue
        # A key that varies may lie inside an entry of a list.
        inner = dict(zip(map(str, range(len(value))), value, strict=True)) if isinstance(value, list) else value
        yield key, dict(_drop_keys(inner, inside)) if inside and isinstance(inner, dict) else value
