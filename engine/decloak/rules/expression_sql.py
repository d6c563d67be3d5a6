"""The SQLite text of a formula, with the fewest brackets.

SQLite gives NULL for a division by zero and for infinity minus infinity, and lets an infinite value through
otherwise. It could come back as a number only by division or through min, max, count and mean, so it is made
NULL there and at the end.
"""

from collections.abc import Mapping

from decloak.formula import Call, Name, Number, Operation, Term

__all__ = ["deepest_bracket", "sql_text"]

_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}
_AGGREGATE = {"mean": "avg", "sum": "sum", "min": "min", "max": "max", "count": "count"}


def sql_text(tree: Term, columns: Mapping[str, str], over: str | None) -> str:
    """A SQLite expression; names become `columns`, aggregates window functions when `over` is given."""
    return _Writer(columns, over).finite(tree)


def deepest_bracket(sql: str) -> int:
    """How many brackets within one another a text has at most."""
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
        """The text of a node, NULL when it overflows."""
        text = self.text(node)
        safe = isinstance(node, Number | Name) or (isinstance(node, Call) and node.name in ("count", "min", "max"))
        return text if safe else f"nullif(nullif({text}, 9e999), -9e999)"

    def text(self, node: Term) -> str:
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
                return f"(-{self.within(only, 3)})"
            case Operation(sign, (left, right)):
                strength = _STRENGTH[sign]
                # A finite number divided by infinity would come back as 0, which numpy calls no score.
                divisor = self.finite(right) if sign == "/" and not isinstance(right, Number | Name) else None
                return f"{self.within(left, strength)} {sign} {divisor or self.within(right, strength + 1)}"
        raise AssertionError(node)

    def within(self, node: Term, strength: int) -> str:
        """The text of an operand, in brackets when it binds less than its operation."""
        weak = isinstance(node, Operation) and len(node.operands) == 2 and _STRENGTH[node.sign] < strength
        return f"({self.text(node)})" if weak else self.text(node)


def _quoted(name: str) -> str:
    """In square brackets: a double-quoted name that is no column would silently be a string."""
    return f"[{name}]"
