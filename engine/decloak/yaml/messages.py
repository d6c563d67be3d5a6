"""Messages about values that do not match a pydantic core schema: the expected values, the known keys, the remedy."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

from decloak.errors import DecloakError, quote, suggest
from decloak.yaml.tree import number_or_text

Schema = dict[str, Any]
ANY: Schema = {"type": "any"}

_WRAPPERS = {
    "json-or-python": "json_schema", "lax-or-strict": "strict_schema", "default": "schema",
    "definitions": "schema", "function-after": "schema", "function-before": "schema",
    "function-wrap": "schema", "model": "schema", "nullable": "schema",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Remedies:
    """An annotation of a type with remedies for plausible but wrong texts."""

    remedies: Mapping[str, str]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the type with the remedies as metadata."""
        schema: Schema = handler(source)  # type: ignore[assignment]  # of many kinds, each a dict
        return cast(CoreSchema, schema | {"metadata": {**schema.get("metadata", {}), "remedies": self.remedies}})


class Wording:
    """Descriptions of the schemas of one model."""

    def __init__(self, core: Schema) -> None:
        self.shared = {schema["ref"]: schema for schema in core.get("definitions", ())}

    def unwrap(self, schema: Schema) -> Schema:
        """Return the inner schema of `schema`, which checks the value itself, without its wrappers."""
        while schema["type"] in _WRAPPERS or schema["type"] == "definition-ref":
            inner = _WRAPPERS.get(schema["type"])
            schema = schema[inner] if inner else self.shared[schema["schema_ref"]]
        return schema

    def choices(self, schema: Schema) -> list[Schema]:
        """Return the inner schemas of `schema`: several for a union."""
        schema = self.unwrap(schema)
        if schema["type"] in ("union", "tagged-union"):
            return [inner for choice in branches(schema) for inner in self.choices(choice)]
        return [schema]

    def expected(self, schema: Schema) -> str | None:
        """Return a description of the values that `schema` accepts, or None."""
        schema = self.unwrap(schema)
        if isinstance(schema.get("discriminator"), str):
            return f"a mapping with the key {quote(schema['discriminator'])}"
        words = [_words(choice) for choice in self.choices(schema)]
        return _join_alternatives(list(dict.fromkeys(cast(list[str], words)))) if all(words) else None

    def hint(self, value: Any, schema: Schema) -> str | None:
        """Return the remedy for `value`, which does not match `schema`, if there is an obvious one."""
        head, choices = self.unwrap(schema).get("discriminator"), self.choices(schema)
        kinds = {choice["type"] for choice in choices}
        if isinstance(value, str):
            if kinds & {"int", "float"} and _reads_as_number(value):
                return "write it without quotes"
            if isinstance(head, str) and value in self.unwrap(schema)["choices"]:
                return f"write {{{head}: {value}}}"
            files = [fields(choice) for choice in choices if "file" in fields(choice)]
            if files and not isinstance(head, str) and "str" not in kinds:
                return f"write {{file: {quote(value)[1:-1]}{', format: ...' if 'format' in files[0] else ''}}}"
            remedies = self.unwrap(schema).get("metadata", {}).get("remedies", {})
            words = [str(word) for choice in choices for word in choice.get("expected", ())]
            return remedies.get(value) or suggest(value, words) or _in_brackets(value, choices)
        # true and false are integers to Python, and a list or a mapping has no obvious remedy.
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return "put it in quotes" if "str" in kinds else _in_brackets(value, choices)


def _in_brackets(value: str | float, choices: list[Schema]) -> str | None:
    """Return how to write a text or number as the list or the mapping that `choices` accept."""
    keys = [key for choice in choices for key in fields(choice)]
    if any(choice["type"] in ("list", "tuple") for choice in choices):
        # `quote` escapes hostile characters. Its quotation marks are no part of the remedy.
        return f"write [{quote(value)[1:-1]}]"
    return f"write {{{keys[0]}: ...}}; the keys are {', '.join(keys)}" if keys else None


def branches(schema: Schema) -> list[Schema]:
    """Return the alternatives of a union `schema`, else the schema itself."""
    choices = schema["choices"]
    each = choices.values() if isinstance(choices, dict) else choices
    # pydantic gives a choice with a label of its own as (schema, label).
    return [choice[0] if isinstance(choice, tuple) else choice for choice in each]


def fields(schema: Schema) -> dict[str, Schema]:
    """Return the keys of a mapping with `schema`, as a file spells them."""
    return {str(field.get("validation_alias", name)): field for name, field in schema.get("fields", {}).items()}


def part(schema: Schema, head: str | int) -> Schema:
    """Return the schema of the key or entry `head` of `schema`."""
    if head in fields(schema):
        return cast(Schema, fields(schema)[str(head)]["schema"])
    items = schema.get("items_schema", schema.get("values_schema", ANY))
    # A tuple may have one schema for all entries from some place on.
    if isinstance(items, list):
        return cast(Schema, items[min(int(head), schema.get("variadic_item_index", len(items) - 1))])
    return cast(Schema, items)


def _words(schema: Schema) -> str | None:
    match schema["type"]:
        case "int":
            return "a whole number" + _bounds(schema)
        case "float":
            return "a number" + _bounds(schema)
        case "bool":
            return "true or false"
        case "str":
            return "text" + _length(schema, "characters")
        case "literal":
            return _join_alternatives([described(word) for word in schema["expected"]])
        case "none":
            return "nothing"
        case "list" | "tuple" | "set" | "frozenset":
            return "a list" + _length(schema, "entries")
        case "dict":
            return "a mapping"
        case "model-fields" | "typed-dict":
            # pydantic wraps the schema of an optional key in one of the type "default".
            needed = [key for key, field in fields(schema).items() if field["schema"]["type"] != "default"]
            return "a mapping" + (f" with {' and '.join(needed)}" if needed else "")
    return None


def _bounds(schema: Schema) -> str:
    low, high = schema.get("ge"), schema.get("le")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    signs = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    return "".join(f", {word} {schema[sign]}" for sign, word in signs.items() if sign in schema)


def _length(schema: Schema, unit: str) -> str:
    if schema.get("min_length") == 1 and "max_length" not in schema:
        return " that is not empty"
    limits = {"min_length": "at least", "max_length": "at most"}
    parts = [f"{word} {schema[limit]} {unit}" for limit, word in limits.items() if limit in schema]
    return f" of {' and '.join(parts)}" if parts else ""


def _reads_as_number(text: str) -> bool:
    try:
        return type(number_or_text(text)) in (int, float)
    except DecloakError:
        return False


def _join_alternatives(words: list[str]) -> str:
    # A comma inside a choice, as in "a whole number, at least 3", would blur a bare "or".
    last = ", or " if any("," in word for word in words) else " or "
    return last.join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def described(value: Any) -> str:
    """Return a short description of `value` for an error."""
    if value is None:
        return "nothing"
    if isinstance(value, (dict, list)):
        kind = "mapping" if isinstance(value, dict) else "list"
        unit = "" if isinstance(value, dict) else " of 1 entry" if len(value) == 1 else f" of {len(value)} entries"
        return f"a {kind}{unit}" if value else f"an empty {kind}"
    return quote(value) if isinstance(value, str) else json.dumps(value)
