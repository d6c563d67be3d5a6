"""Attacks on clusters in files, and the people that these expose: the figures of a run in memory."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import decloak
from decloak.anonymisers import chunk_parts
from decloak.attacker import tables
from decloak.counting import blocks
from decloak.data.assignment import Assignment, AssignmentArrays, AssignmentList, RowLists
from decloak.data.disassociated import Disassociated
from decloak.data.formats.cluster_files import ClusterArrays
from decloak.errors import DecloakError
from decloak.measure import accuracy, exposure_chunks, exposure_cluster_files, exposure_clusters
from decloak.measure.kernels import cluster_search
from decloak.measure.kernels.cluster_search import SetSearch, at_random
from decloak.pipeline import cluster_attacks
from decloak.report.verdict_lines import account_of
from decloak.rules.coverage import Confidence
from decloak.rules.operators.reassociate import REASSOCIATE
from decloak.rules.reassociate import kernel
from decloak.store.opening import connect_readonly
from naive_cluster_search import rows_with
from processes import PATIENCE
from slowly import slow_but
from test_cluster_parts import METHOD, RELEASE, clusters_in, files_of, scenario, truth_of
from test_parts import drawn, written

pyarrow = pytest.importorskip("pyarrow", reason="the extra tables is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="the extra tables is not installed")

ATTACKS = ["aba", "assignment", "mra", "rga"]
SKIPPED = {"certain_links", "certain_links_people", "coverage_least", "coverage_occurrences", "coverage_pairs"}
"""Figures of probabilities and of all pairs, which are not measured of clusters in files."""


def figures(run: decloak.Run) -> dict[tuple[str, str], float | None]:
    return {(one.attack, one.measure): one.value for one in run.measures if one.measure not in SKIPPED}


def attacked(file: Path, **further: object) -> dict[str, object]:
    return scenario(file, relate=RELEASE, attack=ATTACKS, **further)


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(chunk_parts, "NODE", 40)
    monkeypatch.setattr(chunk_parts, "BATCH", 30)
    monkeypatch.setattr(blocks, "BATCH", 50)


def make_comparable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let attacks state no probability, and let those at random assign nothing: in files they draw other rows."""

    def nothing(listed, sizes, random):
        given = RowLists(np.zeros(len(listed) + 1, np.int64), np.zeros(0, np.int64))
        return AssignmentList(listed.cluster, listed.kind, listed.kinds, given)

    unavailable = Confidence.unavailable("not in files")
    monkeypatch.setattr(type(REASSOCIATE), "confidence", lambda *arguments: unavailable)
    monkeypatch.setattr(exposure_cluster_files, "at_random", nothing)
    monkeypatch.setattr(exposure_cluster_files, "drawn_in_turn", lambda *arguments: (nothing(*arguments), arguments[2]))
    whole = exposure_cluster_files.search_all

    def search(sets, some, names, assigned, first, draw=0):
        return whole(sets, some, names, AssignmentArrays.of(()) if draw else assigned, first)

    monkeypatch.setattr(exposure_cluster_files, "search_all", search)
    monkeypatch.setattr(exposure_chunks, "random_assignment", lambda rows, given, rng: np.zeros(0, np.int64))


@pytest.fixture
def comparable(monkeypatch):
    make_comparable(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, decloak.Run]:
    folder = tmp_path_factory.mktemp("attacked")
    file = written(folder / "records.parquet", [row for row in drawn(200) if row])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_parts, "NODE", 40)
        patch.setattr(blocks, "BATCH", 50)
        return folder, decloak.run(attacked(file), store=folder / "s.db")


