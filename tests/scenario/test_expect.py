"""Expectations: what they may say, how they are judged when something is undefined, how they are told."""

import doctest
from contextlib import closing
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.errors import DecloakError
from decloak.pipeline.run import _summed_up
from decloak.report.assemble import page_of
from decloak.report.ci import SIGNS
from decloak.scenario import expect
from decloak.scenario.document import load
from decloak.scenario.expect import Expectation
from decloak.store.opening import connect_readonly
from decloak.store.results import read_runs

TRUE, FALSE, UNKNOWN = "f(one) > 0", "f(one) > 2", "f(none) > 0"
VALUES = {("f", "one"): 1.0, ("f", "none"): None}
TRUTH = {TRUE: True, FALSE: False, UNKNOWN: None}


def holds(text: str, values: dict[tuple[str, str], float | None] | None = None) -> bool | None:
    return Expectation.parse(text).evaluate(VALUES if values is None else values)


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(expect).failed == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("precision(rba)", "'precision(rba)' compares nothing; write such as precision(rba) > 0.8"),
        ("0.8", "'0.8' compares nothing; write such as precision(rba) > 0.8"),
        ("f(a) > 1 and f(b)", "'f(b)' compares nothing; write such as precision(rba) > 0.8"),
        ("not f(b) + 1", "'f(b) + 1' compares nothing; write such as precision(rba) > 0.8"),
        ("1 < 2", "'1 < 2' names no measure; write such as precision(rba) > 0.8"),
        ("min(f(a)) > 1", "min takes at least 2 values; write min(f(rba), f(gba))"),
        ("max() > f(a)", "max takes at least 2 values; write max(f(rba), f(gba))"),
        ("(f(a) > 1) + 1 > 2", "'f(a) > 1' is no number; join comparisons by and, or, not"),
        ("f(a) > (f(b) > 1)", "'f(b) > 1' is no number; join comparisons by and, or, not"),
        ("f(a) > (not f(b) > 1 or f(c))", "'not f(b) > 1 or f(c)' is no number; join comparisons by and, or, not"),
        ("f() > 1", ("'f()' does not name one attack; "
                    "write f(rba); an attack whose label is no plain word needs one: {rule: ..., as: word}")),
        ("f(a, b) > 1", ("'f(a, b)' does not name one attack; "
                        "write f(rba); an attack whose label is no plain word needs one: {rule: ..., as: word}")),
        ("f(my-rule) > 1", ("'f(my - rule)' does not name one attack; "
                           "write f(rba); an attack whose label is no plain word needs one: {rule: ..., as: word}")),
        ("f(g(a)) > 1", ("'f(g(a))' does not name one attack; "
                        "write f(rba); an attack whose label is no plain word needs one: {rule: ..., as: word}")),
        ("-" * 60 + "f(a) > 1", "an expectation nested deeper than 50 levels; write it flatter"),
    ],
)  # fmt: skip
def test_what_says_nothing_to_be_judged_is_refused(text: str, message: str) -> None:
    with pytest.raises(DecloakError) as caught:
        Expectation.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    ["", " ", "f(a) >", "f(a) > 1 if f(b) > 2 else 0", "f(a).x > 1", "__import__('os') > 1", "f(a) = 1",
     "f(a) > 1; f(b) > 1", "f(and) > 1", "f(a) in f(b)", "f(a) > 1\0", "f(a) ** 2 > 1", "[f(a)] > 1", "f(x=1) > 1",
     "True", "f(*a) > 1", "(" * 500, "x" * 5_000, "\ud800(a) > 1", "f(a) > 1e999"],
)  # fmt: skip
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(DecloakError):
        Expectation.parse(text)


def test_measures_are_listed_once_in_the_order_of_the_text() -> None:
    expectation = Expectation.parse("max(f(b), recall(a)) > 1 or not f(a) - f(b) / 2 <= -recall(a)")
    assert expectation.measures() == (("f", "b"), ("recall", "a"), ("f", "a"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("precison(rba) > 1", "no measure 'precison'; did you mean 'precision'?"),
        ("f(rbb) > 1", "no attack 'rbb'; did you mean 'rba'?"),
        ("f(zzz) > 1", "no attack 'zzz'; known here: rba; name others by {rule: ..., as: word}"),
        ("exposed(my_rule) > 1", "no measure 'exposed'; known here: precision, f"),
    ],
)
def test_unknown_measures_and_attacks_are_refused(text: str, message: str) -> None:
    (fault,) = Expectation.parse(text).faults(["precision", "f"], ["rba", "my-rule"])
    assert str(fault) == message
    assert not [*Expectation.parse("precision(rba) > f(rba)").faults(["precision", "f"], ["rba", "my-rule"])]


