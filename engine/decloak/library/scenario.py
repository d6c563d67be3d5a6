"""A scenario that a program builds key by key, with completion of keys in notebooks and editors."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from decloak.data.formats.writing import check_new, write_text
from decloak.data.representation import html_lines, shorten
from decloak.errors import DecloakError, quote, suggest
from decloak.scenario.document import load
from decloak.scenario.model import scenario_schema
from decloak.yaml.source import read_source

Schema = Mapping[str, Any]


class _Section:
    """The keys of one section as attributes. `dir` lists the keys that the section may have."""

    def __init__(self, values: dict[str, Any], schema: Schema, place: str) -> None:
        # Past our own `__setattr__`, which accepts keys of a scenario only.
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_schema", schema)
        object.__setattr__(self, "_place", place)

    _values: dict[str, Any]
    _schema: Schema
    _place: str

    def _keys(self) -> dict[str, Schema]:
        """Return the schema of each key, of all kinds of the section that its values allow."""
        # Where values contradict each other no kind is left: then all keys are completed.
        kinds = [kind for kind in _kinds(self._schema) if _allows(kind, self._values)] or list(_kinds(self._schema))
        return {key: part for kind in kinds for key, part in kind.get("properties", {}).items()}

    def __dir__(self) -> list[str]:
        methods = [name for name in super().__dir__() if not name.startswith("_")]
        return [*self._keys(), *methods]

    def __getattr__(self, name: str) -> Any:
        # A copy is asked for methods such as __setstate__ before it has values.
        if name.startswith("_"):
            raise AttributeError(name)
        keys = self._keys()
        if name not in keys:
            raise self._unknown(name, keys)
        value = self._values.get(name)
        if any(kind.get("properties") for kind in _kinds(keys[name])) and (value is None or isinstance(value, dict)):
            # The section is stored, so that `scenario.anonymise.k = 3` works; `value` drops empty ones.
            return _Section(self._values.setdefault(name, {}), keys[name], f"{self._place}.{name}")
        return value

    def __setattr__(self, name: str, value: object) -> None:
        keys = self._keys()
        if name not in keys:
            raise self._unknown(name, keys)
        self._values[name] = value

    def __delattr__(self, name: str) -> None:
        self._values.pop(name, None)

    def _unknown(self, name: str, keys: Iterable[str]) -> AttributeError:
        hint = suggest(name, keys) or f"known here: {', '.join(keys)}"
        return AttributeError(f"{self._place}: unknown key {quote(name)}; {hint}")

    def __repr__(self) -> str:
        return shorten(f"{self._place}: {_pruned(self._values)!r}")


class Scenario(_Section):
    """A scenario in memory, for `decloak.run`. Its attributes are the keys of a scenario file.

    >>> scenario = Scenario("How safe is it?", anonymise={"method": "disassociation", "k": 3})
    >>> scenario.anonymise.m = 2
    >>> scenario.attack = ["random", "aba"]
    >>> scenario.value["anonymise"]
    {'method': 'disassociation', 'k': 3, 'm': 2}
    """

    def __init__(
        self,
        scenario: str = "scenario",
        *,
        data: Mapping[str, object] | None = None,
        anonymise: Mapping[str, object] | None = None,
        relate: Mapping[str, object] | None = None,
        attacker: Mapping[str, object] | None = None,
        attack: str | Iterable[str | Mapping[str, object]] | None = None,
        measure: Iterable[str | Mapping[str, object]] | None = None,
        vary: Mapping[str, Iterable[object]] | None = None,
        repeat: Mapping[str, int] | None = None,
        expect: Iterable[str] | None = None,
        accept: str | Iterable[str | Mapping[str, object]] | None = None,
        report: Mapping[str, object] | None = None,
        figure: Mapping[str, object] | None = None,
    ) -> None:
        sections = {
            "scenario": scenario, "data": data, "anonymise": anonymise, "relate": relate, "attacker": attacker,
            "attack": attack, "measure": measure, "vary": vary, "repeat": repeat, "expect": expect, "accept": accept,
            "report": report, "figure": figure,
        }  # fmt: skip
        values = {key: _copied(value) for key, value in sections.items() if value is not None}
        super().__init__(values, _schema(), "scenario")

    @classmethod
    def read(cls, path: str | Path) -> "Scenario":
        """Return the scenario of the file at `path`; its other files are relative to the current folder."""
        value = read_source(path).value
        if not isinstance(value, dict):
            raise DecloakError("expected keys and values", str(path), "begin with `scenario: title`")
        return cls._of(value)

    @classmethod
    def _of(cls, values: Mapping[str, object]) -> "Scenario":
        # A new scenario has a title. Values without one stay without, so that `check` complains.
        made = cls()
        made._values.clear()
        made._values.update({key: _copied(value) for key, value in values.items()})
        return made

    def __reduce__(self) -> tuple[object, ...]:
        # Copies would share the values otherwise, and a change of one would change the other.
        return Scenario._of, (self._values,)

    @property
    def value(self) -> dict[str, object]:
        """The scenario as plain values, without empty sections."""
        return {key: _pruned(inner) for key, inner in self._values.items() if inner != {}}

    def check(self) -> int:
        """Check all variants and return their number; raise the errors that `decloak validate` prints."""
        return len(load(self.value).cases)

    def write(self, path: str | Path) -> None:
        """Write the scenario to `path` as YAML, for the command line."""
        import yaml

        check_new(Path(path))
        write_text(yaml.safe_dump(self.value, sort_keys=False, allow_unicode=True), Path(path))

    def _repr_html_(self) -> str:
        import yaml

        return html_lines(yaml.safe_dump(self.value, sort_keys=False, allow_unicode=True))


def _kinds(schema: Schema) -> Iterable[Schema]:
    """Yield the mappings that `schema` describes."""
    if "$ref" in schema:
        yield from _kinds(_schema()["$defs"][schema["$ref"].rpartition("/")[2]])
    for choice in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _kinds(choice)
    if "properties" in schema:
        yield schema


@cache
def _schema() -> Schema:
    return scenario_schema()


def _allows(kind: Schema, values: Mapping[str, object]) -> bool:
    """Say whether a mapping of this kind may have the `values` of the keys that name a kind."""
    for key, part in kind.get("properties", {}).items():
        choices = [part["const"]] if "const" in part else part.get("enum")
        if choices is not None and key in values and values[key] not in choices:
            return False
    return not set(values).difference(kind.get("properties", {}))


def _copied(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list | tuple | set) else value


def _pruned(value: object) -> object:
    """Return `value` without the empty sections that reading an attribute made."""
    if not isinstance(value, dict):
        return value
    return {key: _pruned(inner) for key, inner in value.items() if inner != {}}