@pytest.mark.usefixtures("small_batches", "comparable")
@pytest.mark.parametrize(
    ("cover", "plain"),
    slow_but(
        [(None, False), ("cure", False)],
        [(None, False), (None, True), ("cure", False), ("suppress", False)],
        several=True,
    ),
)
def test_figures_are_those_of_a_run_in_memory(tmp_path, monkeypatch, cover, plain):
    for module, name in ((kernel, "compiled_loops"), (accuracy, "loops"), (cluster_search, "loops")) if plain else ():
        monkeypatch.setattr(module, name, lambda: None)
    method = METHOD | ({"cover": cover} if cover else {})
    file = written(tmp_path / "r.parquet", [row for row in drawn(200, seed=3) if row])
    in_files = decloak.run(attacked(file) | {"anonymise": method}, store=tmp_path / "files.db")
    whole = decloak.run(
        attacked(file, in_parts=False, measure=["accuracy"]) | {"anonymise": method}, store=tmp_path / "whole.db"
    )
    _assert_equal(in_files, whole)


def _assert_equal(in_files: decloak.Run, whole: decloak.Run) -> None:
    found, expected = figures(in_files), figures(whole)
    expected |= {key: pytest.approx(value, 1e-9) for key, value in expected.items() if value is not None}
    p = {key for key in expected if key[1] == "p_random"}  # permutations in memory, their moments in files
    assert {key: found.get(key) for key in expected.keys() - p} == {key: expected[key] for key in expected.keys() - p}
    assert found.keys() == expected.keys()


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), min_size=8, max_size=60),
    st.integers(2, 3),
    st.tuples(st.integers(4, 20), st.integers(1, 30), st.integers(1, 40)),
)
@settings(deadline=None, max_examples=6, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_figures_of_any_records_are_those_in_memory(rows, k, sizes):
    most, group, batch = sizes
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_parts, "NODE", 20)
        patch.setattr(blocks, "BATCH", batch)
        make_comparable(patch)
        said = attacked(written(Path(name) / "r.parquet", rows, group)) | {
            "anonymise": {"method": "disassociation", "k": k, "m": 2, "max_cluster": max(k, most)}, "attack": ["aba"],
        }  # fmt: skip
        in_files = decloak.run(said, store=Path(name) / "files.db")
        said = {**said, "data": {**said["data"], "parts": False}, "measure": ["accuracy"]}
        _assert_equal(in_files, decloak.run(said, store=Path(name) / "whole.db"))


def test_figures_are_those_without_compiled_loops(made, tmp_path, monkeypatch):
    monkeypatch.setattr(chunk_parts, "NODE", 40)
    monkeypatch.setattr(blocks, "BATCH", 50)
    for module, name in ((kernel, "compiled_loops"), (accuracy, "loops"), (cluster_search, "loops")):
        monkeypatch.setattr(module, name, lambda: None)
    run = decloak.run(attacked(made[0] / "records.parquet"), store=tmp_path / "s.db")
    expected = {key: pytest.approx(value, 1e-9) for key, value in figures(made[1]).items()}
    assert figures(run) == expected


