"""Disassociation of records that stay in files: the clusters of the whole data, in files that give no place away."""

import json
import os
import signal
from collections import Counter
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.anonymisers import chunk_parts
from decloak.anonymisers.kernels import horpart
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.data.content import Cluster
from decloak.data.formats.blocks import Block, Blocks, PartedData
from decloak.data.formats.cluster_files import Truth, read_arrays, read_clusters, read_truth
from decloak.errors import DecloakError
from decloak.parallel import gather_tasks, merge_tasks
from decloak.store.disassociated import read_clusters as stored_clusters
from decloak.store.opening import connect_readonly
from slowly import slow_but
from test_parts import drawn, written

pyarrow = pytest.importorskip("pyarrow", reason="the extra tables is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="the extra tables is not installed")

METHOD = {"method": "disassociation", "k": 4, "m": 2, "max_cluster": 12}
RELEASE = {"measure": "ngd", "source": "release"}


def scenario(file: Path, *, in_parts: bool = True, **further: object) -> dict[str, object]:
    data = {"file": str(file), "format": "parquet", "parts": in_parts}
    return {"scenario": "clusters", "data": data, "anonymise": METHOD, **further}


def files_of(store: Path) -> list[Path]:
    return sorted(Path(f"{store}.parts").glob("release-*/*"))


def truth_of(file: Path) -> Path:
    return file.parent.with_name(file.parent.name.replace("release-", "truth-")) / file.name


def with_truth(file: Path):
    """Yield each cluster in a file with the records behind its rows."""
    whole, first = read_truth(truth_of(file), read_arrays(Block(str(file), 0))), 0
    for cluster in read_clusters(Block(str(file), 0)):
        end = first + cluster.size
        yield cluster, Truth(whole.places[first:end], whole.records[first:end])
        first = end


def clusters_in(store: Path) -> Counter[Cluster]:
    return Counter(cluster for file in files_of(store) for cluster in read_clusters(Block(str(file), 0)))


def of_all(folder: Path) -> Path:
    """Write records that all have one item."""
    return written(folder / "r.parquet", [["a", *row] for row in drawn(150)])


@pytest.fixture
def small_nodes(monkeypatch):
    monkeypatch.setattr(chunk_parts, "NODE", 40)
    monkeypatch.setattr(chunk_parts, "BATCH", 30)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, decloak.Run]:
    folder = tmp_path_factory.mktemp("clusters")
    file = written(folder / "records.parquet", [row for row in drawn(400) if row])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_parts, "NODE", 40)
        patch.setattr(chunk_parts, "BATCH", 30)
        return folder, decloak.run(scenario(file), store=folder / "s.db")


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), min_size=4, max_size=60),
    st.integers(2, 4),
    st.integers(1, 3),
    st.integers(0, 8),
    st.tuples(st.integers(1, 20), st.integers(1, 30), st.integers(1, 40)),
    st.sampled_from([None, "cure", "suppress"]),
)
@settings(deadline=None, max_examples=25)
def test_the_clusters_are_those_of_the_whole_data(rows, k, m, above, sizes, cover):
    size, (group, node, batch) = k + above, sizes
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        patch.setattr(chunk_parts, "NODE", node)
        patch.setattr(chunk_parts, "BATCH", batch)
        data = PartedData.of_blocks(Blocks.of(written(folder / "r.parquet", rows, group), "parquet"), "r")
        release, loss, _ = chunk_parts.disassociate_in_parts(data, k, m, size, cover, folder / "s.db", "b", "a" * 64)
        whole = disassociate(rows, k=k, m=m, max_cluster=size, cover=cover)
        assert clusters_in(folder / "s.db") == Counter(whole.release.clusters)
        behind = [
            (cluster, tuple(truth.places.tolist()), tuple(truth.records))
            for file in files_of(folder / "s.db")
            for cluster, truth in with_truth(file)
        ]
    assert {(cluster, places) for cluster, places, _ in behind} == set(
        zip(whole.release.clusters, whole.truth, strict=True)
    )
    for cluster, places, records in behind:
        kept = [tuple(item for item in sorted({*rows[place]}) if item in cluster.items) for place in places]
        assert cover or list(records) == kept
        assert all({*record} <= {*rows[place]} for record, place in zip(records, places, strict=True))
        for chunk in cluster.record_chunks:
            own = (tuple(item for item in record if item in chunk.items) for record in records)
            assert sorted(filter(None, own)) == sorted(chunk.subrecords)
    assert sum(part.records for part in release.parts) == len(rows)
    assert loss.keys() == ({"cut", "moved"} if cover else set())


