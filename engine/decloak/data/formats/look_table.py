"""What a table with a row of names above it is: a row for every item, or a column for every item."""

import itertools
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
)  # fmt: skip
from decloak.data.formats.record import Options
from decloak.errors import shown

__all__ = ["Guess", "long", "onehot", "separators_within"]

PLAIN = Options()
_MARKED = {"true", "false", "t", "f", "yes", "no", "y", "n", "x", "", "0", "1", "0.0", "1.0", "?"}
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


def onehot(rows: Rows) -> Guess | None:
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


def long(rows: Rows) -> Guess | None:
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
    found = Guess("long", Options(transaction=head[transaction], item=head[choices[0]]))
    if transaction not in again:
        found = found.doubting("no id comes again: perhaps an id and a list", *_lists([row[1] for row in below]))
    others = [(at, item) for at in repeated for item in choices if (at, item) != (transaction, choices[0])]
    if others:
        named_so = tuple(("long", Options(transaction=head[at], item=head[item])) for at, item in others)
        return found.doubting("several columns may hold the ids or the items", *named_so)
    return found


def _are_numbers(at: int, rows: Rows) -> bool:
    """Whether a column has whole numbers below its name."""
    return not is_whole(rows[0][at]) and all(is_whole(row[at]) for row in rows[1:])


def _differs(at: int, transaction: int, rows: Rows) -> bool:
    """Whether a column has several values for one id: the name or the age of a person has one."""
    first: dict[str, str] = {}
    return any(first.setdefault(row[transaction], row[at]) != row[at] for row in rows)


def _lists(values: Sequence[str]) -> list[tuple[str, Options]]:
    """What else the values behind ids may be: one item each, or lists by what separates some of them."""
    return [("basket", Options(ids=True, header=True, within=mark)) for mark in (*separators_within(values), None)]


def separators_within(values: Sequence[str]) -> list[str]:
    """What may separate names inside some of the values."""
    return [mark for mark in INNER if any(mark in value.strip() for value in values)]


def _headless(rows: Rows) -> Guess | None:
    """Two columns, the first of ids that come again one below the other."""
    one_each = list({row[0]: list(row) for row in rows}.values())
    follows = sum(row[0] == after[0] for row, after in itertools.pairwise(rows))
    if not 0 < len(rows) - len(one_each) <= follows:
        return None
    ids = ids_of_rows(one_each)
    found = Guess("long", problem="a row an item without a header: write the line tid,item above it")
    if ids.there and ids.sure and len(rows) >= NEARLY * FEWEST:
        return found
    return Guess("basket").doubting("each line may be an id and one item", ("long", Options()))
