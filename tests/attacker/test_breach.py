"""Quantitative privacy breach detection and whom it hits: the golden file, Algorithm 1 as printed, bad input."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_cover as naive
from decloak.attacker.cover import READINGS, breach, breached_covers, covers, hit_records, risky_items
from decloak.data.disassociated import Disassociated
from decloak.errors import DecloakError
from test_cover import CASES, FIGURE_1, FIGURE_3, release_of

ATTACKERS = ("strong", "strong_pairs", "moderate", "weak")


@pytest.mark.parametrize("attacker", ATTACKERS)
@CASES
def test_golden_totals_of_every_reading(case, attacker):
    release, knowledge = naive.restored(case["release"]), case["knowledge"][attacker]
    found = {reading: breach(release, knowledge, reading) for reading in READINGS}
    assert found == {reading: case["qpbd"][attacker][reading] for reading in READINGS}


@pytest.mark.parametrize("attacker", ATTACKERS)
@CASES
def test_golden_vulnerable_items_and_records(case, attacker):
    release, knowledge = naive.restored(case["release"]), case["knowledge"][attacker]
    counts = case["vulnerable"][attacker]
    assert len(breached_covers(covers(release), knowledge)) == counts["breached"]
    assert len(risky_items(covers(release), knowledge)) == counts["vulnerable_items"]
    records = hit_records(covers(release), case["records"], case["truth"], knowledge)
    assert len(records) == counts["vulnerable_records"]


def test_figure_1b_alice_is_the_one_vulnerable_record():
    release = release_of(FIGURE_1["release"])
    assert {reading: breach(release, reading=reading) for reading in READINGS} == dict.fromkeys(READINGS, 1)
    assert risky_items(covers(release), None) == [(0, "side")]
    assert hit_records(covers(release), FIGURE_1["records"], [range(5)], None) == [0]
    assert breach(release, [("side", "vomiting")]) == 0
    assert hit_records(covers(release), FIGURE_1["records"], [range(5)], [("cancer", "side", "vomiting")]) == [0]


def test_figure_3_only_who_knows_e_with_the_covered_c_breaches():
    release = release_of(FIGURE_3["cluster"])
    assert breach(release, [("e", "c")]) == 1
    assert breach(release, [("e", "a"), ("e", "b"), ("a", "b"), ("c",)]) == 0
    assert breach(release, [("x", "c", "e")]) == 1


@settings(max_examples=200)
@given(naive.RELEASES, naive.KNOWLEDGE, st.sampled_from(READINGS))
def test_the_total_is_what_algorithm_1_counts(release, knowledge, reading):
    assert breach(release, knowledge, reading) == naive.total(release, knowledge, reading)


@settings(max_examples=100)
@given(naive.RELEASES, naive.KNOWLEDGE, naive.KNOWLEDGE)
def test_more_knowledge_never_breaches_less_and_the_readings_are_ordered(release, known, further):
    for reading in READINGS:
        more = None if known is None or further is None else known + further
        assert breach(release, known, reading) <= breach(release, more, reading)
    assert breach(release, known, "per_item") <= breach(release, known, "sound") <= breach(release, known, "sum")


@settings(max_examples=100)
@given(naive.made_clusters(rows=8), st.none() | st.lists(st.sets(st.integers(0, 4)), max_size=6))
def test_vulnerable_records_hold_a_known_itemset_with_a_covered_pair(made, knowledge):
    cluster, records, _, _ = made
    if knowledge is not None:
        knowledge = [{f"i{item}" for item in known} for known in knowledge]
    release, truth = Disassociated((cluster,)), [range(len(records))]
    found = hit_records(covers(release), records, truth, knowledge)
    assert found == naive.hit_records(release, records, truth, knowledge)


def test_an_empty_release_has_nothing_to_breach():
    assert breach(Disassociated(())) == 0
    assert hit_records([], [], [], None) == []


def test_bad_input_is_named():
    release = release_of(FIGURE_3["cluster"])
    with pytest.raises(DecloakError, match=r"no reading 'sond'.*did you mean 'sound'"):
        breach(release, reading="sond")
    with pytest.raises(DecloakError, match="an itemset is the text 'ec'"):
        breach(release, ["ec"])
