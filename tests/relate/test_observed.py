"""Co-occurrence in published data against counting one document after the other."""

from hypothesis import given
from hypothesis import strategies as st

from decloak.relate import counting as kernel
from decloak.relate.ngd_sources import ObservedCounts

items = st.sampled_from(["flu", "cough", "knee", "icd", "limbs"])


@given(st.lists(st.lists(items, max_size=4), max_size=8), st.lists(st.tuples(items, items), max_size=6))
def test_counts_are_those_of_a_walk_over_the_documents(documents, pairs):
    seen = ObservedCounts(documents)
    assert seen.n == len(documents)
    terms = ["flu", "cough", "knee", "icd", "limbs", "never"]
    assert seen.counts(terms) == {term: sum(term in document for document in documents) for term in terms}
    assert seen.joint(pairs) == {(a, b): sum(a in one and b in one for one in documents) for a, b in pairs}


def test_no_known_pair_has_a_count_of_nothing():
    assert ObservedCounts([["a", "b"]]).joint([]) == {}
    assert ObservedCounts([["a", "b"]]).joint([("a", "x")]) == {("a", "x"): 0}


def test_joint_counts_are_the_same_in_small_pieces(monkeypatch):
    documents = [["a", "b"], ["a", "c"], ["b", "c"], ["a", "b", "c"]]
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "x")]
    whole = ObservedCounts(documents).joint(pairs)
    monkeypatch.setattr(kernel, "CELLS", 1)
    assert (
        ObservedCounts(documents).joint(pairs) == whole == {("a", "b"): 2, ("b", "c"): 2, ("c", "a"): 2, ("a", "x"): 0}
    )
