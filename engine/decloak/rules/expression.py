"""Formulas of rules, compiled to numpy and to SQLite with the same meaning in both.

A formula is a tree of `decloak.formula`. Its values are numbers or *no score* (NaN in numpy, NULL in SQL). A division
by zero, the logarithm of a number that is not positive and an overflow give no score. Arithmetic and scalar min/max of
no score give no score, and aggregates skip it. `min`, `max`, `mean`, `sum` and `count` of one argument are aggregates
over cells; `min` and `max` of several are scalar.

`cells` are the names whose value differs from cell to cell, `constants` those with one value for all cells. Columns
contain finite numbers or no score: `scores` ensures that.

The SQLite text of a formula, with the fewest brackets.

SQLite gives NULL for a division by zero and for infinity minus infinity, and keeps an infinite value otherwise. It
could become a number again only by division or through min, max, count and mean, so these and the end replace it by
NULL.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from decloak.arrays import Floats
from decloak.errors import DecloakError, quote, suggest
from decloak.formula import Call, Name, Number, Operation, Term, names_read, parse, walk

Aggregates = Mapping[Call, Floats]
_Evaluate = Callable[[Mapping[str, Floats], Aggregates], Floats]

AGGREGATES = frozenset({"count", "max", "mean", "min", "sum"})
FUNCTIONS = frozenset({"ln"}) | AGGREGATES
MOST_NODES = 400
"""Nodes of a tree, at most: a larger one could exhaust Python's stack."""
MOST_BRACKETS = 12
"""Nested brackets, at most: SQLite before 3.46 fails near 14."""


def scores(values: ArrayLike) -> Floats:
    """Return `values` as an array in which all numbers that are not finite are NaN, no score."""
    array = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)


class _Compiled(NamedTuple):
    """A tree as two functions: one at full speed, and one that replaces infinite values in every step."""

    fast: _Evaluate
    careful: _Evaluate

    def __call__(self, columns: Mapping[str, Floats], aggregates: Aggregates) -> Floats:
        # Formulas seldom leave the finite numbers, so every step is checked only when one of them has.
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
                return self.fast(columns, aggregates)
        except FloatingPointError:
            with np.errstate(all="ignore"):
                return self.careful(columns, aggregates)


@dataclass(frozen=True)
class Expression:
    """A compiled formula.

    >>> half = Expression.build("d / max(d)", cells=["d"])
    >>> half.numpy({"d": np.array([1.0, np.nan, 4.0])})
    array([0.25,  nan, 1.  ])
    >>> Expression.build("max(1, d)", cells=["d"]).sql()
    'max(1.0, cast([d] as real))'
    """

    text: str
    tree: Term = field(repr=False)
    _whole: _Compiled = field(repr=False, compare=False)
    _within: Mapping[Call, _Compiled] = field(repr=False, compare=False)

    @classmethod
    def build(
        cls, text: str, *, cells: Collection[str], constants: Collection[str] = (), summary: bool = False
    ) -> "Expression":
        """Compile and check the formula `text` over `cells` and `constants`; return it.

        A `summary` is one number: it names cells only within aggregates.
        """
        tree = parse(text)
        _check(tree, cells, constants, summary)
        nodes = sum(1 for _ in walk(tree))
        if nodes > MOST_NODES or deepest_bracket(sql_text(tree, {}, "x")) > MOST_BRACKETS:
            raise DecloakError(f"the formula {quote(text)} is too long or nested too deep", hint="make it simpler")
        return cls._of(text, tree)

    @classmethod
    def _of(cls, text: str, tree: Term) -> "Expression":
        calls = [node for node in walk(tree) if isinstance(node, Call) and is_aggregate(node)]
        return cls(text, tree, _compiled(tree), {call: _compiled(call.arguments[0]) for call in calls})

    @cached_property
    def factors(self) -> tuple["Expression", ...]:
        """Return the factors of a product, in order; a formula that is no product is its only factor.

        >>> [factor.names for factor in Expression.build("d * 2 * (1 - x)", cells=["d", "x"]).factors]
        [frozenset({'d'}), frozenset(), frozenset({'x'})]
        """
        # A product is nested to the left, so that its last factor is the first to come off.
        left, right = self.tree, list[Term]()
        while isinstance(left, Operation) and left.sign == "*":
            left, last = left.operands
            right.append(last)
        return tuple(self._of(self.text, tree) for tree in (left, *reversed(right)))

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(names_read(self.tree))

    def aggregates(self, columns: Mapping[str, Floats]) -> dict[Call, Floats]:
        """Return the aggregates over the last axis of `columns`, which keeps the length 1."""
        return {call: _aggregate(call.name, inner(columns, {})) for call, inner in self._within.items()}

    def numpy(self, columns: Mapping[str, Floats], aggregates: Aggregates | None = None) -> Floats:
        """Return the values over `columns`; aggregates are taken over the last axis unless `aggregates` gives them."""
        return self._whole(columns, self.aggregates(columns) if aggregates is None else aggregates)

    def sql(self, columns: Mapping[str, str] | None = None, over: str | None = None) -> str:
        """Return a SQLite expression; names become `columns` (their own name if it is missing there).

        With `over` aggregates are window functions over it; without they are plain aggregates.
        """
        return sql_text(self.tree, columns or {}, over)


