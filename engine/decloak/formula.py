"""The formula language of rules and expectations, parsed into a tree that Python never evaluates.

Numbers, names, calls, + - * /, comparisons and and/or/not. Python's own parser reads the text. Every node is checked
against the short list below, so attribute access, subscripts, strings, lambdas and powers are errors. No text is ever
executed.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from decloak.errors import DecloakError, quote

LONGEST = 1_000
"""Largest number of characters of a formula: it bounds the nesting that Python's parser must handle."""


@dataclass(frozen=True)
class Number:
    """A number in a formula."""

    value: float


@dataclass(frozen=True)
class Name:
    """A name in a formula."""

    name: str


@dataclass(frozen=True)
class Call:
    """A call of a function with a name and arguments."""

    name: str
    arguments: tuple["Term", ...]


@dataclass(frozen=True)
class Operation:
    """An operation. `sign` is one of + - * / < <= > >= == != and or not; a unary minus has one operand."""

    sign: str
    operands: tuple["Term", ...]


@dataclass(frozen=True)
class Percent:
    """A number with a percent sign in an expectation."""

    value: float


@dataclass(frozen=True)
class Share:
    """A figure that an expectation compares with a percentage."""

    arguments: tuple["Term"]


Term = Number | Name | Call | Operation | Percent | Share

_ARITHMETIC: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISON: dict[type[ast.AST], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def parse(text: str, *, logic: bool = False) -> Term:
    """Read the formula `text` and return its tree; `logic` also allows comparisons and and/or/not (in expectations, not
    in rules).

    >>> parse("0.8 * mean(d)")
    Operation(sign='*', operands=(Number(value=0.8), Call(name='mean', arguments=(Name(name='d'),))))
    """
    if len(text) > LONGEST:
        raise DecloakError(f"a formula of {len(text)} characters", hint=f"write at most {LONGEST}")
    try:
        with warnings.catch_warnings(action="ignore"):  # what Python thinks of `1and` is no concern of the user's
            # Python takes a blank at the start for an indentation.
            tree = ast.parse(text.strip(), mode="eval")
        return _convert(tree.body, logic)
    except SyntaxError as error:
        if last := re.search(r"(?:[<>=!]=?|[-+*/]|\b(?:and|or|not))$", text.strip()):
            message = f"incomplete expression {quote(text.strip())}"
            raise DecloakError(message, hint=f"add a value after '{last[0]}', for example 0.5") from None
        raise DecloakError(f"cannot read the formula {quote(text)}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise DecloakError(f"cannot read the formula {quote(text)}") from None


def _convert(node: ast.expr, logic: bool) -> Term:
    match node:
        # For Python, True is a whole number.
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value):
            return Number(_finite(value))
        case ast.Name(id=name):
            return Name(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Operation("-", (_convert(operand, logic),))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
            return Operation(_ARITHMETIC[type(sign)], (_convert(left, logic), _convert(right, logic)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return Call(name, tuple(_convert(argument, logic) for argument in arguments))
        case ast.Compare(left=left, ops=[*signs], comparators=[*rights]) if logic:
            operands = [_convert(operand, logic) for operand in (left, *rights)]
            if all(type(sign) in _COMPARISON for sign in signs):
                return _chain([_COMPARISON[type(sign)] for sign in signs], operands)
        case ast.BoolOp(op=both, values=values) if logic:
            word = "and" if isinstance(both, ast.And) else "or"
            return Operation(word, tuple(_convert(value, logic) for value in values))
        case ast.UnaryOp(op=ast.Not(), operand=operand) if logic:
            return Operation("not", (_convert(operand, logic),))
    raise DecloakError(
        f"{quote(ast.unparse(node))} has no meaning in a formula",
        hint="use numbers, names, calls, + - * /" + (", comparisons, and, or, not" if logic else ""),
    )


def _finite(value: float) -> float:
    # Python reads whole numbers of any size, and floats end at 1e308.
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number == float("inf"):
        raise DecloakError("a number in the formula is too large", hint="write one below 1e308")
    return number


def _chain(signs: list[str], operands: list[Term]) -> Term:
    """Return a < b < c as (a < b) and (b < c)."""
    pairs = tuple(Operation(sign, (operands[n], operands[n + 1])) for n, sign in enumerate(signs))
    return pairs[0] if len(pairs) == 1 else Operation("and", pairs)


def walk(node: Term) -> Iterator[Term]:
    """Yield every node of the tree `node`, the root first."""
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: Term) -> tuple[Term, ...]:
    """Return the terms that `node` is made of."""
    if isinstance(node, Operation):
        return node.operands
    return node.arguments if isinstance(node, Call | Share) else ()


def names_read(node: Term) -> set[str]:
    """Return the names that the formula `node` reads, without names of functions."""
    return {part.name for part in walk(node) if isinstance(part, Name)}
