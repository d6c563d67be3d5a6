"""Whatever a name, a path, a rule or an answer holds: no terminal is steered, no spreadsheet runs it, and JSON and
graphs read back as the same.
"""

import ast
import csv
import io
import json
import sqlite3
import unicodedata

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
from conftest import ROOT
from decloak.data.dataset import Dataset
from decloak.data.formats.lines import json_text
from decloak.data.formats.plain_files import read, write
from decloak.data.published import Published, likely_misspellings
from decloak.errors import DecloakError, escape_control, quote, quote_some, suggest
from decloak.report.table import emit
from decloak.store.graph import serialise

STEERING = [
    "\x1b[31m", "\x1b]0;title\x07", "\x9b31m", "\x90q", "\x85", "\x7f", "\b\b", "\r", "\x00", "\u202e", "\u2066",
    "\u200f", "\u061c", "\u2028", "\ufeff", "\u00ad", "\u180e", "\ufff9", "\U000e0041", "\u3164",
    "\ue000", "\U000f0001", "\U0010fffd",
]  # fmt: skip
"""What moves the cursor, colours, answers, reorders or hides, or looks as each font likes."""
UNSEEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
HIDDEN = st.text(st.one_of(st.characters(categories=[*UNSEEN, "Cn"]), st.sampled_from("ab\u3164")))


def steers(text: str) -> list[str]:
    """The characters that a terminal would heed, or show as nothing."""
    return [mark for mark in text if unicodedata.category(mark) in UNSEEN]


@given(HIDDEN)
def test_text_for_a_terminal_has_nothing_that_steers_it(text):
    assert escape_control(text).isprintable()
    assert not steers(escape_control(text))
    assert "\u3164" not in escape_control(text)


SIGNS = {*range(0x600, 0x606), 0x6DD, 0x70F, *range(0x890, 0x892), 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}
"""Signs of numbers and verses in Arabic, Syriac, Kaithi and Egyptian: called controls, and seen all the same."""


@pytest.mark.parametrize("mark", STEERING)
def test_what_is_told_of_a_near_name_and_of_a_fault_is_harmless(mark):
    assert not steers(str(suggest("aspirim", [f"aspirin{mark}"])))
    assert not steers(quote(f"a{mark}"))
    assert not steers(str(DecloakError(f"wrong {mark}", f"place {mark}", f"hint {mark}")))


@pytest.mark.parametrize(("length", "compared"), [(200, True), (201, False), (200_000, False)])
def test_spellings_of_long_names_are_not_compared(length, compared):
    """The time of a comparison grows with the square of the letters: 200,000 of them would take a minute."""
    name = "".join(chr(0x4E00 + 7 * number % 120) for number in range(length))
    assert (suggest(name, [f"{name[:-1]}x"]) is not None) is compared
    original = Dataset(((name, "tea"),), ("1",))
    published = Published((("tea", (f"{name[:-1]}x", "milk")),), ("1",))
    assert bool(likely_misspellings(original, published)) is compared


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_reads_back_as_the_same_and_steers_nothing(value):
    text = json_text(value)
    assert json.loads(text) == value
    assert [mark for mark in steers(text) if ord(mark) not in SIGNS] == []


@pytest.mark.parametrize("form", ["graphml", "gexf", "json"])
@pytest.mark.parametrize("mark", STEERING)
def test_a_graph_steers_nothing_and_reads_back(form, mark):
    graph = nx.MultiDiGraph()
    graph.add_node("item:1", kind="item", label=f"a{mark}b")
    text = serialise(graph, form)
    assert steers(text.replace("\n", "")) == []
    if form == "json":
        assert nx.node_link_graph(json.loads(text), edges="edges").nodes["item:1"]["label"] == f"a{mark}b"
    else:
        reader = nx.parse_graphml if form == "graphml" else lambda xml: nx.read_gexf(io.BytesIO(xml.encode()))
        label = reader(text).nodes["item:1"]["label"]
        assert label == f"a{mark}b" or "\ufffd" in label  # of what XML cannot hold at all


@pytest.fixture
def hostile(tmp_path, call):
    """A store whose items, transactions and rule of an attack have names that steer."""
    lines = [json.dumps({"id": f"p{at}{mark}", "items": [f"name{mark}x", "plain"]})
             for at, mark in enumerate(STEERING) if mark != "\x00"]  # fmt: skip
    (tmp_path / "d.jsonl").write_text("\n".join(lines) + "\n")
    assert call("import", tmp_path / "d.jsonl", "--format", "jsonl", "--ids", "--store", tmp_path / "s.db").code == 0
    return tmp_path / "s.db"


