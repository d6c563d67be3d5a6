"""The scenario language: what a file may say, and how each mistake in it is answered."""

import doctest
import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.data.formats.plain_files import FORMATS
from decloak.data.forms import FormName
from decloak.errors import DecloakError, Faults
from decloak.measure.registry import FAMILIES, families_for
from decloak.rules.load import Catalogue
from decloak.scenario import sections
from decloak.scenario.document import Document, load
from decloak.scenario.model import Scenario, scenario_schema
from decloak.scenario.originals import Original
from decloak.scenario.published import DistancesData, PairData, PublishedData, PublishedFile
from decloak.scenario.sections import Attack

MEASURES = {family.name: tuple(metric.key for metric in family.metrics) for family in FAMILIES}
DISASSOCIATED_MEASURES = families_for(FormName.DISASSOCIATED)

FULL = """\
scenario: How well do sets hide a clinic's records?
data: {file: visits.csv, format: long}
anonymise: {method: sets, size: 4, order: recorded}
relate: {measure: ngd, source: counts, file: counts.csv}
attacker: {context: 2}
attack: [mda, {rule: rba, ratio: 1.2, as: rba12}, rba]
measure: [recovery, {mining: {top: 5}}]
repeat: {times: 2, seed: 1}
expect: ["precision(rba) < 0.9"]
"""
UNMARKED = "data: {published: {file: p.txt, marked: false}}"
MARKED = "data: {published: p.txt}"
TABLES = "data: {distances: d.csv}"


def edited(*lines: str, without: tuple[str, ...] = ()) -> str:
    """FULL with some lines replaced, in their place, or added at the end."""
    parts = {line.partition(":")[0]: line for line in FULL.splitlines()}
    parts |= {line.partition(":")[0]: line for line in lines}
    return "\n".join(line for key, line in parts.items() if key not in without)


def clean(line: str) -> bool:
    """Whether nothing in a line breaks it, or moves what a terminal shows."""
    return not any(unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or one in "\u202e\u2066" for one in line)


def loaded(folder: Path, text: str, *overrides: str) -> Document:
    (folder / "s.yaml").write_text(text, encoding="utf-8")
    return load(folder / "s.yaml", overrides)


def told(folder: Path, text: str, *overrides: str) -> list[str]:
    """The lines of the answer to a faulty scenario, the folder left out."""
    with pytest.raises(DecloakError) as caught:
        loaded(folder, text, *overrides)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


@pytest.mark.parametrize("module", [sections, sys.modules["decloak.scenario.model"]])
def test_the_examples_in_the_docstrings_hold(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def test_a_full_scenario_is_understood(tmp_path: Path) -> None:
    document = loaded(tmp_path, FULL)
    scenario = document.scenario
    assert scenario.data == Original(file="visits.csv", format="long")
    assert [attack.name for attack in scenario.listed] == ["mda", "rba12", "rba"]
    assert [attack.name for attack in scenario.audits] == ["order"]
    assert scenario.attacks == (*scenario.listed, *scenario.audits)
    assert scenario.listed[1].ratio == 1.2
    assert (scenario.families, scenario.settings_of("mining")) == (("recovery", "mining"), {"support": 0.01, "top": 5})
    assert [one.text for one in scenario.expectations] == ["precision(rba) < 0.9"]
    assert document.raw == yaml.safe_load(FULL)
    assert document.file("a/b.csv") == tmp_path / "a" / "b.csv"
    assert document.file("/b.csv") == Path("/b.csv")


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    few = edited(without=("attacker", "measure", "repeat", "expect"))
    scenario = loaded(tmp_path, few).scenario
    assert (scenario.nearest, scenario.attacker.k, scenario.attacker.utility) == (2, 2, None)
    assert (scenario.repeat.times, scenario.repeat.seed, scenario.expect, scenario.vary) == (1, 0, (), {})
    assert scenario.families == ("recovery",)
    assert scenario.relate is not None
    assert (scenario.relate.unseen, scenario.relate.cap) == (1, 1)
    assert (scenario.data.transaction, scenario.data.item) == ("tid", "item")


@pytest.mark.parametrize(
    ("line", "kind", "release"),
    [
        (MARKED, PublishedData, PublishedFile(file="p.txt")),
        (UNMARKED, PublishedData, PublishedFile(file="p.txt", marked=False)),
        ("data: {file: a, format: spmf, published: p.txt}", PairData, PublishedFile(file="p.txt")),
        ("data: {file: a, format: onehot, ids: true, published: {file: p, ids: true}}", PairData,
         PublishedFile(file="p", ids=True)),
    ],
)  # fmt: skip
def test_the_kinds_of_published_data_are_told_by_their_keys(
    tmp_path: Path, line: str, kind: type, release: PublishedFile
) -> None:
    data = loaded(tmp_path, edited(line, without=("anonymise",))).scenario.data
    assert type(data) is kind
    assert data.published_file == release


def test_distance_tables_need_neither_relate_nor_attacker(tmp_path: Path) -> None:
    scenario = loaded(tmp_path, edited(TABLES, without=("anonymise", "relate", "attacker"))).scenario
    assert scenario.data == DistancesData(distances="d.csv")


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("rba", "rba"),
        ("mine/my_rule.yaml", "my_rule"),
        ("other.yml", "other"),
        ("a.b", "a.b"),
        ("../x/rba", "rba"),
        ("/", "/"),
    ],
)
def test_an_attack_is_named_after_its_rule(entry: str, name: str) -> None:
    assert Attack(rule=entry).name == name
    assert Attack.model_validate({"rule": entry, "as": "other"}).name == "other"


