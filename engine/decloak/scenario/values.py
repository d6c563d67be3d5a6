"""Documents from Python values: what a program gives is checked as a file is, and errors name the key."""

import math
from collections.abc import Mapping
from pathlib import PurePath

from decloak.errors import DecloakError, quote
from decloak.yaml.source import Source
from decloak.yaml.tree import DEEPEST, MOST, UNUSABLE, WIDEST, Location, Node

__all__ = ["source_of"]


def source_of(value: Mapping[str, object], name: str) -> Source:
    """Return the document of the mapping `value`. Errors have the dotted key below `name` as their location.

    >>> source_of({"data": {"file": "a.csv"}}, "scenario").location(("data", "file"))
    'scenario.data.file'
    """
    root = _node(value, name, 1)
    if root.size > MOST:
        raise DecloakError(f"more than {MOST:,} values", name, "keep bulk data in files, or give them as data=")
    return Source(name, root)


def _node(value: object, place: str, depth: int) -> Node:
    if depth > DEEPEST:
        raise DecloakError(f"nested deeper than {DEEPEST} levels", place[:300], "write it flatter")
    if isinstance(value, Mapping):
        keys = {_key(key, place): f"{place}.{quote(key, 100)[1:-1]}" for key in value}
        children: dict[str | int, Node] = {key: _node(value[key], at, depth + 1) for key, at in keys.items()}
        return Node.mapping(Location(place), {key: Location(at) for key, at in keys.items()}, children)
    if isinstance(value, list | tuple):
        return Node.sequence(
            Location(place), [_node(entry, f"{place}[{number}]", depth + 1) for number, entry in enumerate(value)]
        )
    return Node(_scalar(value, place), Location(place))


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise DecloakError(f"the key {quote(key)} is no text", place, "put it in quotes")
    return key


def _scalar(value: object, place: str) -> str | int | float | bool | None:
    """Return a number of numpy as one of Python, and a path as text."""
    value = value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value
    value = str(value) if isinstance(value, PurePath) else value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if UNUSABLE.search(value):
            raise DecloakError(f"{quote(value)} holds a character no text may hold", place, "delete it")
        return value
    if isinstance(value, int):
        if abs(value) > WIDEST:
            raise DecloakError(f"{quote(value)} is too large", place, f"write a whole number up to {WIDEST}")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise DecloakError(f"{quote(value)} is not a finite number", place, "write a number below 1e308")
        return value
    hint = "write text, a number, true or false, a list or a mapping"
    raise DecloakError(f"{quote(value)} is a {type(value).__name__}", place, hint)
