"""Disassociation: golden releases, the papers' examples, a naive twin, and what every release must have."""

import json
import random
from collections import Counter
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.anonymisers.kernels import disassociation as kernel
from decloak.anonymisers.kernels.disassociation import default_max_cluster, disassociate
from decloak.anonymisers.kernels.horpart import horizontal
from decloak.anonymisers.kernels.refine import Leaf, refined
from decloak.anonymisers.kernels.verpart import anonymous_chunk, held_rows, no_empty_record, vertical
from decloak.data.dataset import Dataset
from decloak.errors import DecloakError
from decloak.store.opening import connect_readonly
from fidelity import check_release
from naive_disassociation import Refined, anonymous, disassociated, horpart, verpart

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "disassociation.json").read_text())

ITEMS = [f"i{number}" for number in range(8)]
RECORDS = st.lists(st.sets(st.sampled_from(ITEMS), min_size=1), min_size=4, max_size=24)
SKEWED = st.lists(
    st.builds(
        lambda head, rare: head | rare,
        st.sets(st.sampled_from("ab"), min_size=1),
        st.sets(st.sampled_from("pqrstu"), max_size=2),
    ),
    min_size=4,
    max_size=20,
)
PARAMETERS = st.tuples(st.integers(2, 4), st.integers(1, 3), st.integers(0, 8), st.booleans(), st.booleans())


def chunk_object(chunk):
    return {"items": list(chunk.items), "subrecords": [list(one) for one in chunk.subrecords]}


def release_object(release):
    return {
        "k": release.k,
        "m": release.m,
        "clusters": [
            {
                "size": one.size,
                "record_chunks": list(map(chunk_object, one.record_chunks)),
                "term_chunk": list(one.term_chunk),
            }
            for one in release.clusters
        ],
        "joints": [
            {"leaves": list(one.clusters), "shared_chunks": list(map(chunk_object, one.shared_chunks))}
            for one in release.joints
        ],
    }


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{case['kind']}-{case['id']}")
def test_golden_release_and_truth(case):
    release, truth, *_ = disassociate(
        case["records"], k=case["k"], m=case["m"], max_cluster=case["max_size"], refine=case["refine"]
    )
    assert release_object(release) == case["release"]
    assert [list(ids) for ids in truth] == case["truth"]
    assert check_release(release, original=case["records"], truth=truth) == []


def test_table_2_of_alshuhail_and_shao_becomes_table_3():
    table_2 = [
        ["vessel", "blood", "treatment", "lung", "catheterisation"],
        ["cancer", "radiotherapy", "lung", "treatment"],
        ["cancer", "lung", "blood", "tumor", "biopsy"],
        ["cancer", "blood", "treatment", "tumor", "biopsy"],
    ]
    (cluster,) = disassociate(table_2, k=2, m=2, max_cluster=4).release.clusters
    c1, c2 = cluster.record_chunks
    assert cluster.size == 4
    assert Counter(map(frozenset, c1.subrecords)) == Counter(
        [
            frozenset({"blood", "treatment", "lung"}),
            frozenset({"cancer", "lung", "treatment"}),
            frozenset({"cancer", "lung", "blood"}),
            frozenset({"cancer", "blood", "treatment"}),
        ]
    )
    assert c2.subrecords == (("biopsy", "tumor"), ("biopsy", "tumor"))
    assert set(cluster.term_chunk) == {"vessel", "catheterisation", "radiotherapy"}


@pytest.mark.parametrize(("strict", "parts"), [(False, [[0, 1, 2, 3]]), (True, [[0, 2, 3], [1]])])
def test_the_printed_stop_test_would_split_table_2(strict, parts):
    blood, cancer, lung, treatment = range(4)
    records = [(blood, lung, treatment), (cancer, lung, treatment), (blood, cancer, lung), (blood, cancer, treatment)]
    assert list(horizontal(records, 4, strict)) == parts


def test_figure_1_of_barakat_rebuilt():
    worked = GOLDEN["worked"]["barakat_fig1_rebuilt"]
    release = disassociate(worked["records"], k=worked["k"], m=worked["m"], max_cluster=9).release
    assert release_object(release)["clusters"] == [worked["release"]]


