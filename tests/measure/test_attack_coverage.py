"""The coverage of an attack: how much of what it needs its attacker has scores for, and what is too little to test."""

import json

import numpy as np
import pytest
from hypothesis import given, settings

import naive_reassociate as naive
from decloak.data.assignment import PairScores
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.measure.coverage import LEAST, untested_reason
from decloak.rules.reassociate.coverage import coverage_in_clusters, coverage_of_learner
from decloak.rules.reassociate.kernel import ClusterAttack
from decloak.rules.reassociate.scores import SplitRelease
from decloak.rules.reassociate.strategy import Reassociation
from disassociated_releases import releases, scores
from slowly import slow_but

RELEASE = "milk, (bread, eggs, nails)\nscrews, (bread, eggs, nails)\nglue, (tape, rope)\n"
SCENARIO = "scenario: x\ndata: {published: r.txt}\nrelate: {measure: ngd, source: scores, file: s.csv}\n"


@pytest.mark.parametrize(
    ("figures", "tested"),
    [
        ({"coverage_pairs": LEAST}, True),
        ({"coverage_pairs": np.nextafter(LEAST, 0)}, False),
        ({"coverage_pairs": 0.0}, False),
        ({"coverage_pairs": 0.5, "coverage_least": 0.5}, True),
        ({"coverage_pairs": 0.49, "coverage_least": 0.5}, False),
        ({"coverage_pairs": 0.0, "coverage_least": 0.0}, True),
        ({"coverage_pairs": 1.0, "coverage_occurrences": 0.0}, True),
        ({"coverage_pairs": 0.1, "coverage_occurrences": 1.0, "coverage_items": 1.0}, False),
        ({"coverage_pairs": None, "coverage_occurrences": 0.19}, False),
        ({"coverage_occurrences": 0.2}, True),
        ({"coverage_pairs": None, "coverage_items": 0.0}, True),
        ({"precision": 0.9}, True),
        ({}, True),
    ],
)
def test_an_attack_is_tested_where_its_pairs_are_covered_as_far_as_is_asked(figures, tested):
    assert (untested_reason(figures) is None) is tested


def test_the_reason_has_the_share_and_the_least():
    reason = "not tested, because its attacker has scores for 4% of the pairs (at least 20% are needed)"
    assert untested_reason({"coverage_pairs": 226 / 5347}) == reason
    assert "19.990%" in untested_reason({"coverage_pairs": 0.1999})
    assert "at least 50%" in untested_reason({"coverage_pairs": 0.3, "coverage_least": 0.5})


@settings(max_examples=60)
@given(releases(), scores())
def test_coverage_of_clusters_equals_counting_one_by_one(made, known):
    release = made[0]
    needed, cells, seen = set(), 0, 0
    for cluster in release.clusters:
        rows = naive.anchors(cluster)
        for _, unit, _ in naive.units(cluster, release.k, "multiplicity"):
            cells += cluster.size
            seen += sum(any(has(known, a, y) for a in row for y in unit) for row in rows or ())
        if rows is not None:
            later = [item for chunk in cluster.record_chunks[1:] for item in chunk.items] + [*cluster.term_chunk]
            needed |= {(a, y) for a in cluster.record_chunks[0].items for y in later}
    pairs = {pair: known.get(pair, known.get(pair[::-1])) for pair in needed}
    scored = {pair for pair, score in pairs.items() if score is not None}
    counts = (len({*sum(scored, ())}), len({*sum(needed, ())})), (len(scored), len(needed)), (seen, cells)
    split, given = SplitRelease(release), PairScores(pairs)
    assert coverage_in_clusters(split, given, None) == counts
    for combine in ("mean", "upper_half", "best", "bayes"):
        attacked = ClusterAttack(split, given, Reassociation.build(combine=combine, give="multiplicity"))
        list(attacked.batches())
        assert attacked.scored == (None if combine == "bayes" else seen)
    whole = coverage_of_learner(SplitRelease(release))
    assert whole == tuple((needed, needed) for _, needed in counts)


def has(known, a, y):
    return known.get((a, y), known.get((y, a))) is not None


