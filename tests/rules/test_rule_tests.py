"""`decloak rules test`: the tests of rules pass, fail and are missed where they should."""

from pathlib import Path

import pytest

from decloak.errors import DecloakError
from decloak.rules.load import bundled_files
from decloak.rules.testing import run_tests, sibling_test
from test_rules_load import COUNT, ELIMINATE, QUERY, written

GRID = """\
rule: mine
cases:
  - case: one stands out
    given:
      distance:
        columns: [a, b, c]
        rows: {x: [0.1, 0.2, 0.9], y: [0.1, 0.2, null]}
    expect: [[x, c]]
"""
FACTS = """\
rule: mine
cases:
  - case: counted
    given:
      contains: [{txn: 7, item: 1}, {txn: 7, item: 2}, {txn: 8, item: 1}]
    expect: [{txn: 8}, {txn: 7, n: 2}]
"""


def outcomes(folder: Path, rule: str, test: str | None):
    path = written(folder, rule)
    if test is not None:
        written(folder, test, "mine.test.yaml")
    return run_tests(path)


def faults(folder: Path, rule: str, test: str | None) -> list[str | None]:
    return [one.fault for one in outcomes(folder, rule, test)]


def test_every_bundled_rule_passes_its_own_test():
    found = run_tests()
    assert {one.rule for one in found} == {path.stem for path in bundled_files()}
    assert [one for one in found if one.fault is not None] == []


@pytest.mark.slow
def test_the_tests_of_bundled_rules_would_notice_another_rule(tmp_path):
    """Each attack's test must tell it from the others: none may pass with the text of another."""
    forms = {path.stem: path.read_text() for path in bundled_files() if "form: eliminate" in path.read_text()}
    tests = {path.stem: sibling_test(path).read_text() for path in bundled_files() if path.stem in forms}
    assert len(forms) >= 6
    for name, text in forms.items():
        for other, test in tests.items():
            mine = text.replace(f"rule: {name}", "rule: mine")
            found = faults(tmp_path, mine, test.replace(f"rule: {other}", "rule: mine"))
            assert (found == [None] * len(found)) == (name == other), (name, other)


def test_a_rule_of_ones_own_passes(tmp_path):
    assert [one[:3] for one in outcomes(tmp_path, ELIMINATE, GRID)] == [("mine", "one stands out", None)]
    assert faults(tmp_path, QUERY, FACTS) == [None]


def test_a_rule_without_a_test_fails(tmp_path):
    assert faults(tmp_path, QUERY, None) == ["it has no test: write mine.test.yaml beside it"]


@pytest.mark.parametrize(
    ("rule", "test", "old", "new", "expected"),
    [
        (ELIMINATE, GRID, "[[x, c]]", "[]", "x, c was eliminated too"),
        (
            ELIMINATE,
            GRID,
            "[[x, c]]",
            "[[x, c], [x, b]]",
            "x, b was not eliminated: it stopped after elimination 1",
        ),
        (ELIMINATE, GRID, "[[x, c]]", "[[x, b]]", "elimination 1 is x, c, expected x, b"),
        (ELIMINATE, GRID, "[[x, c]]", "[[x]]", "elimination 1 is x, c, expected x"),
        (QUERY, FACTS, "{txn: 8}", "{txn: 9}", "{'txn': 9} was not found. Found instead: {'txn': 8, 'n': 1}"),
        (QUERY, FACTS, "n: 2", "n: 3", "{'txn': 7, 'n': 3} was not found. Found instead: {'txn': 7, 'n': 2}"),
        (QUERY, FACTS, "{txn: 8}, ", "", "{'txn': 8, 'n': 1} was found as well"),
        (QUERY, FACTS, "{txn: 8}", "{txn: 7}", "{'txn': 7} was not found. Found instead: {'txn': 8, 'n': 1}"),
        (QUERY, FACTS, "{txn: 8}", "{nix: 8}", "{'nix': 8} was not found. Found instead: {'txn': 8, 'n': 1}"),
        (QUERY, FACTS, "{txn: 8}", "['8', '1']", "write a fact as {txn: ...}"),
    ],
)
def test_a_case_that_fails_says_how(tmp_path, rule, test, old, new, expected):
    assert test.count(old) == 1
    assert faults(tmp_path, rule, test.replace(old, new)) == [expected]


