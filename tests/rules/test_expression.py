"""Formulas mean the same in numpy and in SQLite, and mistakes in them are answered in one line."""

import math
import sqlite3

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from decloak.errors import DecloakError
from decloak.rules.expression import Expression, scores
from decloak.store.opening import add_functions

VALUES = st.sampled_from([None, 0.0, -0.0, 1.0, -1.0, 0.25, 2.0, -3.5, 7.0, 1e200, -1e308, 1e-200])
SMALL = st.sampled_from([None, 0.0, 1.0, -2.0, 0.25, 3.0, -0.5])
"""Values whose sums are exact, so that the order of adding them up cannot matter."""

LEAVES = st.sampled_from(["a", "b", "0", "1", "0.5", "3", "1e300"])
SMALL_LEAVES = st.sampled_from(["s", "t", "2", "0.5"])


def combined(parts):
    pair = st.tuples(parts, parts)
    return st.one_of(
        *(pair.map(lambda two, sign=sign: f"({two[0]}) {sign} ({two[1]})") for sign in "+-*/"),
        parts.map(lambda one: f"-({one})"),
        pair.map(lambda two: f"max({two[0]}, {two[1]})"),
        st.tuples(parts, parts, parts).map(lambda three: f"min({', '.join(three)})"),
    )


def aggregated(calls=("mean", "min", "max", "sum", "count")):
    inner = st.tuples(st.sampled_from("st"), st.sampled_from("+-*"), SMALL_LEAVES).map(" ".join)
    return st.tuples(st.sampled_from(calls), inner | st.sampled_from("st")).map(lambda one: f"{one[0]}({one[1]})")


FORMULAS = st.recursive(LEAVES | aggregated(), combined, max_leaves=7)
SUMMARIES = st.recursive(aggregated() | st.sampled_from(["1", "0.25"]), combined, max_leaves=6)
# A logarithm differs in its last digit between libraries: nothing is subtracted from one.
WITH_LOGARITHMS = FORMULAS.flatmap(
    lambda text: st.sampled_from([f"ln({text})", f"max(ln({text}), 0.5) * 2", f"3 / ln({text})", text])
)


@st.composite
def columns(draw):
    rows = draw(st.integers(1, 5))
    kinds = {"a": VALUES, "b": VALUES, "s": SMALL, "t": SMALL}
    return {name: draw(st.lists(kind, min_size=rows, max_size=rows)) for name, kind in kinds.items()}


@pytest.fixture(scope="module")
def connection():
    connection = sqlite3.connect(":memory:")
    add_functions(connection)
    connection.execute("create table cells (a, b, s, t)")
    yield connection
    connection.close()


def built(text, **choices):
    try:
        return Expression.build(text, cells="abst", **choices)
    except DecloakError as error:
        assume("too deep" not in error.message)
        raise


def selected(connection, values, sql):
    connection.execute("delete from cells")
    connection.executemany("insert into cells values (?, ?, ?, ?)", zip(*values.values(), strict=True))
    return scores([one for (one,) in connection.execute(f"select {sql} from cells order by rowid")])


def as_arrays(values):
    return {name: scores(np.array(column, dtype=float)) for name, column in values.items()}


@settings(max_examples=400)
@given(text=WITH_LOGARITHMS, values=columns())
def test_numpy_and_sqlite_agree_on_every_cell(connection, text, values):
    formula = built(text)
    found = np.broadcast_to(formula.numpy(as_arrays(values)), len(values["a"]))
    np.testing.assert_allclose(found, selected(connection, values, formula.sql(over="")), rtol=1e-9, atol=0)
    assert not np.isinf(found).any()


@settings(max_examples=200)
@given(text=SUMMARIES, values=columns())
def test_numpy_and_sqlite_agree_on_a_summary(connection, text, values):
    formula = built(text, summary=True)
    found = np.broadcast_to(formula.numpy(as_arrays(values)), 1)
    np.testing.assert_allclose(found, selected(connection, values, formula.sql())[:1], rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 / 2", 0.5),
        ("7 - 2 - 1", 4),
        ("7 - (2 - 1)", 6),
        ("8 / 4 / 2", 1),
        ("8 / (4 / 2)", 4),
        ("2 * (3 + 4)", 14),
        ("- -3", 3),
        ("1 / 0", None),
        ("0 / 0", None),
        ("ln(0)", None),
        ("ln(-1)", None),
        ("ln(1)", 0),
        ("1e308 * 10", None),
        ("1 / (1e308 * 10)", None),
        ("max(1, 1e308 * 10)", None),
        ("min(1, -1e308 * 10)", None),
        ("max(2, 1 / 0)", None),
        ("min(3, 1, 2)", 1),
    ],
)
def test_constant_formulas(connection, text, expected):
    formula = Expression.build(text, cells=[])
    wanted = math.nan if expected is None else expected
    np.testing.assert_equal(float(formula.numpy({})), wanted)
    (value,) = connection.execute(f"select {formula.sql()}").fetchone()
    assert value == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mean(s)", math.nan),
        ("max(s)", math.nan),
        ("min(s)", math.nan),
        ("sum(s)", math.nan),
        ("count(s)", 0),
        ("1 / count(t)", 0.5),
        ("mean(t)", 2),
        ("sum(t) / count(t)", 2),
        ("mean(t / s)", math.nan),
    ],
)
def test_aggregates_pass_over_what_has_no_score(connection, text, expected):
    values = {"a": [1, 1, 1], "b": [1, 1, 1], "s": [None] * 3, "t": [3, None, 1]}
    formula = Expression.build(text, cells="abst")
    np.testing.assert_equal(formula.numpy(as_arrays(values)), [expected])
    np.testing.assert_equal(selected(connection, values, formula.sql())[0], expected)


