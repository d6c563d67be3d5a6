"""What a rule file says, checked against the store it will read: what it derives, its SQL, its choices."""

import re
from collections.abc import Mapping, Sequence

from decloak.errors import DecloakError, nearest, shown
from decloak.rules.eliminate.strategy import Strategy
from decloak.rules.model import AnyRule, EliminateRule, ItemsetsRule, QueryRule, ReassociateRule
from decloak.rules.reassociate.strategy import Reassociation
from decloak.store.derivation import LAST_ROUND, THIS_ROUND, make_steps
from decloak.store.relations import RELATIONS, Derives
from decloak.store.sandbox import Sandbox
from decloak.yaml.source import Source

__all__ = ["derives_of", "reassociation_of", "strategy_of"]

OWN = {
    "eliminate": ("table", "row", "col", "round"),
    "reassociate": ("cluster", "chunk", "unit", "row"),
    "itemsets": ("itemset", "size", "support"),
}
"""What the rules of a form derive, under their own name; a query says itself what it derives."""


def derives_of(model: AnyRule, source: Source) -> Derives:
    """The relation a rule derives; refused when others have it, or its columns."""
    if not isinstance(model, QueryRule):
        return Derives(model.rule, OWN[model.form])
    match = _DERIVES.match(model.derives)
    if match is None:
        raise source.error(
            ("derives",),
            f"cannot read {shown(model.derives)}",
            "write a name and its columns: cover(cluster, item)",
        )
    columns = tuple(column.strip() for column in match[2].split(","))
    taken = match[1] in RELATIONS or match[1] == LAST_ROUND
    if taken or len(set(columns)) < len(columns) or {"round", "finding", "run"} & set(columns):
        problem = "is a relation of the store" if taken else "repeats a column, or uses round, finding or run"
        raise source.error(("derives",), f"{shown(model.derives)} {problem}", "choose other names")
    return Derives(match[1], columns)


def strategy_of(sandbox: Sandbox, model: AnyRule, derives: Derives, source: Source) -> Strategy | None:
    """Check the SQL of a rule; what comes of it for one that eliminates."""
    if isinstance(model, QueryRule):
        _check_query(sandbox, model, derives, source)
    elif isinstance(model, EliminateRule):
        return _check_eliminate(sandbox, model, source)
    elif isinstance(model, ItemsetsRule):
        _expect_columns(sandbox.columns(model.of, source.place(("of",))), ("set", "item"), source, "of")
    return None


def _check_query(sandbox: Sandbox, model: QueryRule, derives: Derives, source: Source) -> None:
    places = {name: source.place(("let", name)) for name in model.let}
    reserved = {LAST_ROUND, THIS_ROUND, derives.name} if model.repeat is not None else set()
    for name in (*model.let, *model.evidence):
        if name in RELATIONS and name in model.let:
            raise source.error(("let", name), f"{shown(name)} is a relation of the store", "choose another name")
        if name in reserved and name in model.let:
            raise source.error(("let", name), f"{shown(name)} is what rounds go by", "choose another name")
        if name not in model.let:
            hint = nearest(name, model.let) or "name a step of let:"
            raise source.error(("evidence",), f"no step named {shown(name)}", hint)
    make_steps(sandbox, model.let, places)
    if model.repeat is not None:
        sandbox.fill(derives.name, derives.columns, ())
        sandbox.fill(LAST_ROUND, derives.columns, ())
    parts: Mapping[str, str | None] = {"facts": model.facts, "start": model.start, "repeat": model.repeat}
    for part, sql in parts.items():
        if sql is not None:
            try:
                found = sandbox.columns(sql, source.place((part,)))
            except DecloakError as error:
                if f"no such table: {derives.name}" in error.message:
                    hint = "write start: and repeat: for a rule that reads what it derives"
                    raise source.error((part,), f"the rule reads itself: {derives.name}", hint) from None
                raise
            _expect_columns(found, derives.columns, source, part)


def _expect_columns(found: Sequence[str], expected: Sequence[str], source: Source, part: str) -> None:
    missing = [column for column in expected if column not in found]
    if missing:
        hint = f"select ... as {missing[0]}; it gives {', '.join(map(shown, found))}"
        raise source.error((part,), f"the SQL gives no column {shown(missing[0])}", hint)


def _check_eliminate(sandbox: Sandbox, model: EliminateRule, source: Source) -> Strategy:
    found = sandbox.columns(model.cells, source.place(("cells",)))
    _expect_columns(found, ("table", "row", "col", "d"), source, "cells")
    further = [column for column in found if column not in ("table", "row", "col", "d")]
    return Strategy.build(
        weigh=str(model.weigh),
        redistribute=model.redistribute,
        groups=tuple(model.groups),
        suspicion=str(model.suspicion),
        threshold=None if model.threshold == "none" else str(model.threshold),
        strike=model.strike,
        columns=further,
        places={
            key: source.place((key,)) for key in ("weigh", "redistribute", "groups", "suspicion", "threshold", "strike")
        },
    )


def reassociation_of(model: ReassociateRule, source: Source) -> Reassociation:
    """Check the choices of a rule that reassociates."""
    keys = ("units", "combine", "give", "match", "consistent")
    return Reassociation.build(
        units=model.units,
        combine=model.combine,
        give=model.give,
        match=model.match,
        consistent=model.consistent,
        places={key: source.place((key,)) for key in keys},
    )


_DERIVES = re.compile(r"^([a-z][a-z0-9_]{0,40})\(([a-z][a-z0-9_]*(?:, *[a-z][a-z0-9_]*)*)\)$")
