"""The rule form `itemsets`: count the supports of itemsets, and find the rare ones."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from decloak.data.dataset import Dataset
from decloak.data.rows import CodedRows, Coding, RowLabels
from decloak.errors import DecloakError
from decloak.rules.model import RuleModel, Settings, Sql
from decloak.rules.operators.attacker_view import AttackerView, PortableInputs
from decloak.rules.operators.operator import DerivedFacts, Operator, RuleOf, RuleTraits, Value
from decloak.store.sandbox import Derived, Sandbox

_SHOWN = "select txn as set_number, label as item from shown"
"""SQL of the published records: a view that has them in memory needs no query for it."""


class ItemsetsRule(RuleModel):
    """Content of an itemsets rule file."""

    form: Literal["itemsets"]
    of: Sql = Field(description="SELECT giving the number of a set and an item of it: set_number, item")
    size: str = Field(pattern=r"^1\.\.(m|[1-9])$", description="how many items: 1..m")
    support: str = Field(pattern=r"^1\.\.(k-1|[1-9][0-9]*)$", description="in how many sets: 1..k-1")
    report: Literal["minimal", "all", "count"] = Field("minimal", description="which of them are findings")


@dataclass(frozen=True)
class _RareItemsets(DerivedFacts):
    """Itemsets whose support is too low, among `sets` sets that have an item."""

    sets: int

    @property
    def idle_reason(self) -> str | None:
        return None if self.sets else "every set is empty"


_Rule = RuleOf[ItemsetsRule, None, _RareItemsets]


class ItemsetsOperator(Operator[ItemsetsRule, None, _RareItemsets]):
    """The form of rules that count itemsets, by a k and an m that the rule may leave to the scenario."""

    model = ItemsetsRule
    columns = ("itemset", "size", "support")

    def compile(self, rule: _Rule, sandbox: Sandbox) -> None:
        rule.require("of", sandbox.columns(rule.model.of, rule.place("of")), ("set_number", "item"))

    def traits(self, rule: _Rule) -> RuleTraits:
        bounds = {"k": rule.model.support, "m": rule.model.size}
        return RuleTraits(accepted_settings=frozenset(name for name, text in bounds.items() if name in text))

    def relations_read(self, rule: _Rule, view: AttackerView) -> frozenset[str]:
        return rule.reads - ({"shown"} if _selects_records(rule) and view.transactions() is not None else frozenset())

    def portable_inputs(self, rule: _Rule, view: AttackerView) -> PortableInputs | None:
        transactions = view.transactions() if _selects_records(rule) else None
        return None if transactions is None else {"transactions": transactions}

    def run(self, rule: _Rule, view: AttackerView, settings: Settings) -> _RareItemsets:
        from decloak.counting.violations import RareSets  # it imports scipy.sparse, which rules are listed without

        k, m = _bound(rule, rule.model.support, "k", settings.k), _bound(rule, rule.model.size, "m", settings.m)
        sets = _sets(rule, view)
        # Empty sets support no itemset; with no other sets there is nothing to count.
        filled = int(np.count_nonzero(sets.rows.lengths))
        rare = RareSets(sets, k, m)
        if rule.model.report == "count":
            # One finding stands for many itemsets: millions of them would fill the store and explain nothing.
            counts = sorted(rare.counts().items())
            return _RareItemsets(rule.derives, [Derived(1, (str(n), *key)) for key, n in counts], filled)
        supports = rare.first(None, minimal=rule.model.report == "minimal")
        rows = [(", ".join(sorted(itemset)), len(itemset), support) for itemset, support in supports]
        return _RareItemsets(rule.derives, [Derived(1, row) for row in rows], filled)


def _selects_records(rule: _Rule) -> bool:
    return " ".join(rule.model.of.split()) == _SHOWN


def _sets(rule: _Rule, view: AttackerView) -> Dataset:
    if _selects_records(rule) and (transactions := view.transactions()) is not None:
        return transactions
    columns, rows = view.sandbox.stream(rule.model.of, rule.place("of"))
    number, item = columns.index("set_number"), columns.index("item")
    # Numbers of sets and items are small and dense, as the counting kernels need them.
    sets, items = Coding[Value](), Coding[str]()
    held = np.fromiter(((sets[row[number]], items[str(row[item])]) for row in rows), np.dtype((np.int32, 2)))
    order = np.argsort(held[:, 0], kind="stable")
    start = np.searchsorted(held[order, 0], np.arange(len(sets) + 1))
    return Dataset(CodedRows(start, held[order, 1], tuple(items)), RowLabels(len(sets)))


def _bound(rule: _Rule, text: str, name: str, setting: int | None) -> int:
    """Return the upper end of `1..m` or `1..k-1`, as m or k."""
    last = text.removeprefix("1..")
    if last.isdigit():
        # A support of 1..4 is below a k of 5.
        return int(last) + (name == "k")
    if setting is None:
        raise DecloakError(f"the rule {rule.name} needs {name}", hint="write with: {k: 3, m: 2} in the test")
    return setting


ITEMSETS = ItemsetsOperator()
