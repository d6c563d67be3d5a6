"""The rule form `claims`: claims that hold in every data set with the published supports."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from decloak.errors import DecloakError, quote
from decloak.rules.certain_claims import candidate_groups, certain_claims
from decloak.rules.model import RuleModel, Settings, Sql
from decloak.rules.operators.attacker_view import AttackerView
from decloak.rules.operators.operator import DerivedFacts, Operator, RuleOf
from decloak.store.sandbox import Derived, Sandbox

__all__ = ["CLAIMS", "ClaimsRule"]

SEARCHED = "{} of {:,} groups of {} items were searched for certain claims: those with the smallest cells"
CONTRADICTORY = "the supports of {} groups contradict each other, as rounded supports do, so nothing is certain of them"


class ClaimsRule(RuleModel):
    """Content of a claims rule file."""

    form: Literal["claims"]
    of: Sql = Field(description="SELECT giving the supports: set, support and item, whose item is null without items")
    least: Sql = Field(description="SELECT giving k: claims are about 1 to k - 1 records")
    size: int = Field(4, ge=1, le=5, description="how many items a group has")
    groups: int = Field(200, ge=1, le=10_000, description="how many groups are searched")


@dataclass(frozen=True)
class CertainClaims(DerivedFacts):
    """Certain claims, with notes on the extent of the search."""

    notes: tuple[str, ...] = ()
    idle: str | None = None

    @property
    def idle_reason(self) -> str | None:
        return self.idle


_Rule = RuleOf[ClaimsRule, None, CertainClaims]


class ClaimsOperator(Operator[ClaimsRule, None, CertainClaims]):
    """The form of rules that solve integer programs over the cells of itemsets."""

    model = ClaimsRule
    columns = ("has", "lacks", "least", "most")

    def compile(self, rule: _Rule, sandbox: Sandbox) -> None:
        rule.require("of", sandbox.columns(rule.model.of, rule.place("of")), ("set_number", "support", "item"))
        rule.require("least", sandbox.columns(rule.model.least, rule.place("least")), ("k",))

    def run(self, rule: _Rule, view: AttackerView, settings: Settings) -> CertainClaims:
        supports = _supports(rule, view.sandbox)
        if not any(supports):
            return CertainClaims(rule.derives, (), idle="this release has no itemset table")
        columns, rows = view.sandbox.select(rule.model.least, rule.place("least"))
        k = _whole(rows[0][columns.index("k")] if rows else None, "k", rule.place("least"))
        if frozenset() not in supports:
            raise DecloakError("the claims get no number of records", rule.place("of"), "give a set whose item is null")
        groups, compared = candidate_groups(supports, rule.model.size, rule.model.groups)
        searched = certain_claims(supports, groups, k)
        notes = [] if len(groups) == compared else [SEARCHED.format(len(groups), compared, rule.model.size)]
        if searched.contradictory:
            notes.append(CONTRADICTORY.format(searched.contradictory))
        facts = [
            Derived(1, (", ".join(claim.has), ", ".join(claim.lacks), claim.least, claim.most))
            for claim in searched.claims
        ]
        return CertainClaims(rule.derives, facts, tuple(notes))


def _supports(rule: _Rule, sandbox: Sandbox) -> dict[frozenset[str], int]:
    """Return the support of each published itemset."""
    columns, rows = sandbox.select(rule.model.of, rule.place("of"))
    number, support, item = (columns.index(name) for name in ("set_number", "support", "item"))
    items: dict[object, set[str]] = {}
    counts: dict[object, int] = {}
    for row in rows:
        held = items.setdefault(row[number], set())
        if row[item] is not None:
            held.add(str(row[item]))
        counts[row[number]] = _whole(row[support], "support", rule.place("of"))
    return {frozenset(items[one]): counts[one] for one in items}


def _whole(value: object, name: str, place: str) -> int:
    """Return `value`, which the SELECT at `place` gives as `name`; raise an error unless it is a whole number."""
    if not isinstance(value, int):
        raise DecloakError(f"the claims get {quote(value)} as {name}", place, "give a whole number")
    return value


CLAIMS = ClaimsOperator()
