"""Expectations: `precision(rba) > 0.8 and not exposed(gba) > 10`, judged in three values.

A figure may be undefined, which is None: for example precision without claims, or recall without originals. Arithmetic
and comparisons with None give None, and so do `and`, `or`, `not` unless the rest decides (Kleene's logic). Numbers
within EPSILON are equal, as they are everywhere in decloak.

A number with a percent sign is a share: compared with it, a count is divided by what it is counted of. A figure of
exposure, or of the release alone, needs no attack, `exposed_3 <= 1%`: it is that of the attack by which it is the
largest.
The signs ≤, ≥, ≠ and − are read as <=, >=, != and -.
"""

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from keyword import iskeyword

from decloak.errors import DecloakError, quote, suggest
from decloak.figures import new_name
from decloak.formula import Call, Name, Number, Operation, Percent, Share, Term, parse, walk
from decloak.rules.load import bundled_names

__all__ = ["Expectation", "MeasuredValues"]

EPSILON = 1e-9
FEW = 20
"""Measures that an error lists."""
FIGURES = "`decloak show --help` lists the figures"
DEEPEST = 50
"""Levels an expression may be nested."""

MeasuredValues = Mapping[tuple[str, str], float | None]
"""What each measure of each attack came to; None or absent: undefined."""

_FOLDS: dict[str, Callable[[list[float]], float]] = {"min": min, "max": max}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
_COMPARE: dict[str, Callable[[float], bool]] = {
    "<": lambda gap: gap < -EPSILON,
    "<=": lambda gap: gap <= EPSILON,
    ">": lambda gap: gap > EPSILON,
    ">=": lambda gap: gap >= -EPSILON,
    "==": lambda gap: abs(gap) <= EPSILON,
    "!=": lambda gap: abs(gap) > EPSILON,
}  # applied to left minus right
_JUNCTIONS = ("or", "and", "not")
_BINDING = {"or": 1, "and": 2, "not": 3, **dict.fromkeys(_COMPARE, 4), "+": 5, "-": 5, "*": 6, "/": 6}
_SIGNS = str.maketrans({"≤": "<=", "≥": ">=", "≠": "!=", "−": "-"})
_PERCENT = re.compile(r"(?<![\w.])(\d+(?:\.\d*)?|\.\d+)\s*%(?=\s*(?:$|[),<>=!+*/-]|(?:and|or)\b))")
_VERDICTS = {True: "passed", False: "FAILED", None: "UNDEFINED"}


Range = tuple[float, float]
"""The least and the most that a number can be."""
EVERY: Range = (-math.inf, math.inf)


