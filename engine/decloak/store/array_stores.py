"""Read stores of versions 1 to 8, and findings of versions 9 to 17, and write them in the current version.

Versions 1 to 8 show records, distances and findings as rows of tables. From version 3 on a store may contain arrays of
numbers in their place. Then `pending` in the table of counts is filled, and the rows are made here first.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, repeat

import numpy as np

from decloak.arrays import NumberArray
from decloak.data.read_budget import charge
from decloak.store.assigned import mark_units, write_assigned_lists, write_probabilities
from decloak.store.disassociated import write_totals
from decloak.store.distance_tables import write_pairs
from decloak.store.documentation import schema_statements
from decloak.store.eliminations import (
    GROUPS,
    MEMBERS,
    ConcatenatedEliminations,
    write_eliminations,
)
from decloak.store.inserting import insert_rows, quoted
from decloak.store.lists import damaged, finding_lists, reference_lists, write_attack_numbers, write_numbers

_FORMS = ("u1", "u2", "u4", "i8", "f8")
_PACKED = 2
_PART = 1 << 26
"""Bytes that a part of an array takes at most."""
_COPIES = 3
"""Copies of an array in memory while it is read: its parts, all of them together, and the numbers."""
_OWNERS = {"dataset": "extent", "relatedness": "relatedness_extent", "scoring": "scoring_extent"}

Array = NumberArray


def write_lists(connection: sqlite3.Connection) -> None:
    """Write everything in an older store into tables of today."""
    tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    _make_rows(connection, tables)
    rules = _set_aside(connection, tables)
    for name, sql in schema_statements("TABLE"):
        connection.execute(sql)
        if f"old_{name}" in tables_of(connection):
            _copy(connection, name)
    _write_records(connection)
    _write_chunks(connection)
    for (relatedness,) in connection.execute("select id from relatedness order by id").fetchall():
        _write_pairs(connection, relatedness)
    for (scoring,) in connection.execute("select id from scoring order by id").fetchall():
        _write_distances(connection, scoring)
    for attack, form in connection.execute(
        "select a.id, u.form from attack a join rule u on u.id = a.rule order by a.id"
    ).fetchall():
        _write_findings(connection, attack, form)
        _write_certainty(connection, attack, tables)
    if "array" in tables:
        _write_totals(connection)
        _write_cut(connection)
    for name in tables_of(connection):
        if name.startswith("old_"):
            connection.execute(f"drop table {quoted(name)}")
    for kind in ("INDEX", "VIEW"):
        for _, sql in schema_statements(kind):
            connection.execute(sql)
    for sql in rules:
        connection.execute(sql.replace("named_struck", "named_eliminated"))


def tables_of(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the tables of a store."""
    return [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]


def _set_aside(connection: sqlite3.Connection, tables: Iterable[str]) -> list[str]:
    """Rename the tables of an older store to old_NAME, drop its views, and return the views of rules as SQL."""
    views = connection.execute("select name, sql from sqlite_master where type = 'view'").fetchall()
    own = {name for name, _ in schema_statements("VIEW")} | {"named_struck"}
    for name, _ in views:
        connection.execute(f"drop view {quoted(name)}")
    indexes = connection.execute("select name from sqlite_master where type = 'index' and sql is not null").fetchall()
    for (name,) in indexes:
        connection.execute(f"drop index {quoted(name)}")
    connection.execute("pragma legacy_alter_table = on")  # what refers to a table goes on to refer to its name
    facts = []
    for table in sorted(tables):
        if table.startswith("found_"):
            facts.append(table)
        elif not table.startswith("sqlite_"):
            connection.execute(f"alter table {quoted(table)} rename to {quoted(f'old_{table}')}")
    connection.execute("pragma legacy_alter_table = off")
    for table in facts:
        _refer_to_facts(connection, table)
    return [sql for name, sql in views if name not in own]


def _refer_to_facts(connection: sqlite3.Connection, table: str) -> None:
    """Make the table of a derived relation refer to facts: findings of other rules are no rows of a table."""
    columns = [row[1] for row in connection.execute(f"pragma table_info({quoted(table)})")][1:]
    connection.execute(f"alter table {quoted(table)} rename to {quoted(f'old_{table}')}")
    connection.execute(
        f"create table {quoted(table)} (finding integer primary key references fact (id) on delete cascade, "
        f"{', '.join(map(quoted, columns))})"
    )
    connection.execute(f"insert into {quoted(table)} select * from {quoted(f'old_{table}')}")


