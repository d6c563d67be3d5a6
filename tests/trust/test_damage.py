"""Damaged stores and full disks: whatever is asked of them, one line says what is wrong and what to do."""

import os
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import decloak
from conftest import ROOT
from decloak.store.documentation import schema_tables
from decloak.store.opening import damage_of
from slowly import slow_but
from tries import SECONDS, drawn

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")

PAGE = 4096
DATA = "data: {file: d.txt, format: basket, ids: true}\n"
RELATED = "relate: {measure: ngd, source: release}\n"
SCENARIOS = {
    "sets": f"{DATA}anonymise: {{method: sets, size: 3}}\n{RELATED}attack: [mda, rba]\n"
    "measure: [recovery, {coverage: {least: 0.2}}]\n",
    "cut": f"{DATA}anonymise: {{method: cut, k: 3, m: 2, hierarchy: {{by: names, fanout: 3}}}}\n{RELATED}"
    "attack: [rba, {rule: km_violation, k: 30, m: 2}]\nmeasure: [recovery, loss]\n",
    "torn": f"{DATA}anonymise: {{method: disassociation, k: 3, m: 2, max_cluster: 10}}\n{RELATED}"
    "attacker: {model: moderate, share: 0.5}\nattack: [aba, mra, cover]\nmeasure: [accuracy, breakage]\n",
}
COMMANDS = [
    ["runs"], ["show", "last"], ["show", "last", "--tables"], ["show", "--json"], ["explain", "last"],
    ["explain", "last", "--finding", "1"], ["explain", "last", "--finding", "3", "--graph"], ["compare", "1", "last"],
    ["publish", "last", "out.jsonl"], ["publish", "last", "out.txt"], ["graph"],
    ["graph", "--originals", "--format", "json"], ["graph", "--around", "i1"], ["sql", "select * from result"],
    ["sql", "select * from named_eliminated"], ["sql", "select count(*), sum(item) from contains"],
    ["sql", "select * from node", "--json"], ["sql", "select count(*) from edge", "--format", "csv"],
    ["report", "last"], ["run", "s.yaml"], ["run", "s.yaml", "--dry-run"], ["run", "s.yaml", "--set", "repeat.times=2"],
    ["import", "d.txt", "--format", "basket", "--ids"], ["relate", "benchmark"],
]  # fmt: skip


@pytest.fixture(scope="module")
def stores(tmp_path_factory) -> dict[str, bytes]:
    """A sound store of each form, beside what they were made of."""
    folder = tmp_path_factory.mktemp("sound")
    lines = [f"p{n}, " + ", ".join(sorted({f"i{(n * 7 + k * k) % 13}" for k in range(4)})) for n in range(40)]
    (folder / "d.txt").write_text("\n".join(lines) + "\n")
    found = {"d.txt": (folder / "d.txt").read_bytes()}
    for name, text in SCENARIOS.items():
        (folder / "s.yaml").write_text(f"scenario: s\n{text}")
        decloak.run(folder / "s.yaml", store=folder / f"{name}.db")
        assert damage_of(folder / f"{name}.db") is None
        found[name] = (folder / f"{name}.db").read_bytes()
    return found


