"""The first line of every release file: its method, and the k and m that it states."""

from typing import NamedTuple

from decloak.data.formats.lines import Line, json_value
from decloak.errors import quote, suggest

RELEASE_VERSION = 1
LARGEST_NUMBER = 1_000_000_000
"""Largest k, m and number of records."""
LONGEST_RELEASE = 50_000_000
"""Largest number of characters of a line. A cluster is one line, and so are all members of a label."""
STORE_REMEDY = "use a store: a name that ends in .db"


OPTIONAL = ("k", "m", "cover")
COVERS = ("cure", "suppress")
"""How cover problems may have been cured."""


class Header(NamedTuple):
    """The method of a release, and its k and m if stated."""

    method: str
    k: int | None = None
    m: int | None = None
    cover: str | None = None

    @property
    def value(self) -> dict[str, object]:
        """The header as a JSON object."""
        stated = (("k", self.k), ("m", self.m), ("cover", self.cover))
        promised = {name: value for name, value in stated if value is not None}
        return {"decloak": "release", "version": RELEASE_VERSION, "method": self.method} | promised


def header_of(line: Line, *methods: str) -> Header:
    """Return the header in `line`; raise an error if its method is none of `methods`."""
    hint = f'write {{"decloak": "release", "version": {RELEASE_VERSION}, "method": "{methods[0]}", "k": 3, "m": 2}}'
    value = json_value(line, "write one JSON object a line")
    if not isinstance(value, dict) or "decloak" not in value:
        raise line.error("the first line is not the header of a release", hint)
    for key in value:
        if key not in ("decloak", "version", "method", *OPTIONAL):
            near = suggest(key, ("version", "method", *OPTIONAL))
            raise line.error(f"unknown key {quote(key)} in a header", near or hint)
    for key in ("version", "method"):
        if key not in value:
            raise line.error(f"no key '{key}' in a header", hint)
    if value["decloak"] != "release":
        raise line.error(f"a file of {quote(value['decloak'])}, not a release", hint)
    if type(value["version"]) is not int or value["version"] != RELEASE_VERSION:  # true and 1.0 equal 1
        remedy = f"this decloak reads and writes version {RELEASE_VERSION}"
        raise line.error(f"unknown version {quote(value['version'])}", remedy)
    method = value["method"]
    if method in ("disassociation", "generalisation", "itemsets") and method not in methods:
        key = "published" if method == "generalisation" else "release"
        raise line.error(f"a release by {method}", f"in a scenario, write `data: {{{key}: FILE}}")
    if method not in methods:
        near = suggest(method, methods) if isinstance(method, str) else None
        hint = near or "write " + " or ".join(f'"{name}"' for name in methods)
        raise line.error(f"unknown method {quote(method)}", hint)
    k, m = (whole_number(line, name, value[name]) if name in value else None for name in ("k", "m"))
    return Header(method, k, m, _cover(line, method, value.get("cover")))


def _cover(line: Line, method: str, value: object) -> str | None:
    if value is not None and (method != "disassociation" or value not in COVERS):
        raise line.error(f"cover is {quote(value)}", "write cure or suppress in a release by disassociation")
    return value if isinstance(value, str) else None


def whole_number(line: Line, name: str, value: object) -> int:
    """Return `value` if it is an integer from 1 to LARGEST_NUMBER; else raise an error that names `line` and `name`."""
    # In Python true is the integer 1.
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST_NUMBER:
        raise line.error(f"{name} is {quote(value)}", f"write a whole number from 1 to {LARGEST_NUMBER:,}")
    return value
