"""The small formula language of rules and expectations, read into a tree that Python never evaluates.

Numbers, names, calls, + - * /, comparisons and and/or/not. Python's own parser does the reading; every
node it returns is checked against the short list below, so attribute access, subscripts, strings, lambdas
and powers are errors and nothing of the text is ever executed.
"""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from decloak.errors import DecloakError, shown

__all__ = ["Call", "Name", "Number", "Operation", "Percent", "Share", "Term", "names_read", "parse", "walk"]

LONGEST = 1_000
"""Characters a formula may have: Python's parser needs a bound against deep nesting."""


@dataclass(frozen=True)
class Number:
    value: float


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple["Term", ...]


@dataclass(frozen=True)
class Operation:
    """`sign` is one of + - * / < <= > >= == != and or not; a lone minus has one operand."""

    sign: str
    operands: tuple["Term", ...]


@dataclass(frozen=True)
class Percent:
    """A number that an expectation writes with a percent sign."""

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
    """Read a formula; `logic` also allows comparisons and and/or/not (expectations do, rules do not).

    >>> parse("0.8 * mean(d)")
    Operation(sign='*', operands=(Number(value=0.8), Call(name='mean', arguments=(Name(name='d'),))))
    """
    if len(text) > LONGEST:
        raise DecloakError(f"a formula of {len(text)} characters", hint=f"write at most {LONGEST}")
    try:
        with warnings.catch_warnings(action="ignore"):  # what Python thinks of `1and` is no concern of the user's
            tree = ast.parse(text.strip(), mode="eval")
        return _convert(tree.body, logic)
    except SyntaxError as error:
        raise DecloakError(f"cannot read the formula {shown(text)}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise DecloakError(f"cannot read the formula {shown(text)}") from None


def _convert(node: ast.expr, logic: bool) -> Term:
    match node:
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
        f"{shown(ast.unparse(node))} has no meaning in a formula",
        hint="use numbers, names, calls, + - * /" + (", comparisons, and, or, not" if logic else ""),
    )


def _finite(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number == float("inf"):
        raise DecloakError("a number in the formula is too large", hint="write one below 1e308")
    return number


def _chain(signs: list[str], operands: list[Term]) -> Term:
    """a < b < c is (a < b) and (b < c)."""
    pairs = tuple(Operation(sign, (operands[n], operands[n + 1])) for n, sign in enumerate(signs))
    return pairs[0] if len(pairs) == 1 else Operation("and", pairs)


def walk(node: Term) -> Iterator[Term]:
    """Every node of the tree, the root first."""
    yield node
    children = node.operands if isinstance(node, Operation) else getattr(node, "arguments", ())
    for child in children:
        yield from walk(child)


def names_read(node: Term) -> set[str]:
    """The names a formula reads (not those of its calls)."""
    return {part.name for part in walk(node) if isinstance(part, Name)}