def is_aggregate(call: Call) -> bool:
    """Return True if `call` is an aggregate over cells: `min` and `max` of several arguments are not."""
    return call.name in AGGREGATES and len(call.arguments) == 1


def _check(tree: Term, cells: Collection[str], constants: Collection[str], summary: bool) -> None:
    for name in sorted(names_read(tree)):
        _check_name(name, {*cells, *constants})
    for node in walk(tree):
        if isinstance(node, Call):
            _check_call(node, cells)
    if summary:
        for name in sorted(_outside(tree) & set(cells)):
            raise DecloakError(f"{name} differs from cell to cell", hint=f"write mean({name}) or max({name})")


def _check_name(name: str, readable: Collection[str]) -> None:
    if name not in readable:
        hint = suggest(name, readable) or f"names are {', '.join(sorted(readable))}"
        if name in FUNCTIONS:
            hint = f"{name} is a function: write {name}(...)"
        raise DecloakError(f"unknown name {quote(name)} in a formula", hint=hint)


def _check_call(call: Call, cells: Collection[str]) -> None:
    if call.name not in FUNCTIONS:
        hint = suggest(call.name, FUNCTIONS) or f"functions are {', '.join(sorted(FUNCTIONS))}"
        raise DecloakError(f"unknown function {quote(call.name)} in a formula", hint=hint)
    many = call.name in ("min", "max")
    if not call.arguments or (len(call.arguments) > 1 and not many):
        takes = "at least one argument" if many else "one argument"
        raise DecloakError(f"{call.name} takes {takes}, not {len(call.arguments)}")
    if not is_aggregate(call):
        return
    inner = call.arguments[0]
    if any(isinstance(node, Call) and is_aggregate(node) for node in walk(inner)):
        raise DecloakError(f"an aggregate within {call.name}(...)", hint="take one of them out")
    if not names_read(inner) & set(cells):
        raise DecloakError(f"{call.name}(...) of one argument is over cells, and reads no column of theirs")


def _outside(node: Term) -> set[str]:
    """Return the names outside every aggregate."""
    if isinstance(node, Name):
        return {node.name}
    if isinstance(node, Call) and is_aggregate(node):
        return set()
    children = node.operands if isinstance(node, Operation) else getattr(node, "arguments", ())
    return {name for child in children for name in _outside(child)}


def _compiled(tree: Term) -> _Compiled:
    return _Compiled(_compile(tree, lambda x: x), _compile(tree, scores))


def _compile(node: Term, finite: Callable[[Floats], Floats]) -> _Evaluate:
    """Return a tree as a function; `finite` is applied to all values that may be infinite."""
    match node:
        case Number(value):
            number = np.float64(value)
            return lambda columns, aggregates: number  # type: ignore[return-value]
        case Name(name):
            return lambda columns, aggregates: columns[name]
        case Call() if is_aggregate(node):
            return lambda columns, aggregates: aggregates[node]
        case Call("ln", (argument,)):
            x = _compile(argument, finite)
            return lambda columns, aggregates: finite(np.log(x(columns, aggregates)))
        case Call(name, arguments):
            parts = [_compile(argument, finite) for argument in arguments]
            pick = np.minimum if name == "min" else np.maximum
            return lambda columns, aggregates: reduce(pick, [part(columns, aggregates) for part in parts])
        case Operation("-", (only,)):
            x = _compile(only, finite)
            return lambda columns, aggregates: np.negative(x(columns, aggregates))
        case Operation(sign, (left, right)):
            x, y, apply = _compile(left, finite), _compile(right, finite), _SIGNS[sign]
            return lambda columns, aggregates: finite(apply(x(columns, aggregates), y(columns, aggregates)))
    raise AssertionError(node)