def test_pairs_of_many_clusters_are_counted_once(monkeypatch):
    cluster = Cluster(4, (Chunk(("a", "b"), (("a",), ("a",), ("b",))), Chunk(("c",), (("c",), ("c",)))), ("d",))
    monkeypatch.setattr("decloak.data.pairs.AT_ONCE", 6)
    whole = coverage_of_learner(SplitRelease(Disassociated((cluster,) * 5, k=2, m=1)))
    assert whole.pairs == (4, 4)


@pytest.fixture
def blind(tmp_path, monkeypatch):
    """A release of which an attacker has scores for one of nine pairs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.txt").write_text(RELEASE)
    (tmp_path / "s.csv").write_text("a,b,ngd\nmilk,bread,0.5\n")
    (tmp_path / "s.yaml").write_text(f"{SCENARIO}attack: [tba, ra, order]\n")
    return tmp_path / "s.yaml"


def test_a_run_stores_and_prints_the_coverage_of_its_attacks(blind, call):
    said = call("run", blind, "--json")
    figures = {(one["attack"], one["measure"]): one for one in json.loads(said.out)["measures"]}
    for name, counts in {"items": (2, 8), "pairs": (1, 8), "occurrences": (1, 8)}.items():
        figure = figures["tba", f"coverage_{name}"]
        assert (figure["part"], figure["of"]) == counts
        assert ("ra", f"coverage_{name}") not in figures
        assert ("order", f"coverage_{name}") not in figures
    assert figures["tba", "coverage_least"]["value"] == LEAST
    printed = call("run", blind).out
    assert "has scores for 12% of the pairs" in " ".join(printed.split())
    shown = call("show", "last").out
    assert "coverage of tba: 2 of 8 items (25%), 1 of 8 pairs (12%), 1 of 8 occurrences (12%); not" in shown


def test_the_least_coverage_is_set_in_the_scenario(blind, call):
    blind.write_text(f"{blind.read_text()}measure: [recovery, {{coverage: {{least: 0.125}}}}]\n")
    assert "tba: the attacker has scores for" not in call("run", blind).out
    printed = call("show", "last").out
    assert "1 of 8 pairs (12%)" in printed
    assert "not tested" not in printed
    blind.write_text(blind.read_text().replace("0.125", "1.5"))
    assert "least" in call("validate", blind).err


def baskets(rng):
    """A few products that many people buy."""
    return [{f"product {int(60 * rng.random() ** 2)}" for _ in range(rng.integers(1, 8))} for _ in range(200)]


def diseases(rng):
    """Many symptoms, of which the clinic's counts know none, in the groups of some diseases."""
    groups = rng.integers(200, size=(30, 9))
    return [{f"symptom {one}" for one in rng.permuted(groups[rng.integers(30)])[:6]} for _ in range(200)]


@pytest.mark.parametrize(
    ("records", "published"),
    slow_but(
        [(diseases, False), (baskets, True)],
        [(baskets, False), (baskets, True), (diseases, False), (diseases, True)],
        several=True,
    ),
)
def test_the_scenario_begun_from_a_file_has_an_attacker_who_knows_its_words(
    records, published, tmp_path, monkeypatch, call
):
    monkeypatch.chdir(tmp_path)
    data = "\n".join(",".join(sorted(record)) for record in records(np.random.default_rng(1)))
    (tmp_path / "d.csv").write_text(data)
    file = "d.csv"
    if published:
        (tmp_path / "first.yaml").write_text(
            "scenario: x\ndata: {file: d.csv, format: basket}\nanonymise: {method: sets, size: 3, share: 0.3}\n"
            "attack: [order]\n"
        )
        call("run", "first.yaml")
        file = "r.txt"
        call("publish", "last", file)
    assert call("init", "begun.yaml", "--from", file).code == 0
    assert "clinic-counts" not in (tmp_path / "begun.yaml").read_text()
    said = call("run", "begun.yaml", "--store", "begun.db", "--json")
    assert said.code == 0
    covered = [one for one in json.loads(said.out)["measures"] if one["measure"] == "coverage_pairs"]
    assert {one["attack"] for one in covered} >= ({"rba", "selftrained"} if published else {"aba", "expectation"})
    assert {one["value"] for one in covered} == {1.0}
