"""Parameters of which `make test` tries a few, and `make test-all` every one."""

from collections.abc import Iterable

import pytest


def slow_but(few: Iterable[object], values: Iterable[object]) -> list[object]:
    """Return `values` as parameters, which are slow but for `few` of them."""
    few = list(few)
    return [value if value in few else pytest.param(value, marks=pytest.mark.slow) for value in values]
