"""The values of terms: as measured, their bounds whatever is measured, and their units."""

import math
import operator
from collections.abc import Collection, Mapping

from decloak.formula import Call, Name, Number, Operation, Percent, Share, Term, walk
from decloak.scenario.expect_terms import (
    ARITHMETIC,
    COMPARE,
    EPSILON,
    FOLDS,
    children,
    figure_and_attack,
    in_brackets,
    is_figure,
    is_measure,
    number_text,
    term_text,
)

__all__ = ["MeasuredValues", "decided_by_bounds", "judge", "range_of", "range_text", "text_with_values", "unit_of"]

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
    if gaps[0] > EPSILON or gaps[1] < -EPSILON:  # a number that is no value of the figure
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
    if sign == "/" and b[0] <= 0 <= b[1]:
        return EVERY
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
        case Share((Name(name),)):
            return _finite(values.get((f"{name}%", "")))
        case Share((figure,)):
            name, attack = figure_and_attack(figure)
            return _finite(values.get((f"{name}%", attack)))
        case Call():
            return _finite(values.get(figure_and_attack(node)))
        case Name(name):
            return _finite(values.get((name, "")))
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


def judge(node: Term, values: MeasuredValues) -> bool | None:
    """Return whether `node` is true by `values`, None where they do not decide."""
    match node:
        case Operation("not", (operand,)):
            verdict = judge(operand, values)
            return None if verdict is None else not verdict
        case Operation("and" | "or" as sign, operands):
            verdicts = [judge(operand, values) for operand in operands]
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
