"""Lazy properties and imports: most commands work without sparse matrices, for example.

Importing `scipy.sparse` takes a tenth of a second. A module that uses it in annotations also needs `from __future__
import annotations`, because these would import it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

__all__ = ["once", "sparse"]

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801
    """A property that is computed on first access.

    `functools.cached_property` is the same, but in Python 3.11 it holds a lock for all objects: threads that wait for
    each other would wait for ever.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "once[T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> "once[T] | T":
        if instance is None:
            return self
        # A property without `__set__` is hidden by an attribute of its name.
        value = vars(instance)[self._name] = self._function(instance)
        return value


class _LazyModule:
    """A module that is imported on first access."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = _LazyModule("scipy.sparse")
