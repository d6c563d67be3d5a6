"""Parameters of which `make test` tries a few, and `make test-all` every one."""

from collections.abc import Collection, Iterable

import pytest


def slow_but(few: Collection[object], values: Iterable[object], *, several: bool = False) -> list[object]:
    """Return `values` as parameters, which are slow but for `few` of them; `several` takes each value apart."""
    return [
        value if value in few else pytest.param(*(value if several else (value,)), marks=pytest.mark.slow)  # type: ignore[misc]
        for value in values
    ]
