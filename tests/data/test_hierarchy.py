"""Hierarchies: read from files in four forms with every fault named, numbered as defined, made from data."""

import gzip
import json
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_generalise as naive
from decloak.anonymisers.kernels.building import GROUPINGS, by_cooccurrence, by_relatedness, ordered
from decloak.data.dataset import Dataset
from decloak.data.formats.hierarchy_file import HIERARCHY_FORMATS, read_hierarchy, write_hierarchy
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError

PARENTS = {"flu": "infection", "cold": "infection", "infection": "all", "knee": "all"}
WRITTEN = {
    "parents": "child,parent\nflu,infection\ncold,infection\ninfection,all\nknee,all\n",
    "indented": "all\n  infection\n    flu\n    cold\n  knee\n",
    "paths": "flu;infection;all\ncold;infection;all\nknee;all\n",
    "nested": "all:\n  infection: [flu, cold]\n  knee:\n",
}
NAMES = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
    str.strip
)


def write(folder, text):
    path = folder / "tree.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def named(parent, name):
    """The same tree under other names."""
    return {name[child]: name[above] for child, above in parent.items()}


@pytest.mark.parametrize("form", HIERARCHY_FORMATS)
def test_every_form_says_the_same(tmp_path, form):
    parents = read_hierarchy(write(tmp_path, WRITTEN[form]), form)
    assert parents == PARENTS
    tree = Hierarchy.from_parents(parents)
    assert tree.labels == ("all", "infection", "flu", "cold", "knee")


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (
            "parents",
            '\ufeffchild , parent\r\nflu,infection\r\n"cold" ,infection\r\ninfection, all \r\nknee,all\r\n\r\n',
        ),
        ("indented", "\n\nall\n\tinfection\n\n\t\tflu\n\t\tcold  \n\tknee\n \n"),
        ("indented", "  all\n   infection\n      flu\n      cold\n   knee"),
        ("paths", "flu;infection;infection;all\n cold ; infection;all\nknee;knee;all"),
        ("nested", '{"all": [{"infection": ["flu", "cold"]}, "knee"]}'),
        ("nested", "all: [{infection: {flu: , cold: []}, knee: {}}]"),
        ("nested", '"all":\n- infection:\n  - flu\n  - cold\n- knee\n'),
    ],
)
def test_what_is_written_otherwise_and_means_the_same(tmp_path, form, text):
    assert read_hierarchy(write(tmp_path, text), form) == PARENTS


def test_names_are_kept_as_they_are(tmp_path):
    assert read_hierarchy(write(tmp_path, "all\n  a\tb\n  'c', d\n"), "indented") == {"a\tb": "all", "'c', d": "all"}
    text = 'child,parent\n"a, ""b""",all\n;,all\n'
    assert read_hierarchy(write(tmp_path, text), "parents") == {'a, "b"': "all", ";": "all"}
    assert read_hierarchy(write(tmp_path, '"a;b";"*"\n'), "paths") == {"a;b": "*"}
    assert read_hierarchy(write(tmp_path, "10: [7, 010, no]".replace("10:", '"10":', 1)), "nested") == {
        "7": "10",
        "010": "10",
        "no": "10",
    }


@pytest.mark.parametrize("form", ["indented", "nested"])
def test_children_keep_the_order_of_the_file_whatever_is_below_them(tmp_path, form):
    text = {"indented": "all\n A\n  a\n b\n C\n  c\n", "nested": "all: {A: [a], b: , C: [c]}"}[form]
    tree = Hierarchy.from_parents(read_hierarchy(write(tmp_path, text), form))
    assert tree.items == ("a", "b", "c")