def test_aggregates_are_taken_along_the_last_axis():
    formula = Expression.build("d - mean(d)", cells=["d"])
    found = formula.numpy({"d": np.array([[1.0, 3.0], [np.nan, 5.0]])})
    np.testing.assert_array_equal(found, [[-1, 1], [np.nan, 0]])


def test_aggregates_taken_once_can_be_used_for_other_cells():
    formula = Expression.build("d / max(d)", cells=["d"])
    once = formula.aggregates({"d": np.array([1.0, 4.0])})
    np.testing.assert_array_equal(formula.numpy({"d": np.array([2.0, 8.0])}, once), [0.5, 2.0])


def test_integers_are_divided_as_numbers(connection):
    formula = Expression.build("a / b + 1 / 2", cells="ab")
    assert selected(connection, {"a": [1], "b": [4], "s": [0], "t": [0]}, formula.sql()) == [0.75]


def test_a_missing_column_is_an_error_in_sql_and_not_a_word(connection):
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        connection.execute(f"select {Expression.build('order', cells=['order']).sql()} from cells")


def test_names_may_stand_for_other_sql():
    formula = Expression.build("d / rows", cells=["d"], constants=["rows"])
    assert formula.sql({"d": 'x."distance"'}).count('cast(x."distance" as real) / cast([rows] as real)') == 1


def test_key_words_are_good_column_names(connection):
    formula = Expression.build("select + group", cells=["select", "group"])
    (value,) = connection.execute(f"select {formula.sql()} from (select 1 as [select], 2 as [group])").fetchone()
    assert value == 3


def test_ln_is_there_even_where_sqlite_lacks_it():
    connection = sqlite3.connect(":memory:")
    connection.create_function("ln", 1, None)
    add_functions(connection)
    assert connection.execute("select ln(1.0), ln(0.0), ln(-1.0), ln(null)").fetchone() == (0.0, None, None, None)
    connection.close()


FAULTS = {
    "dist * 2": "unknown name 'dist' in a formula; did you mean 'distance'?",
    "q": "unknown name 'q' in a formula; names are distance, rows",
    "mean": "unknown name 'mean' in a formula; mean is a function: write mean(...)",
    "maen(distance)": "unknown function 'maen' in a formula; did you mean 'mean'?",
    "abs(distance)": "unknown function 'abs' in a formula; functions are count, ln, max, mean, min, sum",
    "ln(distance, 2)": "ln takes one argument, not 2",
    "mean(distance, 2)": "mean takes one argument, not 2",
    "max()": "max takes at least one argument, not 0",
    "mean(max(distance))": "an aggregate within mean(...); take one of them out",
    "mean(rows)": "mean(...) of one argument is over cells, and reads no column of theirs",
    "max(3)": "max(...) of one argument is over cells, and reads no column of theirs",
    "distance.real": "'distance.real' has no meaning in a formula",
    "distance > 1": "has no meaning in a formula",
    "": "cannot read the formula",
    "(1": "cannot read the formula",
    "\0": "cannot read the formula",
    "\ud800": "cannot read the formula",
    "1" * 2000: "a formula of 2000 characters",
    "-" * 500 + "1": "too long or nested too deep",
    "max(0, " * 20 + "1" + ")" * 20: "too long or nested too deep",
    "+".join("1" * 300): "too long or nested too deep",
}


@pytest.mark.parametrize("text", FAULTS, ids=lambda text: text[:20].encode("unicode_escape").decode())
def test_a_mistake_is_answered_in_one_line(text):
    with pytest.raises(DecloakError) as error:
        Expression.build(text, cells=["distance"], constants=["rows"])
    assert FAULTS[text] in str(error.value)
    assert "\n" not in str(error.value)


def test_a_summary_names_cells_within_aggregates_only():
    with pytest.raises(DecloakError, match=r"w differs from cell to cell; write mean\(w\) or max\(w\)"):
        Expression.build("max(w) - w", cells=["w"], summary=True)
    assert Expression.build("rows * max(w)", cells=["w"], constants=["rows"], summary=True).names == {"rows", "w"}


@pytest.mark.parametrize("levels", range(1, 12))
@pytest.mark.parametrize(
    "nest", ["max(0, 1 - {})", "1 - ({})", "1 / (2 / ({}))", "-({})", "ln({})", "(d + 1) * ({})", "1 / (1 - 1 / ({}))"]
)
def test_whatever_depth_is_allowed_sqlite_can_read(connection, nest, levels):
    text = "d"
    for _ in range(levels):
        text = nest.format(text)
    try:
        sql = Expression.build(f"mean({text})", cells=["d"]).sql(over="partition by d")
    except DecloakError:
        assert levels > 2
    else:
        connection.execute(f"select (select {sql} from (select 1 as d))").fetchone()


def test_a_long_sum_is_allowed(connection):
    formula = Expression.build(" + ".join(["d"] * 150), cells=["d"])
    assert formula.numpy({"d": np.array([2.0])}) == [300]
    assert connection.execute(f"select {formula.sql()} from (select 2 as d)").fetchone() == (300,)
