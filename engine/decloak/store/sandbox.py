"""The connection that the SQL of rules runs on: a database of the attacker's, and nothing else.

`store/attackers_database.py` fills the database with the relations that one rule reads. Nothing of the store is in it.
The authorizer is the second line of defence. It refuses relations that the rule does not name where it is checked,
ATTACH, PRAGMA, writes and extension loading, and keeps the reason for the error.

The authorizer cannot end one long step of SQLite's machine. SQL of strangers therefore runs in a process of its own
(`sandbox_guard`), where a sandbox of this class does the same things.

Run a query rule's steps in a sandbox: once, or round by round until nothing is new.
"""

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from decloak.errors import DecloakError, quote, suggest
from decloak.store.inserting import quoted
from decloak.store.opening import add_functions
from decloak.store.relations import RELATIONS, Row, SqlValue, taken

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
_VERBS = ("ATTACH", "DETACH", "PRAGMA", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "TRANSACTION")
_ACTIONS = {
    getattr(sqlite3, name): name.removeprefix("SQLITE_").replace("_", " ").lower()
    for name in dir(sqlite3)
    if name.startswith(tuple(f"SQLITE_{verb}" for verb in _VERBS))
}
_UNREPEATABLE = {
    "random", "randomblob", "changes", "total_changes", "last_insert_rowid",
    "date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff",
    "current_date", "current_time", "current_timestamp",
}  # fmt: skip
_REFUSED = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}
_BUILT_IN = ("sqlite_", "pragma_", "truth_")
_ONE_SELECT = "a rule is one SELECT over its relations"
_LONGEST_VALUE = 10_000_000
_STRIDE = 200_000
_MOST_STEPS, _MOST_STEPS_EMPTY = 10_000_000_000, 10_000_000
_MOST_PAGES, _MOST_ROWS = 250_000, 10_000_000
"""The limits of one statement: steps of SQLite's machine (second number: over empty relations), pages of temporary
tables (1 GB), and rows of a result in memory.
"""