_REQUIRED = {"chunk": "items", "subrecord": "items", "distance_table": "members", "distance_row": "distances"}
"""Tables with lists that older stores lack; they are filled later."""


def _copy(connection: sqlite3.Connection, table: str) -> None:
    """Copy the columns that a table has had before."""
    if table in _REQUIRED:
        return
    now, before = ([row[1] for row in connection.execute(f"pragma table_info({quoted(name)})")]
                   for name in (table, f"old_{table}"))  # fmt: skip
    shared = ", ".join(quoted(name) for name in now if name in before)
    if table == "cluster":
        connection.execute(
            "insert into cluster (id, release, number, size, first) select c.id, c.release, c.number, c.size, "
            "coalesce((select min(r.txn) from old_cluster_row r where r.cluster = c.id), 1) from old_cluster c"
        )
    else:
        connection.execute(f"insert into {quoted(table)} ({shared}) select {shared} from {quoted(f'old_{table}')}")


def _write_records(connection: sqlite3.Connection) -> None:
    for statement in (
        # Without it the subquery below reads the rows of all clusters for each record.
        "create index temp_cluster_row on old_cluster_row (txn)",
        (
            "insert into record (id, dataset, cluster, label, elements) select t.id, t.dataset, "
            "(select r.cluster from old_cluster_row r where r.txn = t.id), "
            # A label that is only the place of its record is not stored.
            "iif(t.label = cast(t.position + 1 as text), null, t.label), "
            "coalesce((select '[' || group_concat(element) || ']' from (select element from ("
            # Generalised items are below zero, so that one list has the order of both kinds.
            "select position, item as element from old_contains where txn = t.id union all "
            "select position, -generalised from old_published_as where txn = t.id) order by position)), '[]') "
            "from old_txn t"
        ),
        (
            "update dataset set first = coalesce((select min(id) from old_txn t where t.dataset = dataset.id), 1), "
            "records = (select count(*) from old_txn t where t.dataset = dataset.id)"
        ),
        "drop index temp_cluster_row",
    ):
        connection.execute(statement)


def _write_chunks(connection: sqlite3.Connection) -> None:
    listed = "coalesce((select '[' || group_concat(item) || ']' from (select item from {} order by item)), '[]')"
    connection.execute(
        "insert into chunk (id, cluster, joint, number, kind, items) select id, cluster, joint, number, kind, "
        f"{listed.format('old_shows where chunk = k.id')} from old_chunk k"
    )
    connection.execute(
        "insert into subrecord (id, chunk, number, items) select id, chunk, number, "
        f"{listed.format('old_has_item where subrecord = s.id')} from old_subrecord s"
    )


def _write_pairs(connection: sqlite3.Connection, relatedness: int) -> None:
    rows = connection.execute("select a, b, score from old_related where relatedness = ?", (relatedness,)).fetchall()
    a, b, scores = np.array(rows, np.float64).reshape(-1, 3).T
    write_pairs(connection, relatedness, a.astype(np.int64), b.astype(np.int64), scores)


def _write_distances(connection: sqlite3.Connection, scoring: int) -> None:
    connection.execute(
        "insert into distance_table (id, scoring, number, generalised, members, columns) "
        "select t.id, t.scoring, t.number, t.generalised, '[' || (select group_concat(item) from (select item from "
        "old_distance_col k where k.distance_table = t.id order by col)) || ']', "
        "(select count(*) from old_distance_col k where k.distance_table = t.id) "
        "from old_distance_table t where t.scoring = ?",
        (scoring,),
    )
    rows = connection.execute(
        "select r.distance_table, r.row, r.txn, coalesce((select '[' || group_concat(item) || ']' from (select item "
        "from old_context c where c.distance_table = t.id and c.row = r.row order by item)), '[]'), t.columns "
        "from distance_table t join old_distance_row r on r.distance_table = t.id where t.scoring = ? "
        "order by t.id, r.row",
        (scoring,),
    ).fetchall()
    cells = connection.execute(
        "select c.d from distance_table t join old_cell c on c.distance_table = t.id where t.scoring = ? "
        "order by t.id, c.row, c.col",
        (scoring,),
    ).fetchall()
    first, references = write_numbers(connection, np.array(cells, np.float64).reshape(-1))
    connection.execute("update scoring set numbers = ? where id = ?", (first, scoring))
    starts = np.cumsum([0, *(row[-1] for row in rows)])[:-1]
    written = ((*row[:-1], text) for row, text in zip(rows, reference_lists(references, starts), strict=True))
    insert_rows(connection, "distance_row (distance_table, row, txn, context, distances)", written)


