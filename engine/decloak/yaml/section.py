"""Sections of a scenario as closed, strict models. Their docstrings describe the keys in the JSON Schema.

An unknown key is an error, and so is one that another key overrides.
"""

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from decloak.errors import DecloakError, quote
from decloak.yaml.source import Loc, LocatedErrors

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

ConfigErrors = Iterator[tuple[Loc, DecloakError]]


class ConfigSection(BaseModel):
    """A section of a scenario. The texts under its fields describe them in the JSON Schema."""

    # Schemas are built when a document is checked, those of parts inside that of the whole: building each took 0.5 s.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
    FILES: ClassVar[tuple[str, ...]] = ()
    """The keys that name files."""

    def file_names(self) -> Iterator[str]:
        """Yield the files that this section and the sections inside it name."""
        for key in type(self).model_fields:
            for part in self._parts_of(key):
                yield from part.file_names()
            if key in self.FILES and not isinstance(getattr(self, key), ConfigSection):
                yield from self.files_of(key)

    def nested(self) -> Iterator["ConfigSection"]:
        """Yield the sections inside this one."""
        yield self
        for key in type(self).model_fields:
            for part in self._parts_of(key):
                yield from part.nested()

    def _parts_of(self, key: str) -> Iterator["ConfigSection"]:
        value = getattr(self, key)
        return (part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, ConfigSection))

    def files_of(self, key: str) -> Sequence[str]:
        """Return the files that `key` names."""
        value = getattr(self, key)
        return () if value is None else (value,) if isinstance(value, str) else tuple(value)

    def identity(self, digest_of: Callable[[str], str]) -> dict[str, object]:
        """Return the key in the store, in which `digest_of` replaces files by their content. It does not depend on
        paths or on explicit defaults.
        """
        # A default that is written out must not compute a stage again.
        values = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for key in type(self).model_fields:
            value = getattr(self, key)
            if isinstance(value, ConfigSection):
                values[key] = value.identity(digest_of)
            elif isinstance(value, tuple) and any(isinstance(inner, ConfigSection) for inner in value):
                values[key] = [
                    inner.identity(digest_of) if isinstance(inner, ConfigSection) else inner for inner in value
                ]
            # The same file under another path, or moved with its scenario, keeps its stored results.
            elif key in self.FILES and value is not None:
                values[key] = [digest_of(name) for name in self.files_of(key)]
        return values

    def config_errors(self) -> ConfigErrors:
        """Yield contradictions between the keys: position and error."""
        yield from ()

    @classmethod
    def __get_pydantic_json_schema__(cls, core: "CoreSchema", handler: "GetJsonSchemaHandler") -> dict[str, object]:
        """Return the JSON Schema, with the texts under the fields."""
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, text in _texts(cls).items():
            properties[cls.model_fields[name].alias or name]["description"] = text
        return schema

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Raise the contradictions between the keys as one error."""
        if mistakes := tuple(self.config_errors()):
            raise LocatedErrors(*mistakes)
        return self


def _texts(part: type[ConfigSection]) -> dict[str, str]:
    """Return the text under each field, read from the source on demand: pydantic would read all at every start."""
    under: dict[str, str] = {}
    # From the base down, so that a field declared again has its own text.
    for parent in reversed(part.__mro__):
        if issubclass(parent, ConfigSection):
            under |= _own_texts(parent)
    return {name: line for name, line in under.items() if line and name in part.model_fields}


@cache
def _own_texts(part: type[ConfigSection]) -> dict[str, str]:
    """Return the text under each field that a class states itself, "" where it has none."""
    try:
        (definition,) = ast.parse(dedent(inspect.getsource(part))).body
    except OSError:
        # A class that `create_model` made has no source.
        return {}
    assert isinstance(definition, ast.ClassDef)
    under: dict[str, str] = {}
    # A text stands below its field, so that the last statement needs a successor.
    for statement, text in pairwise([*definition.body, ast.Pass()]):
        match statement, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(line))):
                under[name] = inspect.cleandoc(line)
            # A field that is declared again without a text hides the text of its parent.
            case ast.AnnAssign(target=ast.Name(id=name)), _:
                under[name] = ""
    return under


def checked_by(check: Callable[[str], object]) -> AfterValidator:
    """Return a validator of texts. It converts an error that `check` raises into one at the text."""

    def refused(text: str) -> str:
        try:
            check(text)
        except DecloakError as error:
            raise LocatedErrors(((), error)) from None
        return text

    return AfterValidator(refused)


def disjoint(sets: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Return `sets`; raise an error if an item is in two of them."""
    first: dict[str, Loc] = {}
    places = ((item, (number, index)) for number, members in enumerate(sets) for index, item in enumerate(members))
    twice = [(loc, item) for item, loc in places if first.setdefault(item, loc) != loc]
    if twice:
        hint = "an item stands once, in one set"
        raise LocatedErrors(*((loc, DecloakError(f"{quote(item)} is written twice", hint=hint)) for loc, item in twice))
    return sets


File = Annotated[str, Field(min_length=1)]
Item = Annotated[str, Field(min_length=1)]
ItemSet = Annotated[tuple[Item, ...], Field(min_length=2)]