@pytest.mark.parametrize(
    "kill",
    slow_but(
        [None, "_attack", "search_file"],
        [None, "_attack", "_count_block", "attack_file", "search_file", "locate_people"],
    ),
)
def test_processes_find_the_figures_of_one_also_if_one_is_killed(made, tmp_path, monkeypatch, kill):
    monkeypatch.setattr(chunk_parts, "NODE", 40)
    monkeypatch.setattr(blocks, "BATCH", 50)
    if kill:
        modules = (cluster_attacks, accuracy, exposure_cluster_files, exposure_clusters)
        having = [module for module in modules if hasattr(module, kill)]
        task = getattr(having[0], kill)

        def killed(*arguments):
            result = task(*arguments)
            if not (tmp_path / "killed").exists() and os.getpid() != home:
                (tmp_path / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        home = os.getpid()
        killed.__module__, killed.__qualname__ = task.__module__, task.__qualname__
        for module in having:
            monkeypatch.setattr(module, kill, killed)
    run = decloak.run(attacked(made[0] / "records.parquet"), store=tmp_path / "s.db", jobs=2)
    assert (tmp_path / "killed").exists() == (kill is not None)
    assert figures(run) == figures(made[1])


def test_a_run_that_was_stopped_goes_on_after_the_attack(made, tmp_path, monkeypatch):
    monkeypatch.setattr(chunk_parts, "NODE", 40)
    monkeypatch.setattr(blocks, "BATCH", 50)
    said, count = attacked(made[0] / "records.parquet") | {"attack": ["aba"]}, accuracy._count_block
    monkeypatch.setattr(accuracy, "_count_block", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        decloak.run(said, store=tmp_path / "s.db")
    monkeypatch.setattr(accuracy, "_count_block", count)
    monkeypatch.setattr(cluster_attacks, "_attack", None)
    run = decloak.run(said, store=tmp_path / "s.db")
    expected = {key: value for key, value in figures(made[1]).items() if key[0] == "aba"}
    assert {key: value for key, value in figures(run).items() if key[0] == "aba"} == expected


def test_an_attack_reads_neither_the_truth_nor_the_original_records(made, tmp_path, monkeypatch):
    monkeypatch.setattr(chunk_parts, "NODE", 40)
    file, attack = written(tmp_path / "r.parquet", [row for row in drawn(200) if row]), cluster_attacks._attack
    folder, away = Path(f"{tmp_path / 's.db'}.parts"), tmp_path / "away"

    def without_truth(*arguments):
        away.mkdir()
        for path in (file, *folder.glob("truth-*")):
            path.rename(away / path.name)
        try:
            return attack(*arguments)
        finally:
            for path in away.iterdir():
                path.rename(file if path.name == file.name else folder / path.name)
            away.rmdir()

    monkeypatch.setattr(cluster_attacks, "_attack", without_truth)
    run = decloak.run(attacked(file) | {"attack": ["aba"]}, store=tmp_path / "s.db")
    assert figures(run)["aba", "accuracy"] == figures(made[1])["aba", "accuracy"]


def test_the_store_has_no_row_for_a_record_or_a_finding(made):
    with closing(connect_readonly(made[0] / "s.db")) as connection:
        for table in ("assigned_unit", "truth_origin", "cluster", "txn"):
            assert connection.execute(f"select count(*) from {table}").fetchone() == (0,)
        scopes = connection.execute("select count(distinct scope) from measure").fetchone()[0]
    assert 2 < scopes <= clusters_in(made[0] / "s.db").total() + 1


@pytest.mark.parametrize("gone", ["truth", "attack"])
def test_files_that_are_gone_are_named_in_a_line(tmp_path, monkeypatch, gone):
    monkeypatch.setattr(chunk_parts, "NODE", 40)
    file = written(tmp_path / "r.parquet", [row for row in drawn(200) if row])
    count = accuracy._count_block

    def without(*arguments):
        for path in Path(f"{tmp_path / 's.db'}.parts").glob(f"{gone}-*/*"):
            path.unlink()
        return count(*arguments)

    monkeypatch.setattr(accuracy, "_count_block", without)
    with pytest.raises(DecloakError, match="are gone") as caught:
        decloak.run(attacked(file) | {"attack": ["aba"]}, store=tmp_path / "s.db")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "column", "damage"),
    [
        ("truth", "places", lambda places: places[:-1]),
        ("attack", "rows", lambda rows: [1 << 29, *rows[1:]]),
        ("attack", "rows", lambda rows: rows * 1000),
        ("attack", "cluster", lambda cluster: -1 - cluster),
        ("attack", "chunk", lambda chunk: 1 << 29),
        ("attack", "items", lambda items: ["strange"]),
        ("release", "size", lambda size: 1),
    ],
)
def test_files_that_do_not_fit_each_other_are_refused_in_a_line(tmp_path, monkeypatch, kind, column, damage):
    monkeypatch.setattr(chunk_parts, "NODE", 40)
    file = written(tmp_path / "r.parquet", [row for row in drawn(200) if row])
    count = accuracy._count_block

    def damaged(*arguments):
        for path in Path(f"{tmp_path / 's.db'}.parts").glob(f"{kind}-*/*"):
            table = parquet.read_table(path)
            at, kind_of = table.schema.get_field_index(column), table.schema.field(column).type
            changed = pyarrow.array([damage(one) for one in table[column].to_pylist()], kind_of)
            parquet.write_table(table.set_column(at, column, changed), path)
        return count(*arguments)

    monkeypatch.setattr(accuracy, "_count_block", damaged)
    with pytest.raises(DecloakError, match=r"do not fit the clusters|more sub-records than rows") as caught:
        decloak.run(attacked(file) | {"attack": ["aba"]}, store=tmp_path / "s.db")
    assert "\n" not in str(caught.value)