def test_the_formats_are_those_that_can_be_read() -> None:
    assert set(get_args(Original.model_fields["format"].annotation)) == set(FORMATS)


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["dta: 3"], "s.yaml:10:1: unknown key 'dta'; did you mean 'data'?"),
        (["scenario: ''"], "s.yaml:1:11: expected text that is not empty, found ''"),
        (["scenario: 3"], "s.yaml:1:11: expected text that is not empty, found 3; put it in quotes"),
        (["data: visits.csv"],
         ("s.yaml:2:7: expected a mapping with file and format, a mapping with file and format and published, "
         "a mapping with published, a mapping with distances, a mapping with release, a mapping with release and "
         "original, a mapping with generate and "
         "transactions, a mapping with text or a mapping with searchlog, found 'visits.csv'; write {file: visits.csv, "
         "format: ...}")),
        (["anonymise: cut"], "s.yaml:3:12: expected a mapping with the key 'method', found 'cut'; write {method: cut}"),
        (["data: {}"],
         ("s.yaml:2:7: expected a mapping with file and format, a mapping with file and format and published, "
         "a mapping with published, a mapping with distances, a mapping with release, a mapping with release and "
         "original, a mapping with generate and "
         "transactions, a mapping with text or a mapping with searchlog, found an empty mapping")),
        (["data: {file: a, format: lng}"],
         ("s.yaml:2:25: expected 'basket', 'long', 'onehot', 'jsonl', 'spmf', 'arrow', "
     "'parquet' or 'xlsx', found 'lng'; did you mean 'long'?")),
        (["data: {fil: a, format: long, file: b}"], "s.yaml:2:8: unknown key 'fil'; did you mean 'file'?"),
        (["data: {format: long, published: p}"], "s.yaml:2:7: missing key 'file'; add it"),
        (["data: {file: a}"], "s.yaml:2:7: missing key 'format'; add it"),
        (["data: {file: '', format: long}"], "s.yaml:2:14: expected text that is not empty, found ''"),
        (["data: {file: a, format: spmf, ids: true}"],
         "s.yaml:2:31: the format spmf has no option 'ids'; delete it"),
        (["data: {file: a, format: basket, item: x}"],
         "s.yaml:2:33: 'item' names a column, and the format basket has none; add header: true, or delete it"),
        (["data: {file: a, format: long, ids: yes}"], "s.yaml:2:36: expected true or false, found 'yes'"),
        (["data: {file: a, format: long, item: tid}"],
         "s.yaml:2:31: 'tid' cannot hold both the record and the item; name two columns"),
        (["data: {file: a, format: basket, separator: ab}"],
         "s.yaml:2:33: 'ab' cannot separate names; use one character, as ',' or ';' or ' ' or a tab"),
        (["anonymise: {method: set}"],
         ("s.yaml:3:21: expected 'sets', 'disassociation', 'cut', 'aa', 'da', 'oa', 'lra', 'vpa', 'partition', "
          "'diversity', 'coat', 'suppression', 'itemsets' or 'synthetic', found 'set'; did you mean 'sets'?")),
        (["anonymise: {method: sets}"],
         "s.yaml:3:12: sets are drawn by 'size' or listed under 'sets'; write one of the two"),
        (["anonymise: {method: sets, size: 2, sets: [[a, b]]}"],
         "s.yaml:3:12: sets are drawn by 'size' or listed under 'sets'; write one of the two"),
        (["anonymise: {method: sets, size: 1}"], "s.yaml:3:33: expected a whole number, at least 2, found 1"),
        (["anonymise: {method: sets, sets: []}"],
         "s.yaml:3:33: expected a list that is not empty, found an empty list"),
        (["anonymise: {method: sets, sets: [[a]]}"],
         "s.yaml:3:34: expected a list of at least 2 entries, found a list of 1 entry"),
        (["anonymise: {method: sets, sets: [[a, b], [c, a]]}"],
         "s.yaml:3:46: 'a' is written twice; an item stands once, in one set"),
        (["anonymise: {method: sets, sets: [[a, 10]]}"],
         "s.yaml:3:38: expected text that is not empty, found 10; put it in quotes"),
        (["relate: {measure: ngd, source: counts, file: c, unseen: true}"],
         "s.yaml:4:57: expected a number, at least 0, 'none', or a mapping with pseudo_count, found true"),
        (["relate: {measure: ngd, source: counts, file: c, unseen: {pseudo_count: 0}}"],
         "s.yaml:4:72: expected a number, above 0, found 0"),
        (["relate: {measure: ngd, source: scores, file: c, unseen: {pseudo_count: 1}}"],
         "s.yaml:4:57: expected a number, at least 0, or 'none', found a mapping"),
        (["relate: {measure: ngd, source: counts, file: c, unseen: 3, cap: 2.5}"],
         "s.yaml:4:49: 3 would be cut to the cap of 2.5; raise the cap, or set it to none"),
        (["relate: {measure: ngd, source: counts, file: c, cap: 0.5}"],
         ("s.yaml:4:9: unseen, which is 1 unless you write it, would be cut to the cap of 0.5; raise the cap, or set "
         "it to none")),
        (["relate: [{measure: ngd, source: count, file: c}]"],
         ("s.yaml:4:33: expected 'counts', 'corpus', 'clinic-counts', 'sample', 'release', 'provider' or 'scores', "
         "found 'count'; did you mean 'counts'?")),
        (["relate: [{measure: ngd, source: counts, file: c}, {measure: ngd, source: counts, file: c, cup: 1}]"],
         "s.yaml:4:91: unknown key 'cup'; did you mean 'cap'?"),
        (["relate: []"], "s.yaml:4:9: expected a list that is not empty, found an empty list"),
        (["attacker: {context: 0}"], "s.yaml:5:21: expected a whole number, at least 1, or 'all', found 0"),
        (["attacker: {context: al}"],
         "s.yaml:5:21: expected a whole number, at least 1, or 'all', found 'al'; did you mean 'all'?"),
        (["attacker: {k: 3}"],
         "s.yaml:5:12: 'k' is about unmarked data only; delete it, or write marked: false under published"),
        (["attack: []"], "s.yaml:6:9: expected 'all' or a list that is not empty, found an empty list"),
        (["attack: rba"], "s.yaml:6:9: expected 'all' or a list that is not empty, found 'rba'; write [rba]"),
        (["attack: [rba, 3]"],
         "s.yaml:6:15: expected text that is not empty or a mapping with rule, found 3; put it in quotes"),
        (["attack: [rba, {rule: rba}]"],
         "s.yaml:6:15: two attacks are named 'rba'; name one of them: {rule: ..., as: another_name}"),
        (["attack: [rba, {rule: gba, ratio: 0}]"], "s.yaml:6:34: expected a number, above 0, found 0"),
        (["attack: [rba, {rule: gba, ratio: 1, threshold: 2}]"],
         "s.yaml:6:27: a ratio scales the threshold that 'threshold' replaces; delete one"),
        (["attack: [rba, {rul: gba, rule: x}]"], "s.yaml:6:16: unknown key 'rul'; did you mean 'rule'?"),
        (["measure: [recover]"],
         ("s.yaml:7:11: expected 'exposure', 'recovery', 'loss', 'cost', 'mining', 'accuracy', 'calibration', "
          "'breakage', 'breach', 'time', 'coverage' or 'utility', "
          "a mapping with exposure, a mapping with loss, a mapping with cost, a mapping with mining, "
          "a mapping with breach, a mapping with coverage, "
          "a mapping with utility, or a mapping with wmd, "
          "found 'recover'; "
          "did you mean 'recovery'?")),
        (["measure: [{mining: {top: 0}}]"], "s.yaml:7:26: expected a whole number, at least 1, found 0"),
        (["measure: [{mining: {support: 2}}]"], "s.yaml:7:30: expected a number, above 0, at most 1, found 2"),
        (["measure: [mining, {mining: {}}]", "expect: []"], "s.yaml:7:19: 'mining' is measured twice; delete one"),
        (["data: {text: notes, headers: ['^x', '(']}"],
         ("s.yaml:2:37: '(' is no regular expression: missing ), unterminated subpattern at position 0; "
         "write . ( ) [ * + ? with a backslash where they stand for themselves")),
        (["repeat: {times: 0}"], "s.yaml:8:17: expected a whole number from 1 to 10000, found 0"),
        (["repeat: {seed: -1}"], "s.yaml:8:16: expected a whole number, at least 0, found -1"),
        (["expect: ['precision(rba)']"],
         "s.yaml:9:10: 'precision(rba)' compares nothing; write such as precision(rba) > 0.8"),
        (["expect: ['f1(rba) > 0', 'precison(rba) > 1']"],
         "s.yaml:9:25: no measure 'precison'; did you mean 'precision'?"),
        (["expect: ['f1(rbb) > 0']"], "s.yaml:9:10: no attack 'rbb'; did you mean 'rba'?"),
        (["vary: {repeat.times: [1]}"],
         "s.yaml:10:8: 'repeat' cannot vary; what may vary: data, anonymise, relate, attacker, attack, measure"),
        (["vary: {anonimise.size: [2]}"], "s.yaml:10:8: 'anonimise' cannot vary; did you mean 'anonymise'?"),
        (["vary: {anonymise.siz: [2, 3]}"], "s.yaml:10:8: unknown key 'siz'; did you mean 'size'?"),
        (["vary: {anonymise.size: []}"], "s.yaml:10:24: expected a list that is not empty, found an empty list"),
        (["vary: {anonymise.size: 3}"], "s.yaml:10:24: expected a list that is not empty, found 3; write [3]"),
        (["vary: {anonymise.size: [2, 1, 3]}"], "s.yaml:10:28: expected a whole number, at least 2, found 1"),
        (["vary: {anonymise.size: [2, 3, 2]}"], "s.yaml:10:31: '2' is written twice; delete one"),
        (["vary: {anonymise: [{method: sets, size: 2}], anonymise.size: [3]}"],
         "s.yaml:10:46: 'anonymise.size' lies inside 'anonymise', which varies too; vary one of them"),
        (["vary: {attack.0.ratio: [1, 2]}"],
         "s.yaml:10:8: 'ratio' cannot be set inside 'mda', which holds no keys; write keys and values at s.yaml:6:10"),
        (["vary: {attack.7: [ra]}"], "s.yaml:10:8: no entry '7' in the list at s.yaml:6:9; count from 0 to 2"),
        (["vary: {data.a.b.c.d.e.f.g.h.i.j: [1]}"], "s.yaml:10:8: no key is 11 levels deep; join at most 10 by dots"),
        (["vary: {attacker.context: [1, '2']}"],
         "s.yaml:10:30: expected a whole number, at least 1, or 'all', found '2'; write it without quotes"),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_in_one_line(tmp_path: Path, lines: list[str], answer: str) -> None:
    assert told(tmp_path, edited(*lines)) == [answer]


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("- 1", ["s.yaml:1:1: expected a mapping with scenario and data, found a list of 1 entry"]),
        (edited(without=("relate", "anonymise")), [
            "s.yaml:1:1: missing key 'anonymise'; add it, or name the published file under data",
        ]),
        (edited(MARKED), ["s.yaml:3:1: nothing is left to anonymise in these data; delete it"]),
        (edited(TABLES, without=("anonymise",)), [
            "s.yaml:3:1: 'relate' does not apply to distance tables; delete it",
            "s.yaml:4:1: distance tables leave the attacker nothing to choose; delete it",
        ]),
        (edited(MARKED, "attacker: {k: 3, utility: [[a]]}", without=("anonymise",)), [
            "s.yaml:4:12: 'k' is about unmarked data only; delete it, or write marked: false under published",
            "s.yaml:4:18: 'utility' is about unmarked data only; delete it, or write marked: false under published",
        ]),
        (edited("data: {publishd: a}"), [
            "s.yaml:2:8: unknown key 'publishd'; did you mean 'published'?",
        ]),
        (edited("vary: {anonymise.size: [1, 0]}", "attack: [3]", "repeat: {times: x}"), [
            "s.yaml:6:10: expected text that is not empty or a mapping with rule, found 3; put it in quotes",
            "s.yaml:8:17: expected a whole number from 1 to 10000, found 'x'",
        ]),
        (edited("vary: {anonymise.size: [1, 0]}", "attack: [3]"), [
            "s.yaml:6:10: expected text that is not empty or a mapping with rule, found 3; put it in quotes",
            "s.yaml:10:25: expected a whole number, at least 2, found 1",
            "s.yaml:10:28: expected a whole number, at least 2, found 0",
        ]),
    ],
)  # fmt: skip
def test_all_mistakes_are_answered_in_the_order_of_the_file(tmp_path: Path, text: str, answers: list[str]) -> None:
    assert told(tmp_path, text) == answers


