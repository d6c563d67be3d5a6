"""Whatever a user gives that is wrong: a line per fault with place and remedy, exit code 2, the store as it was."""

# ruff: noqa: E501 - one case a line, with the whole message it is answered with

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from conftest import ROOT
from decloak.store.opening import APPLICATION, VERSION
from processes import PATIENCE
from test_rules_load import ELIMINATE, QUERY, change
from test_store import content

LONG = "x" * 10_485_760
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
DEEP = "[" * 100_000


def scenario(old: str, new: str):
    """The scenario with one edit."""

    def edit(folder: Path) -> None:
        path = folder / "scenario.yaml"
        path.write_text(change(path.read_text(), old, new))

    return edit


def file(name: str, data: str | bytes):
    """A file with other content."""

    def edit(folder: Path) -> None:
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())

    return edit


def without(name: str):
    return lambda folder: (folder / name).unlink()


def rule(text: str, name: str = "mine.yaml"):
    """An attack by a rule file of one's own."""

    def edit(folder: Path) -> None:
        (folder / name).write_text(text)
        path = folder / "scenario.yaml"
        path.write_text(change(path.read_text(), "mda, tba,", f"{name}, mda, tba,"))

    return edit


def both(*edits):
    return lambda folder: [edit(folder) for edit in edits]


def data(form: str, text: str | bytes):
    """Originals in another format."""
    return both(
        scenario("file: original.txt, format: basket", f"file: original.txt, format: {form}"),
        file("original.txt", text),
    )


def tables(text: str | bytes):
    return both(
        file("scenario.yaml", "scenario: s\ndata: {distances: table.csv}\nattack: [rba]\n"), file("table.csv", text)
    )


def reads(name: str, other: str) -> str:
    return f"rule: {name}\nform: query\nabout: One.\nderives: {name}_of(x)\nfacts: select x from {other}_of\nbecause: x\nreference: ours\nwrong_when: never\n"


