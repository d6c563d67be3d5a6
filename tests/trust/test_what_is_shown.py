"""Views and exports show what is published: no original transaction, no label or item that only originals have."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import decloak
from decloak.store.documentation import schema_tables
from decloak.store.opening import connect_readonly

ITEMS = ("bread", "milk", "oil", "rice", "salt", "tea")
PATIENTS = [(f"patient-{at:02}", [item for place, item in enumerate(ITEMS) if (at * 3 + place) % 5 < 2] +
             ["hidden-cure"] * (at == 7)) for at in range(40)]  # fmt: skip
"""One of them has an item that nobody else has, and COAT suppresses; each has an id of its own."""
RELATED = "relate: {measure: ngd, source: release}\n"
TREE = "hierarchy: {by: cooccurrence, fanout: 3}"
STUDIES = {
    "sets": f"anonymise: {{method: sets, size: 3}}\n{RELATED}attack: [mda, rba]\n",
    "coat": "anonymise: {method: coat, k: 3, privacy: [[hidden-cure], [milk, tea]], "
    f"utility: [[bread, milk, oil], [rice, salt, tea]]}}\n{RELATED}attack: [rba]\n",
    "cut": f"anonymise: {{method: cut, k: 3, m: 2, {TREE}}}\n{RELATED}attack: [rba]\n",
    "partition": f"anonymise: {{method: partition, k: 3, {TREE}}}\n{RELATED}attack: [rba]\n",
    "disassociation": "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 10}\n"
    f"{RELATED}attacker: {{model: moderate, share: 0.5}}\nattack: [aba, mra, cover]\nmeasure: [accuracy, breakage]\n",
}


def study(folder: Path, form: str, rename: str = "hidden-cure") -> Path:
    """A store of one form, beside the file of its originals."""
    lines = [", ".join([label, *items]) for label, items in PATIENTS]
    (folder / "patients.txt").write_text("\n".join(lines).replace("hidden-cure", rename) + "\n")
    data = "data: {file: patients.txt, format: basket, ids: true}\n"
    (folder / "s.yaml").write_text(f"scenario: s\n{data}{STUDIES[form]}".replace("hidden-cure", rename))
    decloak.run(folder / "s.yaml", store=folder / "store.db")
    return folder / "store.db"


def marked_tables(folder: Path) -> Path:
    """A store of distance tables which mark what is original."""
    (folder / "t.csv").write_text(",milk,tea\nbread,0.5*,0.7\nsalt,0.1,0.2*\n")
    (folder / "s.yaml").write_text("scenario: s\ndata: {distances: t.csv}\nattack: [mda, rba]\n")
    decloak.run(folder / "s.yaml", store=folder / "store.db")
    return folder / "store.db"


WITH_ORIGINALS = {"txn", "contains"}
"""These views list the records of every data set, as the table `record` does; so they show originals by intention."""


def views(connection: sqlite3.Connection) -> list[str]:
    names = [name for (name,) in connection.execute("select name from sqlite_master where type = 'view'")]
    assert {table.name for table in schema_tables() if table.kind == "view"} <= set(names)
    return [name for name in names if not name.startswith("truth_") and name not in WITH_ORIGINALS]


def of_originals(connection: sqlite3.Connection) -> tuple[set[int], set[str]]:
    """The numbers of original transactions; labels and items that nothing published has."""
    rows = connection.execute("select t.id, t.label from txn t join dataset d on d.id = t.dataset "
                              "where d.kind = 'original'").fetchall()  # fmt: skip
    shown = {label for (label,) in connection.execute("select t.label from txn t join dataset d on d.id = t.dataset "
                                                      "where d.kind = 'published'")}  # fmt: skip
    return {number for number, _ in rows}, {label for _, label in rows} - shown | {"hidden-cure"}


@pytest.mark.parametrize("form", [*STUDIES, "tables"])
def test_no_view_shows_what_only_originals_have(tmp_path, form):
    store = marked_tables(tmp_path) if form == "tables" else study(tmp_path, form)
    with closing(connect_readonly(store)) as connection:
        numbers, names = of_originals(connection)
        if form == "disassociation":
            assert len(names) == 41
        if form == "coat":
            (suppressed,) = connection.execute("select name from truth_suppressed join item on id = item").fetchone()
            assert suppressed == "hidden-cure"
        elif form not in ("tables",):  # it is there to be seen, and is seen
            assert connection.execute("select 1 from node where label = 'hidden-cure'").fetchone()
            names.discard("hidden-cure")
        for view in views(connection):
            cursor = connection.execute(f'select * from "{view}"')
            columns = [column[0] for column in cursor.description]
            for row in cursor:
                told = dict(zip(columns, row, strict=True))
                assert told.get("txn") not in numbers, view
                assert (told.get("kind"), told.get("id")) not in {("txn", number) for number in numbers}, view
                for end in ("source", "target"):
                    assert told.get(f"{end}_kind") != "txn" or told[f"{end}_id"] not in numbers, view
                for value in row:
                    assert not any(name in str(value) for name in names), (view, row)
        assert not connection.execute(
            "select * from node n join truth_node t on t.kind = n.kind and t.id = n.id"
        ).fetchall()


def everything(connection: sqlite3.Connection) -> dict[str, int]:
    """How many nodes of each kind the tables hold."""
    kinds = ("dataset", "item", "txn", "generalised", "concept", "knowledge", "subrecord", "finding")
    return {kind: connection.execute(f"select count(*) from {kind}").fetchone()[0] for kind in kinds}


@pytest.mark.parametrize("form", STUDIES)
def test_what_the_views_leave_out_is_in_others_and_every_edge_has_two_ends(tmp_path, form):
    with closing(connect_readonly(study(tmp_path, form))) as connection:
        both = "(select * from node union all select * from truth_node)"
        for kind, count in everything(connection).items():
            seen = connection.execute(f"select count(*), count(distinct id) from {both} where kind = ?", (kind,))
            assert seen.fetchone() == (count, count), kind
        edges = "(select * from edge union all select * from truth_edge)"
        for relation, ends in (("edge", "node"), (edges, both)):
            assert not connection.execute(
                f"select * from {relation} e "
                f"where not exists (select 1 from {ends} n where n.kind = e.source_kind and n.id = e.source_id) "
                f"or not exists (select 1 from {ends} n where n.kind = e.target_kind and n.id = e.target_id)"
            ).fetchall()
        for table, kind in (("contains", "contains"), ("is_a", "is_a"), ("knows", "knows"), ("related", "related")):
            counted = [connection.execute(f"select count(*) from {source}").fetchone()[0]
                       for source in (table, f"{edges} where kind = '{kind}'")]  # fmt: skip
            assert counted[0] == counted[1]


@pytest.mark.parametrize("form", ["graphml", "gexf", "json"])
def test_originals_are_exported_when_asked_for_and_the_graph_says_so(call, tmp_path, form):
    store = study(tmp_path, "disassociation")
    plain = call("graph", "--store", store, "--format", form)
    assert (plain.code, plain.err) == (0, "")
    assert "patient-07" not in plain.out
    assert "contains original data" not in plain.out
    whole = call("graph", "--store", store, "--format", form, "--originals")
    assert whole.err == "note: CONFIDENTIAL: the graph contains original data\n"
    assert "CONFIDENTIAL: the graph contains original data" in whole.out
    assert "patient-07" in whole.out
    around = call("graph", "--store", store, "--format", form, "--around", "patient-07")
    assert around.code == 2
    assert "nothing published is called 'patient-07'; --originals takes in what is not" in around.err
    around = call("graph", "--store", store, "--format", form, "--around", "patient-07", "--originals")
    assert around.code == 0
    assert "contains original data" in around.out


def test_a_store_of_originals_alone_has_nothing_to_export(call, tmp_path):
    study(tmp_path, "sets")
    call("import", tmp_path / "patients.txt", "--format", "basket", "--ids", "--store", tmp_path / "own.db")
    said = call("graph", "--store", tmp_path / "own.db", "--format", "json")
    assert json.loads(said.out)["nodes"] == []
    assert said.err == "note: the store contains no release; --originals includes original data\n"
    assert (
        len(json.loads(call("graph", "--store", tmp_path / "own.db", "--format", "json", "--originals").out)["nodes"])
        > 40
    )


def test_an_export_does_not_depend_on_what_was_suppressed(call, tmp_path):
    """Neither a gap in numbers nor an order tells of it: the bytes are the same whatever it is called."""
    exported = set()
    for name in ("hidden-cure", "a first one", "milk shake", "zz last"):
        folder = tmp_path / name
        folder.mkdir()
        said = call("graph", "--store", study(folder, "coat", name), "--format", "json")
        exported.add(said.out)
    assert len(exported) == 1


LEAK = """
rule: leak
form: query
about: One.
derives: leak(item, seen)
facts: select item, item as seen from member_of
because: x
reference: ours
wrong_when: never
"""
"""The column `seen` keeps the number as the rule sees it. The store's own number replaces that in the column `item`."""


