"""Cured cover problems: golden cases, a naive twin, properties of every cured release, and its use in a run."""

import json
import random
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.anonymisers.kernels.cure import cured
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.anonymisers.kernels.horpart import horizontal, pooled_parts
from decloak.anonymisers.kernels.verpart import held_rows, vertical
from decloak.attacker.cover import cover_problems
from decloak.counting.disassociation_guarantee import check_release
from decloak.errors import DecloakError
from decloak.measure.pair_links import risky_pairs
from decloak.store.opening import connect_readonly
from naive_cure import cured as naively_cured

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "safe-disassociation.json").read_text())
WAYS = {"suppress_only": {"moves": False}, "terms_price_k": {}, "terms_only": {"term_price": 0}}
RECORDS = st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=5).map(sorted).map(tuple), min_size=4, max_size=18)
NAMED = st.lists(st.sets(st.sampled_from("abcdefg"), min_size=1), min_size=6, max_size=30)


def bits(rows):
    return sum(1 << row for row in rows)


def chunks_of(healthy, size):
    for chunk in healthy.chunks:
        rows = ([item for item in sorted(chunk) if healthy.shown[item] >> row & 1] for row in range(size))
        yield {"items": sorted(chunk), "subrecords": sorted(filter(None, rows))}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: str(case["seed"]))
def test_golden_cases(case, way):
    records = [tuple(sorted(record)) for record in case["records"]]
    clusters = pooled_parts(horizontal(records, case["max_cluster"]), case["k"])
    assert [one["records"] for one in case["release"]] == clusters
    moved = cut = 0
    for ids, expected in zip(clusters, case[way]["release"], strict=True):
        held = held_rows([records[one] for one in ids])
        made = vertical(held, len(ids), case["k"], case["m"])
        healthy = cured(made.chunks, made.terms, held, len(ids), case["k"], case["m"], **WAYS[way])
        in_order = [one | {"items": sorted(one["items"])} for one in expected["chunks"]]
        assert (list(chunks_of(healthy, len(ids))), sorted(healthy.terms)) == (in_order, sorted(expected["terms"]))
        moved, cut = moved + healthy.moved, cut + healthy.suppressed
    assert (moved, cut) == (case[way]["moved"], case[way]["cut"])


def check_twin(records, k, m, options):
    held = held_rows(records)
    made = vertical(held, len(records), k, m)
    healthy = cured(made.chunks, made.terms, held, len(records), k, m, **options)
    rows = {item: {row for row in range(len(records)) if of >> row & 1} for item, of in held.items()}
    chunks, terms, shown, moved, cut = naively_cured(made.chunks, made.terms, rows, len(records), k, m, **options)
    assert (healthy.chunks, healthy.terms, healthy.moved, healthy.suppressed) == (chunks, terms, moved, len(cut))
    assert healthy.shown == {item: bits(of) for item, of in shown.items()}


@settings(max_examples=150)
@given(RECORDS, st.integers(2, 3), st.integers(1, 3), st.sampled_from(list(WAYS.values())))
def test_equals_the_naive_twin(records, k, m, options):
    check_twin(records, k, m, options)


@pytest.mark.slow
@settings(max_examples=1000)
@given(RECORDS, st.integers(2, 3), st.integers(1, 3), st.sampled_from(list(WAYS.values())))
def test_equals_the_naive_twin_a_thousand_times(records, k, m, options):
    check_twin(records, k, m, options)


@settings(max_examples=100)
@given(NAMED, st.integers(2, 4), st.integers(1, 3), st.sampled_from(["cure", "suppress"]), st.randoms())
def test_a_cured_release_has_no_cover_problem_and_adds_up_to_the_records(records, k, m, cover, chance):
    made = disassociate(records, k=k, m=m, max_cluster=8, cover=cover, totals=True)
    assert cover_problems(made.release) == [] == check_release(made.release)
    cut = set(made.cut)
    for cluster, ids in zip(made.release.clusters, made.truth, strict=True):
        kept = [frozenset(item for item in records[one] if (one, item) not in cut) for one in ids]
        assert set().union(*kept) == set(cluster.items)
        for chunk in cluster.record_chunks:
            assert sorted(filter(None, (tuple(sorted(row.intersection(chunk.items))) for row in kept))) == list(
                chunk.subrecords
            )
        assert (
            [row.intersection(cluster.record_chunks[0].items) for row in kept] == list(map(frozenset, cluster.anchors))
            if cluster.record_chunks
            else True
        )
    supports = {item: sum(item in record for record in records) for item in "abcdefg"}
    shown = {item for cluster in made.release.clusters for item in cluster.items}
    assert dict(made.release.totals) == {item: n for item, n in supports.items() if n >= k and item in shown}
    shuffled = chance.sample(records, len(records))
    first, second = (decloak.anonymise(of, "disassociation", k=k, m=m, max_cluster=8, cover=cover)
                     for of in (records, shuffled))  # fmt: skip
    assert first == second


