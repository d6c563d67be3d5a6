"""The utility family: golden estimates and errors, naive twins, and the figures of every form."""

import gzip
import json
import math
import random
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import decloak
import naive_counts as naive
from decloak.anonymisers.kernels.frequent_sets import Grown, grown_sets, publishable_sets
from decloak.counting.itemsets import coded_items
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.data.itemset_table import ItemsetTable
from decloak.errors import DecloakError
from decloak.measure.kernels.estimate.chunks import ChunkEstimates
from decloak.measure.kernels.estimate.counts import (
    class_counts,
    class_of,
    classified,
    count_errors,
    drawn_queries,
    errors_differ,
    kept_itemsets,
    most_frequent_itemsets,
    plain_records,
    signatures,
)
from decloak.measure.kernels.estimate.estimator import estimates_of
from decloak.measure.kernels.estimate.itemsets import TableEstimates

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "safe-disassociation.json").read_text())
RECORDS = st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=14)


def released(case):
    """The release of a golden case; items are numbered by name, so numbers become names of one width."""

    def names(items):
        return tuple(f"{item:03}" for item in sorted(items))

    def chunk(one):
        return Chunk(names(one["items"]), tuple(map(names, one["subrecords"])))

    clusters = [Cluster(one["size"], tuple(map(chunk, one["chunks"])), names(one["terms"])) for one in case["release"]]
    return Disassociated(tuple(clusters), k=case["k"], m=case["m"]), names


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: str(case["seed"]))
def test_golden_estimates_and_errors(case):
    release, names = released(case)
    records, items = coded_items([names(record) for record in case["records"]])
    number = {item: at for at, item in enumerate(items)}
    estimator = ChunkEstimates.of(release, number)
    errors = {}
    for one in case["estimates"]:
        itemset = np.array([[number[item]] for item in names(one["items"])])
        estimate, count = estimates_of(estimator, itemset), estimates_of(plain_records(records), itemset)
        assert count == one["true"]
        assert estimate == pytest.approx(one["disassociated"], abs=1e-8)
        errors.setdefault(str(len(one["items"])), []).extend(count_errors(estimate, count, 1e-300).tolist())
    assert {size: np.mean(of) for size, of in errors.items()} == pytest.approx(case["are"], abs=1e-8)


def check_twin(records, top, bound, off):
    matrix, items = coded_items(records)
    found = most_frequent_itemsets(matrix, 4 * top)
    order = np.argsort(np.concatenate([one.places for one in found]))
    sets = [tuple(items[code] for code in one) for part in found for one in part.itemsets.T.tolist()]
    sets, counts = [sets[at] for at in order], np.concatenate([one.counts for one in found])[order]
    assert list(zip(counts.tolist(), sets, strict=True)) == naive.frequent(records, 4 * top)

    def estimate(itemset):
        return naive.count(records, itemset) * (1 + off * (sum(map(ord, itemset)) % 5 - 2))

    estimates = np.array([estimate(one) for one in sets])
    assert tuple(kept_itemsets(estimates, counts, top)) == pytest.approx(naive.kept(records, estimate, top))
    expected = [naive.error(estimate(one), records, one, bound) for one in sets]
    assert count_errors(estimates, counts, bound * len(records)) == pytest.approx(expected)


@settings(max_examples=150)
@given(RECORDS, st.integers(1, 12), st.sampled_from([0.001, 0.2, 0.5]), st.floats(0, 0.4))
def test_equals_the_naive_twin(records, top, bound, off):
    check_twin(records, top, bound, off)


@pytest.mark.slow
@settings(max_examples=1000)
@given(RECORDS, st.integers(1, 12), st.sampled_from([0.001, 0.2, 0.5]), st.floats(0, 0.4))
def test_equals_the_naive_twin_a_thousand_times(records, top, bound, off):
    check_twin(records, top, bound, off)


@settings(max_examples=50)
@given(RECORDS, st.integers(1, 3))
def test_queries_are_itemsets_of_records_whatever_items_are_called(records, size):
    matrix, items = coded_items(records)
    drawn = drawn_queries(matrix, signatures(matrix), size, 40, 0)
    assert drawn.shape == (size, 40 if max(map(len, records)) >= size else 0)
    assert all(naive.count(records, [items[code] for code in one]) for one in drawn.T.tolist())
    assert all(len(set(one)) == size for one in drawn.T.tolist())
    other = {item: "fedcba"["abcdef".index(item)] for item in "abcdef"}
    renamed, called = coded_items([{other[item] for item in record} for record in records])
    again = drawn_queries(renamed, signatures(renamed), size, 40, 0)

    def counts_of(records, items, itemsets):
        return [naive.count(records, [items[code] for code in one]) for one in itemsets.T.tolist()]

    if len(set(signatures(matrix).tolist())) == len(items):  # names decide among items of equal signatures
        assert counts_of(records, items, drawn) == counts_of(
            [{other[item] for item in record} for record in records], called, again
        )


