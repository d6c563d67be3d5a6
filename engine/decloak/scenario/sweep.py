"""Every combination of what a scenario varies, each with a name, and what is wrong with some of them."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from decloak.errors import DecloakError, Faults, shown
from decloak.yaml.source import Fault, Source
from decloak.yaml.tree import Node, Place, number_or_text

__all__ = [
    "MOST_VARIANTS", "combination_name", "combinations", "compact", "merged_faults", "overlapping", "short_names",
]  # fmt: skip

MOST_VARIANTS = 10_000
"""Variants a scenario may have, repetitions counted."""

_PLAIN = re.compile(r"[\w./][\w./-]*(?: [\w./-]+)*")


def combination_name(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={compact(value)}" for key, value in settings.items())


_NAMING = ("method", "model", "measure", "generate", "rule", "by", "source", "file", "release", "published")
"""Keys whose value alone says what a mapping is."""


def short_names(values: Sequence[Any]) -> list[str]:
    """What different values of one key are called: mappings by what makes the difference between them.

    >>> short_names([{"method": "cut", "k": 5}, {"method": "coat", "k": 5}])
    ['cut', 'coat']
    >>> short_names([{"method": "cut", "k": 5}, {"method": "cut", "k": 9}])
    ['{k: 5}', '{k: 9}']
    """
    names = [compact(value) for value in values]
    if len(names) == 1 or not all(isinstance(value, Mapping) for value in values):
        return names
    differing = [
        key
        for key in dict.fromkeys(key for value in values for key in value)
        if len({compact(value[key]) if key in value else None for value in values}) > 1
    ]
    telling = [[compact(value[key]) if key in value else "" for value in values] for key in _NAMING if key in differing]
    subsets = [compact({key: value[key] for key in differing if key in value}) for value in values]
    return next((texts for texts in (*telling, subsets) if "" not in texts and len({*texts}) == len(names)), names)


def combinations(source: Source, times: int) -> Iterator[Source]:
    """The scenario that each combination makes; `vary` must be a mapping to lists."""
    vary = source.root.children.get("vary", Node({}, source.root.place))
    _check_size(vary, times)
    fixed = Source(source.name, source.root.without("vary"))
    for values in product(*(node.children.values() for node in vary.children.values())):
        settings = dict(zip(map(str, vary.children), values, strict=True))
        variant = replace(fixed, settings=settings)
        for key, node in settings.items():
            variant = variant.put(tuple(key.split(".")), node, vary.keys[key])
        yield variant


def merged_faults(variants: Sequence[Source], faults: Sequence[Sequence[Fault]]) -> Faults:
    """The faults of all variants of a document as one error, in the order of the file.

    What several have is told once; what only some have is told with the settings that make the difference.
    """
    places: dict[str, Fault] = {}
    having: dict[str, list[Source]] = {}
    for variant, variant_faults in zip(variants, faults, strict=True):
        for fault in variant_faults:
            places.setdefault(str(fault[1]), fault)
            having.setdefault(str(fault[1]), []).append(variant)
    # A key that takes fewer values where a fault occurs than everywhere is what makes the difference.
    everywhere = {key: _chosen(key, variants) for key in variants[0].settings}
    merged = []
    for text, (place, error) in sorted(places.items(), key=lambda entry: entry[1][0][1:]):
        affected = having[text] if len(having[text]) < len(variants) else []
        merged.append(_with_settings(error, place, affected, everywhere))
    return Faults(merged)


def overlapping(key: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one of two keys, in parts, is the other, or inside it."""
    return all(part == another for part, another in zip(key, other, strict=False))


def _chosen(key: str, variants: Sequence[Source]) -> set[int]:
    return {id(variant.settings[key]) for variant in variants}


def _with_settings(
    error: DecloakError, place: Place, affected: Sequence[Source], everywhere: Mapping[str, set[int]]
) -> DecloakError:
    """A fault of some variants with the settings of the first of them that the others have not.

    A value that is at fault itself is told by its place.
    """
    settings = affected[0].settings if affected else {}
    telling = {key: node for key, node in settings.items() if _chosen(key, affected) < everywhere[key]} or settings
    name = combination_name({key: node.value for key, node in telling.items() if place not in _places(node)})
    message = f"{error.message} in the variant {shown(name, 300)[1:-1]}" if name else error.message
    return DecloakError(message, error.place, error.hint)


def _places(node: Node) -> Iterator[Place]:
    """The places of a value and of all inside it."""
    yield node.place
    yield from node.keys.values()
    for child in node.children.values():
        yield from _places(child)


def _check_size(vary: Node, times: int) -> None:
    count = math.prod(len(node.children) for node in vary.children.values())
    if count * times > MOST_VARIANTS:
        message = f"{count} combinations repeated {times} times are more than {MOST_VARIANTS} variants"
        raise DecloakError(message, str(vary.place), "vary fewer values, or repeat less")


def compact(value: object) -> str:
    """A value as YAML on one line; different values never look alike.

    >>> compact({"file": "a.csv", "sets": [["x", "3"], [3, None, True]]})
    '{file: a.csv, sets: [[x, "3"], [3, null, true]]}'
    """
    match value:
        case dict():
            return f"{{{', '.join(f'{compact(key)}: {compact(element)}' for key, element in value.items())}}}"
        case list():
            return f"[{', '.join(map(compact, value))}]"
        case str() if _reads_as_itself(value):
            return value
    return json.dumps(value)


def _reads_as_itself(text: str) -> bool:
    try:
        return _PLAIN.fullmatch(text) is not None and number_or_text(text) == text
    except DecloakError:
        return False
