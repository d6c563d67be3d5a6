"""Runs over records that stay in files: the same figures as in memory, and nothing of a block in a part."""

import json
import os
import random
import shutil
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
from decloak.anonymisers import parts
from decloak.anonymisers.kernels.fast_cut import cut, cut_by_pairs
from decloak.counting import blocks as counting_blocks
from decloak.counting.blocks import Sets, add_pairs
from decloak.data.formats import blocks
from decloak.data.formats.record import Options
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from decloak.parallel import merge_tasks
from decloak.processes import local_pool
from decloak.store.opening import connect_readonly
from decloak.store.releases import read_set_generalised

pyarrow = pytest.importorskip("pyarrow", reason="the extra tables is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="the extra tables is not installed")

FIGURES = [f"{figure}_{way}" for figure in ("singled_out_1", "singled_out_2", "singled_out_3", "implied", "exposed_1",
           "exposed_2", "exposed_3") for way in ("original", "release")] + ["inferred_own_release", "hidden", "people",
           "guarantee_violations"]  # fmt: skip
CUT = {"method": "cut", "k": 4, "m": 2, "hierarchy": {"by": "names", "fanout": 3}}


def drawn(records: int, items: int = 40, seed: int = 1) -> list[list[str]]:
    """Records of items with a long tail, unsorted and repeated, some empty, one long."""
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(items)]
    names = [f"item {number}" for number in range(items)]
    rows = [rng.choices(names, weights, k=rng.choice([0, 1, 2, 3, 4, 6])) for _ in range(records - 1)]
    return [*rows, names[: items // 2]]


def written(path: Path, rows: list[list[str]], group: int = 70) -> Path:
    parquet.write_table(pyarrow.table({"items": rows}), path, row_group_size=group)
    return path


def scenario(file: Path, form: str = "parquet", *, in_parts: bool = True, **further: object) -> dict[str, object]:
    data = {"file": str(file), "format": form, "parts": in_parts}
    attack = {} if in_parts else {"attack": ["km_violation"]}
    return {"scenario": "parts", "data": data, "anonymise": CUT, **attack, **further}


def figures(run: decloak.Run) -> dict[str, float | None]:
    return {one.measure: one.value for one in run.measures if one.measure in FIGURES}


def release_in(store: Path) -> Counter[tuple[str, ...]]:
    """The written records of a release, each with its labels in order."""
    files = sorted(Path(f"{store}.parts").glob("release-*/*"))
    assert [file.suffix for file in files] == [".parquet"] * len(files)
    rows = [tuple(sorted(row)) for file in files for row in parquet.read_table(file)["items"].to_pylist()]
    return Counter(rows)


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> tuple[Path, decloak.Run, decloak.Run]:
    folder = tmp_path_factory.mktemp("parts")
    file = written(folder / "records.parquet", drawn(600))
    in_parts = decloak.run(scenario(file), store=folder / "parts.db")
    return folder, in_parts, decloak.run(scenario(file, in_parts=False), store=folder / "whole.db")


def test_parts_have_the_figures_and_the_records_of_one_release_in_memory(both):
    folder, in_parts, whole = both
    assert figures(in_parts) == pytest.approx(figures(whole), rel=1e-12)
    assert set(figures(in_parts)) == set(FIGURES)
    with closing(connect_readonly(folder / "whole.db")) as connection:
        rows = read_set_generalised(connection, 1).label_rows
    assert release_in(folder / "parts.db") == Counter(tuple(sorted(row)) for row in rows)


@pytest.mark.parametrize(("form", "options", "head"), [("basket", {}, ""), ("basket", {"header": True}, "one,two\n")])
def test_a_text_is_read_in_blocks_of_lines(tmp_path, monkeypatch, form, options, head):
    monkeypatch.setattr(blocks, "BYTES", 1 << 10)
    rows = [list(dict.fromkeys(row)) for row in drawn(300) if row]
    (tmp_path / "records.txt").write_text(head + "".join(f"{','.join(row)}\r\n" for row in rows) + "\n\n")
    found = []
    for in_parts in (True, False):
        said = scenario(tmp_path / "records.txt", form, in_parts=in_parts)
        said["data"] |= options
        found.append(figures(decloak.run(said, store=tmp_path / f"{in_parts}.db")))
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert len(list(Path(f"{tmp_path}/True.db.parts").glob("release-*/*"))) > 3


@pytest.mark.parametrize(
    ("form", "options", "text"),
    [
        ("spmf", {}, "@CONVERTED_FROM_TEXT\n@ITEM=1=milk\n@ITEM=2=bread\n1 2\n% x\n1 3 -2\n-2\n2 1\n1\n"),
        ("spmf", {}, "\ufeff@ITEM=1=milk\r\n1 2\r\n1\r\n\r\n"),
        ("jsonl", {}, '["a"]\n[]\n["b", "é"]\n\n\n\n'),
        ("basket", {}, "\ufeffmilk,bread\r\nrice\r\nmilk\r\n\r\n\r\n"),
        ("basket", {"header": True, "header_row": 2}, "title\n\ufeffone,two\nmilk,bread\n,rice\nmilk"),
    ],
)
def test_blocks_of_any_size_have_the_records_of_the_file(tmp_path, monkeypatch, form, options, text):
    (tmp_path / "records").write_bytes(text.encode())
    whole = tuple(decloak.read(tmp_path / "records", form, repeats=True, **options).transactions)
    for size in range(1, len(text.encode()) + 2):
        monkeypatch.setattr(blocks, "BYTES", size)
        found = blocks.Blocks.of(tmp_path / "records", form, Options(**options))
        assert tuple(row for number in range(len(found)) for row in found.read(number)) == whole


def test_a_name_below_a_record_is_unknown_in_other_blocks(tmp_path):
    (tmp_path / "records").write_text("@ITEM=1=milk\n1 2\n@ITEM=3=rice\n3\n")
    found = blocks.Blocks.of(tmp_path / "records", "spmf")
    with pytest.raises(DecloakError, match="records:3: the name of an item below a record; write all names first"):
        found.read(0)
    (tmp_path / "records").write_text("@ITEM=1=milk\n\n")
    with pytest.raises(DecloakError, match="records: no transactions in the file; expected the format spmf"):
        blocks.Blocks.of(tmp_path / "records", "spmf")


def test_a_blank_line_between_blocks_is_an_error_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BYTES", 8)
    (tmp_path / "records.txt").write_text("a,b\na,b,c\n\n\nb,c\na\n")
    with pytest.raises(DecloakError, match="an empty line") as caught:
        decloak.run(scenario(tmp_path / "records.txt", "basket"), store=tmp_path / "s.db")
    assert caught.value.place.endswith("records.txt:3")


def test_the_catalogue_counts_the_files_and_a_view_names_them(both):
    folder = both[0]
    rows = [set(row) for row in drawn(600)]
    with closing(sqlite3.connect(folder / "parts.db")) as connection:
        listed = connection.execute("select dataset, records, elements, files, paths from records_in_files").fetchall()
        assert connection.execute("select count(*) from txn").fetchone() == (0,)
        sizes = connection.execute("select path, bytes, row_groups from part order by id").fetchall()
    assert listed[0][:4] == (1, 600, sum(map(len, rows)), 1)
    assert listed[1][1] == 600
    assert "records.parquet" in listed[0][4]
    assert all((folder / path).stat().st_size == size for path, size, _ in sizes)
    assert sizes[0][2] == 9


def test_no_part_has_the_records_of_one_block(tmp_path):
    """Each block has an item of its own: it must be in several parts, and in another order."""
    rows = [[f"block {number // 50}", "all"] for number in range(400)]
    file = written(tmp_path / "records.parquet", rows, 50)
    decloak.run(scenario(file), store=tmp_path / "s.db")
    read = [parquet.read_table(file)["items"].to_pylist() for file in Path(f"{tmp_path}/s.db.parts").rglob("*.parquet")]
    kinds = [len({tuple(row) for row in part}) for part in read]
    assert len(read) == 8
    assert min(kinds) > 4
    assert all(part != sorted(part) for part in read)


def test_one_count_serves_all_k_and_later_runs(tmp_path, monkeypatch):
    file, calls = written(tmp_path / "records.parquet", drawn(300)), []
    count = parts._count
    monkeypatch.setattr(parts, "_count", lambda *arguments: calls.append(arguments[1]) or count(*arguments))
    said = scenario(file, vary={"anonymise.k": [2, 5, 10]})
    run = decloak.run(said, store=tmp_path / "s.db")
    assert sorted(number for numbers in calls for number in numbers) == list(range(5))
    said = scenario(file, vary={"anonymise.k": [2, 5, 10]}, in_parts=False)
    whole = decloak.run(said, store=tmp_path / "whole.db")
    assert [one.value for one in run.measures if one.measure == "exposed_3_release"] == [
        one.value for one in whole.measures if one.measure == "exposed_3_release"
    ]


@st.composite
def counted(draw) -> tuple[Hierarchy, list[list[str]]]:
    items = [f"i{number}" for number in range(draw(st.integers(2, 9)))]
    rows = st.lists(st.lists(st.sampled_from(items), min_size=1, max_size=5, unique=True), min_size=1, max_size=25)
    return Hierarchy.balanced(items, draw(st.integers(2, 4))), draw(rows)


@given(counted(), st.integers(1, 6), st.integers(1, 20))
def test_the_cut_of_the_table_is_the_cut_of_the_records(given_data, k, times):
    tree, rows = given_data
    k, rows = k * times, rows * times  # numbers above 255, where a byte ends
    records = tree.code(rows)
    records.sort_indices()
    sets = Sets(records.indptr.astype(np.int64), records.indices.astype(np.int32))
    for kind in (np.int32, np.uint8):
        nodes = len(tree.labels)
        table, supports = np.zeros((nodes, nodes), kind), np.zeros(nodes, np.int64)
        add_pairs(sets, tree.leaf, tree.parent, table, supports)
        if len(rows) >= k:
            assert cut_by_pairs(tree, table, supports, k).tolist() == cut(tree, records, k, 2).tolist()


def test_wide_data_give_the_same_release_from_counts_that_end_at_255(tmp_path, monkeypatch):
    file = written(tmp_path / "r.parquet", drawn(2_000))
    runs = [decloak.run(scenario(file), store=tmp_path / "small.db")]
    monkeypatch.setattr(counting_blocks, "NODES", 20)
    runs.append(decloak.run(scenario(file), store=tmp_path / "wide.db"))
    (counts,) = Path(f"{tmp_path}/wide.db.parts").glob("counts-*")
    with np.load(counts) as held:
        assert held["table"].dtype == np.uint8
        assert held["table"].max() == 255 < held["supports"].max()
    assert figures(runs[0]) == figures(runs[1])
    assert release_in(tmp_path / "small.db") == release_in(tmp_path / "wide.db")


def test_a_record_that_is_lost_on_the_way_ends_the_run_in_a_line(tmp_path, monkeypatch):
    write = parts.write_part
    monkeypatch.setattr(parts, "write_part", lambda path, rows: write(path, rows[1:]))
    file = written(tmp_path / "records.parquet", drawn(300))
    with pytest.raises(DecloakError, match="counts that are not those of the data") as caught:
        decloak.run(scenario(file), store=tmp_path / "s.db")
    assert "\n" not in str(caught.value)
    assert not list(Path(f"{tmp_path}/s.db.parts").glob("release-*"))
    monkeypatch.undo()
    assert decloak.run(scenario(file), store=tmp_path / "s.db").ok


def test_a_table_with_a_task_merged_twice_ends_the_run(tmp_path, monkeypatch):
    merge = merge_tasks

    def twice(function, tasks, merged):
        merge(function, [*tasks, tasks[0]] if function is parts._count else tasks, merged)

    monkeypatch.setattr("decloak.counting.blocks.merge_tasks", twice)
    with pytest.raises(DecloakError, match=r"and [\d,]+ counts"):
        decloak.run(scenario(written(tmp_path / "r.parquet", drawn(300))), store=tmp_path / "s.db")


def test_files_of_killed_writers_are_swept_and_those_of_others_stay(tmp_path):
    folder = tmp_path / "s.db.parts"
    gone, here = folder / ".making-99999999-x", folder / f".making-{os.getpid()}-other"
    for left in (gone, here):
        left.mkdir(parents=True)
        (left / "part-00000.parquet").write_bytes(b"half")
    (folder / ".99999999.counts-0.npz").write_bytes(b"half")
    decloak.run(scenario(written(tmp_path / "r.parquet", drawn(200))), store=tmp_path / "s.db")
    assert not gone.exists()
    assert here.exists()
    assert not (folder / ".99999999.counts-0.npz").exists()


def compute(folder: str, number: int) -> int:
    """Return a number; the process that gets number 5 first is killed."""
    flag = Path(folder) / "killed"
    if number == 5 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 1 << number


def test_a_killed_process_costs_no_result_and_none_is_merged_twice(tmp_path):
    merged: list[int] = []
    with local_pool(2):
        merge_tasks(compute, [(str(tmp_path), number) for number in range(12)], merged.append)
        assert sorted(merged) == [1 << number for number in range(12)]
        merge_tasks(compute, [(str(tmp_path), number) for number in range(4)], merged.append)
    assert (tmp_path / "killed").exists()
    assert len(merged) == 16


def test_processes_give_the_figures_and_the_files_of_one(both, tmp_path):
    folder, alone, _ = both
    several = decloak.run(scenario(folder / "records.parquet"), store=tmp_path / "s.db", jobs=2)
    assert figures(several) == figures(alone)
    first, second = (
        [file.read_bytes() for file in sorted(Path(f"{store}.parts").glob("release-*/*"))]
        for store in (folder / "parts.db", tmp_path / "s.db")
    )
    assert first == second


def test_a_process_killed_while_it_counts_changes_no_figure(both, tmp_path, monkeypatch):
    folder, alone, _ = both
    count = parts._count

    def killed(*arguments):
        if 6 in arguments[1] and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return count(*arguments)

    killed.__module__, killed.__qualname__ = count.__module__, count.__qualname__
    monkeypatch.setattr(parts, "_count", killed)
    several = decloak.run(scenario(folder / "records.parquet"), store=tmp_path / "s.db", jobs=2)
    assert (tmp_path / "killed").exists()
    assert figures(several) == figures(alone)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"anonymise": {**CUT, "m": 3}}, "this method needs all records in memory"),
        ({"anonymise": {**CUT, "method": "aa"}}, "this method needs all records in memory"),
        ({"anonymise": {**CUT, "hierarchy": {"by": "cooccurrence"}}}, "this method needs all records in memory"),
        ({"anonymise": {**CUT, "order": "recorded"}}, "records in parts are in random order"),
        ({"attack": ["km_violation"]}, "no attack reads the records of a cut in parts"),
        ({"measure": ["utility"]}, "'utility' needs all records in memory"),
        ({"measure": [{"exposure": {"targets": "all"}}]}, "people are drawn"),
        ({"measure": [{"exposure": {"control": "held_out"}}]}, "no control"),
        ({"data": {"file": "r.parquet", "format": "parquet", "parts": True, "sample": 5}}, "data in parts have no"),
        ({"data": {"file": "r.csv", "format": "long", "parts": True}}, "the format long is not read in parts"),
    ],
)
def test_what_needs_all_records_is_refused_in_a_line(tmp_path, keys, message):
    with pytest.raises(DecloakError, match=message):
        decloak.run({**scenario(tmp_path / "r.parquet"), **keys}, store=tmp_path / "s.db")
    assert not (tmp_path / "s.db").exists()


