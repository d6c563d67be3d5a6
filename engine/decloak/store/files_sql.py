"""SQL over the records of a store that are in Parquet files, by DuckDB: read-only, and of these files alone."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from glob import escape
from importlib import import_module
from pathlib import Path

from decloak.data.formats.blocks import ITEMS, Blocks, Part, parts_folder
from decloak.data.formats.cluster_files import CLUSTER
from decloak.data.formats.lines import location
from decloak.data.forms import FormName
from decloak.errors import DecloakError, quote
from decloak.extras import install
from decloak.store.inserting import quoted
from decloak.store.opening import connect_readonly
from decloak.store.records import read_parts

COPIED = ("dataset", "release", "part", "item", "generalised", "member_of", "run", "measurement", "measure")
"""The tables that a query can join with the records."""
TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "VARCHAR"}


@contextmanager
def ask_files(store: Path, query: str) -> Iterator[tuple[Sequence[str], Iterator[tuple[object, ...]]]]:
    """Give the columns and the rows of `query` over the files of `store`.

    The view `record` has the data set and the elements of each record, `contains` a row for each element. The view
    `cluster` has the size and the chunks of each cluster. Small tables of the store are there as well.
    """
    try:
        duckdb = import_module("duckdb")
    except ImportError:
        raise DecloakError("SQL over files needs duckdb", "--parts", install("sql")) from None
    with closing(connect_readonly(store)) as connection, closing(duckdb.connect(":memory:")) as memory:
        for table in COPIED:
            _copy(connection, memory.execute, table)
        queries, files = _queries(connection, store)
        if not files:
            raise DecloakError("no records of this store are in Parquet files", location(store), "leave out --parts")
        for view, parts in queries.items():
            memory.execute(f"create view {view} as {' union all '.join(parts)}")
        memory.execute("create view contains as select dataset, unnest(elements) as item from record")
        memory.execute(f"set allowed_paths = [{', '.join(map(_text, files))}]")
        # From here on, SQL of the user can open these files and nothing else.
        memory.execute("set enable_external_access = false")
        memory.execute("set lock_configuration = true")
        try:
            statements = memory.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise DecloakError("one query is expected", hint="write a select")
            result = memory.execute(statements[0])
            yield [column[0] for column in result.description or ()], iter(result.fetchone, None)
        except duckdb.Error as error:
            hint = "the tables are record, contains, cluster, " + ", ".join(COPIED)
            raise DecloakError(f"SQL: {quote(str(error).splitlines()[0], 300)[1:-1]}", hint=hint) from None


def _copy(connection: sqlite3.Connection, execute: Callable[..., object], table: str) -> None:
    rows = connection.execute(f"select * from {table}")
    kinds = {name: kind for _, name, kind, *_ in connection.execute(f"pragma table_info({table})").fetchall()}
    execute(f"create table {table} ({', '.join(f'{quoted(name)} {TYPES[kinds[name]]}' for name in kinds)})")
    values = [list(column) for column in zip(*rows, strict=True)]
    if values:
        execute(f"insert into {table} select {', '.join(['unnest(?)'] * len(values))}", values)


def _queries(connection: sqlite3.Connection, store: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Return, by view, the query of each data set in Parquet files, and these files. The view `record` may be empty."""
    queries = {"record": ["select null::bigint as dataset, null::varchar[] as elements where false"]}
    files = list[str]()
    for dataset, kind, form in connection.execute("select id, kind, format from dataset order by id").fetchall():
        parts = read_parts(connection, dataset)
        if parts and (kind == "published" or form == "parquet"):
            paths, column = _files_of(store, kind, parts)
            # DuckDB would read other files, which fit the pattern: it takes no path literally.
            if pattern := next((path for path in paths if escape(path) != path), None):
                hint = "move the store and its files to a folder without these"
                raise DecloakError("DuckDB takes a path with *, ? or [ for a pattern", location(pattern), hint)
            view, columns = "record", f"{quoted(column)}::varchar[] as elements"
            if form == FormName.DISASSOCIATED:
                view, columns = "cluster", ", ".join(CLUSTER)
            listed = f"select {dataset} as dataset, {columns} from read_parquet([{', '.join(map(_text, paths))}])"
            queries.setdefault(view, []).append(listed)
            files += paths
    return queries, files


def _files_of(store: Path, kind: str, parts: Sequence[Part]) -> tuple[list[str], str]:
    """Return the files of a data set, and the column of lists. The store may be from elsewhere, and name any file."""
    folder = store.resolve().parent
    if kind == "published":
        return list(Blocks.of_parts(folder, parts_folder(store.resolve()), parts).files), ITEMS
    paths = [(folder / part.path).resolve() for part in parts]
    for path, part in zip(paths, parts, strict=True):
        if not path.is_file() or path.stat().st_size != part.bytes:
            raise DecloakError("the file of the data is not there, or has changed", location(path), "move it back")
    return list(map(str, paths)), Blocks.of(paths[0], "parquet").column


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