@pytest.mark.parametrize(
    ("text", "attacks", "messages"),
    [
        ("rba > 1", ["rba"], ["'rba' needs an attack; write a measure of it: precision(rba)"]),
        ("min(f(gba), rba) > 1", ["gba", "rba"], ["'rba' needs an attack; write a measure of it: precision(rba)"]),
        ("f < 0.3", ["rba"], ["'f' needs an attack; write f(rba)"]),
        ("0 < -f / 2", ["ra", "rba", "gba"], ["'f' needs an attack; write f(ra), or with another attack: rba, gba"]),
        ("precison < 0.3", ["rba"], ["'precison' needs an attack; write precision(rba)"]),
        ("some < 0.3", ["rba"], ["'some' needs an attack; write precision(rba)"]),
        ("f > 1 or precision > 1 and f > 2", ["rba"],
         ["'f' needs an attack; write f(rba)", "'precision' needs an attack; write precision(rba)"]),
        ("f < 0.3", ["f", "rba"], ["'f' needs an attack; write f(f), or with another attack: rba"]),
        ("f < 0.3", ["my-rule"], ["'f' needs an attack; write f(word); name others by {rule: ..., as: word}"]),
    ],
)  # fmt: skip
def test_a_name_that_stands_alone_is_answered_with_what_would_be_a_measure(
    text: str, attacks: list[str], messages: list[str]
) -> None:
    assert [str(fault) for fault in Expectation.parse(text).faults(["precision", "f"], attacks)] == messages


@pytest.mark.parametrize("left", TRUTH)
def test_not_of_what_cannot_be_judged_cannot_be_judged(left: str) -> None:
    expected = {True: False, False: True, None: None}[TRUTH[left]]
    assert holds(f"not {left}") is expected


@pytest.mark.parametrize(("left", "right"), list(product(TRUTH, TRUTH)))
def test_and_or_follow_the_tables_of_three_valued_logic(left: str, right: str) -> None:
    rank = {False: 0, None: 1, True: 2}  # Kleene: and is the least, or the greatest
    verdict = {number: truth for truth, number in rank.items()}
    a, b = rank[TRUTH[left]], rank[TRUTH[right]]
    assert holds(f"{left} and {right}") is verdict[min(a, b)]
    assert holds(f"{left} or {right}") is verdict[max(a, b)]