def test_what_is_known_of_unmarked_data_may_be_said(tmp_path: Path) -> None:
    text = edited(UNMARKED, "attacker: {k: 3, utility: [[a, b], [c]]}", without=("anonymise",))
    assert loaded(tmp_path, text).scenario.attacker.utility == (("a", "b"), ("c",))


def test_a_mistake_that_only_one_combination_makes_is_found(tmp_path: Path) -> None:
    text = edited(
        "relate: {measure: ngd, source: counts, file: c}", "vary: {relate.unseen: [1, 2], relate.cap: [2, 1.5]}"
    )
    (answer,) = told(tmp_path, text)
    assert answer == (
        "s.yaml:10:8: 2 would be cut to the cap of 1.5 in the variant relate.unseen=2, relate.cap=1.5; "
        "raise the cap, or set it to none"
    )


@pytest.mark.parametrize(
    ("lines", "answers"),
    [
        (["anonymise: {m: 2, order: recorded, hierarchy: {by: names}}",
          "vary: {anonymise.method: [cut, partition], anonymise.k: [2]}"],
         [("s.yaml:3:13: unknown key 'm' in the variant anonymise.method=partition; "
           "known here: method, order, k, hierarchy")]),
        (["anonymise: {m: 2, hierarchy: {by: names}}", "attacker: {}",
          "vary: {anonymise.k: [2, 3], anonymise.method: [aa, diversity]}"],
         ["s.yaml:3:12: missing key 'l' in the variant anonymise.method=diversity; add it",
          "s.yaml:3:12: missing key 'sensitive' in the variant anonymise.method=diversity; add it",
          ("s.yaml:10:8: unknown key 'k' in the variant anonymise.method=diversity; "
           "known here: method, order, l, m, sensitive, hierarchy")]),
        (["anonymise: {method: aa, k: 2, hierarchy: {by: names}}", "attacker: {}",
          "vary: {anonymise.m: [1, 2], anonymise.hierarchy: [{by: names}, {by: size}]}"],
         [("s.yaml:10:69: expected 'names', 'file', 'popularity', 'random', 'cooccurrence' or 'relatedness', "
           "found 'size'")]),
        (["vary: {attack: [[mda, rba], [mda, rbaa]]}"], ["s.yaml:10:35: no rule named 'rbaa'; did you mean 'rba'?"]),
    ],
)  # fmt: skip
def test_a_mistake_that_only_some_variants_make_says_in_which(
    tmp_path: Path, lines: list[str], answers: list[str]
) -> None:
    assert told(tmp_path, edited(*lines)) == answers


