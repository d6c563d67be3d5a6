"""What the wording of mistakes reads of pydantic beyond its promises: its core schemas, and how it tells what is wrong.

Where one of these fails with another version, `yaml/messages.py` and `yaml/source.py` have to follow it before the
bound in pyproject.toml may be raised.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Discriminator, Field, ValidationError, field_validator
from pydantic_core.core_schema import ErrorType

from decloak.rules.load import rule_file_model
from decloak.rules.model import RuleTest
from decloak.scenario.model import Scenario

SHAPES: dict[str, set[str]] = {
    "any": set(),
    "bool": set(),
    "default": {"schema"},
    "definition-ref": {"schema_ref"},
    "definitions": {"definitions", "schema"},
    "dict": {"keys_schema", "values_schema"},
    "float": set(),
    "function-after": {"schema"},
    "function-before": {"schema"},
    "int": set(),
    "list": {"items_schema"},
    "literal": {"expected"},
    "model": {"schema"},
    "model-field": {"schema"},
    "model-fields": {"fields"},
    "none": set(),
    "nullable": {"schema"},
    "str": set(),
    "tagged-union": {"choices", "discriminator"},
    "tuple": {"items_schema"},
    "union": {"choices"},
}
"""The kinds of core schemas that are put into words, each with the keys that are read of it."""
INNER = {"choices", "definitions", "fields", "items_schema", "keys_schema", "schema", "values_schema"}
VERSION = f"pydantic {pydantic.VERSION}"


def schemas(core: Any) -> Iterator[dict[str, Any]]:
    """A core schema and all inside it."""
    if isinstance(core, dict) and isinstance(core.get("type"), str):
        yield core
        core = {key: value for key, value in core.items() if key in INNER}
    inner = core.values() if isinstance(core, dict) else core if isinstance(core, list | tuple) else ()
    for value in inner:
        yield from schemas(value)


@pytest.mark.parametrize("model", [Scenario, rule_file_model(), RuleTest])
def test_core_schemas_are_laid_out_as_the_wording_reads_them(model: type[BaseModel]) -> None:
    model.model_rebuild()
    kinds = set()
    for schema in schemas(model.__pydantic_core_schema__):
        kinds.add(schema["type"])
        assert schema["type"] in SHAPES, f"{VERSION} has a core schema that has no words here: {schema['type']}"
        lacking = SHAPES[schema["type"]] - schema.keys()
        assert not lacking, f"{VERSION}: a core schema {schema['type']} no longer has {', '.join(sorted(lacking))}"
    assert {"model-fields", "model-field", "default", "str"} <= kinds, f"{VERSION} hides what is inside"


class Fish(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    kind: Literal["fish"]
    fins: int = Field(2, ge=0)


class Bird(BaseModel):
    kind: Literal["bird"]
    wings: Annotated[tuple[str, ...], Field(min_length=1)]


class Zoo(BaseModel):
    model_config = ConfigDict(strict=True)
    animal: Annotated[Fish | Bird, Discriminator("kind")] | None = None
    names: dict[Annotated[str, Field(min_length=2)], int] = {}
    open: int | Literal["always"] = 1

    @field_validator("open")
    @classmethod
    def _late(cls, hour: int | str) -> int | str:
        if hour == 25:
            raise ValueError("no such hour")
        return hour


MISTAKES: dict[str, tuple[Any, list[tuple[str, tuple[Any, ...]]]]] = {
    "a key too many": (
        {"animal": {"kind": "fish", "scales": 1}},
        [("extra_forbidden", ("animal", "fish", "scales"))],
    ),
    "a key too few": ({"animal": {"kind": "bird"}}, [("missing", ("animal", "bird", "wings"))]),
    "too few entries": (
        {"animal": {"kind": "bird", "wings": []}},
        [("too_short", ("animal", "bird", "wings"))],
    ),
    "a tag that there is not": ({"animal": {"kind": "cat"}}, [("union_tag_invalid", ("animal",))]),
    "no tag": ({"animal": {}}, [("union_tag_not_found", ("animal",))]),
    "a key of a mapping": ({"names": {"x": 1}}, [("string_too_short", ("names", "x", "[key]"))]),
    "neither choice": (
        {"open": "never"},
        [("int_type", ("open", "int")), ("literal_error", ("open", "literal['always']"))],
    ),
    "an error of a validator": ({"open": 25}, [("value_error", ("open",))]),
    "a number that is text": ({"animal": {"kind": "fish", "fins": "3"}}, [("int_type", ("animal", "fish", "fins"))]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_by_the_names_and_places_that_are_looked_for(mistake: str) -> None:
    value, expected = MISTAKES[mistake]
    with pytest.raises(ValidationError) as caught:
        Zoo.model_validate_json(json.dumps(value))
    problems = caught.value.errors(include_url=False)
    told = [(problem["type"], problem["loc"]) for problem in problems]
    assert told == expected, f"{VERSION} tells of {mistake} otherwise"
    assert {kind for kind, _ in told} <= set(get_args(ErrorType)), f"{VERSION} has errors that it does not list"


def test_what_comes_with_a_mistake_is_there() -> None:
    with pytest.raises(ValidationError) as caught:
        Zoo.model_validate_json('{"animal": {"kind": "bird", "wings": []}, "open": 25}')
    short, late = (problem["ctx"] for problem in caught.value.errors(include_url=False))
    assert short["min_length"] == 1, f"{VERSION} does not say how short is too short"
    assert str(late["error"]) == "no such hour", f"{VERSION} does not hand on the error of a validator"
