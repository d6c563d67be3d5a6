"""What each method promises is checked from its file alone, and nothing holds over nothing."""

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
from decloak.counting import guarantees
from decloak.counting.guarantees import CoatConstraints, KAnonymity, LmDiversity, WholeSets, shown_items
from decloak.data.generalised import Generalised
from decloak.data.published import Published

ROWS = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
TREE = "child,parent\na1,A\na2,A\nb1,B\nb2,B\nA,ALL\nB,ALL\n"
HIERARCHY = "hierarchy: {file: tree.csv, format: parents}"
OTHERS = "hierarchy: {by: names, fanout: 2}"
METHODS = {
    "cut": f"method: cut, k: 2, m: 2, {HIERARCHY}",
    "lra": f"method: lra, k: 2, m: 2, parts: 1, flexibility: 0, {HIERARCHY}",
    "vpa": f"method: vpa, k: 2, m: 2, parts: 2, level: 1, {HIERARCHY}",
    "partition": f"method: partition, k: 2, {HIERARCHY}",
    "diversity": f"method: diversity, l: 1, m: 2, sensitive: [b2], {OTHERS}",
    "coat": "method: coat, k: 2, privacy: [[a1, b1]], utility: [[a1, a2], [b1, b2]]",
    "coat of all": "method: coat, k: 2, privacy: [[a1, b1]]",
    "sets": "method: sets, sets: [[a1, b1]]",
    "drawn sets": "method: sets, size: 2, share: 1.0",
    "disassociation": "method: disassociation, k: 2, m: 2, max_cluster: 4",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text("".join(", ".join(row) + "\n" for row in ROWS))
    (tmp_path / "tree.csv").write_text(TREE)
    return tmp_path


def scenario(folder: Path, method: str) -> Path:
    attack = "cover" if "disassociation" in method else "{rule: km_violation, k: 2, m: 2}"
    text = f"scenario: s\ndata: {{file: rows.txt, format: basket}}\nanonymise: {{{method}}}\nattack: [{attack}]\n"
    (folder / "s.yaml").write_text(text)
    return folder / "s.yaml"


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_what_a_method_promised_holds_of_the_file_it_published(folder, call, method):
    path = scenario(folder, method)
    decloak.run(path, store="store.db")
    assert call("publish", "last", "out.jsonl").code == 0
    said = call("check", "out.jsonl", "--constraints", path)
    assert (said.code, said.out) == (0, "")
    assert said.err.splitlines()[-1].startswith("the guarantee is met: ")


TEXT = ["--input", "published"]
BROKEN = {
    "a combination of too few": ("{k: 2, privacy: [[a, b]]}", "(a, c), b\na, x\nd, b\n", 'privacy,"a, b",1,"a, b"'),
    "a combination in a set": ("{k: 3, privacy: [[a, b]]}", "(a, c), b\n(a, d), b\n(a, d), x\n",
        "privacy,b,2,\"a, b\""),
    "what no utility constraint allows": ("{k: 1, privacy: [[a]], utility: [[a, b], [c, d]]}", "(a, c), b\n",
        "utility,\"a, c\",,"),
    "a person like nobody": ("{method: partition, k: 2, hierarchy: {by: names}}", "a, b\nb, a\nb, c\n",
        "\"b, c\",1"),
    "a sensitive item of all": ("{method: diversity, l: 2, m: 1, sensitive: [s], hierarchy: {by: names}}",
        "a, s\na, s\nb, s\nb, c\n", "a,s,2,2"),
    "a sensitive item in a set": ("{method: diversity, l: 1, m: 1, sensitive: [s, t], hierarchy: {by: names}}",
        "a, (s, u)\na, t\n", "\"(s, u)\",s,,"),
    "an item beside its set": ("{method: sets, size: 2}", "(a, b), c\na, c\n", "shown plain as well,a"),
    "an item in two sets": ("{method: sets, size: 2}", "(a, b), c\n(a, d), c\n", "in two sets,a"),
    "another set than listed": ("{method: sets, sets: [[a, b]]}", "(a, b), c\n(c, d), x\n",
        "not a listed set,\"c, d\""),
    "a member of a listed set": ("{method: sets, sets: [[a, b], [c, d]]}", "(a, b), c\n", "shown plain as well,c"),
    "itemsets of too few": ("{method: cut, k: 2, m: 2, hierarchy: {by: names}}", "(a, b), c\n(b, a), c\n(a, b), d\n",
        "d,1"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_found(folder, call, case):
    constraints, release, expected = case
    (folder / "c.yaml").write_text(constraints)
    (folder / "out.txt").write_text(release)
    said = call("check", "out.txt", *TEXT, "--constraints", "c.yaml", "--format", "csv", "--as-said")
    assert said.code == 3, said
    assert expected in said.out.splitlines()[1:]
    assert "violation" in said.err


NOTHING = {
    "coat": ("{k: 2, privacy: [[x], [y]]}", "a, b\na, b\n", "the release shows none of the protected items"),
    "diversity": ("{method: diversity, l: 2, m: 1, sensitive: [x], hierarchy: {by: names}}", "a, b\na, b\n",
        "the release shows none of the sensitive items"),
    "sets": ("{method: sets, size: 2}", "a, b\na, b\n", "the release shows no set of items"),
    "partition": ("{method: partition, k: 2, hierarchy: {by: names}}", "()\n()\n", "no record has any item"),
    "empty constraints": ("{k: 2, privacy: []}", "a, b\n", "expected a list that is not empty"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOTHING.values(), ids=NOTHING)
def test_nothing_holds_over_nothing(folder, call, case):
    constraints, release, message = case
    (folder / "c.yaml").write_text(constraints)
    (folder / "out.txt").write_text(release)
    said = call("check", "out.txt", *TEXT, "--constraints", "c.yaml")
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert len(said.err.splitlines()) == 1


def test_a_disassociated_release_without_items_is_nothing_to_check(folder, call):
    head = {"decloak": "release", "version": 1, "method": "disassociation", "k": 2, "m": 2}
    cluster = {"size": 3, "record_chunks": [], "term_chunk": []}
    (folder / "out.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(cluster)}\n")
    said = call("check", "out.jsonl")
    assert said.code == 2
    assert "out.jsonl: no record has any item: nothing to check" in said.err


def test_protected_items_that_stand_nowhere_are_told(folder, call):
    (folder / "c.yaml").write_text("{k: 2, privacy: [[a, gone], [a, lost]]}")
    (folder / "out.txt").write_text("a, b\na, b\n")
    said = call("check", "out.txt", *TEXT, "--constraints", "c.yaml")
    assert said.code == 0
    assert said.err.splitlines() == [
        "note: 2 of 3 protected items do not occur in the release (suppressed or misspelt): 'gone', 'lost'",
        "the guarantee is met: k = 2, of 2 privacy constraints, within any items",
    ]


def test_shown_items_are_looked_up_once_for_all_names(monkeypatch):
    published = Published((("a", ("b", "c")), ("a", "rest")), ("1", "2"))
    whole = Generalised.of(published)
    release = replace(whole, transactions=whole.rows[:1], ids=("1",))
    looked_up = []

    def recorded(of):
        looked_up.append(shown_items(of))
        return looked_up[-1]

    monkeypatch.setattr(guarantees, "shown_items", recorded)
    (note,) = LmDiversity(2, 1, ("gone", "a", "c", "rest", "gone")).notes(release)
    assert note.startswith("2 of 4 sensitive items")
    assert note.endswith("'gone', 'rest'")
    assert looked_up == [{"a", "b", "c"}]  # the label of the row that is gone still has a name


def test_k_on_the_command_line_stands_in_place_of_that_of_the_file(folder, call):
    (folder / "c.yaml").write_text("privacy: [[a, b]]\n")
    (folder / "out.txt").write_text("a, b\na, b\n")
    given_k = ["check", "out.txt", *TEXT, "--constraints", "c.yaml"]
    assert "missing key 'k'" in call(*given_k).err
    assert call(*given_k, "--k", 2).code == 0
    assert call(*given_k, "--k", 3).code == 3


REFUSED = {
    "drawn": ("{k: 2, privacy: {share: 0.5}}", [], "the privacy constraints are drawn"),
    "related": ("{k: 2, privacy: [[a]], utility: {relate: {measure: ngd, source: release}}}", [],
        "the utility constraints are drawn"),
    "misspelt": ("{k: 2, privcy: [[a]]}", [], "unknown key 'privcy'; did you mean 'privacy'?"),
    "a list": ("[a, b]", [], "expected a method with its settings"),
    "another form": ("{method: disassociation, k: 2, m: 2, max_cluster: 4}", [],
        "applies to disassociated releases, and the file is a generalised release; is it the right file"),
    "two checks": ("{k: 2, privacy: [[a]]}", ["--whole"], "are checks of their own; give one"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_checked_is_said_in_a_line(folder, call, case):
    constraints, more, message = case
    (folder / "c.yaml").write_text(constraints)
    (folder / "out.txt").write_text("a, b\na, b\n")
    said = call("check", "out.txt", *TEXT, "--constraints", "c.yaml", *more)
    assert said.code == 2
    assert message in said.err


def test_whole_transactions_are_checked_without_a_file(folder, call):
    (folder / "out.txt").write_text("a, (b, c)\na, (c, b)\na, d\n")
    said = call("check", "out.txt", *TEXT, "--whole", "--k", 2, "--format", "csv")
    assert (said.code, said.out.splitlines()) == (3, ["transaction,support", '"a, d",1'])
    assert "does not say its k; give --k" in call("check", "out.txt", *TEXT, "--whole").err
    assert "leave --m out" in call("check", "out.txt", *TEXT, "--whole", "--k", 2, "--m", 2).err


items = st.sampled_from("abcde")
elements = items | st.lists(items, min_size=2, max_size=3, unique=True).map(lambda names: tuple(sorted(names)))
releases = st.lists(st.lists(elements, max_size=4, unique=True), min_size=1, max_size=8).map(
    lambda rows: Published(tuple(map(tuple, rows)), tuple(str(number) for number in range(len(rows))))
)
sets = st.lists(st.lists(items, min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=3).map(tuple)


def possible(row) -> set[str]:
    return {item for element in row for item in ((element,) if isinstance(element, str) else element)}


@given(releases, st.integers(1, 4))
def test_transactions_like_too_few_are_those_found_by_comparing_all(published, k):
    release = Generalised.of(published)
    rows = [frozenset(row) for row in release.transactions]
    naive = {(tuple(sorted(row)), sum(row == other for other in rows)) for row in rows if row}
    assert set(KAnonymity(k).violations(release)) == {(row, alike) for row, alike in naive if alike < k}


@given(releases, sets, st.integers(1, 3))
def test_coat_is_broken_where_a_combination_is_held_by_some_and_too_few(published, privacy, k):
    def support(combination) -> int:
        return sum(possible(row).issuperset(combination) for row in published.transactions)

    broken = any(
        0 < support(combination) < k
        for constraint in privacy
        for size in range(1, len(constraint) + 1)
        for combination in combinations(constraint, size)
    )
    found = list(CoatConstraints(k, privacy).violations(Generalised.of(published)))
    assert bool(found) == broken
    assert all(0 < support(itemset) < k and support(itemset) == count for _, itemset, count, _ in found)


@given(releases, st.sets(items, min_size=1, max_size=2), st.integers(1, 3), st.integers(1, 2))
def test_somebody_is_too_sure_where_counting_says_so(published, sensitive, l, m):  # noqa: E741
    release = Generalised.of(published)
    naive = set()
    labels = {label for row in release.transactions for label in row} - sensitive
    for size in range(1, m + 1):
        for known in combinations(sorted(labels), size):
            holders = [row for row in release.transactions if set(known) <= set(row)]
            for item in sensitive:
                having = sum(item in row for row in holders)
                if having * l > len(holders):
                    naive.add((known, item, having, len(holders)))
    broken = set(LmDiversity(l, m, tuple(sensitive)).violations(release))
    assert {row for row in broken if row[3] is not None} == naive
    hiding = {label for label, members in release.members.items() if len(members) > 1 and sensitive & set(members)}
    assert {known for known, *_, of in broken if of is None} == {(label,) for label in hiding}


@given(releases)
def test_sets_are_whole_where_every_item_has_one_way_to_be_shown(published):
    ways = Counter()
    for element in {element for row in published.transactions for element in row}:
        for item in (element,) if isinstance(element, str) else element:
            ways[item] += 1
    hidden = {
        item for row in published.transactions for element in row if isinstance(element, tuple) for item in element
    }
    broken = {itemset[0] for _, itemset in WholeSets().violations(Generalised.of(published))}
    assert broken == {item for item in hidden if ways[item] > 1}


def test_that_k_1_asks_for_nothing_is_told(call, tmp_path):
    (tmp_path / "d.txt").write_text("a, b\na, c\n")
    for k, asks in ((1, False), (2, True)):
        said = call("check", tmp_path / "d.txt", "--input", "basket", "--k", k, "--m", 1).err
        assert ("note: k = 1 asks for nothing: whatever occurs is in one record or more" in said) is not asks
