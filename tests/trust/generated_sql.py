"""SELECTs of every shape over every name of a store, and rules that have them in every part."""

import random
from collections.abc import Sequence

from decloak.store.documentation import schema_tables
from decloak.store.relations import RELATIONS

COLUMNS = {one.name: tuple(column.name for column in one.columns) for one in schema_tables()}
COLUMNS |= {name: relation.columns for name, relation in RELATIONS.items()}
COLUMNS |= {
    "sqlite_master": ("type", "name", "tbl_name", "rootpage", "sql"),
    "sqlite_temp_master": ("type", "name", "tbl_name", "rootpage", "sql"),
    "pragma_database_list": ("seq", "name", "file"),
    "pragma_table_list": ("schema", "name", "type", "ncol"),
    "found_misplaced": ("finding", "txn", "generalised", "item"),
    "last_round": ("txn", "original"),
}
"""The columns of what a rule may name, and of what it may not."""
TRUTH = sorted(name for name in COLUMNS if name.startswith("truth_"))
JOINS = (
    *("natural join", "natural left join", "natural full join", "natural right join", "natural inner join"),
    *("join", "left join", "full join", "right join", "cross join", "inner join", "left outer join", ","),
)
WHOLE = ("natural full join", "natural right join", "natural join", "full join", "right join")
"""Those by which a select without rows brings all rows of a table to light."""
SHAPES = ("{}", "{}", "{}", "{}", "main.{}", "temp.{}", '"{}"', "[{}]", "{} as txn", "{} as a", "{} as truth_cell")
PARTS = ("let", "facts", "start", "repeat", "notes", "cells", "of", "supports", "least")
"""The places of SQL in rules of every form."""


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