@pytest.mark.parametrize(
    ("form", "text", "line", "message"),
    [
        ("parents", "flu,infection\n", 1, r"expected the header child,parent; then a line"),
        ("parents", "child,parent\nflu\n", 2, r"1 values where the header has 2; put names with commas in quotes"),
        ("parents", "child,parent\na,b,c\n", 2, r"3 values where the header has 2"),
        ("parents", "child,parent\n\na,b\n", 2, r"1 values where the header has 2"),
        ("parents", "child,parent\na,\n", 2, r"an empty name"),
        ("parents", 'child,parent\n"a,b\n', "2:1", r"a quote that is never closed"),
        ("parents", "child,parent\na,A\nb,B\na,B\n", 4, r"'a' is below 'B'; at .*:2 it is below 'A'; a node has one"),
        ("parents", "child,parent\na,A\na,A\n", 3, r"'a' is written twice, first at .*:2; remove one of the two"),
        ("indented", "all\n  A\n    a\n   b\n", 4, r"this indent is between two levels; align it with its siblings"),
        ("indented", "all\n  A\nother\n  b\n", 3, r"a second root, 'other'; indent it below the first line"),
        ("indented", "  all\n    A\n other\n", 3, r"a second root, 'other'"),
        ("indented", "all\n  A\n  A\n", 3, r"'A' is written twice, first at .*:2"),
        ("indented", "all\n  A\n    x\n  B\n    x\n", 5, r"'x' is below 'B'; at .*:3 it is below 'A'"),
        ("indented", "all\n  a\0b\n", 2, r"not UTF-8 text: byte 0x00"),
        ("paths", "flu\n", 1, r"an item without anything above it; write item;group;\*"),
        ("paths", "flu;flu\n", 1, r"an item without anything above it"),
        ("paths", "flu;A;all\n\ncold;A;all\n", 2, r"an empty name"),
        ("paths", "flu;;all\n", 1, r"an empty name"),
        ("paths", "flu;A;all\nflu;A;all\n", 2, r"line 1 is about 'flu' too; an item has one line"),
        ("paths", "flu;A;all\ncold;flu;all\n", 2, r"'flu' is an item in line 1 and a group in line 2; call one"),
        ("paths", "flu;A;all\nA;all\n", 2, r"'A' is an item in line 2 and a group in line 1"),
        ("paths", "flu;A;all\ncold;A;B;all\n", 2, r"'A' is below 'B'; at .*:1 it is below 'all'"),
        ("nested", "[a, b]", "1:1", r"expected a mapping with one root; write all: \{group: \[item, item\]\}"),
        ("nested", "all: [a]\nother: [b]\n", "1:1", r"expected a mapping with one root"),
        ("nested", "{}", "1:1", r"expected a mapping with one root"),
        ("nested", "all:\n  A: [a, a]\n", "2:10", r"'a' is written twice, first at .*:2:7"),
        ("nested", "all:\n  A: [a]\n  A: [b]\n", "3:3", r"the key 'A' is written twice"),
        ("nested", "all: {A: [x], B: [x]}\n", "1:19", r"'x' is below 'B'; at .*:1:11 it is below 'A'"),
        ("nested", "all: [true]\n", "1:7", r"'True' is not a name; put it in quotes"),
        ("nested", "all: [[a]]\n", "1:7", r".* is not a name"),
        ("nested", "all: [a, '']\n", "1:10", r"an empty name"),
        ("nested", "'': [a]\n", "1:1", r"an empty name"),
        ("nested", "all: {1: [a]}\n", "1:7", r"a key must be text; put it in quotes"),
        ("nested", "*: [a]\n", "1:2", r"cannot read the YAML"),
        ("nested", "all: [a\n", "2:1", r"cannot read the YAML"),
        ("nested", "a: " + "[" * 60 + "]" * 60, "1:53", r"nested deeper than 50 levels"),
    ],
)
def test_faults_are_told_with_their_line(tmp_path, form, text, line, message):
    path = write(tmp_path, text)
    with pytest.raises(DecloakError, match=f"{path}:{line}: {message}"):
        read_hierarchy(path, form)


@pytest.mark.parametrize("form", HIERARCHY_FORMATS)
@pytest.mark.parametrize("text", ["", "\n \n", b"\xff\xfe\x00a", "a\rb", "x" * 1_000_001])
def test_weird_files_are_refused_in_one_line(tmp_path, form, text):
    path = write(tmp_path, text)
    with pytest.raises(DecloakError, match=f"^{path}(:1(:[0-9]+)?)?: ") as told:
        read_hierarchy(path, form)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 1000