@dataclass(frozen=True)
class Expectation:
    """One line of a scenario's `expect`.

    >>> expectation = Expectation.parse("precision(rba) > 0.8")
    >>> expectation.explain({("precision", "rba"): 0.71})
    'FAILED: precision(rba) = 0.71 > 0.8'
    """

    text: str
    root: Term

    @classmethod
    def parse(cls, text: str) -> "Expectation":
        """Read an expression that compares measures of attacks."""
        plain = text.translate(_SIGNS)
        root = parse(_PERCENT.sub(r"percent(\1)", plain), logic=True)
        _require_shallow(root)
        _require_logic(root)
        root = _shared(root)
        expectation = cls(text, root)
        if not expectation.measures() and not expectation.alone():
            raise DecloakError(f"{quote(text)} names no measure", hint="write such as precision(rba) > 0.8")
        return expectation

    def measures(self) -> tuple[tuple[str, str], ...]:
        """Every (measure, attack) once, in the order of the text."""
        return tuple(dict.fromkeys(_pair(node) for node in walk(self.root) if _is_measure(node)))

    def alone(self) -> tuple[str, ...]:
        """Every name once that stands for a number and is no measure of an attack, in the order of the text."""
        return tuple(dict.fromkeys(_alone(self.root)))

    def faults(
        self, measures: Iterable[str], attacks: Iterable[str], released: Collection[str] = ()
    ) -> Iterator[DecloakError]:
        """Names that stand alone, and measures and attacks that there are not; the first measure is an example.

        Figures that are `released` need no attack: they are those of the attack by which they are the largest.
        """
        measures, attacks = tuple(measures), tuple(attacks)
        plain = [attack for attack in attacks if attack.isidentifier() and not iskeyword(attack)]
        advice = "" if len(plain) == len(attacks) else "; name others by {rule: ..., as: word}"
        for name in (name for name in self.alone() if name not in released):
            renamed = None if name in (*measures, *attacks) else new_name(name, *plain[:1])
            hint = f"write {renamed}" if renamed else _of_an_attack(name, measures, plain) + advice
            yield DecloakError(f"{quote(name)} stands alone", hint=hint)
        for measure, attack in self.measures():
            if measure not in measures:
                known = f"known here: {', '.join(measures)}" if len(measures) <= FEW else FIGURES
                renamed = new_name(measure, attack)
                hint = f"write {renamed}" if renamed else suggest(measure, measures) or known
                yield DecloakError(f"no measure {quote(measure)}", hint=hint)
            elif attack not in attacks and attack in bundled_names():
                message = f"the expectation needs the attack {quote(attack)}, but the scenario runs only: "
                hint = f"add {attack} under attack, or change the expectation"
                yield DecloakError(f"{message}{', '.join(plain) or 'none'}", hint=hint)
            elif attack not in attacks:
                hint = suggest(attack, plain) or f"known here: {', '.join(plain) or 'none'}{advice}"
                yield DecloakError(f"no attack {quote(attack)}", hint=hint)

    def decided(self, bounds: Mapping[str, tuple[float | None, float | None]]) -> Iterator[DecloakError]:
        """Comparisons that the bounds of their figures decide: nothing measured would be judged by them."""
        for node in walk(self.root):
            if isinstance(node, Operation) and node.sign in _COMPARE and any(map(_is_measured, walk(node))):
                always = _always(node, bounds)
                if always is not None:
                    figures = list(_figures(node))
                    of = " and ".join(f"{_text(part)} is {_range_text(_range(part, bounds))}" for part in figures[:2])
                    message = f"{quote(_text(node))} can never {'fail' if always else 'hold'}: {of}"
                    yield DecloakError(message, hint="compare it with a number between, such as 0.5 or 50% for a share")

    def absolute(self, clocked: Collection[str]) -> Iterator[DecloakError]:
        """Comparisons of seconds with what is none: on another machine they would come out otherwise."""
        for node in walk(self.root):
            if isinstance(node, Operation) and node.sign in _COMPARE:
                # Nothing is nothing on every machine.
                units = {_unit(operand, clocked) for operand in node.operands if operand != Number(0)}
                if len(units) > 1 or None in units:
                    example = next(name for name, _ in self.measures() if name in clocked)
                    hint = f"compare seconds with seconds: {example}(rba) < 10 * {example}(tba)"
                    yield DecloakError(f"{quote(_text(node))} depends on the machine", hint=hint)

    def holds(self, values: MeasuredValues) -> bool | None:
        return _logic(self.root, values)

    def explain(self, values: MeasuredValues) -> str:
        return f"{_VERDICTS[self.holds(values)]}: {_with_values(self.root, values)}"

    def judged(
        self,
        means: MeasuredValues,
        counts: Mapping[tuple[str, str], int],
        times: int,
        shares: MeasuredValues = {},  # noqa: B006 (nobody writes to it)
    ) -> tuple[bool | None, str]:
        """Whether it holds by the means over so many repetitions, and why; `counts` are those that have each figure.

        A figure that some of them lack is undefined, as it is where one alone lacks it: nobody knows what it would be.
        `shares` are those of counts.
        """
        keys = {(name, ""): _of_release(name, means) for name in self.alone()}
        keys |= {key: key for key in self.measures()}
        whole = {asked: key for asked, key in keys.items() if counts.get(key) == times}
        values = {asked: means.get(key) for asked, key in whole.items()}
        values |= {(f"{name}%", attack): shares.get(key, means.get(key)) for (name, attack), key in whole.items()}
        text, fewest = self.explain(values), min((counts.get(key, 0) for key in keys.values()), default=0)
        if times > 1 and fewest:
            few = f"only {fewest} of {times} repetitions have a figure"
            text += f" ({f'mean of {times} repetitions' if fewest == times else few})"
        return self.holds(values), text


