"""Remove names of items from the texts of a page, because its readers may not see them.

Notes name items in quotes, the first few of many; scenarios list them under a few keys.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Set
from typing import Any

from decloak.errors import quote

__all__ = ["nameless", "nameless_config"]

_ITEM = "\0"
_MANY = re.compile(f"{_ITEM}(?:(?:, | with ){_ITEM})*(?: and (?P<more>[0-9]+) more)?")
_NAMING = ("privacy", "quasi_identifiers", "sensitive", "sets", "utility")
"""The keys of a scenario under which items are named."""


def nameless(notes: Collection[str], names: Set[str]) -> list[str]:
    """Return notes with the number of items in place of their names, each distinct note once.

    >>> nameless(["no score for 'gout', 'flu' and 5 more"], {"gout", "flu"})
    ['no score for 7 items']
    """
    if not any("'" in note for note in notes):
        return list(notes)
    quoted = sorted(set(map(quote, names)), key=len, reverse=True)
    return list(dict.fromkeys(_MANY.sub(_counted, _marked(note, quoted)) for note in notes))


def _marked(note: str, quoted: Collection[str]) -> str:
    for name in quoted:
        if name in note:
            note = note.replace(name, _ITEM)
    return note


def _counted(match: re.Match[str]) -> str:
    count = match[0].count(_ITEM) + int(match["more"] or 0)
    return "1 item" if count == 1 else f"{count} items"


def nameless_config(config: Any, names: Set[str], key: str = "") -> Any:
    """A configuration with the number of items in place of lists of them."""
    if isinstance(config, Mapping):
        return {inner: nameless_config(value, names, inner) for inner, value in config.items()}
    if not isinstance(config, list | tuple):
        return config
    leaves = list(_leaves(config))
    if key in _NAMING and leaves and all(isinstance(leaf, str) and leaf in names for leaf in leaves):
        lists = sum(isinstance(value, list | tuple) for value in config)
        return f"{len(leaves)} items" + (f" in {lists} lists" if lists else "")
    return [nameless_config(value, names, key) for value in config]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value