def test_a_slip_in_vary_is_not_answered_with_what_only_vary_says(tmp_path: Path) -> None:
    text = edited("vary: {attack: [[mda], [mda]], data: [{file: a, format: long}]}", without=("attack", "data"))
    assert told(tmp_path, text) == ["s.yaml:8:24: '[mda]' is written twice; delete one"]
    assert told(tmp_path, edited("repeat: {times: 0}", without=("data",))) == [
        "s.yaml:1:1: missing key 'data'; add it",
        "s.yaml:7:17: expected a whole number from 1 to 10000, found 0",
    ]


def test_a_variant_is_named_in_characters_that_break_no_line(tmp_path: Path) -> None:
    text = edited("anonymise: {m: 2}", r'vary: {"anonymise.\e[31m": ["\e\n", "x"], anonymise.method: [cut, vpa]}')
    assert all(clean(line) for line in told(tmp_path, text))


@pytest.mark.parametrize("first", ["attack", "expect"])
def test_a_rule_that_there_is_not_is_told_and_not_what_follows_from_it(tmp_path: Path, first: str) -> None:
    lines = {
        "attack": "attack: [mda, tba, wba, gba, rbb]",
        "expect": "expect: ['precision(rba) > baseline(rba)', 'recall(rba) > recall(mda)']",
    }
    last = "expect" if first == "attack" else "attack"
    text = "\n".join([edited(without=("attack", "expect")), lines[first], lines[last]])
    (fault,) = told(tmp_path, text)
    assert fault.endswith(": no rule named 'rbb'; did you mean 'rba'?")
    assert told(tmp_path, edited("attack: [mda, foo]")) == [
        f"s.yaml:6:15: no rule named 'foo'; rules are {', '.join(Catalogue().names)}; for your own rule give its path"
    ]


