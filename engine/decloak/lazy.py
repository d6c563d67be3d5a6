"""Modules that are loaded when something of them is first used: most commands need none of them.

`scipy.sparse` takes a tenth of a second. A module that names it in annotations as well says `from __future__ import
annotations`, for these would load it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["sparse"]


class _Unloaded:
    """Stands for a module."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = _Unloaded("scipy.sparse")
