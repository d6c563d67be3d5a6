"""A store keeps transactions as arrays and shows them as rows: the same ones, at once, later, or of an old store."""

import re
import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
from decloak.data.rows import CodedRows, Numbers
from decloak.errors import DecloakError
from decloak.measure.exposure_links import links_of
from decloak.measure.family import AttackedRelease
from decloak.releases.registry import form_of
from decloak.rules.load import Catalogue
from decloak.store import arrays, transactions
from decloak.store.arrays import read_array, write_array
from decloak.store.bulk import make_rows
from decloak.store.distance_tables import read_distances
from decloak.store.opening import VERSION, connect_readonly, open_store
from decloak.store.outcomes import outcomes, true_tables
from decloak.store.pair_scores import read_pair_scores
from decloak.store.reading import read_dataset, read_set_generalised
from decloak.store.showing import show_all
from decloak.store.transactions import STORED_TRANSACTIONS, read_transactions, write_transactions
from stores import EXTENTS, SHOWN, old_store, rows_of, whole


@pytest.fixture
def pending(example, tmp_path):
    """A store that keeps its transactions as arrays alone."""
    decloak.run(example / "scenario.yaml", store=tmp_path / "pending.db", rows=0)
    return tmp_path / "pending.db"


def test_rows_that_are_made_later_are_those_that_are_made_at_once(example, pending, tmp_path):
    decloak.run(example / "scenario.yaml", store=tmp_path / "shown.db")
    assert not any(rows_of(pending, *SHOWN).values())
    assert [row[0] for row in rows_of(pending, "extent")["extent"]] == [1, 2]
    extents = rows_of(pending, *EXTENTS)
    assert [name for name, rows in extents.items() if not rows] == ["assigned_extent"]
    assert all("not there yet" in row[-1] for rows in extents.values() for row in rows)
    assert rows_of(pending, "measure") == rows_of(tmp_path / "shown.db", "measure")
    show_all(pending)
    assert whole(pending) == whole(tmp_path / "shown.db")
    with closing(connect_readonly(pending)) as connection:
        assert not connection.execute("pragma foreign_key_check").fetchall()
    indexes = "select name from sqlite_master where type = 'index' order by 1"
    assert rows_of(pending, f"({indexes})") == rows_of(tmp_path / "shown.db", f"({indexes})")


def test_attacks_on_tables_of_an_earlier_run_are_those_on_tables_just_made(example, tmp_path):
    struck = (
        "select a.label, f.round, s.row, s.col, s.suspicion, s.weight from run_attack a join finding f using (attack) "
    )
    struck += "join struck s on s.finding = f.id where a.run = (select max(id) from run) order by 1, 2, 3, 4"
    decloak.run(example / "scenario.yaml", store=tmp_path / "once.db")
    (example / "first.yaml").write_text(
        (example / "scenario.yaml").read_text().replace("mda, tba, wba, gba, rba", "mda")
    )
    for scenario in ("first.yaml", "scenario.yaml"):
        decloak.run(example / scenario, store=tmp_path / "twice.db")
    once, twice = (rows_of(tmp_path / name, f"({struck})") for name in ("once.db", "twice.db"))
    assert len(once[f"({struck})"]) > 10
    assert once == twice


def test_a_run_says_where_its_rows_are_not_there(call, example, tmp_path):
    said = call("run", example / "scenario.yaml", "--store", tmp_path / "s.db", "--rows", "0")
    assert "`decloak rows` shows them as rows" in said.err
    said = call("rows", "last", "--store", tmp_path / "s.db")
    shown = rows_of(tmp_path / "s.db", *SHOWN)
    assert len(shown["contains"]) == 10 + 4
    counted = sum(len(rows) for table, rows in shown.items() if not table.startswith("truth_"))
    assert said.out == f"{counted} rows show run 1\n"


@pytest.mark.parametrize("sql", [
    "select count(*) from contains", "with x as (select * from txn) select count(txn.id) from x, txn where 0",
    "select count(*) from edge", "SELECT count(*) FROM Main.\"CONTAINS\"", "select because from why_gba",
])  # fmt: skip
def test_a_query_makes_the_rows_it_reads(call, pending, sql):
    assert call("sql", sql, "--store", pending, "--json").code == 0
    assert rows_of(pending, "txn")["txn"]