SQL = "select txn, n from held"
CASES = {
    # the scenario
    "unknown key": (scenario("attacker:", "atacker:"), r"scenario\.yaml:4:1: unknown key 'atacker'; did you mean 'attacker'\?"),
    "unknown key inside": (scenario("cap:", "cup:"), r"scenario\.yaml:3:58: unknown key 'cup'; did you mean 'cap'\?"),
    "wrong type": (scenario("context: 1", "context: [1]"), r"scenario\.yaml:4:21: expected .*, found a list"),
    "number as text": (scenario("context: 1", "context: '1'"), r"scenario\.yaml:4:21: expected .*; write it without quotes"),
    "out of range": (scenario("context: 1", "context: 0"), r"scenario\.yaml:4:21: expected a whole number, at least 1"),
    "not a number": (scenario("cap: none", "cap: .nan"), r"scenario\.yaml:3:63: '.nan' is not a finite number"),
    "duplicate key": (scenario("attacker: {context: 1}", "data: {}"), r"scenario\.yaml:4:1: .*'data'"),
    "missing key": (scenario("scenario: the worked example\n", ""), r"scenario\.yaml:1:1: missing key 'scenario'; add it"),
    "bad yaml": (scenario("{context: 1}", "{context: 1"), r"scenario\.yaml:\d+:\d+: "),
    "tab": (scenario("attack:", "\tattack:"), r"scenario\.yaml:\d+:\d+: "),
    "empty scenario": (file("scenario.yaml", ""), r"scenario\.yaml:?\S*: "),
    "binary scenario": (file("scenario.yaml", bytes(range(256)) * 20), r"scenario\.yaml:?\S*: "),
    "latin scenario": (file("scenario.yaml", b"scenario: caf\xe9\n"), r"scenario\.yaml:1:14: not UTF-8 text; save the file as UTF"),
    "scenario of a 10 MB line": (file("scenario.yaml", f"scenario: {LONG}"), r"scenario\.yaml: a YAML file of more than 1 MB; "),
    "alias bomb": (file("scenario.yaml", BOMB), r"scenario\.yaml:\d+:\d+: "),
    "deep nesting": (file("scenario.yaml", DEEP), r"scenario\.yaml:\d+:\d+: "),
    "alias of itself": (file("scenario.yaml", "a: &a [*a]\n"), r"scenario\.yaml:\d+:\d+: "),
    "tag": (file("scenario.yaml", "scenario: !!python/object/apply:os.system [ls]\n"), r"scenario\.yaml:\d+:\d+: "),
    "a list": (file("scenario.yaml", "- 1\n"), r"scenario\.yaml:1:1: expected a mapping"),
    "two documents": (file("scenario.yaml", "scenario: s\n---\nscenario: s\n"), r"scenario\.yaml:\d+:\d+: "),
    "no scenario": (without("scenario.yaml"), r"scenario\.yaml: no such file; check the spelling of the path"),
    "unknown attack": (scenario("gba,", "gbaa,"), r"scenario\.yaml:5:25: no rule named 'gbaa'; did you mean 'gba'\?"),
    "unknown measure": (scenario("[recovery,", "[recovry,"), r"scenario\.yaml:6:11: .*did you mean 'recovery'\?"),
    "unknown attack expected": (
        scenario("measure: [", "expect: ['recall(rbaa) > 0.1']\nmeasure: ["), r"scenario\.yaml:6:10: no attack 'rbaa'; did you mean 'rba'",
    ),
    "code expected": (scenario("measure: [", "expect: ['__import__(\"os\")']\nmeasure: ["), r"scenario\.yaml:6:10: "),
    # the data
    "no original": (without("original.txt"), r"original\.txt: .*no such file"),
    "no published": (without("published.txt"), r"published\.txt: .*no such file"),
    "no scores": (without("scores.csv"), r"scores\.csv: .*no such file"),
    "empty original": (file("original.txt", ""), r"original\.txt: the file is empty"),
    "empty published": (file("published.txt", ""), r"published\.txt: the file is empty"),
    "empty scores": (file("scores.csv", ""), r"scores\.csv: the file is empty"),
    "binary original": (file("original.txt", bytes(range(256))), r"original\.txt:1: not UTF-8 text"),
    "binary published": (file("published.txt", b"\x89PNG\r\n\x1a\n\0"), r"published\.txt:3: not UTF-8 text"),
    "binary scores": (file("scores.csv", b"\x1f\x8b\x08\0"), r"scores\.csv:1: not UTF-8 text"),
    "10 MB line of originals": (file("original.txt", LONG), r"original\.txt:1: line of 10485760 characters; at most 1,000,000"),
    "10 MB line published": (file("published.txt", "a, b\n" + LONG), r"published\.txt:2: line of 10485760 characters"),
    "10 MB line of scores": (file("scores.csv", "a,b,ngd\n" + LONG), r"scores\.csv:2: line of 10485760 characters"),
    "score that is no number": (file("scores.csv", "a,b,ngd\nknee,icd,far\n"), r"scores\.csv:2:\d+: 'far' is not a number; "),
    "ragged scores": (file("scores.csv", "a,b,ngd\nknee,icd\n"), r"scores\.csv:2:?\d*: .*; "),
    "scores without a head": (file("scores.csv", "knee,icd,0.5\n"), r"scores\.csv:1:?\d*: .*; "),
    "score given twice": (file("scores.csv", "a,b,ngd\nknee,icd,0.5\nicd,knee,0.6\nknee,icd,0.7\n"), r"scores\.csv:3:10: line 2 has another value"),
    "open bracket": (file("published.txt", "heart disease, (blood pressure\n"), r"published\.txt:1:\d+: a bracket that is never"),
    "id that is a number": (data("jsonl", '{"id": 1.5, "items": ["a"]}\n'), r"original\.txt:1:?\d*: .*; "),
    "bad json": (data("jsonl", '["a", "b"\n'), r"original\.txt:1:?\d*: .*; "),
    "ragged one-hot": (data("onehot", "a,b\n1,0\n1\n"), r"original\.txt:3:?\d*: .*; "),
    "one-hot of 2": (data("onehot", "a,b\n1,2\n"), r"original\.txt:2:?\d*: .*; "),
    "long without its columns": (data("long", "a,b\n1,x\n"), r"original\.txt:1:?\d*: .*; "),
    "ragged long": (data("long", "tid,item\n1\n"), r"original\.txt:2:?\d*: .*; "),
    "no whole number": (data("spmf", "1 x\n"), r"original\.txt:1:?\d*: .*; "),
    "a pair that does not fit": (file("original.txt", "heart disease, icd\n"), r"(published|original)\.txt:?\S*: .*; "),
    "ragged table": (tables(",a,b\nx,1,2\ny,1\n"), r"table\.csv:3: 1 values where the header has 2 columns; "),
    "table of words": (tables(",a,b\nx,1,far\n"), r"table\.csv:2:5: 'far' is not a number; "),
    "empty table": (tables(""), r"table\.csv: the file is empty"),
    "binary table": (tables(b"\0\1\2"), r"table\.csv:1: not UTF-8 text"),
    "10 MB line of a table": (tables(f",a\nx,{LONG}\n"), r"table\.csv:2: line of 1048576\d characters"),
    # the rules
    "rule that is no sql": (rule(change(QUERY, SQL, "selec 1")), r'mine\.yaml:7:8: SQL: near "selec": syntax error; '),
    "rule that writes": (rule(change(QUERY, SQL, "delete from item")), r"mine\.yaml:7:8: a rule may not .*; a rule is one SELECT"),
    "rule that reads the truth": (
        rule(change(QUERY, SQL, "select txn, 1 as n from main.truth_origin")), r"mine\.yaml:7:8: a rule may not read 'truth_origin'",
    ),
    "rule that never ends": (
        rule(change(QUERY, "select txn, count(*) as n from contains group by txn",
                    "with recursive x(n) as (select 1 union all select n + 1 from x) select n as txn, n from x")),
        r"mine\.yaml:6:9: the SQL takes too long, or too much memory; let it come to an end",
    ),
    "rule with a wrong key": (rule(change(ELIMINATE, "eliminate: heav", "eliminat: heav")), r"mine\.yaml:(1:1|8:1): "),
    "rule with a wrong formula": (rule(change(ELIMINATE, "max(w)", "max(v)")), r"mine\.yaml:6:12: unknown name 'v' in a formula; "),
    "rule with a wrong sentence": (rule(change(ELIMINATE, "{item}", "{itm}")), r"mine\.yaml:9:10: the sentence names 'itm'.*; did you"),
    "rules in a circle": (
        both(rule(reads("one", "two"), "one.yaml"), rule(reads("two", "one"), "two.yaml")),
        r"(one|two)\.yaml:1:7: rules read each other in a circle: (one → two → one|two → one → two); let one rule derive both",
    ),
    "no rule": (scenario("gba,", "./none.yaml,"), r"none\.yaml: no such file; "),
    "binary rule": (rule("\x00\x01"), r"mine\.yaml:\S+ "),
    "rule that is an alias bomb": (rule(BOMB), r"mine\.yaml:\d+:\d+: "),
}  # fmt: skip
SEVERAL: dict[str, int] = {}