def test_a_run_writes_the_release_of_a_run_in_memory(made, tmp_path):
    folder, run = made
    file = folder / "records.parquet"
    decloak.run(scenario(file, in_parts=False, attack=["random"]), store=tmp_path / "whole.db")
    with closing(connect_readonly(tmp_path / "whole.db")) as connection:
        published = stored_clusters(connection, 1)
    assert clusters_in(folder / "s.db") == Counter(published.clusters)
    found = {one.measure: one.value for one in run.measures}
    assert found["guarantee_violations"] == 0
    assert found["people"] == len(published.ids)
    files = len(files_of(folder / "s.db"))
    assert files > 4
    shuffled = f"{len(published.clusters)} clusters in random order, in {files} files; "
    assert any(note.startswith(shuffled) for note in run.variants[0].notes)
    assert not list(Path(f"{folder / 's.db'}.parts").rglob(".*"))
    with closing(connect_readonly(folder / "s.db")) as connection:
        catalogue = connection.execute("select path, records, elements, bytes from part where dataset = 2").fetchall()
        assert connection.execute("select count(*) from cluster").fetchone() == (0,)
        assert connection.execute("select count(*) from truth_origin").fetchone() == (0,)
    for path, records, elements, size in catalogue:
        held = list(read_clusters(Block(str(folder / path), 0)))
        shown = sum(len(row) for one in held for chunk in one.record_chunks for row in chunk.subrecords)
        assert records == sum(cluster.size for cluster in held)
        assert elements == shown + sum(len(cluster.term_chunk) for cluster in held)
        assert size == (folder / path).stat().st_size


def test_neither_a_file_nor_a_place_follows_the_order_of_the_nodes(made):
    orders = []
    for file in files_of(made[0] / "s.db"):
        held = list(read_clusters(Block(str(file), 0)))
        orders.append([max(chunk.items for chunk in one.record_chunks) for one in held if one.record_chunks])
    assert len({items for order in orders for items in order}) > 5
    assert all(order != sorted(order) for order in orders if len(set(order)) > 3)
    assert min(len(set(order)) for order in orders) > 1


def test_names_of_suppressed_items_are_in_no_file(tmp_path, monkeypatch, small_nodes):
    whole = chunk_parts.make_leaves

    def suppress(records, clusters, k, m, cover, names):
        gone = list(names).index("item 3")
        thinned = [tuple(item for item in record if item != gone) for record in records]
        leaves, _, moved = whole(thinned, clusters, k, m, None, names)
        return leaves, tuple((row, "item 3") for ids in clusters for row in ids if gone in records[row]), moved

    monkeypatch.setattr(chunk_parts, "make_leaves", suppress)
    rows = [[*row, "common"] for row in drawn(150)]
    said = scenario(written(tmp_path / "r.parquet", rows)) | {"anonymise": METHOD | {"cover": "suppress"}}
    run = decloak.run(said, store=tmp_path / "s.db")
    assert run.ok
    assert files_of(tmp_path / "s.db")
    assert not any(b"item 3\0" in file.read_bytes() or _dictionary(file) for file in files_of(tmp_path / "s.db"))


def _dictionary(file: Path) -> bool:
    path = "record_chunks.list.element.subrecords.list.element.list.element"
    chunks = parquet.ParquetFile(file, read_dictionary=[path]).read()["record_chunks"].chunk(0)
    return "item 3" in chunks.values.field("subrecords").values.values.dictionary.to_pylist()


@pytest.mark.parametrize("lost", ["a cluster", "a file twice"])
def test_a_cluster_that_is_lost_or_doubled_ends_the_run_in_a_line(tmp_path, monkeypatch, small_nodes, lost):
    write = chunk_parts.write_pieces

    def changed(path, some, truth, part, parts):
        kept = np.arange(len(some.sizes))
        if lost == "a cluster" and len(kept):
            gone = some.sizes[0]
            truth, kept = Truth(truth.places[gone:], truth.records[gone:]), kept[1:]
        elif len(kept):
            twice = truth.records.select(np.tile(np.arange(len(truth.records)), 2))
            truth, kept = Truth(np.tile(truth.places, 2), twice), np.tile(kept, 2)
        write(path, some.select(kept), truth, part[kept], parts)

    monkeypatch.setattr(chunk_parts, "write_pieces", changed)
    with pytest.raises(DecloakError, match="counts that are not those of the data") as caught:
        decloak.run(
            scenario(written(tmp_path / "r.parquet", [["a", *row] for row in drawn(150)])), store=tmp_path / "s"
        )
    assert "\n" not in str(caught.value)
    assert not list(Path(f"{tmp_path / 's'}.parts").iterdir())


