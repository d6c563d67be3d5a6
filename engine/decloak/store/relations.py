"""The relations a rule may read, and the columns they have.

Each is a view of the store narrowed to one release and one scoring, so a rule needs no filter and cannot look
elsewhere. Nothing here reads a truth_ table or an original data set.

Each table in them is asked for a column that is no rowid, if only by a condition that holds always: of a table whose
rowid alone is read, SQLite forgets that a view of ours did the reading, and the sandbox would refuse it.
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

__all__ = ["RELATIONS", "STRIKES", "Derives", "Relation", "Scope", "lent", "owners"]


class Relation(NamedTuple):
    columns: tuple[str, ...]
    sql: str
    meaning: str


class Derives(NamedTuple):
    """The relation a rule gives to others."""

    name: str
    columns: tuple[str, ...]


STRIKES = frozenset({"txn", "generalised", "item"})
"""The columns of a relation whose facts say that an item is not what is meant by a generalised one in a transaction."""


class Scope(NamedTuple):
    """What a rule is let loose on: numbers of rows in the store."""

    release: int
    dataset: int
    scoring: int | None = None
    attacker: int | None = None
    auxiliary: int | None = None
    """The data set that the attacker has beside the release."""
    relatedness: int | None = None
    """The measure that the scoring goes by."""

    @property
    def owners(self) -> dict[str, tuple[int, ...]]:
        """What a rule may read of that is bulky, by what it is of."""
        numbers = {
            "dataset": (self.dataset, self.auxiliary),
            "scoring": (self.scoring,),
            "relatedness": (self.relatedness,),
        }
        return {owner: tuple(n for n in of if n is not None) for owner, of in numbers.items()}

    def narrow(self, sql: str) -> str:
        """Put the numbers into a relation's SQL; they are integers of ours, so this is no injection."""
        return sql.format(
            release=int(self.release),
            dataset=int(self.dataset),
            scoring=int(self.scoring or 0),
            attacker=int(self.attacker or 0),
            auxiliary=int(self.auxiliary or 0),
        )