def test_wide_data_and_unknown_items_and_large_row_groups_are_refused(tmp_path, monkeypatch):
    file = written(tmp_path / "r.parquet", drawn(200))
    (tmp_path / "tree.csv").write_text("child,parent\nitem 0,all\nitem 1,all\n")
    tree = {"file": str(tmp_path / "tree.csv"), "format": "parents"}
    with pytest.raises(DecloakError, match="is not in the hierarchy"):
        decloak.run({**scenario(file), "anonymise": {**CUT, "hierarchy": tree}}, store=tmp_path / "s.db")
    monkeypatch.setattr(counting_blocks, "NODES", 20)
    with pytest.raises(DecloakError, match="nodes and k is 256: parts can have"):
        decloak.run({**scenario(file), "anonymise": {**CUT, "k": 256}}, store=tmp_path / "s.db")
    monkeypatch.setattr(counting_blocks, "WIDE", 30)
    with pytest.raises(DecloakError, match="nodes and k is 4: parts can have"):
        decloak.run(scenario(file), store=tmp_path / "s.db")
    monkeypatch.setattr(blocks, "LARGEST", 20)
    with pytest.raises(DecloakError, match="row group"):
        decloak.run(scenario(file), store=tmp_path / "t.db")


def test_a_store_that_names_files_elsewhere_is_not_followed(both, tmp_path):
    part = blocks.Part("../../etc/passwd", 1, 1, 1, 1, "")
    with pytest.raises(DecloakError, match="is not there"):
        blocks.Blocks.of_parts(tmp_path, tmp_path / "s.db.parts", [part])
    json.dumps(part)


