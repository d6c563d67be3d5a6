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
Eliminate = Literal["once", "all", "in_order", "heaviest", "random"]

GROUP_KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of groups; a step stores the index of its kind here."""

_COUNTED = frozenset({"row_left", "col_left"})
_STORED = frozenset({"row_weight", "col_weight"})
_SIZES = frozenset({"rows", "cols"})
_OWN = _COUNTED | _STORED | _SIZES | {"d"}


@dataclass(frozen=True)
class Strategy:
    """An elimination attack.

    >>> mda = Strategy.build(groups=["table"], suspicion="largest", eliminate="once")
    >>> mda.weigh.text, mda.threshold
    ('d', None)
    """

    weigh: Expression
    redistribute: Redistribute
    groups: tuple[Kind, ...]
    suspicion: Suspicion | Expression
    threshold: Expression | None
    eliminate: Eliminate

    @classmethod
    def build(
        cls,
        *,
        groups: Sequence[str],
        suspicion: str,
        eliminate: str,
        weigh: str = "d",
        redistribute: str = "none",
        threshold: str | None = None,
        columns: Collection[str] = (),
        places: Mapping[str, str] | None = None,
    ) -> "Strategy":
        """Check the choices and compile the formulas; return the strategy.

        `groups`, `suspicion`, `eliminate`, `weigh`, `redistribute` and `threshold` are as in the rule file. `columns`
        are the further ones that `weigh` may name; `places` has the location of each choice.
        """
        place = (places or {}).get
        kinds = tuple(check_choice(group, GROUP_KINDS, place("groups")) for group in groups)
        shared: Redistribute = check_choice(redistribute, get_args(Redistribute), place("redistribute"))
        eliminated: Eliminate = check_choice(eliminate, get_args(Eliminate), place("eliminate"))
        with with_location(place("suspicion")):
            suspected = _suspicion(suspicion)
        with with_location(place("weigh")):
            weight = _weigh(weigh, eliminated, columns)
        with with_location(place("threshold")):
            limit = _threshold(threshold)
        built = cls(weight, shared, kinds, suspected, limit, eliminated)
        for choice, message, hint in _contradictions(built):
            raise DecloakError(message, place(choice), hint)
        return built

    @property
    def further_columns(self) -> tuple[str, ...]:
        return tuple(sorted(self.weigh.names - _OWN))


def _weigh(text: str, eliminate: Eliminate, columns: Collection[str]) -> Expression:
    clash = sorted(_OWN.intersection(columns) - {"d"})
    if clash:
        raise DecloakError(f"the column {quote(clash[0])} has the name of a quantity of the attack", hint="rename it")
    if eliminate != "random":
        return Expression.build(text, cells=_OWN - _SIZES | set(columns), constants=_SIZES)
    if text != "d":
        raise DecloakError("a random attack ignores weights", hint="leave weigh out, or write eliminate: heaviest")
    return Expression.build("1", cells=())


def _suspicion(text: str) -> Suspicion | Expression:
    choices = get_args(Suspicion)
    if text in choices:
        return text  # type: ignore[return-value]
    # A single word is read as a choice, so that the error names the nearest choice.
    if text.isidentifier() and text not in ("w", "d"):
        check_choice(text, choices)
    return Expression.build(text, cells=("w", "d"), summary=True)


def _threshold(text: str | None) -> Expression | None:
    if text is None:
        return None
    return Expression.build(text, cells=("d", "w", "suspicion"), constants=_SIZES, summary=True)


def _contradictions(strategy: Strategy) -> Iterator[tuple[str, str, str]]:
    """Yield each contradiction between choices: the choice at fault, the problem, and the remedy."""
    groups, eliminate, names = strategy.groups, strategy.eliminate, strategy.weigh.names
    if not groups or len(set(groups)) < len(groups) or ("table" in groups and len(groups) > 1):
        yield "groups", "groups are the table, or rows, columns or both", "write [table], [row], [col] or [row, col]"
    if (strategy.suspicion == "random") != (eliminate == "random"):
        yield "suspicion", "suspicion: random and eliminate: random go together", "choose both or neither"
    if eliminate != "heaviest":
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
    eliminate = strategy.eliminate
    if strategy.groups != ("table",):
        yield (
            "groups",
            f"eliminate: {eliminate} is one pass over the whole table",
            "write groups: [table], or eliminate: heaviest",
        )
    if strategy.redistribute != "none":
        yield "redistribute", f"eliminate: {eliminate} weighs each cell once", "write none, or eliminate: heaviest"
    if eliminate == "random" and strategy.threshold is not None:
        yield "threshold", "a random attack has no threshold", "leave it out"
    if eliminate != "random" and strategy.suspicion != "largest":
        yield "suspicion", f"eliminate: {eliminate} takes the largest weight first", "write suspicion: largest"
