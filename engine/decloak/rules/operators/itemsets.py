"""itemsets: count the supports of itemsets, and find those that are too rare."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

from decloak.data.dataset import Dataset
from decloak.data.rows import CodedRows, Coding, Numbers
from decloak.errors import DecloakError
from decloak.rules.model import RuleModel, Settings, Sql
from decloak.rules.operators.operator import DerivedFacts, Operator, RuleOf, Sight
from decloak.store.derivation import Derived
from decloak.store.sandbox import Sandbox

__all__ = ["ITEMSETS", "ItemsetsRule"]

_SHOWN = 'select txn as "set", label as item from shown'
"""The relation that whoever has the release in memory need not ask the attacker's database for."""


class ItemsetsRule(RuleModel):
    """Count the supports of itemsets."""

    form: Literal["itemsets"]
    of: Sql = Field(description="SELECT giving the number of a set and an item of it: set, item")
    size: str = Field(pattern=r"^1\.\.(m|[1-9])$", description="how many items: 1..m")
    support: str = Field(pattern=r"^1\.\.(k-1|[1-9][0-9]*)$", description="in how many sets: 1..k-1")
    report: Literal["minimal", "all", "count"] = Field("minimal", description="which of them are findings")


@dataclass(frozen=True)
class Rare(DerivedFacts):
    """The itemsets that are too rare among so many sets."""

    sets: int

    @property
    def idle(self) -> str | None:
        return None if self.sets else "no set has an item, so there was nothing to count"


class ItemsetsOperator(Operator[ItemsetsRule]):
    """A rule goes by k and m, which it may leave to the scenario."""

    model = ItemsetsRule
    columns = ("itemset", "size", "support")

    def compile(self, rule: RuleOf[ItemsetsRule], sandbox: Sandbox) -> None:
        rule.require("of", sandbox.columns(rule.model.of, rule.place("of")), ("set", "item"))

    def heeds(self, rule: RuleOf[ItemsetsRule]) -> frozenset[str]:
        bounds = {"k": rule.model.support, "m": rule.model.size}
        return frozenset(name for name, text in bounds.items() if name in text)

    def asked(self, rule: RuleOf[ItemsetsRule], sight: Sight) -> frozenset[str]:
        return rule.reads - ({"shown"} if _is_shown(rule) and sight.shown() is not None else frozenset())

    def carried(self, rule: RuleOf[ItemsetsRule], sight: Sight) -> Mapping[str, Any] | None:
        shown = sight.shown() if _is_shown(rule) else None
        return None if shown is None else {"shown": shown}

    def run(self, rule: RuleOf[ItemsetsRule], sight: Sight, settings: Settings) -> Rare:
        from decloak.counting.guarantees import RareSets  # it imports scipy.sparse, which rules are listed without

        k, m = _bound(rule, rule.model.support, "k", settings.k), _bound(rule, rule.model.size, "m", settings.m)
        sets = _sets(rule, sight)
        filled = int(np.count_nonzero(sets.rows.lengths))
        rare = RareSets(sets, k, m)
        if rule.model.report == "count":
            # One finding stands for many itemsets: millions of them would fill the store and explain nothing.
            counts = sorted(rare.counts().items())
            return Rare(rule.derives, [Derived(1, (str(n), *key)) for key, n in counts], filled)
        supports = rare.first(None, minimal=rule.model.report == "minimal")
        rows = [(", ".join(sorted(itemset)), len(itemset), support) for itemset, support in supports]
        return Rare(rule.derives, [Derived(1, row) for row in rows], filled)


def _is_shown(rule: RuleOf[ItemsetsRule]) -> bool:
    return " ".join(rule.model.of.split()) == _SHOWN


def _sets(rule: RuleOf[ItemsetsRule], sight: Sight) -> Dataset:
    if _is_shown(rule) and (shown := sight.shown()) is not None:
        return shown
    columns, rows = sight.sandbox.stream(rule.model.of, rule.place("of"))
    number, item = columns.index("set"), columns.index("item")
    sets, items = Coding[Any](), Coding[str]()
    held = np.fromiter(((sets[row[number]], items[str(row[item])]) for row in rows), np.dtype((np.int32, 2)))
    order = np.argsort(held[:, 0], kind="stable")
    start = np.searchsorted(held[order, 0], np.arange(len(sets) + 1))
    return Dataset(CodedRows(start, held[order, 1], tuple(items)), Numbers(len(sets)))


def _bound(rule: RuleOf[ItemsetsRule], text: str, name: str, setting: int | None) -> int:
    """The upper end of `1..m` or `1..k-1`, as m or k."""
    last = text.removeprefix("1..")
    if last.isdigit():
        return int(last) + (name == "k")
    if setting is None:
        raise DecloakError(f"the rule {rule.name} needs {name}", hint="write with: {k: 3, m: 2} in the test")
    return setting


ITEMSETS = ItemsetsOperator()