def test_records_that_are_written_twice_violate_the_guarantee_unless_they_are_meant(tmp_path):
    file = written(tmp_path / "r.parquet", drawn(300) * 2)
    said = scenario(file)
    twice = decloak.run(said, store=tmp_path / "s.db")
    assert figures(twice)["guarantee_violations"] == 1
    assert any("seem to be written 2 times" in note for variant in twice.variants for note in variant.notes)
    said["data"] |= {"repeats": True}
    assert figures(decloak.run(said, store=tmp_path / "t.db"))["guarantee_violations"] == 0


def test_a_release_in_parts_is_published_as_a_folder_that_meets_its_guarantee(both, tmp_path, call):
    folder = both[0]
    call("publish", "last", str(tmp_path / "release"), "--store", both[0] / "parts.db")
    files = {file.name for file in (tmp_path / "release").iterdir()}
    manifest = json.loads((tmp_path / "release.manifest.json").read_text())
    assert manifest["sha256"].keys() == files
    assert manifest["counts"]["transactions"] == 600
    labels = (tmp_path / "release" / "labels.csv").read_text().splitlines()[1:]
    shown = {name for row in release_in(folder / "parts.db") for name in row}
    assert {line.partition(",")[0] for line in labels} == {name for name in shown if ".." in name}
    check = ("check", str(tmp_path / "release"), "--parts", "--k", "4", "--m", "2")
    assert call(*check).code == 0
    assert call(*check[:-3], "40", "--m", "2").code == 3


