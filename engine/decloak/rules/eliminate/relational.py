"""Eliminate rules as SQL over the attacker's database.

An eliminate rule is a choice of keywords, and a compiled kernel carries it out. This module writes the attack that
the keywords mean as SQL, for readers and for tests: the kernel has to give the same eliminations.

The state of an attack is a relation `state`: one row for each member that is left, in each step. `start` makes step 0.
`repeat` reads the last step (`last_round`) and all steps so far (`state`) and makes the next one, until it gives no
rows. A row with `eliminated = 1` was eliminated in that step, one with `eliminated = 0` was tried and kept.
"""

from collections.abc import Mapping

from decloak.formula import Call, Name, Operation, Term, walk
from decloak.rules.eliminate.state import EPS
from decloak.rules.eliminate.strategy import Strategy
from decloak.rules.expression import Expression, is_aggregate, sql_text
from decloak.rules.model import RelationalForm
from decloak.store.relations import Derives

__all__ = ["elimination_form"]

_STATE = ("item_group", "row", "col", "d")
_GIVEN = {
    "draw": "draw(item_group, row, col, nth, heads) has the cells that a seed draws, in order, each with a fair coin.",
    "learned": "learned(item_group, row, col, added) has the probabilities that the rule learns from the release.",
}


def elimination_form(
    name: str, strategy: Strategy, cells: str, learns: bool = False, precision: float | None = None
) -> RelationalForm:
    """Write an eliminate rule as SQL; return the form.

    `name` is the name of the form, `strategy` the compiled rule, and `cells` the SQL of its cells. A rule that `learns`
    reads the relation `learned`, and eliminates down to an expected `precision`, if it has one. A rule that draws at
    random reads the relation `draw`.
    """
    given = "draw" if strategy.eliminate == "random" else "learned" if learns else None
    if given is not None:
        further = "g.nth, g.heads" if given == "draw" else "g.added"
        cells = f"select c.*, {further} from (\n{cells.strip()}\n) c left join {given} g using (item_group, row, col)"
    weigh = _Weight(strategy)
    steps = {
        "size": "select item_group, max(row) + 1 as rows, max(col) + 1 as cols "
        f"from (\n{cells.strip()}\n) group by item_group",
        "scored": _scored(weigh, cells),
        "threshold": _threshold(strategy, weigh) if precision is None else _threshold_for(precision),
    }
    start = (
        f"select {weigh.columns}, s.row_weight, s.col_weight, 0 as step, null as eliminated, t.threshold\n"
        "from scored s join threshold t on t.item_group = s.item_group"
    )
    return RelationalForm(
        Derives(name, ("item_group", "row", "col", "step")),
        steps,
        "select item_group, row, col, step from state where eliminated = 1",
        "step {step}: the member of column {col} was eliminated from row {row} of distance table {item_group}",
        Derives("state", (*weigh.carried, "row_weight", "col_weight", "step", "eliminated", "threshold")),
        start,
        _next_round(strategy, weigh) if strategy.eliminate == "heaviest" else _next_candidate(strategy, weigh),
        {} if given is None else {given: _GIVEN[given]},
    )


class _Weight:
    """The weight of a cell as SQL. Its aggregates are from the first state, which the state carries along."""

    def __init__(self, strategy: Strategy) -> None:
        weigh = strategy.weigh
        calls = dict.fromkeys(node for node in walk(weigh.tree) if isinstance(node, Call) and is_aggregate(node))
        named = {call: f"aggregate_{number}" for number, call in enumerate(calls, 1)}
        self.aggregates = {name: sql_text(call, {}, "partition by item_group") for call, name in named.items()}
        self.sql = sql_text(_replaced(weigh.tree, named), {}, None)
        self.further = ("nth", "heads") if strategy.eliminate == "random" else strategy.further_columns
        self.carried = (*_STATE, *self.further, *self.aggregates)
        self.columns = ", ".join(f"s.[{name}]" for name in self.carried)


def _replaced(node: Term, names: Mapping[Call, str]) -> Term:
    """Return a formula with its aggregates replaced by columns."""
    if isinstance(node, Call):
        if node in names:
            return Name(names[node])
        return Call(node.name, tuple(_replaced(argument, names) for argument in node.arguments))
    if isinstance(node, Operation):
        return Operation(node.sign, tuple(_replaced(operand, names) for operand in node.operands))
    return node


def _scored(weigh: _Weight, cells: str) -> str:
    """Return the SQL of the scored cells with what their weights read in the first state."""
    further = "".join(f", [{name}]" for name in weigh.further)
    # A window function may not read another one, so the aggregates are taken over a finished subquery.
    aggregates = "".join(f", {sql} as {name}" for name, sql in weigh.aggregates.items())
    return (
        f"select *{aggregates} from (\n"
        f"  select c.item_group, c.row, c.col, c.d{further}, z.rows, z.cols, z.cols as row_left, z.rows as col_left,\n"
        "    1.0 / z.cols as row_weight, 1.0 / z.rows as col_weight\n"
        f"  from (\n{cells.strip()}\n) c join size z on z.item_group = c.item_group\n"
        "  where c.d >= 0 and c.d < 9e999)"
    )