def _is_measure(node: Term) -> bool:
    return isinstance(node, Call) and node.name not in _FOLDS and node.name != "percent"


def _is_measured(node: Term) -> bool:
    """Whether a node is a figure, be it of the release alone."""
    return _is_measure(node) or isinstance(node, Name)


def _figures(node: Term) -> Iterator[Term]:
    """The figures of a term, those of the release alone among them; the names of attacks are none."""
    stands = _is_measured(node) or isinstance(node, Share)
    if stands:
        yield node
    for child in () if stands else _children(node):
        yield from _figures(child)


def _of_release(name: str, means: MeasuredValues) -> tuple[str, str]:
    """The key of a figure that stands alone: that of the attack by which it is the largest."""
    known = [(value, key) for key, value in means.items() if key[0] == name and value is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else (name, "")


def _shared(node: Term) -> Term:
    """The same with the figures that are compared with a percentage as shares."""
    match node:
        case Operation(sign, operands) if sign in _COMPARE and any(map(_is_percent, walk(node))):
            return Operation(sign, tuple(map(_as_share, operands)))
        case Operation(sign, operands) if sign in _JUNCTIONS:
            return Operation(sign, tuple(map(_shared, operands)))
    return node


def _is_percent(node: Term) -> bool:
    return isinstance(node, Call) and node.name == "percent"


def _as_share(node: Term) -> Term:
    match node:
        case Call("percent", (Number(value),)):
            return Percent(value)
        case Call(name, arguments) if name in _FOLDS:
            return Call(name, tuple(map(_as_share, arguments)))
        case Operation(sign, operands):
            return Operation(sign, tuple(map(_as_share, operands)))
        case Call() | Name():
            return Share((node,))
    return node


def _always(node: Operation, bounds: Mapping[str, tuple[float | None, float | None]]) -> bool | None:
    """Whether a comparison holds whatever is measured, never does, or is decided by what is measured (None)."""
    (low, high), (least, most) = (_range(operand, bounds) for operand in node.operands)
    compare, gaps = _COMPARE[node.sign], (low - most, high - least)
    if any(map(math.isnan, gaps)):
        return None
    if gaps[0] > EPSILON or gaps[1] < -EPSILON:  # a number that is no value of the figure
        return compare(gaps[0])
    # Where the number is the bound itself, `>= 0` asks that there is a figure at all.
    return False if node.sign in ("<", ">") and not any(map(compare, gaps)) else None


def _range(node: Term, bounds: Mapping[str, tuple[float | None, float | None]]) -> Range:
    """The least and the most that a number can be, whatever its figures are; they are taken to be independent."""
    match node:
        case Number(value):
            return value, value
        case Percent(value):
            return value / 100, value / 100
        case Share((figure,)):
            low, high = _range(figure, bounds)
            return (0.0, 1.0) if (low, high) == (0.0, math.inf) else (low, high)
        case Name(name) | Call(name, (Name(),)) if name not in _FOLDS:
            lowest, highest = bounds.get(name, (None, None))
            return -math.inf if lowest is None else lowest, math.inf if highest is None else highest
        case Call(name, arguments):
            ranges = [_range(argument, bounds) for argument in arguments]
            fold = _FOLDS[name]
            return fold([low for low, _ in ranges]), fold([high for _, high in ranges])
        case Operation("-", (operand,)):
            low, high = _range(operand, bounds)
            return -high, -low
        case Operation(sign, (left, right)):
            return _combined(sign, _range(left, bounds), _range(right, bounds))
    return EVERY


def _combined(sign: str, a: Range, b: Range) -> Range:
    if sign == "/" and b[0] <= 0 <= b[1]:
        return EVERY
    ends = [_ARITHMETIC[sign](x, y) for x in a for y in b if not (sign == "*" and 0 in (x, y))]
    ends += [0.0] * (sign == "*" and 0 in (*a, *b))
    return EVERY if any(map(math.isnan, ends)) else (min(ends), max(ends))


def _range_text(bounds: Range) -> str:
    low, high = (_figure(bound) if math.isfinite(bound) else None for bound in bounds)
    if low is None or high is None:
        return f"{low} or more" if low is not None else f"{high} or less" if high is not None else "any number"
    return f"from {low} to {high}"


def _pair(node: Term) -> tuple[str, str]:
    match node:
        case Call(name, (Name(attack),)):
            return name, attack
    raise ValueError(f"not a measure: {node}")


def _unit(node: Term, clocked: Collection[str]) -> int | None:
    """Seconds to which power a number is, None where it is a sum of several."""
    inner = [_unit(child, clocked) for child in ([] if _is_measure(node) else _children(node))]
    match node:
        case Call(name) if name not in _FOLDS:
            return int(name in clocked)
        case Operation("*" | "/" as sign, _):
            first, second = inner
            return None if first is None or second is None else first + second if sign == "*" else first - second
    return 0 if not inner else inner[0] if len(set(inner)) == 1 else None


def _alone(node: Term) -> Iterator[str]:
    if isinstance(node, Name):
        yield node.name
    for child in () if _is_measure(node) else _children(node):
        yield from _alone(child)


def _of_an_attack(name: str, measures: Sequence[str], attacks: Sequence[str]) -> str:
    """The remedy for a measure, or an attack, that stands alone."""
    if name in attacks and name not in measures:
        return f"write a measure of it: {measures[0]}({name})"
    near = get_close_matches(name, measures, 1)
    measure = near[0] if near else measures[0]
    first, *rest = attacks or ["word"]
    return f"write {measure}({first})" + (f", or with another attack: {', '.join(rest)}" if rest else "")


def _require_shallow(root: Term) -> None:
    """So that every recursion over the tree below stays far from Python's own bound."""
    level: list[Term] = [root]
    for _ in range(DEEPEST):
        level = [child for node in level for child in _children(node)]
    if level:
        raise DecloakError(f"an expectation nested deeper than {DEEPEST} levels", hint="write it flatter")


def _children(node: Term) -> tuple[Term, ...]:
    match node:
        case Operation(_, operands):
            return operands
        case Call(_, arguments) | Share(arguments):
            return arguments
    return ()


def _require_logic(node: Term) -> None:
    match node:
        case Operation(sign, operands) if sign in _JUNCTIONS:
            for operand in operands:
                _require_logic(operand)
        case Operation(sign, operands) if sign in _COMPARE:
            for operand in operands:
                _require_number(operand)
        case _:
            raise DecloakError(f"{quote(_text(node))} compares nothing", hint="write such as precision(rba) > 0.8")


def _require_number(node: Term) -> None:
    match node:
        case Number() | Name():  # what a name lacks can be told when the measures and attacks are known
            return
        case Call(name, arguments) if name in _FOLDS:
            if len(arguments) < 2:
                raise DecloakError(f"{name} takes at least 2 values", hint=f"write {name}(f(rba), f(gba))")
            for argument in arguments:
                _require_number(argument)
        case Call("percent", (Number(),)):
            return
        case Call(name, arguments):
            _require_label(name, arguments)
        case Operation(sign, operands) if sign in _ARITHMETIC:
            for operand in operands:
                _require_number(operand)
        case _:
            raise DecloakError(f"{quote(_text(node))} is no number", hint="join comparisons by and, or, not")


def _require_label(measure: str, arguments: tuple[Term, ...]) -> None:
    if len(arguments) != 1 or not isinstance(arguments[0], Name):
        inside = ", ".join(map(_text, arguments))
        raise DecloakError(
            f"{quote(f'{measure}({inside})')} does not name one attack",
            hint=f"write {measure}(rba); an attack whose label is no plain word needs one: {{rule: ..., as: word}}",
        )


def _number(node: Term, values: MeasuredValues) -> float | None:
    match node:
        case Number(value):
            return value
        case Call(name, arguments) if name in _FOLDS:
            numbers = [_number(argument, values) for argument in arguments]
            defined = [number for number in numbers if number is not None]
            return _FOLDS[name](defined) if len(defined) == len(numbers) else None
        case Percent(value):
            return value / 100
        case Share((Name(name),)):
            return _finite(values.get((f"{name}%", "")))
        case Share((figure,)):
            name, attack = _pair(figure)
            return _finite(values.get((f"{name}%", attack)))
        case Call():
            return _finite(values.get(_pair(node)))
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
    return _finite(_ARITHMETIC[sign](a, b))


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _logic(node: Term, values: MeasuredValues) -> bool | None:
    match node:
        case Operation("not", (operand,)):
            verdict = _logic(operand, values)
            return None if verdict is None else not verdict
        case Operation("and" | "or" as sign, operands):
            verdicts = [_logic(operand, values) for operand in operands]
            # One true decides an or, one false an and, whatever the undefined ones would have been.
            decisive = sign == "or"
            return decisive if decisive in verdicts else (None if None in verdicts else not decisive)
        case Operation(sign, (left, right)):
            sides = _number(left, values), _number(right, values)
            return None if None in sides else _COMPARE[sign](operator.sub(*sides))
    raise ValueError(f"nothing that holds or does not: {node}")


def _with_values(node: Term, values: MeasuredValues) -> str:
    """The text, with every side of a comparison that is not a plain number followed by its value."""
    match node:
        case Operation(sign, (left, right)) if sign in _COMPARE:
            return f"{_side(left, values)} {sign} {_side(right, values)}"
        case Operation("not", (operand,)):
            return f"not {_bracketed(_with_values(operand, values), operand, 'not')}"
        case Operation(sign, operands):
            return f" {sign} ".join(_bracketed(_with_values(operand, values), operand, sign) for operand in operands)
    raise ValueError(f"nothing that holds or does not: {node}")


def _side(node: Term, values: MeasuredValues) -> str:
    if not any(map(_is_measured, walk(node))):
        return _text(node)
    number = _number(node, values)
    shared = number is not None and any(isinstance(part, Share) for part in walk(node))
    return f"{_text(node)} = {_figure(100 * number) + '%' if shared and number is not None else _figure(number)}"


def _figure(number: float | None) -> str:
    if number is None:
        return "undefined"
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else f"{number:.6g}"


def _text(node: Term) -> str:
    match node:
        case Number(value):
            return _figure(value)
        case Percent(value):
            return f"{_figure(value)}%"
        case Share((figure,)):
            return _text(figure)
        case Name(name):
            return name
        case Call(name, arguments):
            return f"{name}({', '.join(map(_text, arguments))})"
        case Operation("-", (operand,)):
            return "-" + _bracketed(_text(operand), operand, "*", 1)
        case Operation("not", (operand,)):
            return f"not {_bracketed(_text(operand), operand, 'not')}"
        case Operation(sign, (first, *rest)):
            tighter = sign in _ARITHMETIC  # a - (b - c)
            right = [_bracketed(_text(operand), operand, sign, tighter) for operand in rest]
            return f" {sign} ".join([_bracketed(_text(first), first, sign), *right])
    raise ValueError(f"no text for {node}")


def _bracketed(text: str, node: Term, outer: str, tighter: int = 0) -> str:
    """The text of an operand, in brackets when its own sign binds less than the one around it."""
    if isinstance(node, Operation) and (len(node.operands) > 1 or node.sign == "not"):
        return f"({text})" if _BINDING[node.sign] < _BINDING[outer] + tighter else text
    return text
