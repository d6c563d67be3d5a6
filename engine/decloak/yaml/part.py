"""A mapping in a YAML file as a closed, strict model, its texts the descriptions of the JSON Schema.

A key that nothing interprets is an error, and so is one that another key makes void.
"""

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from decloak.errors import DecloakError, shown
from decloak.yaml.source import Loc, Mistakes

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

__all__ = ["File", "Found", "Item", "ItemSet", "Part", "checked_by", "disjoint"]

Found = Iterator[tuple[Loc, DecloakError]]


class Part(BaseModel):
    """A mapping of a scenario; the texts under its fields describe them in the JSON Schema."""

    # Schemas are built when a document is checked, those of parts inside that of the whole: building each took 0.5 s.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
    FILES: ClassVar[tuple[str, ...]] = ()
    """The keys that name files."""

    def named(self) -> Iterator[str]:
        """The files it names, those of its parts included."""
        for key in type(self).model_fields:
            for part in self._parts_of(key):
                yield from part.named()
            if key in self.FILES and not isinstance(getattr(self, key), Part):
                yield from self.files_of(key)

    def nested(self) -> Iterator["Part"]:
        yield self
        for key in type(self).model_fields:
            for part in self._parts_of(key):
                yield from part.nested()

    def _parts_of(self, key: str) -> Iterator["Part"]:
        value = getattr(self, key)
        return (part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, Part))

    def files_of(self, key: str) -> Sequence[str]:
        value = getattr(self, key)
        return () if value is None else (value,) if isinstance(value, str) else tuple(value)

    def identity(self, digest_of: Callable[[str], str]) -> dict[str, Any]:
        """What it says with files by their content: the same under other paths, and where a default is written out."""
        values = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for key in type(self).model_fields:
            value = getattr(self, key)
            if isinstance(value, Part):
                values[key] = value.identity(digest_of)
            elif isinstance(value, tuple) and any(isinstance(inner, Part) for inner in value):
                values[key] = [inner.identity(digest_of) if isinstance(inner, Part) else inner for inner in value]
            elif key in self.FILES and value is not None:
                values[key] = [digest_of(name) for name in self.files_of(key)]
        return values

    def mistakes(self) -> Found:
        """What its keys say against each other: where, and what is wrong."""
        yield from ()

    @classmethod
    def __get_pydantic_json_schema__(cls, core: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, Any]:
        """Its JSON Schema, with the texts under its fields."""
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, text in _texts(cls).items():
            properties[cls.model_fields[name].alias or name]["description"] = text
        return schema

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if mistakes := tuple(self.mistakes()):
            raise Mistakes(*mistakes)
        return self


def _texts(part: type[Part]) -> dict[str, str]:
    """The text under each field, read where it is written: pydantic would read all of them whenever decloak starts."""
    under: dict[str, str] = {}
    for parent in reversed(part.__mro__):
        if not issubclass(parent, Part):
            continue
        try:
            (definition,) = ast.parse(dedent(inspect.getsource(parent))).body
        except OSError:  # it was put together, and has no source
            continue
        assert isinstance(definition, ast.ClassDef)
        for statement, text in pairwise([*definition.body, ast.Pass()]):
            match statement, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(line))):
                    under[name] = inspect.cleandoc(line)
                case ast.AnnAssign(target=ast.Name(id=name)), _:
                    under.pop(name, None)
    return {name: line for name, line in under.items() if name in part.model_fields}


def checked_by(check: Callable[[str], object]) -> AfterValidator:
    """Makes what a check has against a text a mistake of the text."""

    def refused(text: str) -> str:
        try:
            check(text)
        except DecloakError as error:
            raise Mistakes(((), error)) from None
        return text

    return AfterValidator(refused)


def disjoint(sets: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    first: dict[str, Loc] = {}
    places = ((item, (number, index)) for number, members in enumerate(sets) for index, item in enumerate(members))
    twice = [(loc, item) for item, loc in places if first.setdefault(item, loc) != loc]
    if twice:
        hint = "an item stands once, in one set"
        raise Mistakes(*((loc, DecloakError(f"{shown(item)} is written twice", hint=hint)) for loc, item in twice))
    return sets


File = Annotated[str, Field(min_length=1)]
Item = Annotated[str, Field(min_length=1)]
ItemSet = Annotated[tuple[Item, ...], Field(min_length=2)]