@pytest.mark.parametrize(
    "text",
    ["f(none) == f(none)", "f(none) * 0 == 0", "1 / (f(one) - 1) > 0", "min(f(one), f(none)) < 0", "-f(none) < 1",
     "recall(never) > 0", "0 < f(none) < 1", "f(nan) == f(nan)", "f(inf) > 0"],
)  # fmt: skip
def test_what_rests_on_something_undefined_cannot_be_judged(text: str) -> None:
    values = {**VALUES, ("f", "nan"): float("nan"), ("f", "inf"): float("inf")}
    assert holds(text, values) is None


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("f(a) == 0.3", True), ("f(a) != 0.3", False), ("f(a) > 0.3", False), ("f(a) >= 0.3", True),
     ("f(a) <= 0.3", True), ("f(a) < 0.3", False), ("f(a) > 0.299999", True), ("f(a) < 0.300001", True),
     ("f(a) < 0.3000000001", False), ("f(a) >= 0.3000000001", True), ("f(a) > 0.2999999999", False),
     ("f(a) <= 0.2999999999", True), ("1e308 * f(big) > 0", None), ("f(big) > -f(big)", True),
     ("0 - f(big) < f(big)", True)],
)  # fmt: skip
def test_figures_are_equal_within_1e_9(text: str, verdict: bool | None) -> None:
    assert holds(text, {("f", "a"): 0.1 + 0.2, ("f", "big"): 1.7e308}) is verdict


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("precision(rba) > 0.8", "FAILED: precision(rba) = 0.71 > 0.8"),
        ("0.8 > precision(rba)", "passed: 0.8 > precision(rba) = 0.71"),
        ("recall(rba) > 0.8", "UNDEFINED: recall(rba) = undefined > 0.8"),
        ("precision(rba)-baseline(rba)>=0.2", "passed: precision(rba) - baseline(rba) = 0.41 >= 0.2"),
        ("precision(rba) > 0.8 and not correct(gba) > 10",
         "FAILED: precision(rba) = 0.71 > 0.8 and not correct(gba) = 3 > 10"),
        ("not (correct(gba) < 1 or correct(gba) > 9)",
         "passed: not (correct(gba) = 3 < 1 or correct(gba) = 3 > 9)"),
        ("(correct(gba) < 1 or correct(gba) > 2) and precision(rba) > -3",
         "passed: (correct(gba) = 3 < 1 or correct(gba) = 3 > 2) and precision(rba) = 0.71 > -3"),
        ("0 < precision(rba) < 1", "passed: 0 < precision(rba) = 0.71 and precision(rba) = 0.71 < 1"),
        ("max(precision(rba), correct(gba)) == 3", "passed: max(precision(rba), correct(gba)) = 3 == 3"),
        ("correct(gba)-(correct(gba)-1)*2/4 > 0", "passed: correct(gba) - (correct(gba) - 1) * 2 / 4 = 2 > 0"),
        ("correct(gba) - (1 - correct(gba)) > 0", "passed: correct(gba) - (1 - correct(gba)) = 5 > 0"),
        ("-(correct(gba) + 1) < 0", "passed: -(correct(gba) + 1) = -4 < 0"),
        ("correct(all) == 1234567", "passed: correct(all) = 1234567 == 1234567"),
    ],
)  # fmt: skip
def test_a_verdict_comes_with_what_was_measured(text: str, told: str) -> None:
    values = {("precision", "rba"): 0.71, ("recall", "rba"): None, ("baseline", "rba"): 0.3, ("correct", "gba"): 3,
              ("correct", "all"): 1234567}  # fmt: skip
    assert Expectation.parse(text).explain(values) == told


LEAVES = st.sampled_from(["f(a)", "f(b)", "1", "2.5", "0"])
NUMBERS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner)
        | st.builds("min({}, {})".format, inner, inner)
        | st.builds("max({}, {})".format, inner, inner)
        | st.builds("-{}".format, inner)
    ),
    max_leaves=6,
)
COMPARISONS = st.builds("{} {} {}".format, NUMBERS, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), NUMBERS)
LOGIC = st.recursive(
    COMPARISONS,
    lambda inner: (
        st.builds("({}) and ({})".format, inner, inner)
        | st.builds("({}) or ({})".format, inner, inner)
        | st.builds("not ({})".format, inner)
    ),
    max_leaves=4,
)


@settings(max_examples=150)
@given(text=LOGIC, a=st.integers(-4, 4), b=st.integers(-4, 4))
def test_with_everything_known_the_verdict_is_pythons_and_survives_being_told(text: str, a: int, b: int) -> None:
    text += " or f(a) > 100"
    expectation = Expectation.parse(text)
    python = bool(eval(text, {"f": {"a": a, "b": b}.get, "a": "a", "b": "b", "min": min, "max": max}))
    values = {("f", "a"): float(a), ("f", "b"): float(b)}
    assert expectation.evaluate(values) is python
    assert expectation.explain(values).startswith("passed: " if python else "FAILED: ")


@settings(max_examples=100)
@given(text=LOGIC, b=st.integers(-4, 4))
def test_a_verdict_reached_without_a_figure_never_changes_when_it_is_known(text: str, b: int) -> None:
    expectation = Expectation.parse(text + " or f(a) > 100")
    early = expectation.evaluate({("f", "a"): None, ("f", "b"): float(b)})
    late = {expectation.evaluate({("f", "a"): float(a), ("f", "b"): float(b)}) for a in range(-4, 5)}
    assert early is None or late == {early}


