"""Made-up baskets: as many and as long as asked for, each item once, long-tailed, the same for the same seed."""

import numpy as np
import pytest

from decloak.data.generators.baskets import ROUNDS, baskets, shaped


@pytest.mark.parametrize("shape", [(300, 5, 3.0), (2000, 40, 4.0), (2000, 500, 6.5), (1, 2, 1.0)])
def test_baskets_have_the_shape_that_was_asked_for(shape):
    transactions, items, length = shape
    data = baskets(transactions, items, length, seed=3)
    assert len(data.transactions) == len(data.labels) == transactions
    assert all(1 <= len(row) == len(set(row)) <= items for row in data.transactions)
    assert set(data.items) <= {str(number) for number in range(1, items + 1)}
    if transactions > 1000:
        assert np.mean([len(row) for row in data.transactions]) == pytest.approx(length, rel=0.1)


def test_the_same_seed_gives_the_same_baskets_and_another_another():
    assert baskets(50, 20, 4, seed=1) == baskets(50, 20, 4, seed=1)
    assert baskets(50, 20, 4, seed=1).transactions != baskets(50, 20, 4, seed=2).transactions


def test_common_items_are_about_as_common_as_their_rank_says():
    support = np.sort(np.asarray(shaped(20_000, 200, 3, 30, seed=5).sum(axis=0)))[::-1]
    assert support[0] / support[9] == pytest.approx(10, rel=0.35)  # without replacement the top is somewhat flatter
    assert support[9] / support[99] == pytest.approx(10, rel=0.35)


def test_records_that_hold_nearly_every_item_are_completed_like_drawing_on(monkeypatch):
    """How often the rarest item is missing from records of all items but one: by rounds alone, and completed so."""

    def missing(rounds: int) -> float:
        monkeypatch.setattr("decloak.data.generators.baskets.ROUNDS", rounds)
        found = shaped(40_000, 4, 3, 3, seed=7)
        full = found[np.diff(found.indptr) == 3]
        return float(np.max(1 - np.asarray(full.mean(axis=0))))

    assert missing(1) == pytest.approx(missing(60), abs=0.02)
    assert ROUNDS < 60
