"""The data that the commands print from a store: runs, measures, and the evidence of findings.

The runs that are looked at together: all variants of a sweep, each repetition the newest there is.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from decloak.digest import Config, JsonObject
from decloak.errors import DecloakError, quote, suggest
from decloak.store.opening import connect_readonly

SETTINGS = ("threshold", "ratio", "seed", "k", "m")
"""The settings of an attack and of controls in a scenario, without the rule."""
NOTES = {
    "measures": "select distinct m.note from run_measurement r join measurement m on m.id = r.measurement "
    "where r.run = ? and m.note is not null",
    "attackers": "select distinct k.note from run_attack r join attack a on a.id = r.attack "
    "join attacker k on k.id = a.attacker where r.run = ? and k.note is not null",
    "relatedness": "select distinct w.value from run_attack r join attack a on a.id = r.attack "
    "join scoring s on s.id = a.scoring join relatedness e on e.id = s.relatedness "
    "join json_each(e.warnings) w where r.run = ?",
    "originals": "select distinct d.note from run_attack r join attack a on a.id = r.attack "
    "join scoring s on s.id = a.scoring join truth_release o on o.release = s.release "
    "join dataset d on d.id = o.original where r.run = ? and d.note is not null and s.relatedness is not null "
    "and s.context not in ('anchor', 'all')",
    "release": "select n.value from run r join release l on l.id = r.release join json_each(l.notes) n where r.id = ?",
    "attacks": "select n.value from run_attack r join attack a on a.id = r.attack "
    "join json_each(a.parameters, '$.notes') n where r.run = ? order by r.position, n.id",
}
"""The notes of a run, by their source."""
RunRow = tuple[int, str, str, int, str, str]
"""A run: its number, scenario, variant, repetition, start and attacks."""
Figure = tuple[str, int, str, float | None, float | None, float | None]
"""A figure: its attack, table, measure and value, and the counts of the ratio."""
PairedCounts = list[tuple[str, int, float, float, float]]
"""Three counts of each attack and scope."""


def holds_originals(path: Path) -> bool:
    """Return whether a file is a store with original data in it, or with marks of original items."""
    try:
        connection = connect_readonly(path)
    except DecloakError:  # there is none yet, or another file: opening it gives the error
        return False
    with closing(connection):
        # The attacker's own data set is of this kind too.
        sql = (
            "select exists (select 1 from dataset where kind = 'original' and id not in ("
            "  select json_extract(parameters, '$.auxiliary') from attack "
            "  where json_extract(parameters, '$.auxiliary') is not null)) or exists (select 1 from truth_marked)"
        )
        return bool(connection.execute(sql).fetchone()[0])


def list_runs(connection: sqlite3.Connection) -> list[RunRow]:
    """List every run, the newest last."""
    return connection.execute(
        "select r.id, r.scenario, r.variant, r.repetition, r.started, (select group_concat(label, ', ') from "
        "(select label from run_attack where run = r.id order by position)) from run r order by r.id"
    ).fetchall()


def find_run(connection: sqlite3.Connection, text: str) -> int:
    """Return the run that `text` names: a number, `last`, or of a variant's name the run that was asked for last."""
    if text == "last":
        row = connection.execute("select run from request order by id desc limit 1").fetchone()
    # A whole number of SQLite has at most 19 digits.
    elif text.isdecimal() and len(text) < 19:
        row = connection.execute("select id from run where id = ?", (int(text),)).fetchone()
    else:
        requested = "select q.run from request q join run r on r.id = q.run where r.variant = ? order by q.id desc"
        row = connection.execute(f"{requested} limit 1", (text,)).fetchone()
    if row is None:
        names = [name for (name,) in connection.execute("select distinct variant from run")]
        hint = suggest(text, names) or "`decloak runs` lists the runs"
        raise DecloakError(f"no run {quote(text)}", hint=hint)
    return int(row[0])


def last_requests(connection: sqlite3.Connection, most: int) -> list[int]:
    """Return the runs that were asked for last, `most` of them, the last one at the end."""
    rows = connection.execute("select run from request order by id desc limit ?", (most,)).fetchall()
    return [run for (run,) in reversed(rows)]