def test_an_unknown_form_is_answered_with_the_nearest():
    with pytest.raises(DecloakError, match=r"^unknown format of a hierarchy 'path'; did you mean 'paths'"):
        read_hierarchy("tree.txt", "path")
    with pytest.raises(DecloakError, match=r"'x'; one of parents, indented, paths, nested$"):
        read_hierarchy("tree.txt", "x")


@pytest.mark.parametrize(
    ("parents", "faults"),
    [
        ({}, ["a hierarchy without nodes; write a child and its parent"]),
        ({"a": "A", "b": "B"}, ["the hierarchy has 2 roots: 'A', 'B'; put one node above them all"]),
        (dict(zip("abcd", "ABCD", strict=True)), ["the hierarchy has 4 roots: 'A', 'B', 'C' and more; put one node"]),
        ({"a": "a"}, ["a cycle: 'a' is below 'a'; a node cannot be above itself"]),
        ({"a": "b", "b": "a", "c": "b"}, ["a cycle: 'a' is below 'b' is below 'a'; a node cannot"]),
        (
            {"x": "*", "a": "b", "b": "a", "c": "d", "d": "c"},
            ["a cycle: 'a' is below 'b'", "a cycle: 'c' is below 'd'"],
        ),
    ],
)
def test_what_is_no_tree_is_named(parents, faults):
    with pytest.raises(DecloakError) as told:
        Hierarchy.from_parents(parents)
    lines = sorted(str(told.value).split("\n"))
    assert [line[: len(fault)] for line, fault in zip(lines, faults, strict=True)] == faults
    with pytest.raises(DecloakError, match=r"^tree\.csv: "):
        Hierarchy.from_parents(parents, "tree.csv")


@settings(max_examples=150)
@given(naive.parents(9))
def test_a_tree_is_numbered_as_defined(parent):
    twin, tree = naive.Tree(parent), Hierarchy.from_parents(parent)
    assert tree.labels == tuple(twin.nodes)
    assert tree.items == tuple(twin.items)
    assert tree.parents() == twin.parent
    for number, node in enumerate(tree.labels):
        assert tree.number[node] == number
        assert tree.level[number] == twin.level[node]
        assert frozenset(tree.members(number)) == twin.leaves[node]
        assert [tree.labels[above] for above in tree.ancestors(number)] == twin.ancestors(node)
        assert {tree.labels[below] for below in tree.children[number]} == set(twin.children.get(node, ()))
        assert tree.items[tree.first[number]] == tree.members(number)[0]
    assert tree.items == tuple(tree.labels[node] for node in tree.leaf)


@settings(max_examples=80)
@given(parent=naive.parents(6), data=st.data())
def test_a_written_hierarchy_reads_as_the_same(tmp_path_factory, parent, data):
    nodes = sorted({*parent, *parent.values()})
    names = data.draw(st.lists(NAMES, min_size=len(nodes), max_size=len(nodes), unique=True))
    tree = Hierarchy.from_parents(named(parent, dict(zip(nodes, names, strict=True))))
    path = tmp_path_factory.mktemp("tree") / "tree.csv"
    write_hierarchy(tree.parents(), path)
    again = Hierarchy.from_parents(read_hierarchy(path, "parents"))
    assert again.labels == tree.labels
    assert again.parent.tolist() == tree.parent.tolist()


@settings(max_examples=60)
@given(parent=naive.parents(6))
def test_all_forms_of_a_tree_read_as_the_same(tmp_path_factory, parent):
    tree = Hierarchy.from_parents(parent)
    depth = [len(tree.ancestors(node)) for node in range(len(tree.labels))]

    def below(node):
        return {tree.labels[child]: below(child) for child in tree.children[node]}

    paths = [";".join(tree.labels[node] for node in (leaf, *tree.ancestors(leaf))) for leaf in tree.leaf.tolist()]
    written = {
        "indented": "\n".join(" " * depth[node] + label for node, label in enumerate(tree.labels)),
        "paths": "\n".join(paths),
        "nested": json.dumps({tree.labels[0]: below(0)}),
    }
    for form, text in written.items():
        path = tmp_path_factory.mktemp("tree") / "tree.txt"
        path.write_text(text)
        assert Hierarchy.from_parents(read_hierarchy(path, form)).labels == tree.labels


