"""JUnit, SARIF and Markdown about what was expected: undefined is an error, hostile text is text."""

import json
from xml.etree import ElementTree

import pytest

from decloak.report.ci import Expected, annotation, junit, markdown, sarif

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
    (line,) = annotation(judged[0]).splitlines()
    assert line.startswith("::error file=<script>]]>&amp%3B"[:24])
    assert line.count("::") == 2
    for written in (junit(HOSTILE, judged), sarif(judged), text, line):
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


def test_a_forge_gets_an_annotation_for_each_failure_and_no_command_from_a_name(call, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (tmp_path / "d.txt").write_text("::error::a, b\n::error::a, b\n::warning file=x::c\n")
    done = call("check", tmp_path / "d.txt", "--input", "basket", "--k", 2, "--m", 1)
    assert done.code == 3
    first, *_ = lines = done.err.splitlines()
    token = first.removeprefix("::stop-commands::")
    assert len(token) == 32
    (again,) = [number for number, line in enumerate(lines) if line == f"::{token}::"]
    assert not any(line.startswith("::") for line in lines[1:again])
    (error,) = lines[again + 1 :]
    assert error.startswith(f"::error file={tmp_path}/d.txt,line=1,col=1,title=k = 2%2C m = 1%3A 1 item::")
    assert "::stop-commands::" not in done.out
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    assert "::error f" not in call("check", tmp_path / "d.txt", "--input", "basket", "--k", 2, "--m", 1).err


def test_an_error_is_an_annotation_at_its_place(call, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (tmp_path / "s.yaml").write_text(SCENARIO.rstrip() + "\nunknown: 1\n")
    err = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").err
    assert f"\n::error file={tmp_path}/s.yaml,line=11,col=1," in err


def cases(path):
    return {case.get("name"): [child.tag for child in case] for case in ElementTree.parse(path).getroot()}


def test_a_check_has_a_case_for_each_class_of_violations(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.txt").write_text("a, b\na, c\nb, c\nb, c\na, c\n")
    asked = ("check", "d.txt", "--input", "basket", "--k", 2, "--m", 3, "--junit", "j.xml")
    assert call(*asked).code == 3
    assert cases("j.xml") == {"k = 2, m = 3: 1 item": [], "k = 2, m = 3: 2 items": ["failure"]}
    assert call(*asked, "--most", 1).code == 3
    # One line shows one class. No line says that the other has no violation.
    assert cases("j.xml") == {"k = 2, m = 3: 1 item": ["error"], "k = 2, m = 3: 2 items": ["failure"]}
    (tmp_path / "c.yaml").write_text("{k: 3, privacy: [[a, b], [c]], utility: [[a, b]]}")
    (tmp_path / "p.txt").write_text("(a, b), (c, d)\n" * 3)
    assert call("check", "p.txt", "--input", "published", "--constraints", "c.yaml", "--junit", "j.xml").code == 3
    named = {name.rpartition(": ")[2]: found for name, found in cases("j.xml").items()}
    assert named == {"privacy": [], "utility": ["failure"]}


RELEASES = {
    "coat": (
        "{method: coat, k: 2, privacy: [[a, b], [c]], utility: [[a, b, c, d]]}",
        "{rule: km_violation, k: 2, m: 1}",
    ),
    "da": ("{method: da, k: 2, m: 2, hierarchy: {by: names, fanout: 2}}", "km_violation"),
    "disassociation": ("{method: disassociation, k: 2, m: 2}", "random"),
    "sets": ("{method: sets, sets: [[a, b]]}", "{rule: km_violation, k: 2, m: 1}"),
    "itemsets": ("{method: itemsets, k: 2, m: 2, zeros: allow}", "certain"),
}


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_checked_by_its_scenario_without_the_originals(call, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    anonymise, rule = RELEASES[name]
    (tmp_path / "original.txt").write_text("a, b, c\na, b, d\nb, c, d\na, c, d\na, b\nc, d\n")
    (tmp_path / "s.yaml").write_text(
        f"scenario: checked\ndata: {{file: original.txt, format: basket}}\nanonymise: {anonymise}\nattack: [{rule}]\n"
    )
    assert call("run", "s.yaml", "--brief").code == 0
    assert call("publish", "last", "release.jsonl").code == 0
    for path in ("original.txt", "store.db"):
        (tmp_path / path).unlink()
    done = call("check", "release.jsonl", "--constraints", "s.yaml", "--junit", "j.xml")
    assert done.code == 0
    assert done.err.splitlines()[-1].startswith("the guarantee is met: ")
    assert set(map(tuple, cases("j.xml").values())) == {()}


def test_a_cache_key_changes_with_a_file_a_setting_and_nothing_else(call, example):
    key = call("validate", "--key", example / "scenario.yaml").out
    assert len(key.strip()) == 64
    (example / "unrelated.txt").write_text("x")
    assert call("validate", "--key", example / "scenario.yaml").out == key
    other = call("validate", "--key", example / "scenario.yaml", "--set", "attacker.context=2").out
    (example / "scores.csv").write_text((example / "scores.csv").read_text().replace("0.56", "0.57"))
    assert len({key, other, call("validate", "--key", example / "scenario.yaml").out}) == 3