def test_what_several_expectations_get_wrong_is_told_once(tmp_path: Path) -> None:
    lines = ("expect: ['f1(rbb) > 0', 'recall(rbb) > 0', 'ncp(rba) > 0', 'ncp(mda) < 3']", "measure: [recovery]")
    assert told(tmp_path, edited(*lines)) == [
        "s.yaml:9:10: no attack 'rbb'; did you mean 'rba'?",
        "s.yaml:9:44: the expectation needs 'ncp', which this run does not measure; add loss under measure",
    ]


def test_a_figure_that_stands_alone_is_answered_with_an_attack_of_the_scenario(tmp_path: Path) -> None:
    for lines, answers in (
        (["attack: [km_violation]", "measure: [loss]"], ["'ncp' needs an attack; write ncp(km_violation)"]),
        (["attack: [mda, rba]", "measure: [recovery]"],
         ["'ncp' needs an attack; write ncp(mda), or with another attack: rba",
          "the expectation needs 'ncp', which this run does not measure; add loss under measure"]),
    ):  # fmt: skip
        assert told(tmp_path, edited(*lines, "expect: ['ncp < 0.3']")) == [f"s.yaml:9:10: {one}" for one in answers]
    mended = edited("attack: [km_violation]", "measure: [loss]", "expect: ['ncp(km_violation) < 0.3']")
    assert loaded(tmp_path, mended).scenario.expectations


ALWAYS = ("findings", "identifiers", "exposure", "guarantee", "coverage")
"""Families that no scenario needs to list."""


@pytest.mark.parametrize("figure", sorted({name for names in MEASURES.values() for name in names}))
def test_a_figure_in_place_of_a_family_is_answered_with_the_families_that_measure_it(
    tmp_path: Path, figure: str
) -> None:
    families = [family for family, names in MEASURES.items() if figure in names]
    if figure in ("accuracy", "breach"):  # families of that name as well
        assert (
            "does not apply to set-generalised data" in told(tmp_path, edited(f"measure: [{figure}]", "expect: []"))[0]
        )
        return
    (fault,) = told(tmp_path, edited(f"measure: ['{figure}']"))
    always = (name for family in ALWAYS for name in MEASURES[family])
    remedies = dict.fromkeys(always, "leave it out, it is measured always")
    remedies["wmd"] = "write {wmd: {vectors: FILE}}"
    measure = "measures" if len(families) == 1 else "measure"
    assert fault.endswith("; " + remedies.get(figure, f"write {' or '.join(families)}, which {measure} {figure}"))


def test_a_label_that_is_no_plain_word_cannot_be_named_in_an_expectation(tmp_path: Path) -> None:
    attack = "attack: [{rule: rba, as: my-rba}, mine/my-rule.yaml, gba]"
    assert "needs one: {rule: ..., as: word}" in told(tmp_path, edited(attack, "expect: ['f1(my-rba) > 0']"))[0]
    assert told(tmp_path, edited(attack, "expect: ['f1(my_rule) > 0']")) == [
        "s.yaml:9:10: no attack 'my_rule'; known here: gba; name others by {rule: ..., as: word}"
    ]


DISASSOCIATED = """\
scenario: x
data: {release: r.jsonl}
attack: [aba, cover]
measure: [accuracy, calibration, breakage, breach, time, utility, {wmd: {vectors: v.csv}}]
"""


@pytest.mark.parametrize(
    ("family", "measure"), [(family, name) for family, names in MEASURES.items() for name in names]
)
def test_every_measure_may_be_expected(tmp_path: Path, family: str, measure: str) -> None:
    if family in DISASSOCIATED_MEASURES:
        assert (
            loaded(tmp_path, DISASSOCIATED + f"expect: ['{measure}(aba) >= 0']\n").scenario.form.name == "disassociated"
        )
    elif family in ALWAYS:
        assert loaded(tmp_path, edited(f"expect: ['{measure}(rba) >= 0']")).scenario.expect
    else:
        assert loaded(tmp_path, edited(f"measure: [{family}]", f"expect: ['{measure}(rba) >= 0']")).scenario.expect