class Generated:
    """One SELECT after another, of random choices."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._named = 0
        self._names: list[str] = []

    def select(self, columns: Sequence[str]) -> str:
        """Return a SELECT that gives some columns."""
        rng = self._rng
        self._names = sorted(rng.choice((RELATIONS, COLUMNS)))
        ctes: dict[str, tuple[str, ...]] = {}
        texts = []
        for _ in range(rng.choice((0, 0, 0, 1, 2))):
            name = rng.choice(("c1", "c2", rng.choice(self._names)))
            if name not in ctes:
                source, inner = self._source(2, ctes)
                given = tuple(column.strip('"') for column in inner[:4])
                listed = ", ".join(self._value(inner) for _ in given)
                texts.append(f"{name}({_listed(given)}) as (select {listed} from {source})")
                ctes[name] = given
        source, inner = self._source(3, ctes)
        given_as = ", ".join(f'{self._value(inner)} as "{column}"' for column in columns)
        sql = f"select {given_as} from {source}{self._tail(inner)}"
        if rng.random() < 0.15:
            other, within = self._source(1, ctes)
            word = rng.choice(("union", "union all", "except", "intersect"))
            values = ", ".join(self._value(within) for _ in columns)
            sql = f"select {given_as} from {source} {word} select {values} from {other}"
        return (f"with {', '.join(texts)} " if texts else "") + sql

    def _tail(self, inner: Sequence[str]) -> str:
        rng = self._rng
        tail = ""
        if rng.random() < 0.2:
            tail += f" where {self._condition(inner)}"
        if rng.random() < 0.1:
            tail += f" group by {self._value(inner)}"
        if rng.random() < 0.1:
            tail += " order by 1"
        return tail + rng.choice(("", "", " limit 50"))

    def _condition(self, inner: Sequence[str]) -> str:
        rng = self._rng
        name = rng.choice(self._names)
        column = rng.choice(COLUMNS[name])
        value = rng.choice(list(inner))
        joined = f"{self._nothing(name)} natural full join {name}"
        return rng.choice((
            f"{value} is not null", f"exists (select 1 from {name})", f'{value} in (select "{column}" from {name})',
            f'exists (select 1 from {joined} where "{column}" = {value})',
            f"(select count(*) from {name} natural join {rng.choice(self._names)}) > 0",
        ))  # fmt: skip

    def _value(self, inner: Sequence[str]) -> str:
        rng = self._rng
        column, name = rng.choice(list(inner)), rng.choice(self._names)
        first, other = COLUMNS[name][0], rng.choice(COLUMNS[name])
        return rng.choice((
            *([column] * 30), "count(*)", f"max({column})", f"'said ' || {column}", "1",
            f'(select "{other}" from {self._nothing(name)} natural full join {name} limit 1)',
            f'(select group_concat("{first}") from {name})',
        ))  # fmt: skip

    def _source(self, depth: int, ctes: dict[str, tuple[str, ...]]) -> tuple[str, list[str]]:
        """Return what stands behind FROM, and the columns that it gives, as they are written."""
        rng = self._rng
        left, columns = self._one(depth, ctes)
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            right, more = self._one(depth, ctes)
            if rng.random() < 0.35:  # all columns of a table are joined ones: SQLite asks nobody about them
                hidden = [name for name in self._names if name in TRUTH]
                name = rng.choice((rng.choice(hidden or self._names), rng.choice(self._names)))
                left, columns = self._nothing(name), [f'"{column}"' for column in COLUMNS[name]]
                right, more = rng.choice((name, f"main.{name}", f"{name} as t")), columns
                join = rng.choice(
                    ("natural full join", "natural right join", "full join", "right join", "natural join")
                )
            else:
                join = rng.choice(JOINS)
            shared = [column for column in columns if column in more and "." not in column]
            if join.startswith("natural") or join == "," or "cross" in join:
                left = f"{left} {join} {right}"
            elif shared and rng.random() < 0.8:
                left = f"{left} {join} {right} using ({', '.join(dict.fromkeys(shared))})"
            else:
                left = f"{left} {join} {right} on {rng.choice(('1', '0', '1 = 1'))}"
            columns = list(dict.fromkeys([*columns, *more]))
        return left, columns

    def _one(self, depth: int, ctes: dict[str, tuple[str, ...]]) -> tuple[str, list[str]]:
        rng = self._rng
        if depth and rng.random() < 0.25:
            source, columns = self._source(depth - 1, ctes)
            chosen = rng.sample(columns, min(len(columns), 3))
            self._named += 1
            return f"(select {', '.join(chosen)} from {source}) s{self._named}", chosen
        if ctes and rng.random() < 0.3:
            name = rng.choice(sorted(ctes))
            return name, [f'"{column}"' for column in ctes[name]]
        name = rng.choice(sorted(RELATIONS) if rng.random() < 0.6 else self._names)
        columns = [f'"{column}"' for column in COLUMNS[name]]
        if rng.random() < 0.1:
            return self._nothing(name), columns
        shapes = (
            "{}",
            "{}",
            "{}",
            "{}",
            "main.{}",
            "temp.{}",
            '"{}"',
            "[{}]",
            "{} as txn",
            "{} as a",
            "{} as truth_cell",
        )
        return rng.choice(shapes).format(name), columns

    def _nothing(self, name: str) -> str:
        """Return a select that gives the columns of a table and no row."""
        nulls = ", ".join(f'null as "{column}"' for column in COLUMNS[name])
        return f"(select {nulls} where 0)"

    def rule(self, part: str, relation: str) -> str:
        """Return the text of a rule that has a SELECT in one of its parts."""
        head, tail = "rule: generated\nabout: all\n", "because: found\nreference: ours\nwrong_when: never\n"
        if part == "cells":
            sql = "select 0 as item_group, row_number() over () - 1 as row, 0 as col, 1.0 * length(x) as d"
            sql += f" from ({self.select(['x'])})"
            shape = "groups: [table]\nsuspicion: largest\neliminate: all\n"
            return f"{head}form: eliminate\ncells: |\n  {sql}\n{shape}{tail}"
        if part == "of":
            shape = "size: 1..2\nsupport: 1..2\n"
            return f"{head}form: itemsets\nof: |\n  {self.select(['set_number', 'item'])}\n{shape}{tail}"
        if part in ("supports", "least"):
            supports = "select 1 as set_number, 5 as support, 'milk' as item union all select 2, 3, null"
            least = "select 3 as k"
            # A claim needs whole numbers, which most columns are not.
            if part == "supports":
                supports = "select set_number, {} as support, item from ({})".format(
                    self._rng.choice(("length(support)", "length(support)", "support")),
                    self.select(["set_number", "support", "item"]),
                )
            else:
                least = f"select {self._rng.choice(('length(k)', 'k'))} as k from ({self.select(['k'])})"
            shape = f"of: |\n  {supports}\nleast: |\n  {least}\nsize: 2\ngroups: 5\n"
            return f"{head}form: claims\n{shape}{tail}"
        head += f"form: query\nderives: {relation}(a, b)\n"
        plain = "select txn as a, 0 as b from txn where position < 2"
        facts = {"facts": plain}
        if part in ("start", "repeat"):
            facts = {"start": plain, "repeat": "select a, b + 1 as b from last_round where b < 2"}
        if part == "let":
            facts = {"facts": "select * from step"}
            head += f"let:\n  step: |\n    {self.select(['a', 'b'])}\n"
        elif part == "notes":
            facts["notes"] = self.select(["said"])
        else:
            facts[part] = self.select(["a", "b"])
        return head + "".join(f"{key}: |\n  {sql}\n" for key, sql in facts.items()) + tail
