"""Rule files: found by name or path, checked whole, every mistake answered at its place."""

# ruff: noqa: E501 - one case a line, with the whole message it is answered with

import json
import re
from pathlib import Path

import pytest
import yaml

import decloak
from decloak.errors import DecloakError
from decloak.rules.eliminate.strategy import Strategy
from decloak.rules.load import (
    Catalogue,
    bundled_files,
    bundled_names,
    dependency_order,
    parse_rule,
    rule_schema,
)
from decloak.rules.model import test_schema as schema_of_tests
from decloak.rules.operators.eliminate import EliminateRule

QUERY = """\
rule: mine
form: query
about: An example.
derives: mine(txn, n)
let:
  held: select txn, count(*) as n from contains group by txn
facts: select txn, n from held
evidence: [held]
because: "{txn:txn} shows {n} plain items"
reference: ours
wrong_when: never
"""
ELIMINATE = """\
rule: mine
form: eliminate
about: An example.
cells: select * from distance
groups: [row, col]
suspicion: max(w) - mean(w)
threshold: 1.2 * mean(suspicion)
eliminate: heaviest
because: "{item} was eliminated from {record}"
reference: ours
wrong_when: never
"""
COUNT = """\
rule: mine
form: itemsets
about: An example.
of: select txn as set_number, item from contains
size: 1..m
support: 1..k-1
because: "{itemset} is in {support} transactions"
reference: ours
wrong_when: never
"""
CHUNKS = """\
rule: mine
form: reassociate
about: An example.
units: [term]
combine: mean
give: k - 1
because: "it fits best"
reference: ours
wrong_when: never
"""


