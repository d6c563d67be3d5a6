"""An attack of a rule file has the name of its rule wherever it is named, and a control is never named as an attack."""

import json

from conftest import ROOT

SCENARIO = """\
scenario: x
data: {generate: clinic, transactions: 60, seed: 7}
anonymise: {method: sets, size: 3, share: 0.3}
relate: {measure: ngd, source: clinic-counts}
attack: [some/file.yaml, {rule: some/file.yaml, ratio: 2, as: wide}]
expect: ["eliminated(outlier) > 0", "eliminated(wide) >= 0"]
"""


def test_an_attack_of_a_rule_file_has_the_name_of_its_rule(tmp_path, call):
    rule = (ROOT / "rules" / "set_generalised" / "tba.yaml").read_text().replace("rule: tba", "rule: outlier", 1)
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "file.yaml").write_text(rule)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    assert call("validate", tmp_path / "s.yaml").code == 0
    said = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db", "--json")
    assert {one["attack"] for one in json.loads(said.out)["measures"]} == {"outlier", "wide"}
    shown = json.loads(call("show", "--store", tmp_path / "s.db", "--json").out)
    assert {one["attack"] for one in shown} == {"outlier", "wide"}
    told = call("explain", "last", "--attack", "outlier", "--store", tmp_path / "s.db")
    assert told.code == 0
    assert "outlier" in told.out


def test_an_expectation_cannot_name_an_attack_by_its_file(tmp_path, call):
    rule = (ROOT / "rules" / "set_generalised" / "tba.yaml").read_text().replace("rule: tba", "rule: outlier", 1)
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "file.yaml").write_text(rule)
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("eliminated(outlier)", "eliminated(file)"))
    said = call("validate", tmp_path / "s.yaml")
    assert said.code == 2
    assert "no attack 'file'" in said.err