def _threshold(strategy: Strategy, weigh: _Weight) -> str:
    """Return the SQL of the threshold of each table, null where the rule has none."""
    formula = strategy.threshold
    if formula is None:
        return "select item_group, null as threshold from size"
    summary = formula.sql({"rows": "max(rows)", "cols": "max(cols)"})
    # Cells and groups are one list: an aggregate of one kind passes over the nulls of the other.
    groups = "\n  union all select item_group, rows, cols, null, null, suspicion from every_group"
    source = "select item_group, rows, cols, d, w, null as suspicion from weighed"
    return (
        f"with recursive weighed as materialized (select *, {weigh.sql} as w, null as threshold from scored),\n"
        f"{_groups(strategy)},\n{_every_group(strategy)}\n"
        f"select item_group, coalesce({summary}, 0) as threshold from (\n"
        f"  {source}{groups if 'suspicion' in formula.names else ''})\ngroup by item_group"
    )


def _threshold_for(precision: float) -> str:
    """Return the SQL of the least probability for which the eliminations together have an expected `precision`."""
    return (
        "with falling as (select added, avg(added) over (order by added desc rows unbounded preceding) as expected\n"
        "  from scored where added is not null)\n"
        f"select item_group, coalesce((select min(added) - {2 * EPS} from falling\n"
        f"  where expected >= {precision - EPS}), 1) as threshold from size"
    )


def _every_group(strategy: Strategy) -> str:
    """Return a step with all groups of the table: also those without a scored cell, which count in a mean."""
    without_gap = "0" if strategy.suspicion == "largest_gap" else "null"
    sides = {"row": (0, "i < z.rows"), "col": (1, "i < z.cols"), "table": (2, "i = 0")}
    kinds = "\n    union all ".join(
        f"select z.*, {kind} as kind, i as id from size z join number on {within}"
        for kind, within in (sides[name] for name in strategy.groups)
    )
    return (
        "number(i) as (\n"
        "  select 0 union all select i + 1 from number where i + 1 < (select max(max(rows, cols)) from size)),\n"
        f"every_group as (\n  select g.*, coalesce(s.suspicion, {without_gap}) as suspicion from (\n    {kinds}) g\n"
        "  left join suspected s on s.item_group = g.item_group and s.kind = g.kind and s.id = g.id)"
    )


def _groups(strategy: Strategy) -> str:
    """Return two steps: `member`, the cells of each group, and `suspected`, the suspicion of each group."""
    columns = "row, col, w, d, row_left, col_left, threshold"
    sides = {
        "row": "0 as kind, row as id, col",
        "col": "1 as kind, col as id, row",
        "table": "2 as kind, 0 as id, row * cols + col",
    }
    members = "\n  union all ".join(
        f"select item_group, {sides[name]} as idx, {columns} from weighed where w is not null"
        for name in strategy.groups
    )
    source = "member"
    if strategy.suspicion == "largest_gap":
        suspicion = "coalesce(max(gap), 0)"
        source = (
            "(\n  select *, w - lag(w) over (partition by item_group, kind, id order by w, idx) as gap from member)"
        )
    elif isinstance(strategy.suspicion, Expression):
        suspicion = strategy.suspicion.sql()
    else:
        suspicion = "max(w)"
    return (
        f"member as materialized (\n  {members}),\n"
        f"suspected as materialized (\n"
        f"  select item_group, kind, id, {suspicion} as suspicion from {source} group by item_group, kind, id)"
    )


def _remaining(weigh: _Weight) -> str:
    """Return two steps: the cells that are left with what is left of their rows and columns, and their weights."""
    gone = "(select count(*) from state e where e.item_group = s.item_group and e.{0} = s.{0} and e.eliminated = 1)"
    return (
        "remaining as materialized (\n"
        f"  select s.*, z.rows, z.cols, z.cols - {gone.format('row')} as row_left,\n"
        f"    z.rows - {gone.format('col')} as col_left\n"
        "  from last_round s join size z on z.item_group = s.item_group where s.eliminated is null),\n"
        f"weighed as materialized (select *, {weigh.sql} as w from remaining)"
    )


_EXCEEDS = f"(s.threshold is null or {{}} > s.threshold + {EPS})"
_MAY_GO = "row_left >= 2 and col_left >= 2"


def _next_candidate(strategy: Strategy, weigh: _Weight) -> str:
    """Return the SQL of the next step of a rule that goes once over the table: the next cell is tried."""
    orders = {"in_order": "s.row, s.col", "random": "s.nth"}
    order = orders.get(strategy.eliminate, f"s.w < s.top - {EPS}, s.row, s.col")
    more = {"once": " and s.step = 0", "random": " and s.nth is not null"}.get(strategy.eliminate, "")
    return (
        f"with {_remaining(weigh)},\n"
        "tried as (\n"
        f"  select s.*, row_number() over (partition by s.item_group order by {order}) as turn from (\n"
        "    select *, max(w) over (partition by item_group) as top from weighed where w is not null) s\n"
        f"  where {_EXCEEDS.format('s.w')}{more})\n"
        f"{_next_state(strategy, weigh)}"
    )


