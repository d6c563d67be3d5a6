"""Parts of a store as graphs: a cluster, a finding, and the candidates of people."""

import re
from itertools import combinations
from xml.etree import ElementTree

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import decloak
from decloak.data.disassociated import Disassociated
from decloak.errors import DecloakError

HOSTILE = '<a b="c">&amp;]]>\u202e\x1b'
RECORDS = [
    ("asthma", "cough", "fever"), ("asthma", "cough", "inhaler"), ("asthma", "fever"), ("asthma", "cough", HOSTILE),
    ("cast", "sprain"), ("cast", "fever", "sprain"), ("cast", "fever"), ("cast", "crutches"),
]  # fmt: skip


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """A store with a disassociated release of a few records."""
    store = tmp_path_factory.mktemp("cut") / "store.db"
    scenario = {
        "scenario": "cut",
        "anonymise": {"method": "disassociation", "k": 2, "m": 2, "max_cluster": 4},
        "relate": {"measure": "ngd", "source": "release"},
        "attack": ["aba", "cover"],
    }
    return decloak.run(scenario, data=RECORDS, store=store)


def release_of(run) -> Disassociated:
    return decloak.anonymise(RECORDS, "disassociation", k=2, m=2, max_cluster=4)


def labels(graph, kind):
    return sorted(data["label"] for _, data in graph.nodes(data=True) if data["kind"] == kind)


def edges(graph, kind):
    return [(a, b) for a, b, found in graph.edges(data="kind") if found == kind]


def test_a_cluster_has_its_records_and_what_they_may_have(cut):
    release = release_of(cut)
    for number, cluster in enumerate(release.clusters):
        graph = decloak.graph(cut, cluster=number)
        later = sum(len(chunk.subrecords) for chunk in cluster.record_chunks[1:]) + len(cluster.term_chunk)
        assert len(labels(graph, "txn")) == cluster.size
        assert len(edges(graph, "may_have")) == cluster.size * later
        assert len(labels(graph, "cluster")) == 1


def test_candidates_are_the_records_that_may_have_all_known_items(cut):
    release = release_of(cut)
    for known in (["asthma"], ["fever"], ["cough", "fever"], ["cast", "cough"]):
        graph = decloak.graph(cut, knows={"Ann": known})
        expected = 0
        for cluster in release.clusters:
            first = cluster.record_chunks[0] if cluster.record_chunks else None
            rows = [*(first.subrecords if first else ())]
            rows += [()] * (cluster.size - len(rows))
            own = set(first.items if first else ())
            expected += sum(
                all(item in row or (item in cluster.items and item not in own) for item in known) for row in rows
            )
        assert len(edges(graph, "may_be")) == expected
        assert labels(graph, "item") == sorted(known)


def test_a_person_may_be_any_record_that_hides_a_known_item(store):
    graph = decloak.graph(store, knows={"Ann": ["insulin"], "Bob": ["insulin", "aspirin"]})
    whole = decloak.graph(store)
    name = dict(whole.nodes(data="label"))
    shown: dict[str, set[str]] = {}
    members: dict[str, set[str]] = {}
    for a, b, kind in whole.edges(data="kind"):
        if kind == "member_of":
            members.setdefault(b, set()).add(name[a])
    for a, b, kind in whole.edges(data="kind"):
        if kind in ("contains", "published_as"):
            shown.setdefault(name[a], set()).update(members.get(b, {name[b]}))
    for person, known in (("Ann", {"insulin"}), ("Bob", {"insulin", "aspirin"})):
        (node,) = [node for node, label in graph.nodes(data="label") if label == person]
        found = sorted(
            graph.nodes[txn]["label"] for _, txn, kind in graph.out_edges(node, data="kind") if kind == "may_be"
        )
        assert found == sorted(record for record, items in shown.items() if known <= items)


def test_a_finding_has_its_evidence_and_its_alternatives(store):
    graph = decloak.graph(store, finding=1)
    assert labels(graph, "finding") == ["finding 1"]
    assert labels(graph, "txn")