def test_a_query_of_other_tables_leaves_the_store_as_it_is(call, pending):
    before = pending.read_bytes()
    assert call("sql", "select count(*) from measure", "--store", pending).code == 0
    assert call("sql", "select nonsense", "--store", pending).code == 2
    assert pending.read_bytes() == before


def test_findings_are_explained_of_a_store_of_arrays(call, pending):
    said = call("explain", "last", "4", "limbs", "--attack", "gba", "--store", pending)
    assert said.code == 0, said.err
    assert "limbs" in said.out


ELEMENTS = st.lists(st.lists(st.sampled_from([1, 2, 3, -1, -7]), max_size=4).map(tuple), max_size=8)
LABELS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=3),
                  min_size=8, max_size=8, unique=True)  # fmt: skip


@given(rows=ELEMENTS, labels=LABELS, numbered=st.booleans())
def test_transactions_are_read_as_they_were_written(tmp_path_factory, rows, labels, numbered):
    names = Numbers(len(rows)) if numbered else tuple(labels[: len(rows)])
    with open_store(tmp_path_factory.mktemp("store") / "s.db") as store, store.stage(checked=False) as connection:
        for dataset in (5, 9):
            write_transactions(connection, dataset, CodedRows.of(rows), names, int)
        stored = read_transactions(connection, 9)
        assert stored.rows == tuple(rows)
        assert tuple(stored.labels) == tuple(names)
        make_rows(connection, STORED_TRANSACTIONS, [9])
        first = len(rows) + 1
        assert connection.execute("select id, dataset, position, label from txn").fetchall() == [
            (first + place, 9, place, label) for place, label in enumerate(names)
        ]
        shown = [(first + row, at, element) for row, held in enumerate(rows) for at, element in enumerate(held)]
        assert connection.execute("select * from contains order by txn, position").fetchall() == [
            row for row in shown if row[2] > 0
        ]
        assert connection.execute(
            "select txn, position, -generalised from published_as order by txn, position"
        ).fetchall() == [row for row in shown if row[2] < 0]


@pytest.mark.parametrize("values", [
    [], [0], [255], [256], [1 << 16], [1 << 32], [-1, 3], [0.5, float("nan")],
])  # fmt: skip
def test_arrays_are_small_and_exact_and_may_have_parts(tmp_path, monkeypatch, values):
    monkeypatch.setattr(arrays, "PART", 8)
    values = np.array(values * 7)
    with open_store(tmp_path / "s.db") as store, store.stage(checked=False) as connection:
        arrays.write_array(connection, 1, "x", values)
        again = arrays.read_array(connection, 1, "x")
        assert np.array_equal(again, values, equal_nan=values.dtype.kind == "f")
        assert arrays.read_array(connection, 1, "y") is None


DAMAGE = {
    "a byte": "update array set content = cast(x'07' || substr(content, 2) as blob) where name = '{}'",
    "cut short": "update array set content = substr(content, 1, length(content) - 1) where name = '{}'",
    "another form": "update array set form = 'f8' where name = '{}'",
    "an unknown form": "update array set form = 'object' where name = '{}'",
    "a newer version": "update array set version = 2 where name = '{}'",
    "a part is missing": "update array set part = 1 where name = '{}'",
    "gone": "delete from array where name = '{}'",
}