def _next_round(strategy: Strategy, weigh: _Weight) -> str:
    """Return the SQL of the next step of a rule that goes in rounds: the heaviest cell of a group is eliminated."""
    whole = strategy.groups == ("table",)
    # Of the whole table the heaviest eligible cell goes. A row or column is skipped where its heaviest cell may not go.
    eligible = f" where {_MAY_GO}" if whole else ""
    suspicion = "h.top" if whole and strategy.suspicion == "largest" else "g.suspicion"
    inherit = strategy.redistribute == "lower_cluster"
    return (
        f"with {_remaining(weigh)},\n{_groups(strategy)},\n"
        "heaviest as materialized (\n"
        "  select *, row_number() over (partition by item_group, kind, id order by idx) as place from (\n"
        f"    select *, max(w) over (partition by item_group, kind, id) as top from member{eligible})\n"
        f"  where w >= top - {EPS}),\n"
        "candidate as materialized (\n"
        f"  select h.*, {suspicion} as suspicion, max({suspicion}) over (partition by h.item_group) as most\n"
        "  from heaviest h join suspected g on g.item_group = h.item_group and g.kind = h.kind and g.id = h.id\n"
        f"  where place = 1 and {_MAY_GO} and {suspicion} is not null),\n"
        "tried as materialized (\n"
        "  select * from (\n"
        "    select *, row_number() over (partition by item_group order by kind, id) as turn from candidate\n"
        f"    where suspicion >= most - {EPS}) s\n"
        f"  where turn = 1 and {_EXCEEDS.format('s.suspicion')})"
        f"{_HEIRS if inherit else ''}\n"
        f"{_next_state(strategy, weigh)}"
    )


_HEIRS = f""",
line as materialized (
  select 0 as kind, s.*, s.col as idx, s.col = t.col as chosen, s.row_weight as weight
  from weighed s join tried t on t.item_group = s.item_group and t.row = s.row where s.w is not null
  union all select 1, s.*, s.row, s.row = t.row, s.col_weight
  from weighed s join tried t on t.item_group = s.item_group and t.col = s.col where s.w is not null),
spaced as materialized (
  select *, w - lag(w) over (partition by alone, item_group, kind order by w, idx) as gap,
    row_number() over (partition by alone, item_group, kind order by w, idx) as rank
  from (select 0 as alone, * from line union all select 1, * from line where not chosen)),
widest as (select alone, item_group, kind, max(gap) as gap from spaced group by alone, item_group, kind),
cut as (
  select s.alone, s.item_group, s.kind, min(s.rank) as rank
  from spaced s join widest g on g.alone = s.alone and g.item_group = s.item_group and g.kind = s.kind
  where g.gap > {EPS} and s.gap >= g.gap - {EPS} group by s.alone, s.item_group, s.kind),
heir as materialized (
  select s.* from spaced s left join cut c on c.alone = s.alone and c.item_group = s.item_group and c.kind = s.kind
  where not s.chosen and (c.rank is null or s.rank < c.rank)),
shared as (select alone, item_group, kind, count(*) as heirs from heir group by alone, item_group, kind),
gain as materialized (
  select h.item_group, h.kind, h.row, h.col, e.weight / n.heirs as weight
  from heir h join shared n on n.alone = h.alone and n.item_group = h.item_group and n.kind = h.kind
  join line e on e.item_group = h.item_group and e.kind = h.kind and e.chosen
  where h.alone = (select min(alone) from shared m where m.item_group = h.item_group and m.kind = h.kind))"""
"""The steps that share the weight of the eliminated cell among the lower cluster of its row and of its column. If the
cell is `alone` in that cluster, they share it among the lower cluster of the line without the cell.
"""


def _next_state(strategy: Strategy, weigh: _Weight) -> str:
    """Return the SQL that writes the next state: the cells of `weighed`, the one of `tried` eliminated or kept."""
    weights, joins = "s.row_weight, s.col_weight", ""
    goes = "t.row_left >= 2 and t.col_left >= 2" + (" and s.heads" if strategy.eliminate == "random" else "")
    if strategy.redistribute == "lower_cluster":
        weights = (
            "s.row_weight + coalesce(r.weight, 0) as row_weight, s.col_weight + coalesce(c.weight, 0) as col_weight"
        )
        joins = "".join(
            f"\nleft join gain {name} on {name}.kind = {kind} and {name}.item_group = s.item_group "
            f"and {name}.row = s.row and {name}.col = s.col"
            for kind, name in enumerate("rc")
        )
    return (
        f"select {weigh.columns}, {weights}, s.step + 1 as step,\n"
        f"  case when s.row = t.row and s.col = t.col then {goes} end as eliminated,\n"
        "  s.threshold\n"
        f"from weighed s join tried t on t.item_group = s.item_group and t.turn = 1{joins}"
    )