def test_no_command_prints_what_steers(call, hostile, tmp_path):
    alias = 'select 1 as "a\x1b[31m\u202e", name as "\x9b" from item'
    told = [
        call("sql", alias, "--store", hostile), call("sql", alias, "--store", hostile, "--json"),
        call("sql", 'select name from item where "\x1b[31m"', "--store", hostile),
        call("graph", "--store", hostile, "--originals"),
        call("graph", "--store", hostile, "--originals", "--format", "json"),
        call("graph", "--store", hostile, "--around", "nam\u202ex", "--originals"),
        call("look", tmp_path / "d.jsonl"), call("look", tmp_path / "d.jsonl", "--json"),
        call("check", tmp_path / "d.jsonl", "--input", "jsonl", "--k", 2, "--m", 1),
        call("check", tmp_path / "d.jsonl", "--input", "jsonl", "--k", 2, "--m", 1, "--json"),
        call("schema", "\x1b[31m"), call("\x9b31m"), call("run", "--\x1b[31m"),
        call("show", "\u202e", "--store", hostile),
    ]  # fmt: skip
    for said in told:
        assert steers(said.out.replace("\n", "")) == []
        assert steers(said.err.replace("\n", "")) == []


def test_a_rule_that_is_shown_steers_nothing(call, tmp_path):
    marks = "".join(mark for mark in STEERING if ord(mark[0]) > 0xA0 and mark != "\u2028")
    rule = (
        f"# {marks}\nrule: r\nform: query\nabout: 'One {marks}'\nderives: r(x)\nfacts: select 1 as x\nbecause: x\n"
        "reference: ours\nwrong_when: never\n"
    )
    (tmp_path / "r.yaml").write_text(rule, encoding="utf-8")
    said = call("rules", tmp_path / "r.yaml")
    assert said.code == 0, said
    assert "\\u202e" in said.out
    assert steers((said.out + said.err).replace("\n", "")) == []


def test_every_word_of_a_command_goes_through_one_function():
    """Whoever adds a command prints with say, say_data or emit: those are what is tested here."""
    for path in sorted((ROOT / "engine" / "decloak" / "commands").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"), (
                    path
                )


FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "=cmd|' /C calc'!A0", "-"]
PLAIN = ["-5", "+3.5", "-0.5e-3", "a=1", "", "é", "'", "1-2", "-0.012 ±0.003"]


def test_what_a_spreadsheet_would_run_is_quoted_and_numbers_stay_numbers(capsys):
    emit(("=name", "value"), [*((text, -1.5) for text in FORMULAS), *((text, -2) for text in PLAIN)], "csv")
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))
    assert rows[0] == ["'=name", "value"]
    assert [name for name, _ in rows[1:]] == [*(f"'{text}" for text in FORMULAS), *PLAIN]
    assert {number for _, number in rows[1:]} == {"-1.5", "-2"}


def test_on_a_terminal_csv_steers_nothing(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    emit(("a\x1b[31m",), [(f"x{mark}",) for mark in STEERING], "csv")
    assert steers(capsys.readouterr().out.replace("\n", "")) == []


@pytest.mark.parametrize("form", ["long", "onehot", "jsonl", "basket"])
def test_files_of_data_keep_names_as_they_are(tmp_path, form):
    """They are read again: a quote in front of a name would be another name."""
    names = [name for name in (*FORMULAS, *PLAIN, "a\u202eb", "\x9b") if name.strip() == name and name]
    names = [name for name in names if "\n" not in name and "\r" not in name]
    data = Dataset.of([names, names[:3]])
    write(data, tmp_path / "data", form)
    assert [sorted(row) for row in read(tmp_path / "data", form).transactions] == [sorted(names), sorted(names[:3])]


def test_a_release_file_keeps_names_and_steers_nothing(tmp_path):
    names = ["=1+1", "a\u202eb", "\x9b31m", "plain"]
    release = decloak.anonymise([names] * 4, "disassociation", k=2, m=1, max_cluster=4)
    release.write(tmp_path / "r.jsonl")
    text = (tmp_path / "r.jsonl").read_text(encoding="utf-8")
    assert steers(text.replace("\n", "")) == []
    assert decloak.read_release(tmp_path / "r.jsonl") == release
    assert sqlite3.connect(":memory:").execute("select json_extract(?, '$.k')", (text.splitlines()[0],)).fetchone() == (
        2,
    )


def test_a_message_quotes_no_more_names_than_it_needs():
    def names():
        yield from ("a", "b\x1b", "c", "d")
        raise AssertionError("a fifth name is of no use")

    assert quote_some(names()) == "'a', 'b\\x1b', 'c', …"
    assert quote_some(["a", "b", "c"]) == "'a', 'b', 'c'"
