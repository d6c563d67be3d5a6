"""Cover problems: the figures of the paper, the golden file, the definition, and the rules against the kernel."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_cover as naive
from decloak.attacker.cover import cover_problems, covers
from decloak.data.disassociated import Disassociated
from decloak.rules.load import Catalogue
from decloak.rules.model import Settings
from decloak.rules.operators.attacker_view import AttackerView
from decloak.store.relations import RELATIONS
from decloak.store.sandbox import Sandbox

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "disassociation.json").read_text(encoding="utf-8"))
CASES = pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"case {case['id']}")
FIGURE_1 = GOLDEN["worked"]["barakat_fig1_rebuilt"]
FIGURE_3 = GOLDEN["worked"]["barakat_fig3"]


def release_of(*clusters):
    return Disassociated(tuple(map(naive.restored_cluster, clusters)))


def listed(release, adjacent=False):
    """The kernel's findings in the shape of the naive twin's."""
    return {
        (one.problem.cluster, one.problem.chunk, one.problem.item, one.problem.earlier): (
            one.size,
            list(one.problem.covered),
        )
        for one in covers(release, adjacent)
    }


def test_figure_1b_side_effects_has_a_cover_problem_in_which_cancer_is_covered():
    [found] = covers(release_of(FIGURE_1["release"]))
    assert found.problem == (0, 1, "side", 0, ("cancer",))
    assert (found.size, found.support) == (3, 3)


def test_figure_3_c_is_covered_by_a_and_b():
    [found] = covers(release_of(FIGURE_3["cluster"]))
    assert found.problem == (0, 1, "e", 0, ("c",))
    assert (found.size, found.support) == (3, 2)


@pytest.mark.parametrize("figure", [FIGURE_1, FIGURE_3], ids=["figure 1(b)", "figure 3"])
def test_the_worked_examples_of_the_golden_file(figure):
    release = release_of(figure.get("release") or figure["cluster"])
    expected = [(0, one["j"], one["x"], one["l"], tuple(one["covered"])) for one in figure["cover"]]
    assert cover_problems(release) == cover_problems(release, adjacent=True) == expected


@CASES
def test_golden_cover_problems(case):
    expected = sorted(
        (number, one["j"], one["x"], one["l"], len(one["I"]), tuple(one["covered"]))
        for number, cluster in enumerate(case["cover"])
        for one in cluster
    )
    found = covers(naive.restored(case["release"]))
    assert [(*one.problem[:4], one.size, one.problem.covered) for one in found] == expected


@CASES
def test_golden_counts_of_cover_problems(case):
    release, counts = naive.restored(case["release"]), case["vulnerable"]["strong"]
    assert len(cover_problems(release)) == counts["cover_problems"]
    assert len(cover_problems(release, adjacent=True)) == counts["adjacent"]
    assert sum(one.size > 1 for one in covers(release)) == counts["nontrivial"]


@settings(max_examples=200)
@given(naive.RELEASES, st.booleans())
def test_the_kernel_finds_what_the_definition_says(release, adjacent):
    expected = {key: (len(above), covered) for key, (above, covered) in naive.problems(release, adjacent).items()}
    assert listed(release, adjacent) == expected


@settings(max_examples=100)
@given(naive.RELEASES)
def test_problems_come_by_cluster_chunk_item_and_earlier_chunk(release):
    found = cover_problems(release)
    assert found == sorted(found)
    assert set(cover_problems(release, adjacent=True)) == {one for one in found if one.earlier == one.chunk - 1}


@settings(max_examples=60)
@given(naive.made_clusters(items=4))
def test_a_covered_pair_stays_below_k_whenever_the_algorithm_could_have_published(made):
    cluster, _, k, m = made
    chunks = cluster.record_chunks
    placed = naive.algorithm_consistent(type(cluster)(cluster.size, chunks, ()), k, m, empty_rows=True)
    assert placed
    for problem in cover_problems(Disassociated((cluster,))):
        assert all(naive.support([problem.item, y], rows) < k for y in problem.covered for rows in placed)


def derived(release):
    """The facts of the two rules over the relations of a release, items by name."""
    catalogue = Catalogue()
    cover, adjacent = catalogue.rule("cover"), catalogue.rule("cover_adjacent")
    names = sorted({item for cluster in release.clusters for chunk in cluster.record_chunks for item in chunk.items})
    numbers = {name: number for number, name in enumerate(names)}
    rows = [
        (i, j, number, numbers[item])
        for i, cluster in enumerate(release.clusters)
        for j, chunk in enumerate(cluster.record_chunks)
        for number, subrecord in enumerate(chunk.subrecords)
        for item in subrecord
    ]
    known = {name: relation.columns for name, relation in RELATIONS.items()}
    with Sandbox.empty(known | {"cover": cover.derives.columns}) as sandbox:
        sandbox.fill("subrecord_item", known["subrecord_item"], rows)
        found = [one.values for one in _facts(cover, sandbox)]
        sandbox.fill("cover", cover.derives.columns, found)
        return [_named(some, names) for some in (found, [one.values for one in _facts(adjacent, sandbox)])]


def _facts(rule, sandbox):
    return rule.operator.run(rule, AttackerView(sandbox), Settings()).facts


def _named(rows, names):
    return sorted((i, j, names[x], before, names[y], size, s) for i, j, x, before, y, size, s in rows)


def expected_facts(release, adjacent):
    return sorted(
        (i, j, x, before, y, one.size, one.support)
        for one in covers(release, adjacent)
        for i, j, x, before, covered in [one.problem]
        for y in covered
    )


@settings(max_examples=60)
@given(naive.RELEASES)
def test_the_rules_derive_what_the_kernel_finds(release):
    assert derived(release) == [expected_facts(release, adjacent) for adjacent in (False, True)]


@CASES
def test_the_rules_derive_the_golden_cover_problems(case):
    release = naive.restored(case["release"])
    assert derived(release) == [expected_facts(release, adjacent) for adjacent in (False, True)]
