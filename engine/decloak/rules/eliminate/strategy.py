"""The six choices of an elimination attack, and which of them go together.

Names that a formula may use. `weigh`: d (distance), row_left, col_left (items left in the row, in the column),
row_weight, col_weight (weights that eliminated cells pass on), rows, cols (the size of the table), and further columns
of the rule's cells. `suspicion`: w and d of a group's cells, aggregated. `threshold`: d and w of all scored cells and
suspicion of all groups, aggregated, rows and cols.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from decloak.errors import DecloakError, quote
from decloak.rules.expression import Expression
from decloak.rules.model import check_choice, with_location

__all__ = ["GROUP_KINDS", "Strategy"]

Kind = Literal["table", "row", "col"]
Redistribute = Literal["none", "all", "lower_cluster"]
Suspicion = Literal["largest", "largest_gap", "random"]
Strike = Literal["once", "all", "in_order", "heaviest", "coin"]

GROUP_KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of groups; a step stores the index of its kind here."""

_COUNTED = frozenset({"row_left", "col_left"})
_STORED = frozenset({"row_weight", "col_weight"})
_SIZES = frozenset({"rows", "cols"})
_OWN = _COUNTED | _STORED | _SIZES | {"d"}


@dataclass(frozen=True)
class Strategy:
    """An elimination attack.

    >>> mda = Strategy.build(groups=["table"], suspicion="largest", strike="once")
    >>> mda.weigh.text, mda.threshold
    ('d', None)
    """

    weigh: Expression
    redistribute: Redistribute
    groups: tuple[Kind, ...]
    suspicion: Suspicion | Expression
    threshold: Expression | None
    strike: Strike

    @classmethod
    def build(
        cls,
        *,
        groups: Sequence[str],
        suspicion: str,
        strike: str,
        weigh: str = "d",
        redistribute: str = "none",
        threshold: str | None = None,
        columns: Collection[str] = (),
        places: Mapping[str, str] | None = None,
    ) -> "Strategy":
        """Check the choices and compile the formulas; return the strategy.

        `groups`, `suspicion`, `strike`, `weigh`, `redistribute` and `threshold` are as in the rule file. `columns` are
        the further ones that `weigh` may name; `places` has the location of each choice.
        """
        place = (places or {}).get
        kinds = tuple(check_choice(group, GROUP_KINDS, place("groups")) for group in groups)
        shared: Redistribute = check_choice(redistribute, get_args(Redistribute), place("redistribute"))
        struck: Strike = check_choice(strike, get_args(Strike), place("strike"))
        with with_location(place("suspicion")):
            suspected = _suspicion(suspicion)
        with with_location(place("weigh")):
            weight = _weigh(weigh, struck, columns)
        with with_location(place("threshold")):
            limit = _threshold(threshold)
        built = cls(weight, shared, kinds, suspected, limit, struck)
        for choice, message, hint in _contradictions(built):
            raise DecloakError(message, place(choice), hint)
        return built

    @property
    def further_columns(self) -> tuple[str, ...]:
        return tuple(sorted(self.weigh.names - _OWN))


def _weigh(text: str, strike: Strike, columns: Collection[str]) -> Expression:
    clash = sorted(_OWN.intersection(columns) - {"d"})
    if clash:
        raise DecloakError(f"the column {quote(clash[0])} has the name of a quantity of the attack", hint="rename it")
    if strike != "coin":
        return Expression.build(text, cells=_OWN - _SIZES | set(columns), constants=_SIZES)
    if text != "d":
        raise DecloakError("a coin takes no notice of weights", hint="leave weigh out, or strike the heaviest")
    return Expression.build("1", cells=())


def _suspicion(text: str) -> Suspicion | Expression:
    choices = get_args(Suspicion)
    if text in choices:
        return text  # type: ignore[return-value]
    # A single word is meant as a choice, so that the error names the nearest choice.
    if text.isidentifier() and text not in ("w", "d"):
        check_choice(text, choices)
    return Expression.build(text, cells=("w", "d"), summary=True)


def _threshold(text: str | None) -> Expression | None:
    if text is None:
        return None
    return Expression.build(text, cells=("d", "w", "suspicion"), constants=_SIZES, summary=True)


def _contradictions(strategy: Strategy) -> Iterator[tuple[str, str, str]]:
    """Yield each contradiction between choices: the choice at fault, the problem, and the remedy."""
    groups, strike, names = strategy.groups, strategy.strike, strategy.weigh.names
    if not groups or len(set(groups)) < len(groups) or ("table" in groups and len(groups) > 1):
        yield "groups", "groups are the table, or rows, columns or both", "write [table], [row], [col] or [row, col]"
    if (strategy.suspicion == "random") != (strike == "coin"):
        yield "suspicion", "suspicion random and strike coin go together", "choose both or neither"
    if strike != "heaviest":
        yield from _one_pass_contradictions(strategy)
    shared = {"all": _COUNTED, "lower_cluster": _STORED}
    for way, quantities in shared.items():
        if names & quantities and strategy.redistribute != way:
            read = min(names & quantities)
            yield "redistribute", f"weigh reads {read}, which only redistribute: {way} changes", f"write {way}"
    changed = shared.get(strategy.redistribute)
    if changed and not names & changed:
        message = f"redistribute: {strategy.redistribute} changes {' or '.join(sorted(changed))}"
        yield "weigh", f"{message}, which weigh does not read", "name one, or write none"


def _one_pass_contradictions(strategy: Strategy) -> Iterator[tuple[str, str, str]]:
    strike = strategy.strike
    if strategy.groups != ("table",):
        yield "groups", f"strike {strike} goes once over the table", "write groups: [table], or strike: heaviest"
    if strategy.redistribute != "none":
        yield "redistribute", f"strike {strike} never weighs again", "write none, or strike: heaviest"
    if strike == "coin" and strategy.threshold is not None:
        yield "threshold", "a coin has no threshold", "leave it out"
    if strike != "coin" and strategy.suspicion != "largest":
        yield "suspicion", f"strike {strike} goes by the largest weight", "write suspicion: largest"
