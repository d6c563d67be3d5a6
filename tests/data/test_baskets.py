"""Made-up baskets: as many and as long as asked for, each item once, long-tailed, the same for the same seed."""

import itertools

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


def median_lift(records) -> float:
    """The median of how much more often the 200 most frequent pairs of items occur together than independent ones."""
    support = np.asarray(records.sum(axis=0)).ravel()
    common = np.argsort(-support)[:60]
    held = records[:, common].astype(float)
    together = np.triu((held.T @ held).toarray(), 1)
    expected = np.outer(support[common], support[common]) / records.shape[0]
    most = np.argsort(-together, axis=None)[:200]
    return float(np.median(together.ravel()[most] / expected.ravel()[most]))


@pytest.mark.parametrize("shape", [(3000, 40, 4.0, 5), (2000, 500, 6.5, 20), (1500, 7, 3.0, 7)])
def test_baskets_with_habits_have_the_shape_that_was_asked_for(shape):
    transactions, items, length, classes = shape
    drawn = shaped(transactions, items, length, habit=0.5, classes=classes, seed=3)
    assert drawn.shape == (transactions, items)
    assert drawn.max() == 1
    assert drawn.mean() * items == pytest.approx(length, rel=0.1)
    again = shaped(transactions, items, length, habit=0.5, classes=classes, seed=3)
    assert (drawn != again).nnz == 0


def test_the_stronger_the_habit_the_more_often_items_occur_together():
    lifts = [median_lift(shaped(20_000, 500, 4, habit=habit, seed=2)) for habit in (0.0, 0.3, 0.7)]
    assert lifts == sorted(lifts)
    assert lifts[0] < 2 < 3 < lifts[2]


def test_with_a_habit_of_one_a_record_stays_in_its_class():
    drawn = shaped(5_000, 400, 2, 5, habit=1.0, classes=4, seed=2)
    classes = [set(drawn.indices[start:end] // 100) for start, end in itertools.pairwise(drawn.indptr)]
    assert all(len(one) == 1 for one in classes)
    assert {next(iter(one)) for one in classes} == {0, 1, 2, 3}


def test_records_that_hold_nearly_every_item_are_completed_like_drawing_on(monkeypatch):
    """How often the rarest item is missing from records of all items but one: by rounds alone, and completed so."""

    def missing(rounds: int) -> float:
        monkeypatch.setattr("decloak.data.generators.baskets.ROUNDS", rounds)
        found = shaped(40_000, 4, 3, 3, seed=7)
        full = found[np.diff(found.indptr) == 3]
        return float(np.max(1 - np.asarray(full.mean(axis=0))))

    assert missing(1) == pytest.approx(missing(60), abs=0.02)
    assert ROUNDS < 60