def _write_findings(connection: sqlite3.Connection, attack: int, form: str) -> None:
    first, count = connection.execute(
        "select coalesce(min(id), (select coalesce(max(id), 0) + 1 from old_finding)), count(*) "
        "from old_finding where attack = ?",
        (attack,),
    ).fetchone()
    connection.execute("update attack set first = ?, findings = ? where id = ?", (first, count, attack))
    if form == "eliminate":
        _write_eliminations(connection, attack, first)
    elif form == "reassociate":
        source = "old_finding f join old_assigned s on s.finding = f.id"
        kinds = f"select distinct s.chunk, s.unit from {source} where f.attack = ?"
        connection.execute(f"insert or ignore into unit (chunk, items) {kinds}", (attack,))
        mark_units(connection)
        units = "join unit u on u.chunk = s.chunk and u.items = s.unit where f.attack = ?"
        given = f"select s.finding, s.txn, u.id as unit, s.value from {source} {units}"
        _write_assigned(connection, attack, first, given)
    else:
        connection.execute("insert into fact select id, attack, round from old_finding where attack = ?", (attack,))


def _write_assigned(connection: sqlite3.Connection, attack: int, first: int, given: str) -> None:
    """Write the findings of `attack` from the number `first` on as lists; `given` selects them as rows."""
    rows = connection.execute(
        f"select c.id, x.unit * c.size + x.txn - c.first, x.value from ({given}) x left join record r on r.id = x.txn "
        "left join cluster c on c.id = r.cluster order by x.finding",
        (attack,),
    )
    told = np.array(rows.fetchall(), np.float64).reshape(-1, 3)
    if np.isnan(told[:, :2]).any():
        raise damaged(f"attack {attack} assigns to records that its release does not have")
    clusters, codes = told[:, :2].astype(np.int64).T
    write_assigned_lists(connection, attack, first, clusters, codes, told[:, 2])


def write_findings(connection: sqlite3.Connection) -> None:
    """Write the findings of a store of versions 9 to 17 as lists: there each is a row of a table."""
    mark_units(connection)
    for attack, first in connection.execute("select id, first from attack order by id").fetchall():
        _write_assigned(connection, attack, first, "select * from old_assigned_unit where attack = ?")
        rows = connection.execute(
            "select x.* from old_eliminated_member x join elimination e on e.id = x.elimination where e.attack = ? "
            "order by x.finding",
            (attack,),
        )
        told = np.array(rows.fetchall(), np.float64).reshape(-1, 6)
        _, owner, cells, groups = told[:, :4].astype(np.int64).T
        judged = "select coalesce(max(weighted), 0), coalesce(max(suspected), 0) from elimination where attack = ?"
        weights, suspicions = (
            write_attack_numbers(connection, attack, column) if needed else None
            for column, needed in zip(told[:, 4:].T, connection.execute(judged, (attack,)).fetchone(), strict=True)
        )
        insert_rows(connection, MEMBERS, finding_lists(first, owner, 3 * cells + groups, weights, suspicions))


