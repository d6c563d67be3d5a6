"""Figures about the names and docstrings a tree of modules: the share that a newcomer can understand."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

VAGUE = frozenset(
    """
    about after again alike anew another anybody apart ask asked at back bare before began beside between by came
    carried carry claim come comes crew crowd did do does doing done elsewhere everybody everywhere few fit fits former
    fresh further gathered gift give given gives go goes going gone got had hand handed hands heed here hide hold holder
    holders holds how idle keep keeps kept lane led left lend lent less lie lies like likely likeness many may meant met
    more most much need needed needs never nobody nowhere offer often once one ones other others out over own plainly
    quick rung rungs said same say says seen sees settle settled show showing shown shows side sight singled some
    somebody spoil spoilt spot stand standing stands stood strange stranger strangers sure taken tell teller telling
    there together told took turn twice under unlike until unsure unused up upon used usual wait waiting wanted what
    when where which who whom whose why with within without worked works wrong
    """.split()  # noqa: SIM905
)
"""Words that say nothing about the field. A name made of them alone cannot be guessed."""
FILLERS = frozenset("a all an and are as be for from in is it its no not on than that the to".split())  # noqa: SIM905
RELATIVE = re.compile(r"(what|who|whom|whose|whether|how|where|which|the same|of)\b", re.IGNORECASE)


class Share(NamedTuple):
    """So many of so many."""

    part: int
    whole: int

    @property
    def percent(self) -> float:
        return 100 * self.part / max(1, self.whole)


class Documented(NamedTuple):
    """A function or class with its docstring and the names of its parameters."""

    where: str
    name: str
    docstring: str | None
    parameters: tuple[str, ...]
    is_function: bool

    @property
    def is_public(self) -> bool:
        return not self.name.startswith("_")


def definitions(files: Iterable[Path]) -> Iterator[Documented]:
    """Yield every function and class in `files`."""
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("__"):
                yield Documented(f"{path}:{node.lineno}", node.name, ast.get_docstring(node), (), False)
            if isinstance(node, ast.FunctionDef):
                spec = node.args
                names = [each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
                named = tuple(name for name in names if name not in ("self", "cls"))
                yield Documented(f"{path}:{node.lineno}", node.name, ast.get_docstring(node), named, True)


def is_vague(name: str) -> bool:
    """Return True if all words of `name` are vague.

    >>> is_vague("carried_out"), is_vague("run_plans")
    (True, False)
    """
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
    telling = [word for word in words if word not in FILLERS]
    return bool(telling) and all(word in VAGUE for word in telling) and not name.startswith("__")


def vague_names(found: Iterable[Documented]) -> list[str]:
    """Return the names in `found` that say nothing, each with its place."""
    return [f"{each.where} {each.name}" for each in found if is_vague(each.name)]


def relative_docstrings(found: Iterable[Documented]) -> list[str]:
    """Return the docstrings in `found` that begin with a relative word, such as What or Whether."""
    return [f"{each.where} {each.docstring}" for each in found if each.docstring and RELATIVE.match(each.docstring)]


def named_parameters(found: Iterable[Documented]) -> Share:
    """Return the share of public docstrings in `found` that name every parameter."""
    public = [each for each in found if each.is_function and each.is_public and each.docstring and each.parameters]
    named = sum(all(re.search(rf"\b{name}\b", str(each.docstring)) for name in each.parameters) for each in public)
    return Share(named, len(public))


def stated_results(found: Iterable[Documented]) -> Share:
    """Return the share of public functions in `found` whose docstring says what they return, yield or raise."""
    public = [each for each in found if each.is_function and each.is_public and each.docstring and each.parameters]
    stated = sum(bool(re.search(r"\b([Rr]eturn|[Yy]ield|[Rr]aise)", str(each.docstring))) for each in public)
    return Share(stated, len(public))
