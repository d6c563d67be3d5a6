"""The file of a disassociated release: writing and reading give the same back; every fault has its line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.data.disassociated import Chunk, Cluster, Disassociated, JointCluster, text_table
from decloak.data.formats.lines import LONGEST_LINE, read_lines
from decloak.data.formats.release_header import LONGEST_RELEASE
from decloak.errors import DecloakError

HEADER = '{"decloak": "release", "version": 1, "method": "disassociation", "k": 3, "m": 2}'
CLUSTER = (
    '{"size": 3, "record_chunks": [{"items": ["a", "b"], "subrecords": [["a"], ["a", "b"]]}], "term_chunk": ["c"]}'
)
JOINT = '{"joint": [0, 1], "shared_chunks": [{"items": ["d"], "subrecords": [["d"], ["d"]]}]}'

HOSTILE = list(" ,;\t\n\r\"'()[]{}\\/-0aé日\u2028\x85\x1c\ufeff\u0301🦠")
NAMES = st.text(st.sampled_from(HOSTILE), min_size=1, max_size=5).filter(str.strip)


@st.composite
def chunks(draw, pool, size):
    """Chunks over a cut of the pool, in any order."""
    parts = []
    while pool and draw(st.booleans()):
        items = [pool.pop() for _ in range(draw(st.integers(1, len(pool))))]
        one = st.lists(st.sampled_from(items), min_size=1, unique=True).map(tuple)
        parts.append(Chunk(tuple(items), tuple(draw(st.lists(one, max_size=size)))))
    return tuple(parts)


@st.composite
def releases(draw):
    names = draw(st.lists(NAMES, max_size=8, unique=True))
    clusters = []
    for _ in range(draw(st.integers(1, 3))):
        pool = draw(st.permutations(names))
        size = draw(st.integers(1, 4))
        parts = draw(chunks(pool, size))
        clusters.append(Cluster(size, parts, tuple(pool)))
    joints = []
    if len(clusters) > 1 and draw(st.booleans()):
        joints.append(JointCluster((1, 0), draw(chunks(draw(st.permutations(names)), 2))))
    bounds = st.none() | st.integers(1, 9)
    return Disassociated(tuple(clusters), tuple(joints), draw(bounds), draw(bounds))


def written(folder, *lines):
    file = folder / "release.jsonl"
    file.write_bytes("\n".join(lines).encode())
    return file


def read_disassociated(path):
    return Disassociated.of_lines(read_lines(path, longest=LONGEST_RELEASE))


@settings(max_examples=100)
@given(releases())
def test_reading_is_the_inverse_of_writing(tmp_path_factory, release):
    path = tmp_path_factory.mktemp("release") / "r.jsonl"
    release.write(path)
    assert read_disassociated(path) == replace(release, origin=str(path))
    again = path.with_name("again.jsonl")
    read_disassociated(path).write(again)
    assert again.read_bytes() == path.read_bytes()


def test_the_file_is_the_documented_one(tmp_path):
    part = Chunk(("a", "b"), (("a",), ("a", "b")))
    shared = JointCluster((0, 1), (Chunk(("d",), (("d",), ("d",))),))
    release = Disassociated((Cluster(3, (part,), ("c",)),) * 2, (shared,), 3, 2)
    release.write(tmp_path / "r.jsonl")
    assert (tmp_path / "r.jsonl").read_text().splitlines() == [HEADER, CLUSTER, CLUSTER, JOINT]


def test_a_release_of_the_anonymiser_is_read_back(tmp_path):
    records = [["a", "b", "x"], ["a", "b", "y"], ["c", "x"], ["c", "y"], ["a"], ["c"]]
    release = disassociate(records, k=2, m=2, max_cluster=3, refine=True).release
    release.write(tmp_path / "r.jsonl")
    assert read_disassociated(tmp_path / "r.jsonl") == replace(release, origin=str(tmp_path / "r.jsonl"))


def test_a_cluster_may_be_longer_than_other_lines(tmp_path):
    name = "x" * 1000
    release = Disassociated((Cluster(2000, (Chunk((name,), ((name,),) * 2000),), ()),), (), 2, 2)
    release.write(tmp_path / "r.jsonl")
    assert (tmp_path / "r.jsonl").stat().st_size > LONGEST_LINE
    assert read_disassociated(tmp_path / "r.jsonl").clusters == release.clusters


def changed(line, **fields):
    return json.dumps(json.loads(line) | fields)


def with_chunk(**fields):
    part = {"items": ["a", "b"], "subrecords": [["a"], ["a", "b"]]} | fields
    return changed(CLUSTER, record_chunks=[part])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["[]"], "1: the first line is not the header"),
        ([CLUSTER], "1: the first line is not the header"),
        (["3"], "1: the first line is not the header"),
        ([HEADER], "1: a release without clusters"),
        ([changed(HEADER, version=2), CLUSTER], "1: unknown version '2'; this decloak reads and writes version 1"),
        ([changed(HEADER, version=True), CLUSTER], "1: unknown version 'True'"),
        ([changed(HEADER, version=1.0), CLUSTER], "1: unknown version '1.0'"),
        ([changed(HEADER, decloak="run"), CLUSTER], "1: a file of 'run', not a release"),
        (
            [changed(HEADER, method="disasociation")],
            "1: unknown method 'disasociation'; did you mean 'disassociation'?",
        ),
        ([changed(HEADER, method=[])], "1: unknown method '[]'"),
        ([changed(HEADER, k=0)], "1: k is '0'; write a whole number from 1"),
        ([changed(HEADER, m=None)], "1: m is 'None'"),
        ([changed(HEADER, n=3)], "1: unknown key 'n' in a header"),
        (['{"decloak": "release", "version": 1}'], "1: no key 'method' in a header"),
        ([HEADER, "[1]"], "2: a cluster is not a JSON object"),
        ([HEADER, HEADER], "2: unknown key 'decloak' in a cluster"),
        ([HEADER, changed(CLUSTER, sise=3)], "2: unknown key 'sise' in a cluster; did you mean 'size'?"),
        ([HEADER, '{"size": 3, "record_chunks": []}'], "2: no key 'term_chunk' in a cluster"),
        ([HEADER, '{"size": 3, "size": 3}'], "2: the key 'size' is there twice"),
        ([HEADER, changed(CLUSTER, size="3")], "2: size is '3'"),
        ([HEADER, changed(CLUSTER, size=0)], "2: size is '0'"),
        ([HEADER, changed(CLUSTER, size=True)], "2: size is 'True'"),
        ([HEADER, changed(CLUSTER, size=10**12)], "2: size is '1000000000000'"),
        ([HEADER, changed(CLUSTER, size=1)], "2: record_chunks[0] has 2 sub-records of 1 records"),
        ([HEADER, changed(CLUSTER, record_chunks={})], "2: record_chunks is '{}', not a list"),
        ([HEADER, changed(CLUSTER, record_chunks=[3])], "2: record_chunks[0] is not a JSON object"),
        ([HEADER, changed(CLUSTER, term_chunk="c")], "2: term_chunk is 'c', not a list"),
        ([HEADER, changed(CLUSTER, term_chunk=["c", "c"])], "2: term_chunk has 'c' twice"),
        ([HEADER, changed(CLUSTER, term_chunk=[None])], "2: term_chunk has 'None', not a string"),
        ([HEADER, changed(CLUSTER, term_chunk=[[]])], "2: term_chunk has '[]', not a string"),
        ([HEADER, changed(CLUSTER, term_chunk=["b"])], "2: 'b' is in two chunks"),
        ([HEADER, changed(CLUSTER, term_chunk=[" "])], "2: an empty name"),
        ([HEADER, changed(CLUSTER, term_chunk=["\x00"])], "2: a zero character in the name '\\x00'"),
        ([HEADER, changed(CLUSTER, term_chunk=["\ud800"])], "2: half a surrogate pair"),
        ([HEADER, with_chunk(item=[])], "2: unknown key 'item' in record_chunks[0]; did you mean 'items'?"),
        ([HEADER, with_chunk(items=[])], "2: record_chunks[0] has no items"),
        ([HEADER, with_chunk(items=["a", "a"])], "2: record_chunks[0].items has 'a' twice"),
        ([HEADER, with_chunk(subrecords=[["a"], []])], "2: record_chunks[0].subrecords[1] is empty"),
        ([HEADER, with_chunk(subrecords=[["z"]])], "2: record_chunks[0].subrecords[0] has 'z', which is not of"),
        ([HEADER, with_chunk(subrecords=[["a", "a"]])], "2: record_chunks[0].subrecords[0] has 'a' twice"),
        ([HEADER, with_chunk(subrecords=["a"])], "2: record_chunks[0].subrecords[0] is 'a', not a list"),
        ([HEADER, CLUSTER, ""], None),
        ([HEADER, CLUSTER, "", CLUSTER], "3: an empty line"),
        ([HEADER, CLUSTER, JOINT], "3: unknown cluster '1'; clusters are 0 to 0"),
        ([HEADER, JOINT], "2: unknown cluster '0'"),
        ([HEADER, CLUSTER, CLUSTER, changed(JOINT, joint=[0, True])], "4: unknown cluster 'True'"),
        ([HEADER, CLUSTER, CLUSTER, changed(JOINT, joint=[0, -1])], "4: unknown cluster '-1'"),
        ([HEADER, CLUSTER, CLUSTER, changed(JOINT, joint=[0, "1"])], "4: unknown cluster '1'"),
        ([HEADER, CLUSTER, CLUSTER, changed(JOINT, joint=[0, 0])], "4: a joint cluster needs two clusters or more"),
        ([HEADER, CLUSTER, CLUSTER, changed(JOINT, joint=[])], "4: a joint cluster needs two clusters or more"),
        ([HEADER, CLUSTER, CLUSTER, changed(JOINT, joint=0)], "4: joint is '0', not a list"),
        ([HEADER, CLUSTER, CLUSTER, changed(JOINT, size=3)], "4: unknown key 'size' in a joint cluster"),
        ([HEADER, CLUSTER, CLUSTER, '{"joint": [0, 1]}'], "4: no key 'shared_chunks' in a joint cluster"),
        ([HEADER, CLUSTER, CLUSTER, JOINT, CLUSTER], "5: a cluster after a joint cluster"),
        (
            [HEADER, CLUSTER, CLUSTER, changed(JOINT, shared_chunks=json.loads(JOINT)["shared_chunks"] * 2)],
            "4: 'd' is in two chunks",
        ),
        ([HEADER, "{'size': 3}"], "2:2: not JSON"),
        ([HEADER, CLUSTER + CLUSTER], "2:"),
        ([HEADER, "[" * 200_000], "2: not JSON: nested too deeply"),
        ([HEADER, '{"size": ' + "9" * 5000 + "}"], "2: not JSON: nested too deeply, or a number too large"),
        ([HEADER, '{"size": NaN, "record_chunks": [], "term_chunk": []}'], "2: size is 'nan'"),
    ],
)
def test_every_fault_has_its_line(tmp_path, lines, message):
    file = written(tmp_path, *lines)
    if message is None:
        assert len(read_disassociated(file).clusters) == 1
        return
    with pytest.raises(DecloakError) as error:
        read_disassociated(file)
    assert str(error.value).startswith(f"{file}:{message}")
    assert "\n" not in str(error.value)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xff\xfe", b"\x00", b"\x1f\x8b\x08", b"{}\r{}"])
def test_what_is_no_text_is_refused(tmp_path, data):
    file = tmp_path / "r.jsonl"
    file.write_bytes(data)
    with pytest.raises(DecloakError):
        read_disassociated(file)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(DecloakError, match="no such file"):
        read_disassociated(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    "release",
    [
        Disassociated(()),
        Disassociated((Cluster(0, (), ()),)),
        Disassociated((Cluster(2, (Chunk(("a",), (("b",),)),), ()),)),
        Disassociated((Cluster(2, (), ("\ud800",)),)),
        Disassociated((Cluster(2, (), ("a",)),), (JointCluster((0, 1), ()),)),
        Disassociated((Cluster(2, (), ("a",)),), k=0),
    ],
)
def test_what_would_be_refused_is_not_written(tmp_path, release):
    file = tmp_path / "r.jsonl"
    with pytest.raises(DecloakError):
        release.write(file)
    assert not file.exists()


def test_the_schema_names_the_keys_that_are_read(tmp_path):
    reference = Path(__file__).parents[2] / "docs" / "reference"
    schema = json.loads((reference / "release.schema.json").read_text())
    by_title = {one["title"]: one for one in [*schema["oneOf"], *schema["$defs"].values()]}
    file = {"header": HEADER, "cluster": CLUSTER, "joint cluster": JOINT}
    file["header"], file["totals"] = changed(HEADER, cover="cure"), '{"totals": {"a": 3}}'
    for title, line in file.items():
        assert set(by_title[title]["properties"]) == set(json.loads(line))
    assert by_title["header"]["required"] == ["decloak", "version", "method"]
    assert set(by_title["chunk"]["properties"]) == {"items", "subrecords"}
    assert all(one["additionalProperties"] is False for one in by_title.values())


def test_a_release_reads_like_table_3_of_alshuhail_and_shao():
    table_2 = ["vessel blood treatment lung catheterisation", "cancer radiotherapy lung treatment"]
    table_2 += ["cancer lung blood tumor biopsy", "cancer blood treatment tumor biopsy"]
    release = disassociate([record.split() for record in table_2], k=2, m=2, max_cluster=4).release
    assert text_table(release).splitlines() == [
        "cluster 0: 4 records",
        "C1                          C2               terms",
        "{blood, cancer, lung}       {biopsy, tumor}  {catheterisation, radiotherapy, vessel}",
        "{blood, cancer, treatment}  {biopsy, tumor}",
        "{blood, lung, treatment}",
        "{cancer, lung, treatment}",
    ]


def test_the_text_of_hostile_names_stays_in_its_cell():
    shared = JointCluster((0, 1), (Chunk(("\u202e",), (("\u202e",),)),))
    release = Disassociated((Cluster(2, (), ("a\n\x1b[2J",)), Cluster(1, (), ())), (shared,))
    assert text_table(release).splitlines() == [
        "cluster 0: 2 records", "terms", "{a\\x0a\\x1b[2J}", "",
        "cluster 1: 1 records", "terms", "",
        "shared by clusters 0, 1", "S1", "{\\u202e}",
    ]  # fmt: skip