RELATIONS: dict[str, Relation] = {
    "distance": Relation(
        ("table", "row", "col", "d"),
        'select t.number as "table", c.row, c.col, c.d from main.distance_table t '
        "join main.cell c on c.distance_table = t.id where t.scoring = {scoring}",
        "cells of the distance tables; d is null where there is no score",
    ),
    "distance_row": Relation(
        ("table", "row", "txn"),
        'select t.number as "table", r.row, r.txn from main.distance_table t '
        "join main.distance_row r on r.distance_table = t.id where t.scoring = {scoring}",
        "the transaction of each row of a distance table",
    ),
    "distance_col": Relation(
        ("table", "col", "item"),
        'select t.number as "table", k.col, k.item from main.distance_table t '
        "join main.distance_col k on k.distance_table = t.id where t.scoring = {scoring}",
        "the member of each column of a distance table",
    ),
    "context": Relation(
        ("table", "row", "item"),
        'select t.number as "table", x.row, x.item from main.distance_table t '
        "join main.context x on x.distance_table = t.id where t.scoring = {scoring}",
        "the context items of each row of a distance table",
    ),
    "related": Relation(
        ("a", "b", "score"),
        "select e.a, e.b, e.score from main.related e join main.scoring s "
        "on s.relatedness = e.relatedness where s.id = {scoring}",
        "how far apart two items are; null where the source gives no score",
    ),
    "item": Relation(
        ("item", "name"),
        "select id as item, name from main.item where +name >= '' and id in ("
        "select c.item from main.contains c join main.txn t on t.id = c.txn where t.dataset = {dataset} "
        "union select m.item from main.member_of m join main.generalised g on g.id = m.generalised "
        "where g.release = {release} "
        "union select h.item from main.cluster l join main.chunk k on k.cluster = l.id "
        "join main.shows h on h.chunk = k.id where l.release = {release} "
        "union select h.item from main.joint j join main.chunk k on k.joint = j.id "
        "join main.shows h on h.chunk = k.id where j.release = {release})",
        "the names of the items that the release shows",
    ),
    "txn": Relation(
        ("txn", "position", "label"),
        "select id as txn, position, label from main.txn where dataset = {dataset}",
        "the published transactions",
    ),
    "contains": Relation(
        ("txn", "position", "item"),
        "select c.txn, c.position, c.item from main.contains c join main.txn t on t.id = c.txn "
        "where t.dataset = {dataset}",
        "the plain items of the published transactions",
    ),
    "published_as": Relation(
        ("txn", "position", "generalised"),
        "select p.txn, p.position, p.generalised from main.published_as p join main.txn t on t.id = p.txn "
        "where t.dataset = {dataset}",
        "the generalised items of the published transactions",
    ),
    "shown": Relation(
        ("txn", "position", "label"),
        "select c.txn, c.position, i.name as label from main.contains c join main.txn t on t.id = c.txn "
        "join main.item i on i.id = c.item where t.dataset = {dataset} and +i.name >= '' union all "
        "select p.txn, p.position, g.label from main.published_as p join main.txn t on t.id = p.txn "
        "join main.generalised g on g.id = p.generalised where t.dataset = {dataset} and +g.label >= ''",
        "what the published transactions show, by name: plain items and generalised ones alike",
    ),
    "member_of": Relation(
        ("generalised", "position", "item"),
        "select m.generalised, m.position, m.item from main.member_of m join main.generalised g "
        "on g.id = m.generalised where g.release = {release}",
        "the members of the generalised items",
    ),
    "auxiliary": Relation(
        ("line", "label", "position", "item"),
        "select t.position as line, t.label, c.position, c.item from main.contains c join main.txn t on t.id = c.txn "
        "where t.dataset = {auxiliary}",
        "the items of what the attacker has beside the release, transactions in the order of its file",
    ),
    "cluster": Relation(
        ("cluster", "size"),
        "select number as cluster, size from main.cluster where release = {release}",
        "the clusters of a disassociated release",
    ),
    "subrecord_item": Relation(
        ("cluster", "chunk", "subrecord", "item"),
        "select l.number as cluster, k.number as chunk, s.number as subrecord, h.item from main.cluster l "
        "join main.chunk k on k.cluster = l.id join main.subrecord s on s.chunk = k.id "
        "join main.has_item h on h.subrecord = s.id where l.release = {release} and k.kind = 'record'",
        "the items of the sub-records of the record chunks of a disassociated release",
    ),
    "term": Relation(
        ("cluster", "item"),
        "select l.number as cluster, h.item from main.cluster l join main.chunk k on k.cluster = l.id "
        "join main.shows h on h.chunk = k.id where l.release = {release} and k.kind = 'term'",
        "the items of the term chunks of a disassociated release",
    ),
    "knows": Relation(
        ("itemset", "item"),
        "select k.id as itemset, w.item from main.knowledge k join main.knows w on w.knowledge = k.id "
        "where k.attacker = {attacker}",
        "the itemsets an attacker knows; none for the strong attacker, who knows every pair",
    ),
    "attacker": Relation(
        ("model",),
        "select model from main.attacker where id = {attacker} and model >= ''",
        "the model of the attacker of disassociated data, one row",
    ),
}
"""By name."""

_BULKY = {
    "txn": "dataset", "contains": "dataset", "published_as": "dataset", "cell": "scoring", "context": "scoring",
    "related": "relatedness",
}  # fmt: skip
"""Tables whose rows are made of arrays and may not be there yet, and what owns those."""
_TABLE = re.compile(r"\bmain\.(\w+)")


def owners(scope: Scope, relations: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """What must have rows where rules are to read relations: numbers by what they are of."""
    behind = {
        _BULKY.get(table) for name in relations if name in RELATIONS for table in _TABLE.findall(RELATIONS[name].sql)
    }
    return {owner: numbers for owner, numbers in scope.owners.items() if owner in behind}


def lent(sql: str, tables: Collection[str], prefix: str) -> str:
    """A relation's SQL where some tables are to be read from others, whose names begin so."""
    return _TABLE.sub(lambda match: f"{prefix}{match[1]}" if match[1] in tables else match[0], sql)