@pytest.mark.parametrize("family", ["recovery", "mining"])
def test_what_is_not_measured_cannot_be_expected(tmp_path: Path, family: str) -> None:
    other = {"recovery": "mining", "mining": "recovery"}[family]
    for measure in MEASURES[family]:
        needs = f"the expectation needs '{measure}', which this run does not measure"
        assert told(
            tmp_path, edited(f"measure: [{other}]", f"expect: ['findings(mda) > 0 or {measure}(rba) > 0']")
        ) == [f"s.yaml:9:10: {needs}; add {family} under measure"]


def test_of_the_families_that_have_a_figure_the_one_that_fits_the_data_is_named(tmp_path: Path) -> None:
    for text, family in (
        (edited("measure: [mining]", "expect: ['recall(rba) > 0']"), "recovery"),
        (DISASSOCIATED.replace("accuracy, ", "") + "expect: ['recall(aba) > 0']", "accuracy"),
    ):
        (fault,) = told(tmp_path, text)
        assert fault.endswith(f"needs 'recall', which this run does not measure; add {family} under measure")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("attacker: {context: 2}", "the anchors are the context in disassociated data; delete it"),
        ("attacker: {share: 0.3}", "'share' is for the moderate attacker; write model: moderate"),
        ("attacker: {model: weak}", "the weak attacker needs words that are not in the data; write `foreign: FILE`"),
        ("attacker: {model: strong, knowledge: k.txt}", "the known itemsets replace a model; delete one of the two"),
        ("anonymise: {method: sets, size: 2}", "nothing is left to anonymise in these data; delete it"),
    ],
)
def test_what_says_nothing_of_disassociated_data_is_refused(tmp_path: Path, line: str, answer: str) -> None:
    (fault,) = told(tmp_path, DISASSOCIATED + line + "\n")
    assert answer in fault


def test_an_attacker_model_is_about_disassociated_data(tmp_path: Path) -> None:
    (fault,) = told(tmp_path, edited("attacker: {model: strong}"))
    assert "'model' is about disassociated data only; delete it" in fault


def test_set_replaces_adds_and_reaches_into_lists(tmp_path: Path) -> None:
    overrides = ("anonymise.size=3", "attack.1.ratio=0.5", "relate.unseen={pseudo_count: 0.5}", "repeat.seed=7",
                 "vary.attacker.context=[1, all]", "measure=[mining, recovery]",
                 "data.item= what is = here ")  # fmt: skip
    document = loaded(tmp_path, FULL, *overrides)
    assert document.raw == {
        **yaml.safe_load(FULL),
        "data": {"file": "visits.csv", "format": "long", "item": "what is = here"},
        "anonymise": {"method": "sets", "size": 3, "order": "recorded"},
        "relate": {"measure": "ngd", "source": "counts", "file": "counts.csv", "unseen": {"pseudo_count": 0.5}},
        "attack": ["mda", {"rule": "rba", "ratio": 0.5, "as": "rba12"}, "rba"],
        "measure": ["mining", "recovery"],
        "repeat": {"times": 2, "seed": 7},
        "vary": {"attacker.context": [1, "all"]},
    }
    assert [case.settings for case in document.cases] == [{"attacker.context": 1}, {"attacker.context": "all"}]


@pytest.mark.parametrize(
    ("override", "answer"),
    [
        ("anonymise.siz=3", "unknown key 'siz'; did you mean 'size'?"),
        ("anonimise.size=3", "unknown key 'anonimise'; did you mean 'anonymise'?"),
        ("anonymise.size=x", "expected a whole number, at least 2, found 'x'"),
        ("anonymise.size='3'", "expected a whole number, at least 2, found '3'; write it without quotes"),
        ("attack.1.ratio=0", "expected a number, above 0, found 0"),
        ("attack.3=rba", "no entry '3' in the list at s.yaml:6:9; count from 0 to 2"),
        ("attack.00=rba", "no entry '00' in the list at s.yaml:6:9; count from 0 to 2"),
        ("attack.0.ratio=2",
         "'ratio' cannot be set inside 'mda', which holds no keys; write keys and values at s.yaml:6:10"),
        ("attack", "expected key=value; write such as anonymise.size=4"),
        ("attack=", "expected key=value; write such as anonymise.size=4"),
        ("=3", "expected key=value; write such as anonymise.size=4"),
        ("a..b=3", "expected key=value; write such as anonymise.size=4"),
        ("", "expected key=value; write such as anonymise.size=4"),
        ("a.b.c.d.e.f.g.h.i.j.k=1", "no key is 11 levels deep; join at most 10 by dots"),
        ("attack=[rba",
         "cannot read the YAML: did not find expected ',' or ']'; check indentation, brackets and quotes"),
        ("attack=*x", "no anchor 'x' before this alias; write & and the name there"),
        ("attack=!!python/x 1", "the tag '!!python/x' is not allowed; delete it"),
        ("attack=#", "the file is empty; write keys and values; `decloak init` writes an example"),
        ("vary=3", "expected a mapping, found 3"),
        ("vary.anonymise.size=[2, 2]", "'2' is written twice; delete one"),
    ],
)  # fmt: skip
def test_a_faulty_set_is_answered_by_its_own_name(tmp_path: Path, override: str, answer: str) -> None:
    assert told(tmp_path, FULL, override) == [f"--set {override}: {answer}"]