@pytest.mark.parametrize("example", GOLDEN["small"]["km"])
def test_golden_chunks_are_anonymous_or_not(example):
    rows = [tuple(map(ord, row)) for row in example["rows"]]
    held = held_rows(rows)
    takes = anonymous_chunk(held, example["k"], example["m"])
    frequent = all(rows.bit_count() >= example["k"] for rows in held.values())
    assert (frequent and all(map(takes, sorted(held)))) == example["km"]


@pytest.mark.parametrize("example", [one for one in GOLDEN["small"]["lemma2"] if not one[2]])
def test_golden_rule_that_no_record_is_empty(example):
    size, counts, _, k, m, holds = example
    held = {number: (1 << count) - 1 for number, count in enumerate(counts)}
    assert no_empty_record([[number] for number in held], held, size, k, m) == holds


@settings(max_examples=150)
@given(RECORDS | SKEWED, PARAMETERS)
def test_equals_the_naive_twin(records, parameters):
    k, m, above, refine, strict = parameters
    release, truth, *_ = disassociate(records, k=k, m=m, max_cluster=k + above, refine=refine, strict=strict)
    clusters, joints, expected = disassociated(records, k, m, k + above, refine, strict)
    assert [
        (one.size, tuple((c.items, c.subrecords) for c in one.record_chunks), one.term_chunk)
        for one in release.clusters
    ] == clusters
    assert [
        (one.clusters, tuple((c.items, c.subrecords) for c in one.shared_chunks)) for one in release.joints
    ] == joints
    assert list(truth) == expected


def joints_of(clusters, k, m):
    """What REFINE makes of clusters given as records, the kernel's answer and the twin's."""
    leaves = [Leaf(rows, held_rows(rows), *vertical(held_rows(rows), len(rows), k, m)) for rows in clusters]
    joints = refined(leaves, k, m)
    found = [
        (list(joint.leaves), [sorted(filter(None, joint.contributions(leaves, chunk))) for chunk in joint.chunks])
        for joint in joints
    ]
    sets = [list(map(frozenset, rows)) for rows in clusters]
    twin = Refined([(rows, *verpart(rows, k, m)) for rows in sets], k, m)
    expected = [(members, [list(subrecords) for _, subrecords in chunks]) for members, chunks in twin.joints]
    assert [set(leaf.terms) for leaf in leaves] == twin.terms
    return found, expected


@settings(max_examples=150)
@given(
    st.lists(st.lists(st.sets(st.integers(1, 4)), min_size=3, max_size=4), min_size=2, max_size=5),
    st.integers(2, 3),
    st.integers(1, 3),
)
def test_refine_equals_its_twin_on_any_clusters(clusters, k, m):
    found, expected = joints_of([[(0, *sorted(row)) for row in rows] for rows in clusters], k, m)
    assert found == expected


def test_a_shared_chunk_with_an_item_of_a_record_chunk_inside_is_k_anonymous():
    """u is in the record chunk of the first cluster: {u, w} and {w} may share a chunk only if both were k times."""
    t, u, w, x = range(4)
    clusters = [
        [(t, u, w, x), (t, u, x), (u, x)],
        [(t, u, w, 5), (5,), (5,)],
        [(u, w, 6), (u, w, 6), (6,)],
    ]
    found, expected = joints_of(clusters, k=3, m=2)
    assert found == expected == [([0, 1], [[(t,)] * 3]), ([0, 1, 2], [[(w,)] * 4, [(u,)] * 3])]


def test_a_shared_chunk_with_an_item_of_an_inner_shared_chunk_is_k_anonymous():
    """4 is in the shared chunk of clusters 1 and 3, so 4 and 3 may not share the last chunk."""
    clusters = [
        [(1, 2, 4), (4,), (2, 3)],
        [(11,), (11,), (2, 4, 11), (1, 2, 3, 11), (11,)],
        [(1, 2, 13), (13,), (3, 13), (13,)],
        [(1, 2, 3, 4, 14), (2, 3, 14), (4, 14)],
        [(1, 3, 4), (2, 3), (1, 2), (1, 2, 4)],
    ]
    found, expected = joints_of(clusters, k=3, m=1)
    assert found == expected
    assert [members for members, _ in found] == [[0, 2], [1, 3], [0, 1, 2, 3], [0, 1, 2, 3, 4]]
    assert found[-1][1] == [[(4,)] * 4, [(3,)] * 3]


