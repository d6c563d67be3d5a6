"""JUnit, SARIF and Markdown about what was expected: undefined is an error, hostile text is text."""

import json
from xml.etree import ElementTree

import pytest

from decloak.report.ci import Judged, junit, markdown, sarif

JUDGED = (
    Judged("a < 1", True, "a = 0 < 1 holds", "s.yaml", 7, 3),
    Judged("b < 1", False, "b = 2 < 1 does not hold", "s.yaml", 8, 3),
    Judged("c < 1", None, "c is undefined", "s.yaml", 9, 3),
)
HOSTILE = "<script>]]>&amp; \x00\x1b[31m\ud800 *_`|\n# [x](javascript:1)"


def test_junit_has_a_case_each_and_counts_what_is_undefined_as_an_error():
    suite = ElementTree.fromstring(junit("s.yaml", JUDGED).encode())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["error"]]
    assert suite[2][0].get("message") == "c is undefined"


def test_sarif_points_at_the_line_of_what_does_not_hold_and_of_what_nobody_can_say():
    (run,) = json.loads(sarif(JUDGED))["runs"]
    at = [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in run["results"]]
    assert at == [8, 9]
    assert [result["ruleId"] for result in run["results"]] == ["does-not-hold", "undefined"]
    assert {result["level"] for result in run["results"]} == {"error"}
    known = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= known


def test_markdown_marks_each():
    text = markdown("What comes back?", ["Much of it."], JUDGED)
    assert [line[2] for line in text.splitlines() if line.startswith("- ")] == ["✓", "✗", "?"]


@pytest.mark.parametrize("holds", [True, False, None])
def test_hostile_text_stays_text(holds):
    judged = [Judged(HOSTILE, holds, HOSTILE, HOSTILE)]
    assert len(ElementTree.fromstring(junit(HOSTILE, judged).encode())) == 1
    json.loads(sarif(judged))
    text = markdown(HOSTILE, [HOSTILE], judged)
    assert "\n#" not in text
    assert "<script" not in text.replace("\\<", "")
    assert "](" not in text