def _write_eliminations(connection: sqlite3.Connection, attack: int, first: int) -> None:
    eliminated = connection.execute(
        "select t.number, s.row, s.col, f.round, instr('trc', substr(s.\"group\", 1, 1)) - 1, s.suspicion, s.weight, "
        "s.threshold from old_finding f join old_struck s on s.finding = f.id "
        "join old_distance_table t on t.id = s.distance_table where f.attack = ? order by f.id",
        (attack,),
    ).fetchall()
    kept = connection.execute(
        "select t.number, s.row, s.col, s.weight from old_spared s "
        "join old_distance_table t on t.id = s.distance_table where s.attack = ? order by t.number, s.row, s.col",
        (attack,),
    ).fetchall()
    done, left = np.array(eliminated, np.float64).reshape(-1, 8).T, np.array(kept, np.float64).reshape(-1, 4).T
    # Tables come in the order of their findings; those without findings come last.
    order = list(dict.fromkeys([*done[0].astype(int).tolist(), *left[0].astype(int).tolist()]))
    tables = np.array(order, np.int64)
    by_table = np.argsort([order.index(number) for number in left[0].astype(int).tolist()], kind="stable")
    left = left[:, by_table] if len(order) else left
    names = ("rows", "cols", "rounds", "groups", "suspicions", "weights")
    columns: dict[str, Array] = dict(zip(names, done[1:7], strict=True))
    columns |= dict(zip(("kept_rows", "kept_cols", "kept_weights"), left[1:], strict=True))
    for name in ("rows", "cols", "rounds", "groups", "kept_rows", "kept_cols"):
        columns[name] = columns[name].astype(np.int64)
    limits = {int(number): limit for number, limit in zip(done[0].tolist(), done[7].tolist(), strict=True)}
    eliminated_counts, kept_counts = (
        np.array([np.count_nonzero(side == number) for number in order], np.int64) for side in (done[0], left[0])
    )
    thresholds = np.array([limits.get(number, np.nan) for number in order], np.float64)
    eliminations = ConcatenatedEliminations(tables, thresholds, eliminated_counts, kept_counts, columns)
    write_eliminations(connection, attack, eliminations, first)


def _write_certainty(connection: sqlite3.Connection, attack: int, tables: Iterable[str]) -> None:
    """Write the probabilities of the findings of an attack, and the rows that share the last places of its units."""
    if "attack_array" not in tables:
        return
    write_probabilities(connection, attack, _array(connection, "old_attack_array", "attack", attack, "probabilities"))
    tied, until = (_array(connection, "old_attack_array", "attack", attack, name) for name in ("tied", "tied_until"))
    if tied is None or until is None:
        return
    rows = connection.execute(
        "select k.value / c.size, c.id, c.first from assigned_units x join cluster c on c.id = x.cluster "
        "join json_each(x.units) k where x.attack = ? order by x.first, k.key",
        (attack,),
    ).fetchall()
    begins = [place for place, row in enumerate(rows) if not place or row != rows[place - 1]]
    (first,) = connection.execute(
        "select d.first from attack a join release l on l.id = a.release join dataset d on d.id = l.dataset "
        "where a.id = ?",
        (attack,),
    ).fetchone()
    if len(until) != len(begins):
        raise damaged(f"the ties of attack {attack} are of no finding")
    ends = [0, *until.tolist()]
    sharing = {
        place: [int(txn) + first - rows[place][2] for txn in tied[low:high].tolist()]
        for place, (low, high) in zip(begins, pairwise(ends), strict=True)
        if high > low
    }
    text = json.dumps(sharing, separators=(",", ":")) if sharing else None
    connection.execute("update attack set ties = ? where id = ?", (text, attack))


def _write_totals(connection: sqlite3.Connection) -> None:
    """Write the totals that disassociated releases publish."""
    for release, dataset in connection.execute("select id, dataset from release").fetchall():
        supports = _array(connection, "old_array", "dataset", dataset, "totals")
        if supports is not None:
            names = _texts(connection, "old_array", "dataset", dataset, "total_items")
            write_totals(connection, release, list(zip(names, supports.tolist(), strict=True)))


def _write_cut(connection: sqlite3.Connection) -> None:
    """Write the occurrences that releases suppressed."""
    for release, dataset, first in connection.execute(
        "select r.id, r.dataset, d.first from release r join truth_release o on o.release = r.id "
        "join dataset d on d.id = o.original"
    ).fetchall():
        cells = _array(connection, "old_truth_array", "dataset", dataset, "cut")
        if cells is not None:
            rows = cells.astype(np.int64).reshape(-1, 2) + np.array((first, 0))
            insert_rows(connection, "truth_cut (release, txn, item)", ((release, *row) for row in rows.tolist()))