@pytest.mark.parametrize("task", ["_gather", "_check"])
def test_a_task_that_is_merged_twice_ends_the_run(tmp_path, monkeypatch, small_nodes, task):
    def repeating(compute):
        def twice(function, tasks, *merged):
            again = getattr(function, "func", function) is getattr(chunk_parts, task)
            return compute(function, [*tasks, tasks[0]] if again else tasks, *merged)

        return twice

    monkeypatch.setattr(chunk_parts, "gather_tasks", repeating(gather_tasks))
    monkeypatch.setattr(chunk_parts, "merge_tasks", repeating(merge_tasks))
    with pytest.raises(DecloakError, match=r"records, and [\d,]+ counts that are not"):
        decloak.run(
            scenario(written(tmp_path / "r.parquet", [["a", *row] for row in drawn(150)])), store=tmp_path / "s"
        )


@pytest.mark.parametrize("kill", slow_but([None, "_split", "_gather"], [None, "_split", "_cluster_node", "_gather"]))
def test_processes_write_the_files_of_one_also_if_one_is_killed(made, tmp_path, monkeypatch, small_nodes, kill):
    if kill:
        task = getattr(chunk_parts, kill)

        def killed(*arguments, **named):
            if not (tmp_path / "killed").exists() and os.getpid() != home:
                (tmp_path / "killed").touch()
                task(*arguments, **named)  # it dies after its files are written, before its result is merged
                os.kill(os.getpid(), signal.SIGKILL)
            return task(*arguments, **named)

        home = os.getpid()
        killed.__module__, killed.__qualname__ = task.__module__, task.__qualname__
        monkeypatch.setattr(chunk_parts, kill, killed)
    decloak.run(scenario(made[0] / "records.parquet"), store=tmp_path / "s.db", jobs=2)
    assert (tmp_path / "killed").exists() == (kill is not None)
    one, two = ([file.read_bytes() for file in files_of(store)] for store in (made[0] / "s.db", tmp_path / "s.db"))
    assert one == two


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"anonymise": METHOD | {"refine": True}}, "this method needs all records in memory"),
        ({"anonymise": METHOD | {"totals": True}}, "this method needs all records in memory"),
        ({"attack": ["aba"]}, "the rule aba needs relatedness"),
        ({"attack": ["cover"]}, "the rule cover needs all clusters in memory"),
        ({"attack": ["expectation"], "relate": RELEASE}, "the rule expectation needs all clusters in memory"),
        ({"attacker": {"knows": ["person"]}}, "an attacker of records in parts knows no sample of them and no person"),
        ({"measure": ["breakage"]}, "'breakage' needs all records in memory"),
    ],
)
def test_what_needs_all_clusters_is_refused_in_a_line(tmp_path, keys, message):
    with pytest.raises(DecloakError, match=message):
        decloak.run({**scenario(tmp_path / "r.parquet"), **keys}, store=tmp_path / "s.db")
    assert not (tmp_path / "s.db").exists()


def test_an_empty_record_and_too_few_records_are_refused_with_their_place(tmp_path):
    file = written(tmp_path / "r.parquet", [["a"]] * 30 + [[]] + [["b"]] * 9, 20)
    with pytest.raises(DecloakError, match="record 11 of block 2 has no items") as caught:
        decloak.run(scenario(file), store=tmp_path / "s.db")
    assert "r.parquet" in str(caught.value)
    with pytest.raises(DecloakError, match="3 records cannot hide among k = 4"):
        decloak.run(scenario(written(tmp_path / "few.parquet", [["a"]] * 3)), store=tmp_path / "s.db")


def test_the_result_says_first_how_many_people_are_exposed(made, call):
    said = call("show", "last", "--store", made[0] / "s.db").out
    assert "and still exposes" in said.splitlines()[0]
    assert "No attack" in said or "Not tested: no attack" in said


