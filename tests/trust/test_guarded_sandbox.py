"""A sandbox in a process of its own gives what one in this process gives, and cannot be used against decloak."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
from conftest import ROOT
from decloak.errors import DecloakError
from decloak.report.table import emit, emit_json
from decloak.rules import load
from decloak.rules.load import Catalogue, bundled_files
from decloak.rules.testing import run_tests
from decloak.store import sandbox_frames as frames
from decloak.store.opening import connect_readonly
from decloak.store.relations import Scope
from decloak.store.sandbox_guard import GuardedSandbox, empty_sandbox, one_process
from stores import attackers_sandbox
from test_store import content

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
)


@pytest.fixture
def strangers(monkeypatch):
    """Every rule is a stranger's: none is known by its text."""
    monkeypatch.setattr(load, "_bundled_digests", frozenset)


@pytest.fixture
def processes(monkeypatch):
    """The processes for SQL that were started, as they are started."""
    began = []

    class Recorded(subprocess.Popen):
        def __init__(self, command, **settings):
            super().__init__(command, **settings)
            began.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return began


@pytest.fixture(scope="module")
def both(_quickstart, tmp_path_factory):
    """One sandbox here, and one in a process of its own, on one store."""
    store = shutil.copy(_quickstart, tmp_path_factory.mktemp("both") / "store.db")
    with closing(connect_readonly(store)) as connection:
        scope = Scope(*connection.execute("select release, 2, scoring from attack").fetchone())
    with attackers_sandbox(store, scope) as here, attackers_sandbox(store, scope, "the rule mine") as there:
        assert isinstance(there, GuardedSandbox)
        yield here, there


def found(path) -> list[str]:
    """All that runs have left in a store, but when that was and how long it took; indexes are made when rows are."""
    return sorted(_SECONDS.sub("", line) for line in content(path) if not line.startswith(_TIMED))


_TIMED = tuple(f'INSERT INTO "{name}"' for name in ("run", "measurement", "measure", "seal", "stage_time"))
_SECONDS = re.compile(r'"(cpu_)?seconds": [0-9.e-]+')


@pytest.mark.parametrize(
    "scenario",
    [
        "quickstart.yaml",
        pytest.param("gallery/clinic-disassociated.yaml", marks=pytest.mark.slow),
        pytest.param("gallery/clinic-generalised.yaml", marks=pytest.mark.slow),
    ],
)
def test_shipped_rules_find_the_same_in_a_process_of_their_own(tmp_path, monkeypatch, scenario, processes):
    path = ROOT / "scenarios" / scenario
    decloak.run(path, store=tmp_path / "here.db")
    assert processes == []  # shipped rules are known, and sweeps do not pay
    monkeypatch.setattr(load, "_bundled_digests", frozenset)
    decloak.run(path, store=tmp_path / "there.db")
    assert len(processes) == 1  # one for all checks and attacks of the run
    assert processes[0].returncode is not None
    assert found(tmp_path / "here.db") == found(tmp_path / "there.db")


def test_the_tests_of_shipped_rules_pass_in_a_process_of_their_own(strangers, processes):
    outcomes = run_tests()
    assert {one.rule for one in outcomes} >= {path.stem for path in bundled_files()}
    assert [one for one in outcomes if one.fault is not None] == []
    assert len(processes) == 1


def test_a_shipped_rule_is_known_by_its_text_alone(tmp_path):
    for path in bundled_files():
        copy = tmp_path / path.name
        copy.write_text(path.read_text())
        rule = Catalogue().rule(path.stem)
        assert load.untrusted_name(rule.name, rule.text) is None
        assert load.untrusted_name("mine", copy.read_text()) is None
        assert load.untrusted_name("mine", copy.read_text() + "\n") == "the rule mine"


@given(columns=st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[VALUES] * n), min_size=1)))
def test_rows_arrive_as_they_were(columns):
    stream = io.BytesIO()
    frames.write_rows(stream, list(zip(*columns, strict=True)))
    stream.seek(0)
    assert repr(frames.read_frame(stream)) == repr(columns)  # 0 is not 0.0, nor 0.0 -0.0
    assert frames.read_frame(stream) is None


@given(st.binary(), st.sampled_from([b"J", b"R", b"X", b""]))
def test_bytes_that_are_no_message_are_refused(body, kind):
    stream = io.BytesIO(kind + (len(body).to_bytes(4, "little") if kind else b"") + body)
    try:
        message = frames.read_frame(stream)
    except ValueError:
        return
    assert message is None or kind in (b"J", b"R", b"")


SAME = [
    "select * from distance", "select * from txn order by label desc", "select 1 as a, 1 as a",
    "select null, 1, 1.0, -0.0, 9e999, 'x', x'00ff', '', x''", "select 1 where 0", "select * from nowhere",
    "select * from truth_cell", "select random()", "selec", "select 1; select 2",
    "select typeof(cast(x'ff' as text)) as x",
    "select abs(column1) from (values (1), (-9223372036854775807 - 1))", "select '\udcff'", "select 'a\0b'",
    "with recursive n(x) as (select 1 union all select x + 1 from n limit 30000) select x, -x, x || '' from n",
    "select '\x1b[31m\u202e' as x", "delete from txn", "pragma user_version", "select zeroblob(100000000)",
    "select * from \"\x1b[31m\"",
]  # fmt: skip


@pytest.mark.parametrize("sql", SAME)
@pytest.mark.parametrize("way", ["select", "columns", "make"])
def test_both_sandboxes_answer_alike(both, sql, way):
    answers, step = [], f"step_{SAME.index(sql)}"
    for sandbox in both:
        arguments = (step, sql, "r.yaml:1:1") if way == "make" else (sql, "r.yaml:1:1")
        try:
            answer = getattr(sandbox, way)(*arguments)
            if way == "make":
                sandbox.index(step)
                answer = sandbox.engine(f"select * from temp.{step}"), sandbox.select(f"select count(*) from {step}")
        except DecloakError as error:
            answer = error.args
        answers.append((repr(answer), sandbox.read))
    assert answers[0] == answers[1]