def run_title(connection: sqlite3.Connection, run: int) -> str:
    """Return the scenario of a run, its variant, and its repetition unless it is the first."""
    scenario, variant, repetition = connection.execute(
        "select scenario, variant, repetition from run where id = ?", (run,)
    ).fetchone()
    return f"{scenario} ({variant}{f' #{repetition}' if repetition > 1 else ''})"


def find_release(connection: sqlite3.Connection, text: str) -> int:
    """Return the number of the release that a run attacked, or of `release:NUMBER`."""
    kind, _, number = text.partition(":")
    if kind != "release" or not number.isdecimal() or len(number) > 18:
        return release_of(connection, find_run(connection, text))
    row = connection.execute("select id from release where id = ?", (int(number),)).fetchone()
    if row is None:
        hint = '`decloak sql "select id, method from release"` lists them'
        raise DecloakError(f"no release {number}", hint=hint)
    return int(row[0])


def release_of(connection: sqlite3.Connection, run: int) -> int:
    """Return the number of the release of a run."""
    (number,) = connection.execute("select release from run where id = ?", (run,)).fetchone()
    return int(number)


def records_of(connection: sqlite3.Connection, run: int) -> int:
    """Return the number of records of the release of `run`."""
    of_release = "release l on l.id = r.release join dataset d on d.id = l.dataset"
    # The store has no records of data in files: their number is in the catalogue.
    in_files = "select sum(records) from part p where p.dataset = d.id"
    sql = f"select coalesce(({in_files}), d.records) from run r join {of_release} where r.id = ?"
    row = connection.execute(sql, (run,)).fetchone()
    return 0 if row is None else int(row[0])


class RunAttack(NamedTuple):
    """An attack of a run: what the scenario calls it, and the rule text that ran."""

    attack: int
    label: str
    form: str
    text: str
    knows: str
    """The knowledge level of the attacker, empty in a store of an older version."""
    settings: Config
    """The settings that it ran with."""

    @property
    def control(self) -> str | None:
        """Return the kind of negative control or ablation, or None for an attack."""
        return self.settings.get("control")

    def is_control_of(self, other: "RunAttack") -> bool:
        """Return whether this attack is a control of the other."""
        mine, theirs = ([each.settings.get(key) for key in SETTINGS] for each in (self, other))
        return self.control is not None and other.control is None and (self.text, mine) == (other.text, theirs)


def attacks_of(connection: sqlite3.Connection, run: int) -> list[RunAttack]:
    """Return the attacks of a run in the order of the scenario."""
    rows = connection.execute(
        "select a.id, ra.label, u.form, u.text, a.parameters "
        "from run_attack ra join attack a on a.id = ra.attack "
        "join rule u on u.id = a.rule where ra.run = ? order by ra.position",
        (run,),
    )
    return [
        RunAttack(number, label, form, text, str(settings.get("knows", "")), settings)
        for number, label, form, text, parameters in rows
        for settings in [json.loads(parameters)]
    ]


class PooledFigure(NamedTuple):
    """A figure of all tables together, with the counts above and below the line of a ratio."""

    value: float | None
    part: float | None
    whole: float | None


def pooled_figures(connection: sqlite3.Connection, run: int) -> dict[tuple[str, str], PooledFigure]:
    """Return the pooled figures of a run by (measure, attack), in the order of its attacks."""
    rows = connection.execute(
        "select v.measure, v.attack, v.value, v.part, v.whole from result v where v.run = ? "
        "order by (select position from run_attack a where a.run = v.run and a.label = v.attack)",
        (run,),
    )
    return {(measure, attack): PooledFigure(*figure) for measure, attack, *figure in rows}


def measured_families(connection: sqlite3.Connection, run: int) -> set[str]:
    """Return the families of measures of a run."""
    rows = connection.execute(
        "select distinct m.family from run_measurement r join measurement m on m.id = r.measurement where r.run = ?",
        (run,),
    )
    return {family for (family,) in rows}