SCENARIO = """
scenario: utility
data: {file: data.txt, format: basket}
vary:
  anonymise:
    - {method: disassociation, k: 2, m: 2, max_cluster: 8, totals: true}
    - {method: sets, sets: [[b, c], [e, f]]}
    - {method: sets, sets: [[a, b, c, d, e, f, g]]}
relate: {measure: ngd, source: release}
attack: all
measure: [{utility: {queries: 200}}]
"""


def test_every_form_has_the_same_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = np.random.default_rng(1)
    lines = [[item for item in "abcdefg" if chance.random() < 0.4] or ["a"] for _ in range(60)]
    Path("data.txt").write_text("\n".join(map(", ".join, lines)))
    Path("utility.yaml").write_text(SCENARIO)
    variants = decloak.run("utility.yaml", store="s.db").variants
    chunks, pairs, one_set = ({name: value for (name, _), value in one.measures.items()} for one in variants)
    for figure in ("count_error_1", "count_error_3", "count_error", "itemsets_lost", "itemsets_f1"):
        assert all(np.isfinite(of[figure]) for of in (chunks, pairs, one_set))
    assert chunks["count_error_1"] < 1e-9  # totals are published
    assert pairs["count_error"] < one_set["count_error"]
    assert pairs["itemsets_f1"] > one_set["itemsets_f1"]
    assert "tkd" in chunks
    assert "tkd" not in pairs


@settings(max_examples=100)
@given(RECORDS.filter(lambda records: len(set().union(*records)) > 2), RECORDS, st.integers(1, 2))
def test_classification_equals_the_naive_twin(records, others, classes):
    matrix, items = coded_items(records)
    counted = class_counts(plain_records(matrix), np.arange(len(items)), range(classes), len(records))
    known = [[items.index(item) for item in record if item in items] for record in others]
    row = [at for at, record in enumerate(known) for _ in record]
    column = [item for record in known for item in record]
    people = sparse.csr_array((np.ones(len(row)), (row, column)), (len(others), len(items)))

    def count_of(itemset):
        return naive.count(records, itemset)

    expected = [naive.predicted(count_of, items, items[:classes], len(records), record) for record in others]
    assert classified(counted, people, range(classes)).tolist() == expected
    true = [next((at for at in range(classes) if items[at] in record), classes) for record in others]
    assert class_of(people, range(classes)).tolist() == true


def test_constraints_and_classes_have_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = np.random.default_rng(2)
    lines = []
    for _ in range(1200):
        flu = chance.random() < 0.4
        lines.append(
            [*(["flu", "fever"] if flu else []), *(item for item in "abcdef" if chance.random() < 0.3)] or ["a"]
        )
    Path("data.txt").write_text("\n".join(map(", ".join, lines)))
    Path("sets.txt").write_text("a, b\nflu, fever\nnone\n")
    Path("s.yaml").write_text(
        "scenario: s\ndata: {file: data.txt, format: basket}\nattack: [km_violation]\n"
        "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 50, totals: true}\n"
        "measure: [{exposure: {control: held_out}}, {utility: {constraints: sets.txt, classify: flu, queries: 50}}]\n"
    )
    (one,) = decloak.run("s.yaml", store="s.db").variants
    figures = {name: value for (name, _), value in one.measures.items()}
    assert 0 < figures["count_error_within"] < figures["count_error_within_most"]
    assert figures["classification_original"] == 1.0
    assert figures["classification_release"] > figures["classification_baseline"] + 0.2
    assert any("items of sets.txt in no record: 'none'" in note for note in one.notes)
    (other,) = decloak.run("s.yaml", store="s.db", overrides=["measure=[{utility: {classify: flu}}]"]).variants
    assert any("nothing is classified without people to predict" in note for note in other.notes)
    (other,) = decloak.run(
        "s.yaml", store="s.db", overrides=["measure=[{exposure: {control: held_out}}, {utility: {classify: flue}}]"]
    ).variants
    assert any("nothing is classified: no record has 'flue'" in note for note in other.notes)


def test_an_unpublished_triple_is_estimated_by_its_pairs_and_is_below_k():
    supports = {"a": 500, "b": 400, "c": 200, "ab": 200, "ac": 100, "bc": 80}
    table = ItemsetTable(1000, tuple(map(tuple, supports)), tuple(supports.values()), 11, 3)
    estimator = TableEstimates.of(table, {"a": 0, "b": 1, "c": 2})
    assert estimator.supports(np.array([[0], [1], [2]])).tolist() == [10.0]
    table = ItemsetTable(1000, tuple(map(tuple, supports)), tuple(supports.values()), 51, 3)
    assert TableEstimates.of(table, {"a": 0, "b": 1, "c": 2}).supports(np.array([[0], [1], [2]])).tolist() == [40.0]


