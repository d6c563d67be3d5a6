"""YAML documents with validation: every error has file:line:col, the expected value, and a remedy.

`check` validates a document with a pydantic model. pydantic's own messages and locations are for programmers. Here each
of its errors is followed along the model's core schema to the location in the document, where the schema describes the
expected value in plain words.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core.core_schema import ErrorType

from decloak.digest import Config
from decloak.errors import DecloakError, Faults, quote, suggest
from decloak.files import file_to_read
from decloak.yaml.messages import ANY, Schema, Wording, branches, described, fields, part
from decloak.yaml.tree import Location, Node, compose, end_of

LARGEST_YAML = 1_000_000
"""Largest size of a file in bytes."""

Loc = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)
Fault = tuple[Location, DecloakError]
"""An error and its location, which determines the order of errors."""


@dataclass(frozen=True)
class Source:
    """A YAML document: its plain `value`, and the location of each part.

    >>> source = Source.parse("data: {file: a.csv}", "x.yaml")
    >>> source.value, source.location(("data", "file"))
    ({'data': {'file': 'a.csv'}}, 'x.yaml:1:14')
    """

    name: str
    root: Node
    settings: Mapping[str, Node] = field(default_factory=dict)
    """The variant of the document: the value of each key that varies."""

    @classmethod
    def parse(cls, text: str, name: str) -> "Source":
        """Read YAML `text` and return the document. Messages name the file `name`."""
        name = quote(name, 300)[1:-1]
        return cls(name, compose(text, name))

    @property
    def value(self) -> Any:
        """The document as plain dicts, lists, texts, numbers, booleans and None."""
        return self.root.value

    def find(self, loc: Loc) -> Node:
        """Return the node at `loc`, or the last existing node on the path to it.

        If a section may also be written as a list, this list is its key `of`.
        """
        node = self.root
        for key in loc:
            if key == "of" and isinstance(node.value, list):
                continue
            if key not in node.children:
                break
            node = node.children[key]
        return node

    def position(self, loc: Loc, *, key: bool = False) -> Location:
        """Return the location of the value at `loc`, or of its `key`. If it is absent, return the position of the
        enclosing value.
        """
        node = self.find(loc)
        return self.find(loc[:-1]).keys.get(str(loc[-1]), node.place) if key and loc else node.place

    def location(self, loc: Loc, key: bool = False) -> str:
        """Return the location of `loc`, or of its `key`, as "file:line:col"."""
        return str(self.position(loc, key=key))

    def error(self, loc: Loc, message: str, hint: str | None = None) -> DecloakError:
        """Return the error `message` with the remedy `hint` at `loc`."""
        return DecloakError(message, self.location(loc), hint)

    def put(self, keys: tuple[str, ...], node: Node, key_place: Location) -> "Source":
        """Return the document with `node` under `keys`. Missing mappings are created at `key_place`."""
        return replace(self, root=self.root.put(keys, node, key_place))

    def without_key(self, key: str) -> "Source":
        """Return the document without `key`."""
        return replace(self, root=self.root.without_key(key))


def read_source(path: str | Path) -> Source:
    """Read the YAML file at `path`, of at most 1 MB, and return it."""
    return Source.parse(source_text(path), quote(path, 300)[1:-1])


def source_text(path: str | Path) -> str:
    """Return the text of the YAML file at `path`, of at most 1 MB."""
    name = quote(path, 300)[1:-1]
    try:
        with file_to_read(path) as file, BufferedReader(file) as buffered:
            # One byte more shows a file that is too large, without reading the rest.
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
        # Editors of Windows begin a file with a mark that would belong to the first key.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        raise DecloakError("not UTF-8 text", str(end_of(before, name)), "save the file as UTF-8") from None


class LocatedErrors(ValueError):
    """An error that a validator raises, with one or more messages, each at a path below its value.

    `raise Mistakes((("attacker", "k"), DecloakError("k says nothing here", hint="delete it")))`
    """

    def __init__(self, *mistakes: tuple[Loc, DecloakError]) -> None:
        super().__init__("\n".join(str(error) for _, error in mistakes))
        self.mistakes = mistakes


def check(source: Source, model: type[Model], loc: Loc = ()) -> Model:
    """Validate the value at `loc` of `source` with `model` and return it; raise `Faults` with all errors in the order
    of the file.
    """
    value, faults = validated(source, model, loc)
    if value is None:
        # The name is left out: locations of --set have the line 0, and so come first.
        raise Faults(fault for _, fault in sorted(faults, key=lambda fault: fault[0][1:]))
    return value


def validated(
    source: Source, model: type[Model], loc: Loc = (), context: Config | None = None
) -> tuple[Model | None, list[Fault]]:
    """Validate the value at `loc` of `source` with `model`; return it, or None, and all errors, each once. Validators
    receive `context`.
    """
    # The schema is built at the first check, not at every start.
    model.model_rebuild()
    core: Any = model.__pydantic_core_schema__
    node = source.find(loc)
    try:
        # Strict JSON is as strict as YAML should be: lists fill tuples, neither '3' nor true is a number.
        return model.model_validate_json(json.dumps(node.value), context=context), []
    except ValidationError as error:
        problems = [(problem["loc"], dict(problem)) for problem in error.errors(include_url=False)]
        faults = {str(fault[1]): fault for fault in _ErrorReader(source, core).faults(problems, core, loc)}
        return None, list(faults.values())
    # A validator that reads a file raises it, perhaps with the location in that file.
    except DecloakError as error:
        raise DecloakError(error.message, error.place or str(node.place), error.hint) from None


Problem = tuple[Loc, dict[str, object]]
"""The rest of pydantic's location below the current schema, and pydantic's description of the error."""

_BY_SCHEMA = set(get_args(ErrorType)) - {"value_error", "assertion_error"}
"""The errors whose message is "expected this, found that". All others have their own message."""


class _ErrorReader:
    """A converter of pydantic's errors into faults. It follows each location along the core schema."""

    def __init__(self, source: Source, core: Schema) -> None:
        self.source = source
        self.wording = Wording(core)

    def faults(self, problems: list[Problem], schema: Schema, path: Loc) -> Iterator[Fault]:
        """Yield the faults of `problems` in the value at `path`, described by `schema`."""
        schema = self.wording.unwrap(schema)
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
        """Return True if a list is called too short only because pydantic dropped its faulty entries. `problem` is that
        error at `path`.
        """
        least = problem.get("ctx", {}).get("min_length", 0)
        return problem["type"] == "too_short" and bool(len(self.source.find(path).value) >= least)

    def inside(self, head: str | int, group: list[Problem], schema: Schema, path: Loc) -> Iterator[Fault]:
        """Yield the faults of the key or entry `head` at `path`: the faults of `group` in a value of `schema`."""
        deeper = []
        for loc, problem in group:
            value = self.source.find(path).value
            given = list(value) if isinstance(value, dict) else []
            if problem["type"] == "missing" and not loc:
                if not any(suggest(str(key), [str(head)]) for key in given if key not in fields(schema)):
                    # If a similar key is unknown, its error already names this one.
                    yield self.fault_at(path, f"missing key {quote(head)}", "add it")
            elif problem["type"] == "extra_forbidden" and not loc:
                hint = _suggest_key(str(head), tuple(fields(schema)), given)
                yield self.fault_at((*path, head), f"unknown key {quote(head)}", hint, key=True)
            elif loc == ("[key]",):
                yield from self.worded(problem, schema["keys_schema"], (*path, head), key=True)
            else:
                deeper.append((loc, problem))
        yield from self.faults(deeper, part(schema, head), (*path, head))

    def union(self, problems: list[Problem], schema: Schema, path: Loc) -> Iterator[Fault]:
        """Yield the faults of the choice that matches the value at `path`; if none does, one line with all choices of
        `schema`. `problems` are the errors of all choices.
        """
        groups = _grouped(problems)
        choices = branches(schema)
        if len(choices) != len(groups):
            # pydantic does not separate two choices of one name.
            choices = [ANY] * len(groups)
        entered = [
            (group, choice)
            for group, choice in zip(groups.values(), choices, strict=True)
            # An error inside the value, or with a message of its own, shows which choice was meant.
            if any(loc or problem["type"] not in _BY_SCHEMA for loc, problem in group)
        ]
        if entered:
            # pydantic tries all choices. The one with the fewest errors is the most likely one.
            group, choice = min(entered, key=lambda pair: len(pair[0]))
            yield from self.faults(group, choice, path)
        elif problems:
            yield from self.worded(problems[0][1], schema, path)

    def worded(self, problem: Schema, schema: Schema, path: Loc, key: bool = False) -> Iterator[Fault]:
        """Yield the fault of the value at `path` itself, or of its `key`: `problem` in plain words, given its
        `schema`.
        """
        cause = problem.get("ctx", {}).get("error")
        tag = schema.get("discriminator")
        value = path[-1] if key else self.source.find(path).value
        words = self.wording.expected(schema) if problem["type"] in _BY_SCHEMA else None
        if isinstance(cause, LocatedErrors):
            for loc, error in cause.mistakes:
                yield self.fault_at((*path, *loc), error.message, error.hint, key=bool(loc))
        elif isinstance(tag, str) and problem["type"].startswith("union_tag"):
            yield from self.tagged(tag, schema, path)
        elif words is None:
            yield self.fault_at(path, str(cause or problem["msg"]), key=key)
        else:
            hint = self.wording.hint(value, schema) if path else None
            if not path and isinstance(value, str):
                hint = "`decloak init` writes an example"
            yield self.fault_at(path, f"expected {words}, found {described(value)}", hint, key=key)

    def tagged(self, tag: str, schema: Schema, path: Loc) -> Iterator[Fault]:
        """Yield the fault of a mapping at `path` without a valid kind under the key `tag`; `schema` has the kinds."""
        if tag not in self.source.find(path).value:
            yield self.fault_at(path, f"missing key {quote(tag)}", "add it")
        else:
            kinds: Schema = {"type": "literal", "expected": list(schema["choices"])}
            yield from self.worded({"type": "literal_error"}, kinds, (*path, tag))

    def fault_at(self, path: Loc, message: str, hint: str | None = None, *, key: bool = False) -> Fault:
        """Return the fault `message` with the remedy `hint` at `path`, or at its `key`."""
        place = self.source.position(path, key=key)
        return place, DecloakError(message, str(place), hint)


def _suggest_key(key: str, keys: Sequence[str], given: Collection[str] = ()) -> str:
    """Return the remedy for an unknown `key`: a similar one of `keys` that is not `given`, or all of them."""
    open_keys = [name for name in keys if name not in given]
    # difflib finds no key by its beginning alone, such as "trans" for "transactions".
    longer = [name for name in open_keys if name.startswith(key)]
    # A key that is there already must be very similar to be what was meant.
    twice = get_close_matches(key, keys, n=1, cutoff=0.75)
    near = suggest(key, open_keys) or (suggest(key, twice) if twice else None)
    return near or (suggest(longer[0], longer) if len(longer) == 1 else None) or f"known here: {', '.join(keys)}"


def _grouped(problems: list[Problem]) -> dict[str | int | None, list[Problem]]:
    """Return the problems by the next part of their location; None if nothing is left."""
    groups: dict[str | int | None, list[Problem]] = {}
    for loc, problem in problems:
        groups.setdefault(loc[0] if loc else None, []).append((loc[1:], problem))
    return groups
