"""JUnit, SARIF and Markdown about what was expected: undefined is an error, hostile text is text."""

import json
from xml.etree import ElementTree

import pytest

from decloak.report.ci import Expected, junit, markdown, sarif

JUDGED = (
    Expected("a < 1", True, "passed: a = 0 < 1", "s.yaml", 7, 3),
    Expected("b < 1", False, "FAILED: b = 2 < 1", "s.yaml", 8, 3),
    Expected("c < 1", None, "c is undefined", "s.yaml", 9, 3),
)
HOSTILE = "<script>]]>&amp; \x00\x1b[31m\x9b31m\u202e\u2066\ud800 *_`|\n# [x](javascript:1)"


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
    judged = [Expected(HOSTILE, holds, HOSTILE, HOSTILE)]
    assert len(ElementTree.fromstring(junit(HOSTILE, judged).encode())) == 1
    json.loads(sarif(judged))
    text = markdown(HOSTILE, [HOSTILE], judged)
    assert "\n#" not in text
    assert "<script" not in text.replace("\\<", "")
    assert "](" not in text
    for written in (junit(HOSTILE, judged), sarif(judged), text):
        assert not set("\x1b\x9b\u202e\u2066") & set(written)


SCENARIO = """\
scenario: what is expected
data: {file: original.txt, format: basket, published: published.txt}
relate: {measure: ngd, source: scores, file: scores.csv, cap: none}
attacker: {context: 1}
attack: [mda, {rule: tba, threshold: 99}]
vary: {attacker.context: [1, all]}
expect:
  - precision(mda) >= 0
  - findings(mda) > 99
  - precision(tba) > 0
"""


def test_a_run_writes_what_was_expected_for_build_servers(example, call, tmp_path, monkeypatch):
    path = example / "expected.yaml"
    path.write_text(SCENARIO)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    asked = ("run", path, "-k", "context=1", "--store", tmp_path / "s.db",
             "--junit", tmp_path / "j.xml", "--sarif", tmp_path / "s.json")  # fmt: skip
    assert call(*asked).code == 3
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["error"]]
    assert [case.get("name") for case in suite] == [  # the same however many share a line, whatever they come to
        f"attacker.context=1: {rest}" for rest in ("precision(mda) >= 0", "findings(mda) > 99", "precision(tba) > 0")
    ]
    (run,) = json.loads((tmp_path / "s.json").read_text())["runs"]
    regions = [one["locations"][0]["physicalLocation"]["region"] for one in run["results"]]
    lines = SCENARIO.splitlines()
    assert [lines[region["startLine"] - 1] for region in regions] == [
        "  - findings(mda) > 99", "  - precision(tba) > 0"
    ]  # fmt: skip
    assert (tmp_path / "summary.md").read_text().startswith("before\n### what is expected")
    assert call(*asked).code == 3, "written anew"


def test_only_the_variants_with_a_text_in_their_names_are_run(example, call, tmp_path):
    path = example / "expected.yaml"
    path.write_text(SCENARIO[: SCENARIO.index("expect:")])
    done = call("run", path, "-k", "=all", "--store", tmp_path / "s.db", "--json")
    assert [run["variant"] for run in json.loads(done.out)["runs"]] == ["attacker.context=all"]
    none = call("run", path, "-k", "contxt=1", "--store", tmp_path / "s.db")
    assert none.code == 2
    assert "no variant has 'contxt=1' in its name" in none.err


def test_a_check_is_judged_too(call, tmp_path):
    (tmp_path / "d.txt").write_text("a, b\na, b\nc\n")
    asked = ("check", tmp_path / "d.txt", "--input", "basket", "--k", 2, "--m", 1)
    assert call(*asked, "--sarif", tmp_path / "s.json", "--junit", tmp_path / "j.xml").code == 3
    (run,) = json.loads((tmp_path / "s.json").read_text())["runs"]
    assert "1 violation" in run["results"][0]["message"]["text"]
    assert ElementTree.parse(tmp_path / "j.xml").getroot().get("failures") == "1"


FAILING = {
    "a mistake in the scenario": (("run", "s.yaml"), "s.yaml", "s.yaml:11:1: unknown key"),
    "a file that is not there": (("run", "missing.yaml"), "missing.yaml", "missing.yaml: "),
    "a release that is not there": (("check", "release.jsonl", "--k", "2", "--m", "2"), "release.jsonl", ""),
    "a data file": (("check", "data.txt", "--input", "basket", "--k", "2"), "data.txt", ""),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_command_that_fails_leaves_no_older_file_that_passed(call, tmp_path, monkeypatch, name):
    arguments, subject, said = FAILING[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    (tmp_path / "s.yaml").write_text(SCENARIO.rstrip() + "\nunknown: 1\n")
    (tmp_path / "data.txt").write_text("a, b\n")
    (tmp_path / "j.xml").write_text(junit("old", [Expected("old", True, "it held", "s.yaml")]))
    (tmp_path / "s.sarif").write_text(sarif([]))
    done = call(*arguments, "--junit", "j.xml", "--sarif", "s.sarif")
    assert done.code == 2
    (line, *_) = done.err.removeprefix("decloak: ").splitlines()
    suite = ElementTree.fromstring((tmp_path / "j.xml").read_text())
    assert (suite.get("name"), suite.get("tests"), suite.get("errors")) == (subject, "1", "1")
    assert suite[0][0].get("message").startswith(line)
    assert said in suite[0][0].get("message")
    (result,) = json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "failed"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith(subject)
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("### ")
    assert "\n- ? " in summary


def test_an_interrupted_run_leaves_no_older_file_that_passed(call, example, monkeypatch):
    (example / "j.xml").write_text(junit("old", [Expected("old", True, "it held", "s.yaml")]))

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("decloak.pipeline.run.run", interrupted)
    assert call("run", example / "scenario.yaml", "--junit", example / "j.xml").code == 130
    assert ElementTree.parse(example / "j.xml").getroot()[0][0].get("message") == "interrupted"
