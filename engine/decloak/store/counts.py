"""Counts of terms and pairs kept in the store, by the counter that gave them: asked for once ever."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from decloak.data.document_counter import Query, QueryPair
from decloak.errors import DecloakError
from decloak.store.opening import Store, connect_readonly

_FORMS = {False: "phrase", True: "words"}


def kept_counts(path: str | Path) -> int:
    """Count the answers in a store; 0 for an absent file or another kind of file, which raises an error when opened."""
    try:
        connection = connect_readonly(path)
    except DecloakError:
        return 0
    with closing(connection):
        sql = "select (select count(*) from counted) + (select count(*) from counted_pair)"
        return int(connection.execute(sql).fetchone()[0])


class StoredCounts:
    """The cache of counts in a store; each call that keeps something is a transaction of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def known_n(self, origin: str) -> int | None:
        row = self._store.connection.execute("select n from count_source where origin = ?", (origin,)).fetchone()
        return None if row is None else row[0]

    def keep_n(self, origin: str, n: int) -> None:
        with self._store.stage() as connection:
            connection.execute("update count_source set n = ? where id = ?", (n, _source(connection, origin)))

    def known(self, origin: str, queries: Sequence[Query]) -> dict[Query, int | None]:
        answers = _answers(self._store.connection, origin, queries)
        return {query: documents for query, (_, documents) in answers.items()}

    def known_pairs(self, origin: str, pairs: Sequence[QueryPair]) -> dict[QueryPair, int | None]:
        connection = self._store.connection
        numbers = _numbers(connection, origin, pairs)
        answers = {}
        for pair in pairs:
            if numbers.keys() >= set(pair):
                # A pair is stored once, with the smaller number first.
                a, b = sorted(numbers[query] for query in pair)
                sql = "select documents from counted_pair where a = ? and b = ?"
                row = connection.execute(sql, (a, b)).fetchone()
                if row is not None:
                    answers[pair] = row[0]
        return answers

    def keep_counts(self, origin: str, counts: Mapping[Query, int | None]) -> None:
        with self._store.stage() as connection:
            source = _source(connection, origin)
            connection.executemany(
                "insert into counted (source, term, form, documents, date) values (?, ?, ?, ?, date('now')) "
                "on conflict do nothing",  # another run may have asked in the meantime
                ((source, query.text, _FORMS[query.words], documents) for query, documents in counts.items()),
            )

    def keep_pairs(self, origin: str, counts: Mapping[QueryPair, int | None]) -> None:
        """Keep answers to pairs of queries whose own answers are kept."""
        with self._store.stage() as connection:
            numbers = _numbers(connection, origin, counts)
            connection.executemany(
                "insert into counted_pair (a, b, documents, date) values (min(?1, ?2), max(?1, ?2), ?3, date('now')) "
                "on conflict do nothing",
                ((numbers[a], numbers[b], documents) for (a, b), documents in counts.items()),
            )


def _source(connection: sqlite3.Connection, origin: str) -> int:
    connection.execute(
        "insert into count_source (origin, date) values (?, date('now')) on conflict do nothing", (origin,)
    )
    # After a conflict nothing was inserted, so that no `lastrowid` tells the number.
    return int(connection.execute("select id from count_source where origin = ?", (origin,)).fetchone()[0])


def _answers(
    connection: sqlite3.Connection, origin: str, queries: Iterable[Query]
) -> dict[Query, tuple[int, int | None]]:
    """Return the number and the documents of every answered query."""
    answers = {}
    for query in queries:
        row = connection.execute(
            "select c.id, c.documents from count_source s join counted c on c.source = s.id "
            "where s.origin = ? and c.term = ? and c.form = ?",
            (origin, query.text, _FORMS[query.words]),
        ).fetchone()
        if row is not None:
            answers[query] = row
    return answers


def _numbers(connection: sqlite3.Connection, origin: str, pairs: Iterable[QueryPair]) -> dict[Query, int]:
    queries = dict.fromkeys(query for pair in pairs for query in pair)
    return {query: number for query, (number, _) in _answers(connection, origin, queries).items()}