def written(folder: Path, text: str, name: str = "mine.yaml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def rule(path: Path, *others: Path):
    return Catalogue([path, *others]).rule(str(path))


def fault(path: Path) -> str:
    with pytest.raises(DecloakError) as caught:
        rule(path)
    return str(caught.value)


@pytest.mark.parametrize("name", Catalogue().names)
def test_every_bundled_rule_is_sound_and_says_what_it_is(name):
    found = Catalogue().rule(name)
    assert found.name == name == Path(found.path).stem
    assert found.model.about.endswith(".")
    assert found.because_sql("x")


def test_every_bundled_rule_has_its_own_id_and_names_related_rules():
    rules = [Catalogue().rule(name).model for name in Catalogue().names if name in bundled_names()]
    assert len({model.id for model in rules}) == len(rules)
    assert all(model.id.startswith("decloak-") for model in rules)
    assert all(set(model.related) <= set(bundled_names()) - {model.rule} for model in rules)
    assert all(len(model.wrong_when.split()) > 12 for model in rules)
    assert len({model.wrong_when for model in rules}) == len(rules)


def test_an_older_rule_file_gets_a_line_for_each_key_to_add(tmp_path):
    old = QUERY.replace("reference: ours\nwrong_when: never\n", "")
    path = written(tmp_path, old)
    assert fault(path).splitlines() == [
        f"{path}:1:1: missing key 'reference'; add such as reference: Smith (2020), section 3",
        f"{path}:1:1: missing key 'wrong_when'; add such as wrong_when: Few records have two known items.",
    ]
    assert parse_rule(old).name == "mine", "a store has the rule texts of older versions"


def test_the_published_schemas_take_every_included_file_and_refuse_what_the_loader_refuses():
    jsonschema = pytest.importorskip("jsonschema")
    folder = bundled_files()[0].parents[1]
    schemas = [json.loads((folder / f"{name}.schema.json").read_text()) for name in ("rule", "rule-test")]
    assert schemas == [rule_schema(), schema_of_tests()]
    of_rule, of_test = map(jsonschema.Draft202012Validator, schemas)
    for path in bundled_files():
        assert not list(of_rule.iter_errors(yaml.safe_load(path.read_text())))
        test = path.with_name(f"{path.stem}.test.yaml")
        assert not list(of_test.iter_errors(yaml.safe_load(test.read_text())))
        assert all(file.read_text().startswith("# yaml-language-server: $schema=../") for file in (path, test))
    for text, old, new in (
        (QUERY, "wrong_when: never\n", ""), (QUERY, "evidence:", "evidance:"), (COUNT, "form: itemsets", "form: other")
    ):  # fmt: skip
        assert list(of_rule.iter_errors(yaml.safe_load(change(text, old, new))))


def test_every_bundled_rule_has_a_test_beside_it():
    assert bundled_files()
    for path in bundled_files():
        assert path.with_name(f"{path.stem}.test.yaml").exists(), path


@pytest.mark.parametrize(
    "text", [QUERY, ELIMINATE, COUNT, CHUNKS], ids=["query", "eliminate", "itemsets", "reassociate"]
)
def test_a_rule_of_each_form_is_read_from_outside_the_package(tmp_path, text):
    found = rule(written(tmp_path, text))
    assert found.name == "mine"
    assert found.text == text
    assert isinstance(found.model, EliminateRule) == isinstance(found.compiled, Strategy)


def test_what_a_rule_reads_and_derives_is_known(tmp_path):
    found = rule(written(tmp_path, QUERY))
    assert found.derives == ("mine", ("txn", "n"))
    assert found.reads == {"contains"}
    assert rule(written(tmp_path, ELIMINATE)).reads == {"distance"}
    counted = QUERY.replace("select txn, n from held", "select 1 as txn, (select count(*) from rba) as n")
    assert rule(written(tmp_path, counted)).reads == {"contains", "rba"}


def change(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


FAULTS = {
    "unknown key": (QUERY, "evidence:", "evidance:", "8:1: unknown key 'evidance'; did you mean 'evidence'?"),
    "key of another form": (QUERY, "evidence: [held]", "weigh: d", "8:1: unknown key 'weigh'"),
    "no form": (QUERY, "form: query\n", "", "1:1: missing key 'form'; add it"),
    "unknown form": (QUERY, "form: query", "form: qurey", "2:7: expected 'query', .*; did you mean 'query'?"),
    "wrong type": (QUERY, "facts: select txn, n from held", "facts: [1]", "7:8: expected text .*, found a list"),
    "number for text": (QUERY, "about: An example.", "about: 7", "3:8: expected text .*, found 7; put it in quotes"),
    "duplicate key": (QUERY, "evidence: [held]", "form: query", "8:1: .*'form'.* twice|8:1: .*'form'"),
    "empty sql": (QUERY, "facts: select txn, n from held", "facts: ''", "7:8: expected text of at least 1 char.*found ''"),
    "missing facts": (QUERY, "facts: select txn, n from held\n", "", "1:1: .*; write facts:, or start: and repeat:"),
    "start alone": (QUERY, "facts:", "start:", "1:1: .*; write facts:, or start: and repeat:"),
    "derives nothing": (QUERY, "mine(txn, n)", "mine", "4:10: cannot read 'mine'; write a name and its columns"),
    "derives twice": (QUERY, "mine(txn, n)", "mine(n, n)", "4:10: 'mine\\(n, n\\)' repeats a column"),
    "derives a reserved column": (QUERY, "mine(txn, n)", "mine(txn, round)", "4:10: .*; choose other names"),
    "derives a relation": (QUERY, "mine(txn, n)", "contains(txn, n)", "4:10: .* is a relation of the store"),
    "derives another's": (QUERY, "mine(txn, n)", "gba(txn, n)", "4:10: the rule gba derives gba already; give"),
    "step named as a relation": (QUERY, "  held:", "  txn:", "6:8: 'txn' is a relation of the store; choose another"),
    "step of no name": (QUERY, "  held:", "  Held one:", "6:3: .*"),
    "sql syntax in a step": (QUERY, "select txn, count", "selec txn, count", '6:9: SQL: near "selec": syntax error'),
    "sql syntax in facts": (QUERY, "select txn, n from", "select txn n fom ", "7:8: SQL: near \"held\": syntax error|7:8: SQL: near"),
    "no such relation": (QUERY, "from contains", "from contain", "6:9: SQL: no such table: contain; did you mean 'con"),
    "no such column": (QUERY, "select txn, n from", "select txn, m from", "7:8: SQL: no such column: m"),
    "no such column in quotes": (QUERY, "select txn, n from", 'select txn, "m" as n from', "7:8: no column 'm'; write text in single"),
    "retired column": (QUERY, "select txn, n from", 'select txn, "table" as n from', "7:8: no column 'table'; write item_group$"),
    "retired column of a relation": (
        QUERY, "select txn, n from held", 'select x."table" as txn, 1 as n from distance x',
        "7:8: SQL: no such column: x.table; write item_group$",
    ),
    "retired column in the sentence": (ELIMINATE, "{record}", "{transaction}", "9:10: .*, which is no column; write record$"),
    "missing column": (QUERY, "select txn, n from", "select txn, n as m from", "7:8: the SQL gives no column 'n'; sele"),
    "reads the truth": (QUERY, "from contains", "from main.truth_origin", "6:9: a rule may not read 'truth_origin': on"),
    "reads the store": (QUERY, "from contains", "from main.dataset", "6:9: a rule may not read 'dataset' of the store itself; "),
    "writes": (QUERY, "select txn, n from held", "delete from item", "7:8: a rule may not .*; a rule is one SELECT"),
    "two statements": (QUERY, "select txn, n from held", "select 1; select 2", "7:8: SQL: .*; a rule is one SELECT ov"),
    "endless": (
        QUERY, "select txn, count(*) as n from contains group by txn",
        "with recursive x(n) as (select 1 union all select n + 1 from x) select n as txn, n from x",
        "6:9: the SQL takes too long, or too much memory; let it come to an end",
    ),
    "random": (QUERY, "count(*) as n", "random() as n", "6:9: a rule may not call random\\(\\): the same run must"),
    "reads itself": (QUERY, "select txn, n from held", "select txn, n from mine", "7:8: the rule reads itself: mine; "),
    "start joins the last round": (
        QUERY, "facts: select txn, n from held",
        "start: select txn, n from (select 1 as txn, 1 as n where 0) natural full join last_round\nrepeat: select * from held",
        "7:8: the start reads last_round; read it under repeat:",
    ),
    "start reads the last round": (
        QUERY, "facts: select txn, n from held", "start: select * from temp.Last_Round\nrepeat: select * from held",
        "7:8: the start reads last_round; read it under repeat:",
    ),
    "unknown evidence": (QUERY, "evidence: [held]", "evidence: [hold]", "8:11: no step named 'hold'; did you mean 'h"),
    "unknown column in the sentence": (QUERY, "{n}", "{m}", "9:10: the sentence names 'm', which is no column; "),
    "attribute in the sentence": (QUERY, "{n}", "{n.real}", "9:10: the sentence names 'n.real', which is no column"),
    "index in the sentence": (QUERY, "{n}", "{n[0]}", "9:10: the sentence names 'n\\[0\\]', which is no column"),
    "conversion in the sentence": (QUERY, "{n}", "{n!r}", "9:10: cannot print 'n' as 'r'; use .2f, item, txn, generalised, or no"),
    "format in the sentence": (QUERY, "{n}", "{n:>9999999}", "9:10: cannot print 'n' as '>9999999'; use"),
    "nested format in the sentence": (QUERY, "{n}", "{n:{txn}}", "9:10: cannot print 'n' as '{txn}'; use"),
    "open brace in the sentence": (QUERY, "{n}", "{n", "9:10: cannot read the sentence: .*; write {column}, and"),
    "number in the sentence": (QUERY, "{n}", "{}", "9:10: the sentence names '', which is no column; "),
    "unknown name in a formula": (ELIMINATE, "max(w)", "max(weight)", "6:12: unknown name 'weight' in a formula"),
    "unknown function": (ELIMINATE, "max(w)", "maximum(w)", "6:12: unknown function 'maximum' in a formula; did you mean"),
    "syntax in a formula": (ELIMINATE, "1.2 * mean", "1.2 ** mean", "7:12: .*"),
    "code in a formula": (ELIMINATE, "max(w)", "__import__(1)", "6:12: unknown function '__import__' in a formula"),
    "attribute in a formula": (ELIMINATE, "max(w)", "w.max()", "6:12: .* has no meaning in a formula"),
    "cells vary in a threshold": (ELIMINATE, "mean(suspicion)", "suspicion", "7:12: suspicion differs from cell to cell"),
    "retired key": (ELIMINATE, "eliminate: heaviest", "strike: heaviest", "8:1: unknown key 'strike'; write eliminate$"),
    "retired choice": (ELIMINATE, "eliminate: heaviest", "eliminate: coin", "8:12: unknown choice 'coin'; write random$"),
    "unknown choice of eliminations": (ELIMINATE, "heaviest", "heavyest", "8:12: unknown choice 'heavyest'; did you mean 'heaviest'?"),
    "unknown group": (ELIMINATE, "[row, col]", "[row, colum]", "5:15: expected .*"),
    "cells without d": (ELIMINATE, "select * from", "select item_group, row, col from", "4:8: the SQL gives no column 'd'; "),
    "what does not go together": (ELIMINATE, "eliminate: heaviest", "eliminate: random", "6:12: suspicion: random and eliminate: random"),
    "itemsets without set": (COUNT, "as set_number", "as s", "4:5: the SQL gives no column 'set_number'; select ... as set_number"),
    "size": (COUNT, "1..m", "0..m", "5:7: .*"),
    "support": (COUNT, "1..k-1", "2..k", "6:10: .*"),
    "report": (COUNT, "of:", "report: minimum\nof:", "4:9: expected 'minimal', 'all' or 'count', found 'minimum'; did"),
    "units": (CHUNKS, "[term]", "[]", "4:8: .*"),
    "give": (CHUNKS, "k - 1", "k", "6:7: expected .*"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "old", "new", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_mistake_is_answered_at_its_place(tmp_path, text, old, new, expected):
    path = written(tmp_path, change(text, old, new))
    message = fault(path)
    assert "\n" not in message
    assert message.startswith(f"{path}:")
    assert re.match(expected, message.removeprefix(f"{path}:")), message


def test_all_mistakes_of_a_file_are_answered_at_once(tmp_path):
    text = change(change(QUERY, "evidence:", "evidance:"), "about: An example.", "about: 7")
    lines = fault(written(tmp_path, text)).splitlines()
    assert [re.search(r":(\d+):\d+: ", line)[1] for line in lines] == ["3", "8"]


@pytest.mark.parametrize(
    "content", [b"", b"\0", b"\xff\xfe", b"- 1\n", b"just text\n", b"{", b"a: &a [*a]\n", b"\xed\xa0\x80"]
)
def test_what_is_no_rule_file_is_refused(tmp_path, content):
    (tmp_path / "mine.yaml").write_bytes(content)
    message = fault(tmp_path / "mine.yaml")
    assert message.startswith(str(tmp_path / "mine.yaml"))
    assert "\n" not in message


def test_a_rule_that_is_not_there(tmp_path):
    with pytest.raises(DecloakError, match="no rule named 'gbaa'; did you mean 'gba'"):
        Catalogue().rule("gbaa")
    with pytest.raises(DecloakError, match=r"no rule named 'zzz'; rules are .*for your own rule give its path"):
        Catalogue().rule("zzz")
    with pytest.raises(DecloakError, match=r"none\.yaml: no such file"):
        Catalogue().rule(str(tmp_path / "none.yaml"))
    with pytest.raises(DecloakError, match="this is a folder"):
        Catalogue().rule(f"{tmp_path}/")


def test_two_rules_of_one_name_are_told_apart_by_neither(tmp_path):
    (tmp_path / "other").mkdir()
    one, other = written(tmp_path, QUERY), written(tmp_path / "other", QUERY)
    with pytest.raises(DecloakError, match=r"other/mine\.yaml:1:7: the rule 'mine' is also in .*; rename one"):
        Catalogue([one, other])
    assert Catalogue([one, tmp_path / "other" / ".." / "mine.yaml"]).names.count("mine") == 1
    with pytest.raises(DecloakError, match="the rule 'gba' is also in "):
        Catalogue([written(tmp_path, ELIMINATE.replace("rule: mine", "rule: gba"), "gba.yaml")])


@pytest.mark.parametrize("name", ["last_round", "this_round", "mine"])
def test_a_step_cannot_take_the_name_of_what_rounds_go_by(tmp_path, name):
    text = change(QUERY, "  held:", f"  {name}:").replace("[held]", f"[{name}]")
    text = change(
        text, "facts: select txn, n from held", "start: select 1 as txn, 1 as n\nrepeat: select * from last_round"
    )
    assert f"'{name}' is what rounds go by; choose another name" in fault(written(tmp_path, text))


def test_a_step_may_have_the_name_of_what_a_rule_derives_once(tmp_path):
    text = QUERY.replace("held", "mine")
    assert rule(written(tmp_path, text)).reads == {"contains"}


def test_steps_whose_names_are_alike_do_not_clash(tmp_path):
    text = change(QUERY, "  held:", "  by_held: select 1 as a\n  index_of_held: select 1 as a\n  held:")
    assert rule(written(tmp_path, text)).name == "mine"


def reading(name: str, *others: str) -> str:
    joined = " union ".join(f"select x from {other}" for other in others) or "select 1 as x"
    return f"rule: {name}\nform: query\nabout: One.\nderives: {name}_of(x)\nfacts: {joined}\nbecause: x\nreference: ours\nwrong_when: never\n"


def test_rules_come_after_those_they_read(tmp_path):
    texts = {"a": ("b_of", "c_of"), "b": ("d_of",), "c": ("d_of",), "d": (), "e": ()}
    paths = [written(tmp_path, reading(name, *reads), f"{name}.yaml") for name, reads in texts.items()]
    catalogue = Catalogue(paths)
    rules = {name: catalogue.rule(name) for name in texts}
    assert [one.name for one in catalogue.needed_rules(rules["a"])] == ["d", "b", "c"]
    assert catalogue.needed_rules(rules["d"]) == []
    assert [one.name for one in dependency_order(rules.values())] == ["d", "b", "c", "a", "e"]


def test_rules_that_read_each_other_are_named_in_their_circle(tmp_path):
    texts = {"a": ("b_of",), "b": ("c_of",), "c": ("a_of",), "d": ("a_of",)}
    paths = [written(tmp_path, reading(name, *reads), f"{name}.yaml") for name, reads in texts.items()]
    catalogue = Catalogue(paths)
    with pytest.raises(DecloakError) as caught:
        dependency_order([catalogue.rule(name) for name in "dcba"])
    message = caught.value.message
    circle = re.fullmatch(r"rules read each other in a circle: (\w) → (\w) → (\w) → (\w)", message)
    assert circle is not None, message
    assert circle[1] == circle[4]
    assert {circle[n] for n in (1, 2, 3)} == {"a", "b", "c"}
    assert caught.value.place == f"{tmp_path / circle[1]}.yaml:1:7"
    assert "start: and repeat:" in caught.value.hint


def test_hostile_text_in_a_rule_does_not_reach_the_message_as_it_is(tmp_path):
    text = QUERY.replace(
        "held: select txn, count(*) as n from contains group by txn", "held: \"select 1 from '\\e[31m\\n\\u202e'\""
    )
    message = fault(written(tmp_path, text))
    assert message.isprintable()


def test_a_rule_text_is_read_and_checked_once_in_a_process(tmp_path):
    assert Catalogue().rule("gba") is Catalogue().rule("gba")
    path = written(tmp_path, ELIMINATE)
    assert rule(path) is rule(path)
    assert rule(path) is not rule(written(tmp_path, ELIMINATE.replace("1.2", "1.3")))


def test_a_rule_is_checked_anew_beside_other_rules(tmp_path):
    reader = written(tmp_path, reading("reader", "mine_of"), "reader.yaml")
    assert rule(reader, written(tmp_path, reading("mine"))).reads == {"mine_of"}
    assert "no such table: mine_of" in fault(reader)


def test_a_rule_file_that_changes_is_read_anew(tmp_path):
    path, table = written(tmp_path, ELIMINATE), [[0.5, 2.0], [1.5, 0.5]]
    for limit in ("1.2", "9.9"):  # texts of one length, perhaps written within a tick of the clock
        written(tmp_path, ELIMINATE.replace("1.2 * mean(suspicion)", limit))
        assert decloak.eliminate(table, rule=str(path)).threshold == float(limit)


def test_lines_that_end_as_on_windows_are_the_same_rule(tmp_path):
    (tmp_path / "windows").mkdir()
    (tmp_path / "windows" / "mine.yaml").write_bytes(QUERY.replace("\n", "\r\n").encode())
    assert rule(tmp_path / "windows" / "mine.yaml").digest == rule(written(tmp_path, QUERY)).digest
