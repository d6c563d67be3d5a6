"""Reading of scenario files, with `--set key=value` applied and every variant checked. Each error has its location.

Paths are relative to the scenario file. Values of a program are checked as a file is.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.record import Options
from decloak.errors import DecloakError, Faults, quote
from decloak.scenario.criteria import with_criteria
from decloak.scenario.model import LONGEST_KEY, Scenario, Varying
from decloak.scenario.split_by_form import split_by_form
from decloak.scenario.sweep import combinations, merged_faults, overlapping
from decloak.yaml.source import Source, check, read_source, validated
from decloak.yaml.tree import DEEPEST, MOST, UNUSABLE, WIDEST, Location, Node, compose

Keys = tuple[str, ...]
OWN_DATA = ("generate", "release", "distances", "text", "searchlog")
"""The keys of data that no program can replace."""
# Repeats are about the records, and matter also where no file is read.
READING = frozenset(Options._fields) - {"repeats"} | {"file", "format", "as_said"}
"""The keys that say how a file is read."""


@dataclass(frozen=True)
class Combination:
    """One combination of the settings that vary: its document, the part that applies to its form, and the scenario."""

    source: Source
    fitted: Source
    scenario: Scenario

    @property
    def settings(self) -> dict[str, object]:
        """The values of the keys that vary."""
        return {key: node.value for key, node in self.source.settings.items()}


@dataclass(frozen=True)
class Document:
    """A scenario that is valid in all variants. `folder` contains the files that it names."""

    path: Path
    folder: Folder
    source: Source
    cases: tuple[Combination, ...]

    @property
    def raw(self) -> dict[str, object]:
        """The document as plain values."""
        return dict(self.source.value)

    @property
    def scenario(self) -> Scenario:
        """The first combination."""
        return self.cases[0].scenario

    def file(self, name: str) -> Path:
        """Return the path of the file `name` in the folder of the scenario."""
        return self.path.parent / name


MEMORY = "memory"
"""The name of data that a program gives, in place of a file."""


def load(
    given: str | Path | Mapping[str, object], overrides: Sequence[str] = (), data: Dataset | None = None
) -> Document:
    """Read the scenario `given` as a file or a mapping, apply `overrides` ("key=value", dotted keys) and return it;
    raise `Faults`. Files of a mapping are relative to the current folder. `data` replace the file of the scenario.
    """
    path = Path("scenario") if isinstance(given, Mapping) else _path(given)
    read = source_of(given, "scenario") if isinstance(given, Mapping) else read_source(path)
    source, places = _overridden(read if data is None else _with_data(read), overrides)
    # After --set, which may name another file of criteria.
    source = with_criteria(source, path.parent)
    try:
        plan = check(source, Varying)
    # If the keys that vary exist elsewhere too, checking the whole scenario reports all errors at once.
    except Faults:
        if _says_what_varies(source):
            # It finds these mistakes again, among all others.
            check(source, Scenario)
        raise
    _check_effect(source, places, plan.vary)
    variants = tuple(combinations(source, plan.repeat.times))
    folder = Folder(path.parent)
    if data is not None:
        folder.add_data(MEMORY, data)
    fitted = split_by_form(variants, folder)
    checked = [validated(variant, Scenario, context={"folder": folder}) for variant in fitted]
    cases = tuple(
        Combination(variant, part, scenario)
        for variant, part, (scenario, _) in zip(variants, fitted, checked, strict=True)
        if scenario is not None
    )
    # Faults of all variants are merged into one error, so that they can be fixed in one go.
    if len(cases) < len(variants):
        raise merged_faults(variants, [faults for _, faults in checked])
    return Document(path, folder, source, cases)


def _path(given: object) -> Path:
    try:
        return Path(given)  # type: ignore[arg-type]
    except TypeError:
        hint = "give a path, a mapping or a decloak.Scenario"
        raise DecloakError(f"the scenario is {quote(given)}, not a path", hint=hint) from None


def _with_data(source: Source) -> Source:
    """Return the document with the data in memory in place of its file; other data of its own are an error."""
    written = source.root.children.get("data")
    keys = written.children if written is not None else {}
    own = next((key for key in OWN_DATA if key in keys), None)
    varied = source.root.children.get("vary")
    # A varied file would replace the data that the program gave.
    own = own or next((str(key) for key in (varied.children if varied else {}) if key in ("data", "data.file")), None)
    if own is not None:
        raise source.error(("data", own), f"{quote(own)} names other data than those given", "delete it, or data=")
    place = Location(f"{source.name}.data") if written is None else written.place
    inner: dict[str | int, Node] = {key: node for key, node in keys.items() if key not in READING}
    inner |= {"file": Node(MEMORY, place), "format": Node("jsonl", place)}
    section = Node.mapping(place, dict.fromkeys(map(str, inner), place), inner)
    return source.put(("data",), section, place)


def _overridden(source: Source, overrides: Sequence[str]) -> tuple[Source, dict[Keys, Location]]:
    """Return the document with "key=value" texts applied, and the location of each."""
    places = {}
    for text in overrides:
        keys, place = _keys_of(text)
        places[keys] = place
        source = source.put(keys, compose(text.partition("=")[2], place.name, marks=False), place)
    return source, places


def _keys_of(text: str) -> tuple[Keys, Location]:
    """Return the keys of an override and its location. Keys under `vary` contain dots themselves."""
    place = Location(quote(f"--set {text}", 300)[1:-1])
    dotted, _, value = text.partition("=")
    keys = tuple(dotted.strip().split("."))
    if not value.strip() or not all(keys):
        raise DecloakError("expected key=value", place.name, "write such as anonymise.size=4")
    if len(keys) > LONGEST_KEY:
        raise DecloakError(f"no key is {len(keys)} levels deep", place.name, f"join at most {LONGEST_KEY} by dots")
    return (("vary", ".".join(keys[1:])) if keys[0] == "vary" and len(keys) > 1 else keys), place


def _check_effect(source: Source, places: Mapping[Keys, Location], vary: Iterable[str]) -> None:
    """Raise an error for an override of a key that varies: every variant would overwrite it silently.

    An override may replace the section of such a key if it leaves out the key itself.
    """
    for keys, place in places.items():
        for name in vary:
            parts = tuple(name.split("."))
            left_out = len(parts) > len(keys) and source.find(parts) is source.find(parts[:-1])
            if overlapping(parts, keys) and not left_out:
                raise DecloakError(f"{quote(name)} varies, so this has no effect", place.name, f"set vary.{name}=[...]")


def _says_what_varies(source: Source) -> bool:
    """Return True if the keys that vary are also written in their own section; else they would be missing there."""
    vary = source.root.children.get("vary")
    keys = [] if vary is None else [tuple(str(key).split(".")) for key in vary.children]
    return all(source.find(loc) is not source.find(loc[:-1]) for loc in keys)


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