@pytest.mark.parametrize("name", ["", " ", "a\0b", "a\nb", "a\rb", "\ud800"])
def test_names_that_no_file_can_carry_are_not_written(tmp_path, name):
    path = tmp_path / "tree.csv"
    with pytest.raises(DecloakError, match=f"^{path}: .*; give the node another name"):
        write_hierarchy({name: "A"}, path)
    assert not path.exists()


@settings(max_examples=100)
@given(st.integers(1, 60), st.integers(2, 7))
def test_a_balanced_tree_groups_neighbours_and_makes_no_group_of_one(items, fanout):
    names = [f"i{number}" for number in range(items)]
    tree = Hierarchy.balanced([*names, names[0]], fanout)
    assert tree.items == tuple(names)
    sizes = [len(below) for below in tree.children if below]
    assert max(sizes) <= fanout
    assert min(sizes) >= 2 or items == 1
    assert fanout ** int(tree.level[0]) >= items > (fanout ** (int(tree.level[0]) - 1)) * (items > 1)


@pytest.mark.parametrize(("items", "levels"), [(1657, 6), (497, 5), (3340, 7)])
def test_the_levels_of_the_paper_s_data(items, levels):
    assert Hierarchy.balanced(map(str, range(items)), 5).level[0] + 1 == levels


def test_labels_of_a_balanced_tree_differ_from_its_items():
    tree = Hierarchy.balanced(["*", "a", "b", "a..b", "*..a"], 2)
    assert len(set(tree.labels)) == len(tree.labels)
    assert set(tree.items) == {"*", "a", "b", "a..b", "*..a"}


def test_what_cannot_be_balanced_is_refused():
    for fanout in (1, 2.0, "2"):
        with pytest.raises(DecloakError, match=rf"^fanout is '{fanout}'; give a whole number of at least 2"):
            Hierarchy.balanced("ab", fanout)
    with pytest.raises(DecloakError, match=r"^'1' is not the name of a node; give strings"):
        Hierarchy.balanced([1, 2], 2)
    with pytest.raises(DecloakError, match=r"^a hierarchy without items"):
        Hierarchy.balanced([], 2)


def test_items_that_are_not_leaves_are_named_with_their_record():
    tree = Hierarchy.from_parents(PARENTS)
    with pytest.raises(DecloakError, match=r"^record 2: 'infection' is an inner node of the hierarchy, not an item"):
        tree.code([["flu"], ["infection"]])
    with pytest.raises(DecloakError, match=r"^record 1: 'flue' is not in the hierarchy; did you mean 'flu'"):
        tree.code([["flue"]])


def test_items_that_are_not_leaves_are_named_with_both_files(tmp_path):
    path = write(tmp_path, WRITTEN["paths"])
    tree = Hierarchy.read(path, format="paths")
    data = Dataset((("flu",), ("tea",)), ("p7", "p9"), "visits.txt")
    with pytest.raises(DecloakError) as told:
        tree.code(data)
    assert str(told.value) == f"visits.txt: record 'p9': 'tea' is not in the hierarchy {path}; add it as a leaf"
    with pytest.raises(DecloakError, match=r"^record 'p9': 'tea' is not in the hierarchy; add it as a leaf$"):
        Hierarchy.balanced(["flu"], 2).code(Dataset(data.transactions, data.labels))


@pytest.mark.parametrize("form", HIERARCHY_FORMATS)
def test_a_tree_is_read_from_a_file_of_every_form(tmp_path, form):
    path = write(tmp_path, WRITTEN[form])
    tree = Hierarchy.read(path, form)
    assert (tree.labels, tree.origin) == (Hierarchy.from_parents(PARENTS).labels, str(path))
    write(tmp_path, "child,parent\na,A\nb,B\n")
    with pytest.raises(DecloakError, match=f"^{path}: the hierarchy has 2 roots"):
        Hierarchy.read(path, "parents")


