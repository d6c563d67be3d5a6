"""The run that `last` names: the one that was asked for last, also where all of it was there already."""

import json
import sqlite3
from contextlib import closing

import pytest

import decloak

LINES = ["p1, a, b, c", "p2, a, b, d", "p3, a, c, d", "p4, b, c, d", "p5, a, b, c, d", "p6, a, d"]
SCENARIO = """\
scenario: {title}
data: {{file: d.txt, format: basket, ids: true}}
anonymise: {{method: sets, size: {size}}}
relate: {{measure: ngd, source: release}}
attack: [mda]
measure: [recovery]
"""
SWEEP = "vary: {anonymise.size: [2, 3]}\n"


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A function that runs the scenarios of these titles, in their order, into s.db."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.txt").write_text("\n".join(LINES))
    for title, size, more in (("A", 2, ""), ("B", 3, ""), ("sweep", 2, SWEEP)):
        (tmp_path / f"{title}.yaml").write_text(SCENARIO.format(title=title, size=size) + more)

    def run(*titles: str) -> None:
        for title in titles:
            decloak.run(tmp_path / f"{title}.yaml", store="s.db")

    return run


@pytest.mark.parametrize(("titles", "number"), [("A", 1), ("AB", 2), ("ABA", 1), ("ABAB", 2), ("ABABAA", 1)])
def test_every_command_takes_the_run_that_was_asked_for_last(call, asked, titles, number):
    asked(*titles)
    told = f"last is run {number}: {'AB'[number - 1]} (base)"
    for command in (["show", "last"], ["report", "last", "-o", "x.html"], ["publish", "last", "x.txt"],
                    ["explain", "last"], ["compare", "1", "last"], ["show", "base"]):  # fmt: skip
        said = call(*command, "--store", "s.db")
        assert said.code == 0, said
        assert told.replace("last", command[1] if command[0] == "show" else "last", 1) in said.err
    query = "select r.scenario from run r join request q on q.run = r.id order by q.id desc limit 1"
    assert json.loads(call("sql", query, "--store", "s.db", "--json").out) == [{"scenario": told[-8]}]


def test_the_last_of_a_sweep_is_its_last_variant(call, asked):
    asked("sweep", "A", "sweep")
    assert "last is run 2: sweep (anonymise.size=3)" in call("show", "--store", "s.db").err


def test_a_run_that_is_asked_for_again_at_once_changes_no_row(asked):
    def rows() -> list[tuple[int, int]]:
        with closing(sqlite3.connect("s.db")) as connection:
            return connection.execute("select id, run from request").fetchall()

    asked("sweep")
    before = rows()
    asked("sweep")
    assert rows() == before == [(1, 1), (2, 2)]
    asked("A", "sweep")
    assert rows() == [(3, 3), (4, 1), (5, 2)]
