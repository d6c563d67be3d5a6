"""What is carried over to hidden items: traits, and what leans to what, from the definitions."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.attacker import cell_features as traits_module
from decloak.attacker.cell_features import RIDGE, cooccurrence_model, item_features, landmark_pairs, landmarks_of

NAMES = "abcdef"
transaction = st.sets(st.sampled_from(NAMES), min_size=1)


def naive_lean(transactions, vectors, hidden):
    """T W T' with W by the least squares of the definition, one entry of Y after another."""
    n = len(transactions)
    f = Counter(item for row in transactions for item in row)
    shown = [item for item in NAMES if f[item] and item not in hidden]
    y = [
        [
            0.0 if a == b else (sum(a in row and b in row for row in transactions) - f[a] * f[b] / n)
            / math.sqrt(f[a] * f[b])
            for b in shown
        ]
        for a in shown
    ]  # fmt: skip
    t = np.array([vectors[NAMES.index(item)] for item in shown]).reshape(len(shown), vectors.shape[1])
    back = np.linalg.inv(t.T @ t + RIDGE * np.eye(vectors.shape[1]))
    weights = back @ t.T @ np.array(y).reshape(len(shown), len(shown)) @ t @ back
    return vectors @ weights @ vectors.T


@settings(max_examples=80)
@given(st.lists(transaction, min_size=1, max_size=8), st.sets(st.sampled_from(NAMES), max_size=3), st.integers(0, 99))
def test_what_is_carried_over_is_that_of_the_definition(transactions, hidden, seed):
    vectors = np.random.default_rng(seed).normal(size=(6, 3))
    pairs = [(a, b) for a in NAMES for b in "ace"]
    d = cooccurrence_model(transactions, list(NAMES), vectors).distances(pairs, hidden)
    lean = naive_lean(transactions, vectors, hidden)
    expected = np.array([-lean[NAMES.index(a), NAMES.index(b)] for a, b in pairs])
    if expected.std() > 1e-9:
        assert [d[pair] for pair in pairs] == pytest.approx(expected / expected.std(), abs=1e-6)


def test_no_transaction_of_a_hidden_item_tells_of_it():
    vectors = np.random.default_rng(1).normal(size=(6, 3))
    pairs = [(a, "f") for a in "abc"]
    rows = [{"a", "b"}, {"b", "c"}, {"a", "d"}]
    shown = cooccurrence_model([*rows, {"a", "e"}], list(NAMES), vectors).distances(pairs, {"f"})
    beside = cooccurrence_model([*rows, {"a", "e", "f"}], list(NAMES), vectors)
    assert beside.distances(pairs, {"f"}) == pytest.approx(shown)
    assert beside.distances(pairs) != pytest.approx(shown)


def test_where_all_that_is_shown_is_hidden_nothing_is_carried_over():
    rng, names = np.random.default_rng(2), [f"i{number}" for number in range(300)]
    shown = names[::7]
    rows = [set(rng.choice(shown, 9)) for _ in range(99)]
    release = cooccurrence_model(rows, names, rng.normal(size=(300, 40)))
    assert {*release.distances([(a, "i1") for a in names], set(shown)).values()} == {0.0}


def products(block):
    return block @ block.T


def test_traits_are_what_items_resemble_are_spelt_like_and_go_with():
    items, landmarks = ["knee", "knees", "flu"], ["flu", "knee"]
    scores = {pair: float(at) for at, pair in enumerate(landmark_pairs(items, landmarks))}
    scores["knee", "flu"] = None
    d = np.array([[scores[pair] for pair in landmark_pairs([item], landmarks)] for item in items], float)
    resembling = np.nan_to_num(np.nanmean(d, axis=0) - d)
    runs = [
        {"^kn", "kne", "nee", "ee$", "^kne", "knee", "nee$"},
        {"^kn", "kne", "nee", "ees", "es$", "^kne", "knee", "nees", "ees$"},
        {"^fl", "flu", "lu$", "^flu", "flu$"},
    ]
    of_run = Counter(run for of_item in runs for run in of_item)
    spelt = np.array([[(run in of_item) / math.sqrt(of_run[run]) for run in of_run] for of_item in runs])
    others = [("knee", "flu"), ("knee",), ("cough",)]
    going = np.array([[1 / math.sqrt(2), 1 / math.sqrt(2)], [0, 0], [1, 0]])
    of_all = item_features(items, landmarks, [scores], others)
    expected = np.zeros((3, 3))
    for block in (resembling, spelt, going):
        u, s, _ = np.linalg.svd(block, full_matrices=False)
        roots = u * np.sqrt(s)
        expected += products(roots / math.sqrt((roots**2).sum() / 3))
    assert products(of_all) == pytest.approx(expected, abs=1e-9)
    assert products(item_features(items, landmarks, [scores], others, spelling=False)) != pytest.approx(
        expected, abs=1e-3
    )


def test_traits_of_nothing_are_none():
    assert item_features(["a", "b"], [], [], spelling=False).shape == (2, 0)
    assert not item_features(["a", "b"], ["a"], [{("a", "a"): None, ("a", "b"): 0.5}], spelling=False).any()
    assert not item_features(["?", "!"], [], [], [("x",)]).any()  # neither spelt in letters nor seen elsewhere


def test_as_many_directions_as_are_asked_for(monkeypatch):
    monkeypatch.setattr(traits_module, "RANK", 2)
    assert item_features(["knee", "elbow", "flu", "cough"], [], [], spelling=True).shape == (4, 2)


def test_landmarks_are_the_most_frequent_and_fewer_of_many_items(monkeypatch):
    support = {"b": 3, "a": 3, "c": 5, "d": 1}
    monkeypatch.setattr(traits_module, "LANDMARKS", 3)
    assert landmarks_of(support, support) == ["c", "a", "b"]
    monkeypatch.setattr(traits_module, "PAIRS", 8)
    assert landmarks_of(support, support) == ["c", "a"]
