"""Relatedness by the clusters of a release: the vectors, and what a run makes of them."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import decloak
from decloak.data.formats.folder import Folder
from decloak.relate import clusters
from decloak.relate.clusters import ClustersSource, item_vectors
from decloak.relate.relatedness import Supplies
from decloak.store.opening import connect_readonly
from decloak.store.results import notes_of

SCENARIO = """\
scenario: What does the release tell of itself?
data: {generate: clinic, transactions: 300, seed: 7}
anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 15}
relate: {measure: clusters}
attack: [random, bayes, expectation]
"""


def naive_cosines(documents, sizes, rank):
    """Cosines by the eigenvectors of items × items, written out; None where the rank cuts through equal ones."""
    items = sorted({item for document in documents for item in document})
    gram = [
        [
            sum(1 / size for document, size in zip(documents, sizes, strict=True) if a in document and b in document)
            for b in items
        ]
        for a in items
    ]
    values, vectors = np.linalg.eigh(np.array(gram))
    order = np.argsort(-values)
    if len(order) > rank and values[order[rank - 1]] - values[order[rank]] < 1e-6:
        return None
    places = vectors[:, order[:rank]] * np.sqrt(np.maximum(values[order[:rank]], 0))
    lengths = np.linalg.norm(places, axis=1)
    return {
        (a, b): float(places[i] @ places[j] / (lengths[i] * lengths[j])) if min(lengths[i], lengths[j]) > 1e-6 else 0.0
        for i, a in enumerate(items)
        for j, b in enumerate(items)
    }


document = st.sets(st.sampled_from("abcdef"), min_size=1)


@settings(max_examples=100)
@given(st.lists(st.tuples(document, st.integers(1, 9)), min_size=2, max_size=7), st.integers(1, 4))
def test_cosines_are_those_of_the_leading_directions(drawn, rank):
    documents, sizes = zip(*drawn, strict=True)
    expected = naive_cosines(documents, sizes, rank)
    assume(expected is not None)
    vectors = item_vectors(documents, sizes, rank)
    for (a, b), cosine in expected.items():
        assert float(vectors[a] @ vectors[b]) == pytest.approx(cosine, abs=1e-5)


def test_the_solver_of_a_few_directions_agrees_with_that_of_all(monkeypatch):
    rng = np.random.default_rng(2)
    documents = [
        [f"i{x}" for x in np.flatnonzero(rng.random(60) < 0.1 + 0.3 * (np.arange(60) % 6 == n % 6))] for n in range(90)
    ]
    sizes = [5] * 90
    whole = item_vectors(documents, sizes, 6)
    monkeypatch.setattr(clusters, "DENSE", 10)
    few = item_vectors(documents, sizes, 6)
    assert all(few[a] @ few["i3"] == pytest.approx(whole[a] @ whole["i3"], abs=1e-6) for a in whole)


def test_items_in_the_same_clusters_are_close_and_strangers_have_no_score():
    supplies = Supplies(Folder("."), lambda: [["a", "b"], ["a", "b"], ["c"]], sizes=lambda: [3, 3, 4])
    scored = ClustersSource(measure="clusters").scored([("a", "b"), ("a", "c"), ("a", "x")], supplies)
    assert scored.distances[("a", "b")] == pytest.approx(0, abs=1e-9)
    assert scored.distances[("a", "c")] == pytest.approx(1, abs=1e-9)
    assert scored.distances[("a", "x")] is None
    assert scored.warnings == ["1 of 4 terms (25 %) in no cluster: 'x'"]


def test_a_run_needs_nothing_but_the_release(tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO)
    assert decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db").ok
    assert 0 < _probable(tmp_path / "s.db") <= 1


def test_expectation_runs_without_any_relatedness(tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("relate: {measure: clusters}\n", "").replace("bayes, ", ""))
    assert decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db").ok
    assert 0 < _probable(tmp_path / "s.db") <= 1


def _probable(store):
    """The largest probability by which something was given to a row, those below 0 or above 1 refused."""
    with closing(connect_readonly(store)) as connection:
        sql = "select s.value from assigned s join finding f on f.id = s.finding join attack a on a.id = f.attack "
        values = [
            value for (value,) in connection.execute(f"{sql} join rule r on r.id = a.rule where r.name = 'expectation'")
        ]
    assert all(0 <= value <= 1 for value in values)
    return max(values)


COAT = """\
scenario: What does a release tell of items that it never shows in the clear?
data: {generate: clinic, transactions: 300, seed: 7}
anonymise: {method: coat, k: 10, privacy: {count: 20, sizes: [3]}}
attacker: {context: all}
attack: [ra, tba, centred]
measure: [recovery]
"""
ALIKE = "the members of each generalised item have equal distances to every context"


@pytest.mark.parametrize(
    ("relate", "alike"),
    [
        ("{measure: clusters}", True),
        ("{measure: ngd, source: release}", True),
        ("{measure: ngd, source: clinic-counts}", False),
    ],
)
def test_of_items_that_are_never_in_the_clear_a_release_tells_nothing_and_says_so(tmp_path, relate, alike):
    (tmp_path / "s.yaml").write_text(f"{COAT}relate: {relate}\n")
    decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        spread = connection.execute(
            "select max(spread) from (select max(d) - min(d) as spread from cell group by distance_table, row)"
        ).fetchone()[0]
        told = [note for note in notes_of(connection, 1) if note.startswith(ALIKE)]
    assert (spread <= 1e-9) == alike
    assert len(told) == alike  # once, though two rules go by distances