def test_shared_chunks_are_not_cured():
    with pytest.raises(DecloakError, match="refine: true cannot be combined with cover"):
        decloak.anonymise([["a"], ["a"]], "disassociation", k=2, m=1, refine=True, cover="cure")
    with pytest.raises(DecloakError, match="unknown cover"):
        decloak.anonymise([["a"], ["a"]], "disassociation", k=2, m=1, cover="all")


SICK = [["a", "b", "e"], ["a", "b"], ["a", "b"], ["a", "c", "e"], ["a", "c"], ["b", "f", "e"]] * 2


def test_a_file_says_that_it_is_cured_and_the_totals(tmp_path):
    release = decloak.anonymise(SICK, "disassociation", k=2, m=2, max_cluster=6, cover="cure", totals=True)
    assert release.totals
    release.write(tmp_path / "release.jsonl")
    again = decloak.read_release(tmp_path / "release.jsonl")
    assert again == release
    assert again.cover == "cure"
    lines = (tmp_path / "release.jsonl").read_text().splitlines()
    for wrong, message in (
        ([*lines, lines[1]], "a line after the totals"),
        ([lines[0].replace('"cure"', '"all"'), *lines[1:]], "cover is 'all'"),
        ([*lines[:-1], '{"totals": {"a": 0}}'], "a is "),
        ([*lines[:-1], '{"totals": []}'], "no JSON object"),
    ):
        (tmp_path / "wrong.jsonl").write_text("\n".join(wrong))
        with pytest.raises(DecloakError, match=message):
            decloak.read_release(tmp_path / "wrong.jsonl")


def test_who_assumes_the_algorithm_is_told_of_the_cure():
    release = decloak.anonymise(SICK, "disassociation", k=2, m=2, max_cluster=6, cover="cure")
    assert all(pair.algorithm is None for _, pair in risky_pairs(release))


SCENARIO = """
scenario: cured
data: {file: data.txt, format: basket}
anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 40, cover: cure, totals: true}
relate: {measure: ngd, source: release}
attack: [random, bayes, assignment, expectation, exact, consistent, cover, breached]
measure: [accuracy, exposure, breach]
"""


@pytest.mark.slow
def test_a_run_measures_what_is_left_and_publishes_what_it_says(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = random.Random(3)
    records = [sorted({chance.choice("aaaabbbccdefghij") for _ in range(chance.randrange(1, 6))}) for _ in range(200)]
    Path("data.txt").write_text("\n".join(map(", ".join, records)))
    Path("cured.yaml").write_text(SCENARIO)
    values = decloak.run("cured.yaml", store="s.db").variants[0].measures
    assert values["findings", "cover"] == 0
    Path("plain.yaml").write_text(SCENARIO.replace("cover: cure, ", ""))
    plain = decloak.run("plain.yaml", store="s.db").variants[0].measures
    assert plain["findings", "cover"] > 0
    assert values["singled_out_2_original", "random"] == plain["singled_out_2_original", "random"]
    with closing(connect_readonly("s.db")) as connection:
        (loss,) = connection.execute("select loss from release where parameters like '%cure%'").fetchone()
    made = disassociate(decloak.read("data.txt", "basket"), k=3, m=2, max_cluster=40, cover="cure")
    assert made.cut
    assert json.loads(loss)["cut"] == pytest.approx(len(made.cut) / sum(map(len, records)))
    assert json.loads(loss)["moved"] == made.moved
    assert call("publish", "release:1", "out.jsonl", "--store", "s.db").code == 0
    again = decloak.read_release("out.jsonl")
    assert (again.cover, len(again.totals)) == ("cure", len(set("".join(map("".join, records)))))
