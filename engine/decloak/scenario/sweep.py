"""Combinations of the settings that vary, their names, and errors that only some of them have."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from decloak.errors import DecloakError, Faults, quote
from decloak.yaml.source import Fault, Source
from decloak.yaml.tree import Location, Node, number_or_text

MOST_VARIANTS = 10_000
"""Largest number of variants of a scenario, including repetitions."""

_PLAIN = re.compile(r"[\w./][\w./-]*(?: [\w./-]+)*")


NAMING = ("method", "model", "measure", "generate", "rule", "by", "source", "file", "release", "published")
"""Keys whose value alone identifies a mapping."""


def short_names(values: Sequence[Any]) -> list[str]:
    """Return short names for different `values` of one key. Mappings are named by their differences.

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
    # One key that all mappings have, with different values, is name enough.
    telling = [[compact(value[key]) if key in value else "" for value in values] for key in NAMING if key in differing]
    subsets = [compact({key: value[key] for key in differing if key in value}) for value in values]
    return next((texts for texts in (*telling, subsets) if "" not in texts and len({*texts}) == len(names)), names)


def combinations(source: Source, times: int) -> Iterator[Source]:
    """Yield the document of each combination in `source`, where `vary` must be a mapping to lists. `times` counts the
    repetitions.
    """
    vary = source.root.children.get("vary", Node({}, source.root.place))
    # Before the product is built: a hostile scenario may have billions of combinations.
    count = math.prod(len(node.children) for node in vary.children.values())
    if count * times > MOST_VARIANTS:
        message = f"{count} combinations repeated {times} times are more than {MOST_VARIANTS} variants"
        raise DecloakError(message, str(vary.place), "vary fewer values, or repeat less")
    fixed = Source(source.name, source.root.without_key("vary"))
    for values in product(*(node.children.values() for node in vary.children.values())):
        settings = dict(zip(map(str, vary.children), values, strict=True))
        variant = replace(fixed, settings=settings)
        for key, node in settings.items():
            variant = variant.put(tuple(key.split(".")), node, vary.keys[key])
        yield variant


def merged_faults(variants: Sequence[Source], faults: Sequence[Sequence[Fault]]) -> Faults:
    """Return the faults of all variants of a document as one error, in the order of the file.

    `faults` has the faults of each of `variants`. A fault of all variants is reported once; other faults are reported
    with the settings that cause them.
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
        # A fault of all variants needs no settings in its message.
        affected = having[text] if len(having[text]) < len(variants) else []
        merged.append(_with_settings(error, place, affected, everywhere))
    return Faults(merged)


def overlapping(key: Sequence[str], other: Sequence[str]) -> bool:
    """Return True if `key`, in parts, is `other`, or one is inside the other."""
    return all(part == another for part, another in zip(key, other, strict=False))


def _chosen(key: str, variants: Sequence[Source]) -> set[int]:
    # By identity: the product repeats the node of each value, and nodes have no hash.
    return {id(variant.settings[key]) for variant in variants}


def _with_settings(
    error: DecloakError, place: Location, affected: Sequence[Source], everywhere: Mapping[str, set[int]]
) -> DecloakError:
    """Return the fault of some variants, with the settings of the first of them that other variants do not have.

    A faulty value itself is identified by its location.
    """
    settings = affected[0].settings if affected else {}
    telling = {key: node for key, node in settings.items() if _chosen(key, affected) < everywhere[key]} or settings
    name = ", ".join(f"{key}={compact(node.value)}" for key, node in telling.items() if place not in _places(node))
    message = f"{error.message} in the variant {quote(name, 300)[1:-1]}" if name else error.message
    return DecloakError(message, error.place, error.hint)


def _places(node: Node) -> Iterator[Location]:
    """Yield the locations of a value and of all values inside it."""
    yield node.place
    yield from node.keys.values()
    for child in node.children.values():
        yield from _places(child)


def compact(value: object) -> str:
    """Return `value` as YAML on one line. Different values have different texts.

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