@settings(max_examples=80)
@given(RECORDS | SKEWED, PARAMETERS)
def test_every_release_has_every_property(records, parameters):
    k, m, above, refine, strict = parameters
    release, truth, *_ = disassociate(records, k=k, m=m, max_cluster=k + above, refine=refine, strict=strict)
    assert check_release(release, original=records, truth=truth) == []
    assert sorted(one for ids in truth for one in ids) == list(range(len(records)))
    joined = {one for joint in release.joints for one in joint.clusters}
    for number, (cluster, ids) in enumerate(zip(release.clusters, truth, strict=True)):
        assert k <= cluster.size <= max(k + above, 2 * k - 2) + k - 1
        rows = [frozenset(records[one]) for one in ids]
        chunks = cluster.record_chunks
        assert all(anonymous(chunk.subrecords, k, m) for chunk in chunks)
        assert all(list(chunk.subrecords) == sorted(chunk.subrecords) for chunk in chunks)
        order = Counter(item for row in rows for item in row)
        rare = all(order[item] < k for item in cluster.term_chunk)
        assert rare or len(cluster.term_chunk) == 1
        if number not in joined and len(cluster.term_chunk) != 1:
            assert_maximal(chunks, rows, k, m)


def assert_maximal(chunks, rows, k, m):
    for number, chunk in enumerate(chunks):
        for later in chunks[number + 1 :]:
            for item in later.items:
                assert not anonymous([row & {*chunk.items, item} for row in rows], k, m)


@settings(max_examples=80)
@given(RECORDS | SKEWED, PARAMETERS, st.randoms(use_true_random=False))
def test_no_order_of_the_records_shows(records, parameters, shuffler):
    """No tie is decided by a record's number: every permutation of the records gives the same release."""
    k, m, above, refine, strict = parameters
    shuffled = list(records)
    shuffler.shuffle(shuffled)
    options = {"k": k, "m": m, "max_cluster": k + above, "refine": refine, "strict": strict}
    release, truth, *_ = disassociate(records, **options)
    again, other_truth, *_ = disassociate(shuffled, **options)
    assert again == release
    for ids, others in zip(truth, other_truth, strict=True):
        assert Counter(frozenset(records[one]) for one in ids) == Counter(frozenset(shuffled[one]) for one in others)


@settings(max_examples=40)
@given(RECORDS, PARAMETERS)
def test_many_records_are_divided_as_few_are(records, parameters):
    k, m, above, refine, strict = parameters
    options = {"k": k, "m": m, "max_cluster": k + above, "refine": refine, "strict": strict}
    made = disassociate(records, **options)
    with patch.object(kernel, "LARGE", 0):
        assert disassociate(records, **options) == made


@settings(max_examples=40)
@given(RECORDS, PARAMETERS)
def test_names_matter_only_by_their_order(records, parameters):
    k, m, above, refine, strict = parameters
    options = {"k": k, "m": m, "max_cluster": k + above, "refine": refine, "strict": strict}
    renamed = {item: f"\U0001f9a0 {number}" for number, item in enumerate(ITEMS)}
    release = release_object(disassociate(records, **options).release)
    other = release_object(disassociate([[renamed[item] for item in one] for one in records], **options).release)
    text = json.dumps(release)
    for old, new in renamed.items():
        text = text.replace(json.dumps(old), json.dumps(new))
    assert json.loads(text) == other


def test_rows_of_the_truth_hold_the_anchor_as_published():
    records = [["b"], ["a", "b"], ["c"], ["a"], ["a", "b"], ["b", "d"]]
    release, truth, *_ = disassociate(records, k=2, m=2, max_cluster=6)
    anchor = release.clusters[0].record_chunks[0]
    rows = [tuple(sorted(set(records[one]).intersection(anchor.items))) for one in truth[0]]
    assert rows == [*anchor.subrecords, *[()] * (6 - len(anchor.subrecords))]
    assert truth == ((3, 1, 4, 0, 5, 2),)