@pytest.mark.parametrize("name", ["release.txt", "release.db", "release.jsonl"])
def test_a_release_in_parts_is_published_as_nothing_else(both, tmp_path, call, name):
    done = call("publish", "last", str(tmp_path / name), "--store", both[0] / "parts.db")
    assert "this release is a folder of Parquet files" in done.err
    assert not list(tmp_path.iterdir())


def test_a_file_that_was_changed_is_not_published(tmp_path, call):
    decloak.run(scenario(written(tmp_path / "r.parquet", drawn(200))), store=tmp_path / "s.db")
    part = next(Path(f"{tmp_path}/s.db.parts").rglob("part-*"))
    content = bytearray(part.read_bytes())
    content[10] ^= 1
    part.write_bytes(content)
    done = call("publish", "last", str(tmp_path / "release"), "--store", tmp_path / "s.db")
    assert "is not as it was counted" in done.err
    assert not list(tmp_path.glob("*release*"))


@pytest.mark.parametrize("m", ["1", "2"])
def test_a_check_in_parts_lists_the_violations_of_a_check_in_memory(tmp_path, call, m):
    rows = [list(dict.fromkeys(row)) for row in drawn(300) if row]
    (tmp_path / "records.txt").write_text("".join(f"{','.join(row)}\n" for row in rows))
    check = ("check", tmp_path / "records.txt", "--input", "basket", "--k", "5", "--m", m, "--most", "500", "--as-said")
    whole, in_parts = call(*check), call(*check, "--parts")
    assert in_parts == whole
    assert in_parts.out.count("item") > 5
    listed = decloak.check(tmp_path / "records.txt", 5, int(m), parts=True, most=500)
    assert not listed
    assert listed.violations.rows == decloak.check(rows, 5, int(m), most=500).violations.rows