@pytest.mark.parametrize("form", ["gexf", "graphml"])
def test_every_part_is_written_and_read_back(cut, store, tmp_path, form):
    parts = [
        decloak.graph(cut),
        *(decloak.graph(cut, cluster=number) for number in (0, 1)),
        decloak.graph(cut, finding=1),
        decloak.graph(cut, knows={HOSTILE: [HOSTILE], "": ["fever"]}),
        decloak.graph(store, finding=1),
        decloak.graph(store, originals=True),
    ]
    for graph in parts:
        path = tmp_path / f"graph.{form}"
        (nx.write_gexf if form == "gexf" else nx.write_graphml)(graph, path)
        found = nx.read_gexf(path) if form == "gexf" else nx.read_graphml(path, force_multigraph=True)
        assert set(found) == set(graph)
        assert sorted(found.edges()) == sorted(graph.edges())
        for node, label in graph.nodes(data="label"):
            assert found.nodes[node].get("label", "") == label
    assert any("<a b=" in label and "\x1b" not in label for _, label in parts[0].nodes(data="label"))


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
def test_any_name_of_a_person_can_be_written(cut, tmp_path, name):
    graph = decloak.graph(cut, knows={name: ["fever"]})
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert set(nx.read_graphml(tmp_path / "g.graphml", force_multigraph=True)) == set(graph)


def test_a_part_has_nothing_of_the_originals(example, tmp_path):
    original = example / "original.txt"
    secret = "suppressed"
    original.write_text(original.read_text().replace("icd\n", f"icd, {secret}\n", 1))
    run = decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    graphs = [decloak.graph(run), decloak.graph(run, finding=1), decloak.graph(run, knows={"Ann": ["icd"]})]
    assert secret not in {label for graph in graphs for _, label in graph.nodes(data="label")}
    assert secret in {label for _, label in decloak.graph(run, originals=True).nodes(data="label")}
    with pytest.raises(DecloakError, match=f"no published record can have '{secret}'; name items"):
        decloak.graph(run, knows={"Ann": [secret]})


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"cluster": 99}, "the release has no cluster 99; clusters are 0 to "),
        ({"cluster": 0, "finding": 1}, "a graph shows one part, or everything"),
        ({"finding": 1, "originals": True}, "give one of cluster, finding, knows and originals"),
        ({"knows": {"Ann": ["fevr"]}}, "no published record can have 'fevr'; did you mean 'fever'?"),
        ({"variant": 99}, "no variant '99'; variant= one of "),
        ({"variant": "nope", "originals": True}, "no variant 'nope'"),
    ],
)
def test_a_part_that_is_not_there_is_answered(cut, asked, expected):
    with pytest.raises(DecloakError, match=expected.replace("?", r"\?")):
        decloak.graph(cut, **asked)


def test_everything_published_needs_no_run(call, tmp_path):
    (tmp_path / "released.txt").write_text("cough,(fever, asthma)\ncough,fever\n", encoding="utf-8")
    code, _, err = call("import", tmp_path / "released.txt", "--format", "published", "--store", tmp_path / "new.db")
    assert code == 0, err
    labels = {label for _, label in decloak.graph(tmp_path / "new.db").nodes(data="label")}
    assert {"cough", "fever", "asthma"} <= labels
    assert call("graph", "--store", tmp_path / "new.db").code == 0
    assert call("graph", "--run", "2", "--store", tmp_path / "new.db").code == 2
    with pytest.raises(DecloakError, match="no run 'last'"):
        decloak.graph(tmp_path / "new.db", finding=1)


def test_only_disassociated_releases_have_clusters(store):
    with pytest.raises(DecloakError, match="only disassociated releases have clusters"):
        decloak.graph(store, cluster=0)


XML = {"graphml": "{http://graphml.graphdrawing.org/xmlns}", "gexf": "{http://www.gexf.net/1.2draft}"}
TYPES = {
    "string": str,
    "boolean": lambda text: {"true": True, "false": False}[text.lower()],
    "long": int,
    "double": float,
}
TOKEN = re.compile(r"[A-Za-z0-9._:-]+")


def check_graphml(text):
    """Check `text` by the published structure of GraphML: declared and typed data, unique ids, ends that are there."""
    tag = XML["graphml"]
    root = ElementTree.fromstring(text)
    keys = {key.get("id"): key for key in root.iter(f"{tag}key")}
    assert len(keys) == len(list(root.iter(f"{tag}key")))
    assert len({(key.get("for"), key.get("attr.name")) for key in keys.values()}) == len(keys)
    (graph,) = root.iter(f"{tag}graph")
    assert graph.get("edgedefault") == "directed"
    nodes, edges = list(graph.iter(f"{tag}node")), list(graph.iter(f"{tag}edge"))
    for one in (*nodes, *edges):
        assert TOKEN.fullmatch(one.get("id")), one.get("id")
        for data in one.iter(f"{tag}data"):
            key = keys[data.get("key")]
            assert one.tag == tag + key.get("for")
            TYPES[key.get("attr.type")](data.text or "")
            assert data.text != "None"
    check_ids(nodes, edges)


