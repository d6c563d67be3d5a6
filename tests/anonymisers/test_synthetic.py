"""Synthetic records: the mixture equals a literal twin, noise is what epsilon asks for, and every form of use."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import decloak
import naive_mixture as naive
from decloak.anonymisers.kernels import mixture
from decloak.errors import DecloakError
from decloak.releases.public_store import read_store

ITEMS = "abcde"
rows = st.lists(st.frozensets(st.sampled_from(ITEMS), max_size=4), min_size=1, max_size=12)
cases = given(rows, st.integers(1, 4), st.integers(0, 5), st.integers(0, 3))


def matrix(data):
    return sparse.csr_array(
        np.array([[item in row for item in ITEMS] for row in data], np.int8).reshape(-1, len(ITEMS))
    )


def check_equal_to_words(data, parts, seed, rounds):
    first = np.random.default_rng(seed).dirichlet(np.full(parts, mixture.SPREAD), len(data)).tolist()
    weights, p = naive.fitted(data, ITEMS, first, rounds)
    found = mixture.fit_mixture(matrix(data), parts, seed, rounds)
    assert found.weights == pytest.approx(weights, abs=1e-9)
    expected = [[p[item, part] for part in range(parts)] for item in ITEMS]
    assert found.probabilities == pytest.approx(np.array(expected), abs=1e-9)


@settings(max_examples=60)
@cases
def test_equal_to_the_mixture_in_words(data, parts, seed, rounds):
    check_equal_to_words(data, parts, seed, rounds)


@pytest.mark.slow
@settings(max_examples=1000)
@cases
def test_equal_to_the_mixture_in_words_in_many_cases(data, parts, seed, rounds):
    check_equal_to_words(data, parts, seed, rounds)


def test_drawn_records_have_the_probabilities_of_their_parts():
    model = mixture.Mixture(np.array([0.25, 0.75]), np.array([[0.9, 0.1], [0.0, 0.4]]))
    drawn = mixture.draw_records(model, 20_000, 3).toarray()
    assert drawn.mean(axis=0) == pytest.approx([0.25 * 0.9 + 0.75 * 0.1, 0.75 * 0.4], abs=0.02)
    assert (drawn[:, 0] * drawn[:, 1]).mean() == pytest.approx(0.75 * 0.1 * 0.4, abs=0.01)


def test_the_noise_of_counts_has_the_scale_that_epsilon_asks_for():
    data = matrix([frozenset("ab"), frozenset("ab"), frozenset("c")] * 10)
    draws = [mixture._noisy_counts(data, 2.0, np.random.default_rng(seed)) for seed in range(3_000)]
    shares = mixture.SHARES
    assert sum(shares.values()) == pytest.approx(1)
    # No record has these two items, so that their count is noise alone. A cut to two items changes one pair at most.
    noise = np.array([draw.pairs[0, 2] for draw in draws if draw.scale == 1 / (shares["pairs"] * 2.0)])
    assert len(noise) > 500
    assert noise.mean() == pytest.approx(0, abs=0.15)
    p = np.exp(-shares["pairs"] * 2.0)
    assert np.abs(noise).mean() == pytest.approx(2 * p / (1 - p**2), rel=0.1)


def test_much_epsilon_gives_the_pairs_of_the_data():
    data = [frozenset("ab"), frozenset("ab"), frozenset("c"), frozenset()] * 500
    release = decloak.anonymise(data, "synthetic", epsilon=1e6, seed=1)
    drawn = [frozenset(row) for row in release.transactions]
    assert len(drawn) == len(data)
    assert sum(row >= {"a", "b"} for row in drawn) == pytest.approx(1_000, abs=80)
    assert not any(len(row & {"a", "b"}) == 1 for row in drawn)


def test_noise_without_a_seed_differs_each_time():
    data = [["a", "b"], ["a"], ["b", "c"]] * 40
    first, second = (decloak.anonymise(data, "synthetic", epsilon=1.0) for _ in range(2))
    assert first != second
    seeded = [decloak.anonymise(data, "synthetic", epsilon=1.0, seed=4) for _ in range(2)]
    assert seeded[0] == seeded[1] == decloak.anonymise(data[::-1], "synthetic", epsilon=1.0, seed=4)


def test_wrong_settings_are_errors():
    with pytest.raises(DecloakError, match="no positive number"):
        decloak.anonymise([["a"]], "synthetic", epsilon=-1)
    with pytest.raises(DecloakError, match="parts is '0'"):
        decloak.anonymise([["a"]], "synthetic", parts=0)


SCENARIO = """\
scenario: s
data: {file: rows.txt, format: basket}
anonymise: {method: synthetic, SETTINGS}
attack: all
measure: [{exposure: {control: control.txt}}, utility]
"""


@pytest.mark.parametrize("chosen", ["parts: 3", "epsilon: 1.0"])
def test_a_run_measures_publishes_and_reads_it_back(tmp_path, call, chosen):
    text = "bread, milk\nbread, milk, tea\nmilk\ntea, bread\nmilk, tea\nbread\n" * 40
    (tmp_path / "rows.txt").write_text(text + "salt, tea\n")
    (tmp_path / "control.txt").write_text(text)
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("SETTINGS", chosen))
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    figures = {key: figure.value for (key, _), figure in run.variants[0].figures.items()}
    assert figures["exposed_3_release"] == figures["singled_out_3_release"] == 0
    assert figures["hidden"] == 1
    assert "membership_auc" in figures
    assert "guarantee_violations" not in figures
    for name in ("r.txt", "r.db"):
        assert call("publish", "last", tmp_path / name, "--store", tmp_path / "s.db").code == 0
    table = read_store(tmp_path / "r.db")
    assert table.form == "synthetic"
    manifest = (tmp_path / "r.txt.manifest.json").read_text()
    assert '"form": "synthetic"' in manifest
    assert "seed" not in manifest
    shown = call("show", "last", "--store", tmp_path / "s.db").out
    assert "states no guarantee" in shown
    assert "salt" not in call("check", tmp_path / "r.txt", "--input", "published").out