@pytest.fixture
def ready(example, example_store):
    """The worked example, and a store in which it has run."""
    return example, example_store


@pytest.mark.parametrize(("edit", "expected"), CASES.values(), ids=CASES)
def test_bad_input_is_answered_and_the_store_is_as_it_was(ready, call, tmp_path, edit, expected, request):
    folder, store = ready
    edit(folder)
    before = content(store)
    said = call("run", folder / "scenario.yaml", "--store", store)
    assert said.code == 2
    assert said.out == ""
    lines = said.err.splitlines()
    assert re.match(f"decloak: {re.escape(str(folder))}/{expected}", lines[0]), said.err
    assert len(lines) == SEVERAL.get(request.node.callspec.id, 1), said.err
    assert all(len(line) < 500 and line.isprintable() for line in lines)
    assert content(store) == before
    fresh = tmp_path / "fresh.db"
    assert call("run", folder / "scenario.yaml", "--store", fresh) == said
    assert not fresh.exists()


@pytest.mark.parametrize("name", [name for name, (edit, _) in CASES.items() if "scenario.yaml" in CASES[name][1]
                                  or "mine" in CASES[name][1] or "circle" in name or name in ("no original", "no published", "no scores", "no rule")])  # fmt: skip
def test_what_is_wrong_with_scenarios_and_rules_is_found_without_a_store(example, call, tmp_path, name):
    edit, expected = CASES[name]
    edit(example)
    said = call("validate", example / "scenario.yaml")
    if r"scenario\.yaml" in expected or ".txt" in expected or ".csv" in expected:
        assert re.match(f"decloak: {re.escape(str(example))}/{expected}", said.err)
    assert said.code == 2
    assert call("run", example / "scenario.yaml", "--store", tmp_path / "s.db") == said
    assert not (tmp_path / "s.db").exists()


