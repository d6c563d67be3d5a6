"""Lists are JSON in the row of their node: any SQLite client sees all of them, and reading writes nothing."""

import hashlib
import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
from decloak.data.rows import CodedRows, RowLabels
from decloak.errors import DecloakError
from decloak.store import lists
from decloak.store.assigned import probabilities, read_assigned
from decloak.store.distance_tables import read_distances, read_pair_scores, read_pairs
from decloak.store.eliminations import read_eliminations
from decloak.store.lists import json_lists, read_lists, read_numbers, read_references, write_numbers
from decloak.store.opening import connect_readonly, open_store
from decloak.store.records import read_dataset, read_records, write_records

CLUSTERS = """\
scenario: a clinic in clusters
data: {generate: clinic, transactions: 60, seed: 7}
anonymise: {method: disassociation, k: 2, m: 2, max_cluster: 8, refine: true, totals: true}
relate: {measure: ngd, source: release}
attack: [random, aba, rga, expectation]
measure: [accuracy, calibration]
"""
ELEMENTS = st.lists(st.lists(st.sampled_from([1, 2, 3, 1 << 40, -1, -7]), max_size=4).map(tuple), max_size=8)
LABELS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=3),
                  min_size=8, max_size=8, unique=True)  # fmt: skip
DATASET = "insert into dataset (id, digest, kind, origin, format) values (?, ?, 'published', 'o', 'f')"
FLOATS = st.lists(st.floats(), max_size=20) | st.lists(st.sampled_from([0.1, 0.5, np.nan, np.inf, -1e-300]))


@pytest.fixture
def clusters(tmp_path):
    (tmp_path / "clinic.yaml").write_text(CLUSTERS)
    decloak.run(tmp_path / "clinic.yaml", store=tmp_path / "s.db")
    return tmp_path / "s.db"


@given(rows=ELEMENTS, labels=LABELS, numbered=st.booleans())
def test_records_are_read_as_they_were_written_and_views_show_all_of_them(tmp_path_factory, rows, labels, numbered):
    names = RowLabels(len(rows)) if numbered else tuple(labels[: len(rows)])
    with open_store(tmp_path_factory.mktemp("store") / "s.db") as store, store.stage() as connection:
        for dataset in (5, 9):
            connection.execute(DATASET, (dataset, f"d{dataset}"))
            write_records(connection, dataset, CodedRows.of(rows), names, int)
        stored = read_records(connection, 9)
        assert stored.rows == tuple(rows)
        assert tuple(stored.labels) == tuple(names)
        first = len(rows) + 1
        assert connection.execute("select id, dataset, position, label from txn where dataset = 9").fetchall() == [
            (first + place, 9, place, label) for place, label in enumerate(names)
        ]
        shown = [(first + row, at, element) for row, held in enumerate(rows) for at, element in enumerate(held)]
        both = "select txn, position, item from contains union all select txn, position, -generalised from published_as"
        seen = f"select * from ({both}) where txn >= ? order by txn, position"
        assert connection.execute(seen, (first,)).fetchall() == shown


@given(FLOATS)
def test_numbers_are_read_as_they_were_written(values):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table number (id integer primary key, value real not null)")
        first, references = write_numbers(connection, np.array([7.0, 7.0]))
        assert (first, references.tolist()) == (1, [0, 0])
        first, references = write_numbers(connection, np.array(values, np.float64))
        places = np.where(references < 0, np.nan, references)
        again = read_numbers(connection, first, places)
        assert np.array_equal(again, np.array(values, np.float64), equal_nan=True)
        counts = np.bincount(references[references >= 0]) if (references >= 0).any() else np.zeros(0)
        assert (np.diff(counts) <= 0).all()  # the most frequent number has the shortest reference


@given(st.lists(st.lists(st.integers(-(1 << 60), 1 << 60), max_size=5), max_size=20))
def test_lists_are_read_as_they_were_written(lists):
    lengths, numbers = read_lists(json_lists(lists), "lists")
    assert lengths.tolist() == list(map(len, lists))
    assert numbers.tolist() == [number for held in lists for number in held]


