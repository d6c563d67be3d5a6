"""Counts of terms from a JSON file: {"n": 50000, "terms": {"flu": 120}, "pairs": [["flu", "cough", 7]]}.

A count is a whole number, or null (or one below 0) when it is unknown; a pair may stand in either order.
"""

import os
from typing import Any

from decloak.data.formats.jsonvalue import json_value
from decloak.data.formats.lines import FilePath, Line, place, read_lines
from decloak.data.query import both
from decloak.errors import DecloakError, nearest, placed, shown

__all__ = ["Counts", "read_counts_json"]

SHAPE = 'write {"n": 50000, "terms": {"flu": 120}, "pairs": [["flu", "cough", 7]]}'
KEYS = ("n", "terms", "pairs")
LARGEST = 10**18
LONGEST = 1_000_000_000


Counts = tuple[int, dict[str, int | None], dict[tuple[str, str], int | None]]
"""N, f(x) by term and f(x,y) by unordered pair."""


def read_counts_json(path: FilePath) -> Counts:
    # One value over all lines, so a line may be as long as a whole file: most programs write JSON so.
    text = "\n".join(line.text for line in read_lines(path, longest=LONGEST))
    value = json_value(Line(os.fspath(path), 1, text), SHAPE)
    with placed(place(path)):
        return _counts(value)


def _counts(value: Any) -> Counts:
    if not isinstance(value, dict):
        raise DecloakError("expected one object", hint=SHAPE)
    for key in value:
        if key not in KEYS:
            hint = nearest(key, KEYS) or f"the keys are {', '.join(KEYS)}"
            raise DecloakError(f"unknown key {shown(key)}", hint=hint)
    n = _count(value.get("n"), "n")
    if n is None or n < 1:
        raise DecloakError("N, the number of pages, is missing or below 1", hint='add "n": 50000')
    return n, _single(value.get("terms", {})), _pairs(value.get("pairs", []))


def _single(terms: Any) -> dict[str, int | None]:
    if not isinstance(terms, dict):
        raise DecloakError("terms is not an object", hint=SHAPE)
    return {_name(term, "terms"): _count(count, f"terms, {shown(term)}") for term, count in terms.items()}


def _pairs(pairs: Any) -> dict[tuple[str, str], int | None]:
    if not isinstance(pairs, list):
        raise DecloakError("pairs is not a list", hint=SHAPE)
    counts: dict[tuple[str, str], int | None] = {}
    for number, entry in enumerate(pairs, 1):
        where = f"pair {number}"
        if not isinstance(entry, list) or len(entry) != 3:
            raise DecloakError(f"{where} is not two names and a count", hint='write ["flu", "cough", 7]')
        pair, count = both(_name(entry[0], where), _name(entry[1], where)), _count(entry[2], where)
        if counts.setdefault(pair, count) != count:
            raise DecloakError(f"{where} has another value for the same two", hint="keep one of them")
    return counts


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DecloakError(f"{where}: {shown(value)} is not a name", hint='write it in quotes: "flu"')
    return value


def _count(value: Any, where: str) -> int | None:
    if value is not None and not (type(value) is int and abs(value) < LARGEST):
        raise DecloakError(f"{where}: {shown(value)} is not a count", hint="write a whole number, or null when unknown")
    return value
