"""All that is handed out is a function of what it shows: another original with the same release, the same bytes."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.data.hierarchy import Hierarchy
from lookalikes import METHODS, NAMES, SCENARIOS, TREES, content, pairs, published_pairs, written
from slowly import slow_but


@settings(max_examples=60)
@given(st.integers(0, 2**48), st.sampled_from(METHODS), st.sampled_from(list(TREES)), st.booleans())
def test_no_byte_that_python_writes_depends_on_what_is_hidden(tmp_path_factory, seed, method, tree, recorded):
    folder = tmp_path_factory.getbasetemp()
    for first, second in pairs(random.Random(seed), method, tree, "recorded" if recorded else "sorted"):
        assert written(first, folder) == written(second, folder)


@pytest.mark.parametrize("tree", ["popularity", "file"])
def test_a_label_does_not_tell_its_most_frequent_member(tree):
    rows = [(item,) for support, item in enumerate("abcdef", 1) for _ in range(support)]
    turned = [tuple({"a": "c", "c": "a"}.get(item, item) for item in row) for row in rows]
    data, other = (decloak.Dataset(tuple(one), tuple(map(str, range(21)))) for one in (rows, turned))
    first, second = (decloak.anonymise(one, "cut", k=6, m=1, hierarchy=TREES[tree](one, 3)) for one in (data, other))
    assert content(first, "sorted") == content(second, "sorted")
    assert "a..c" in first.members
    assert first.transactions == second.transactions
    assert first.members == second.members


@settings(max_examples=100)
@given(st.lists(st.sampled_from([*NAMES, "*", "a..b", "a..b (2)", '"', "..", "b)", "**"]), min_size=1, unique=True),
       st.integers(2, 4), st.randoms(use_true_random=False))  # fmt: skip
def test_the_name_of_a_group_depends_on_its_members_and_the_set_of_items_alone(items, fanout, rng):
    names: dict[frozenset[str], str] = {}
    for _ in range(3):
        tree = Hierarchy.balanced(rng.sample(items, len(items)), fanout)
        assert len(set(tree.labels)) == len(tree.labels)
        for node, label in enumerate(tree.labels):
            members = tree.members(node)
            if len(members) > 1:
                assert names.setdefault(frozenset(members), label) == label
    assert len(set(names.values())) <= len(names)


@pytest.mark.parametrize(
    "anonymise",
    slow_but(
        ["cut, popularity", "coat", "disassociation"],
        ["cut, popularity", "partition, cooccurrence", "coat", "disassociation"],
    ),
)
def test_no_byte_that_is_handed_out_depends_on_what_is_hidden(call, tmp_path, monkeypatch, anonymise):
    monkeypatch.chdir(tmp_path)
    found = 0
    for seed in range(20):
        for first, second in published_pairs(call, tmp_path, random.Random(seed), SCENARIOS[anonymise]):
            assert first == second
            found += 1
        if found == 2:
            return
    raise AssertionError("no two originals had a release that shows the same")


def test_a_page_does_not_have_the_seed_which_is_a_digest_of_the_originals(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.jsonl").write_text('["a", "b"]\n["a"]\n["b"]\n')
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: d.jsonl, format: jsonl}\nanonymise: {method: sets, size: 2, share: 1}\n"
        "attack: [{rule: km_violation, k: 2, m: 1}]\n"
    )
    run = decloak.run("s.yaml", store="store.db")
    assert call("report", "last", "-o", "page.html").code == 0
    assert str(run.variants[0].seed) not in (tmp_path / "page.html").read_text()


def test_a_manifest_does_not_count_the_constraints_that_are_drawn_from_the_originals(call, tmp_path, monkeypatch):
    """Their number is a share of the items, the suppressed ones among them."""
    monkeypatch.chdir(tmp_path)
    manifests = []
    for rare in ([], ["p", "q", "r", "s"]):
        rows = [["a", "b"]] * (6 - len(rare)) + [["a", "b", item] for item in rare]
        (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "s.yaml").write_text(
            "scenario: s\ndata: {file: d.jsonl, format: jsonl}\nattack: [{rule: km_violation, k: 2, m: 1}]\n"
            "anonymise: {method: coat, k: 2, privacy: {share: 1}, utility: [[a, b]]}\n"
        )
        name = f"{len(rare)}.txt"
        assert call("run", "s.yaml", "--store", f"{len(rare)}.db").code == 0
        assert call("publish", "last", name, "--store", f"{len(rare)}.db").code == 0
        assert (tmp_path / name).read_text() == "a, b\n" * 6
        manifests.append((tmp_path / f"{name}.manifest.json").read_text())
    assert manifests[0] == manifests[1]