HOSTILE = [
    "[1",
    "{}",
    "[[1]]",
    '["a"]',
    "[1,2,]",
    "[1e999]",
    "null",
    "",
    "[" * 100_000,
    "[1.5]",
    "1,2",
    "[1]]",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_that_is_no_list_of_numbers_is_refused_in_a_line(text):
    with pytest.raises(DecloakError, match="the store is damaged: x are no lists of numbers; name another store"):
        read_lists(["[1]", text], "x")
    with pytest.raises(DecloakError, match="the store is damaged: x are no lists of"):
        read_references(["[1,null]", text], "x")


DAMAGE = {
    "record set elements = '[99999]'": "data set 1 has elements that are not there",
    "record set elements = '[1,,2]'": "the elements of data set 1 are no lists of numbers",
    "dataset set records = records + 1": "data set 1 lacks records",
}


@pytest.mark.parametrize("change", DAMAGE)
def test_records_that_make_no_sense_are_refused(store, change):
    with open_store(store) as opened:
        with opened.stage() as connection:
            connection.execute(f"update {change} where dataset = 1" if "record set" in change else f"update {change}")
        with pytest.raises(DecloakError, match=DAMAGE[change]):
            read_dataset(opened.connection, 1)


SCORES = {
    "update scored_item set scores = '{\"1\":999999}'": (read_pairs, "a list refers to a number that is not there"),
    "update scored_item set scores = '[]'": (read_pairs, "the scores of measure 1 are no objects of numbers"),
    "update scored_item set scores = '{\"1\":[]}'": (read_pairs, "the scores of measure 1 are no objects of numbers"),
    "update scored_item set scores = '{\"88888\":0}'": (read_pair_scores, "scores an item that is not there"),
    "update distance_row set distances = '[]'": (read_distances, "rows of other lengths than their columns"),
    "update scoring set numbers = 1 << 40": (read_distances, "a number that is not there"),
    "delete from number": (read_distances, "a list refers to a number that is not there"),
    "update eliminated_members set cells = json_insert(json_remove(cells, '$[0]'), '$[#]', 3 << 40)": (
        read_eliminations,
        "is on other cells than those of its distance tables",
    ),
    "update eliminated_members set cells = replace(cells, '[', '[-')": (
        read_eliminations,
        "is on other cells than those of its distance tables",
    ),
    "update eliminated_members set cells = '{}'": (read_eliminations, "eliminated are no lists of numbers"),
    "update eliminated_members set weights = '[0]'": (read_eliminations, "has other weights than findings"),
    "update eliminated_members set weights = null": (read_eliminations, "are no lists of numbers"),
    "update eliminated_members set cells = '[]', weights = '[]'": (read_eliminations, "other findings than its own"),
    "update eliminated_members set first = first + 1000000": (read_eliminations, "other findings than its own"),
    "update attack set numbers = 9223372036854775807": (probabilities, "a list refers to a number that is not there"),
    "update attack set probabilities = replace(probabilities, '[', '[1e30,'), findings = findings + 1": (
        probabilities,
        "a list refers to a number that is not there",
    ),
    "update elimination set kept = '[]'": (read_eliminations, "is on other cells than those of its distance tables"),
    "update elimination set distance_table = 77": (read_eliminations, "an elimination is of no distance table"),
    "update attack set probabilities = '[0]'": (probabilities, "has other probabilities than findings"),
}


@pytest.mark.parametrize("sql", SCORES)
def test_lists_that_make_no_sense_are_refused(store, sql):
    read, told = SCORES[sql]
    with open_store(store) as opened:
        opened.connection.execute("pragma foreign_keys = off")
        (one,) = opened.connection.execute("select min(attack) from elimination where weighted").fetchone()
        opened.connection.execute(sql)
        with pytest.raises(DecloakError, match=told):
            read(opened.connection, 1 if read in (read_pairs, read_pair_scores, read_distances) else one)


def test_assigned_units_that_are_not_there_are_refused(clusters):
    with open_store(clusters) as opened:
        opened.connection.execute("pragma foreign_keys = off")
        for sql, told in (
            ("update unit set items = '{' || id", "assigns units that are no lists of names"),
            (
                "update assigned_units set first = first + 1000000",
                "the units of attack 2 are other findings than its own",
            ),
            ("update assigned_units set units = '[1]'", "the units of attack 2 are other findings than its own"),
            ("update assigned_units set cluster = 1 << 40", "the units of attack 2 are other findings than its own"),
            ("delete from unit", "."),
        ):
            opened.connection.execute(sql)
            with pytest.raises(DecloakError, match=told):
                read_assigned(opened.connection, 2)


def test_parts_of_eliminations_are_those_of_the_whole(tmp_path, monkeypatch):
    scenario = (
        "scenario: sets\ndata: {generate: clinic, transactions: 60, seed: 7}\nanonymise: {method: sets, size: 8}\n"
    )
    (tmp_path / "sets.yaml").write_text(f"{scenario}relate: {{measure: ngd, source: release}}\nattack: [tba, rba]\n")
    written, read = [], []
    for rows in (1 << 16, 3):
        monkeypatch.setattr(lists, "_ROWS", rows)
        monkeypatch.setattr(lists, "MOST", rows)
        decloak.run(tmp_path / "sets.yaml", store=tmp_path / f"{rows}.db")
        with closing(connect_readonly(tmp_path / f"{rows}.db")) as connection:
            written.append(connection.execute("select * from eliminated_member order by finding").fetchall())
            read.append([column.tolist() for attack in (1, 2) for column in read_eliminations(connection, attack)[:8]])
            (parts,) = connection.execute("select count(*) from eliminated_members").fetchone()
    assert parts >= len(written[0]) / 3 > 33
    assert written[0] == written[1]
    assert read[0] == read[1]


def test_views_show_what_the_engine_reads(store, clusters):
    with closing(connect_readonly(store)) as connection:
        names = "select a.name, b.name, score from related join item a on a.id = a join item b on b.id = b"
        assert {(a, b): score for a, b, score in connection.execute(names)} == read_pair_scores(connection, 1) != {}
        cells = connection.execute("select distance_table, row, col, d from cell order by 1, 2, 3").fetchall()
        assert cells == [
            (number, *place, None if np.isnan(d) else d)
            for number, table in enumerate(read_distances(connection, 1), 1)
            for place, d in np.ndenumerate(table)
        ]
        for (attack,) in connection.execute("select distinct attack from elimination").fetchall():
            done = read_eliminations(connection, attack)
            columns = "distance_table, row, col, round, group_kind, suspicion, threshold, weight"
            sql = f"select {columns} from {{}} where attack = ?"
            rows = connection.execute(sql.format("eliminated") + " order by finding", (attack,)).fetchall()
            groups = [("table", "row", "column")[group] for group in done.groups.tolist()]
            columns = (done.tables, done.rows, done.cols, done.rounds, done.suspicions)
            told = zip(*(column.tolist() for column in columns), strict=True)
            limits = zip(done.thresholds.tolist(), done.weights.tolist(), strict=True)
            assert [[None if value != value else value for value in (*a, g, s, *b)] for (*a, s), g, b in
                    zip(told, groups, limits, strict=True)] == [list(row) for row in rows]  # fmt: skip
            kept = connection.execute("select distance_table, row, col, weight from kept where attack = ?", (attack,))
            columns = (done.kept_tables, done.kept_rows, done.kept_cols, done.kept_weights)
            left = zip(*(column.tolist() for column in columns), strict=True)
            assert sorted(kept, key=repr) == sorted(
                ((*cell, None if weight != weight else weight) for *cell, weight in left), key=repr
            )
    given_rows = (
        "select c.number, s.chunk, s.unit, r.row from assigned s join cluster_row r on r.txn = s.txn "
        "join cluster c on c.id = r.cluster where s.attack = ? order by s.finding"
    )
    with closing(connect_readonly(clusters)) as connection:
        for attack in (1, 2, 3, 4):
            shown = connection.execute(given_rows, (attack,)).fetchall()
            listed = [
                (a.cluster, str(a.chunk), json.dumps(a.unit, ensure_ascii=False), *a.rows)
                for a in read_assigned(connection, attack).by_finding()
            ]
            assert shown == listed != []
        assert connection.execute("select count(*) from cluster_row").fetchone() == (60,)
        assert connection.execute("select count(*) from total").fetchone()[0] > 0
        p = probabilities(connection, 4)
        shown = connection.execute("select p from probability where attack = 4 order by finding").fetchall()
        assert [None if np.isnan(one) else one for one in p.tolist()] == [one for (one,) in shown] != []


QUERIES = [
    "select count(*) from contains", "select * from node", "select * from edge", "select * from truth_cell",
    "select because from why_rba", "select * from named_eliminated", "select count(*) from kept", "select nonsense",
]  # fmt: skip


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_never_changes_the_file(call, store, sql):
    before = hashlib.sha256(store.read_bytes()).digest()
    assert call("sql", sql, "--store", store, "--json").code == (2 if "nonsense" in sql else 0)
    assert hashlib.sha256(store.read_bytes()).digest() == before
    assert [file.name for file in store.parent.glob("quickstart.db*")] == ["quickstart.db"]


def test_reading_commands_never_change_the_file(call, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = hashlib.sha256(store.read_bytes()).digest()
    for command in (
        ["explain", "last"],
        ["graph"],
        ["report", "last", "--with-evidence"],
        ["show"],
        ["publish", "last", "o.txt"],
    ):
        assert call(*command, "--store", store).code == 0
    assert hashlib.sha256(store.read_bytes()).digest() == before


WITHOUT_DECLOAK = """
import sqlite3, sys
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
assert "decloak" not in sys.modules
views = [name for (name,) in connection.execute("select name from sqlite_master where type = 'view'")]
print(*(f"{name} {len(connection.execute(f'select * from [{name}]').fetchall())}" for name in views), sep="\\n")
"""


def test_every_view_answers_without_decloak(store):
    done = subprocess.run(
        [sys.executable, "-I", "-c", WITHOUT_DECLOAK, store], capture_output=True, text=True, check=True
    )
    counts = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    with closing(connect_readonly(store)) as connection:
        records = read_dataset(connection, 1)
        cells = sum(d.size for d in read_distances(connection, 1))
    assert int(counts["contains"]) >= len(records.rows.codes)
    assert int(counts["cell"]) == int(counts["named_cell"]) == int(counts["truth_cell"]) == cells > 0
    assert int(counts["eliminated"]) == int(counts["named_eliminated"]) > 0


READS = {
    "distance": ("select item_group, row, col from distance where d > 0.1", "item_group, row, col"),
    "context": ("select item_group, row, item from context", "item_group, row, item"),
    "related": ("select a, b, score from related", "a, b, score"),
    "joined": (
        "select r.item_group, r.row from distance_row r join context using (item_group, row)",
        "item_group, row",
    ),
}


@pytest.mark.parametrize("relation", READS)
def test_rules_read_relations_that_are_lists_in_the_store(example, tmp_path, relation):
    sql, columns = READS[relation]
    (example / "reader.yaml").write_text(
        f"rule: reader\nform: query\nabout: reads\nderives: reader({columns.replace(chr(34), '')})\n"
        f"facts: {sql}\nbecause: it is there\nreference: ours\nwrong_when: never\n"
    )
    scenario = (example / "scenario.yaml").read_text().replace("[mda, tba, wba, gba, rba]", "[rba, reader.yaml]")
    (example / "both.yaml").write_text(scenario)
    decloak.run(example / "both.yaml", store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        assert connection.execute("select count(*) from found_reader").fetchone()[0] > 0