def check_gexf(text):
    """Check `text` by the published structure of GEXF 1.2, as `check_graphml` does."""
    tag = XML["gexf"]
    root = ElementTree.fromstring(text)
    declared = {}
    for attributes in root.iter(f"{tag}attributes"):
        assert attributes.get("class") not in declared
        declared[attributes.get("class")] = {one.get("id"): TYPES[one.get("type")] for one in attributes}
        assert len({one.get("title") for one in attributes}) == len(attributes)
    nodes, edges = list(root.iter(f"{tag}node")), list(root.iter(f"{tag}edge"))
    for one in (*nodes, *edges):
        for value in one.iter(f"{tag}attvalue"):
            declared[one.tag.removeprefix(tag)][value.get("for")](value.get("value"))
            assert value.get("value") != "None"
    assert all(node.get("label") for node in nodes)
    check_ids(nodes, edges)


def check_ids(nodes, edges):
    ids = {node.get("id") for node in nodes}
    assert len(ids) == len(nodes) > 0
    assert len({edge.get("id") for edge in edges}) == len(edges) > 0
    assert {edge.get(end) for edge in edges for end in ("source", "target")} <= ids


def content(graph):
    """Return the nodes and edges of a graph without what a file adds."""
    further = ("id", "networkx_key")
    nodes = {node: dict(data) for node, data in graph.nodes(data=True)}
    edges = [(*ends, {key: value for key, value in data.items() if key not in further})
             for *ends, data in graph.edges(data=True)]  # fmt: skip
    return nodes, sorted(edges, key=repr)


PARTS = {
    "all": {}, "cluster": {"cluster": 0}, "finding": {"finding": 1},
    "knows": {"knows": {"Ann <&\x1b": ["asthma", HOSTILE], "Bob": ["cast"]}},
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_written_as_valid_files_that_networkx_reads_back_equal(cut, call, tmp_path, part):
    graph = decloak.graph(cut, **PARTS[part])
    options = [text for name, value in PARTS[part].items() for text in as_options(name, value)]
    for form, check, reader in (
        ("graphml", check_graphml, lambda file: nx.read_graphml(file, force_multigraph=True)),
        ("gexf", check_gexf, lambda file: nx.read_gexf(file, version="1.2draft")),
    ):
        by_networkx, by_command = tmp_path / f"one.{form}", tmp_path / f"two.{form}"
        getattr(nx, f"write_{form}")(graph, by_networkx)
        done = call("graph", "--format", form, *options, "--store", cut.store, "-o", by_command)
        assert done.code == 0, done
        for file in (by_networkx, by_command):
            check(file.read_text(encoding="utf-8"))
            assert content(reader(file)) == content(graph)
    assert "\x1b" not in by_command.read_text(encoding="utf-8")


def as_options(name, value):
    if name != "knows":
        return [f"--{name}", value]
    return [text for person, items in value.items() for item in items for text in ("--knows", f"{person}={item}")]


def test_two_scores_of_a_pair_are_two_edges(tmp_path):
    for name in ("near", "far"):
        pairs = (
            f"{a},{b},{len(name) / 10}\n" for a, b in combinations(("asthma", "cast", "cough", "fever", "sprain"), 2)
        )
        (tmp_path / f"{name}.csv").write_text("a,b,ngd\n" + "".join(pairs))
    files = [str(tmp_path / f"{name}.csv") for name in ("near", "far")]
    scenario = {
        "scenario": "two measures",
        "anonymise": {"method": "disassociation", "k": 2, "m": 2, "max_cluster": 4},
        "relate": {"measure": "ngd", "source": "scores", "file": files[0]},
        "vary": {"relate.file": files},
        "attack": ["aba"],
    }
    run = decloak.run(scenario, data=RECORDS, store=tmp_path / "s.db")
    edges = decloak.graph(run, variant=run.variants[0].name).edges(data=True)
    assert {data.get("weight") for *_, data in edges if data["kind"] == "related"} >= {0.3, 0.4}


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (["--cluster", 0, "--finding", 1], "give one of cluster, finding, knows and originals"),
        (["--cluster", 0, "--around", "asthma"], "give one of --around, --cluster, --finding and --knows"),
        (["--cluster", 99], "the release has no cluster 99; clusters are 0 to 1"),
        (["--cluster", 0, "--originals"], "give one of cluster, finding, knows and originals"),
        (["--finding", 999], "no finding"),
        (["--knows", "cough"], "write --knows Ann=cough --knows Ann=asthma"),
        (["--knows", "Ann=cougf"], "did you mean 'cough'?"),
        (["--cluster", 0, "--run", 7], "no run '7'"),
    ],
)
def test_a_part_that_is_not_there_is_an_error_with_a_remedy(cut, call, options, remedy):
    said = call("graph", *options, "--store", cut.store)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert remedy in said.err
