"""The cut against attackers who know absent items: a naive twin, brute force, and the option of `cut`."""

import json

import pytest
from hypothesis import assume, given, settings

import decloak
import naive_generalise as naive
from decloak.anonymisers.kernels import count_tree
from decloak.anonymisers.kernels.count_tree import raise_for_absent
from decloak.anonymisers.kernels.fast_cut import cut
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from naive_mining import negative

TREE = Hierarchy.from_parents({"a1": "A", "a2": "A", "b1": "B", "b2": "B", "A": "ALL", "B": "ALL"})
ROWS = [["a1", "b1"], ["a1", "b1"], ["a2"], ["a2"], ["a1", "a2", "b2"], ["a1", "a2", "b2"], ["a1"]]


@settings(max_examples=1000, deadline=None)
@given(naive.cases())
def test_the_raised_cut_is_what_the_definition_finds(case):
    parent, data, k, m = case
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    assume(k <= sum(map(bool, data)) or not any(data))
    records = tree.code(data)
    start = cut(tree, records, k, m)
    expected = naive.AgainstAbsent(twin, data, k, {tree.labels[node] for node in start}).raise_all(m)
    if expected is None:
        with pytest.raises(DecloakError, match="records without items"):
            raise_for_absent(tree, records, k, m, start)
        return
    found = {tree.labels[node] for node in raise_for_absent(tree, records, k, m, start)}
    assert found == expected
    assert not list(negative(naive.recode(twin, data, found), found, k, m))


def test_a_label_of_nearly_everybody_is_raised():
    """a1 or a2 is in all records but one kind: who lacks both labels of a pair would be alone."""
    plain = decloak.anonymise(ROWS, "cut", k=2, m=2, hierarchy=TREE)
    assert not decloak.check(plain, kind="negative", k=2, m=2)
    release = decloak.anonymise(ROWS, "cut", k=2, m=2, hierarchy=TREE, negative=True)
    assert release.cut == ("A", "b1", "b2")
    assert decloak.check(release, kind="negative", k=2, m=2)


def test_a_few_records_without_items_cannot_be_hidden():
    with pytest.raises(DecloakError, match="1 records without items differ"):
        decloak.anonymise([*ROWS, []], "cut", k=2, m=2, hierarchy=TREE, negative=True)


def test_refine_and_other_methods_have_no_such_option():
    with pytest.raises(DecloakError, match="'refine' splits labels"):
        decloak.anonymise(ROWS, "cut", k=2, m=1, hierarchy=TREE, negative=True, refine=True)
    with pytest.raises(DecloakError, match="has no option 'negative'"):
        decloak.anonymise(ROWS, "aa", k=2, m=1, hierarchy=TREE, negative=True)
    with pytest.raises(DecloakError, match="has no option 'z9'"):  # of several the first
        decloak.anonymise(ROWS, "aa", k=2, **{f"z{number}": True for number in range(9, 0, -1)})


def test_too_many_sets_are_refused(monkeypatch):
    monkeypatch.setattr(count_tree, "MOST", 3)
    with pytest.raises(DecloakError, match="the patterns over 1 of 4 labels are too many"):
        raise_for_absent(TREE, TREE.code(ROWS), 2, 2, TREE.leaf)


def test_a_published_release_states_the_guarantee_in_its_manifest(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text("".join(", ".join(row) + "\n" for row in ROWS))
    (tmp_path / "tree.csv").write_text("child,parent\na1,A\na2,A\nb1,B\nb2,B\nA,ALL\nB,ALL\n")
    settings = "method: cut, k: 2, m: 2, negative: true, hierarchy: {file: tree.csv, format: parents}"
    (tmp_path / "s.yaml").write_text(
        f"scenario: s\ndata: {{file: rows.txt, format: basket}}\nanonymise: {{{settings}}}\nattack: [km_violation]\n"
    )
    assert call("run", "s.yaml", "--store", "store.db").code == 0
    assert call("publish", "last", "release.jsonl", "--store", "store.db").code == 0
    assert json.loads((tmp_path / "release.jsonl.manifest.json").read_text())["parameters"]["negative"] is True
    assert call("check", "release.jsonl", "--negative").code == 0
    (tmp_path / "s.yaml").write_text((tmp_path / "s.yaml").read_text().replace("method: cut", "method: oa"))
    assert "oa has no 'negative'" in call("run", "s.yaml", "--store", "store.db").err
