"""Sets drawn at random for the plain set-generalisation."""

from hypothesis import given
from hypothesis import strategies as st

from decloak.anonymisers.sets import random_sets


@given(st.integers(2, 30), st.integers(2, 6), st.integers(0, 5))
def test_random_sets_share_out_every_item_once(count, size, seed):
    items = [f"i{number:02}" for number in range(count)]
    sets = random_sets(items, size, 1.0, seed)
    assert sorted(item for one in sets for item in one) == items
    assert {len(one) for one in sets} <= {size, size + 1, count % size}