_SIGNS: dict[str, np.ufunc] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
}  # fmt: skip


def _aggregate(name: str, values: Floats) -> Floats:
    """Return one aggregate over the last axis, which is kept; no score if there is nothing to aggregate."""
    # nanmin and the like warn about groups without a score; fmin and fmax pass over NaN in silence.
    there = ~np.isnan(values)
    count: Floats = there.sum(axis=-1, keepdims=True, dtype=np.float64)
    if name == "count":
        return count
    with np.errstate(all="ignore"):
        match name:
            case "min":
                # NaN to begin with: it gives way to any score, and stays where there is none.
                value = np.fmin.reduce(values, axis=-1, keepdims=True, initial=np.nan)
            case "max":
                value = np.fmax.reduce(values, axis=-1, keepdims=True, initial=np.nan)
            case _:
                total = np.where(there, values, 0.0).sum(axis=-1, keepdims=True)
                value = np.where(count > 0, total / (count if name == "mean" else 1), np.nan)
    return scores(value)


_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}
_AGGREGATE = {"mean": "avg", "sum": "sum", "min": "min", "max": "max", "count": "count"}


def sql_text(tree: Term, columns: Mapping[str, str], over: str | None) -> str:
    """Return a SQLite expression of `tree`; names become `columns`, aggregates window functions `over` a partition."""
    return _Writer(columns, over).finite(tree)


def deepest_bracket(sql: str) -> int:
    """Return the largest depth of nested brackets in `sql`."""
    depth = deepest = 0
    for letter in sql:
        depth += (letter == "(") - (letter == ")")
        deepest = max(deepest, depth)
    return deepest


class _Writer:
    def __init__(self, columns: Mapping[str, str], over: str | None) -> None:
        self.columns = columns
        self.over = f" over ({over})" if over is not None else ""

    def finite(self, node: Term) -> str:
        """Return the text of `node`, NULL when it overflows."""
        text = self.text(node)
        safe = isinstance(node, Number | Name) or (isinstance(node, Call) and node.name in ("count", "min", "max"))
        return text if safe else f"nullif(nullif({text}, 9e999), -9e999)"

    def text(self, node: Term) -> str:
        """Return the text of `node`."""
        match node:
            case Number(value):
                return repr(value)
            case Name(name):
                # Of two whole numbers SQLite gives a whole quotient: every column is read as a float.
                return f"cast({self.columns.get(name, _quoted(name))} as real)"
            case Call("ln", (argument,)):
                return f"ln({self.text(argument)})"
            case Call(name, (argument,)):
                aggregate = f"{_AGGREGATE[name]}({self.finite(argument)}){self.over}"
                return f"cast({aggregate} as real)" if name == "count" else aggregate
            case Call(name, arguments):
                return f"{name}({', '.join(map(self.finite, arguments))})"
            case Operation("-", (only,)):
                return f"(-{self.bracketed(only, 3)})"
            case Operation(sign, (left, right)):
                strength = _STRENGTH[sign]
                # A finite number divided by infinity would come back as 0, which numpy calls no score.
                divisor = self.finite(right) if sign == "/" and not isinstance(right, Number | Name) else None
                return f"{self.bracketed(left, strength)} {sign} {divisor or self.bracketed(right, strength + 1)}"
        raise AssertionError(node)

    def bracketed(self, node: Term, strength: int) -> str:
        """Return the text of an operand `node`, in brackets if it binds less than `strength`."""
        weak = isinstance(node, Operation) and len(node.operands) == 2 and _STRENGTH[node.sign] < strength
        return f"({self.text(node)})" if weak else self.text(node)


def _quoted(name: str) -> str:
    """Return a name in square brackets: an unknown name in double quotes would silently be a string."""
    return f"[{name}]"