@settings(max_examples=200)
@given(st.text(max_size=40) | st.text("f(ab) <>=!andornot-+*/,.1", max_size=40))
def test_any_text_is_an_expectation_or_a_decloak_error(text: str) -> None:
    try:
        expectation = Expectation.parse(text)
    except DecloakError:
        return
    assert expectation.evaluate({}) in (True, False, None)


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("cpu_seconds(rba) < 3", False),
        ("cpu_seconds(rba) < 3 * cpu_seconds(tba)", True),
        ("cpu_seconds(rba) / cpu_seconds(tba) < 3", True),
        ("max(cpu_seconds(rba), cpu_seconds(gba)) > cpu_seconds(tba)", True),
        ("max(cpu_seconds(rba), 2) > cpu_seconds(tba)", False),
        ("cpu_seconds(rba) + 1 < cpu_seconds(tba)", False),
        ("cpu_seconds(rba) * cpu_seconds(tba) > 1", False),
        ("recall(rba) > 0.5 and cpu_seconds(rba) < 1", False),
        ("recall(rba) / cpu_seconds(rba) > recall(tba) / cpu_seconds(tba)", True),
        ("recall(rba) > 0.5", True),
        ("cpu_seconds(rba) >= 0", True),
    ],
)
def test_seconds_are_compared_with_seconds_alone(text, fine):
    errors = list(Expectation.parse(text).absolute({"cpu_seconds"}))
    assert bool(errors) != fine
    assert all("depends on the machine" in str(error) for error in errors)


def test_what_is_judged_by_means_says_so_and_over_how_many(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {generate: clinic, transactions: 12, seed: 3}\n"
        "anonymise: {method: sets, size: 2, share: 0.03}\n"
        "relate: {measure: ngd, source: clinic-counts}\nattack: [mda]\n"
        'repeat: {times: 4, seed: 2}\nexpect: ["findings(mda) >= 0", "precision(mda) >= 0"]\n'
    )
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    sure, partly = (verdict.text for verdict in done.verdicts)
    measured = [variant.measures["precision", "mda"] for variant in done.variants]
    count = sum(value is not None for value in measured)
    assert 0 < count < 4, "the test has to have some without an elimination"
    assert sure.startswith("passed: ")
    assert sure.endswith(" (mean of 4 repetitions)")
    assert partly.startswith("UNDEFINED: ")
    assert partly.endswith(f" (only {count} of 4 repetitions have a figure)")
    assert [verdict.holds for verdict in done.verdicts] == [True, None]
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        page = page_of(connection, done.store, read_runs(connection), evidence=False, originals=False)
    assert page.expectations == [(SIGNS[verdict.holds], verdict.text) for verdict in done.verdicts]


BOUNDS = {
    "precision": (0.0, 1.0),
    "correct": (0.0, None),
    "advantage": (None, 1.0),
    "exposed_3": (0.0, None),
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("precision(ra) < 50", "'precision(ra) < 50' can never fail: precision(ra) is from 0 to 1"),
        ("precision(ra) > 1", "'precision(ra) > 1' can never hold: precision(ra) is from 0 to 1"),
        ("precision(ra) == 1.5", "'precision(ra) == 1.5' can never hold: precision(ra) is from 0 to 1"),
        ("precision(ra) != -1", "'precision(ra) != -1' can never fail: precision(ra) is from 0 to 1"),
        ("precision(ra) >= 50%", None),
        ("precision(ra) <= 150%", "'precision(ra) <= 150%' can never fail: precision(ra) is from 0 to 1"),
        ("correct(ra) < 0", "'correct(ra) < 0' can never hold: correct(ra) is 0 or more"),
        ("correct(ra) > -1", "'correct(ra) > -1' can never fail: correct(ra) is 0 or more"),
        ("correct(ra) > 101%", "'correct(ra) > 101%' can never hold: correct(ra) is from 0 to 1"),
        ("advantage(ra) > 2", "'advantage(ra) > 2' can never hold: advantage(ra) is 1 or less"),
        ("advantage(ra) > -20", None),
        ("precision(ra) >= 0", None),  # asks that there is one
        ("precision(ra) <= 1", None),
        ("precision(ra) == 0 and correct(ra) < 50", None),
        ("precision(ra) > 0.5 or precision(ra) < 50",
         "'precision(ra) < 50' can never fail: precision(ra) is from 0 to 1"),
        ("precision(ra) - precision(rba) > 1",
         "'precision(ra) - precision(rba) > 1' can never hold: precision(ra) is from 0 to 1 and "),
        ("precision(ra) - precision(rba) > 0.99", None),
        ("10 * precision(ra) < 9", None),
        ("max(precision(ra), precision(rba)) < 2", "'max(precision(ra), precision(rba)) < 2' can never fail: "),
        ("1 / precision(ra) < 0.5", None),  # of 0 there is none, and nothing is said of it
        ("exposed_3 < -1", "'exposed_3 < -1' can never hold: exposed_3 is 0 or more"),
        ("f(ra) < 50", None),  # of another figure nothing is known
    ],
)  # fmt: skip
def test_what_the_bounds_of_a_figure_decide_is_no_expectation(text: str, message: str | None) -> None:
    faults = [str(fault) for fault in Expectation.parse(text).decided(BOUNDS)]
    assert bool(faults) is (message is not None)
    assert all(fault.startswith(str(message)) for fault in faults)