@pytest.mark.parametrize(
    ("rule", "test", "old", "new", "expected"),
    [
        (ELIMINATE, GRID, "rule: mine", "rule: other", r"1:7: a test of 'other' beside the rule mine; name that rule"),
        (ELIMINATE, GRID, "distance:", "distances:", r"5:7: no relation 'distances'; did you mean 'distance'"),
        (ELIMINATE, GRID, "distance:", "contains:", r".*a grid is a distance table"),
        (ELIMINATE, GRID, "0.9", "far", r"7:30: .*"),
        (ELIMINATE, GRID, ", null]", "]", r".*row 'y' has 2 values for 3 columns"),
        (ELIMINATE, GRID, "    expect:", "    expct:", r"8:5: unknown key 'expct'; did you mean 'expect'"),
        (QUERY, FACTS, "{txn: 8, item: 1}", "{txn: 8, itm: 1}", r"5:56: contains has no column 'itm'; its columns are"),
        (QUERY, FACTS, "  - case: counted", "  - case: [", r"\d+:\d+: .*"),
        (QUERY, FACTS, "    given:", "    with: {n: 3}\n    given:", r"4:12: unknown key 'n'"),
    ],
)
def test_a_mistake_in_a_test_is_answered_at_its_place(tmp_path, rule, test, old, new, expected):
    assert test.count(old) == 1
    with pytest.raises(DecloakError, match=expected) as caught:
        outcomes(tmp_path, rule, test.replace(old, new))
    for line in str(caught.value).splitlines():
        assert line.startswith(f"{tmp_path / 'mine.test.yaml'}:")


def test_settings_of_a_case_reach_the_rule(tmp_path):
    test = GRID.replace("    given:", "    with: {threshold: 9.0}\n    given:")
    assert faults(tmp_path, ELIMINATE, test) == ["x, c was not eliminated: it eliminated nothing"]
    counted = FACTS.replace(
        "expect: [{txn: 8}, {txn: 7, n: 2}]", "with: {k: 2, m: 1}\n    expect: [{itemset: '2', support: 1}]"
    )
    assert faults(tmp_path, COUNT, counted) == [None]


def test_facts_are_matched_in_any_order_and_the_most_told_first(tmp_path):
    test = FACTS.replace("[{txn: 8}, {txn: 7, n: 2}]", "[{n: 1}, {txn: 7, n: 1}]").replace(
        "{txn: 7, item: 2}", "{txn: 7, item: 1}"
    )
    body = QUERY.replace("group by txn", "group by txn, item").replace("count(*)", "count(distinct item)")
    assert faults(tmp_path, body, test) == [None]


def test_a_folder_of_rules_is_tested_whole_and_its_rules_may_read_each_other(tmp_path):
    (tmp_path / "deep").mkdir()
    written(tmp_path, QUERY)
    written(tmp_path, FACTS, "mine.test.yaml")
    reading = (
        QUERY.replace("rule: mine", "rule: other").replace("mine(txn, n)", "other(txn, n)").replace("contains", "mine")
    )
    written(tmp_path / "deep", reading, "other.yaml")
    written(
        tmp_path / "deep",
        "rule: other\ncases:\n  - case: one\n    given: {mine: [{txn: 1, n: 5}]}\n    expect: [{txn: 1, n: 1}]\n",
        "other.test.yaml",
    )
    assert {(one.rule, one.fault) for one in run_tests(tmp_path)} == {("mine", None), ("other", None)}


def test_a_folder_without_rules_and_a_file_that_is_not_there_are_errors(tmp_path):
    with pytest.raises(DecloakError, match="no rule files in the folder; a rule file is named"):
        run_tests(tmp_path)
    with pytest.raises(DecloakError, match="no such file"):
        run_tests(tmp_path / "none.yaml")


KNOWN = """\
  - case: a known {kind}
    todo: {kind}
    given: {{contains: [{{txn: 8, item: 1}}]}}
    expect: {expect}
"""


def test_a_known_error_is_visible_and_does_not_count_as_passed(tmp_path, call):
    written(tmp_path, QUERY)
    missed = KNOWN.format(kind="miss", expect="[{txn: 8, n: 1}, {txn: 9, n: 1}]")
    alarm = KNOWN.format(kind="false alarm", expect="[]")
    written(tmp_path, FACTS + missed + alarm, "mine.test.yaml")
    done = call("rules", "test", tmp_path / "mine.yaml")
    assert done.code == 0
    assert "todo, known miss: {'txn': 9, 'n': 1} was not found" in done.out
    assert "todo, known false alarm: {'txn': 8, 'n': 1} was found as well" in done.out
    assert done.err.endswith("1 passed, 0 failed, 2 known errors\n")


def test_a_known_error_that_is_gone_fails(tmp_path, call):
    written(tmp_path, QUERY)
    written(tmp_path, FACTS + KNOWN.format(kind="miss", expect="[{txn: 8, n: 1}]"), "mine.test.yaml")
    done = call("rules", "test", tmp_path / "mine.yaml")
    assert done.code == 3
    assert "the known miss is gone: remove todo from the case" in done.out


def test_some_included_rules_have_known_errors_of_both_kinds():
    known = {one.todo for one in run_tests() if one.todo is not None}
    assert known == {"miss", "false alarm"}
