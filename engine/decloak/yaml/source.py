"""YAML documents whose every mistake is answered with file:line:col, what was expected, and the remedy.

`check` validates a document with a pydantic model. pydantic's own words and locations are for programmers:
here each of its errors is followed along the model's core schema to the document's own path, where the
schema says in plain words what was expected.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core.core_schema import ErrorType

from decloak.errors import DecloakError, Faults, nearest, shown
from decloak.files import file_to_read
from decloak.yaml.tree import Node, Place, compose, end_of
from decloak.yaml.wording import ANY, Schema, Wording, branches, described, fields, part

__all__ = ["LARGEST_YAML", "Fault", "Loc", "Mistakes", "Source", "check", "read_source", "source_text", "validated"]

LARGEST_YAML = 1_000_000
"""Bytes a file may have."""

Loc = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)
Fault = tuple[Place, DecloakError]
"""A mistake and its place, by which mistakes are put in order."""


@dataclass(frozen=True)
class Source:
    """A YAML document: its plain `value`, and where each part of it is written.

    >>> source = Source.parse("data: {file: a.csv}", "x.yaml")
    >>> source.value, source.place(("data", "file"))
    ({'data': {'file': 'a.csv'}}, 'x.yaml:1:14')
    """

    name: str
    root: Node
    settings: Mapping[str, Node] = field(default_factory=dict)
    """The variant of the document that this is: the value of each key that varies."""

    @classmethod
    def parse(cls, text: str, name: str) -> "Source":
        """Read YAML text; `name` stands for the file in messages."""
        name = shown(name, 300)[1:-1]
        return cls(name, compose(text, name))

    @property
    def value(self) -> Any:
        """The document as plain dicts, lists, texts, numbers, booleans and None."""
        return self.root.value

    def find(self, loc: Loc) -> Node:
        """The node at `loc`, or the last one on the way to it that exists.

        Where a part may be written as a list, this list is the part's `of`.
        """
        node = self.root
        for key in loc:
            if key == "of" and isinstance(node.value, list):
                continue
            if key not in node.children:
                break
            node = node.children[key]
        return node

    def spot(self, loc: Loc, *, key: bool = False) -> Place:
        """The place of the value at `loc`, or of its key; of what encloses it when it is absent."""
        node = self.find(loc)
        return self.find(loc[:-1]).keys.get(str(loc[-1]), node.place) if key and loc else node.place

    def place(self, loc: Loc, key: bool = False) -> str:
        """The same as "file:line:col"."""
        return str(self.spot(loc, key=key))

    def error(self, loc: Loc, message: str, hint: str | None = None) -> DecloakError:
        return DecloakError(message, self.place(loc), hint)

    def put(self, keys: tuple[str, ...], node: Node, key_place: Place) -> "Source":
        """This document with another node under the given keys."""
        return replace(self, root=self.root.put(keys, node, key_place))

    def without(self, key: str) -> "Source":
        return replace(self, root=self.root.without(key))


def read_source(path: str | Path) -> Source:
    """Read a YAML file of at most 1 MB."""
    return Source.parse(source_text(path), shown(path, 300)[1:-1])


def source_text(path: str | Path) -> str:
    """The text of a YAML file of at most 1 MB."""
    name = shown(path, 300)[1:-1]
    try:
        with file_to_read(path) as file, BufferedReader(file) as buffered:
            data = buffered.read(LARGEST_YAML + 1)
    except IsADirectoryError:
        raise DecloakError("this is a folder, not a file", name, "name a .yaml file") from None
    except FileNotFoundError:
        raise DecloakError("no such file", name, "check the spelling of the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DecloakError(f"cannot read the file: {reason}", name, "check its path and permissions") from None
    if len(data) > LARGEST_YAML:
        raise DecloakError("a YAML file of more than 1 MB", name, "keep bulk data in files of their own")
    return _decoded(data, name)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        raise DecloakError("not UTF-8 text", str(end_of(before, name)), "save the file as UTF-8") from None


class Mistakes(ValueError):
    """What a validator raises to report mistakes in its own words, each at a path below its value.

    `raise Mistakes((("attacker", "k"), DecloakError("k says nothing here", hint="delete it")))`
    """

    def __init__(self, *mistakes: tuple[Loc, DecloakError]) -> None:
        super().__init__("\n".join(str(error) for _, error in mistakes))
        self.mistakes = mistakes


def check(source: Source, model: type[Model], loc: Loc = ()) -> Model:
    """Validate the value at `loc`; raise `Faults` with all mistakes in the order of the file."""
    value, faults = validated(source, model, loc)
    if value is None:
        raise Faults(fault for _, fault in sorted(faults, key=lambda fault: fault[0][1:]))
    return value


def validated(
    source: Source, model: type[Model], loc: Loc = (), context: Mapping[str, Any] | None = None
) -> tuple[Model | None, list[Fault]]:
    """Validate the value at `loc`: the model, or None and the mistakes, each once; validators may see the context."""
    model.model_rebuild()  # parts are built when they are first checked
    core: Any = model.__pydantic_core_schema__
    node = source.find(loc)
    try:
        # Strict JSON is as strict as YAML should be: lists fill tuples, neither '3' nor true is a number.
        return model.model_validate_json(json.dumps(node.value), context=context), []
    except ValidationError as error:
        problems = [(problem["loc"], dict(problem)) for problem in error.errors(include_url=False)]
        faults = {str(fault[1]): fault for fault in _Reader(source, core).faults(problems, core, loc)}
        return None, list(faults.values())
    except DecloakError as error:
        raise DecloakError(error.message, error.place or str(node.place), error.hint) from None


Problem = tuple[Loc, dict[str, Any]]
"""What is left of pydantic's location below the schema at hand, and pydantic's account of the error."""

_BY_SCHEMA = set(get_args(ErrorType)) - {"value_error", "assertion_error"}
"""The errors that "expected this, found that" answers; all others bring words of their own."""


class _Reader:
    """Turns pydantic's errors into faults, following each location along the core schema."""

    def __init__(self, source: Source, core: Schema) -> None:
        self.source = source
        self.wording = Wording(core)

    def faults(self, problems: list[Problem], schema: Schema, path: Loc) -> Iterator[Fault]:
        schema = self.wording.bare(schema)
        for head, group in _grouped(problems).items():
            if head is None:
                for _, problem in group:
                    if not self.refuted(problem, path):
                        yield from self.worded(problem, schema, path)
            elif schema["type"] == "tagged-union":
                yield from self.faults(group, schema["choices"].get(head, ANY), path)
            elif schema["type"] != "union":
                yield from self.inside(head, group, schema, path)
        if schema["type"] == "union":
            yield from self.union([(loc, problem) for loc, problem in problems if loc], schema, path)

    def refuted(self, problem: Schema, path: Loc) -> bool:
        """Whether a list is called too short only because pydantic left its faulty entries out."""
        least = problem.get("ctx", {}).get("min_length", 0)
        return problem["type"] == "too_short" and bool(len(self.source.find(path).value) >= least)

    def inside(self, head: str | int, group: list[Problem], schema: Schema, path: Loc) -> Iterator[Fault]:
        """The faults of one key of a mapping, or of one entry of a list."""
        deeper = []
        for loc, problem in group:
            if problem["type"] == "missing" and not loc:
                yield self.at(path, f"missing key {shown(head)}", "add it")
            elif problem["type"] == "extra_forbidden" and not loc:
                hint = _meant(str(head), tuple(fields(schema)))
                yield self.at((*path, head), f"unknown key {shown(head)}", hint, key=True)
            elif loc == ("[key]",):
                yield from self.worded(problem, schema["keys_schema"], (*path, head), key=True)
            else:
                deeper.append((loc, problem))
        yield from self.faults(deeper, part(schema, head), (*path, head))

    def union(self, problems: list[Problem], schema: Schema, path: Loc) -> Iterator[Fault]:
        """Only the choice that took the value's shape speaks; when none did, one line names them all."""
        groups = _grouped(problems)
        choices = branches(schema)
        if len(choices) != len(groups):
            choices = [ANY] * len(groups)  # two choices of one name: pydantic does not tell them apart
        entered = [
            (group, choice)
            for group, choice in zip(groups.values(), choices, strict=True)
            if any(loc or problem["type"] not in _BY_SCHEMA for loc, problem in group)
        ]
        if entered:
            group, choice = min(entered, key=lambda pair: len(pair[0]))
            yield from self.faults(group, choice, path)
        elif problems:
            yield from self.worded(problems[0][1], schema, path)

    def worded(self, problem: Schema, schema: Schema, path: Loc, key: bool = False) -> Iterator[Fault]:
        """One error of the value at `path` itself, in plain words."""
        cause = problem.get("ctx", {}).get("error")
        tag = schema.get("discriminator")
        value = path[-1] if key else self.source.find(path).value
        words = self.wording.expected(schema) if problem["type"] in _BY_SCHEMA else None
        if isinstance(cause, Mistakes):
            for loc, error in cause.mistakes:
                yield self.at((*path, *loc), error.message, error.hint, key=bool(loc))
        elif isinstance(tag, str) and problem["type"].startswith("union_tag"):
            yield from self.tagged(tag, schema, path)
        elif words is None:
            yield self.at(path, str(cause or problem["msg"]), key=key)
        else:
            hint = self.wording.hint(value, schema)
            yield self.at(path, f"expected {words}, found {described(value)}", hint, key=key)

    def tagged(self, tag: str, schema: Schema, path: Loc) -> Iterator[Fault]:
        """A mapping whose kind is named by the key `tag`, which is absent or holds no known kind."""
        if tag not in self.source.find(path).value:
            yield self.at(path, f"missing key {shown(tag)}", "add it")
        else:
            kinds: Schema = {"type": "literal", "expected": list(schema["choices"])}
            yield from self.worded({"type": "literal_error"}, kinds, (*path, tag))

    def at(self, path: Loc, message: str, hint: str | None = None, *, key: bool = False) -> Fault:
        place = self.source.spot(path, key=key)
        return place, DecloakError(message, str(place), hint)


def _meant(key: str, keys: Sequence[str]) -> str:
    """The remedy for an unknown key: a near one, the one that it begins, or all there are."""
    longer = [name for name in keys if name.startswith(key)]
    near = nearest(key, keys) or (nearest(longer[0], longer) if len(longer) == 1 else None)
    return near or f"known here: {', '.join(keys)}"


def _grouped(problems: list[Problem]) -> dict[str | int | None, list[Problem]]:
    """By the first part of what is left of the location; None: nothing is left."""
    groups: dict[str | int | None, list[Problem]] = {}
    for loc, problem in problems:
        groups.setdefault(loc[0] if loc else None, []).append((loc[1:], problem))
    return groups
