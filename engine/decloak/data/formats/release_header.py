"""The first line of every release file: that it is one, of which method, and what it promises."""

from typing import Any, NamedTuple

from decloak.data.formats.jsonvalue import json_value
from decloak.data.formats.lines import Line
from decloak.errors import nearest, shown

__all__ = [
    "LARGEST_NUMBER", "LONGEST_RELEASE", "RELEASE_VERSION", "STORE_REMEDY", "Header", "closed", "header_of", "same",
    "whole_number",
]  # fmt: skip

RELEASE_VERSION = 1
LARGEST_NUMBER = 1_000_000_000
"""The largest k, m and number of records."""
LONGEST_RELEASE = 50_000_000
"""Characters a line may have: a cluster is one line, however many records it has, and so is all that a label means."""
STORE_REMEDY = "publish it as a store, to a name that ends in .db"


class Header(NamedTuple):
    """The method of a release, and the k and m it was made with where it says so."""

    method: str
    k: int | None = None
    m: int | None = None

    @property
    def value(self) -> dict[str, Any]:
        promised = {name: value for name, value in (("k", self.k), ("m", self.m)) if value is not None}
        return {"decloak": "release", "version": RELEASE_VERSION, "method": self.method} | promised


def header_of(line: Line, *methods: str) -> Header:
    """Read the first line; `methods` are those that are meant."""
    hint = f'write {{"decloak": "release", "version": {RELEASE_VERSION}, "method": "{methods[0]}", "k": 3, "m": 2}}'
    value = json_value(line, "write one JSON object a line")
    if not isinstance(value, dict) or "decloak" not in value:
        raise line.wrong("the first line is not the header of a release", hint)
    for key in value:
        if key not in ("decloak", "version", "method", "k", "m"):
            near = nearest(key, ("version", "method", "k", "m"))
            raise line.wrong(f"unknown key {shown(key)} in a header", near or hint)
    for key in ("version", "method"):
        if key not in value:
            raise line.wrong(f"no key '{key}' in a header", hint)
    if not same(value["decloak"], "release"):
        raise line.wrong(f"a file of {shown(value['decloak'])}, not a release", hint)
    if not same(value["version"], RELEASE_VERSION):
        remedy = f"this decloak reads and writes version {RELEASE_VERSION}"
        raise line.wrong(f"unknown version {shown(value['version'])}", remedy)
    method = value["method"]
    if method in ("disassociation", "generalisation") and method not in methods:
        key = "release" if method == "disassociation" else "published"
        raise line.wrong(f"a release by {method}", f"in a scenario that is data: {{{key}: FILE}}")
    if method not in methods:
        near = nearest(method, methods) if isinstance(method, str) else None
        hint = near or "write " + " or ".join(f'"{name}"' for name in methods)
        raise line.wrong(f"unknown method {shown(method)}", hint)
    return Header(method, *(whole_number(line, name, value[name]) if name in value else None for name in ("k", "m")))


def same(value: Any, expected: Any) -> bool:
    """Equal and of one type: true is not 1."""
    return type(value) is type(expected) and value == expected


def whole_number(line: Line, name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST_NUMBER:
        raise line.wrong(f"{name} is {shown(value)}", f"write a whole number from 1 to {LARGEST_NUMBER:,}")
    return value


def closed(title: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object with these keys and no others; only k and m may be left out."""
    required = [key for key in fields if key not in ("k", "m")]
    return {
        "title": title, "type": "object", "properties": fields, "required": required, "additionalProperties": False,
    }  # fmt: skip
