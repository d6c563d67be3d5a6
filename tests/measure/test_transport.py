"""Word Mover's Distance: the golden figures, and the distance of the plain linear programme."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from decloak.errors import DecloakError
from decloak.measure import wmd
from decloak.measure.wmd import MeanDistance, mean_distance
from disassociated_releases import GOLDEN

WORDS = "abcdefghij"
WORD_SETS = st.sets(st.sampled_from(WORDS), min_size=1)
SPACES = st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=len(WORDS), max_size=len(WORDS)).map(
    lambda drawn: dict(zip(WORDS, drawn, strict=True))
)


def programme(some, others, vectors):
    """The definition: uniform weights, Euclidean costs, everything that is sent arrives."""
    some, others = sorted(some), sorted(others)
    cost = [math.dist(vectors[a], vectors[b]) for a in some for b in others]
    n, m = len(some), len(others)
    sent = np.kron(np.eye(n), np.ones(m))
    arrived = np.kron(np.ones(n), np.eye(m))
    wanted = [1 / n] * n + [1 / m] * m
    return linprog(cost, A_eq=np.vstack((sent, arrived)), b_eq=wanted).fun


def distance(some, others, space):
    return mean_distance([some], [others], space).mean


@pytest.mark.parametrize(("some", "others", "wanted"), GOLDEN["small"]["wmd"])
def test_golden_distances(some, others, wanted):
    assert distance(some, others, GOLDEN["small"]["wmd_vectors"]) == pytest.approx(wanted, abs=1e-8)


@settings(max_examples=120)
@given(WORD_SETS, WORD_SETS, SPACES)
def test_the_distance_is_that_of_the_linear_programme(some, others, space):
    assert distance(some, others, space) == pytest.approx(programme(some, others, space), abs=1e-7)


@pytest.mark.parametrize("sizes", [(40, 17), (23, 41), (30, 30)])
def test_many_words_cost_what_the_linear_programme_says(sizes):
    rng = np.random.default_rng(sum(sizes))
    space = {f"w{number}": rng.normal(size=5) for number in range(80)}
    some, others = ([f"w{one}" for one in rng.choice(80, size, replace=False)] for size in sizes)
    assert distance(some, others, space) == pytest.approx(programme(some, others, space), abs=1e-9)


@settings(max_examples=60)
@given(WORD_SETS, WORD_SETS, WORD_SETS, SPACES)
def test_it_is_a_distance(some, others, third, space):
    there = distance(some, others, space)
    assert distance(some, some, space) == 0
    assert there == pytest.approx(distance(others, some, space), abs=1e-9)
    assert there <= distance(some, third, space) + distance(third, others, space) + 1e-9


def test_pot_and_the_linear_programme_agree():
    pytest.importorskip("ot", reason="the extra ot is not installed")
    rng = np.random.default_rng(3)
    cost, supply, demand = rng.random((7, 5)), np.full(7, 5), np.full(5, 7)
    assert wmd._cheapest(cost, supply, demand) == pytest.approx(wmd._programmed(cost, supply, demand))


def test_unknown_words_are_dropped_and_records_without_known_ones_skipped():
    space = {"a": [0.0], "b": [2.0]}
    assert distance(["a", "?"], ["b", "!"], space) == 2.0
    assert distance(["?"], ["b"], space) is None
    found = mean_distance([["a", "?"], ["a"], ["?"], []], [["b"], ["a"], ["b"], ["b"]], space)
    assert found == MeanDistance(1.0, 2, 2)
    assert mean_distance([], [], {}) == MeanDistance(None, 0, 0)


def test_records_are_compared_that_every_attack_can_be_compared_on():
    space = {"a": [0.0], "b": [2.0]}
    records, anchors = [["a"], ["a"], ["a"]], [["a"], [], ["?"]]
    careful, bold = [["a"], [], ["?"]], [["a", "b"], ["b"], ["b"]]
    assert mean_distance(records, careful, space, anchors) == MeanDistance(0.0, 1, 2)
    assert mean_distance(records, bold, space, anchors) == MeanDistance(1.0, 1, 2)
    with pytest.raises(DecloakError, match="3 records have 3 reconstructions and 2 anchors"):
        mean_distance(records, bold, space, anchors[:2])


def test_the_mean_is_that_of_the_records_whatever_their_order():
    rng = np.random.default_rng(5)
    space = {word: rng.normal(size=3) for word in WORDS}
    records = [[word for word in WORDS if rng.random() < 0.5] or ["a"] for _ in range(30)]
    rebuilt = [[word for word in WORDS if rng.random() < 0.5] or ["b"] for _ in range(30)]
    single = [distance(*pair, space) for pair in zip(records, rebuilt, strict=True)]
    assert mean_distance(records, rebuilt, space).mean == pytest.approx(sum(single) / 30)
    assert (
        mean_distance(records[::-1] * 2, rebuilt[::-1] * 2, space).mean == mean_distance(records, rebuilt, space).mean
    )


BAD_VECTORS = [
    ({"a": [0.0], "b": [0.0, 1.0]}, "the vector of 'b' has 2 numbers, others 1"),
    ({"a\x00": "far"}, "the vector of 'a\\\\x00' is not a list of numbers"),
    ({"a": []}, "is not a list of numbers"),
    ({"a": [[1.0]]}, "is not a list of numbers"),
    ({"a": [float("nan")]}, "is not a list of numbers"),
    ({"a": 1.0}, "is not a list of numbers"),
]


@pytest.mark.parametrize(("vectors", "message"), BAD_VECTORS)
def test_vectors_that_are_none_are_refused(vectors, message):
    with pytest.raises(DecloakError, match=message):
        mean_distance([], [], vectors)


def test_a_reconstruction_for_every_record():
    with pytest.raises(DecloakError, match="1 records have 2 reconstructions"):
        mean_distance([["a"]], [["a"], ["b"]], {"a": [0.0]})
