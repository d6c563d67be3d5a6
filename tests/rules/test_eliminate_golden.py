"""Eliminations against the golden file: the worked example, edge cases, 100 random tables."""

import json
from pathlib import Path

import numpy as np
import pytest

from decloak.rules.eliminate.kernel import eliminate
from naive_eliminate import splitmix64
from published_attacks import ATTACKS, TBA_ROW_MAJOR, cells, groups

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "set-generalisation.json").read_text())
STRATEGIES = ATTACKS | {"tba_rowmajor": TBA_ROW_MAJOR}
EXAMPLE = {"tba": "tba_mean", "tba_rowmajor": None, "ra": None}


def mask(done):
    """1 kept, 0 eliminated, ? unscored."""
    letters = np.where(done.scored, np.where(done.kept, "1", "0"), "?")
    return ["".join(row) for row in letters]


def agrees(done, expected):
    width = done.kept.shape[1]
    assert cells(done) == [divmod(one, width) if isinstance(one, int) else tuple(one) for one in expected["order"]]
    assert mask(done) == expected["mask"]
    if expected.get("delta") is None:
        assert done.threshold is None
    else:
        assert done.threshold == pytest.approx(expected["delta"], rel=1e-9, abs=1e-9)
    if "value" in expected:
        # The golden file keeps nine digits.
        np.testing.assert_allclose(done.steps.suspicion, expected["value"], rtol=1e-8, atol=1e-9)
    if "group" in expected:
        assert groups(done) == expected["group"]


@pytest.mark.parametrize("name", STRATEGIES)
def test_random_tables_together(name):
    tables = GOLDEN["tables"]
    seeds = [one["ra"]["seed"] for one in tables]
    for done, one in zip(
        eliminate([one["table"] for one in tables], STRATEGIES[name], seeds=seeds), tables, strict=True
    ):
        agrees(done, one[name])


@pytest.mark.parametrize("name", sorted(STRATEGIES.keys() - {"ra"}))
@pytest.mark.parametrize("case", GOLDEN["edge"], ids=lambda case: case["name"])
def test_edge_case(name, case):
    (done,) = eliminate([case["table"]], STRATEGIES[name])
    agrees(done, case[name])


@pytest.mark.parametrize("name", ["mda", "tba", "wba", "gba", "rba"])
def test_worked_example(name):
    example = GOLDEN["example"]
    expected = example[EXAMPLE.get(name, name)]
    (done,) = eliminate([example["table"]], STRATEGIES[name])
    agrees(done, expected)
    steps = expected["steps"]
    assert [step["iteration"] for step in steps] == done.steps.round.tolist()
    np.testing.assert_allclose(done.steps.suspicion, [step["value"] for step in steps], atol=1e-9)
    if name in ("gba", "rba"):
        assert groups(done) == [step["group"] for step in steps]


def test_worked_example_of_tba_with_the_printed_threshold():
    (done,) = eliminate([GOLDEN["example"]["table"]], ATTACKS["tba"], threshold=1.60)
    agrees(done, GOLDEN["example"]["tba_threshold_1.60"])


@pytest.mark.parametrize("name", ["wba", "gba", "rba"])
def test_weights_of_the_worked_example_after_every_step(name):
    example = GOLDEN["example"]
    for rounds, step in enumerate(example[name]["steps"], start=1):
        (done,) = eliminate([example["table"]], ATTACKS[name], rounds=rounds)
        assert len(done.steps.round) == rounds
        np.testing.assert_allclose(done.weight, np.array(step["weighted_after"], dtype=float), atol=1e-9)
        np.testing.assert_allclose(done.row_weight, fractions(step["row_weights_after"]), atol=1e-9)
        np.testing.assert_allclose(done.col_weight, fractions(step["column_weights_after"]), atol=1e-9)


def fractions(rows):
    def number(text):
        top, _, bottom = (text or "nan").partition("/")
        return float(top) / float(bottom or 1)

    return np.array([[number(one) for one in row] for row in rows])


def test_splitmix64_of_the_naive_twin():
    draws = splitmix64(0)
    assert [next(draws) for _ in range(3)] == [int(one) for one in GOLDEN["unit"]["splitmix64_seed_0"]]