def test_no_rule_can_tell_by_its_number_whether_an_item_was_in_the_original_data(tmp_path):
    """Numbers that were counted up would: the leaves of a hierarchy that the data have not got would come last."""
    (tmp_path / "t").write_text("child,parent\n" + "".join(f"a{n},A\n" for n in range(9)) + "A,ALL\nb,ALL\n")
    (tmp_path / "r.yaml").write_text(LEAK)
    found = []
    for number, data in enumerate(("a1,b\na2\na1\na2,b\n", "a7,b\na0\na7\na0,b\n")):
        (tmp_path / "d").write_text(data)
        (tmp_path / "s.yaml").write_text(
            "scenario: s\ndata: {file: d, format: basket}\n"
            "anonymise: {method: cut, k: 4, m: 1, hierarchy: {file: t, format: parents}}\n"
            f"{RELATED}attack: [./r.yaml]\n"
        )
        decloak.run(tmp_path / "s.yaml", store=tmp_path / f"{number}.db")
        with closing(connect_readonly(tmp_path / f"{number}.db")) as connection:
            found.append(connection.execute("select l.seen, i.name from found_leak l join item i on i.id = l.item "
                                            "order by 1").fetchall())  # fmt: skip
    assert found[0] == found[1]
    assert {f"a{n}" for n in range(9)} <= {name for _, name in found[0]}


@pytest.mark.parametrize("before", [False, True])
def test_what_is_exported_with_originals_is_for_its_owners_eyes_alone(call, tmp_path, before):
    store = study(tmp_path, "sets")
    for command, name in ((("graph", "--originals"), "g.xml"), (("report", "last", "--with-originals"), "r.html")):
        written = tmp_path / name
        if before and command[0] == "graph":  # a page is written over nothing
            written.write_text("of everybody")
            written.chmod(0o644)
        assert call(*command, "-o", written, "--store", store).code == 0
        assert written.stat().st_mode & 0o777 == 0o600
    assert call("graph", "-o", tmp_path / "shown.xml", "--store", store).code == 0
    assert (tmp_path / "shown.xml").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
