"""Stores of every older version become what a new store is, and are read without being written."""

import gzip
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import decloak
from decloak.store.assigned import read_assigned
from decloak.store.distance_tables import read_distances, read_pair_scores
from decloak.store.migrations import FIGURES
from decloak.store.opening import APPLICATION, connect_readonly, open_store
from decloak.store.records import read_dataset
from decloak.store.releases import read_set_generalised
from decloak.store.seals import broken_seals
from slowly import slow_but
from stores import GOLDEN, old_store, rows_of, whole

OLD = [1, 5, 8, 10, 14, 17]
"""Versions whose schema is in tests/golden."""
FIRST = """\
scenario: clusters of a clinic
data: {generate: clinic, transactions: 40, seed: 7}
anonymise: {method: disassociation, k: 2, m: 2, max_cluster: 8, refine: true, totals: true}
relate: {measure: ngd, source: release}
attack: [aba, expectation, cover]
measure: [accuracy, calibration]
"""
SECOND = """\
scenario: sets of a clinic
data: {generate: clinic, transactions: 40, seed: 7}
anonymise: {method: coat, k: 5, privacy: {count: 5, sizes: [2]}}
relate: {measure: ngd, source: clinic-counts}
attack: [mda, gba, wba, {rule: km_violation, k: 5, m: 2}]
measure: [recovery, calibration]
"""
"""The runs of arrays-8.sql.gz, after the worked example."""


