"""The relational form of a rule eliminates what the kernel eliminates."""

import math
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.errors import DecloakError
from decloak.rules.eliminate.kernel import eliminate
from decloak.rules.eliminate.strategy import Strategy
from decloak.rules.load import Catalogue
from decloak.rules.relational import relational_form
from published_attacks import ATTACKS, BY_COUNTS, BY_STORED, TBA_ROW_MAJOR, cells

DISTANCE = "select * from distance"
LINES = {"suspicion": "largest_gap", "threshold": "mean(suspicion)", "eliminate": "heaviest"}
STRATEGIES = {
    **{name: strategy for name, strategy in ATTACKS.items() if name != "ra"},
    "in order": TBA_ROW_MAJOR,
    "rows alone": Strategy.build(groups=["row"], weigh=BY_STORED, redistribute="lower_cluster", **LINES),
    "columns alone": Strategy.build(groups=["col"], weigh=BY_COUNTS, redistribute="all", **LINES),
    "no redistribution": Strategy.build(groups=["row", "col"], **LINES),
    "by a formula": Strategy.build(
        groups=["row"], suspicion="max(w) - mean(w)", threshold="1.2 * mean(suspicion)", eliminate="heaviest"
    ),
    "of the table": Strategy.build(
        groups=["table"], weigh=BY_COUNTS, redistribute="all", suspicion="max(w) - mean(d) / 4",
        threshold="mean(w)", eliminate="heaviest",
    ),
    "by aggregates": Strategy.build(
        groups=["row", "col"], weigh="d / max(d) * max(0, 1 - 1/row_left)", redistribute="all", **LINES
    ),
    "without a threshold": Strategy.build(groups=["table"], suspicion="largest", eliminate="all"),
}  # fmt: skip


def eliminated(form, tables, extra=()):
    """Run a relational form in SQLite and return the eliminated cells of each table in order."""
    rows = [
        (number, row, col, None if d is None or not 0 <= d < math.inf else d, *(f[number][row][col] for f in extra))
        for number, table in enumerate(tables)
        for row, line in enumerate(table)
        for col, d in enumerate(line)
    ]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"create table distance ([table], row, col, d{', fit' * len(extra)})")
        connection.executemany(f"insert into distance values (?, ?, ?, ?{', ?' * len(extra)})", rows)
        for name, sql in form.steps.items():
            connection.execute(f"create table [{name}] as {sql}")
        connection.execute(f"create table last_round as {form.start}")
        connection.execute("create table cell as select * from last_round")
        for _ in range(1000):
            connection.execute(f"create table this_round as {form.repeat}")
            connection.execute("drop table last_round")
            connection.execute("alter table this_round rename to last_round")
            if not connection.execute("select count(*) from last_round").fetchone()[0]:
                break
            connection.execute("insert into cell select * from last_round")
        found = [[] for _ in tables]
        for _, table, row, col in connection.execute(form.result):
            found[table].append((row, col))
    return found


@st.composite
def tables(draw):
    """Draw a distance table, with ties or without, with unscored cells or without."""
    height, width = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    tied, free = st.integers(0, 4).map(lambda x: x / 4), st.floats(0, 5).map(lambda x: round(x, 4))
    cell = draw(st.sampled_from([tied, free, st.one_of(tied, st.none()), st.one_of(free, free, st.none())]))
    return [[draw(cell) for _ in range(width)] for _ in range(height)]


@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=25)
@given(batch=st.lists(tables(), min_size=1, max_size=3))
def test_the_relational_form_eliminates_what_the_kernel_eliminates(name, batch):
    strategy = STRATEGIES[name]
    expected = [cells(done) for done in eliminate(batch, strategy)]
    assert eliminated(relational_form(strategy, DISTANCE), batch) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_a_thousand_random_tables_give_the_same_eliminations(name):
    rng, strategy = np.random.default_rng(7), STRATEGIES[name]
    batch = []
    for number in range(1000):
        table = rng.random((rng.integers(2, 6), rng.integers(2, 6))) * 3
        table = np.round(table, 1) if number % 3 == 0 else table
        batch.append(np.where(rng.random(table.shape) < (number % 2) / 8, np.nan, table).tolist())
    form = relational_form(strategy, DISTANCE)
    for first in range(0, 1000, 50):
        part = batch[first : first + 50]
        assert eliminated(form, part) == [cells(done) for done in eliminate(part, strategy)]


def test_a_form_reads_further_columns_of_its_cells():
    strategy = Strategy.build(groups=["table"], weigh="d * fit", suspicion="largest", eliminate="all", columns=["fit"])
    table, fit = [[1.0, 2.0], [3.0, 1.0]], [[9.0, 1.0], [1.0, 1.0]]
    expected = [cells(done) for done in eliminate([table], strategy, further={"fit": [fit]})]
    assert eliminated(relational_form(strategy, DISTANCE), [table], [[fit]]) == expected


def test_a_rule_that_draws_at_random_has_no_relational_form():
    with pytest.raises(DecloakError, match="at random"):
        relational_form(ATTACKS["ra"], DISTANCE)


def test_the_command_prints_the_form_of_a_rule(call):
    shown = call("rules", "show", "rba", "--sql")
    assert shown.code == 0
    assert "-- repeat" in shown.out
    for name in ("ra", "selftrained", "aba"):
        refused = call("rules", "show", name, "--sql")
        assert refused.code == 2
        assert "without --sql" in refused.err


def test_every_eliminate_rule_that_does_not_learn_or_draw_has_a_form():
    without = {"ra", "selftrained", "selftrained_sure", "conjunctive"}
    catalogue = Catalogue()
    rules = [rule for name in catalogue.names if (rule := catalogue.rule(name)).model.form == "eliminate"]
    table = [[0.5, 2.0, 1.0], [1.5, 0.5, 0.2]]
    for rule in rules:
        if rule.name not in without:
            assert eliminated(relational_form(rule.compiled, rule.model.cells), [table])[0], rule.name
