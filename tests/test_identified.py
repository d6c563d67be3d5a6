"""Records that what is known leads to with certainty: by going through all that a small cluster may have been."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

import naive_cover as naive
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.data.dataset import Dataset
from decloak.measure.kernels.identified import identified

ITEMS = "abcde"
RECORDS = st.lists(st.sets(st.sampled_from(ITEMS), min_size=1, max_size=4), min_size=4, max_size=6)


def naively(made, records, knowledge):
    """Known itemsets that one row has wherever some row has it, and that no other cluster may have."""
    release, found = made.release, set()
    for number, cluster in enumerate(release.clusters):
        others = [other for place, other in enumerate(release.clusters) if place != number]
        agreeing = naive.algorithm_consistent(cluster, release.k, release.m)
        for itemset in knowledge:
            shown = [set(one.term_chunk).union(*(chunk.items for chunk in one.record_chunks)) for one in others]
            if any(set(itemset) <= items for items in shown) or not agreeing:
                continue
            holders = [sum(set(itemset) <= set(row) for row in rows) for rows in agreeing]
            if {*holders, 0} == {0, 1}:
                found.update(row for row in made.truth[number] if set(itemset) <= set(records[row]))
    return sorted(found)


@settings(max_examples=40, deadline=None)
@given(RECORDS, st.integers(2, 3))
def test_it_is_who_holds_it_in_all_that_the_cluster_may_have_been(rows, k):
    data = Dataset.of([sorted(row) for row in rows])
    made = disassociate(data, k=k, m=2, max_cluster=4)
    pairs = list(combinations(ITEMS, 2))
    told = identified(made.release, data.transactions, made.truth, None)
    assert told.skipped == 0
    assert told.records == naively(made, data.transactions, pairs)
    some = pairs[::3]
    assert identified(made.release, data.transactions, made.truth, some).records == naively(
        made, data.transactions, some
    )


def test_who_knows_more_finds_no_fewer():
    data = Dataset.of([["a", "b"], ["a", "b"], ["a", "c"], ["b", "d"], ["a", "b", "e"], ["a", "e"]])
    made = disassociate(data, k=2, m=2, max_cluster=6)
    everything = set(identified(made.release, data.transactions, made.truth, None).records)
    one = set(identified(made.release, data.transactions, made.truth, [("a", "c")]).records)
    assert one <= everything
    assert everything