def test_too_many_pairs_are_refused_in_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "PAIRS", 100)
    file = written(tmp_path / "r.parquet", [row for row in drawn(200) if row])
    with pytest.raises(DecloakError, match=r"pairs of items: relatedness of clusters in files can have 100") as caught:
        decloak.run(attacked(file), store=tmp_path / "s.db")
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(tables, "NODES", 20)
    monkeypatch.setattr(chunk_parts, "_code", None)  # items are counted before any cluster is made
    with pytest.raises(DecloakError, match="items: relatedness of clusters in files can have 20"):
        decloak.run(attacked(file), store=tmp_path / "other.db")


@pytest.mark.usefixtures("small_batches")
def test_relate_without_attacks_runs_those_that_attack_each_cluster(tmp_path):
    file = written(tmp_path / "r.parquet", [row for row in drawn(100) if row])
    run = decloak.run(scenario(file, relate=RELEASE), store=tmp_path / "s.db")
    assert {key for key, measure in figures(run) if measure == "accuracy"} == {*ATTACKS, "random"}


def test_truth_is_in_another_folder_than_the_release(made):
    assert all(truth_of(file).is_file() and truth_of(file).parent != file.parent for file in files_of(made[0] / "s.db"))


def test_files_beside_the_store_are_for_their_owner_alone(made):
    files = list(Path(f"{made[0] / 's.db'}.parts").glob("*/*"))
    assert {file.parent.name.partition("-")[0] for file in files} == {"release", "truth", "attack"}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


@pytest.mark.parametrize(
    "command",
    [("explain", "last"), ("explain", "last", "1", "a"), ("graph", "--cluster", 0), ("graph", "--knows", "1=a")],
)
def test_commands_about_findings_say_that_these_are_in_files(made, call, command):
    done = call(*command, "--store", made[0] / "s.db")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("decloak: the release is in files: the store has neither its records nor findings; ")
    assert done.err.count("\n") == 1


def test_in_python_findings_in_files_are_an_error(made):
    for ask in (decloak.explain, lambda run: decloak.graph(run, cluster=0)):
        with pytest.raises(DecloakError, match="the release is in files"):
            ask(made[1])


def test_a_graph_says_that_it_leaves_out_releases_in_files(made, call):
    assert "note: releases in files are left out" in call("graph", "--store", made[0] / "s.db").err


def test_advice_on_records_in_files_is_refused_in_a_line(made, tmp_path, call):
    (tmp_path / "s.yaml").write_text(json.dumps(attacked(made[0] / "records.parquet")))
    done = call("advise", tmp_path / "s.yaml")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "advice needs all records in memory; delete parts" in done.err