def notes_of(connection: sqlite3.Connection, run: int) -> list[str]:
    """Return the distinct notes of a run on inputs that it could not measure or use."""
    notes = (text for sql in NOTES.values() for (text,) in connection.execute(sql, (run,)))
    return list(dict.fromkeys(notes))


def run_figures(connection: sqlite3.Connection, run: int, *, tables: bool) -> list[Figure]:
    """Return the figures of a run: attack, table, measure, value, and the counts of the ratio."""
    return connection.execute(
        f"select v.attack, {'v.scope' if tables else -1} as scope, v.measure, v.value, v.part, v.whole "
        f"from {'result_by_table' if tables else 'result'} v where v.run = ? "
        "order by (select position from run_attack a where a.run = v.run and a.label = v.attack), scope, v.measure",
        (run,),
    ).fetchall()


CountsByScope = dict[str, dict[int, tuple[float, float, float]]]
"""Three counts by attack and scope: the number of a table or cluster, or -1 for all."""


def claims_of(connection: sqlite3.Connection, run: int) -> CountsByScope:
    """Return all, right and expected claims of the attacks of a run that have ground truth."""
    claims = "r.name in ('precision', 'accuracy') and r.whole > 0"
    return _by_scope(_paired_counts(connection, run, "baseline", "r.whole, r.part, b.part", claims))


def recovered_by(connection: sqlite3.Connection, run: int) -> CountsByScope:
    """Return right, expected and hidden members of the attacks of a run that made claims."""
    recall = "r.name = 'recall' and r.value is not null"
    return _by_scope(_paired_counts(connection, run, "baseline", "r.part, b.part, r.whole", recall))


def _by_scope(rows: PairedCounts) -> CountsByScope:
    counts: CountsByScope = {}
    for attack, scope, *three in rows:
        counts.setdefault(attack, {})[scope] = (three[0], three[1], three[2])
    return counts


class Sureness(NamedTuple):
    """The findings of one attack in a tenth of probability: number, sum of their p, and number of right ones."""

    attack: str
    tenth: int
    findings: float
    p: float
    right: float


def sureness_of(connection: sqlite3.Connection, run: int) -> list[Sureness]:
    """Return the reliability curve of every attack of a run that was measured with `certain`."""
    tenths = "r.name = 'tenth_p' and r.whole > 0"
    return [Sureness(*row) for row in _paired_counts(connection, run, "tenth_right", "r.whole, r.part, b.part", tenths)]


def _paired_counts(connection: sqlite3.Connection, run: int, beside: str, counts: str, which: str) -> PairedCounts:
    """Pair the counts of some figures with the figure `beside`, for the same attack and table, where both exist."""
    rows = connection.execute(
        f"select a.label, r.scope, {counts} from run_attack a join measurement m on m.attack = a.attack "
        "join run_measurement x on x.run = a.run and x.measurement = m.id join measure r on r.measurement = m.id "
        f"join measure b on b.measurement = m.id and b.scope = r.scope and b.name = ? where a.run = ? and {which}",
        (beside, run),
    )
    return [row for row in rows if None not in row]


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
    # A later run replaces an earlier one: `read_runs` ends with the newest.
    newest = {
        (other.variant, other.repetition): other
        for other in read_runs(connection)
        if other.scenario == run.scenario and other.keys == run.keys and _fixed(other) == _fixed(run)
    }
    return sorted(newest.values(), key=lambda other: other.run)


def _fixed(run: StudyRun) -> JsonObject:
    """Return the configuration without the varied keys; where methods vary, also without the attacks of each form."""
    paths = [tuple(key.split(".")) for key in run.keys]
    own = [("attack",)] if any(path[0] == "anonymise" for path in paths) else []
    return dict(_drop_keys(run.config, [*paths, *own]))


def _drop_keys(config: Config, paths: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        inside = [path[1:] for path in paths if path[0] in (key, "*")]
        if () in inside:
            continue
        # A key that varies may lie inside an entry of a list.
        inner = dict(zip(map(str, range(len(value))), value, strict=True)) if isinstance(value, list) else value
        yield key, dict(_drop_keys(inner, inside)) if inside and isinstance(inner, dict) else value