def test_a_process_that_was_ended_is_told_in_a_line_and_the_next_one_starts_anew(processes):
    with one_process():
        with empty_sandbox({"txn": ("txn",)}, "the rule mine") as sandbox:
            processes[0].kill()
            with pytest.raises(DecloakError) as caught:
                sandbox.select("select 1", "r.yaml:1:1")
        assert str(caught.value).startswith(
            "r.yaml:1:1: the SQL of the rule mine ended the process it runs in (SIGKILL)"
        )
        with empty_sandbox({"txn": ("txn",)}, "the rule mine") as sandbox:
            assert sandbox.select("select count(*) from txn")[1] == [(0,)]
    assert len(processes) == 2
    assert all(process.returncode is not None for process in processes)


REPLIES = [
    {}, {"columns": 3}, {"columns": None}, {"error": ["x"]}, {"error": None}, {"error": [1, 2, 3, 4]}, {"value": 1},
    {"value": None, "read": None}, {"value": None, "read": [[]]}, "text", 7,
]  # fmt: skip


@pytest.mark.parametrize("reply", REPLIES, ids=json.dumps)
def test_a_process_that_replies_in_another_form_is_ended(processes, monkeypatch, reply):
    with one_process(), empty_sandbox({}, "the rule mine") as sandbox:
        with monkeypatch.context() as patch:
            patch.setattr(frames, "read_frame", lambda _: reply)
            with pytest.raises(DecloakError, match=r"ended the process it runs in \(SIGKILL\)"):
                sandbox.select("select 1", "r.yaml:1:1")
        assert [process.returncode for process in processes] == [-signal.SIGKILL]


@pytest.mark.parametrize("value", [None, 1, True])
def test_a_process_that_names_columns_in_another_form_is_ended(processes, monkeypatch, value):
    with one_process(), empty_sandbox({}, "the rule mine") as sandbox, monkeypatch.context() as patch:
        patch.setattr(frames, "read_frame", lambda _: {"value": value, "read": []})
        with pytest.raises(DecloakError, match=r"ended the process it runs in \(SIGKILL\)"):
            sandbox.columns("select 1", "r.yaml:1:1")


def test_a_process_that_replies_without_columns_gives_no_rows(processes, monkeypatch):
    with one_process(), empty_sandbox({}, "the rule mine") as sandbox, monkeypatch.context() as patch:
        patch.setattr(frames, "read_frame", lambda _: {"value": None, "read": []})
        assert sandbox.select("select 1", "r.yaml:1:1") == ((), [])
        assert sandbox.engine("select 1") == []


def test_a_run_that_is_interrupted_ends_its_process(processes):
    def interrupted() -> None:
        with one_process(), empty_sandbox({}, "the rule mine") as sandbox:
            sandbox.select("select 1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [process.returncode for process in processes] == [-signal.SIGKILL]


SIX = "with recursive n(i) as (select 1 union all select i + 1 from n limit 6) select i from n"


@pytest.mark.parametrize(
    ("sql", "variables", "told"),
    [
        ("select length(hex(zeroblob(30000000)))", {"DECLOAK_SQL_MEMORY": "100"}, "takes over 66 MB of memory"),
        (f"select zeroblob(9000000) from ({SIX})", {"DECLOAK_SQL_MEMORY": "150"}, "gives rows of over 50 MB"),
        (
            "select 1",
            {"DECLOAK_SQL_MEMORY": "lots"},
            "DECLOAK_SQL_MEMORY is 'lots'; give a whole number from 100;",
        ),
        (
            "select 1",
            {"DECLOAK_SQL_SECONDS": "-1"},
            "DECLOAK_SQL_SECONDS is '-1'; give a whole number from 1;",
        ),
    ],
)
def test_the_limits_can_be_set_and_are_told(call, store, monkeypatch, sql, variables, told):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    said = call("sql", sql, "--store", store)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert told in said.err


@pytest.mark.parametrize("rows", [[], [(1, "a\nb")], [(None, b"\x00"), (9e999, "\u2028"), (0.1, '"')]])
def test_json_that_is_printed_row_by_row_is_the_text_of_the_whole(capsys, rows):
    emit(("x", "y"), iter(rows), "json")
    plain = [{"x": str(x) if x == 9e999 else x, "y": y} for x, y in rows]
    by_row = capsys.readouterr().out
    emit_json(plain)
    assert by_row == capsys.readouterr().out
    assert json.loads(by_row) == json.loads(json.dumps(plain, default=str))


MEASURED = """
import sys
from decloak import cli
code = cli._code(sys.argv[1:])
print(code, *(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see the memory")
@pytest.mark.parametrize(("form", "size"), [("csv", 6_888_898), ("json", 20_888_899)])
def test_many_rows_are_printed_and_never_held(store, tmp_path, form, size):
    sql = "with recursive n(x) as (select 1 union all select x + 1 from n limit 1000000) select x from n"
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, "sql", sql, "--store", str(store), "--format", form],
            env={**os.environ, "PYTHONPATH": str(ROOT / "engine"), "DECLOAK_SQL_MEMORY": "100"},
            stdout=out,
            stderr=subprocess.PIPE,
            check=True,
        )
    code, kilobytes = map(int, done.stderr.split())
    assert code == 0
    assert (tmp_path / "out").stat().st_size == size
    assert kilobytes < 60_000  # a list of the rows alone takes 90 MB
