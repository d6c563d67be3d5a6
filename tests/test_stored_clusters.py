"""What re-association gives to whom, and the rows of clusters, are arrays in the store and shown as rows."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import decloak
from decloak.store import arrays
from decloak.store.assigned import read_assigned, read_given
from decloak.store.opening import connect_readonly, open_store
from decloak.store.showing import show_all
from stores import old_store, rows_of, whole

SCENARIO = """\
scenario: a clinic in clusters
data: {generate: clinic, transactions: 60, seed: 7}
anonymise: {method: disassociation, k: 2, m: 2, max_cluster: 8, refine: true}
relate: {measure: ngd, source: release}
attack: [random, aba, rga, expectation, both.yaml]
measure: [accuracy, certain]
"""
BOTH = """\
rule: both
form: query
about: what two attacks give to the same row
derives: both(cluster, chunk, unit, row)
facts: |
  select a.cluster, a.chunk, a.unit, a.row from aba a
  join rga r on r.cluster = a.cluster and r.chunk = a.chunk and r.unit = a.unit and r.row = a.row
because: both gave it
"""
GIVEN = (
    "select c.number, s.chunk, s.unit, r.row, s.value from finding f join assigned s on s.finding = f.id "
    "join cluster_row r on r.txn = s.txn join cluster c on c.id = r.cluster where f.attack = {} order by f.id"
)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The same run, shown as rows and not, with its figures."""
    folder = tmp_path_factory.mktemp("clusters")
    (folder / "clinic.yaml").write_text(SCENARIO)
    (folder / "both.yaml").write_text(BOTH)
    ran = {name: decloak.run(folder / "clinic.yaml", store=folder / f"{name}.db", rows=rows)
           for name, rows in (("shown", None), ("pending", 0))}  # fmt: skip
    assert ran["shown"].measures == ran["pending"].measures
    return folder


@pytest.fixture
def pending(stores, tmp_path):
    """A store without rows but for those that a rule read."""
    (tmp_path / "pending.db").write_bytes((stores / "pending.db").read_bytes())
    return tmp_path / "pending.db"


def number_of(path, label):
    with closing(connect_readonly(path)) as connection:
        return connection.execute("select attack from run_attack where label = ?", (label,)).fetchone()[0]


def test_rows_that_are_made_later_are_those_that_are_made_at_once(stores, pending):
    show_all(pending)
    assert whole(pending) == whole(stores / "shown.db")
    shown = rows_of(pending, "cluster_row", "assigned", "cluster")
    assert len(shown["cluster_row"]) == sum(size for *_, size in shown["cluster"]) == 60
    assert len(shown["assigned"]) > 100


def test_a_rule_has_no_rows_made_of_what_it_reads(pending):
    shown = rows_of(pending, "found_both", "cluster_row", "related", "txn", "assigned")
    assert shown.pop("found_both")
    assert not any(shown.values())


def test_what_was_given_to_whom_is_read_from_arrays_as_rows_show_it(stores, pending):
    for attack in (1, 2, 3, 4):
        with closing(connect_readonly(pending)) as connection:
            given, assigned = read_given(connection, attack), read_assigned(connection, attack)
        rows = rows_of(stores / "shown.db", f"({GIVEN.format(attack)})")
        ((_, listed),) = rows.items()
        assert [(a.cluster, str(a.chunk), json.dumps(a.unit, ensure_ascii=False), *a.rows) for a in given] == [
            row[:4] for row in listed
        ]
        assert sorted((a.cluster, str(a.chunk), a.unit, row) for a in assigned for row in a.rows) == sorted(
            (a.cluster, str(a.chunk), a.unit, row) for a in given for row in a.rows
        )
        assert len({a[:3] for a in assigned}) == len(assigned) > 0


@pytest.mark.parametrize("of", ["shown", "pending"])
def test_an_old_store_becomes_what_a_new_one_is(stores, tmp_path, of):
    """Rows of clusters and of findings were there always, those of transactions not."""
    old_store(stores / "shown.db", tmp_path / "old.db", 5)
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as connection:
        connection.execute("delete from attack_array where name <> 'probabilities'")
        if of == "pending":
            connection.execute("update extent set pending = 'not there yet'")
            for table in ("txn", "contains", "published_as", "truth_origin", "truth_marked"):
                connection.execute(f"delete from {table}")
    open_store(tmp_path / "old.db").close()
    if of == "pending":
        assert not rows_of(tmp_path / "old.db", "cluster_row")["cluster_row"]
        show_all(tmp_path / "old.db")
    shown = {name: rows for name, rows in whole(stores / "shown.db").items() if not name.startswith("found_")}
    assert whole(tmp_path / "old.db") == shown
    with closing(connect_readonly(tmp_path / "old.db")) as old, closing(connect_readonly(stores / "shown.db")) as new:
        for attack in (1, 2, 3, 4):
            assert read_given(old, attack) == read_given(new, attack) != []
        assert not old.execute("pragma foreign_key_check").fetchall()


DAMAGE = {
    "a byte": "update attack_array set content = cast(x'07' || substr(content, 2) as blob) where name = '{}'",
    "cut short": "update attack_array set content = substr(content, 1, length(content) - 1) where name = '{}'",
    "gone": "delete from attack_array where name = '{}'",
}


@pytest.mark.parametrize("name", ["places", "chunks", "units", "values", "chunk_names", "unit_texts"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_an_error_of_one_line(call, pending, damage, name):
    attack = number_of(pending, "random")
    with open_store(pending) as store, store.stage() as connection:
        connection.execute(damage.format(name) + f" and attack = {attack}")
    said = call("rows", "last", "--store", pending)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert f"the array {name} of attack {attack} is damaged; name another store" in said.err


SENSELESS = {"places": [1 << 40], "chunks": [9_999], "units": [-1], "values": [0.5]}


@pytest.mark.parametrize("name", SENSELESS)
def test_arrays_with_right_checksums_that_make_no_sense_are_refused(pending, name):
    with open_store(pending) as store, store.stage() as connection:
        count = len(read_given(connection, 1))
        connection.execute("delete from attack_array where name = ? and attack = 1", (name,))
        values = np.array(SENSELESS[name] * (count + (name == "values")))
        arrays.write_array(connection, 1, name, values, table="attack_array")
        with pytest.raises(decloak.DecloakError, match="of attack 1 is damaged"):
            read_assigned(connection, 1)


def test_clusters_that_do_not_add_up_to_the_records_are_refused(call, pending):
    with open_store(pending) as store, store.stage() as connection:
        connection.execute("update cluster set size = size + 1 where number = 0")
        connection.execute("update extent set pending = 'not there yet'")
    said = call("rows", "last", "--store", pending)
    assert said.code == 2
    assert "damaged" in said.err