def test_published_clusters_are_checked_in_parts(made, tmp_path, call):
    call("publish", "last", str(tmp_path / "release"), "--store", made[0] / "s.db")
    manifest = json.loads((tmp_path / "release.manifest.json").read_text())
    assert manifest["sha256"].keys() == {file.name for file in (tmp_path / "release").iterdir()}
    assert manifest["counts"]["records"] == sum(cluster.size for cluster in clusters_in(made[0] / "s.db").elements())
    check = ("check", str(tmp_path / "release"), "--parts", "--m", "2", "--k")
    assert call(*check, "4").code == 0
    assert call(*check, "13").code == 3
    listed = decloak.check(tmp_path / "release", 13, 2, parts=True, most=1000)
    sizes = [cluster.size for cluster in clusters_in(made[0] / "s.db").elements()]
    assert sum(row[0] == "size" for row in listed.violations.rows) == sum(size < 13 for size in sizes)
    data = {"file": str(tmp_path / "release"), "format": "parquet", "parts": True}
    with pytest.raises(DecloakError, match="the file has the clusters of a release, and no records"):
        decloak.run({"scenario": "s", "data": data, "anonymise": METHOD}, store=tmp_path / "t.db")


def test_clusters_with_a_missing_value_are_refused_in_a_line(tmp_path, call):
    chunks = [[{"items": ["a", None], "subrecords": [["a"]]}]]
    table = pyarrow.table({"size": [4], "record_chunks": chunks, "term_chunk": pyarrow.array([["b"]])})
    parquet.write_table(table, tmp_path / "r.parquet")
    done = call("check", str(tmp_path / "r.parquet"), "--parts", "--k", "2", "--m", "2")
    assert "a cluster has a missing value" in done.err
    table = pyarrow.table({"size": ["4"], "record_chunks": [["a"]], "term_chunk": [["b"]]})
    parquet.write_table(table, tmp_path / "r.parquet")
    done = call("check", str(tmp_path / "r.parquet"), "--parts", "--k", "2", "--m", "2")
    assert (done.code, len(done.err.splitlines())) == (2, 1), done


@pytest.mark.parametrize("size", [2.5, float("nan"), 2**64 - 1])
def test_a_size_that_counts_no_records_is_refused_in_a_line(tmp_path, call, size):
    chunks = pyarrow.array([[{"items": ["a"], "subrecords": [["a"], ["a"]]}]])
    sizes = pyarrow.array([size], pyarrow.uint64() if isinstance(size, int) else pyarrow.float64())
    table = pyarrow.table({"size": sizes, "record_chunks": chunks, "term_chunk": pyarrow.array([["b"]])})
    parquet.write_table(table, tmp_path / "r.parquet")
    done = call("check", str(tmp_path / "r.parquet"), "--parts", "--k", "2", "--m", "2")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1), done
    assert "no clusters in Parquet" in done.err


def test_parts_without_clusters_or_items_meet_no_guarantee(tmp_path, call):
    chunks = pyarrow.array([[{"items": ["a"], "subrecords": [["a"], ["a"]]}]])
    clusters = pyarrow.table({"size": [2], "record_chunks": chunks, "term_chunk": pyarrow.array([["b"]])})
    records = pyarrow.table({"items": pyarrow.array([["a"]])})
    for table, message in ((clusters, "a release without clusters"), (records, "no record has any item")):
        parquet.write_table(table.slice(0, 0), tmp_path / "r.parquet")
        done = call("check", str(tmp_path / "r.parquet"), "--parts", "--k", "2", "--m", "2")
        assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1), done
        assert message in done.err


def test_sql_reads_clusters_in_files(made, call):
    pytest.importorskip("duckdb", reason="the extra sql is not installed")
    store = ("--store", made[0] / "s.db", "--format", "csv")
    held = clusters_in(made[0] / "s.db")
    listed = call(
        "sql", "--parts", "select dataset, count(*) as n, sum(size) as records from cluster group by 1", *store
    )
    assert listed.out == f"dataset,n,records\n2,{held.total()},{sum(one.size for one in held.elements())}\n"
    hostile = call("sql", "--parts", "select * from read_text('/etc/passwd')", *store)
    assert (hostile.code, len(hostile.err.splitlines())) == (2, 1)


@given(
    st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=6), min_size=1, max_size=60),
    st.sets(st.integers(0, 7), max_size=2),
    st.integers(1, 20),
    st.booleans(),
)
@settings(deadline=None)
def test_records_are_divided_alike_with_and_without_compiled_loops(sets, common, size, plain):
    records = [tuple(sorted(items | common)) for items in sets]
    start = np.cumsum([0, *map(len, records)])
    codes = np.array([item for record in records for item in record], np.int32)
    with pytest.MonkeyPatch.context() as patch:
        if plain:
            patch.setattr(horpart, "_compiled", lambda: None)
        order, ends = horpart.divided(start, codes, 8, size)
    parts = [part.tolist() for part in np.split(order, ends[:-1])]
    assert parts == list(horpart.horizontal(records, size))