def errors_of_triples(records, published):
    """Return the errors of counts of three items with the estimates of a table, and where unpublished ones count 0."""
    there = [
        (tuple(row), count)
        for one in published
        for row, count in zip(one.itemsets.tolist(), one.supports.tolist(), strict=True)
    ]
    names = [str(number) for number in range(records.shape[1])]
    table = ItemsetTable(
        records.shape[0], tuple(tuple(map(names.__getitem__, row)) for row, _ in there),
        tuple(count for _, count in there), 11, 3,
    )  # fmt: skip
    number = {item: at for at, item in enumerate(table.items)}
    coded = np.array([number.get(name, -1) for name in names])
    drawn = drawn_queries(records, signatures(records), 3, 1_000, 0)
    true, least = estimates_of(plain_records(records), drawn), 0.001 * records.shape[0]
    estimated = estimates_of(TableEstimates.of(table, number), coded[drawn])
    listed = dict(there)
    as_0 = np.array([listed.get(tuple(sorted(triple)), 0) for triple in drawn.T.tolist()], float)
    return [float(count_errors(of, true, least).mean()) for of in (estimated, as_0)]


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("groceries.tsv", False, (0.184, 0.448)),
        ("groceries.tsv", True, (0.189, 0.464)),
        pytest.param("bms_webview1.dat", False, (0.041, 0.071), marks=pytest.mark.slow),
        pytest.param("bms_webview1.dat", True, (0.124, 0.212), marks=pytest.mark.slow),
    ],
)
def test_errors_of_unpublished_triples(shared_data, name, cells, expected):
    with gzip.open(shared_data / f"{name}.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t")[-1].split("|" if "tsv" in name else " ") for line in lines]
    random.Random(1).shuffle(rows)
    records, _ = coded_items(rows[: len(rows) // 2])
    if cells:
        published = publishable_sets(records, 11, 3, zeros=False)
    else:
        grown = grown_sets(records, 11, 3, lambda one: one.supports >= 11)
        published = [Grown(one.itemsets[one.supports >= 11], one.supports[one.supports >= 11]) for one, _ in grown]
    assert errors_of_triples(records, published) == pytest.approx(expected, abs=0.02)


def test_a_workload_replaces_random_itemsets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["bread, milk"] * 6 + ["bread"] * 3 + ["milk"] * 3 + ["salt, tea"] + ["tea"] * 3
    Path("data.txt").write_text("\n".join(rows))
    Path("asked.txt").write_text("bread\nsalt\nunheard of\nmilk, bread\nmilk, bread, unheard of\n")
    Path("s.yaml").write_text(
        "scenario: s\ndata: {file: data.txt, format: basket}\nattack: all\nanonymise: {method: itemsets, k: 3, m: 2}\n"
        "measure: [{utility: {workload: asked.txt}}]\n"
    )
    (one,) = decloak.run("s.yaml", store="s.db").variants
    figures = {name: value for (name, _), value in one.measures.items()}
    # The table says nothing of one person with salt; no record has the other item.
    assert [figures[f"count_error_{size}"] for size in (1, 2, 3)] == pytest.approx([1 / 3, 0, 0])
    assert figures["count_error"] == pytest.approx(1 / 9)
    Path("asked.txt").write_text("bread\na, b, c, d\n")
    with pytest.raises(DecloakError, match="4 items") as refused:
        decloak.run("s.yaml", store="s.db")
    assert refused.value.place == "asked.txt:2"


def naively_differ(first, second, pairs):
    """Exact for normal means: the same interval by its formula, with the rule of three."""
    apart = [[a - b for a, b in zip(*of_size, strict=True)] for of_size in zip(first, second, strict=True)]
    means = [statistics.fmean(of_size) for of_size in apart]
    variance = sum(statistics.pvariance(of_size) / len(of_size) for of_size in apart) / len(apart) ** 2
    every = [value for of_size in apart for value in of_size]
    unseen = min(1, 3 / len(every)) * max(map(abs, every))
    half = max(statistics.NormalDist().inv_cdf(1 - 0.025 / pairs) * math.sqrt(variance), unseen)
    return abs(statistics.fmean(means)) / half if half else 0.0


@pytest.mark.parametrize("seed", range(40))
def test_the_paired_interval_of_errors_is_that_of_a_naive_twin(seed):
    chance = np.random.default_rng(seed)
    sizes, pairs = chance.integers(100, 300, size=3), int(chance.integers(1, 9))
    first = [chance.random(size) for size in sizes]
    second = [of_size + chance.normal(chance.choice([0, 0.005, 0.05]), 0.05, len(of_size)) for of_size in first]
    halves = naively_differ(first, second, pairs)
    if not 0.9 < halves < 1.1:  # a bootstrap is random, and the naive interval normal
        assert errors_differ(first, second, pairs) == (halves > 1)


def test_errors_that_are_all_equal_differ_by_the_rule_of_three():
    few, many = [np.full(size, 0.1) for size in (1, 2)], [np.full(1_000, 0.1)] * 3
    assert not errors_differ(many, many)
    assert not errors_differ(few, [of_size + 0.5 for of_size in few])  # 3 counts say nothing of others
    assert errors_differ(many, [of_size + 0.001 for of_size in many])
    one_of_many = [np.append(np.full(999, 0.1), 0.6), *many[1:]]
    assert not errors_differ(many, one_of_many)
