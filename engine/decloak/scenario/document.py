"""Reading of scenario files, with `--set key=value` applied and every variant checked. Each error has its location.

Paths are relative to the scenario file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.record import Options
from decloak.errors import DecloakError, Faults, quote
from decloak.scenario.criteria import with_criteria
from decloak.scenario.model import DEEPEST, Scenario, Varying
from decloak.scenario.split_by_form import split_by_form
from decloak.scenario.sweep import combinations, merged_faults, overlapping
from decloak.scenario.values import source_of
from decloak.yaml.source import Source, check, read_source, validated
from decloak.yaml.tree import Location, Node, compose

__all__ = ["MEMORY", "READING", "Combination", "Document", "load"]

Keys = tuple[str, ...]
OWN_DATA = ("generate", "release", "distances", "text", "searchlog")
"""The keys of data that no program can replace."""
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
    source = with_criteria(source, path.parent)
    try:
        plan = check(source, Varying)
    # If the keys that vary exist elsewhere too, checking the whole scenario reports all errors at once.
    except Faults:
        if _says_what_varies(source):
            check(source, Scenario)  # finds these mistakes again, among all others
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
    if len(keys) > DEEPEST:
        raise DecloakError(f"no key is {len(keys)} levels deep", place.name, f"join at most {DEEPEST} by dots")
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
