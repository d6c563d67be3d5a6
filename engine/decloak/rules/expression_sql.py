"""The SQLite text of a formula, with the fewest brackets.

SQLite gives NULL for a division by zero and for infinity minus infinity, and keeps an infinite value otherwise. It
could become a number again only by division or through min, max, count and mean, so these and the end replace it by
NULL.
"""

from collections.abc import Mapping

from decloak.formula import Call, Name, Number, Operation, Term

__all__ = ["deepest_bracket", "sql_text"]

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
