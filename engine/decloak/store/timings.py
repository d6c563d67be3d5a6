"""The time that stages of a store took: releases by their method, attacks by their rule."""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Took", "times_taken"]

_RELEASES = (
    "select 'release' as stage, r.method as name, r.id as release, r.loss as told, '$.seconds' as path from release r"
)
_ATTACKS = (
    "select 'attack', u.name, a.release, a.parameters, '$.took.seconds' from attack a join rule u on u.id = a.rule"
)
_TOOK = (
    f"with made as ({_RELEASES} union all {_ATTACKS}), took as ("
    "select m.stage, m.name, d.digest as data, iif(json_valid(m.told), json_extract(m.told, m.path), null) as seconds "
    "from made m left join truth_release o on o.release = m.release left join dataset d on d.id = o.original) "
    "select stage, name, {0}, avg(seconds) from took "
    "where typeof(seconds) in ('real', 'integer') group by 1, 2, 3"  # a store may be somebody else's
)


class Took(NamedTuple):
    """The timing of a stage: a release or an attack, its method or rule, and the key of its data."""

    stage: str
    name: str
    data: str | None


def times_taken(connection: sqlite3.Connection) -> Mapping[Took, float]:
    """The seconds on the mean, for the data they were of, and with no data for all data together."""
    rows = [row for data in ("null", "data") for row in connection.execute(_TOOK.format(data))]
    return {Took(stage, name, data): float(seconds) for stage, name, data, seconds in rows}