@pytest.mark.parametrize("parents", [None, [("a", "A")], {"a": "A", "A": None}, {1: "A"}, {"a": ["A"]}])
def test_parents_are_names_of_nodes(parents):
    with pytest.raises(DecloakError, match=r"^the hierarchy is '|^'.*' is not the name of a node; give strings"):
        Hierarchy.from_parents(parents)


ROWS = st.lists(st.sets(st.sampled_from(["i1", "i2", "i10", "b", "é", "", "i"]), min_size=1), min_size=1, max_size=12)


def dataset(rows):
    return Dataset(tuple(map(tuple, rows)), tuple(str(number) for number in range(len(rows))))


@settings(max_examples=60)
@given(ROWS.map(lambda rows: [sorted(row) for row in rows]), st.integers(2, 4), st.integers(0, 3))
def test_hierarchies_made_from_data_keep_its_items_and_come_out_the_same(rows, fanout, seed):
    data = dataset(rows)
    makers = [lambda by=by: ordered(data, by, fanout, seed) for by in GROUPINGS] + [
        lambda: by_cooccurrence(data, fanout)
    ]
    for make in makers:
        tree = make()
        assert sorted(tree.items) == list(data.items)
        assert tree.labels == make().labels
        assert max(map(len, tree.children)) <= fanout


def test_orders():
    data = dataset([["i10", "b"], ["i9"], ["i9", "i10"], ["i9", "a"]])
    assert ordered(data, "names", 2).items == ("a", "b", "i9", "i10")
    assert ordered(data, "file", 2).items == ("i10", "b", "i9", "a")
    assert ordered(data, "popularity", 2).items == ("i9", "i10", "a", "b")
    assert ordered(data, "random", 2, 1).items != ordered(data, "random", 2, 2).items
    assert ordered(data, "names", 2).origin == "names, fanout 2"


def test_items_that_stand_together_are_grouped():
    rows = [["a", "c"], ["b", "d"]] * 5 + [["a", "d"]]
    tree = by_cooccurrence(dataset(rows), 2)
    groups = [set(tree.members(node)) for node in range(len(tree.labels)) if len(tree.members(node)) == 2]
    assert {"a", "c"} in groups
    assert {"b", "d"} in groups


@pytest.mark.parametrize("far", [None, float("inf"), float("nan"), 9.0])
def test_related_items_are_grouped_and_those_without_a_score_are_far(far):
    near = [("a", "c"), ("b", "d")]
    scores = {pair: 0.1 if pair in near else far for pair in combinations("abcd", 2)}
    tree = by_relatedness("dcba", scores | {("a", "z"): 0.0}, 2)
    groups = [set(tree.members(node)) for node in range(len(tree.labels)) if len(tree.members(node)) == 2]
    if far == 9.0:
        assert groups == [{"a", "c"}, {"b", "d"}]
    assert sorted(tree.items) == list("abcd")
    assert tree.labels == by_relatedness("abcd", scores, 2).labels


@pytest.mark.parametrize("items", ["a", "ab", "abc"])
def test_few_items_without_scores_still_make_a_tree(items):
    assert sorted(by_relatedness(items, {}, 2).items) == list(items)


def test_too_many_items_are_not_learned():
    with pytest.raises(DecloakError, match=r"^a hierarchy of 8,001 items cannot be learned; at most 8,000: order them"):
        by_relatedness([str(number) for number in range(8001)], {}, 5)


@pytest.mark.parametrize(("name", "items", "height"), [("bms_webview2", 3340, 6), ("icd9", 1221, 4)])
def test_real_hierarchies(shared_data, tmp_path, name, items, height):
    path = write(tmp_path, gzip.decompress((shared_data / f"hierarchy_{name}.txt.gz").read_bytes()))
    tree = Hierarchy.from_parents(read_hierarchy(path, "paths"))
    assert (len(tree.items), tree.level[0]) == (items, height)