@pytest.mark.parametrize("override", ["anonymise.size=3", "anonymise={method: sets, size: 3}", "anonymise.size.x=3"])
def test_a_set_that_vary_would_undo_is_refused(tmp_path: Path, override: str) -> None:
    text = edited("vary: {anonymise.size: [2, 4]}", "anonymise: {method: sets}", "attacker: {}")
    answer = f"--set {override}: 'anonymise.size' varies, so this has no effect; set vary.anonymise.size=[...]"
    assert told(tmp_path, text, override) == [answer]
    assert loaded(tmp_path, text, "vary.anonymise.size=[3]").scenario.anonymise.size == 3
    assert loaded(tmp_path, text, "vary={}", "anonymise.size=5").scenario.anonymise.size == 5


def test_a_set_may_replace_the_section_of_a_key_that_varies(tmp_path: Path) -> None:
    text = edited("vary: {data.density: [0.4, 0.5]}", "attacker: {}")
    cases = loaded(tmp_path, text, "data={generate: clinic, transactions: 900, sample: 70}").cases
    assert [(case.scenario.data.sample, case.scenario.data.density) for case in cases] == [(70, 0.4), (70, 0.5)]


def test_hostile_text_never_reaches_a_message_as_it_is(tmp_path: Path) -> None:
    for text in (
        edited(r'"\e[31m\n": 3'),
        edited(r'attack: [{rule: "a\nb", as: "\e"}, "a\nb", "x/a\nb.yaml"]', "expect: ['f(b) > 1']"),
    ):
        for line in told(
            tmp_path,
            text,
        ):
            assert clean(line)
    assert all(clean(line) for line in told(tmp_path, FULL, "a\x1b\n.b=\u202e"))


@pytest.mark.parametrize(
    "path", ["no/such.yaml", ".", "a\0b"],
)  # fmt: skip
def test_a_scenario_that_is_no_file_is_an_error(path: str) -> None:
    with pytest.raises(DecloakError):
        load(path)


NAMES = st.sampled_from(["a.csv", "x/y.csv", "ä.txt"])
ITEMS = st.lists(
    st.sampled_from(["a", "b", "c", "10", "no", ""]).map(lambda item: item or " x"), min_size=2, max_size=3, unique=True
)


def part(required: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional or {})