def torn(data: bytes, rng: random.Random) -> bytes:
    """Bytes that a disk, a copy or somebody has spoilt."""
    spoilt = bytearray(data)
    match rng.choice(("cut", "flip", "flips", "zero", "noise", "swap", "head", "text")):
        case "cut":
            del spoilt[rng.choice((rng.randrange(len(data)), len(data) - rng.randrange(1, PAGE))) :]
        case "flip":
            spoilt[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case "flips":
            for _ in range(rng.choice((10, 100, 1000))):
                spoilt[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case "zero" | "noise" as kind:
            start = rng.randrange(len(data) // PAGE) * PAGE
            spoilt[start : start + PAGE] = bytes(PAGE) if kind == "zero" else rng.randbytes(PAGE)
        case "swap":
            one, other = (rng.randrange(1, len(data) // PAGE) * PAGE for _ in range(2))
            spoilt[one : one + PAGE], spoilt[other : other + PAGE] = (
                data[other : other + PAGE],
                data[one : one + PAGE],
            )
        case "head":
            spoilt[rng.randrange(100)] = rng.randrange(256)
        case "text":
            for word in (b'"parts"', b'{"', b'["', b"rba", b"i1", b'k":'):
                at = data.find(word, rng.randrange(len(data)))
                if at >= 0:
                    spoilt[at : at + len(word)] = rng.choice((b"\xff" * len(word), word[::-1], bytes(len(word))))
    return bytes(spoilt)


def altered(path: Path, rng: random.Random) -> None:
    """Rows and tables that somebody has changed with a tool for SQLite."""
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("select name from sqlite_master where type = 'table' order by name").fetchall()
        (table,) = rng.choice(tables)
        (column, kind) = rng.choice(
            connection.execute(f'select name, type from pragma_table_info("{table}")').fetchall()
        )
        text = kind not in ("INTEGER", "REAL")
        change = rng.choice(("delete", "drop", "column", "null", "garbage", "list", "negative", "large"))
        value = {"null": "null", "garbage": "'garbage{'" if text else "99999", "list": "'[1,{}]'" if text else "7",
                 "negative": "-5", "large": "9000000000000000000"}.get(change)  # fmt: skip
        connection.execute("pragma ignore_check_constraints = on")
        sql = {"delete": f'delete from "{table}"', "drop": f'drop table "{table}"',
               "column": f'alter table "{table}" add column extra'}.get(change)  # fmt: skip
        try:
            connection.execute(sql or f'update "{table}" set "{column}" = {value}')
            connection.commit()
        except sqlite3.Error:  # SQLite itself refuses it
            connection.rollback()


@pytest.mark.parametrize("form", SCENARIOS)
def test_a_damaged_store_of_any_form_is_a_line_and_no_fault_of_ours(call, stores, tmp_path, monkeypatch, form, tries):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.txt").write_bytes(stores["d.txt"])
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{SCENARIOS[form]}")
    store = tmp_path / "damaged.db"
    for number in tries(4):
        rng = drawn(form, number)
        sound = stores[form]
        store.write_bytes(torn(sound, rng) if number % 2 else sound)
        if number % 2 == 0:
            altered(store, rng)
        kept = store.read_bytes()
        for command in rng.sample(COMMANDS, 6):
            for path in [*tmp_path.glob("damaged.db?*"), *tmp_path.glob("out*"), *tmp_path.glob("*.html")]:
                path.unlink()
            store.write_bytes(kept)
            said = call(*command, "--store", store)
            assert said.code in (0, 2, 3), (number, command, said)
            faults = [line for line in said.err.splitlines() if line.startswith("decloak: ")]
            assert len(faults) == (said.code == 2), (number, command, said)


READING_ALL = [
    ["run", "s.yaml", "--set", "repeat.times=2"], ["report", "last", "-o", "page.html"], ["show", "last"],
    ["publish", "last", "out.jsonl"], ["explain", "last"], ["compare", "1", "last"],
]  # fmt: skip


@pytest.mark.parametrize("form", SCENARIOS)
def test_a_table_without_its_rows_is_a_line_and_no_fault_of_ours(call, stores, tmp_path, monkeypatch, form, tries):
    """Every table of a store in turn; in the default suite some of them, beginning with what links to the originals."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.txt").write_bytes(stores["d.txt"])
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{SCENARIOS[form]}")
    tables = sorted(table.name for table in schema_tables() if table.kind == "table")
    drawn(form).shuffle(tables)
    tables.insert(0, "truth_release")
    for number in tries(len(tables) if SECONDS else 2):
        table = tables[number % len(tables)]
        for command in READING_ALL:
            store = tmp_path / "s.db"
            store.write_bytes(stores[form])
            with closing(sqlite3.connect(store)) as connection:
                connection.execute(f"delete from {table}")
                connection.commit()
            done = call(*command, "--store", store)
            assert done.code in (0, 2), (table, command, done.err)
            assert "fault inside" not in done.err


def test_what_is_damaged_is_told_with_the_remedy(call, stores, tmp_path):
    store = tmp_path / "s.db"
    for sql, told in (
        ("update release set parameters = '[]'", "what belongs to release 1 is not as it was written"),
        ("update relatedness set warnings = '{'", "what belongs to relatedness 1 is not as it was written"),
        ("update measure set value = 7 where name = 'precision'", "what belongs to measurement"),
        ("delete from truth_release", "what belongs to release 1"),
        ("delete from run_attack", "what belongs to run 1"),
        ("delete from seal where kind = 'scoring'", "what belongs to scoring 1"),
        ("delete from rule", "attack names what is not in rule"),
        ("update record set elements = '[1'", "what belongs to dataset 1 is not as it was written"),
        ("update scored_item set scores = '[]'", "what belongs to relatedness 1 is not as it was written"),
        ("update item set name = 'i99' where name = 'i9'", "the table item is not as it was written"),
        ("update number set value = value / 2 where id = 3", "the table number is not as it was written"),
        ("insert into number (value) values (0.5)", "the table number is not as it was written"),
        ("delete from number where id = (select max(id) from number)", "the table number is not as it was written"),
        ("delete from seal where kind = 'item'", "the table item is not as it was written"),
    ):
        store.write_bytes(stores["sets"])
        with closing(sqlite3.connect(store)) as connection:
            connection.executescript(sql)
            connection.commit()
        assert told in str(damage_of(store)), sql
    assert "run its scenarios into another store, or take a copy from before" in str(damage_of(store))
    for sql in ("update found_km_violation set support = support + 1", "delete from found_km_violation"):
        store.write_bytes(stores["cut"])
        with closing(sqlite3.connect(store)) as connection:
            assert connection.execute("select count(*) from found_km_violation").fetchone()[0] > 3
            connection.executescript(sql)
            connection.commit()
        assert re.search("what belongs to attack [0-9]+ is not as it was written", str(damage_of(store))), sql
    store.write_bytes(stores["sets"][: len(stores["sets"]) // 2])
    said = call("graph", "--store", store)
    assert said.code == 2
    assert "damaged" in said.err


@pytest.mark.parametrize("table", ["rule", "attack", "measurement", "run"])
def test_a_number_of_a_stage_that_is_gone_is_never_given_again(call, stores, tmp_path, monkeypatch, table):
    """Otherwise what still names the number would be of another stage, and nobody could tell."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.txt").write_bytes(stores["d.txt"])
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{SCENARIOS['sets']}")
    (tmp_path / "s.db").write_bytes(stores["sets"])
    with closing(sqlite3.connect("s.db")) as connection:
        connection.execute(f"delete from {table}")
        connection.commit()
    said = call("run", "s.yaml", "--set", "repeat.times=2", "--store", "s.db")
    assert said.code == 2
    assert "the store is damaged: " in said.err
    assert f"names what is not in {table};" in said.err


def test_what_is_deleted_with_all_that_belongs_to_it_is_made_again(call, stores, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.txt").write_bytes(stores["d.txt"])
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{SCENARIOS['sets']}")
    (tmp_path / "s.db").write_bytes(stores["sets"])
    with closing(sqlite3.connect("s.db")) as connection:
        connection.execute("pragma foreign_keys = on")
        connection.execute("delete from run")
        connection.commit()
    assert damage_of(tmp_path / "s.db") is None
    assert call("run", "s.yaml", "--store", "s.db").code == 0
    assert damage_of(tmp_path / "s.db") is None


def program(*arguments: object, most: int | None = None, **how) -> subprocess.CompletedProcess:
    """Run a command; `most` is the bytes that a file may have, as on a disk that is full."""

    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return subprocess.run(
        [sys.executable, "-m", "decloak", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "engine")},
        preexec_fn=limit,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        **how,
    )


PRINTING = [["runs"], ["show", "--json"], ["graph"], ["sql", "select 1", "--format", "csv"], ["explain", "last"]]


@pytest.mark.parametrize(
    "command",
    slow_but(
        [["--help"], ["runs"], ["sql", "select 1", "--format", "csv"], ["validate", "s.yaml"]],
        [*PRINTING, ["schema"], ["rules"], ["--help"], ["validate", "s.yaml"]],
    ),
)
def test_where_nothing_can_be_printed_it_is_said(stores, tmp_path, command):
    (tmp_path / "d.txt").write_bytes(stores["d.txt"])
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{SCENARIOS['sets']}")
    (tmp_path / "s.db").write_bytes(stores["sets"])
    where = ["--store", "s.db"] if command in PRINTING else []
    with Path("/dev/full").open("w") as full:
        said = program(*command, *where, stdout=full, cwd=tmp_path)
    assert said.returncode == 2
    told = [line for line in said.stderr.splitlines() if not line.startswith("last is run 1:")]
    assert told == ["decloak: cannot read or write: No space left on device; make room, then run it again"]


def test_where_not_even_that_can_be_said_the_exit_code_tells(stores, tmp_path):
    (tmp_path / "s.db").write_bytes(stores["sets"])
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "decloak", "runs", "--store", str(tmp_path / "s.db")]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
        assert subprocess.run(command, stdout=full, stderr=full, env=environment, check=False).returncode == 2


WRITING = {
    "run": ["run", "s.yaml", "--store", "new.db"],
    "import": ["import", "d.txt", "--format", "basket", "--ids", "--store", "new.db"],
    "run again": ["run", "s.yaml", "--set", "repeat.times=2", "--store", "s.db"],
    "graph": ["graph", "--store", "s.db", "-o", "new.xml"],
    "publish": ["publish", "last", "new.jsonl", "--store", "s.db"],
    "publish text": ["publish", "last", "new.txt", "--store", "s.db"],
    "report": ["report", "last", "--store", "s.db", "--output", "new.html"],
    "init": ["init", "new/x.yaml"],
    "hierarchy": ["hierarchy", "d.txt", "--input", "basket", "--ids", "--write", "new.csv"],
    "corpus": ["corpus", "build", "d.txt", "--lines", "--out", "new.idx"],
}


@pytest.mark.parametrize("name", slow_but(["run", "import", "publish", "report", "corpus"], WRITING))
@pytest.mark.parametrize("most", slow_but([5000], (0, 1, 100, 5000, 40_000, 150_000, 300_000)))
def test_a_full_disk_is_one_line_and_leaves_no_half_of_a_file(stores, tmp_path, name, most):
    (tmp_path / "d.txt").write_bytes(stores["d.txt"])
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{SCENARIOS['sets']}")
    (tmp_path / "s.db").write_bytes(stores["sets"])
    said = program(*WRITING[name], most=most, stdout=subprocess.DEVNULL, cwd=tmp_path)
    if said.returncode == 0:
        assert most > 0
        return
    faults = [line for line in said.stderr.splitlines() if line.startswith("decloak: ")]
    assert said.returncode == 2
    assert len(faults) == 1, said.stderr
    assert "fault inside" not in said.stderr
    ours = {"d.txt", "s.yaml", "s.db", "s.db-wal", "s.db-shm"}  # what SQLite could not put into its one file yet
    ours |= {"new.db"} if name in ("run", "import") and most else set()
    left = [path.name for path in tmp_path.rglob("*") if path.is_file() and path.name not in ours]
    assert left == []
    for store in tmp_path.glob("*.db"):  # what was finished is kept
        assert damage_of(store) is None


def test_too_little_memory_is_told(monkeypatch, call, stores, tmp_path):
    def greedy(*_: object, **__: object) -> None:
        raise MemoryError

    (tmp_path / "s.db").write_bytes(stores["sets"])
    monkeypatch.setattr("decloak.store.results.list_runs", greedy)
    said = call("runs", "--store", tmp_path / "s.db")
    assert (said.code, said.err) == (2, "decloak: there is not enough memory; give it more, or work on less\n")


def test_a_fault_of_ours_is_told_as_one(monkeypatch, call, stores, tmp_path):
    """A sound store is no excuse for it."""

    def wrong(*_: object, **__: object) -> None:
        raise KeyError("x")

    (tmp_path / "s.db").write_bytes(stores["sets"])
    monkeypatch.setattr("decloak.store.results.list_runs", wrong)
    said = call("runs", "--store", tmp_path / "s.db")
    assert said.code == 1
    assert "a fault inside decloak: KeyError" in said.err
    shutil.rmtree(tmp_path)