def test_a_check_in_parts_in_python_takes_a_folder_and_no_other_check(both, tmp_path, call):
    call("publish", "last", str(tmp_path / "release"), "--store", both[0] / "parts.db")
    assert decloak.check(tmp_path / "release", 4, 2, parts=True)
    assert decloak.check(tmp_path / "release", 40, 2, parts=True).number
    with pytest.raises(DecloakError, match="only a file is read in parts; leave parts out, or give the path of a file"):
        decloak.check([["a"]], 4, 2, parts=True)
    for other in ({}, {"m": 2, "kind": "whole"}, {"m": 2, "zeros": "allow"}):
        with pytest.raises(DecloakError, match="sets of up to 2 items; give k and m, and no other check"):
            decloak.check(tmp_path / "release", 4, parts=True, **other)


def test_no_order_of_a_part_shows_the_order_of_supports(tmp_path):
    said = scenario(written(tmp_path / "r.parquet", drawn(400)))
    said["anonymise"] = {**CUT, "hierarchy": {"by": "popularity", "fanout": 3}}
    decloak.run(said, store=tmp_path / "s.db")
    for file in Path(f"{tmp_path}/s.db.parts").rglob("*.parquet"):
        column = parquet.ParquetFile(file, read_dictionary=["items.list.element"]).read()["items"].chunk(0)
        names = column.values.dictionary.to_pylist()
        assert names == sorted(names)
        assert all(row == sorted(row) for row in column.to_pylist())