RELEASES = NAMES | part({"file": NAMES}, {"ids": st.booleans(), "marked": st.booleans()})
FILES = st.one_of(
    part({"file": NAMES, "format": st.just("basket")}, {"ids": st.booleans(), "separator": st.sampled_from(";\t|")}),
    part({"file": NAMES, "format": st.just("long")}, {"transaction": st.just("who"), "item": st.just("what")}),
    part({"file": NAMES, "format": st.sampled_from(["jsonl", "onehot"])}, {"ids": st.booleans()}),
    part({"file": NAMES, "format": st.just("spmf")}),
)
SETS = {"method": st.just("sets"), "order": st.just("recorded")}
METHODS = part({**SETS, "size": st.integers(2, 9)}) | part({**SETS, "sets": ITEMS.map(lambda items: [items])})
RELATE = part(
    {"measure": st.just("ngd"), "source": st.just("counts"), "file": NAMES},
    {
        "unseen": st.sampled_from([1, 0.5, "none", {"pseudo_count": 0.25}]),
        "cap": st.sampled_from([1, 2.5, "none"]),
    },
)
CONTEXT = st.integers(1, 9) | st.just("all")
ATTACKS = st.lists(
    st.sampled_from(
        ["mda", "gba", "x/mine.yaml", {"rule": "rba", "ratio": 1.5, "as": "r"},
         {"rule": "tba", "threshold": -1}, {"rule": "ra"}]
    ),
    min_size=1, unique_by=json.dumps,
)  # fmt: skip
REST = {
    "measure": st.sampled_from([["recovery"], ["mining"], ["recovery", {"mining": {"top": 3}}], [{"mining": {}}]]),
    "repeat": part({}, {"times": st.integers(1, 3), "seed": st.integers(0, 9)}),
}
SCHEMA = scenario_schema()
TITLES = st.sampled_from(["What?", "no", "1e3", "a: b #c", "ä\n\tb"])
PAIRS = st.builds(lambda file, release: {**file, "published": release}, FILES, RELEASES)
ATTACKER = {"attacker": part({}, {"context": CONTEXT})}
COMMON = {"scenario": TITLES, "attack": ATTACKS}
SCENARIOS = st.one_of(
    part({**COMMON, "data": FILES, "anonymise": METHODS, "relate": RELATE}, {**ATTACKER, **REST}),
    part({**COMMON, "data": part({"published": RELEASES}), "relate": RELATE}, {**ATTACKER, **REST}),
    part({**COMMON, "data": PAIRS, "relate": RELATE}, {**ATTACKER, **REST}),
    part({**COMMON, "data": part({"distances": NAMES})}, REST),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scenarios") / "s.yaml"


def written(path: Path, config: object) -> Path:
    path.write_text(json.dumps(config, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def accepted(load_it: Callable[[], object]) -> bool:
    """Whether it loads; every mistake must be a DecloakError, one clean line with its place."""
    try:
        load_it()
    except DecloakError as error:
        for fault in error.faults if isinstance(error, Faults) else [error]:
            assert fault.place
            assert clean(str(fault))
        return False
    return True


@settings(max_examples=120)
@given(config=SCENARIOS)
def test_a_valid_scenario_comes_back_as_it_was_written(config: dict[str, Any], place: Path) -> None:
    document = load(written(place, config))
    assert document.raw == config
    dumped = document.scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert dumped == config
    assert Scenario.model_validate_json(json.dumps(dumped)) == document.scenario
    assert fits(config, SCHEMA, SCHEMA)


JUNK = st.sampled_from(
    [None, True, 3, -1, 0.5, 1e300, "", "x", "3", "rba", [], {}, [[]], [None], {"file": 3}, {"x": {"y": []}}]
)
MUTATIONS = st.sampled_from(["drop", "rename", "add", "junk", "wrap"])


def paths(config: Any, loc: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = config.items() if isinstance(config, dict) else enumerate(config) if isinstance(config, list) else ()
    return [loc, *(path for key, one in inner for path in paths(one, (*loc, key)))]


def mutated(config: Any, loc: tuple[Any, ...], kind: str, junk: Any) -> Any:
    """A copy of the scenario that is changed at one place."""
    copy = json.loads(json.dumps(config))
    if not loc:
        return junk
    parent = copy
    for key in loc[:-1]:
        parent = parent[key]
    value = parent[loc[-1]]
    if kind == "drop" or (kind in ("rename", "add") and isinstance(parent, list)):
        del parent[loc[-1]]
    elif kind == "rename":
        parent[f"{loc[-1]}s"] = parent.pop(loc[-1])
    elif kind == "add":
        parent["extra"] = junk
    else:
        parent[loc[-1]] = junk if kind == "junk" else [value]
    return copy


@settings(max_examples=400)
@given(config=SCENARIOS, data=st.data(), kind=MUTATIONS, junk=JUNK)
def test_one_changed_key_is_answered_never_with_a_traceback(
    config: dict[str, Any], data: st.DataObject, kind: str, junk: Any, place: Path
) -> None:
    changed = mutated(config, data.draw(st.sampled_from(paths(config))), kind, junk)
    is_loaded = accepted(lambda: load(written(place, changed)))
    assert fits(changed, SCHEMA, SCHEMA) or not is_loaded


@settings(max_examples=200)
@given(data=st.binary(max_size=80))
def test_random_bytes_are_answered(data: bytes, place: Path) -> None:
    place.write_bytes(data)
    accepted(lambda: load(place))


@settings(max_examples=200)
@given(
    at=st.integers(0, len(FULL) - 1), text=st.text("[]{}:,&*!-?|>'\"%@ \n\ta1.e#<~", max_size=3), gone=st.integers(0, 3)
)
def test_a_scenario_with_a_slip_of_the_pen_is_answered(at: int, text: str, gone: int, place: Path) -> None:
    place.write_text(FULL[:at] + text + FULL[at + gone :], encoding="utf-8")
    accepted(lambda: load(place))


@settings(max_examples=200)
@given(override=st.text(max_size=20) | st.text("anonymise.size=attack0123{}[],:", max_size=30))
def test_any_set_is_answered(override: str, place: Path) -> None:
    place.write_text(FULL, encoding="utf-8")
    accepted(lambda: load(place, [override]))


KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "object": (dict,), "array": (list,), "null": (type(None),),
    "integer": (int,), "number": (int, float),
}  # fmt: skip


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """JSON Schema, read naively: only the keywords that the scenario's schema uses."""
    if "$ref" in schema:
        return fits(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    for keyword, some in {"anyOf": any, "oneOf": lambda found: sum(found) == 1}.items():
        if keyword in schema and not some([fits(value, one, root) for one in schema[keyword]]):
            return False
    kind = KINDS.get(schema.get("type", ""), (object,))
    if not isinstance(value, kind) or (isinstance(value, bool) and bool not in kind and object not in kind):
        return False
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        return False
    if isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        inner = {key: known.get(key, {} if rest is True else rest) for key in value}
        return set(schema.get("required", ())) <= set(value) and all(
            one is not False and fits(value[key], one, root) for key, one in inner.items()
        )
    if isinstance(value, list):
        least = schema.get("minItems", 0)
        return len(value) >= least and all(fits(one, schema.get("items", {}), root) for one in value)
    if isinstance(value, str):
        return schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 1_000_000)
    if isinstance(value, int | float) and not isinstance(value, bool):
        bounds = schema.get("minimum", value) <= value <= schema.get("maximum", value)
        return bounds and value > schema.get("exclusiveMinimum", value - 1 if abs(value) < 1e9 else 0)
    return True


def test_every_part_of_the_schema_is_closed_and_describes_itself() -> None:
    schema = scenario_schema()
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert schema["title"] == "decloak scenario"
    for name, one in {"Scenario": schema, **schema["$defs"]}.items():
        assert one["additionalProperties"] is False, name
        assert one["description"], name
        for key, value in one["properties"].items():
            assert value["description"].endswith("."), (name, key)


@pytest.mark.slow
def test_the_schema_is_the_same_in_every_process() -> None:
    program = "import json, decloak.scenario.model; print(json.dumps(decloak.scenario.model.scenario_schema()))"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, env=environment, text=True
    )
    assert printed.stdout == json.dumps(scenario_schema()) + "\n"
