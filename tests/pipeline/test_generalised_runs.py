"""Generalised releases in runs: every method, what the store holds of them, what is published, what is refused."""

import json
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import decloak
from decloak.anonymisers import coat as anonymising
from decloak.anonymisers import diversity, hierarchies, registry
from decloak.anonymisers.hierarchies import generalise_by
from decloak.anonymisers.kernels import optimal
from decloak.anonymisers.kernels.building import GROUPINGS
from decloak.anonymisers.kernels.coat import coat
from decloak.anonymisers.kernels.raised_cut import Walked
from decloak.anonymisers.registry import ONE_CUT
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.store.opening import connect_readonly

ROWS = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
TREE = "child,parent\na1,A\na2,A\nb1,B\nb2,B\nA,ALL\nB,ALL\n"
WIDE = ", ".join(f"i{number}" for number in range(61))
PUBLISHED = [("A", "b1", "b2"), ("A", "b1"), ("A", "b1", "b2"), ("A", "b2")]
HIERARCHY = "hierarchy: {file: tree.csv, format: parents}"
METHODS = {
    "cut": f"method: cut, k: 2, m: 2, {HIERARCHY}",
    "refined": f"method: cut, k: 2, m: 2, refine: true, {HIERARCHY}",
    "aa": f"method: aa, k: 2, m: 2, {HIERARCHY}",
    "da": f"method: da, k: 2, m: 2, {HIERARCHY}",
    "oa": f"method: oa, k: 2, m: 2, {HIERARCHY}",
    "vpa": f"method: vpa, k: 2, m: 2, parts: 2, level: 1, {HIERARCHY}",
    "lra": f"method: lra, k: 2, m: 2, parts: 1, flexibility: 0, {HIERARCHY}",
}
OTHERS = {
    "partition": f"method: partition, k: 2, {HIERARCHY}",
    "names": "method: cut, k: 2, m: 2, hierarchy: {by: names, fanout: 2}",
    "random": "method: cut, k: 2, m: 2, hierarchy: {by: random, fanout: 2}",
    "cooccurrence": "method: cut, k: 2, m: 2, hierarchy: {by: cooccurrence, fanout: 2}",
    "relatedness": "method: cut, k: 2, m: 2, hierarchy: {by: relatedness, fanout: 2, "
    "relate: {measure: ngd, source: release}}",
    "coat": "method: coat, k: 2, privacy: [[a1, b1]], utility: [[a1, a2], [b1, b2]]",
    "coat, drawn": "method: coat, k: 2, privacy: {share: 0.5}",
    "coat, sets": "method: coat, k: 2, privacy: {count: 1, sizes: [2]}",
    "coat, related": "method: coat, k: 2, privacy: [[a1, b1]], utility: {relate: {measure: ngd, source: release}}",
    "coat, hard": "method: coat, k: 2, privacy: [[a1, b1]], partner: hard, relate: {measure: ngd, source: release}, "
    "population: rows.txt, slack: 2.0",
    "coat, even": "method: coat, k: 2, privacy: [[a1, b1]], partner: even",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text("".join(", ".join(row) + "\n" for row in ROWS))
    (tmp_path / "tree.csv").write_text(TREE)
    return tmp_path


def written(folder: Path, anonymise: str, more: str = "", data: str = "{file: rows.txt, format: basket}") -> Path:
    attack = "" if "attack:" in more else "attack: [{rule: km_violation, k: 2, m: 2}]\n"
    text = f"scenario: s\ndata: {data}\nanonymise: {{{anonymise}}}\n{attack}{more}\n"
    (folder / "s.yaml").write_text(text)
    return folder / "s.yaml"


def rows(folder: Path, sql: str) -> list[tuple]:
    with closing(connect_readonly(folder / "store.db")) as connection:
        return connection.execute(sql).fetchall()


def test_the_optimum_is_looked_for_where_the_scenario_names_it_alone(folder, monkeypatch):
    looked = []
    monkeypatch.setattr(optimal, "optimum", lambda *arguments: looked.append(arguments))
    run = decloak.run(written(folder, METHODS["cut"], "measure: [loss]"), store="store.db")
    assert "ncp" in {one.measure for one in run.measures}
    assert not looked
    decloak.run(written(folder, METHODS["cut"], "measure: [{loss: {optimum: true}}]"), store="store.db")
    assert len(looked) == 1


@pytest.mark.parametrize("method", METHODS)
def test_every_method_publishes_figure_1_of_the_paper(folder, call, method):
    run = decloak.run(written(folder, METHODS[method], "measure: [{loss: {optimum: true}}]"), store="store.db")
    found = {one.measure: one.value for one in run.measures}
    assert found["findings"] == 0
    assert ("optimum" in found) is (method in {*ONE_CUT, "refined"})
    assert found["ncp"] == pytest.approx(5 / 22)
    assert found["labels"] == 3
    assert found.get("optimum", 5 / 22) == pytest.approx(5 / 22)
    assert call("publish", "last", "release.jsonl", "--cut", "cut.csv").code == 0
    release = decloak.read_release("release.jsonl")
    assert release.transactions == tuple(sorted(PUBLISHED))
    assert release.cut == ("A", "b1", "b2")
    assert (release.k, release.m) == (2, 2)
    assert (folder / "cut.csv").read_text() == "label,item\nA,a1\nA,a2\nb1,b1\nb2,b2\n"
    assert call("check", "release.jsonl").code == 0


@pytest.mark.parametrize("method", OTHERS)
def test_every_other_way_runs_once_and_is_there_the_second_time(folder, method):
    scenario = written(folder, OTHERS[method], "measure: [loss, cost, mining]")
    first = decloak.run(scenario, store="store.db")
    assert first.variants[0].fresh
    assert not decloak.run(scenario, store="store.db").variants[0].fresh
    assert {one.measure for one in first.measures} >= {"findings", "ncp", "labels", "support_error", "cpu_seconds"}


def test_the_store_has_the_hierarchy_and_the_labels_as_a_graph(folder):
    decloak.run(written(folder, METHODS["cut"]), store="store.db")
    below = rows(
        folder,
        "select c.label, p.label from is_a e join concept c on c.id = e.child join concept p on p.id = e.parent",
    )
    assert sorted(below) == [("A", "ALL"), ("B", "ALL"), ("a1", "A"), ("a2", "A"), ("b1", "B"), ("b2", "B")]
    shown = rows(
        folder,
        "select t.label, c.label from edge e join txn t on t.id = e.source_id join edge s on s.source_kind = "
        "e.target_kind and s.source_id = e.target_id and s.kind = 'stands_for' join concept c on c.id = s.target_id "
        "where e.kind = 'published_as' order by 1",
    )
    assert shown == [("1", "A"), ("2", "A"), ("3", "A"), ("4", "A")]
    assert rows(folder, "select label from generalised") == [("A",)]


def test_a_release_of_labels_can_be_attacked_by_somebody_who_only_has_the_file(folder, call):
    decloak.run(written(folder, METHODS["cut"] + ", order: recorded"), store="store.db")
    assert call("publish", "last", "release.jsonl").code == 0
    (folder / "t.yaml").write_text(
        "scenario: t\ndata: {file: rows.txt, format: basket, published: release.jsonl}\n"
        "relate: {measure: ngd, source: release}\nattacker: {context: all}\n"
        "attack: [rba, {rule: km_violation, k: 2, m: 2}]\nmeasure: [recovery, loss]\n"
    )
    run = decloak.run("t.yaml", store="other.db")
    found = {(one.attack, one.measure): one.value for one in run.measures}
    assert found["km_violation", "findings"] == 0
    assert found["rba", "ncp"] == pytest.approx(5 / 22)
    assert found["rba", "added"] == 3  # a1 or a2 was not meant in three of the four transactions


def test_a_violation_is_found_and_explained(folder, call):
    (folder / "release.txt").write_text("a, (b, c)\na\n(b, c)\n")
    (folder / "t.yaml").write_text(
        "scenario: t\ndata: {published: release.txt}\nattack: [{rule: km_violation, k: 2, m: 2}]\n"
    )
    run = decloak.run("t.yaml", store="store.db")
    assert [one.value for one in run.measures if one.measure == "findings"] == [1]
    told = "(b, c), a has support 1: an attacker who knows these items has fewer than k candidates"
    assert told in call("explain", "last").out


COUNTS = "rule: km_violation"
UNBOUND = {
    "coat": (OTHERS["coat"], "km_violation", f"needs m; write {{{COUNTS}, k: 2, m: 2}}"),
    "coat of another k": (OTHERS["coat"].replace("k: 2", "k: 4"), "km_violation",
                          f"needs m; write {{{COUNTS}, k: 4, m: 2}}"),
    "partition": (OTHERS["partition"], f"{{{COUNTS}, as: mine}}", f"needs m; write {{{COUNTS}, as: mine, k: 2, m: 2}}"),
    "a k of its own": (OTHERS["partition"], f"{{{COUNTS}, k: 7}}", f"needs m; write {{{COUNTS}, k: 7, m: 2}}"),
    "diversity": (f"method: diversity, l: 2, m: 1, sensitive: [b2], {HIERARCHY}", "km_violation",
                  f"needs k; write {{{COUNTS}, k: 3, m: 1}}"),
    "sets": ("method: sets, size: 2", "km_violation", f"needs k and m; write {{{COUNTS}, k: 3, m: 2}}"),
    "a rule that reads it": ("method: sets, size: 2", "reader.yaml",
                             f"needs k and m; add {{{COUNTS}, k: 3, m: 2}} to the attacks"),
}  # fmt: skip
READER = """\
rule: reader
form: query
about: The sets of two labels.
derives: reader(itemset)
facts: select itemset from km_violation where size = 2
because: "{itemset} is rare"
reference: ours
wrong_when: never
"""


@pytest.mark.parametrize("command", ["validate", "run"])
@pytest.mark.parametrize("case", UNBOUND)
def test_a_rule_that_is_not_told_its_k_or_m_is_answered_at_its_place(folder, call, case, command):
    method, attack, expected = UNBOUND[case]
    (folder / "reader.yaml").write_text(READER)
    said = call(command, written(folder, method, f"attack: [{attack}]"))
    assert (said.code, said.out) == (2, "")
    assert said.err == f"decloak: {folder}/s.yaml:4:10: the rule km_violation {expected}\n"
    assert not (folder / "store.db").exists()


@pytest.mark.parametrize("case", ["partition", "sets"])
def test_a_rule_that_is_told_its_k_and_m_as_the_answer_says_runs(folder, call, case):
    method, _, expected = UNBOUND[case]
    assert call("run", written(folder, method, f"attack: [{expected.partition('write ')[2]}]")).code == 0


def test_a_rule_goes_by_the_k_and_m_of_the_method_also_when_another_reads_what_it_finds(folder):
    (folder / "reader.yaml").write_text(READER)
    run = decloak.run(written(folder, METHODS["cut"], "attack: [reader.yaml]"), store="store.db")
    assert [one.value for one in run.measures if one.measure == "findings"] == [0]
    (folder / "t.yaml").write_text(
        f"scenario: t\ndata: {{file: rows.txt, format: basket}}\nanonymise: {{{OTHERS['partition']}}}\n"
        "attack: [reader.yaml, {rule: km_violation, k: 3, m: 2}]\n"
    )
    assert decloak.run("t.yaml", store="store.db").ok


def test_what_a_rule_lacks_in_some_variants_says_in_which(folder, call):
    vary = "attack: [km_violation]\nvary: {anonymise.method: [cut, partition], anonymise.k: [2, 3]}\n"
    (fault,) = call("validate", written(folder, f"m: 2, {HIERARCHY}", vary)).err.splitlines()
    assert fault == (
        f"decloak: {folder}/s.yaml:3:13: unknown key 'm' in the variant anonymise.method=partition; "
        "known here: method, order, k, hierarchy"
    )
    vary = f"attack: [km_violation]\nvary: {{anonymise: [{{{METHODS['cut']}}}, {{{OTHERS['partition']}}}]}}\n"
    (fault,) = call("validate", written(folder, METHODS["aa"], vary)).err.splitlines()
    assert fault == (
        f"decloak: {folder}/s.yaml:4:10: the rule km_violation needs m in the variant anonymise={{method: partition, "
        "k: 2, hierarchy: {file: tree.csv, format: parents}}; write {rule: km_violation, k: 2, m: 2}"
    )


RELEASE = """\
{"decloak": "release", "version": 1, "method": "generalisation", "k": 3, "m": 2}
{"label": "a", "items": ["a"]}
{"label": "b", "items": ["b"]}
["a", "b"]
["a"]
["a"]
["b"]
["b"]
"""
DISASSOCIATED = """\
{"decloak": "release", "version": 1, "method": "disassociation", "k": 3, "m": 2}
{"size": 3, "record_chunks": [{"items": ["a"], "subrecords": [["a"], ["a"], ["a"]]}], "term_chunk": ["c"]}
"""


def attacked(folder: Path, data: str, attack: str) -> Path:
    (folder / "t.yaml").write_text(f"scenario: t\ndata: {data}\nattack: [{attack}]\n")
    return folder / "t.yaml"


@pytest.mark.parametrize("data", ["{published: release.jsonl}", "{published: {file: release.jsonl}}"])
def test_a_rule_goes_by_the_k_and_m_of_the_release_file_unless_told_others(folder, data):
    (folder / "release.jsonl").write_text(RELEASE)
    (folder / "reader.yaml").write_text(READER)
    found = {}
    for attack in ("km_violation", "reader.yaml", "{rule: km_violation, k: 1}", "{rule: km_violation, m: 1}"):
        measures = decloak.run(attacked(folder, data, attack), store="store.db").measures
        (found[attack],) = (one.value for one in measures if one.measure == "findings")
    assert [*found.values()] == [1, 1, 0, 0]  # a and b together are in one transaction, each alone in three
    told = "select json_extract(parameters, '$.k'), json_extract(parameters, '$.m') from attack a join rule u "
    assert rows(folder, f"{told} on u.id = a.rule where u.form = 'itemsets'") == [(3, 2), (1, 2), (3, 1)]


def test_a_rule_goes_by_the_k_and_m_of_a_disassociated_release_file_too(folder):
    (folder / "disassociated.jsonl").write_text(DISASSOCIATED)
    assert decloak.run(attacked(folder, "{release: disassociated.jsonl}", "km_violation"), store="store.db").ok
    told = "select json_extract(parameters, '$.k'), json_extract(parameters, '$.m') from attack"
    assert rows(folder, f"{told} a join rule u on u.id = a.rule where u.name = 'km_violation'") == [(3, 2)]


def test_what_the_header_of_a_release_lacks_is_asked_for_with_what_it_says(folder, call):
    (folder / "release.jsonl").write_text(RELEASE.replace(', "m": 2', "").replace('"k": 3', '"k": 5'))
    said = call("validate", attacked(folder, "{published: release.jsonl}", "km_violation"))
    expected = "the rule km_violation needs m; write {rule: km_violation, k: 5, m: 2}"
    assert said == (2, "", f"decloak: {folder}/t.yaml:3:10: {expected}\n")


HEADERS = {
    "no file": (None, ": no such file; "),
    "nothing": (b"", ":1: an empty line; "),
    "another method": (
        DISASSOCIATED.encode(),
        ":1: a release by disassociation; in a scenario, write `data: {release: FILE}",
    ),
    "no header": (b'["a"]\n', ":1: the first line is not the header of a release; "),
    "no text": (b"\xff\n", ":1: not UTF-8 text: byte 0xff; "),
    "a bad k": (RELEASE.replace("3", '"3"', 1).encode(), ":1: k is '3'; write a whole number from 1 "),
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_release_file_whose_header_cannot_be_read_is_told_its_place(folder, call, case):
    content, expected = HEADERS[case]
    if content is not None:
        (folder / "release.jsonl").write_bytes(content)
    said = call("run", attacked(folder, "{published: release.jsonl}", "km_violation"))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"decloak: {folder}/release.jsonl{expected}")
    assert len(said.err.splitlines()) == 1
    assert not (folder / "store.db").exists()


CLEAR = "no record with a generalised item has a published item, so the attack has no evidence"


def clear_notes(
    folder: Path, published: str, attack: str, relate: str = "{measure: ngd, source: release}"
) -> list[str]:
    (folder / "release.txt").write_text(published)
    text = f"scenario: t\ndata: {{published: release.txt}}\nrelate: {relate}\nattacker: {{context: all}}\n"
    (folder / "t.yaml").write_text(f"{text}attack: [{attack}]\n")
    (variant,) = decloak.run("t.yaml", store="store.db").variants
    return [note for note in variant.notes if note.startswith(CLEAR)]


@pytest.mark.parametrize("rule", ["ra", "mda", "tba", "wba", "gba", "rba"])
def test_a_rule_that_has_no_context_to_go_by_says_so(folder, call, rule):
    assert clear_notes(folder, "(a, b), (c, d)\n(a, b)\nx, y\n()\n", rule) == [f"{CLEAR}: no cell has a score"]
    assert f"note: {CLEAR}: no cell has a score note: " in " ".join(call("show", "last").err.split())


def test_a_rule_that_has_something_to_go_by_or_goes_by_something_else_says_nothing_of_contexts(folder):
    hidden = "(a, b), (c, d)\n(a, b)\n"
    assert clear_notes(folder, f"{hidden}x, (c, d)\n", "rba") == []
    assert clear_notes(folder, hidden, "{rule: km_violation, k: 2, m: 2}") == []
    assert clear_notes(folder, "a, b\nc\n", "rba") == []  # nothing is generalised
    assert clear_notes(folder, "()\n", "{rule: km_violation, k: 2, m: 2}") == []


def test_scores_that_are_lacking_are_not_taken_for_a_context_that_is(folder):
    (folder / "scores.csv").write_text("a,b,ngd\nu,v,1\n")
    assert clear_notes(folder, "x, (a, b)\n", "rba", "{measure: ngd, source: scores, file: scores.csv}") == []
    assert rows(folder, "select count(*) from distance_table") == [(0,)]


@pytest.mark.parametrize("method", [*METHODS, *OTHERS])
def test_a_release_made_here_is_told_from_what_it_was_made_of(folder, method):
    text = {**METHODS, **OTHERS}[method]
    decloak.run(written(folder, text), store="store.db")
    name = text.removeprefix("method: ").partition(",")[0]
    told = "select kind, origin from dataset order by id"
    assert rows(folder, told) == [("original", "rows.txt"), ("published", f"{name} of rows.txt")]
    assert ("dataset", f"{name} of rows.txt") in rows(folder, "select kind, label from node")


def test_a_disassociated_release_is_told_from_what_it_was_made_of_too(folder):
    disassociated = "method: disassociation, k: 2, m: 2, max_cluster: 2"
    decloak.run(written(folder, disassociated, "attack: [random]"), store="store.db")
    assert rows(folder, "select origin from dataset order by id") == [("rows.txt",), ("disassociation of rows.txt",)]


@pytest.mark.parametrize("setting", ["slack: 2.0", "population: rows.txt", "relate: {measure: ngd, source: release}"])
def test_settings_of_a_choice_of_partners_need_one(folder, call, setting):
    result = call("run", written(folder, f"{OTHERS['coat']}, {setting}"), "--store", "store.db")
    assert (result.code, f"'{setting.split(':')[0]}' goes with 'partner'" in result.err) == (2, True)


def test_a_choice_of_partners_is_published_without_its_inputs(folder, call):
    """The manifest may name the choice: an attacker who knows it is measured. It names no file."""
    assert call("run", written(folder, OTHERS["coat, hard"]), "--store", "store.db").code == 0
    assert call("publish", "last", "release.jsonl", "--store", "store.db").code == 0
    parameters = json.loads((folder / "release.jsonl.manifest.json").read_text())["parameters"]
    assert (parameters["partner"], parameters["slack"]) == ("hard", 2.0)
    assert not {"near", "population", "relate"} & parameters.keys()


def test_coat_that_suppresses_publishes_empty_transactions(folder, call):
    (folder / "few.txt").write_text("a\nb\nb\n")
    scenario = written(
        folder,
        "method: coat, k: 2, privacy: [[a]], utility: [[b, c]]",
        data="{file: few.txt, format: basket}",
    )
    (folder / "few.txt").write_text("a\nb\nb, c\nb, c\n")
    decloak.run(scenario, store="store.db")
    assert rows(folder, "select i.name from truth_suppressed s join item i on i.id = s.item") == [("a",)]
    assert call("publish", "last", "out.txt").code == 0
    assert (folder / "out.txt").read_text().splitlines()[0] == "()"
    assert call("publish", "last", "out.jsonl").code == 0
    assert json.loads((folder / "out.jsonl").read_text().splitlines()[-4]) == []


BROKEN = {
    **{method: (METHODS[method], {"k": 2, "m": 2}) for method in ("cut", "aa", "da", "oa", "lra")},
    "vpa": (METHODS["vpa"], {"k": 2, "m": 2, "parts": 2, "level": 1}),
    "partition": (OTHERS["partition"], {"k": 2}),
    "diversity": (f"method: diversity, l: 2, m: 1, sensitive: [s], {HIERARCHY}", {"l": 2, "m": 1, "sensitive": ["s"]}),
    "coat": (OTHERS["coat"], {"k": 2, "privacy": [["a1", "b1"]], "utility": [["a1", "a2"], ["b1", "b2"]]}),
}
SICK = [["a1", "s"], ["a2"], ["b1"], ["b2"]]
"""Hidden as A and b1, b2, of which nobody is known to have s."""


def as_it_is(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The method generalises nothing."""
    if method == "coat":
        publish_by_coat(monkeypatch, lambda rows, data: data.transactions)
    elif method == "diversity":
        monkeypatch.setattr(diversity, "diversity", lambda tree, *_: tree.leaf)
    else:
        sound = registry.METHODS[method]
        broken = sound._replace(make=partial(generalise_by, lambda tree, *_, **__: Walked(tree.leaf), method))
        monkeypatch.setitem(registry.METHODS, method, broken)
        entry = next(entry for entry in registry.ENTRIES if sound in entry.anonymisers)
        monkeypatch.setattr(entry, "anonymisers", (broken,))


def publish_by_coat(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """COAT publishes what `change` makes of its transactions and of the data."""
    real = anonymising.coat

    def changed(data: decloak.Dataset, **options: Any) -> Any:
        made = real(data, **options)
        return replace(made, transactions=change(made.transactions, data))

    monkeypatch.setattr(anonymising, "coat", changed)


def with_first_row(method: str, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """The method publishes the first transaction otherwise."""
    if method == "coat":
        publish_by_coat(monkeypatch, lambda rows, data: (change(rows[0]), *rows[1:]))
        return
    real = hierarchies.generalised

    def changed(*given: Any, **options: Any) -> Generalised:
        made = real(*given, **options)
        return replace(made, transactions=(change(made.transactions[0]), *made.transactions[1:]))

    monkeypatch.setattr(hierarchies, "generalised", changed)


FAULTS = {
    "breaks its promise": (as_it_is, "have support 1|only 1 have just|of 1 with 'a1', 1 have 's'|Broken"),
    "loses an occurrence": (
        lambda method, patch: with_first_row(method, patch, lambda row: row[1:]),
        "is published 0 times|occurrences are lost",
    ),
    "shows what was not there": (
        lambda method, patch: with_first_row(method, patch, lambda row: (*row, "c")),
        "held nothing that is 'c'|publishes 'c', which its original does not hold",
    ),
}


def broken():
    """Yield each method with each fault; `make test` takes one of these faults for each method, by turns."""
    for number, method in enumerate(BROKEN):
        for place, fault in enumerate(FAULTS):
            marks = () if (number - place) % len(FAULTS) == 0 else pytest.mark.slow
            yield pytest.param(method, fault, id=f"{method}-{fault}", marks=marks)


@pytest.mark.parametrize(("method", "fault"), list(broken()))
def test_a_broken_anonymiser_publishes_nothing(folder, call, monkeypatch, method, fault):
    text, options = BROKEN[method]
    data = SICK if method == "diversity" else ROWS
    (folder / "rows.txt").write_text("".join(", ".join(row) + "\n" for row in data))
    if method != "coat":
        options = {**options, "hierarchy": decloak.Hierarchy.read("tree.csv", "parents")}
    scenario = written(folder, text, "measure: [loss]")
    assert decloak.anonymise(data, method, **options)
    assert call("run", scenario, "--store", "sound.db").code == 0

    break_it, expected = FAULTS[fault]
    break_it(method, monkeypatch)
    with pytest.raises(AssertionError, match=f"^{method} broke its own guarantee: .*({expected})"):
        decloak.anonymise(data, method, **options)
    said = call("run", scenario)
    assert (said.code, said.out) == (1, "")
    kept, line = said.err.splitlines()
    assert kept.startswith("CONFIDENTIAL: store.db contains the original data. ")
    assert line.startswith("decloak: a fault inside decloak: AssertionError: ")
    assert f"{method} broke its own guarantee: " in line
    for table in ("release", "published_as", "generalised", "run"):
        assert rows(folder, f"select count(*) from {table}") == [(0,)]
    assert rows(folder, "select kind from dataset") == [("original",)]


REFUSED = {
    "an item that is not in the hierarchy": (
        "rows.txt", "a1\nzz\n", METHODS["cut"],
        "decloak: rows.txt: record 2: 'zz' is not in the hierarchy tree.csv; add it as a leaf"),
    "an inner node as an item": (
        "rows.txt", "a1\nA\n", METHODS["cut"],
        "decloak: rows.txt: record 2: 'A' is an inner node of the hierarchy tree.csv, not an item; records"),
    "several roots": (
        "tree.csv", "child,parent\na1,A\nb1,B\n", METHODS["cut"],
        "tree.csv: the hierarchy has 2 roots: 'A', 'B'; put one node above them all"),
    "a cycle": (
        "tree.csv", "child,parent\na1,A\nA,a1\n", METHODS["cut"],
        "tree.csv: a cycle: 'A' is below 'a1' is below 'A'; a node cannot be above itself"),
    "two parents": (
        "tree.csv", "child,parent\na1,A\nA,R\na1,B\nB,R\n", METHODS["cut"],
        "tree.csv:2 it is below 'A'; a node has one parent"),
    "k above the data": (
        "rows.txt", "a1\nb1\n", METHODS["cut"].replace("k: 2", "k: 3"),
        "k = 3 is impossible with 2 non-empty records; use k = 2 or less, or more records"),
    "no m": (
        "rows.txt", "a1\n", METHODS["cut"].replace("m: 2", "m: 0"),
        "s.yaml:3:35: expected a whole number, at least 1, found 0"),
    "no data": ("rows.txt", "", METHODS["cut"], "rows.txt: the file is empty; expected at least one line"),
    "utility constraints that overlap": (
        "rows.txt", "a\nb\n", "method: coat, k: 1, privacy: [[a]], utility: [[a, b], [b, c]]",
        "s.yaml:3:68: 'b' is written twice; an item stands once, in one set"),
    "a constraint of an unknown item": (
        "rows.txt", "a\nb\n", "method: coat, k: 1, privacy: [[x]]", "privacy constraint 1: the item 'x' is in no"),
    "a hierarchy made by nothing": (
        "rows.txt", "a\n", "method: cut, k: 1, m: 1, hierarchy: {fanout: 3}",
        "write `by:` with names, file, popularity, random, cooccurrence or relatedness, or write `file: PATH`"),
    "random constraints larger than the data": (
        "rows.txt", "a\nb\n", "method: coat, k: 1, privacy: {count: 1}",
        "random sets of 6 out of 2 items; give smaller sizes"),
    "a constraint that is too wide": (
        "rows.txt", WIDE, f"method: coat, k: 1, privacy: [[{WIDE}]]",
        "privacy constraint 1: 61 items; give at most 60: split the constraint"),
    "nothing but sensitive items": (
        "rows.txt", "a\n", "method: diversity, l: 1, m: 1, sensitive: [a], hierarchy: {by: names}",
        "no items to make a hierarchy of; leave some in the data that are not sensitive"),
    "a hierarchy twice": (
        "rows.txt", "a\n", "method: cut, k: 1, m: 1, hierarchy: {by: names, file: tree.csv, format: parents}",
        "s.yaml:3:49: a hierarchy is read from a 'file' or made 'by' something; write one of the two"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_said_in_one_line_and_leaves_nothing(folder, call, case):
    file, content, method, expected = REFUSED[case]
    (folder / file).write_text(content)
    said = call("run", written(folder, method))
    assert said.code == 2
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert expected in said.err
    assert not (folder / "store.db").exists()


def test_an_empty_transaction_of_a_file_is_published_empty_and_no_disassociation_takes_it(folder, call):
    (folder / "rows.jsonl").write_text('["a1"]\n[]\n["a1"]\n')
    data = "{file: rows.jsonl, format: jsonl}"
    call("run", written(folder, METHODS["cut"], data=data))
    call("publish", "last", "release.jsonl")
    assert (folder / "release.jsonl").read_text().splitlines()[-3:] == ["[]", '["a1"]', '["a1"]']
    disassociated = "method: disassociation, k: 2, m: 2, max_cluster: 2"
    said = call("run", written(folder, disassociated, "attack: [random]", data), "--store", folder / "none.db")
    assert said.err == "decloak: anonymise: record 2 has no items; disassociation takes no empty ones: leave it out\n"
    assert not (folder / "none.db").exists()


def test_the_public_function_publishes_the_same(folder):
    tree = decloak.Hierarchy.from_parents({"a1": "A", "a2": "A", "b1": "B", "b2": "B", "A": "ALL", "B": "ALL"})
    for method in ("cut", "aa", "da", "oa", "vpa"):
        release = decloak.anonymise(ROWS, method, k=2, m=2, hierarchy=tree)
        assert release.transactions == tuple(sorted(PUBLISHED))
        assert release.cut == ("A", "b1", "b2")
        assert float(release.ncp) == pytest.approx(5 / 22)
    release.write(folder / "release.jsonl")
    assert decloak.read_release(folder / "release.jsonl").transactions == release.transactions
    with pytest.raises(decloak.DecloakError, match="is not a hierarchy"):
        decloak.anonymise(ROWS, "cut", k=2, m=2, hierarchy="tree.csv")  # type: ignore[call-overload]
    with pytest.raises(decloak.DecloakError, match="the method cut needs m; give m="):
        decloak.anonymise(ROWS, "cut", k=2, hierarchy=tree)


def test_diversity_keeps_sensitive_items_and_hides_who_has_them(folder):
    tree = decloak.Hierarchy.from_parents({"a": "A", "b": "A", "c": "R", "A": "R"})
    data = [["a", "s"], ["b"], ["a", "c"], ["b", "c"]]
    release = decloak.anonymise(data, "diversity", l=2, m=1, sensitive=["s"], hierarchy=tree)
    for label in {one for row in release.transactions for one in row} - {"s"}:
        holding = [row for row in release.transactions if label in row]
        assert sum("s" in row for row in holding) * 2 <= len(holding)
    assert sum("s" in row for row in release.transactions) == 1


def test_a_sensitive_item_that_is_nowhere_or_generalised_is_refused_before_anything_is_made(folder, call):
    diversity = f"method: diversity, l: 2, m: 1, {HIERARCHY}"
    for sensitive, expected in (
        ("[zz]", "the sensitive item 'zz' is in no record; check the spelling, or leave it out"),
        ("[b2]", "the sensitive item 'b2' is in the hierarchy; leave it out of one of them"),
    ):
        said = call("run", written(folder, f"{diversity}, sensitive: {sensitive}"))
        assert (said.code, said.out) == (2, "")
        assert expected in said.err
        assert not (folder / "store.db").exists()


def test_the_widest_label_is_a_share_of_all_items_also_of_those_that_are_not_published(folder):
    (folder / "tree.csv").write_text(TREE + "c1,ALL\nc2,ALL\n")
    wide = decloak.run(written(folder, METHODS["cut"], "measure: [loss]"), store="store.db")
    assert [one.value for one in wide.measures if one.measure == "largest"] == [pytest.approx(2 / 6)]
    (folder / "few.txt").write_text("a\nb\nb, c\nb, c\nc\n")
    coat = "method: coat, k: 3, privacy: [[a], [b], [b, c]], utility: [[b, c]]"
    scenario = written(folder, coat, "measure: [loss]", "{file: few.txt, format: basket}")
    run = decloak.run(scenario, store="store.db")
    assert [one.value for one in run.measures if one.measure == "largest"] == [pytest.approx(2 / 3)]


def test_the_labels_are_not_written_over_the_release_and_a_name_they_cannot_carry_writes_nothing(folder, call):
    decloak.run(written(folder, METHODS["cut"]), store="store.db")
    said = call("publish", "last", "out.csv", "--cut", "./out.csv")
    assert said.code == 2
    assert said.err == "decloak: out.csv: the release and its labels go to the same file; choose another name for one\n"
    (folder / "rows.jsonl").write_text(json.dumps(["a\nb"]) + "\n" + json.dumps(["a\nb"]) + "\n")
    method = "method: cut, k: 2, m: 1, hierarchy: {by: names}"
    decloak.run(written(folder, method, data="{file: rows.jsonl, format: jsonl}"), store="store.db")
    assert call("publish", "last", "out.jsonl", "--cut", "out.csv").code == 2
    assert not [*folder.glob("out.*")]


def test_a_release_of_coat_does_not_claim_to_hide_every_item_among_k(folder, call):
    decloak.run(written(folder, OTHERS["coat"]), store="store.db")
    assert call("publish", "last", "out.jsonl").code == 0
    assert "k" not in json.loads((folder / "out.jsonl").read_text().splitlines()[0])


def test_a_release_with_an_m_beyond_all_items_can_be_read_again(folder, call):
    decloak.run(written(folder, METHODS["cut"].replace("m: 2", "m: 20000000000")), store="store.db")
    assert call("publish", "last", "out.jsonl").code == 0
    assert call("check", "out.jsonl").code == 0


def test_checked_names_cannot_be_taken_for_several_and_the_separator_can_be_told(folder, call):
    (folder / "rows.jsonl").write_text(json.dumps(["a, b", "c"]) + "\n")
    said = call("check", "rows.jsonl", "--input", "jsonl", "--k", 2, "--m", 2)
    assert [line.split("  ")[0] for line in said.out.splitlines()[2:]] == ['"a, b"', "c", '"a, b", c']
    (folder / "spaced.dat").write_text("1 2\n1 2 3\n")
    said = call("check", "spaced.dat", "--input", "basket", "--separator", " ", "--k", 2, "--m", 1, "--format", "csv")
    assert said.out.splitlines() == ["itemset,support", "3,1"]
    said = call("check", "spaced.dat", "--input", "release", "--separator", " ")
    assert said.err == "decloak: a release has no separator to choose; leave --separator out\n"
    one = call("check", "rows.jsonl", "--input", "jsonl", "--k", 2, "--m", 2, "--negative", "--most", 1)
    assert one.err == "1 or more violations\n"


def test_what_somebody_knows_not_to_be_there_can_be_checked_too(folder, call):
    (folder / "rows.txt").write_text("a, b\na, b\na\n")
    assert call("check", "rows.txt", "--input", "basket", "--k", 1, "--m", 1, "--negative").code == 0
    said = call("check", "rows.txt", "--input", "basket", "--k", 2, "--m", 1, "--negative", "--format", "csv")
    assert said.code == 3
    assert said.out.splitlines() == ["has,has not,support", ",b,1"]
    assert said.err == "1 violation\n"


def test_hierarchies_are_compared_by_what_they_cost_and_the_best_is_kept(folder, call):
    said = call(
        "hierarchy", "rows.txt", "--input", "basket", "--k", 2, "--m", 2, "--fanout", 2,
        "--tree", "tree.csv", "--tree-format", "parents", "--write", "best.csv", "--format", "csv",
    )  # fmt: skip
    assert said.code == 0
    head, *lines = [line.rsplit(",", 5) for line in said.out.splitlines()]
    assert head == ["hierarchy", "levels", "NCP", "labels", "of items", "largest"]
    losses = {name.strip('"'): float(loss) for name, _, loss, *_ in lines}
    assert losses["tree.csv"] == pytest.approx(5 / 22)
    assert list(losses.values()) == sorted(losses.values())
    assert set(losses) == {"tree.csv", *(f"{by}, fanout 2" for by in GROUPINGS), "cooccurrence, fanout 2"}
    best = decloak.Hierarchy.read("best.csv", "parents")
    release = decloak.anonymise(ROWS, "cut", k=2, m=2, hierarchy=best)
    assert float(release.ncp) == pytest.approx(min(losses.values()))


def test_what_hierarchies_cannot_be_compared_for_is_said_before_the_work(folder, call):
    (folder / "rows.txt").write_text("a1\n")
    for path, said in {
        "tree.csv": "tree.csv: there is something already; choose another name",
        "none/x.csv": "none: there is no such folder; make it, or name another",
    }.items():
        found = call("hierarchy", "rows.txt", "--input", "basket", "--k", 1, "--write", path)
        assert found == (2, "", f"decloak: {said}\n")
    (folder / "rows.txt").write_text("a1\nzz\n")
    found = call("hierarchy", "rows.txt", "--input", "basket", "--tree", "tree.csv", "--tree-format", "parents")
    said = "rows.txt: record 2: 'zz' is not in the hierarchy tree.csv; add it as a leaf"
    assert found == (2, "", f"decloak: {said}\n")


def test_what_a_hierarchy_could_not_be_related_by_is_told(folder):
    (folder / "counts.csv").write_text("a,b,count\n,,100\na1,,5\n")
    relate = "{measure: ngd, source: counts, file: counts.csv}"
    scenario = written(folder, f"method: cut, k: 2, m: 2, hierarchy: {{by: relatedness, fanout: 2, relate: {relate}}}")
    notes = decloak.run(scenario, store="store.db").variants[0].notes
    assert [note for note in notes if note.startswith("no score, because the count is missing or negative, for 'a2'")]


def test_a_release_file_is_attacked_as_what_its_header_says(folder, call):
    decloak.run(written(folder, METHODS["cut"]), store="store.db")
    assert call("publish", "last", "release.jsonl", "--cut", "nowhere/cut.csv").code == 2
    assert not (folder / "release.jsonl").exists()
    assert call("publish", "last", "release.jsonl").code == 0
    attack = "attack: [{rule: km_violation, k: 3, m: 2}]\nmeasure: [loss]\n"
    said = []
    for key in ("release", "published"):
        (folder / "t.yaml").write_text(f"scenario: t\ndata: {{{key}: release.jsonl}}\n{attack}")
        said.append(call("run", "t.yaml", "--store", f"{key}.db", "--format", "csv"))
    assert said[0].code == said[1].code == 0
    assert said[0].out == said[1].out


def test_a_disassociated_release_in_the_wrong_place_of_a_scenario_is_told_its_place(folder, call):
    decloak.anonymise([["a", "b"]] * 4, "disassociation", k=2, m=2, max_cluster=4).write(folder / "r.jsonl")
    (folder / "t.yaml").write_text("scenario: t\ndata: {published: r.jsonl}\nattack: [km_violation]\n")
    said = call("run", "t.yaml")
    assert said.code == 2
    assert "a release by disassociation; in a scenario, write `data: {release: FILE}" in said.err


def test_a_deep_chain_of_single_nodes_is_no_more_work(folder):
    """Five hundred nodes above each of three items: every choice of ancestors would be 125 million."""
    items = ["a", "b", "c"]
    parents = {f"{item}{level}": f"{item}{level + 1}" for item in items for level in range(500)}
    parents |= {f"{item}500": "*" for item in items}
    tree = decloak.Hierarchy.from_parents(parents)
    release = decloak.anonymise([["a0"], ["b0", "c0"], ["a0", "b0", "c0"]], "cut", k=2, m=3, hierarchy=tree)
    assert release.cut == ("*",)


def test_a_generalised_item_of_which_the_transaction_has_nothing_is_no_release_of_coat():
    data = Dataset((("a", "b"), ("a", "b"), ("c",)), ("1", "2", "3"))
    options = {"k": 2, "privacy": [["a", "b"]], "utility": [["a", "b"]]}
    made = coat(data, options["privacy"], options["utility"], k=2)
    invented = replace(made, transactions=(*made.transactions[:2], ("c", ("a", "b"))))
    check = registry.METHODS["coat"].check
    assert list(check(data, made, options)) == []
    found = list(check(data, invented, options))
    assert found == ["sets of which a record has nothing: [('a', 'b')]"]