def arrays(path: Path) -> Path:
    """Make a store of version 8 that holds three runs as arrays alone."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(gzip.decompress((GOLDEN / "arrays-8.sql.gz").read_bytes()).decode())
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute("pragma user_version = 8")
    return path


def without_rules(rows: dict[str, list]) -> dict[str, list]:
    """Return rows without what rules derived in tables of their own, which no older schema names."""
    return {name: held for name, held in rows.items() if not name.startswith("found_")}


@pytest.mark.parametrize("version", OLD)
def test_an_old_store_becomes_what_a_new_one_is(store, tmp_path, version):
    old_store(store, tmp_path / "old.db", version)
    open_store(tmp_path / "old.db").close()
    assert whole(tmp_path / "old.db") == without_rules(whole(store))
    made = "(select type, name, tbl_name from sqlite_master where "
    made += " and ".join(f"name not like '{prefix}%'" for prefix in ("why_", "start_", "found_")) + ")"
    schemas = [sorted(rows_of(path, made)[made], key=repr) for path in (tmp_path / "old.db", store)]
    assert schemas[0] == schemas[1]  # opening a store compares the texts
    with closing(connect_readonly(tmp_path / "old.db")) as old, closing(connect_readonly(store)) as new:
        assert read_dataset(old, 1) == read_dataset(new, 1)
        assert read_set_generalised(old, 1) == read_set_generalised(new, 1)
        assert read_pair_scores(old, 1) == read_pair_scores(new, 1) != {}
        assert list(map(repr, read_distances(old, 1))) == list(map(repr, read_distances(new, 1))) != []
        assert not old.execute("pragma foreign_key_check").fetchall()
        assert not old.execute("select name from sqlite_master where name like 'old_%'").fetchall()
        assert version < OLD[-1] or not list(broken_seals(old))


def test_an_old_store_has_the_times_of_its_releases_and_attacks(store, tmp_path):
    old_store(store, tmp_path / "old.db", 14)
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection, connection:
        hurt = "update attack set parameters = json_set(parameters, '$.took.seconds', {}) where id = {}"
        connection.execute(hurt.format("'long'", 1))
        connection.execute("update attack set parameters = json_remove(parameters, '$.took') where id = 2")
        connection.execute("update attack set parameters = '{' where id = 3")
        connection.execute("update release set loss = json_object('cpu_seconds', 2.5, 'seconds', 3)")
    open_store(tmp_path / "old.db").close()
    both = "select s.kind, s.id, s.name, s.dataset, s.cpu_seconds, s.seconds from stage_time s where s.kind = '{}'"
    took = "select id, json_extract(parameters, '$.took.seconds') from attack where id > 3"
    with closing(connect_readonly(tmp_path / "old.db")) as connection:
        assert connection.execute(both.format("release")).fetchall() == [("release", 1, "unknown", 1, 2.5, 3.0)]
        attacks = connection.execute(both.format("attack")).fetchall()
        assert [(row[1], row[5]) for row in attacks] == connection.execute(took).fetchall() != []
        assert all(row[3] == 1 for row in attacks)


def test_a_store_of_arrays_becomes_what_a_new_one_is(example, tmp_path):
    old = arrays(tmp_path / "old.db")
    for name, text in (("first", FIRST), ("second", SECOND)):
        (example / f"{name}.yaml").write_text(text)
    for name in ("scenario", "first", "second"):
        decloak.run(example / f"{name}.yaml", store=tmp_path / "new.db")
    open_store(old).close()
    said = {name: _shown(tmp_path / f"{name}.db") for name in ("old", "new")}
    assert said["old"].keys() == said["new"].keys()
    for table, rows in said["new"].items():
        assert said["old"][table] == rows, table
    with closing(connect_readonly(old)) as before, closing(connect_readonly(tmp_path / "new.db")) as after:
        for label in ("aba", "expectation"):
            (first, second) = (
                read_assigned(one, one.execute("select attack from run_attack where label = ?", (label,)).fetchone()[0])
                for one in (before, after)
            )
            assert first == second != []
            assert first.ties == second.ties
        assert not before.execute("select name from rule where text glob '*\nstrike: *'").fetchall()
        assert not before.execute("pragma foreign_key_check").fetchall()


NAMED = {
    "contains": "select d.kind, d.format, x.label, c.position, i.name from contains c join txn x on x.id = c.txn "
    "join dataset d on d.id = x.dataset join item i on i.id = c.item",
    "published_as": "select x.label, p.position, g.label from published_as p join txn x on x.id = p.txn "
    "join generalised g on g.id = p.generalised",
    "truth_origin": "select x.dataset, x.position, o.dataset, o.position from truth_origin t "
    "join txn x on x.id = t.txn join txn o on o.id = t.original",
    "related": "select r.measure, a.name, b.name, e.score from related e join relatedness r on r.id = e.relatedness "
    "join item a on a.id = e.a join item b on b.id = e.b",
    "cell": "select scoring, item_group, row, col, record, item, generalised, d from named_cell",
    "context": "select c.distance_table, c.row, i.name from context c join item i on i.id = c.item",
    "eliminated": "select * from named_eliminated",
    "kept": "select * from kept",
    "assigned": "select * from named_assigned",
    "probability": "select * from probability",
    "finding": "select * from finding",
    "chunks": "select s.chunk, s.number, i.name from subrecord s join has_item h on h.subrecord = s.id "
    "join item i on i.id = h.item union all select chunk, -1, name from shows join item i on i.id = item",
    "cover": "select c.cluster, c.chunk, i.name, c.earlier from found_cover c join item i on i.id = c.item",
    "total": "select t.release, i.name, t.support from total t join item i on i.id = t.item",
    "why": "select finding, because from why_gba union all select finding, because from why_aba",
}
"""Rows by the names of items: an older store has other numbers for them."""


def _shown(path: Path) -> dict[str, list]:
    with closing(sqlite3.connect(path)) as connection:
        shown = {name: sorted(connection.execute(sql).fetchall(), key=repr) for name, sql in NAMED.items()}
    # An old store has the rules of its time, and their sentences may have other words: the figures in them are equal.
    return shown | {"why": [(finding, re.findall(r"[0-9.]+", because)) for finding, because in shown["why"]]}


READING = {
    "runs": (), "show": ("last",), "compare": ("1", "last"), "explain": ("last",),
    "sql": ("select * from named_eliminated order by 1, 2, 3",),
    "report": ("last", "--with-evidence", "-o", "page.html"), "publish": ("last", "out.txt"),
}  # fmt: skip


def unsure(text: str) -> list[str]:
    """Return lines without probabilities, which stores of old versions do not have, nor the width that they take."""
    return [re.sub("; right with probability [0-9.]+|─+", "", line).rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("version", slow_but([OLD[-1]], OLD))
def test_an_old_store_is_read_as_a_new_one_and_not_written_to(call, store, tmp_path, monkeypatch, version):
    old_store(store, tmp_path / "old.db", version)
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as connection:
        connection.execute("attach ? as new", (str(store),))  # what rules derived is in tables of their own
        derived = "select name, sql from new.sqlite_master where type = 'table' and name like 'found_%'"
        for table, sql in connection.execute(derived).fetchall():
            connection.execute(sql.replace("references fact", "references finding"))
            connection.execute(f"insert into main.{table} select * from new.{table}")
    before = (tmp_path / "old.db").read_bytes()
    shutil.copy(store, tmp_path / "new.db")
    said = {}
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        for command, arguments in READING.items():
            done = call(command, *arguments, "--store", tmp_path / f"{name}.db")
            assert done.code == 0, done
            said[name, command] = unsure(done.out)
        (tmp_path / name / "page.html").unlink()  # it names the store
        said[name, "files"] = {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()}
    assert [said["old", command] for command in (*READING, "files")] == [
        said["new", command] for command in (*READING, "files")
    ]
    assert (tmp_path / "old.db").read_bytes() == before
    assert [file.name for file in tmp_path.glob("old.db*")] == ["old.db"]


def test_a_store_of_arrays_answers_queries_and_is_not_written_to(call, tmp_path):
    old = arrays(tmp_path / "old.db")
    before = old.read_bytes()
    for sql in ("select count(*) from eliminated", "select count(*) from contains", "select count(*) from why_gba"):
        done = call("sql", sql, "--store", old, "--format", "csv")
        assert done.code == 0, done
        assert int(done.out.splitlines()[1]) > 0
    assert old.read_bytes() == before


WRITTEN_THEN = {"1": "two values of k, two repetitions each", "7": "clusters, with figures that are no more",
                "14": "a rule with columns that needed quotes"}  # fmt: skip
"""Stores that older versions wrote themselves, by their version."""


@pytest.mark.parametrize("version", slow_but([min(WRITTEN_THEN)], WRITTEN_THEN))
def test_a_store_that_an_older_version_wrote_is_read_and_not_written_to(call, tmp_path, monkeypatch, version):
    """It lacks the figures of today, and has figures that nobody measures any more."""
    monkeypatch.chdir(tmp_path)
    old = Path("old.db")
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(gzip.decompress((GOLDEN / f"store-{version}.sql.gz").read_bytes()).decode())
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute(f"pragma user_version = {version}")
    before = old.read_bytes()
    further = {"compare": ("1", "last", "--json"), "report": ("1", "-o", "first.html"), "show": ("last", "--json")}
    for command, arguments in [*(READING | {"publish": ("last", "out.csv")}).items(), *further.items()]:
        done = call(command, *arguments, "--store", old)
        assert done.code == 0, done
    assert old.read_bytes() == before


def test_an_old_store_has_columns_without_quotes_what_rules_say_of_themselves_and_a_table_of_criteria(call, tmp_path):
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(gzip.decompress((GOLDEN / "store-14.sql.gz").read_bytes()).decode())
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute("pragma user_version = 14")
        before = connection.execute('select "table", row, col, d, "transaction", because from why_nearest').fetchall()
        weights = connection.execute('select "table", row, col, "transaction", w from start_rba').fetchall()
        sentences = connection.execute("select finding, because from why_rba").fetchall()
    assert "is nearest to record" in call("explain", "last", "--finding", "4", "--store", old).out
    open_store(old).close()
    with closing(connect_readonly(old)) as connection:
        now = 'select item_group, row, col, d, "transaction", because from why_nearest'  # the last is the rule's own
        assert connection.execute(now).fetchall() == before != []
        assert connection.execute("select item_group, row, col, record, w from start_rba").fetchall() == weights != []
        assert connection.execute("select finding, because from why_rba").fetchall() == sentences != []
        assert connection.execute("select record, group_kind, item_group from named_eliminated").fetchall() != []
        (text,) = connection.execute("select text from rule where name = 'nearest'").fetchone()
        assert "(item_group, row, col, d, transaction)" in text
        assert "[table]" not in text
        assert '"table"' not in text
        assert "groups: [row, col]" in connection.execute("select text from rule where name = 'rba'").fetchone()[0]
        described = "select identifier, status, about, reference from rule where name = 'nearest'"
        about = "Finds the member nearest to the context of a record."
        assert connection.execute(described).fetchone() == (None, None, about, "a test of old stores")
        assert connection.execute("select status from rule where name = 'rba'").fetchone() == ("stable",)
        assert connection.execute("select * from criterion").fetchall() == []
        assert not list(broken_seals(connection))


DAMAGE = [
    "update array set content = cast(x'07' || substr(content, 2) as blob) where name = 'codes'",
    "update array set content = substr(content, 1, length(content) - 1), checksum = 0",
    "delete from scoring_array where name = 'd'",
    "update attack_array set form = 'f8' where name = 'rows'",
    "delete from attack_array where name = 'chunk_names'",
]


@pytest.mark.parametrize("sql", DAMAGE, ids=range(len(DAMAGE)))
def test_damaged_arrays_are_an_error_of_one_line(call, tmp_path, sql):
    old = arrays(tmp_path / "old.db")
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute(sql)
    done = call("runs", "--store", old)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "the store is damaged" in done.err


def test_the_figures_of_an_old_store_have_their_keys_of_today(call, tmp_path):
    path = arrays(tmp_path / "old.db")
    with closing(sqlite3.connect(path)) as connection:
        before = set(connection.execute("select measurement, scope, name, value from measure"))
        for old, new in FIGURES.items():
            connection.execute("update measure set name = ? where name = ?", (old, new))
        connection.execute("update measurement set family = 'certain' where family = 'calibration'")
        connection.commit()
        assert set(connection.execute("select measurement, scope, name, value from measure")) != before
    assert "baseline" in call("show", "last", "--store", path).out
    open_store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert set(connection.execute("select measurement, scope, name, value from measure")) == before
        assert not connection.execute("select * from measurement where family = 'certain'").fetchall()