def _make_rows(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    """Make the rows of all that an older store has as arrays alone."""
    for owner, extent in _OWNERS.items():
        if extent in tables:
            for (number,) in connection.execute(f"select {owner} from {extent} where pending is not null").fetchall():
                {"dataset": _dataset_rows, "relatedness": _pair_rows, "scoring": _cell_rows}[owner](connection, number)
    for extent, make in (("attack_extent", _eliminated_rows), ("assigned_extent", _assigned_rows)):
        if extent in tables:
            for row in connection.execute(f"select attack, first from {extent} where pending is not null").fetchall():
                make(connection, *row)


def _dataset_rows(connection: sqlite3.Connection, dataset: int) -> None:
    (first,) = connection.execute("select first from extent where dataset = ?", (dataset,)).fetchone()
    lengths, codes, elements = (_required_array(connection, "array", "dataset", dataset, name).astype(np.int64)
                                for name in ("lengths", "codes", "elements"))  # fmt: skip
    labels = _texts(connection, "array", "dataset", dataset, "labels") or [str(n + 1) for n in range(len(lengths))]
    numbers = range(first, first + len(lengths))
    places = zip(numbers, repeat(dataset), range(len(lengths)), labels, strict=False)
    insert_rows(connection, "txn (id, dataset, position, label)", places)
    start = np.cumsum(lengths) - lengths
    held = elements[codes]
    columns = (np.repeat(np.arange(len(lengths)) + first, lengths), np.arange(len(codes)) - np.repeat(start, lengths))
    for into, mask in (("contains (txn, position, item)", held > 0),
                       ("published_as (txn, position, generalised)", held < 0)):  # fmt: skip
        shown = (*(column[mask].tolist() for column in columns), np.abs(held[mask]).tolist())
        insert_rows(connection, into, zip(*shown, strict=True))
    clusters = connection.execute(
        "select c.id, c.size from release l join cluster c on c.release = l.id where l.dataset = ? order by c.number",
        (dataset,),
    ).fetchall()
    (known,) = connection.execute(
        "select count(*) from cluster_row where txn >= ?1 and txn < ?1 + ?2", (first, len(lengths))
    ).fetchone()
    if not known:
        rows = ((cluster, row) for cluster, size in clusters for row in range(size))
        insert_rows(connection, "cluster_row (txn, cluster, row)", ((txn, *row) for txn, row in enumerate(rows, first)))
    _truth_rows(connection, dataset, first)


def _truth_rows(connection: sqlite3.Connection, dataset: int, first: int) -> None:
    origins = _array(connection, "truth_array", "dataset", dataset, "origins")
    if origins is not None:
        (start,) = connection.execute(
            "select e.first from release r join truth_release o on o.release = r.id "
            "join extent e on e.dataset = o.original where r.dataset = ?",
            (dataset,),
        ).fetchone()
        rows = enumerate((origins.astype(np.int64) + start).tolist(), first)
        insert_rows(connection, "truth_origin (txn, original)", rows)
    marked = _array(connection, "truth_array", "dataset", dataset, "marked")
    if marked is not None:
        pairs = marked.astype(np.int64).reshape(-1, 2) + np.array((first, 0))
        insert_rows(connection, "truth_marked (txn, item)", pairs.tolist())


def _pair_rows(connection: sqlite3.Connection, relatedness: int) -> None:
    items, a, b, scores = (_required_array(connection, "relatedness_array", "relatedness", relatedness, name)
                           for name in ("items", "a", "b", "scores"))  # fmt: skip
    columns = (items[a].tolist(), items[b].tolist(), scores.tolist())  # SQLite reads NaN as null
    insert_rows(connection, "related (relatedness, a, b, score)", zip(repeat(relatedness), *columns, strict=False))


def _cell_rows(connection: sqlite3.Connection, scoring: int) -> None:
    names = ("heights", "widths", "d", "context_lengths", "context_codes", "context_items")
    heights, widths, d, lengths, codes, items = (
        _required_array(connection, "scoring_array", "scoring", scoring, name) for name in names
    )
    tables = connection.execute("select id from distance_table where scoring = ? order by number", (scoring,))
    shapes = list(zip((id_ for (id_,) in tables), heights.tolist(), widths.tolist(), strict=True))
    cells = ((id_, row, col) for id_, height, width in shapes for row in range(height) for col in range(width))
    rows = ((*cell, value) for cell, value in zip(cells, d.tolist(), strict=True))
    insert_rows(connection, "cell (distance_table, row, col, d)", rows)
    places = [(id_, row) for id_, height, _ in shapes for row in range(height)]
    row_of = np.repeat(np.arange(len(places)), lengths).tolist()
    held = ((*places[row], item) for row, item in zip(row_of, items[codes].tolist(), strict=True))
    insert_rows(connection, "context (distance_table, row, item)", held)


def _eliminated_rows(connection: sqlite3.Connection, attack: int, first: int) -> None:
    names = ("tables", "rows", "cols", "rounds", "groups", "suspicions", "thresholds", "weights")
    arrays = {name: _required_array(connection, "attack_array", "attack", attack, name).tolist() for name in names}
    numbers = range(first, first + len(arrays["tables"]))
    insert_rows(connection, "finding (id, attack, round)", zip(numbers, repeat(attack), arrays["rounds"], strict=False))
    groups = [GROUPS[group] for group in arrays["groups"]]
    cells = (arrays[name] for name in ("tables", "rows", "cols"))
    told = (arrays[name] for name in ("suspicions", "thresholds", "weights"))
    columns = 'struck (finding, distance_table, row, col, "group", suspicion, threshold, weight)'
    insert_rows(connection, columns, zip(numbers, *cells, groups, *told, strict=True))
    left = (_required_array(connection, "attack_array", "attack", attack, f"spared_{name}").tolist()
            for name in ("tables", "rows", "cols", "weights"))  # fmt: skip
    rows = zip(repeat(attack), *left, strict=False)
    insert_rows(connection, "spared (attack, distance_table, row, col, weight)", rows)


def _assigned_rows(connection: sqlite3.Connection, attack: int, first: int) -> None:
    places, chunks, units, values = (_required_array(connection, "attack_array", "attack", attack, name).tolist()
                                     for name in ("places", "chunks", "units", "values"))  # fmt: skip
    names, texts = (
        _texts(connection, "attack_array", "attack", attack, name) for name in ("chunk_names", "unit_texts")
    )
    (start,) = connection.execute(
        "select e.first from attack a join release l on l.id = a.release join extent e on e.dataset = l.dataset "
        "where a.id = ?",
        (attack,),
    ).fetchone()
    numbers = range(first, first + len(places))
    insert_rows(connection, "finding (id, attack, round)", zip(numbers, repeat(attack), repeat(1), strict=False))
    rows = (
        (number, place + start, names[chunk], texts[unit], value)
        for number, place, chunk, unit, value in zip(numbers, places, chunks, units, values, strict=True)
    )
    insert_rows(connection, "assigned (finding, txn, chunk, unit, value)", rows)


def _required_array(connection: sqlite3.Connection, table: str, owner: str, number: int, name: str) -> Array:
    array = _array(connection, table, owner, number, name)
    if array is None:
        raise damaged(f"the array {name} of {owner} {number} is not there")
    return array


def _array(connection: sqlite3.Connection, table: str, owner: str, number: int, name: str) -> Array | None:
    """Return an array, or None if no array has the name."""
    form, content = _content(connection, table, owner, number, name)
    if form is None:
        return None
    if form not in _FORMS or len(content) % np.dtype(form).itemsize:
        raise damaged(f"the array {name} of {owner} {number} has another form")
    return np.frombuffer(content, f"<{form}")


def _texts(connection: sqlite3.Connection, table: str, owner: str, number: int, name: str) -> Sequence[str]:
    _, content = _content(connection, table, owner, number, name)
    return content.decode("utf-8", "surrogatepass").split("\0")[:-1]


def _content(
    connection: sqlite3.Connection, table: str, owner: str, number: int, name: str
) -> tuple[str | None, bytes]:
    rows = connection.execute(
        f"select version, form, checksum, content from {table} where {owner} = ? and name = ? order by part",
        (number, name),
    ).fetchall()
    parts = list(_parts(rows, f"the array {name} of {owner} {number}"))
    return (rows[0][1] if rows else None), b"".join(parts)


def _parts(rows: Sequence[tuple[int, str, int, bytes]], what: str) -> Iterator[bytes]:
    for version, _, checksum, content in rows:
        if zlib.crc32(content) != checksum:
            raise damaged(what)
        # An array larger than a part was packed by another program.
        part = zlib.decompressobj().decompress(content, _PART) if version == _PACKED else content
        charge(_COPIES * len(part))
        yield part