@pytest.mark.parametrize(("m", "chunks"), [(3, ["abcd"]), (4, ["abc", "d"])])
def test_a_chunk_is_held_to_itemsets_of_m_items_and_no_more(m, chunks):
    records = ["abc", "abd", "acd", "bcd", "abcd"]
    (cluster,) = disassociate(map(list, records), k=2, m=m, max_cluster=5).release.clusters
    assert ["".join(chunk.items) for chunk in cluster.record_chunks] == chunks


def test_long_records_all_alike_need_no_deep_recursion():
    record = tuple(range(3000))
    parts = list(horizontal([record] * 10, 4))
    assert [len(part) for part in parts] == [3, 3, 4]


def test_nested_records_go_as_deep_as_they_are_long():
    records = [tuple(range(length, 200)) for length in range(150)]
    sets = [frozenset(record) for record in records]
    assert list(horizontal(records, 2)) == horpart(sets, list(range(150)), frozenset(), 2, False)


def test_a_dataset_gives_its_origin_and_an_item_counts_once():
    data = Dataset((("a", "b"), ("a", "b")), ("1", "2"), "shop.csv")
    release, *_ = disassociate(data, k=2, m=1, max_cluster=2)
    assert release.origin == "shop.csv"
    assert release.clusters[0].record_chunks[0].subrecords == (("a", "b"), ("a", "b"))
    again = disassociate(iter([["a", "b", "a"], iter("ab")]), k=2, m=1, max_cluster=2).release
    assert again.clusters == release.clusters


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k": 1}, "k is '1'; give a whole number of at least 2"),
        ({"k": True}, "k is 'True'"),
        ({"k": 2.0}, "k is '2.0'"),
        ({"m": 0}, "m is '0'; give a whole number of at least 1"),
        ({"max_cluster": 1}, "max_cluster is '1'"),
        ({"k": 3, "max_cluster": 2}, "max_cluster is 2 and k is 3"),
        ({"k": 4, "max_cluster": 4}, "3 records cannot hide among k = 4"),
        ({"data": []}, "0 records cannot hide among k = 2"),
        ({"data": [["a"], [], ["a"]]}, "record 2 has no items; disassociation takes no empty ones"),
        ({"data": [["a"], "milk"]}, "record 2 is 'milk', not a list of items"),
        ({"data": [["a"], None]}, "record 2 is 'None', not a list of items"),
        ({"data": [["a"], [3]]}, "an item of record 2 is '3', not a string"),
    ],
)
def test_what_cannot_be_disassociated_is_said_in_one_line(changed, message):
    options = {"data": [["a"], ["a"], ["b"]], "k": 2, "m": 2, "max_cluster": 4} | changed
    with pytest.raises(DecloakError) as error:
        disassociate(options.pop("data"), **options)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("records", "k", "size"), [(3, 3, 3), (16, 3, 4), (4000, 5, 1000), (9999, 11, 1000)])
def test_clusters_have_a_quarter_of_the_records_by_default(records, k, size):
    assert default_max_cluster(records, k) == size


def test_the_default_size_of_clusters_is_that_size_and_is_told(tmp_path):
    rng = random.Random(3)
    data = [rng.sample("abcdefgh", rng.randint(1, 4)) for _ in range(40)]
    release = decloak.anonymise(data, "disassociation", k=3, m=2)
    assert release.clusters == decloak.anonymise(data, "disassociation", k=3, m=2, max_cluster=10).clusters
    assert release.parameters == {"max_cluster": 10, "k": 3, "m": 2, "order": "sorted"}
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: d.jsonl, format: jsonl}\nanonymise: {method: disassociation, k: 3, m: 2}\n"
        "attack: [cover]\n"
    )
    decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        (parameters,) = connection.execute("select parameters from release").fetchone()
        assert json.loads(parameters)["max_cluster"] == 10
        clusters = connection.execute("select size from cluster").fetchall()
    assert sorted(size for (size,) in clusters) == sorted(cluster.size for cluster in release.clusters)


def test_many_items_at_a_large_m_stay_quick():
    """Itemsets on the same rows are one: 60 items that always go together have one set of rows, not 2^60 itemsets."""
    rng = random.Random(1)
    records = [[f"a{number}" for number in range(60)] + [f"b{rng.randrange(3)}"] for _ in range(30)]
    release, *_ = disassociate(records, k=2, m=8, max_cluster=30)
    assert len(release.clusters[0].record_chunks[0].items) >= 60