def test_every_fault_of_a_scenario_has_its_line(example, call, tmp_path):
    path = example / "scenario.yaml"
    path.write_text(path.read_text().replace("context: 1", "contxt: 1, k: x").replace("cap: none", "cap: -1"))
    said = call("run", path, "--store", tmp_path / "s.db")
    assert said.code == 2
    lines = [re.match(rf"decloak: {re.escape(str(path))}:(\d+):\d+: ", line) for line in said.err.splitlines()]
    assert [int(line[1]) for line in lines] == [3, 4, 4]


def marked(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute(f"pragma user_version = {version}")


def theirs(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t (a)")


STORES = {
    "newer": (
        lambda path: marked(path, VERSION + 1),
        f"a store of version {VERSION + 1}, newer than this decloak, which",
    ),
    "text": (
        lambda path: path.write_text("no database " * 100),
        "not a SQLite database, or a damaged one; name another",
    ),
    "theirs": (theirs, "a SQLite database, but no store of decloak; name another file"),
    "folder": (lambda path: path.mkdir(), "a folder, not a store; name a file in it"),
}


@pytest.mark.parametrize(("make", "expected"), STORES.values(), ids=STORES)
def test_a_store_that_cannot_be_used_is_left_alone(example, call, tmp_path, make, expected):
    store = tmp_path / "s.db"
    make(store)
    before = store.is_dir() or store.read_bytes()
    for command in (["run", example / "scenario.yaml"], ["import", example / "original.txt", "--format", "basket"]):
        said = call(*command, "--store", store)
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith(f"decloak: {store}: {expected}")
        assert said.err.count("\n") == 1
        assert (store.is_dir() or store.read_bytes()) == before


@pytest.mark.parametrize("store", ["/proc/s.db", "/dev/full", "none/s.db", "example/scenario.yaml/s.db"])
def test_a_store_that_cannot_be_written(example, call, tmp_path, store):
    said = call("run", example / "scenario.yaml", "--store", tmp_path / store)
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert "; " in said.err


def test_the_program_prints_no_traceback(example):
    """As a process of its own, for what only shows there: warnings, threads, exit codes."""
    edit, _ = CASES["score that is no number"]
    edit(example)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "decloak", "run", str(example / "scenario.yaml"), "--store", str(example / "s.db")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "engine")}, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"decloak: \S+scores\.csv:2:\d+: 'far' is not a number; [^\n]+\n", done.stderr)
