"""The command line: help, output for programs, errors in one line, exit codes, hostile names."""

import csv
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import networkx as nx
import pytest
from rich.cells import cell_len

from conftest import ROOT
from decloak.cli import COMMANDS
from decloak.errors import quote
from decloak.report.table import emit
from decloak.store.opening import connect_readonly
from decloak.version import __version__
from processes import PATIENCE, working_children
from slowly import slow_but
from test_rule_tests import FACTS, GRID
from test_rules_load import ELIMINATE, QUERY, written
from test_store import content

HOSTILE = [
    "\x1b[31mred\x1b[0m", "a\nb", "c\rd", "[red]x[/red]", "=1+1", "\u202egnp.exe", "q\"u'o,te", "<&>]]>", "{item}",
    "l\u2028s", "\u200fx", "\x7f\x9b", ":smile:", "é😀", "t\tb", "--help", "\ufeffbom", "%s%n",
]  # fmt: skip


def program(*arguments: object, **settings) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine"), **settings.pop("environment", {})}
    command = [sys.executable, "-W", "error", "-m", "decloak", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, check=False, **settings)


def one_line(said) -> str:
    """The only line of an error: nothing on standard output, exit code 2."""
    assert (said.code, said.out) == (2, ""), said
    assert said.err.startswith("decloak: ")
    assert said.err.endswith("\n")
    assert said.err.count("\n") == 1
    assert said.err[:-1].isprintable()
    return said.err[9:-1]


@pytest.fixture
def hostile(tmp_path, call):
    """A store whose items and transactions have hostile names."""
    lines = [json.dumps({"id": f"{name}!", "items": [name, "plain"]}) for name in HOSTILE]
    (tmp_path / "h.jsonl").write_text("\n".join(lines))
    assert call("import", tmp_path / "h.jsonl", "--format", "jsonl", "--store", tmp_path / "h.db").code == 0
    return tmp_path / "h.db"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(call, command):
    said = call(command, "--help")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Usage: decloak {command} ")
    assert call(command, "-h") == said
    for line in said.out.splitlines():
        assert len(line) <= 120


def test_the_help_names_every_command_with_a_line(call):
    said = call("--help")
    for command, line in COMMANDS.items():
        assert f"  {command} " in said.out
        assert line in said.out
    assert call("--version").out == f"decloak, version {__version__}\n"


def test_no_line_about_a_command_is_cut_short(call):
    for arguments in [[], *([command] for command in COMMANDS)]:
        said = call(*arguments, "--help")
        _, commands, listed = said.out.partition("\nCommands:\n")
        assert "..." not in listed
        assert "…" not in listed
        assert bool(commands) == (arguments in ([], ["corpus"], ["relate"]))


def test_the_help_says_of_check_what_it_takes_first(call):
    (line,) = (line for line in call("--help").out.splitlines() if line.startswith("  check "))
    assert "release" in line
    assert "release (a release file)" in " ".join(call("check", "--help").out.split())


def loaded_by(*arguments, code=0):
    """Return the modules that a command imports, its packages included."""
    script = f"import sys\nfrom decloak.cli import _code\nassert _code({list(arguments)!r}) == {code}\n"
    script += "print(*sys.modules, file=sys.stderr)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


ARRAYS = {"numpy", "scipy", "pydantic"}


def test_help_imports_nothing_heavy():
    heavy = ARRAYS | {"rich", "networkx", "sqlite_utils", "yaml", "jinja2", "sqlite3"}
    assert not heavy & loaded_by("--help")


def test_a_run_with_nothing_left_to_do_loads_little(store):
    heavy = {"scipy", "numpy.random", "numpy.ma", "networkx", "sqlite_utils", "pandas", "multiprocessing"}
    assert not heavy & loaded_by("run", str(ROOT / "scenarios" / "quickstart.yaml"), "--store", str(store))


def test_a_check_of_records_loads_neither_methods_nor_sparse_matrices(tmp_path):
    (tmp_path / "a.dat").write_text("1 2 3\n1 2 3\n4\n")
    loaded = loaded_by("check", str(tmp_path / "a.dat"), "--input", "spmf", "--k", "2", "--m", "3", code=3)
    heavy = {"decloak.anonymisers", "decloak.scenario", "importlib.metadata", "numpy.ma", "numpy.random"}
    assert not (heavy | {"numba", "scipy", "pydantic"}) & loaded


@pytest.mark.parametrize("command", [["runs"], ["sql", "select 1"]])
def test_a_question_to_a_store_loads_no_arrays(store, command):
    assert not ARRAYS & loaded_by(*command, "--store", str(store))