@given(st.floats(0, 1), st.floats(0, 60), st.floats(-3, 3), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
def test_what_is_said_to_be_decided_is(share: float, count: float, bound: float, sign: str) -> None:
    for text in ("{x} {s} {b}", "{b} {s} {x}", "2 * {x} - {y} {s} {b}", "min({x}, {y}) / 2 {s} {b}", "-{x} {s} {b}"):
        written = text.format(x="precision(a)", y="correct(a)", s=sign, b=f"{bound:.3f}")
        expectation = Expectation.parse(written)
        for fault in expectation.decided(BOUNDS):
            held = expectation.evaluate({("precision", "a"): share, ("correct", "a"): count})
            assert held is ("never fail" in str(fault))


def test_counts_are_compared_with_percentages_of_what_they_are_counted_of() -> None:
    expectation = Expectation.parse("exposed_3 <= 1% and correct(ra) ≥ 2 and advantage(ra) ≠ −0.5")
    means = {("exposed_3", "ra"): 2.0, ("correct", "ra"): 2.0, ("advantage", "ra"): 0.5}
    counts, shares = dict.fromkeys(means, 1), {("exposed_3", "ra"): 0.01, ("correct", "ra"): 0.5}
    holds, text = expectation.judged(means, counts, 1, shares)
    assert holds is True
    assert text == "passed: exposed_3 = 1% <= 1% and correct(ra) = 2 >= 2 and advantage(ra) = 0.5 != -0.5"
    assert expectation.judged(means, counts, 1, shares | {("exposed_3", "ra"): 0.02})[0] is False
    assert expectation.judged({}, {}, 1, {})[0] is None
    worse = {("exposed_3", "rba"): 9.0}  # of a figure that stands alone the worst attack counts
    assert (
        expectation.judged(means | worse, counts | dict.fromkeys(worse, 1), 1, shares | {("exposed_3", "rba"): 0.045})[
            0
        ]
        is False
    )


def test_a_negative_control_is_no_attack_unless_it_is_named() -> None:
    means = {("exposed_3", "selftrained"): 9.0, ("exposed_3", "selftrained_labels"): 90.0}
    counts = dict.fromkeys(means, 1)
    expectation = Expectation.parse("exposed_3 <= 10")
    assert expectation.judged(means, counts, 1)[0] is False
    assert expectation.judged(means, counts, 1, {}, {"selftrained_labels"})[0] is True
    named = Expectation.parse("exposed_3(selftrained_labels) <= 10")
    assert named.judged(means, counts, 1, {}, {"selftrained_labels"})[0] is False
    assert not [*expectation.faults(["correct", "advantage", "exposed_3"], ["ra"], ["exposed_3"])]
    assert [*expectation.faults(["correct", "advantage", "exposed_3"], ["ra"])]


@pytest.mark.parametrize("text", ["f(a) > 5 % 2", "f(a) > %", "f(a)% > 1", "f(a%) > 1", "5% > 1"])
def test_a_percent_sign_stands_behind_a_number_alone(text: str) -> None:
    with pytest.raises(DecloakError):
        Expectation.parse(text)


def test_an_expectation_that_no_variant_can_judge_is_not_met(tmp_path):
    text = "scenario: s\ndata: {generate: clinic, transactions: 60}\nanonymise: {method: sets, size: 3}\n"
    text += "relate: {measure: ngd, source: release}\nattack: [rba]\nexpect: ['precision(rba) > 0']\n"
    (tmp_path / "s.yaml").write_text(text)
    document = load(tmp_path / "s.yaml")
    done = _summed_up(document, tmp_path / "s.db", [], [], [], whole=True)
    assert [(verdict.variant, verdict.holds, verdict.line) for verdict in done.verdicts] == [("", None, 6)]
    assert done.verdicts[0].text == "precision(rba) > 0 cannot be judged: no variant has what it names"
    assert not done.ok
    few = _summed_up(document, tmp_path / "s.db", [], [], [], whole=False)
    assert not few.verdicts  # -k leaves other variants out, which may judge it
