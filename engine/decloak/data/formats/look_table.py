"""What rows of names are: lists, or a table with a row or a column for every item; and what is not sure of that."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from decloak.data.formats.look_evidence import (
    FEWEST,
    ID_WORDS,
    INNER,
    ITEM_WORDS,
    NEARLY,
    Rows,
    header_of_rows,
    ids_of_rows,
    is_whole,
    matches,
    may_be_header,
    nearly_unique,
    nested,
)  # fmt: skip
from decloak.data.formats.record import Options
from decloak.errors import shown

__all__ = ["Guess", "guess_rows"]

PLAIN = Options()
_MARKED = {"true", "false", "t", "f", "yes", "no", "y", "n", "x", "", "0", "1", "0.0", "1.0", "0,0", "1,0", "?"}
"""What stands in tables of marks that are not 0 and 1."""


@dataclass(frozen=True)
class Guess:
    """A format and its options; alternatives where it is not sure, and why; what must be mended first."""

    format: str
    options: Options = PLAIN
    unsure: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, Options], ...] = ()
    problem: str | None = None

    def doubting(self, why: str, *alternatives: tuple[str, Options]) -> "Guess":
        """The same with a doubt more."""
        return replace(self, unsure=(*self.unsure, why), alternatives=(*self.alternatives, *alternatives))

    def with_ids(self, rows: Rows) -> "Guess":
        """The same, with ids where the rows begin with some."""
        ids = ids_of_rows(rows)
        options = self.options._replace(ids=ids.there)
        if ids.sure or (not ids.there and len(rows) < 2):
            return replace(self, options=options)
        why = f"the first name of each line may be {'no id' if ids.there else 'its id'}"
        return replace(self, options=options).doubting(why, (self.format, options._replace(ids=not ids.there)))

    def with_header(self, rows: Rows) -> "Guess":
        """The same, with a doubt where the first of all rows may be a header."""
        if self.options.header or not may_be_header(rows):
            return self
        behind = self.options._replace(header=True)
        without = Guess(self.format, behind._replace(ids=False)).with_ids(rows[1:])
        others = () if behind.within else ((self.format, without.options), *without.alternatives)
        return self.doubting("the first line may name the columns", (self.format, behind), *others)

    def with_lists(self, below: Rows) -> "Guess":
        """The same, with a doubt where every id has one value, and these may be lists."""
        if not self.options.ids or not nested(below):
            return self
        marks = _within([row[1] for row in below if len(row) > 1])
        lists = [(self.format, self.options._replace(within=mark)) for mark in marks]
        return self.doubting("the values behind the ids may be lists", *lists) if lists else self


def guess_rows(rows: Rows, name: str) -> Guess:
    """What the rows of a table or the values of lines are; `name` is the format of a list each row."""
    width = len(rows[0])
    constant = width > 1 and all(len(row) == width for row in rows)
    if constant and len(rows) > 1 and (table := _onehot(rows) or _long(rows)) is not None:
        return table
    header = header_of_rows(rows)
    below = rows[1:] if header else rows
    columns = f"every line has {width} values: perhaps the columns of a table, not a list"
    if header and matches(ID_WORDS, rows[0][0]) and nearly_unique([row[0] for row in below]):
        lists = Guess(name, Options(ids=True, header=True)).with_lists(below)
        return lists if width == 2 or not constant or _is_series(rows) else lists.doubting(columns)
    lists = Guess(name, Options(header=header)).with_ids(below).with_lists(below).with_header(rows)
    if constant and (header or len(rows) >= FEWEST):
        return lists.doubting(columns, ("long", Options(transaction=rows[0][0], item=rows[0][1])))
    return lists


def _is_series(rows: Rows) -> bool:
    """Whether the columns behind the ids are of one kind: their names differ in a number alone."""
    return len({re.sub(r"\d+", "", cell).strip() for cell in rows[0][1:]}) == 1


def _onehot(rows: Rows) -> Guess | None:
    head, below = rows[0], rows[1:]
    if {"0", "1"}.issuperset(head):
        if len(rows) >= FEWEST and all({"0", "1"}.issuperset(row) for row in rows):
            return Guess("onehot", problem="0 and 1 without a header: write the names of the items above them")
        return None
    ids = not head[0].strip() or not all(row[0] in ("0", "1") for row in below)
    body = [row[int(ids) :] for row in below]
    if all({"0", "1"}.issuperset(row) for row in body) and body[0]:
        return Guess("onehot", Options(ids=ids))
    marks = {cell.lower() for row in body for cell in row}
    if body[0] and len(body[0]) > 1 and marks <= _MARKED and len(marks) <= 3 and marks & _MARKED - {""}:
        listed = ", ".join(sorted(map(shown, marks)))
        return Guess("onehot", Options(ids=ids), problem=f"a column an item, with {listed}: write 0 and 1 instead")
    return None


def _long(rows: Rows) -> Guess | None:
    """Rows of (transaction, item): the ids come again, below a header that names both."""
    head, below = [cell.strip() for cell in rows[0]], rows[1:]
    again = [at for at in range(len(head)) if len({row[at] for row in below}) < len(below)]
    numbered = _are_numbers(0, rows) and not all(_are_numbers(at, rows) for at in range(1, len(head)))
    named = [at for at, cell in enumerate(head) if matches(ID_WORDS, cell)] or [0] * numbered
    items = [at for at, cell in enumerate(head) if matches(ITEM_WORDS, cell) and at not in named[:1]]
    headed = header_of_rows(rows) or (bool(named and items) and len(set(head)) == len(head))
    if not headed:
        return _headless(rows) if len(head) == 2 else None
    repeated = [at for at in named if at in again] or named
    if named and len(head) > 2 and not set(named) & set(again):
        return None  # a row for every record
    if repeated and len(head) > 2:
        several = [at for at in range(len(head)) if at != repeated[0] and _differs(at, repeated[0], below)]
        items = [at for at in items if at in several] or (several if len(several) == 1 else items)
    if not repeated or (not items and len(head) > 2):
        if len(head) == 2 or not again:
            return None
        return Guess("long", problem="a table: say with --transaction and --item which columns hold the ids and items")
    transaction = repeated[0]
    choices = [at for at in items if at != transaction] or [1 - transaction]
    if transaction not in again and (len(head) > 2 or not items):
        return None
    columns = Guess("long", Options(transaction=head[transaction], item=head[choices[0]]))
    if transaction not in again:
        # One item each, or lists by what separates some of them.
        marks = (*_within([row[1] for row in below]), None)
        lists = [("basket", Options(ids=True, header=True, within=mark)) for mark in marks]
        columns = columns.doubting("no id comes again: perhaps an id and a list", *lists)
    others = [(at, item) for at in repeated for item in choices if (at, item) != (transaction, choices[0])]
    if others:
        named_so = tuple(("long", Options(transaction=head[at], item=head[item])) for at, item in others)
        return columns.doubting("several columns may hold the ids or the items", *named_so)
    return columns


def _are_numbers(at: int, rows: Rows) -> bool:
    """Whether a column has whole numbers below its name."""
    return not is_whole(rows[0][at]) and all(is_whole(row[at]) for row in rows[1:])


def _differs(at: int, transaction: int, rows: Rows) -> bool:
    """Whether a column has several values for one id: the name or the age of a person has one."""
    first: dict[str, str] = {}
    return any(first.setdefault(row[transaction], row[at]) != row[at] for row in rows)


def _within(values: Sequence[str]) -> list[str]:
    """What may separate names inside some of the values."""
    return [mark for mark in INNER if any(mark in value.strip() for value in values)]


def _headless(rows: Rows) -> Guess | None:
    """Two columns, the first of ids that come again one below the other."""
    one_each = list({row[0]: list(row) for row in rows}.values())
    follows = sum(row[0] == after[0] for row, after in itertools.pairwise(rows))
    if not 0 < len(rows) - len(one_each) <= follows:
        return None
    ids = ids_of_rows(one_each)
    if ids.there and ids.sure and len(rows) >= NEARLY * FEWEST:
        return Guess("long", problem="a row an item without a header: write the line tid,item above it")
    return Guess("basket").doubting("each line may be an id and one item", ("long", Options()))
