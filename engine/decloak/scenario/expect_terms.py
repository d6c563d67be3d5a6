"""The terms of an expectation: what they are made of, their checks and their text."""

import operator
from collections.abc import Callable, Iterator

from decloak.errors import DecloakError, quote
from decloak.formula import Call, Name, Number, Operation, Percent, Share, Term, walk

__all__ = [
    "ARITHMETIC",
    "COMPARE",
    "EPSILON",
    "FOLDS",
    "children",
    "figure_and_attack",
    "figures_in",
    "in_brackets",
    "is_figure",
    "is_measure",
    "names_alone",
    "number_text",
    "require_logic",
    "require_shallow",
    "term_text",
    "write_as_shares",
]

EPSILON = 1e-9
DEEPEST = 50
"""Levels an expression may be nested."""
FOLDS: dict[str, Callable[[list[float]], float]] = {"min": min, "max": max}
ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
COMPARE: dict[str, Callable[[float], bool]] = {
    "<": lambda gap: gap < -EPSILON,
    "<=": lambda gap: gap <= EPSILON,
    ">": lambda gap: gap > EPSILON,
    ">=": lambda gap: gap >= -EPSILON,
    "==": lambda gap: abs(gap) <= EPSILON,
    "!=": lambda gap: abs(gap) > EPSILON,
}  # applied to left minus right
JUNCTIONS = ("or", "and", "not")
_BINDING = {"or": 1, "and": 2, "not": 3, **dict.fromkeys(COMPARE, 4), "+": 5, "-": 5, "*": 6, "/": 6}


def is_measure(node: Term) -> bool:
    """Return whether `node` is a figure of an attack."""
    return isinstance(node, Call) and node.name not in FOLDS and node.name != "percent"


def is_figure(node: Term) -> bool:
    """Return whether `node` is a figure, of an attack or of the release alone."""
    return is_measure(node) or isinstance(node, Name)


def figures_in(node: Term) -> Iterator[Term]:
    """Yield the figures of the term `node`, with those of the release alone, and without the names of attacks."""
    stands = is_figure(node) or isinstance(node, Share)
    if stands:
        yield node
    for child in () if stands else children(node):
        yield from figures_in(child)


def write_as_shares(node: Term) -> Term:
    """Return `node` with the figures that are compared with a percentage as shares."""
    match node:
        case Operation(sign, operands) if sign in COMPARE and any(map(_is_percent, walk(node))):
            return Operation(sign, tuple(map(_as_share, operands)))
        case Operation(sign, operands) if sign in JUNCTIONS:
            return Operation(sign, tuple(map(write_as_shares, operands)))
    return node


def _is_percent(node: Term) -> bool:
    return isinstance(node, Call) and node.name == "percent"


def _as_share(node: Term) -> Term:
    match node:
        case Call("percent", (Number(value),)):
            return Percent(value)
        case Call(name, arguments) if name in FOLDS:
            return Call(name, tuple(map(_as_share, arguments)))
        case Operation(sign, operands):
            return Operation(sign, tuple(map(_as_share, operands)))
        case Call() | Name():
            return Share((node,))
    return node


def figure_and_attack(node: Term) -> tuple[str, str]:
    """Return the key of a figure and the attack, from a `node` such as precision(rba)."""
    match node:
        case Call(name, (Name(attack),)):
            return name, attack
    raise ValueError(f"not a measure: {node}")


def names_alone(node: Term) -> Iterator[str]:
    """Yield the names in `node` that are no attack of a figure."""
    if isinstance(node, Name):
        yield node.name
    for child in () if is_measure(node) else children(node):
        yield from names_alone(child)


def require_shallow(root: Term) -> None:
    """Refuse a tree below `root` that is too deep: recursion over it would reach Python's own bound."""
    level: list[Term] = [root]
    for _ in range(DEEPEST):
        level = [child for node in level for child in children(node)]
    if level:
        raise DecloakError(f"an expectation nested deeper than {DEEPEST} levels", hint="write it flatter")


def children(node: Term) -> tuple[Term, ...]:
    """Return the terms that `node` is made of."""
    match node:
        case Operation(_, operands):
            return operands
        case Call(_, arguments) | Share(arguments):
            return arguments
    return ()


def require_logic(node: Term) -> None:
    """Refuse a `node` that compares nothing."""
    match node:
        case Operation(sign, operands) if sign in JUNCTIONS:
            for operand in operands:
                require_logic(operand)
        case Operation(sign, operands) if sign in COMPARE:
            for operand in operands:
                _require_number(operand)
        case _:
            raise DecloakError(f"{quote(term_text(node))} compares nothing", hint="write such as precision(rba) > 0.8")


def _require_number(node: Term) -> None:
    match node:
        case Number() | Name():  # the missing part of a name is known when the measures and attacks are known
            return
        case Call(name, arguments) if name in FOLDS:
            if len(arguments) < 2:
                raise DecloakError(f"{name} takes at least 2 values", hint=f"write {name}(f(rba), f(gba))")
            for argument in arguments:
                _require_number(argument)
        case Call("percent", (Number(),)):
            return
        case Call(name, arguments):
            _require_label(name, arguments)
        case Operation(sign, operands) if sign in ARITHMETIC:
            for operand in operands:
                _require_number(operand)
        case _:
            raise DecloakError(f"{quote(term_text(node))} is no number", hint="join comparisons by and, or, not")


def _require_label(measure: str, arguments: tuple[Term, ...]) -> None:
    if len(arguments) != 1 or not isinstance(arguments[0], Name):
        inside = ", ".join(map(term_text, arguments))
        raise DecloakError(
            f"{quote(f'{measure}({inside})')} does not name one attack",
            hint=f"write {measure}(rba); an attack whose label is no plain word needs one: {{rule: ..., as: word}}",
        )


def number_text(number: float | None) -> str:
    """Write a `number` with six digits at most."""
    if number is None:
        return "undefined"
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else f"{number:.6g}"


def term_text(node: Term) -> str:
    """Write `node` as a scenario has it."""
    match node:
        case Number(value):
            return number_text(value)
        case Percent(value):
            return f"{number_text(value)}%"
        case Share((figure,)):
            return term_text(figure)
        case Name(name):
            return name
        case Call(name, arguments):
            return f"{name}({', '.join(map(term_text, arguments))})"
        case Operation("-", (operand,)):
            return "-" + in_brackets(term_text(operand), operand, "*", 1)
        case Operation("not", (operand,)):
            return f"not {in_brackets(term_text(operand), operand, 'not')}"
        case Operation(sign, (first, *rest)):
            tighter = sign in ARITHMETIC  # a - (b - c)
            right = [in_brackets(term_text(operand), operand, sign, tighter) for operand in rest]
            return f" {sign} ".join([in_brackets(term_text(first), first, sign), *right])
    raise ValueError(f"no text for {node}")


def in_brackets(text: str, node: Term, outer: str, tighter: int = 0) -> str:
    """Return the `text` of the operand `node`, in brackets if its sign binds less than the sign `outer` around it.

    `tighter` is 1 where an equal sign needs brackets.
    """
    if isinstance(node, Operation) and (len(node.operands) > 1 or node.sign == "not"):
        return f"({text})" if _BINDING[node.sign] < _BINDING[outer] + tighter else text
    return text