def test_nothing_is_imported_before_the_command_line_listens_for_signals():
    script = "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules)\n"
    script += "import decloak; print(sorted(set(sys.modules) - before))"
    command = [sys.executable, "-S", "-c", script, str(ROOT / "engine")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "['decloak', 'decloak.version']\n"


def test_importing_decloak_costs_nothing():
    script = "import sys, decloak; print(sorted({'numpy', 'pydantic', 'rich', 'networkx', 'click'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["ruls"], "no command 'ruls'; did you mean 'rules'?"),
        (["frobnicate"], "no command 'frobnicate'; see `decloak --help`"),
        (["\x1b[31m"], "no command '\\x1b[31m'; see `decloak --help`"),
        (["run"], "Missing argument 'SCENARIO'; see `decloak run --help`"),
        (["runs", "--stor", "x"], "--store"),
        (["runs", "--format", "xml"], "'xml' is not one of 'table', 'json', 'csv'"),
        (["runs", "extra"], "unexpected extra argument"),
        (["graph", "--hops", "x"], "'x' is not a valid integer"),
        (["graph", "--hops", "0"], "0 is not in the range"),
        (["--nix"], "No such option"),
        (["rules", "gbaa"], "no rule named 'gbaa'; did you mean 'gba'?"),
        (["schema", "itme"], "no table or view 'itme'; did you mean 'item'?"),
        (["rules", "gba", "mda"], "one rule at a time; or `decloak rules test PATH`"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest(call, arguments, expected):
    assert expected in one_line(call(*arguments))


READS_STORE = [["runs"], ["show"], ["compare", "1", "1"], ["explain", "1"], ["sql", "select 1"], ["graph"]]


@pytest.mark.parametrize("arguments", READS_STORE, ids=lambda one: one[0])
@pytest.mark.parametrize("form", [[], ["--json"], ["--format", "csv"]], ids=["table", "json", "csv"])
def test_errors_survive_every_output_format(call, tmp_path, arguments, form):
    if arguments == ["graph"]:
        form = [] if not form else ["--format", "gexf"]
    assert "no store there; make one with" in one_line(call(*arguments, *form, "--store", tmp_path / "none.db"))
    (tmp_path / "file.db").write_text("text " * 500)
    assert "not a SQLite database" in one_line(call(*arguments, *form, "--store", tmp_path / "file.db"))
    assert "a folder, not a store" in one_line(call(*arguments, *form, "--store", tmp_path))


PRINTS = [
    ["runs"], ["show"], ["show", "--tables"], ["show", "1"], ["show", "base"], ["explain", "1"],
    ["compare", "1", "last"], ["compare", "1", "1"],
    ["explain", "last", "p01", "aspirin"], ["explain", "1", "--finding", "40"],
    ["sql", "select * from named_eliminated"],
    ["sql", "select null as a, 1.5 as b, x'00ff' as c, 9e999 as d, 'x' as e, -9e999 as f, '' as g"],
    ["sql", "select 1 where 0"], ["run", str(ROOT / "scenarios" / "quickstart.yaml")],
]  # fmt: skip
NEEDS_NO_STORE = [
    ["rules"], ["rules", "gba"], ["rules", "test", str(ROOT / "rules" / "set_generalised" / "mda.yaml")],
    ["schema"], ["schema", "item"], ["schema", "--relations"], ["schema", "--scenario"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", PRINTS + NEEDS_NO_STORE, ids=" ".join)
def test_json_is_valid_json(call, store, arguments):
    extra = [] if arguments in NEEDS_NO_STORE else ["--store", store]
    said = call(*arguments, "--json", *extra)
    assert said.code == 0
    found = json.loads(said.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert found or arguments[-1].endswith("where 0")


@pytest.mark.parametrize("arguments", PRINTS + NEEDS_NO_STORE[:-1], ids=" ".join)
def test_csv_and_tables_have_the_rows_of_the_json(call, store, arguments):
    extra = [] if arguments in NEEDS_NO_STORE else ["--store", store]
    said = call(*arguments, "--format", "csv", *extra)
    assert said.code == 0
    lines = list(csv.reader(io.StringIO(said.out, newline="")))
    assert len({len(line) for line in lines if line}) <= (1 if "--finding" not in arguments else 9)
    table = call(*arguments, *extra)
    assert table.code == 0
    assert all(line == line.rstrip() for line in table.out.splitlines())
    if arguments[0] in ("runs", "sql") or arguments in (["rules"], ["show", "--tables"]):
        assert len(table.out.splitlines()) == len(lines) + 1  # the rule below the head


COUNTED_LATER = """
import sys, time
from pathlib import Path
import decloak.counting.violations as guarantees
from decloak.cli import main
count = guarantees.RareSets.count
def waiting(self):
    until = time.monotonic() + 600
    while not Path("go on").exists():
        if time.monotonic() > until:
            sys.exit("nobody has read what is printed first")
        time.sleep(0.01)
    return count(self)
guarantees.RareSets.count = waiting
main(["check", "b.txt", "--input", "basket", "--k", "2", "--m", "3", "--most", "2", "--format", "csv"])
"""


def test_check_prints_the_first_violations_before_it_has_counted_all(tmp_path):
    (tmp_path / "b.txt").write_text("milk, bread, salt\nmilk\ntea\n")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", COUNTED_LATER], cwd=tmp_path, **pipes) as process:
        assert [process.stdout.readline() for _ in range(3)] == ["itemset,support\n", "bread,1\n", "salt,1\n"]
        assert process.poll() is None
        (tmp_path / "go on").touch()
        rest, said = process.communicate(timeout=PATIENCE)
    assert (rest, said, process.returncode) == ("", "7 violations, 2 of them listed\n", 3)


def test_check_prints_json_and_has_its_exit_codes(call, tmp_path):
    (tmp_path / "b.txt").write_text("milk, bread\nmilk\n")
    basket = ["check", tmp_path / "b.txt", "--input", "basket"]
    said = call(*basket, "--k", 2, "--m", 2, "--json")
    assert said.code == 3
    assert json.loads(said.out) == [{"itemset": "bread", "support": 1}, {"itemset": "bread, milk", "support": 1}]
    assert said.err == "2 violations\n"
    for form, out in (("table", ""), ("json", "[]\n"), ("csv", "itemset,support\n")):
        said = call(*basket, "--k", 1, "--m", 2, "--format", form)
        asks = "note: k = 1 asks for nothing: whatever occurs is in one record or more\n"
        assert said == (0, out, asks + "the guarantee is met: k = 1, m = 2\n")
    assert call(*basket, "--k", 2, "--m", 2, "--most", 1).err == "2 violations, 1 of them listed\n"
    (tmp_path / "p.txt").write_text("milk, (a, b)\nmilk, (b, a)\n")
    assert call("check", tmp_path / "p.txt", "--input", "published", "--k", 2, "--m", 2).code == 0
    for k, m in ((0, 1), (1, 0), (-1, 2)):
        assert "give a whole number of at least 1" in one_line(call(*basket, "--k", k, "--m", m))
    assert "give --k and --m" in one_line(call(*basket, "--k", 2))
    misspelt = call("check", tmp_path / "b.txt", "--input", "baskt", "--k", 2, "--m", 2)
    assert "did you mean 'basket'" in one_line(misspelt)
    assert call("check", tmp_path / "b.txt").err == (
        "note: read as basket (detected)\ndecloak: a data file does not say its k and m; give --k and --m\n"
    )
    assert "or say with --input what it is" in one_line(call("check", tmp_path / "b.txt", "--input", "release"))


def test_an_expectation_decides_the_exit_code(call, example, tmp_path):
    path, store = example / "scenario.yaml", tmp_path / "s.db"
    for expect, code, words in (
        ("recall(rba) == 1", 0, "passed: recall(rba) = 1 == 1"),
        ("recall(rba) < 1", 3, "FAILED: recall(rba) = 1 < 1"),
    ):
        said = call("run", path, "--store", store, "--set", f"expect=['{expect}']")
        assert said.code == code
        assert f"{words}\n" in said.err
    text = (example / "scores.csv").read_text()
    (example / "scores.csv").write_text("".join(line + "\n" for line in text.splitlines() if "2.93" not in line))
    (example / "scores.csv").write_text("a,b,ngd\nx,y,0.5\n")
    path.write_text(path.read_text().replace("cap: none", "cap: none, unseen: none"))
    said = call("run", path, "--store", store, "--set", "expect=['precision(rba) > 0']")
    assert said.code == 3
    assert "UNDEFINED: precision(rba)" in said.err


def test_what_is_data_goes_out_and_what_is_talk_goes_to_stderr(call, example, tmp_path):
    said = call("run", example / "scenario.yaml", "--store", tmp_path / "s.db", "--json")
    notes, _, talk = said.err.partition("Saved as ")
    assert notes
    assert all(note.startswith(("note: ", "WARNING: ", "  ")) for note in notes.splitlines())
    talk = "".join(talk.split())  # where a line is broken depends on the length of the folder's name
    assert talk.startswith(f"run1in{tmp_path / 's.db'}.Next:decloakshowlast,decloakreportlastCONFIDENTIAL:")
    assert f"CONFIDENTIAL:{tmp_path / 's.db'}containstheoriginaldata." in talk
    found = json.loads(said.out)
    assert [run["fresh"] for run in found["runs"]] == [True]
    again = call("run", example / "scenario.yaml", "--store", tmp_path / "s.db", "--json")
    assert "were there already" in " ".join(again.err.split())
    assert json.loads(again.out)["measures"] == found["measures"]


def test_a_run_without_originals_notes_what_it_cannot_measure(call, example, tmp_path):
    path = example / "scenario.yaml"
    path.write_text(path.read_text().replace("file: original.txt, format: basket, ", ""))
    said = call("run", path, "--store", tmp_path / "s.db")
    assert said.code == 0
    assert said.err.startswith("note: recovery cannot be measured: the original records are not known\n")


def test_init_writes_any_scenario_that_needs_no_file(call, tmp_path):
    path = tmp_path / "mine.yaml"
    assert call("init", path, "--like", "clinic-generalised").code == 0
    assert call("run", path, "--store", tmp_path / "store.db").code == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mine.yaml", "scenario.schema.json", "store.db"]
    assert "there is something already" in one_line(call("init", path, "--like", "clinic-coat"))
    assert "did you mean 'clinic-coat'?" in one_line(call("init", tmp_path / "other.yaml", "--like", "clinic-cot"))
    assert call("init", tmp_path / "quickstart", "--like", "clinic-coat").code == 0, "no folder of data is beside it"


def test_init_makes_what_runs_and_overwrites_nothing(call, tmp_path):
    path = tmp_path / "new" / "demo.yaml"
    assert call("init", path).code == 0
    assert call("validate", path).out == f"{path}: valid, 1 run\n"
    assert call("run", path, "--store", tmp_path / "s.db").code == 0
    path.write_text("mine")
    assert "there is something already" in one_line(call("init", path))
    assert "there is something already" in one_line(call("init", path.parent / "other.yaml"))
    assert path.read_text() == "mine"
    assert sorted(one.name for one in path.parent.iterdir()) == ["demo.yaml", "quickstart", "scenario.schema.json"]
    one_line(call("init", path / "below.yaml"))
    one_line(call("init", "/proc/new/demo.yaml"))
    one_line(call("init", tmp_path / "empty" / "quickstart"))
    assert not (tmp_path / "empty").exists()


def test_import_reads_every_format(call, tmp_path):
    files = {
        "basket": "milk, bread\nmilk\n", "long": "tid,item\n1,milk\n1,bread\n2,milk\n",
        "onehot": "milk,bread\n1,1\n1,0\n",
        "jsonl": '["milk", "bread"]\n["milk"]\n', "spmf": "1 2\n1\n", "published": "milk, (a, b)\n(b, a)\n",
    }  # fmt: skip
    store = tmp_path / "s.db"
    for form, text in files.items():
        (tmp_path / form).write_text(text)
        said = call("import", tmp_path / form, "--format", form, "--store", store)
        assert said.code == 0
        assert ("CONFIDENTIAL: " in said.err) == (form == "basket")
        before = content(store)
        assert call("import", tmp_path / form, "--format", form, "--store", store) == said._replace(err="")
        assert content(store) == before
    with closing(connect_readonly(store)) as connection:
        assert connection.execute("select count(*) from dataset").fetchone() == (6,)
        assert connection.execute("select count(*) from txn").fetchone() == (12,)
        assert connection.execute("select count(*) from generalised").fetchone() == (1,)
    assert "did you mean 'basket'" in one_line(
        call("import", tmp_path / "basket", "--format", "baskt", "--store", store)
    )
    assert one_line(call("import", tmp_path / "basket", "--format", "serchlog", "--store", store)) == (
        "unknown format 'serchlog'; did you mean 'searchlog'?"
    )
    assert "basket, long, onehot, jsonl, spmf, published, text, searchlog" in one_line(
        call("import", tmp_path / "basket", "--format", "xml", "--store", store)
    )
    assert "no option separator" in one_line(
        call("import", tmp_path / "spmf", "--format", "spmf", "--separator", ";", "--store", store)
    )
    several = ("--within", "|", "--transaction", "t", "--item", "x", "--fill-down")
    told = one_line(call("import", tmp_path / "published", "--format", "published", *several, "--store", store))
    assert "has no option --fill-down" in told, "of several the first by name"
    one_line(call("import", tmp_path / "published", "--format", "published", "--item", "x", "--store", store))


def test_rules_are_listed_shown_and_tested(call, tmp_path):
    found = {row["rule"]: row for row in json.loads(call("rules", "--json").out)}
    assert {"ra", "mda", "tba", "wba", "gba", "rba", "cover"} <= found.keys()
    text = (ROOT / "rules" / "set_generalised" / "gba.yaml").read_text()
    assert call("rules", "gba").out.endswith(text)
    assert "reference: Shao and Ong" in call("rules", "gba").out
    said = call("rules", "test")
    assert said.code == 0
    assert " passed, 0 failed, " in said.err
    mine = written(tmp_path, QUERY)
    assert call("rules", mine).out == f"# {mine}\n{QUERY}"
    said = call("rules", "test", mine)
    assert said.code == 3
    assert "it has no test: write mine.test.yaml beside it" in said.out
    assert said.err == "0 passed, 1 failed\n"
    written(tmp_path, FACTS, "mine.test.yaml")
    assert call("rules", "test", mine).code == 0
    written(tmp_path, FACTS.replace("n: 2", "n: 3"), "mine.test.yaml")
    said = call("rules", "test", tmp_path)
    assert (said.code, said.err) == (3, "0 passed, 1 failed\n")
    assert "{'txn': 7, 'n': 3} was not found" in said.out
    written(tmp_path, QUERY.replace("select txn, n", "selec txn, n"))
    for arguments in (["rules", mine], ["rules", "test", mine], ["rules", "test", tmp_path]):
        assert one_line(call(*arguments)).startswith(f"{mine}:7:8: SQL: near")


def test_a_rule_of_ones_own_is_run_by_path(call, example, tmp_path):
    written(example, ELIMINATE)
    written(example, GRID, "mine.test.yaml")
    path = example / "scenario.yaml"
    path.write_text(path.read_text().replace("[mda, tba, wba, gba, rba]", "[./mine.yaml, mda]"))
    said = call("run", path, "--store", tmp_path / "s.db", "--format", "csv")
    assert said.code == 0
    assert list(dict.fromkeys(line.split(",")[1] for line in said.out.splitlines())) == ["attack", "mine", "mda"]


def test_counts_are_shown_whole_and_shares_are_not(call, store):
    rows = {(row["attack"], row["measure"]): row for row in json.loads(call("show", "--store", store, "--json").out)}
    shown_ = {measure: [type(row["value"]), type(row["of"])] for (_, measure), row in rows.items() if row["of"]}
    assert shown_["eliminated"] == [int, int]
    assert shown_["precision"] == [float, int]


def test_two_runs_are_compared(call, example, tmp_path):
    for ratio in (1, 2):
        call(
            "run",
            example / "scenario.yaml",
            "--store",
            tmp_path / "s.db",
            "--set",
            f"attack=[{{rule: rba, ratio: {ratio}}}]",
        )
    said = call("compare", 1, 2, "--json", "--store", tmp_path / "s.db")
    rows = {row["measure"]: row for row in json.loads(said.out)}
    assert rows["recall"]["1"] == 1
    assert rows["recall"]["change"] == rows["recall"]["2"] - 1
    assert rows["recall"]["change"] < 0
    assert rows["density"]["change"] == 0
    assert call("compare", "last", "last", "--store", tmp_path / "s.db", "--json").code == 0
    assert call("compare", "last", "last", "last", "--store", tmp_path / "s.db", "--json").code == 0


CONTRADICTIONS = {
    "check, whole and m": (["check", "x", "--whole", "--m", "2"], "leave --m out"),
    "compare, one run": (["compare", "last"], "name two or more"),
    "explain, item without transaction": (["explain", "last", "t1"], "missing ITEM"),
    "explain, item and finding": (["explain", "last", "t1", "milk", "--finding", "1"], "missing ITEM"),
    "hierarchy, tree without format": (["hierarchy", "x", "--input", "basket", "--tree", "y"], "--tree-format"),
    "init, like and from": (["init", "new.yaml", "--like", "clinic-coat", "--from", "x"], "leave out --like or --from"),
    "plot, no kind of picture": (
        ["plot", "--x", "k", "--y", "recall", "-o", "a.gif"],
        "one of .svg, .png, .pdf",
    ),
    "run, brief and verbose": (["run", "x.yaml", "--brief", "-v"], "give one"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_arguments_that_contradict_each_other_are_one_line_with_the_remedy(tmp_path, monkeypatch, call, case):
    monkeypatch.chdir(tmp_path)
    Path("x").write_text("a,b\n")
    arguments, remedy = CONTRADICTIONS[case]
    assert remedy in one_line(call(*arguments))
    assert [path.name for path in Path().iterdir()] == ["x"]


@pytest.mark.parametrize("run", ["7", "basse", "-1x", "99999999999999999999999", "٣", "", "1.0", "last "])
def test_a_run_that_is_not_there(call, store, run):
    for arguments in (["show", run], ["compare", "1", run], ["explain", run]):
        assert one_line(call(*arguments[:1], "--store", store, "--", *arguments[1:])).startswith(f"no run {quote(run)}")


# SQL.

WRITES = [
    "insert into item (name) values ('x')", "update item set name = 'x'", "delete from item", "drop table item",
    "create table x (a)", "create temp table x (a)", "attach ':memory:' as x", "attach '{}' as x", "vacuum",
    "vacuum into '{}'", "pragma user_version = 7", "pragma writable_schema = on",
    "pragma query_only = off", "begin", "commit", "with x as (select 1) delete from item", "reindex", "analyze",
    "select load_extension('x')", "pragma application_id = 1", "insert into item (name) values ('x') returning id",
]  # fmt: skip


def test_sql_writes_nothing(call, store, tmp_path):
    before = content(store)
    for sql in WRITES:
        said = call("sql", sql.format(tmp_path / "other.db"), "--store", store)
        assert said.code == 2, sql
        assert one_line(said)
        assert not (tmp_path / "other.db").exists()
    assert content(store) == before
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("pragma journal_mode").fetchone() == ("delete",)  # one file once a run is over


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from itm", "SQL: no such table: itm; `decloak schema` lists tables and columns"),
        ("select 1; select 2", "SQL: You can only execute one statement at a time"),
        ("", "the SQL gives no rows; write a SELECT"),
        ("selec", 'SQL: near "selec": syntax error'),
        ("select ?", "SQL: Incorrect number of bindings supplied"),
        ("select cast(x'ff' as text)", "SQL: Could not decode to UTF-8 column"),
        ("select '\x1b[31m' from nowhere", "SQL: no such table: nowhere"),
        ('select * from "\x1b[31m\n"', "SQL: no such table: \\x1b[31m\\x0a"),
        ("select abs(column1) from (values (1), (-9223372036854775807 - 1))", "SQL: integer overflow"),
        ("select 1 as a, 2 as a", "two columns have one name, which JSON cannot hold; name one: select a as b"),
    ],
)
def test_wrong_sql_is_one_line(call, store, sql, expected):
    assert one_line(call("sql", sql, "--json", "--store", store)).startswith(expected)


def test_sql_prints_what_there_is(call, hostile):
    sql = "select name from item order by id"
    with closing(connect_readonly(hostile)) as connection:
        names = [name for (name,) in connection.execute(sql)]
    assert set(names) == {*HOSTILE, "plain"}
    assert [row["name"] for row in json.loads(call("sql", sql, "--json", "--store", hostile).out)] == names
    said = call("sql", sql, "--format", "csv", "--store", hostile)
    safe = [f"'{name}" if name[0] in "=-" else name for name in names]  # spreadsheets would run them
    assert [line[0] for line in csv.reader(io.StringIO(said.out, newline=""))][1:] == safe


# Hostile names.


def test_a_terminal_is_never_too_narrow_for_figures(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes of a pipe a terminal, here of 40 columns
    monkeypatch.setenv("COLUMNS", "40")
    figures = [f"{number}.123" for number in range(8)]
    emit(
        ("variant", "attack", *figures),
        [("a variant with a name of many words", "rba", 0.5, "0.125 (0.12–0.13)", *[1] * 6)],
    )
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= 40
    printed = re.findall(r"\S+", " ".join(lines))
    assert [word for word in printed if word in figures] == figures
    assert printed.count("(0.12–0.13)") == 1
    assert {"a", "variant", "with", "name", "of", "many", "words", "rba"} <= set(printed)
    heads = [line for line in lines if line.startswith("variant")]
    assert all("attack" in line for line in heads)
    assert len(heads) == 5  # the names get half of the room: two columns of short figures fit beside them


def test_a_table_of_words_alone_folds_them_where_the_terminal_ends(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    emit(("", "a word", "日本語のとても長い項目"), [("diagnosis", "hypertension", "糖尿病")])
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in capsys.readouterr().out.splitlines()]
    assert max(map(cell_len, lines)) <= 20
    assert sorted("".join(lines).replace(" ", "").replace("─", "")) == sorted(
        "aword日本語のとても長い項目diagnosishypertension糖尿病"
    )


def test_a_narrow_table_folds_no_figure_before_the_terminal_ends(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    emit(("interval", "people"), [("0.9 (0.8–0.95)", "12 → 40 of 800")], width=30)
    assert capsys.readouterr().out.splitlines()[-1] == "0.9 (0.8–0.95)   12 → 40 of 800"


def test_a_table_without_names_and_rows_is_a_line(capsys):
    emit(("", "b"), [])
    assert capsys.readouterr().out == "    b\n─────\n"


def test_a_name_of_digits_says_what_a_row_is_about_in_every_part_of_a_table(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    emit(("attack", "transaction", *(f"figure {number}" for number in range(6))), [("rba", "1042", *[0.5] * 6)])
    printed = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert printed.count("rba") == printed.count("1042") > 1


def test_hostile_names_are_escaped_in_tables(call, hostile):
    said = call("sql", "select i.name, t.label from contains c join item i on i.id = c.item join txn t on t.id = c.txn",
                "--store", hostile)  # fmt: skip
    assert said.code == 0
    lines = said.out.splitlines()
    assert len(lines) == 2 * len(HOSTILE) + 2
    assert all(line.isprintable() for line in lines)
    for raw in (
        "[red]x[/red]",
        "=1+1",
        "<&>]]>",
        "{item}",
        ":smile:",
        "%s%n",
        "\\x1b[31mred\\x1b[0m",
        "\\u202egnp.exe",
    ):
        assert any(line.startswith(raw) for line in lines), raw


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_escaped_in_errors(call, store, name):
    for arguments in (
        ["explain", "1", name, "aspirin"], ["explain", "1", "p01", name], ["show", name], ["rules", name],
        ["graph", "--around", name], ["schema", name], ["explain", "1", "--attack", name],
    ):  # fmt: skip
        extra = [] if arguments[0] in ("rules", "schema") else ["--store", store]
        options = [one for one in arguments[1:] if one.startswith("--") and one != name]
        if options:
            one_line(call(arguments[0], *arguments[1:-1], name, *extra) if name != "--help"
                     else call(arguments[0], *arguments[1:-2], f"{arguments[-2]}={name}", *extra))  # fmt: skip
        else:
            one_line(call(arguments[0], *extra, "--", *arguments[1:]))


def test_hostile_paths_are_escaped(call, tmp_path):
    for name in ("\x1b[31m", "a\nb", "\u202ex"):
        for said in (
            call("run", tmp_path / f"{name}.yaml"), call("validate", tmp_path / f"{name}.yaml"),
            call("runs", "--store", tmp_path / f"{name}.db"), call("runs", "--store", tmp_path / name / "s.db"),
            call("import", tmp_path / name, "--format", "basket", "--store", tmp_path / "s.db"),
            call("check", tmp_path / name, "--input", "basket", "--k", 1, "--m", 1),
            call("rules", "test", tmp_path / f"{name}.yaml"), call("rules", tmp_path / f"{name}.yaml"),
        ):  # fmt: skip
            one_line(said)
    assert list(tmp_path.iterdir()) == []


# Graphs.

READERS = {
    "graphml": lambda text: nx.parse_graphml(text, force_multigraph=True),
    "gexf": lambda text: nx.read_gexf(io.BytesIO(text.encode()), version="1.2draft"),
    "json": lambda text: nx.node_link_graph(json.loads(text), edges="edges"),
}


@pytest.mark.parametrize("form", READERS)
def test_a_graph_is_read_back_by_networkx(call, hostile, tmp_path, form):
    said = call("graph", "--format", form, "--store", hostile)
    assert said.code == 0
    found = READERS[form](said.out)
    with closing(connect_readonly(hostile)) as connection:
        nodes = {
            f"{kind}:{number}": label for kind, number, label in connection.execute("select kind, id, label from node")
        }
        (edges,) = connection.execute("select count(*) from edge").fetchone()
    assert set(found) == set(nodes)
    assert found.number_of_edges() == edges
    for node, label in nodes.items():
        kept = found.nodes[node]["label"]
        assert kept == label or (form != "json" and not label.isprintable() and "\ufffd" in kept), (label, kept)
    written = call("graph", "--format", form, "--store", hostile, "-o", tmp_path / "g")
    assert json.loads(written.out) == {"nodes": len(nodes), "edges": edges, "file": str(tmp_path / "g")}
    assert READERS[form]((tmp_path / "g").read_text(encoding="utf-8")).number_of_edges() == edges


def test_a_graph_around_a_name_is_what_networkx_would_cut_out(call, store):
    whole = READERS["json"](call("graph", "--format", "json", "--store", store).out)
    centre = next(node for node, data in whole.nodes(data=True) if data == {"kind": "item", "label": "aspirin"})
    for hops in (1, 2):
        said = call("graph", "--around", "aspirin", "--hops", hops, "--format", "json", "--store", store)
        found = READERS["json"](said.out)
        expected = nx.ego_graph(whole.to_undirected(), centre, hops)
        assert set(found) == set(expected)
        assert found.number_of_edges() == whole.subgraph(expected).number_of_edges()
    assert "did you mean 'aspirin'" in one_line(call("graph", "--around", "aspirim", "--store", store))


def test_no_truth_is_in_the_graph(call, store):
    found = READERS["json"](call("graph", "--format", "json", "--store", store).out)
    assert {data["kind"] for *_, data in found.edges(data=True)}.isdisjoint({"truth", "origin"})
    assert [data["label"] for _, data in found.nodes(data=True) if data["kind"] == "dataset"] == [
        "quickstart/published.txt"
    ]


def test_the_evidence_of_a_finding_is_a_graph(call, store):
    said = call("explain", "1", "--finding", 40, "--graph", "--store", store)
    found = READERS["json"](said.out)
    assert {data["kind"] for _, data in found.nodes(data=True)} == {"finding", "txn", "item", "known", "rival"}
    assert nx.is_weakly_connected(found)


def test_a_graph_that_cannot_be_written_is_an_error(call, store, tmp_path):
    assert "name another file" in one_line(call("graph", "--store", store, "-o", tmp_path / "no" / "g.xml"))
    assert "/dev/full" in one_line(call("graph", "--store", store, "-o", "/dev/full"))


# As a program.


@pytest.mark.parametrize("form", slow_but(["csv"], ["table", "csv", "json"]))
def test_a_closed_pipe_is_no_error(store, form):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    sql = "with recursive n(x) as (select 1 union all select x + 1 from n limit 30000) select x from n"
    command = [sys.executable, "-m", "decloak", "sql", sql, "--store", str(store), "--format", form]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 0


def interrupted(command: list[str], by: signal.Signals) -> tuple[int, bytes]:
    """What a command leaves that is asked to end while a process that it has started works."""
    with subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT / "engine")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores Ctrl-C
    ) as process:
        try:
            working_children(process)
            process.send_signal(by)
            _, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    return process.returncode, err


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to know when the query runs")
@pytest.mark.parametrize("by", slow_but([signal.SIGINT], [signal.SIGINT, signal.SIGTERM]))
@pytest.mark.parametrize("way", slow_but(["sql"], ["sql", "run"]))
def test_ctrl_c_or_a_request_to_end_ends_an_endless_query_with_130(store, example, way, by):
    endless = "with recursive n(x) as (select 1 union all select x + 1 from n) select max(x) as x from n"
    if way == "sql":
        arguments = ["sql", endless, "--store", str(store)]
    else:
        rule = (
            f"rule: slow\nform: query\nabout: One.\nderives: slow(x)\nfacts: {endless}\nbecause: x\n"
            "reference: ours\nwrong_when: never\n"
        )
        written(example, rule, "slow.yaml")
        path = example / "scenario.yaml"
        path.write_text(path.read_text().replace("[mda, tba, wba, gba, rba]", "[./slow.yaml, mda]"))
        arguments = ["run", str(path), "--store", str(store)]
    code, err = interrupted([sys.executable, "-m", "decloak", *arguments], by)
    assert err.strip() == b"decloak: interrupted; finished stages are kept, run it again to continue"
    assert code == 130


def test_ctrl_c_while_a_class_is_in_the_making_ends_with_130_too(tmp_path):
    """Python remembers a Ctrl-C inside `exec` of a string, caught or not, and would end by the signal."""
    (tmp_path / "pressed.py").write_text(
        "from decloak import cli\n"
        "def pressed():\n    raise KeyboardInterrupt\n"
        "cli.cli.main = lambda *_, **__: exec('pressed()')\n"
        "cli.main([])\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'engine'}{os.pathsep}{tmp_path}"}
    done = subprocess.run([sys.executable, "-m", "pressed"], env=environment, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 130
    assert done.stderr.startswith(b"decloak: interrupted;")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_of_the_terminal_will_do(hostile, encoding):
    done = program("sql", "select name from item", "--store", hostile, environment={"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.decode(encoding).splitlines()) == len(HOSTILE) + 3


NO_TEXT = [["show", b"\xff"], ["sql", b"select '\xff'"], ["run", b"\xff.yaml"], [b"\xff"], ["rules", b"\xff"]]


@pytest.mark.parametrize("arguments", slow_but(NO_TEXT[1:3], NO_TEXT))
def test_arguments_that_are_no_text_are_answered(store, arguments):
    command = [sys.executable, "-m", "decloak", *arguments]
    extra = ["--store", str(store)] if arguments[0] in ("show", "sql") else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    done = subprocess.run([*command, *extra], env=environment, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count(b"\n") == 1
    assert b"fault inside" not in done.stderr


def test_the_store_may_be_named_by_the_environment(store, call, monkeypatch):
    monkeypatch.setenv("DECLOAK_STORE", str(store))
    assert call("runs", "--json").code == 0
    assert len(json.loads(call("runs", "--json").out)) == 1


def test_python_m_decloak_is_the_command():
    done = program("--version")
    assert (done.returncode, done.stdout) == (0, f"decloak, version {__version__}\n".encode())


# What a run tells.


def test_a_brief_run_prints_its_result_and_what_was_expected(call, example, tmp_path):
    run = ["run", example / "scenario.yaml", "--store", tmp_path / "s.db"]
    expect = ["--set", "expect=['precision(rba) > 0', 'findings(rba) > 99']"]
    said = call(*run, "--brief", *expect)
    assert said.code == 3
    loud = call(*run, *expect)
    assert said.out.startswith("RESULT ")
    assert loud.out.startswith(said.out)
    assert re.match(r"\w", loud.out[len(said.out) :]), "another label follows"
    told = [line.partition(":")[0] for line in said.err.splitlines() if not line.startswith("WARNING")]
    assert [word for word in told if word in ("passed", "FAILED")] == ["passed", "FAILED"]
    assert one_line(call(*run, "--brief", "-v")).startswith("--brief and --verbose exclude each other")


def test_a_verbose_run_tells_of_every_stage_what_it_took(call, example, tmp_path):
    run = ["run", example / "scenario.yaml", "--store", tmp_path / "s.db", "-v"]
    said = call(*run).err
    (told,) = re.findall(r"^base: (?:.*\n)(?:  .*\n)*", said, re.MULTILINE)
    stages = re.findall(r"([\w ]+) \d+\.\d\d s(?: \((\d+)\))?(?:,|$)", " ".join(told.removeprefix("base: ").split()))
    assert [title.strip() for title, _ in stages][:4] == ["dataset", "release", "relatedness", "scoring"]
    counts = {title.strip(): count for title, count in stages}
    assert counts["attack rba"] == ""
    assert int(counts["measurement of recovery"]) == 6  # of five attacks and an audit
    assert "base: there already" in call(*run).err.splitlines()


@pytest.mark.parametrize("command", [["show"], ["compare", "1", "last"], ["runs"]])
def test_markdown_has_numbers_as_numbers_and_names_as_text(call, store, command):
    said = call(*command, "--format", "md", "--store", store)
    head, rule, *rows = (line.strip("|").split(" | ") for line in said.out.splitlines())
    values = json.loads(call(*command, "--json", "--store", store).out)
    assert [cell.strip().replace("\\", "") for cell in head] == list(values[0])
    assert "---:" in "".join(rule)
    assert len(rows) == len(values)
    for row, value in zip(rows, values, strict=True):
        for cell, wanted in zip(row, value.values(), strict=True):
            text = cell.strip().replace("\\", "")
            assert text == "" if wanted is None else text == str(wanted) or float(text) == wanted


def test_markdown_takes_hostile_names_as_text(call, tmp_path):
    call("sql", "select 1", "--store", tmp_path / "s.db")
    said = call("sql", "select 'a|b\n<script>*x*' as \"n|m\"", "--format", "md", "--store", tmp_path / "s.db")
    if said.code == 0:
        assert said.out == "| n\\|m |\n| --- |\n| a\\|b \\<script\\>\\*x\\* |\n"


def test_attacks_with_nothing_to_go_by_are_a_line_and_no_rows(call, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {generate: clinic, transactions: 60, seed: 7}\n"
        "relate: {measure: ngd, source: clinic-counts}\nattack: [ra, tba]\nvary:\n  anonymise:\n"
        "    - {method: coat, k: 5, privacy: {count: 5, sizes: [3]}}\n"
        "    - {method: cut, k: 5, m: 2, hierarchy: {by: random, fanout: 4}}\n"
    )
    said = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db")
    assert "cut: No figures for ra and tba, because there is nothing to compare." in said.out.splitlines()
    assert not any(line.startswith("cut ") and " tba " in line for line in said.out.splitlines())


def test_what_is_compared_ends_with_what_to_make_of_it(call, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {generate: clinic, transactions: 60, seed: 7}\n"
        "relate: {measure: ngd, source: clinic-counts}\nattack: [tba]\nvary:\n  anonymise:\n"
        "    - {method: sets, size: 2, share: 0.2}\n    - {method: sets, size: 4, share: 0.6}\n"
    )
    assert call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").code == 0
    said = call("compare", 1, 2, "--store", tmp_path / "s.db")
    assert said.code == 0
    assert " ".join(said.out.split()).endswith("Attacks that were not tested may recover more.")
    assert re.search(r"^\d+ figures differ\. \d+ others are equal, of one run alone, or of people\.$", said.out, re.M)
    assert "original data" in said.out
    assert not any(line.startswith("exposure ") for line in said.out.splitlines())


def test_a_figure_of_the_release_is_compared_once(call, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {generate: clinic, transactions: 60, seed: 7}\nmeasure: [loss, recovery]\n"
        "relate: {measure: ngd, source: clinic-counts}\nattack: [tba, gba]\nvary:\n  anonymise:\n"
        "    - {method: sets, size: 2, share: 0.2}\n    - {method: sets, size: 4, share: 0.6}\n"
    )
    assert call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").code == 0
    out = call("compare", 1, 2, "--store", tmp_path / "s.db").out
    rows = [re.split(r"\s{2,}", line)[:3] for line in out.splitlines() if line.startswith(("loss ", "recovery "))]
    assert {attack for family, attack, _ in rows if family == "loss"} == {"release"}
    assert {attack for family, attack, _ in rows if family == "recovery"} == {"tba", "gba"}
    assert len(rows) == len(set(map(tuple, rows)))
    counted = int(re.search(r"^(\d+) figures differ", out, re.M)[1])
    assert counted == len(rows) + len([line for line in out.splitlines() if line.startswith(("people ", "coverage "))])


def test_without_any_word_the_help_is_printed_as_it_is(call):
    said = call()
    assert said.code in (0, 2)  # by the version of click
    assert (said.out + said.err).startswith("Usage: decloak ")
    assert "decloak: " not in said.out + said.err


WHICH = {
    "publish": ("out.txt",), "explain": (), "show": (), "report": ("-o", "page.html"), "compare": ("1",),
    "plot": ("--x", "attacker.context", "--y", "precision", "--by", "attack", "-o", "plot.svg"),
}  # fmt: skip


@pytest.mark.parametrize("command", WHICH)
def test_a_run_that_is_not_named_by_its_number_is_told_on_stderr(
    call, example, example_store, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    vary = "vary={attacker.context: [1, 2]}"
    attacks = "attack=[mda, rba]"
    assert call("run", example / "scenario.yaml", "--set", vary, "--set", attacks, "--store", example_store).code == 0
    told = "last is run 3: the worked example (attacker.context=2)\n"
    done = call(command, "last", *WHICH[command], "--store", "s.db")
    assert done.code == 0, done
    assert told in done.err
    assert told not in done.out
    for file in ("out.txt", "out.txt.manifest.json", "page.html", "plot.svg"):
        (tmp_path / file).unlink(missing_ok=True)
    assert "3 is run" not in call(command, "3", *WHICH[command], "--store", "s.db").err