def test_sql_reads_the_records_in_files_and_nothing_else(both, call):
    pytest.importorskip("duckdb", reason="the extra sql is not installed")
    store = ("--store", both[0] / "parts.db", "--format", "csv")
    query = "select dataset, count(*) as records, sum(len(list_distinct(elements))) as elements from record "
    query += "group by 1 order by 1"
    listed = call("sql", "select dataset, records, elements from records_in_files", *store)
    assert call("sql", "--parts", query, *store) == listed
    assert len(listed.out.splitlines()) == 3
    joined = "select count(*) as n from contains c join generalised g on g.label = c.item where dataset = 2"
    expected = sum(count for row, count in release_in(both[0] / "parts.db").items() for name in row if ".." in name)
    assert call("sql", "--parts", joined, *store).out == f"n\n{expected}\n"
    files = sorted((both[0] / "parts.db.parts").rglob("part-*"))
    for hostile in (
        "select * from read_text('/etc/passwd')",
        f"copy record to '{files[0]}'",
        "attach 'other.db'",
        "install sqlite",
        "select 1; select 2",
        "set enable_external_access = true",
    ):
        before = files[0].read_bytes()
        done = call("sql", "--parts", hostile, *store)
        assert (done.code, len(done.err.splitlines())) == (2, 1), done
        assert files[0].read_bytes() == before


def test_sql_reads_no_files_through_a_path_that_is_a_pattern(both, call, tmp_path):
    pytest.importorskip("duckdb", reason="the extra sql is not installed")
    for folder in ("a [b]", "a b"):
        shutil.copytree(both[0], tmp_path / folder)
    query = ("sql", "--parts", "select count(*) from record", "--store")
    done = call(*query, tmp_path / "a [b]" / "parts.db")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "DuckDB takes a path with *, ? or [ for a pattern; move the store" in done.err
    assert call(*query, tmp_path / "a b" / "parts.db").code == 0


def test_sql_of_a_store_with_its_records_inside_needs_no_parts(both, call):
    pytest.importorskip("duckdb", reason="the extra sql is not installed")
    done = call("sql", "--parts", "select 1", "--store", both[0] / "whole.db")
    assert "leave out --parts" in done.err


def test_a_limit_of_memory_that_nothing_would_keep_is_refused(both, tmp_path):
    with pytest.raises(DecloakError, match="leave it out"):
        decloak.run(scenario(both[0] / "records.parquet"), store=tmp_path / "s.db", memory=1 << 30)