@pytest.mark.parametrize("name", ["lengths", "codes", "elements", "labels"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_an_error_of_one_line(tmp_path, damage, name):
    with open_store(tmp_path / "s.db") as store, store.stage(checked=False) as connection:
        rows = CodedRows.of([(1, 2), (), (3,), (70_000,)])
        write_transactions(connection, 1, rows, ("a", "bc", "d", "e"), int)
        connection.execute(damage.format(name))
        if (name, damage) == ("labels", DAMAGE["gone"]):  # then transactions are called by their numbers
            assert read_transactions(connection, 1).rows == rows
            return
        with pytest.raises(DecloakError) as caught:
            read_transactions(connection, 1)
        assert "\n" not in str(caught.value)
        assert "of data set 1 is damaged; name another store" in str(caught.value)


HOSTILE = {
    "codes beyond the elements": ("codes", [9, 0, 0]),
    "fewer codes than lengths": ("codes", [0]),
    "lengths that do not add up": ("lengths", [1, 1]),
    "negative lengths": ("lengths", [4, -1]),
    "elements as floats": ("elements", [1.0, 2.0]),
}


@pytest.mark.parametrize(("name", "values"), HOSTILE.values(), ids=HOSTILE)
def test_arrays_with_right_checksums_that_make_no_sense_are_refused(tmp_path, name, values):
    with open_store(tmp_path / "s.db") as store, store.stage(checked=False) as connection:
        write_transactions(connection, 1, CodedRows.of([(1, 2), (2,)]), Numbers(2), int)
        connection.execute("delete from array where name = ?", (name,))
        arrays.write_array(connection, 1, name, np.array(values))
        with pytest.raises(DecloakError, match="of data set 1 is damaged"):
            read_transactions(connection, 1)


def test_an_element_that_is_none_of_the_store_is_refused(pending):
    with open_store(pending) as store:
        with store.stage() as connection:
            connection.execute("delete from array where dataset = 1 and name = 'elements'")
            arrays.write_array(connection, 1, "elements", np.arange(1_000, 1_020))
        with pytest.raises(DecloakError, match="the array elements of data set 1 is damaged"):
            read_dataset(store.connection, 1)


@pytest.mark.parametrize("version", [1, 5])
def test_an_old_store_becomes_what_a_new_one_is(store, tmp_path, version):
    old_store(store, tmp_path / "old.db", version)
    open_store(tmp_path / "old.db").close()
    shown = {name: rows for name, rows in whole(store).items() if not name.startswith("found_")}
    assert whole(tmp_path / "old.db") == shown
    made = "(select type, name, tbl_name from sqlite_master where "
    made += " and ".join(f"name not like '{prefix}%'" for prefix in ("why_", "start_", "found_")) + ")"
    schemas = [sorted(rows_of(path, made)[made], key=repr) for path in (tmp_path / "old.db", store)]
    assert schemas[0] == schemas[1]  # that their texts are alike was looked at when they were opened
    with closing(connect_readonly(tmp_path / "old.db")) as old, closing(connect_readonly(store)) as new:
        assert read_dataset(old, 1) == read_dataset(new, 1)
        assert read_set_generalised(old, 1) == read_set_generalised(new, 1)
        assert read_pair_scores(old, 1) == read_pair_scores(new, 1) != {}
        assert list(map(repr, read_distances(old, 1))) == list(map(repr, read_distances(new, 1))) != []
        assert not old.execute("pragma foreign_key_check").fetchall()


READING = {
    "runs": (), "show": ("last",), "compare": ("1", "last"), "explain": ("last",), "graph": (),
    "sql": ("select * from named_struck order by 1, 2, 3",), "report": ("last", "--with-evidence", "-o", "page.html"),
    "publish": ("last", "out.txt"),
}  # fmt: skip


def unsure(text: str) -> list[str]:
    """Lines without probabilities, which stores of old versions do not have, nor the width that they take."""
    return [re.sub("; right with probability [0-9.]+|─+", "", line).rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("version", [1, 5])
def test_an_old_store_is_read_as_a_new_one_and_not_written_to(call, store, tmp_path, monkeypatch, version):
    old_store(store, tmp_path / "old.db", version)
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as connection:
        connection.execute("attach ? as new", (str(store),))  # what rules derived is in tables of their own
        derived = "select name, sql from new.sqlite_master where type = 'table' and name like 'found_%'"
        for table, sql in connection.execute(derived).fetchall():
            connection.execute(sql)
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


def test_rows_that_an_old_store_lacks_are_made_in_a_copy(call, example, tmp_path):
    """A store of version 6 may keep arrays alone, of which a query makes rows."""
    decloak.run(example / "scenario.yaml", store=tmp_path / "s.db", rows=0)
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        connection.execute("pragma user_version = 6")
        connection.commit()
    before = (tmp_path / "s.db").read_bytes()
    done = call("sql", "select count(*) from struck", "--store", tmp_path / "s.db", "--format", "csv")
    assert done.code == 0
    assert int(done.out.splitlines()[1]) > 0
    assert call("explain", "last", "--store", tmp_path / "s.db").code == 0
    assert (tmp_path / "s.db").read_bytes() == before


def test_a_run_brings_an_old_store_up_to_date(call, store, example, tmp_path):
    old_store(store, tmp_path / "old.db", 5)
    assert call("run", example / "scenario.yaml", "--store", tmp_path / "old.db").code == 0
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        assert connection.execute("pragma user_version").fetchone() == (VERSION,)


def test_a_rule_reads_strikes_that_no_rows_show(example, tmp_path):
    rule = example / "agreed.yaml"
    rule.write_text(
        "rule: agreed\nform: query\nabout: struck by both\nderives: agreed(table, row, col)\n"
        'facts: select g."table", g.row, g.col from gba g join rba w on w.row = g.row and w.col = g.col\n'
        "because: both struck it\n"
    )
    scenario = (example / "scenario.yaml").read_text().replace("[mda, tba, wba, gba, rba]", "[rba, gba, agreed.yaml]")
    (example / "both.yaml").write_text(scenario)
    decloak.run(example / "both.yaml", store=tmp_path / "both.db", rows=0)
    assert rows_of(tmp_path / "both.db", "struck") == {"struck": []}
    show_all(tmp_path / "both.db")
    struck = rows_of(tmp_path / "both.db", "struck")["struck"]
    of_attack = {one: {row[1:4] for row in struck if row[0] in numbers} for one, numbers in _findings(tmp_path).items()}
    facts = rows_of(tmp_path / "both.db", "found_agreed")["found_agreed"]
    assert len(facts) == len(of_attack[1] & of_attack[2]) > 0
    assert len({row[0] for row in facts} | {row[0] for row in struck}) == len(facts) + len(struck)


def _findings(folder: Path) -> dict[int, set[int]]:
    findings: dict[int, set[int]] = {}
    for number, attack, _ in rows_of(folder / "both.db", "finding")["finding"]:
        findings.setdefault(attack, set()).add(number)
    return findings


STRIKES = ["tables", "rows", "cols", "rounds", "groups", "suspicions", "thresholds", "weights", "spared_weights"]
SPOILT = {
    "a byte": "update attack_array set content = cast(x'07' || substr(content, 2) as blob) where name = '{}'",
    "cut short": "update attack_array set content = substr(content, 1, length(content) - 1) where name = '{}'",
    "gone": "delete from attack_array where name = '{}'",
}


@pytest.mark.parametrize("name", STRIKES)
@pytest.mark.parametrize("damage", SPOILT.values(), ids=SPOILT)
def test_strikes_that_are_damaged_are_an_error_of_one_line(call, pending, damage, name):
    with open_store(pending) as store, store.stage() as connection:
        connection.execute(damage.format(name))
    said = call("rows", "last", "--store", pending)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert f"the array {name} of attack 1 is damaged; name another store" in said.err
    assert not rows_of(pending, "txn")["txn"]


def test_strikes_that_lie_outside_of_their_table_are_refused(pending):
    with open_store(pending) as store, store.stage() as connection:
        connection.execute("delete from attack_array where name = 'rows' and attack = 1")
        arrays.write_array(connection, 1, "rows", np.array([77]), table="attack_array")
        with pytest.raises(DecloakError, match="of attack 1 is damaged"):
            list(outcomes(connection, 1, true_tables(connection, 1)))
        connection.execute("delete from attack_array where name = 'probabilities' and attack = 1")
        arrays.write_array(connection, 1, "probabilities", np.array([0.9]), table="attack_array")
        held = form_of(connection, 1).hold(connection, 1)
        attacked = AttackedRelease(connection, 1, Catalogue().rule("rba").derives, held, None)
        with pytest.raises(DecloakError, match="of attack 1 is damaged"):
            links_of(attacked)


def test_marks_of_distance_tables_and_origins_survive(tmp_path, pending):
    with closing(connect_readonly(pending)) as connection:
        assert transactions.read_origin_places(connection, 2).tolist() == [0, 1, 2, 3]
    copy = Path(shutil.copy(pending, tmp_path / "copy.db"))
    show_all(copy)
    assert rows_of(copy, "truth_origin")["truth_origin"] == [(5, 1), (6, 2), (7, 3), (8, 4)]


def test_arrays_of_attacks_are_packed_and_those_of_older_stores_are_read(tmp_path):
    values = np.repeat(np.arange(50.0), 1_000)
    with open_store(tmp_path / "s.db") as store, store.stage(checked=False) as connection:
        connection.execute("pragma defer_foreign_keys = on")
        write_array(connection, 7, "weights", values, table="attack_array")
        (packed,) = connection.execute("select content from attack_array").fetchone()
        assert len(packed) < values.nbytes / 4
        np.testing.assert_array_equal(read_array(connection, 7, "weights", table="attack_array"), values)
        plain = values.astype("<f8").tobytes()
        for version, content, good in (
            (1, plain, True),
            (2, packed, True),
            (2, plain, False),
            (2, packed[:-9], False),
            (2, packed + b"x", False),
            (2, zlib.compress(bytes(arrays.PART + 8)), False),
            (3, packed, False),
        ):
            told = (version, zlib.crc32(content), content)
            connection.execute("update attack_array set version = ?, checksum = ?, content = ?", told)
            if good:
                np.testing.assert_array_equal(read_array(connection, 7, "weights", table="attack_array"), values)
            else:
                with pytest.raises(DecloakError, match="the array weights of attack 7 is damaged"):
                    read_array(connection, 7, "weights", table="attack_array")
        connection.execute("delete from attack_array")


def test_cells_and_scores_of_arrays_are_those_of_rows(pending):
    with closing(connect_readonly(pending)) as connection:
        distances, scores = read_distances(connection, 1), read_pair_scores(connection, 1)
    show_all(pending)
    with closing(connect_readonly(pending)) as connection:
        cells = connection.execute(
            "select t.number, c.row, c.col, c.d from cell c join distance_table t on t.id = c.distance_table "
            "where t.scoring = 1 order by 1, 2, 3"
        ).fetchall()
        assert cells == [
            (number, *place, None if np.isnan(d) else d)
            for number, table in enumerate(distances)
            for place, d in np.ndenumerate(table)
        ]
        pairs = "select a.name, b.name, score from related join item a on a.id = a join item b on b.id = b"
        assert {(a, b): score for a, b, score in connection.execute(pairs)} == scores != {}


READS = {
    "distance": ('select "table", row, col from distance where d > 0.1', '"table", row, col'),
    "context": ('select "table", row, item from context', '"table", row, item'),
    "related": ("select a, b, score from related", "a, b, score"),
    "joined": ('select r."table", r.row from distance_row r join context using ("table", row)', '"table", row'),
}


@pytest.mark.parametrize("relation", READS)
def test_rules_read_relations_that_no_rows_show(example, tmp_path, relation):
    sql, columns = READS[relation]
    rule = (
        f"rule: reader\nform: query\nabout: reads\nderives: reader({columns.replace(chr(34), '')})\n"
        f"facts: {sql}\nbecause: it is there\n"
    )
    (example / "reader.yaml").write_text(rule)
    scenario = (example / "scenario.yaml").read_text().replace("[mda, tba, wba, gba, rba]", "[rba, reader.yaml]")
    (example / "both.yaml").write_text(scenario)
    for name, rows in (("shown.db", None), ("pending.db", 0)):
        decloak.run(example / "both.yaml", store=tmp_path / name, rows=rows)
    facts = [rows_of(tmp_path / name, "found_reader")["found_reader"] for name in ("shown.db", "pending.db")]
    assert facts[0]
    assert facts[0] == facts[1]


def test_rules_of_decloak_leave_a_store_of_arrays_as_it_is(example, tmp_path):
    """`centred` reads distances by SQL of its own, so that they are lent to it."""
    scenario = (example / "scenario.yaml").read_text().replace("[mda, tba, wba, gba, rba]", "[mda, centred]")
    (example / "centred.yaml").write_text(scenario)
    for name, rows in (("shown.db", None), ("pending.db", 0)):
        decloak.run(example / "centred.yaml", store=tmp_path / name, rows=rows)
    assert not any(rows_of(tmp_path / "pending.db", *SHOWN).values())
    strikes = [rows_of(tmp_path / name, "attack_array")["attack_array"] for name in ("shown.db", "pending.db")]
    assert strikes[0] == strikes[1] != []


KEPT = {
    "scoring": ("heights", "widths", "d", "context_lengths", "context_codes", "context_items"),
    "relatedness": ("items", "a", "b", "scores"),
}
KEPT_DAMAGE = {
    "a byte": "update {0}_array set content = cast(x'07' || substr(content, 2) as blob) where name = '{1}'",
    "cut short": "update {0}_array set content = substr(content, 1, length(content) - 1) where name = '{1}'",
    "gone": "delete from {0}_array where name = '{1}'",
}
WHOSE = {"scoring": "scoring", "relatedness": "measure of relatedness"}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in KEPT.items() for name in names])
@pytest.mark.parametrize("damage", KEPT_DAMAGE.values(), ids=KEPT_DAMAGE)
def test_scores_that_are_damaged_are_an_error_of_one_line(call, pending, damage, kind, name):
    with open_store(pending) as store, store.stage() as connection:
        connection.execute(damage.format(kind, name))
    said = call("rows", "last", "--store", pending)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert f"the array {name} of {WHOSE[kind]} 1 is damaged; name another store" in said.err
    assert not rows_of(pending, "txn")["txn"]


SENSELESS = {
    "tables that need more cells": ("scoring", "heights", [1 << 40, 1 << 40]),
    "fewer tables": ("scoring", "heights", [2]),
    "negative widths": ("scoring", "widths", [-1, 4]),
    "distances that are whole numbers": ("scoring", "d", [1, 2]),
    "contexts of more rows": ("scoring", "context_lengths", [1] * 99),
    "items beyond those there are": ("scoring", "context_codes", [77] * 99),
    "pairs beyond the items": ("relatedness", "a", [77] * 99),
    "pairs before the items": ("relatedness", "b", [-1] * 99),
    "fewer scores": ("relatedness", "scores", [0.5]),
}


@pytest.mark.parametrize(("kind", "name", "values"), SENSELESS.values(), ids=SENSELESS)
def test_scores_with_right_checksums_that_make_no_sense_are_refused(call, pending, kind, name, values):
    with open_store(pending) as store, store.stage() as connection:
        connection.execute(f"delete from {kind}_array where name = ?", (name,))
        arrays.write_array(connection, 1, name, np.array(values), table=f"{kind}_array")
    said = call("rows", "last", "--store", pending)
    assert said.code == 2
    assert f"of {WHOSE[kind]} 1 is damaged; name another store" in said.err


def test_scores_that_are_there_twice_are_an_error_of_one_line(call, pending):
    with open_store(pending) as store, store.stage() as connection:
        for name in ("a", "b"):
            codes = read_array(connection, 1, name, table="relatedness_array").copy()
            codes[1] = codes[0]
            connection.execute("delete from relatedness_array where name = ?", (name,))
            arrays.write_array(connection, 1, name, codes, table="relatedness_array")
    said = call("rows", "last", "--store", pending)
    assert said.code == 2
    assert "the arrays of relatedness 1 are damaged: they make no rows of related; name another store" in said.err
    assert not rows_of(pending, "txn")["txn"]


def test_tables_of_another_shape_than_their_rows_and_columns_are_refused(pending):
    with open_store(pending) as store, store.stage() as connection:
        heights, widths = (read_array(connection, 1, name, table="scoring_array") for name in ("heights", "widths"))
        for name, sizes in (("heights", heights * widths), ("widths", np.ones(len(widths), int))):
            connection.execute("delete from scoring_array where name = ?", (name,))
            arrays.write_array(connection, 1, name, sizes, table="scoring_array")
        with pytest.raises(DecloakError, match="of scoring 1 is damaged"):
            true_tables(connection, 1)