def is_denied(error: Exception) -> bool:
    """Return whether an authorizer denied a statement, also by an exception of its own."""
    code = getattr(error, "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_AUTH or str(error).startswith("not authorized to use function")


class Sandbox:
    """A guarded connection; `select`, `make` and `extend` are all a rule's SQL ever goes through."""

    def __init__(
        self, connection: sqlite3.Connection, relations: Iterable[str] = (), most_steps: int | None = None
    ) -> None:
        self._connection = connection
        self._steps, self._most_steps = 0, _MOST_STEPS if most_steps is None else most_steps
        self._shows: dict[str, str] = {}
        self._names = {name.lower() for name in relations}
        self._own: str | None = None
        self._trusted = False
        self._refusal: str | None = None
        self.read: set[str] = set()
        add_functions(connection)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        # A second lock: the authorizer denies ATTACH, and VACUUM, which attaches its copy.
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        # Before there is an authorizer, which would deny this query.
        self._foreign = _names_in(connection)
        connection.execute("pragma temp_store = memory")
        connection.execute(f"pragma temp.max_page_count = {_MOST_PAGES}")
        connection.set_progress_handler(self._step, _STRIDE)
        connection.set_authorizer(self._authorize)

    @classmethod
    def of(cls, path: str | Path, relations: Iterable[str]) -> "Sandbox":
        """Open a file that is an attacker's database; the rule may read these relations of it."""
        # Meanwhile no process writes to it: SQLite need not lock it.
        url = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
        return cls(sqlite3.connect(url, uri=True, isolation_level=None), relations)

    @classmethod
    def empty(cls, relations: Mapping[str, Sequence[str]]) -> "Sandbox":
        """Open a database where rules are checked and tested: relations with columns, no rows.

        Each relation is a view over a table with a random name. SQLite tells the authorizer of every view that a
        statement names, but nothing of a table of which only joined columns are read.
        """
        connection = sqlite3.connect(":memory:", isolation_level=None)
        shows = {}
        for name, columns in relations.items():
            # Random: a rule that could name the table would pass by the view.
            door, chosen = f"_{os.urandom(16).hex()}", ", ".join(map(quoted, columns))
            connection.execute(f"create table {door} ({chosen})")
            connection.execute(f"create view {quoted(name)} as select {chosen} from {door}")
            shows[door] = name
        sandbox = cls(connection, relations, _MOST_STEPS_EMPTY)
        sandbox._shows = shows
        return sandbox

    def fill(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[SqlValue]]) -> None:
        """Let rules read `name` with the rows given here: a relation of an empty sandbox, or an additional table."""
        door = next((door for door, shown_as in self._shows.items() if shown_as == name), None)
        # A view takes no rows: they go into the table behind it.
        into = door or f"temp.{quoted(name)}"
        listed = ", ".join(map(quoted, columns))
        with self._ours():
            if door is not None:
                self._connection.execute(f"delete from {into}")
            else:
                self._connection.execute(f"drop table if exists {into}")
                self._connection.execute(f"create table {into} ({listed})")
            marks = ", ".join("?" * len(columns))
            self._connection.executemany(f"insert into {into} ({listed}) values ({marks})", rows)
        self._names.add(name)

    def keep(self, name: str, sql: str) -> None:
        """Let rules read `name`, a table of the rows of our own SQL; it replaces the last of that name."""
        self.engine(f"drop table if exists temp.{quoted(name)}")
        self.engine(f"create temp table {quoted(name)} as {sql}")
        self._names.add(name)

    def select(self, sql: str, place: str | None = None) -> tuple[tuple[str, ...], list[Row]]:
        """Run a rule's SELECT; return its column names and rows."""
        columns, rows = self.stream(sql, place)
        held = list(islice(rows, _MOST_ROWS + 1))
        if len(held) > _MOST_ROWS:
            raise DecloakError(f"the SQL gives over {_MOST_ROWS} rows", place, "let it come to an end")
        return columns, held

    def stream(self, sql: str, place: str | None = None) -> tuple[tuple[str, ...], Iterator[Row]]:
        """Run a rule's SELECT as `select` does, and yield its rows on demand."""
        cursor = self._run(sql, place)
        return tuple(column[0] for column in cursor.description or ()), self._rows(cursor, place)

    def columns(self, sql: str, place: str | None = None) -> tuple[str, ...]:
        """Check a rule's SQL without running it; return the columns it would give."""
        self._check(sql, place)
        # The line break ends a comment that the rule's SQL may end with.
        return self.select(f"select * from ({sql}\n) limit 0", place)[0]

    def _check(self, sql: str, place: str | None) -> None:
        """Check that SQLite accepts `sql`, and that each name in double quotes is a column: others would be text."""
        self._connection.text_factory = partial(str, encoding="utf-8", errors="replace")  # of blobs in the steps
        try:
            steps = self._rows(self._run(f"explain {sql}", place), place)
            # SQLite takes a name that is no column as text, which its program loads by this step.
            texts = {row[5] for row in steps if row[1] == "String8"}
        finally:
            self._connection.text_factory = str
        for name in re.findall(r'"([^"]+)"', sql) if texts else ():
            # The program may load the same text for single quotes.
            if name in texts and f"'{name}'" not in sql:
                hint = _column_for(name) or "write text in single quotes"
                raise DecloakError(f"no column {quote(name)}", place, hint)

    def make(self, name: str, sql: str, place: str | None = None) -> None:
        """Store the rows of a rule's SELECT as the temporary table `name`."""
        self._check(sql, place)
        self._own = name
        try:
            self._run(f"create temp table {quoted(name)} as {sql}", place)
            self._names.add(name)
        finally:
            self._own = None

    def index(self, name: str) -> None:
        """Index a stored step by its columns up to four, in order: the joins of rules use leading columns."""
        with self._ours():
            columns = self._connection.execute(f"pragma temp.table_info({quoted(name)})").fetchall()
            chosen = ", ".join(quoted(column[1]) for column in columns[:4])
            self._connection.execute(f"create index temp.{quoted('index of ' + name)} on {quoted(name)} ({chosen})")

    def engine(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Run SQL of the rule engine itself on the temporary tables."""
        return list(self.engine_stream(sql, values))

    def engine_stream(self, sql: str, values: Sequence[SqlValue] = ()) -> Iterator[Row]:
        """Run SQL as `engine` does, and yield its rows on demand; the SQL has run when this returns."""
        with self._ours():
            return iter(self._connection.execute(sql, values))

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _ours(self) -> Iterator[None]:
        self._trusted = True
        try:
            yield
        except sqlite3.Error as error:
            if is_denied(error) or self._interrupted(error):  # no other part denies anything
                raise KeyboardInterrupt from None
            raise
        finally:
            self._trusted = False

    def _step(self) -> bool:
        """Return True to end the statement; SQLite calls this at regular steps."""
        self._steps += _STRIDE
        return self._steps > self._most_steps

    def _run(self, sql: str, place: str | None) -> sqlite3.Cursor:
        self._refusal, self._steps = None, 0
        with self._explaining(place):
            return self._connection.execute(sql)

    def _rows(self, cursor: sqlite3.Cursor, place: str | None) -> Iterator[Row]:
        with self._explaining(place):
            yield from cursor

    @contextmanager
    def _explaining(self, place: str | None) -> Iterator[None]:
        """Turn an error of SQLite or of the authorizer into a message of decloak."""
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning) as error:
            if self._interrupted(error) or (is_denied(error) and not self._refusal):
                raise KeyboardInterrupt from None
            if self._refusal:
                raise DecloakError(self._refusal, place, _ONE_SELECT) from None
            raise explained(error, place) from None
        except (UnicodeError, ValueError):
            raise DecloakError("the SQL has a character SQLite cannot take", place, "write plain text") from None

    def _interrupted(self, error: Exception) -> bool:
        """Return whether the user pressed Ctrl-C. Inside `_step` Python interrupts SQLite; inside `_authorize` it
        denies the statement.
        """
        return str(error) == "interrupted" and self._steps <= self._most_steps

    def _authorize(self, action: int, name: str | None, detail: str | None, where: str | None, by: str | None) -> int:
        """Permit or deny an action, before SQLite does it, on a table `name` and a function or column `detail`."""
        if self._trusted or action in _READS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            return self._reading((name or "").lower(), where)
        if action == sqlite3.SQLITE_FUNCTION:
            return self._calling((detail or "").lower())
        # To make a table SQLite writes its own list of them as well.
        if self._own is not None and where == "temp" and name in (self._own, "sqlite_temp_master"):
            return sqlite3.SQLITE_OK
        # SQLite declares the table of such a function on its first use, by an update of the schema.
        if action == sqlite3.SQLITE_UPDATE and name == "sqlite_master":
            return self._refuse("a rule may not call a table-valued function such as json_each")
        return self._refuse(f"a rule may not {_ACTIONS.get(action, 'do that')} {quote(name) if name else ''}".rstrip())

    def _reading(self, table: str, where: str | None) -> int:
        if table in self._shows:
            self.read.add(self._shows[table])
            return sqlite3.SQLITE_OK
        if where in ("temp", "main", None) and table in self._names:
            self.read.add(table)
            return sqlite3.SQLITE_OK
        if where is None and table not in self._foreign and not table.startswith(_BUILT_IN):
            return sqlite3.SQLITE_OK  # no table has the name, so that the SQL gives it to a select of its own
        if table == "sqlite_temp_master" and self._own is not None:
            return sqlite3.SQLITE_OK
        return self._refuse(_hidden(table))

    def _calling(self, function: str) -> int:
        if function in _REFUSED:
            return self._refuse(f"a rule may not call {function}()")
        if function in _UNREPEATABLE:
            return self._refuse(f"a rule may not call {function}(): the same run must give the same findings")
        return sqlite3.SQLITE_OK

    def _refuse(self, reason: str) -> int:
        self._refusal = self._refusal or reason
        return sqlite3.SQLITE_DENY


def _names_in(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the names that need no schema: tables, and functions that are tables."""
    tables = "select name from main.sqlite_master union all select name from pragma_module_list"
    return frozenset(name.lower() for (name,) in connection.execute(tables))


def _hidden(table: str) -> str:
    if table.startswith("truth_"):
        return f"a rule may not read {quote(table)}: only the evaluator knows the truth"
    return f"a rule may not read {quote(table)} of the store itself"


def _column_for(name: str) -> str | None:
    """Return the remedy for `name`, which is no column there: a similar column of a relation, or None."""
    columns = {column for relation in RELATIONS.values() for column in relation.columns}
    return suggest(name, sorted(columns - {name}))


def explained(error: Exception, place: str | None) -> DecloakError:
    """Explain an error of SQLite in the SQL of a rule."""
    text = str(error)
    hint = "`decloak schema --relations` lists what a rule may read"
    if text in ("interrupted", "database or disk is full"):
        return DecloakError("the SQL takes too long, or too much memory", place, "let it come to an end")
    if text.startswith("cannot modify "):  # a relation is a view, which no authorizer is asked about
        return DecloakError("a rule may not write into a relation", place, _ONE_SELECT)
    if text.startswith("no such table: "):
        table = text.removeprefix("no such table: ").lower().removeprefix("main.").removeprefix("temp.")
        if table not in RELATIONS and taken(table):
            return DecloakError(_hidden(table), place, _ONE_SELECT)
        hint = suggest(table, RELATIONS) or f"relations are {', '.join(RELATIONS)}"
    elif text.startswith("no such column: "):
        hint = _column_for(text.rpartition(".")[2].rpartition(" ")[2]) or hint
    elif "one statement at a time" in text or "syntax error" in text:
        hint = _ONE_SELECT
    return DecloakError(f"SQL: {quote(text, 120)[1:-1]}", place, hint)


LAST_ROUND, THIS_ROUND = "last_round", "this_round"
MOST_ROUNDS = 10_000


class Derived(NamedTuple):
    """One fact: the round it was derived in, from 1, and its values in the order of the rule's columns."""

    round: int
    values: Row


def make_steps(sandbox: Sandbox, steps: Mapping[str, str], places: Mapping[str, str]) -> None:
    """Store and index each named step, so that later ones plan against real tables."""
    for name, sql in steps.items():
        _check_name(name, places.get(name))
        sandbox.make(name, sql, places.get(name))
        sandbox.index(name)


def _check_name(name: str, place: str | None) -> None:
    """Refuse what the check of a rule refuses, however the rule got here."""
    if problem := taken(name):
        raise DecloakError(f"{quote(name)} {problem}", place, "choose another name")


def derive(sandbox: Sandbox, sql: str, columns: Sequence[str], place: str | None) -> list[Derived]:
    """Run the facts query of a rule; equal rows are one fact."""
    chosen = ", ".join(quoted(column) for column in columns)
    # Sorted: facts are numbered in this order, and SQLite's own order changes with its plan.
    _, rows = sandbox.select(f"select distinct {chosen} from ({sql}\n) order by {chosen}", place)
    return [Derived(1, row) for row in rows]


def fixpoint(
    sandbox: Sandbox, relation: str, columns: Sequence[str], start: str, repeat: str, places: Mapping[str, str]
) -> list[Derived]:
    """Run `start`, then `repeat` over what the last round added, until a round adds nothing.

    `repeat` may read `last_round` (semi-naive: only what is new) and the relation itself (all so far).
    """
    _check_name(relation, places.get("start"))
    chosen = ", ".join(quoted(column) for column in columns)
    sandbox.fill(relation, columns, ())
    _round(sandbox, start, chosen, relation, places.get("start"))
    facts: list[Derived] = []
    for number in range(1, MOST_ROUNDS + 1):
        rows = sandbox.engine(f"select {chosen} from temp.{LAST_ROUND} order by {chosen}")
        if not rows:
            return facts
        facts += [Derived(number, row) for row in rows]
        sandbox.engine(f"insert into temp.{quoted(relation)} select {chosen} from temp.{LAST_ROUND}")
        _round(sandbox, repeat, chosen, relation, places.get("repeat"))
    message = f"still something new after {MOST_ROUNDS} rounds"
    raise DecloakError(message, places.get("repeat"), "let the rule count to an end")


def _round(sandbox: Sandbox, sql: str, chosen: str, relation: str, place: str | None) -> None:
    """Put what `sql` gives beyond the facts known so far into `last_round`."""
    # SQL of the rule runs here alone: what `keep` runs is trusted.
    sandbox.make(THIS_ROUND, sql, place)
    sandbox.keep(
        LAST_ROUND, f"select {chosen} from temp.{THIS_ROUND} except select {chosen} from temp.{quoted(relation)}"
    )
    sandbox.engine(f"drop table temp.{THIS_ROUND}")
