"""The terms of an expectation: their checks, their text, and their values with bounds and units."""

import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping

from decloak.errors import DecloakError, quote
from decloak.formula import Call, Name, Number, Operation, Percent, Share, Term, children, walk

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
    """Return the key of a figure and the attack, from a `node` such as precision(rba); no attack from a name alone."""
    match node:
        case Call(name, (Name(attack),)):
            return name, attack
        case Name(name):
            return name, ""
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
        # A name may lack its attack. This is judged later, when the measures and attacks are known.
        case Number() | Name():
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
    # Floats hold every whole number up to 2^53, about 9e15.
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


MeasuredValues = Mapping[tuple[str, str], float | None]
"""The value of each measure of each attack; None or absent: undefined."""
Range = tuple[float, float]
"""The least and the most that a number can be."""
EVERY: Range = (-math.inf, math.inf)


def decided_by_bounds(node: Operation, bounds: Mapping[str, tuple[float | None, float | None]]) -> bool | None:
    """Return whether the comparison `node` is always true, or never, by the `bounds` of figures; None if neither."""
    (low, high), (least, most) = (range_of(operand, bounds) for operand in node.operands)
    compare, gaps = COMPARE[node.sign], (low - most, high - least)
    if any(map(math.isnan, gaps)):
        return None
    # The number is no value that the figure can have.
    if gaps[0] > EPSILON or gaps[1] < -EPSILON:
        return compare(gaps[0])
    # Where the number is the bound itself, `>= 0` asks that there is a figure at all.
    return False if node.sign in ("<", ">") and not any(map(compare, gaps)) else None


def range_of(node: Term, bounds: Mapping[str, tuple[float | None, float | None]]) -> Range:
    """Return the range of `node`, given the `bounds` of its figures, which count as independent."""
    match node:
        case Number(value):
            return value, value
        case Percent(value):
            return value / 100, value / 100
        case Share((figure,)):
            low, high = range_of(figure, bounds)
            # A count has no upper bound. Divided by what it is counted of, it has one.
            return (0.0, 1.0) if (low, high) == (0.0, math.inf) else (low, high)
        case Name(name) | Call(name, (Name(),)) if name not in FOLDS:
            lowest, highest = bounds.get(name, (None, None))
            return -math.inf if lowest is None else lowest, math.inf if highest is None else highest
        case Call(name, arguments):
            ranges = [range_of(argument, bounds) for argument in arguments]
            fold = FOLDS[name]
            return fold([low for low, _ in ranges]), fold([high for _, high in ranges])
        case Operation("-", (operand,)):
            low, high = range_of(operand, bounds)
            return -high, -low
        case Operation(sign, (left, right)):
            return _combined(sign, range_of(left, bounds), range_of(right, bounds))
    return EVERY


def _combined(sign: str, a: Range, b: Range) -> Range:
    # A divisor near 0 makes a quotient as large as one likes, of either sign.
    if sign == "/" and b[0] <= 0 <= b[1]:
        return EVERY
    # Of 0 and an infinite bound floats make no number, though the product of figures is 0.
    ends = [ARITHMETIC[sign](x, y) for x in a for y in b if not (sign == "*" and 0 in (x, y))]
    ends += [0.0] * (sign == "*" and 0 in (*a, *b))
    return EVERY if any(map(math.isnan, ends)) else (min(ends), max(ends))


def range_text(bounds: Range) -> str:
    """Describe the `bounds` of a number."""
    low, high = (number_text(bound) if math.isfinite(bound) else None for bound in bounds)
    if low is None or high is None:
        return f"{low} or more" if low is not None else f"{high} or less" if high is not None else "any number"
    return f"from {low} to {high}"


def unit_of(node: Term, clocked: Collection[str]) -> int | None:
    """Return the power of seconds in `node` (`clocked` are figures in seconds); None for a sum of several."""
    inner = [unit_of(child, clocked) for child in ([] if is_measure(node) else children(node))]
    match node:
        case Call(name) if name not in FOLDS:
            return int(name in clocked)
        case Operation("*" | "/" as sign, _):
            first, second = inner
            return None if first is None or second is None else first + second if sign == "*" else first - second
    return 0 if not inner else inner[0] if len(set(inner)) == 1 else None


def _number(node: Term, values: MeasuredValues) -> float | None:
    match node:
        case Number(value):
            return value
        case Call(name, arguments) if name in FOLDS:
            numbers = [_number(argument, values) for argument in arguments]
            defined = [number for number in numbers if number is not None]
            return FOLDS[name](defined) if len(defined) == len(numbers) else None
        case Percent(value):
            return value / 100
        case Share((figure,)):
            name, attack = figure_and_attack(figure)
            return _finite(values.get((f"{name}%", attack)))
        case Call() | Name():
            return _finite(values.get(figure_and_attack(node)))
        case Operation("-", (operand,)):
            number = _number(operand, values)
            return None if number is None else -number
        case Operation(sign, (left, right)):
            return _arithmetic(sign, _number(left, values), _number(right, values))
    raise ValueError(f"not a number: {node}")


def _arithmetic(sign: str, a: float | None, b: float | None) -> float | None:
    if a is None or b is None or (sign == "/" and b == 0):
        return None
    return _finite(ARITHMETIC[sign](a, b))


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def evaluate_term(node: Term, values: MeasuredValues) -> bool | None:
    """Return whether `node` is true by `values`, None where they do not decide."""
    match node:
        case Operation("not", (operand,)):
            verdict = evaluate_term(operand, values)
            return None if verdict is None else not verdict
        case Operation("and" | "or" as sign, operands):
            verdicts = [evaluate_term(operand, values) for operand in operands]
            # One true decides an or, one false an and, whatever the undefined ones would have been.
            decisive = sign == "or"
            return decisive if decisive in verdicts else (None if None in verdicts else not decisive)
        case Operation(sign, (left, right)):
            sides = _number(left, values), _number(right, values)
            return None if None in sides else COMPARE[sign](operator.sub(*sides))
    raise ValueError(f"nothing that holds or does not: {node}")


def text_with_values(node: Term, values: MeasuredValues) -> str:
    """Return the text of `node`, with its value from `values` behind every operand that is no plain number."""
    match node:
        case Operation(sign, (left, right)) if sign in COMPARE:
            return f"{_operand_text(left, values)} {sign} {_operand_text(right, values)}"
        case Operation("not", (operand,)):
            return f"not {in_brackets(text_with_values(operand, values), operand, 'not')}"
        case Operation(sign, operands):
            return f" {sign} ".join(
                in_brackets(text_with_values(operand, values), operand, sign) for operand in operands
            )
    raise ValueError(f"nothing that holds or does not: {node}")


def _operand_text(node: Term, values: MeasuredValues) -> str:
    if not any(map(is_figure, walk(node))):
        return term_text(node)
    number = _number(node, values)
    shared = number is not None and any(isinstance(part, Share) for part in walk(node))
    said = f"{number_text(100 * number)}%" if shared and number is not None else number_text(number)
    return f"{term_text(node)} = {said}"