def test_sql_over_files_writes_nothing_but_its_rows(made):
    pytest.importorskip("duckdb", reason="the extra sql is not installed")
    query = [sys.executable, "-m", "decloak", "sql", "--parts", "select 1 as n", "--format", "csv", "--store"]
    done = subprocess.run([*query, made[0] / "s.db"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("n\n1\n", "")


def test_figures_of_too_few_people_are_uncertain_and_others_not_measured(tmp_path):
    file = written(tmp_path / "r.parquet", [row for row in drawn(1400) if row])
    run = decloak.run(attacked(file) | {"attack": ["aba"]}, store=tmp_path / "s.db")
    said = " ".join(line.text for line in account_of(run.store, [1]).verdict.lines if line.label == "Not measured")
    missing, uncertain = said.split(". ")
    assert missing == "Re-associations with certainty and inference advantage"
    assert uncertain.startswith("Too few people were counted to be sure about people singled out with")
    assert any("because attacks on clusters in files state no probabilities" in note for note in run.variants[0].notes)


def test_rows_of_different_files_have_different_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(chunk_parts, "NODE", 40)
    found, count = [], exposure_clusters.count_own

    def noted(*arguments):
        found.append(count(*arguments))
        return found[-1]

    monkeypatch.setattr(exposure_clusters, "count_own", noted)
    file = written(tmp_path / "r.parquet", [row for row in drawn(200) if row])
    decloak.run(attacked(file) | {"attack": ["aba"]}, store=tmp_path / "s.db")
    numbers = [{*of_file.first.tolist()} for of_file in found]
    assert len(numbers) > 1
    assert sum(map(len, numbers)) == len(set().union(*numbers))


@pytest.mark.parametrize("plain", [False, True])
def test_rows_of_a_huge_cluster_have_no_number_of_the_next(plain):
    size, sets = (1 << 22) + 1, np.array([[0, 0, 0], [1, 1, 1]])
    none, zero, start = np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(3, np.int64)
    terms, term = np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32)
    some = ClusterArrays(["a", "b"], np.array([size, 3]), start, zero, none, zero, zero, none, terms, term)
    to = RowLists.of([[1], [0]]), RowLists.of([[size - 1], [0]])
    assigned = AssignmentArrays(["a", "b"], np.array([0, 1]), np.array([-1, -1]), *to)
    if plain:
        search = SetSearch(sets, 2)
        release = Disassociated(tuple(some.clusters()))
        search.search_release(release, assigned.in_clusters(0, 2), ["a", "b"], 7)
        found = search.hits, search.row
    else:
        pytest.importorskip("numba", reason="numba is not installed")
        found = cluster_search.search_all(sets, some, ["a", "b"], assigned, 7)
    assert [one.tolist() for one in found] == [[1, 1], [7 + size, 7 + size - 1]]


@given(
    st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=20),
    st.lists(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=70), max_size=4),
)
@settings(deadline=None)
def test_the_search_finds_the_rows_of_the_naive_one(sets, clusters):
    search = SetSearch(np.array(sets), 6)
    for number, rows in enumerate(clusters):
        items = sorted(set().union(*rows))
        cells = np.array([[item in row for row in rows] for item in items], np.bool_).reshape(len(items), len(rows))
        search.search(np.array(items, np.int64), cells, number * 1000)
    for (count, only), hits, row in zip(rows_with(sets, clusters), search.hits, search.row, strict=True):
        assert hits == count
        if only is not None:
            assert row == only[0] * 1000 + only[1]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1), st.integers(0, 9))
def test_an_attack_at_random_gives_as_many_different_rows(units, seed):
    sizes = np.array([4, 6, 9])
    listed = AssignmentList.of(Assignment(cluster, 1, ("a",), tuple(range(times))) for cluster, times in units)
    changed = at_random(listed, sizes, np.random.default_rng(seed))
    for before, after in zip(listed, changed, strict=True):
        assert before[:3] == after[:3]
        assert len(set(after.rows)) == len(before.rows)
        assert all(0 <= row < sizes[after.cluster] for row in after.rows)


def test_an_attack_at_random_gives_every_set_of_rows_as_often():
    listed = AssignmentList.of([Assignment(0, 1, ("a",), (0, 1))] * 6000)
    found = at_random(listed, np.array([4]), np.random.default_rng(0))
    counts = Counter(tuple(sorted(one.rows)) for one in found)
    assert len(counts) == 6
    assert max(abs(count - 1000) for count in counts.values()) < 120
