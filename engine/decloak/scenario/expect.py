"""Expectations: `precision(rba) > 0.8 and not exposed(gba) > 10`, judged in three values.

A figure may be undefined, which is None: for example precision without claims, or recall without originals. Arithmetic
and comparisons with None give None, and so do `and`, `or`, `not` unless the rest decides (Kleene's logic). Numbers
within EPSILON are equal, as they are everywhere in decloak.

A number with a percent sign is a share: compared with it, a count is divided by what it is counted of. A figure of
exposure, or of the release alone, needs no attack, `exposed_3 <= 1%`: it is that of the attack by which it is the
largest.
The signs ≤, ≥, ≠ and − are read as <=, >=, != and -.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from keyword import iskeyword

from decloak.errors import DecloakError, quote, suggest
from decloak.figures import new_name
from decloak.formula import Number, Operation, Term, parse, walk
from decloak.rules.load import rule_names
from decloak.scenario.expect_terms import (
    COMPARE,
    MeasuredValues,
    decided_by_bounds,
    evaluate_term,
    figure_and_attack,
    figures_in,
    is_figure,
    is_measure,
    names_alone,
    range_of,
    range_text,
    require_logic,
    require_shallow,
    term_text,
    text_with_values,
    unit_of,
    write_as_shares,
)

FEW = 20
"""Measures that an error lists."""
FIGURES = "`decloak show --help` lists the figures"
_SIGNS = str.maketrans({"≤": "<=", "≥": ">=", "≠": "!=", "−": "-"})
_ASSIGNS = re.compile(r"(?<![<>=!])=(?!=)")
_PERCENT = re.compile(r"(?<![\w.])((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*%(?=\s*(?:$|[),<>=!+*/-]|(?:and|or)\b))")
_VERDICTS = {True: "passed", False: "FAILED", None: "UNDEFINED"}


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
        """Return the expectation in `text`, an expression that compares measures of attacks."""
        plain = text.translate(_SIGNS)
        try:
            # To the parser % is an operator, so that a percentage is written as a call.
            root = parse(_PERCENT.sub(r"percent(\1)", plain), logic=True)
        except DecloakError as error:
            # An error with a remedy is about one term, and says more than the sentence below.
            if error.hint is not None:
                raise
            hint = "write == for equal" if _ASSIGNS.search(plain) else "write such as precision(rba) <= 50%"
            raise DecloakError(f"cannot read the expectation {quote(text)}", hint=hint) from None
        require_shallow(root)
        require_logic(root)
        root = write_as_shares(root)
        expectation = cls(text, root)
        if not expectation.measures() and not expectation.alone():
            raise DecloakError(f"{quote(text)} names no measure", hint="write such as precision(rba) > 0.8")
        return expectation

    def measures(self) -> tuple[tuple[str, str], ...]:
        """Return every (measure, attack) once, in the order of the text."""
        return tuple(dict.fromkeys(figure_and_attack(node) for node in walk(self.root) if is_measure(node)))

    def alone(self) -> tuple[str, ...]:
        """Return every figure without an attack once, in the order of the text."""
        return tuple(dict.fromkeys(names_alone(self.root)))

    def faults(
        self, measures: Iterable[str], attacks: Iterable[str], released: Collection[str] = ()
    ) -> Iterator[DecloakError]:
        """Yield an error for each figure that needs an attack and has none, and for each unknown measure or attack.

        `measures` and `attacks` are known; the first measure is an example. Figures in `released` need no attack.
        """
        measures, attacks = tuple(measures), tuple(dict.fromkeys(attacks))
        # No expression can name an attack whose label is not a word.
        plain = [attack for attack in attacks if attack.isidentifier() and not iskeyword(attack)]
        advice = "" if len(plain) == len(attacks) else "; name others by {rule: ..., as: word}"
        for name in (name for name in self.alone() if name not in released):
            renamed = None if name in (*measures, *attacks) else new_name(name, *plain[:1])
            hint = f"write {renamed}" if renamed else _of_an_attack(name, measures, plain) + advice
            yield DecloakError(f"{quote(name)} needs an attack", hint=hint)
        for measure, attack in self.measures():
            if measure not in measures:
                known = f"known here: {', '.join(measures)}" if len(measures) <= FEW else FIGURES
                renamed = new_name(measure, attack)
                hint = f"write {renamed}" if renamed else suggest(measure, measures) or known
                yield DecloakError(f"no measure {quote(measure)}", hint=hint)
            elif attack not in attacks and attack in rule_names():
                message = f"the expectation needs the attack {quote(attack)}, but the scenario runs only: "
                hint = f"add {attack} under attack, or change the expectation"
                yield DecloakError(f"{message}{', '.join(plain) or 'none'}", hint=hint)
            elif attack not in attacks:
                hint = suggest(attack, plain) or f"known here: {', '.join(plain) or 'none'}{advice}"
                yield DecloakError(f"no attack {quote(attack)}", hint=hint)

    def decided(self, bounds: Mapping[str, tuple[float | None, float | None]]) -> Iterator[DecloakError]:
        """Yield an error for each comparison that the `bounds` of its figures decide before anything is measured."""
        for node in walk(self.root):
            if isinstance(node, Operation) and node.sign in COMPARE and any(map(is_figure, walk(node))):
                always = decided_by_bounds(node, bounds)
                if always is not None:
                    figures = list(figures_in(node))
                    ranges = [f"{term_text(part)} is {range_text(range_of(part, bounds))}" for part in figures[:2]]
                    never = f"{quote(term_text(node))} can never {'fail' if always else 'hold'}"
                    message = f"{never}: {' and '.join(ranges)}"
                    yield DecloakError(message, hint="compare it with a number between, such as 0.5 or 50% for a share")

    def absolute(self, clocked: Collection[str]) -> Iterator[DecloakError]:
        """Yield an error for each comparison of seconds with another unit; `clocked` names the figures in seconds."""
        for node in walk(self.root):
            if isinstance(node, Operation) and node.sign in COMPARE:
                # Nothing is nothing on every machine.
                units = {unit_of(operand, clocked) for operand in node.operands if operand != Number(0)}
                if len(units) > 1 or None in units:
                    example = next(name for name, _ in self.measures() if name in clocked)
                    hint = f"compare seconds with seconds: {example}(rba) < 10 * {example}(tba)"
                    yield DecloakError(f"{quote(term_text(node))} depends on the machine", hint=hint)

    def evaluate(self, values: MeasuredValues) -> bool | None:
        """Return whether `values` meet the expectation, None if they do not decide it."""
        return evaluate_term(self.root, values)

    def explain(self, values: MeasuredValues) -> str:
        """Return the verdict by `values` with the text of the expectation and the values in it."""
        return f"{_VERDICTS[self.evaluate(values)]}: {text_with_values(self.root, values)}"

    def judged(
        self,
        means: MeasuredValues,
        counts: Mapping[tuple[str, str], int],
        times: int,
        shares: MeasuredValues = {},  # noqa: B006 (no code writes to it)
        controls: Collection[str] = (),
    ) -> tuple[bool | None, str]:
        """Judge the expectation by the `means` over as many repetitions as `times`; return the verdict and its reason.

        `counts` has the number of repetitions with each figure. A figure that some of them lack is undefined. `shares`
        has the shares of counts. A figure without an attack is not read from `controls`, which are no attacks.
        """
        of_attacks = {key: value for key, value in means.items() if key[1] not in controls}
        keys = {(name, ""): _of_release(name, of_attacks) for name in self.alone()}
        keys |= {key: key for key in self.measures()}
        # A mean over some of the repetitions would leave out those where the attack found nothing.
        whole = {asked: key for asked, key in keys.items() if counts.get(key) == times}
        values = {asked: means.get(key) for asked, key in whole.items()}
        values |= {(f"{name}%", attack): shares.get(key, means.get(key)) for (name, attack), key in whole.items()}
        text, fewest = self.explain(values), min((counts.get(key, 0) for key in keys.values()), default=0)
        if times > 1 and fewest:
            few = f"only {fewest} of {times} repetitions have a figure"
            text += f" ({f'mean of {times} repetitions' if fewest == times else few})"
        return self.evaluate(values), text


def _of_release(name: str, means: MeasuredValues) -> tuple[str, str]:
    """Return the key of a figure without an attack: the attack with the largest value."""
    known = [(value, key) for key, value in means.items() if key[0] == name and value is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else (name, "")


def _of_an_attack(name: str, measures: Sequence[str], attacks: Sequence[str]) -> str:
    """Return the remedy for a measure without an attack, or an attack without a measure."""
    if name in attacks and name not in measures:
        return f"write a measure of it: {measures[0]}({name})"
    near = get_close_matches(name, measures, 1)
    measure = near[0] if near else measures[0]
    first, *rest = attacks or ["word"]
    return f"write {measure}({first})" + (f", or with another attack: {', '.join(rest)}" if rest else "")
