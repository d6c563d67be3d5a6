"""Recognition of formats: lists, tables with a row or a column per item, and other formats; and the doubts about it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from decloak.data.formats.delimited import cells
from decloak.data.formats.lines import Line, json_value
from decloak.data.formats.look_check import mark_name
from decloak.data.formats.look_evidence import (
    FEWEST,
    HEADED,
    ID_WORDS,
    INNER,
    ITEM_WORDS,
    LINES,
    SEPARATORS,
    Rows,
    header_of_rows,
    ids_of_pairs,
    ids_of_rows,
    inner_of,
    is_whole,
    matches,
    may_be_header,
    nearly_unique,
    nested,
    rows_by,
    split_share,
)  # fmt: skip
from decloak.data.formats.published import parse_published
from decloak.data.formats.record import Options
from decloak.errors import DecloakError, quote

PLAIN = Options()
TITLES = 10
"""Lines above a table that may be titles, at most."""
_MARKED = {"true", "false", "t", "f", "yes", "no", "y", "n", "x", "", "0", "1", "0.0", "1.0", "0,0", "1,0", "?"}
"""Values of tables with marks other than 0 and 1."""


@dataclass(frozen=True)
class Guess:
    """A format and its options, the doubts, the alternatives, and a problem that must be fixed first."""

    format: str
    options: Options = PLAIN
    unsure: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, Options], ...] = ()
    problem: str | None = None
    header: tuple[str, ...] = ()
    """The names of the columns of a table of which only some are read."""

    def with_doubt(self, why: str, *alternatives: tuple[str, Options]) -> "Guess":
        """Return the guess with the further doubt `why` and its `alternatives`."""
        return replace(self, unsure=(*self.unsure, why), alternatives=(*self.alternatives, *alternatives))

    def with_ids(self, rows: Rows) -> "Guess":
        """Return the guess, with ids if `rows` begin with some."""
        ids = ids_of_rows(rows)
        options = self.options._replace(ids=ids.there)
        if ids.sure or (not ids.there and len(rows) < 2):
            return replace(self, options=options)
        why = f"the first name of each line may be {'no id' if ids.there else 'its id'}"
        return replace(self, options=options).with_doubt(why, (self.format, options._replace(ids=not ids.there)))

    def with_header(self, rows: Rows) -> "Guess":
        """Return the guess, with a doubt if the first of `rows` may be a header."""
        if self.options.header or not may_be_header(rows):
            return self
        headed = self.options._replace(header=True)
        without = Guess(self.format, headed._replace(ids=False)).with_ids(rows[1:])
        others = () if headed.within else ((self.format, without.options), *without.alternatives)
        return self.with_doubt("the first line may name the columns", (self.format, headed), *others)

    def with_lists(self, below: Rows) -> "Guess":
        """Return the guess, with a doubt if every id in the rows `below` the header has one value that may be a
        list.
        """
        if not self.options.ids or not nested(below):
            return self
        marks = _inner_separators([row[1] for row in below if len(row) > 1])
        lists = [(self.format, self.options._replace(within=mark)) for mark in marks]
        return self.with_doubt("the values behind the ids may be lists", *lists) if lists else self


def guess_rows(rows: Rows, name: str) -> Guess:
    """Return a guess for the `rows` of a table or the values of lines; `name` is the format of one list per row."""
    width = len(rows[0])
    constant = width > 1 and all(len(row) == width for row in rows)
    if constant and len(rows) > 1 and (table := _onehot(rows) or _long(rows)) is not None:
        return table
    header = header_of_rows(rows)
    below = rows[1:] if header else rows
    if constant and header and (table := _list_column(rows, name)) is not None:
        return table
    columns = f"every line has {width} values: perhaps the columns of a table, not a list"
    if header and matches(ID_WORDS, rows[0][0]) and nearly_unique([row[0] for row in below]):
        lists = Guess(name, Options(ids=True, header=True)).with_lists(below)
        return lists if width == 2 or not constant or _is_series(rows) else lists.with_doubt(columns)
    lists = Guess(name, Options(header=header)).with_ids(below).with_lists(below).with_header(rows)
    if constant and (header or len(rows) >= FEWEST):
        return lists.with_doubt(columns, ("long", Options(transaction=rows[0][0], item=rows[0][1])))
    return lists


def _list_column(rows: Rows, name: str) -> Guess | None:
    """Return a guess for a row per transaction: an id, one column of lists, and others with a single value each."""
    head, below = [cell.strip() for cell in rows[0]], rows[1:]
    if name != "basket" or len(head) < 3 or not (matches(ID_WORDS, head[0]) and nearly_unique([r[0] for r in below])):
        return None
    marks = {at: _inner_separators([row[at] for row in below]) for at in range(1, len(head))}
    # Blanks are tried last, so they come first only alone: then they are parts of names.
    lists = [at for at, found in marks.items() if found and found[0] != " "]
    if len(lists) != 1 or not matches(ITEM_WORDS, head[lists[0]]):
        return None
    options = Options(ids=True, header=True, within=marks[lists[0]][0], item=head[lists[0]])
    return Guess(name, options, header=tuple(head))


def _below_titles(lines: Sequence[Line]) -> Guess | None:
    """Return a guess for a table below a title; None if the first line is part of the table."""
    for mark in SEPARATORS:
        rows = rows_by(lines, mark)
        if rows is None or len(rows) != len(lines):
            continue
        filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
        start = next((at for at, cells in enumerate(filled) if cells > 1), 0)
        rest = rows[start:]
        if 0 < start <= TITLES and len(rest) > HEADED and len(set(map(len, rest))) == 1 and len(rest[0]) > 1:
            table = _separated_by(mark, guess_rows(rest, "basket"))
            if table.format == "long" or table.options.header:
                options = table.options._replace(header_row=lines[start].number)
                return replace(table, options=options)
    return None


def _with_ids_above(rows: Rows, at: int) -> Rows:
    """Return `rows` with the id above where the column `at` is empty, below a first row that has one."""
    filled, above = [list(rows[0])], ""
    for row in rows[1:]:
        above = row[at].strip() or above
        filled.append([*row[:at], above, *row[at + 1 :]])
    return filled


def _is_series(rows: Rows) -> bool:
    """Return True if the columns behind the ids are of one kind: their names differ only in a number."""
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
        listed = ", ".join(sorted(map(quote, marks)))
        return Guess("onehot", Options(ids=ids), problem=f"a column an item, with {listed}: write 0 and 1 instead")
    return None


def _long(rows: Rows) -> Guess | None:
    """Return a guess for rows of (record, item): ids repeat below a header that names both."""
    head = [cell.strip() for cell in rows[0]]
    gaps = next((at for at, cell in enumerate(head) if matches(ID_WORDS, cell) and _has_gaps(at, rows)), None)
    if gaps is not None:
        table = _long(_with_ids_above(rows, gaps))
        if table is None or table.problem is not None or table.options.transaction != head[gaps]:
            return None
        doubt = "some rows have no id, and seem to belong to the id above"
        return replace(table, options=table.options._replace(fill_down=True)).with_doubt(doubt)
    below = rows[1:]
    again = [at for at in range(len(head)) if len({row[at] for row in below}) < len(below)]
    # A column of numbers beside columns of words is probably the id.
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
    columns = Guess("long", Options(transaction=head[transaction], item=head[choices[0]]), header=tuple(head))
    if transaction not in again:
        # One item each, or lists by what separates some of them.
        marks = (*_inner_separators([row[1] for row in below]), None)
        lists = [("basket", Options(ids=True, header=True, within=mark)) for mark in marks]
        columns = columns.with_doubt("no id comes again: perhaps an id and a list", *lists)
    others = [(at, item) for at in repeated for item in choices if (at, item) != (transaction, choices[0])]
    if others:
        named_so = tuple(("long", Options(transaction=head[at], item=head[item])) for at, item in others)
        return columns.with_doubt("several columns may hold the ids or the items", *named_so)
    return columns


def _has_gaps(at: int, rows: Rows) -> bool:
    """Return True if the column `at` has values, the first below its name among them, and empty cells."""
    values = [row[at].strip() for row in rows[1:]]
    return bool(values and values[0]) and "" in values


def _are_numbers(at: int, rows: Rows) -> bool:
    """Return True if a column has integers below its name."""
    return not is_whole(rows[0][at]) and all(is_whole(row[at]) for row in rows[1:])


def _differs(at: int, transaction: int, rows: Rows) -> bool:
    """Return True if a column has several values for one id. The name or the age of a person has one."""
    first: dict[str, str] = {}
    return any(first.setdefault(row[transaction], row[at]) != row[at] for row in rows)


def _inner_separators(values: Sequence[str]) -> list[str]:
    """Return the characters that may separate names inside some of the values."""
    return [mark for mark in INNER if any(mark in value.strip() for value in values)]


def _headless(rows: Rows) -> Guess | None:
    """Return a guess for two columns without a header, the first with ids that repeat in consecutive rows."""
    ids = ids_of_pairs(rows)
    if ids is None:
        return None
    if ids == (True, True) and len(rows) >= FEWEST:
        return Guess("long", problem="a row an item without a header: write the line tid,item above it")
    return Guess("basket").with_doubt("each line may be an id and one item", ("long", Options()))


_SENTENCE = re.compile(r"[a-z][.!?](?:\s|$)")


def guess(lines: Sequence[Line]) -> Guess:
    """Return the most likely format of `lines`, with doubts and alternatives."""
    lines = [line for line in lines[:LINES] if line.text.strip()]
    if _is_spmf(lines):  # before the tests that split all lines by each separator
        return _numbers(lines)
    titled = _below_titles(lines)
    if titled is not None:
        return titled
    first = lines[0].text.lstrip()
    if first.startswith(("{", "[")):
        return _json(lines)
    if [name.strip().lower() for name in first.split("\t")[:2]] == ["anonid", "query"]:
        return Guess("searchlog")
    brackets = sum("(" in line.text and _opens(line) for line in lines)
    # A few brackets may be parts of names, unless the whole file reads as published.
    if 2 * brackets >= len(lines) or (brackets and _parses(lines)):
        return _published(lines)
    return _separated(lines)


def _json(lines: Sequence[Line]) -> Guess:
    try:
        value = json_value(lines[0], "")
    except DecloakError:
        return Guess("jsonl", problem="a JSON value over several lines: write each record on a line of its own")
    if isinstance(value, dict) and value.get("decloak") == "release":
        forms = {"disassociation": "disassociated", "itemsets": "itemset-table"}
        return Guess(forms.get(str(value.get("method")), "generalised"))
    if isinstance(value, dict) and "items" not in value:
        keys = ", ".join(map(quote, list(value)[:6]))
        remedy = "write id and items, or import it as text with the --field that holds some"
        return Guess("jsonl", problem=f"JSON objects with the keys {keys}: {remedy}")
    return Guess("jsonl", Options(ids=isinstance(value, dict) and "id" in value))


def _is_spmf(lines: Sequence[Line]) -> bool:
    """Return True if every line has integers separated by blanks, and some have several."""
    if any(line.text.startswith(("@CONVERTED_FROM_TEXT", "@ITEM=")) for line in lines[:2]):
        return True
    rows = [line.text.split() for line in lines if not line.text.startswith(("%", "#", "@"))]
    numbers = all(is_whole(word) or word in ("-1", "-2") for word in set(chain.from_iterable(rows)))
    return numbers and any(len(row) > 1 for row in rows) and not any("\t" in line.text for line in lines)


def _numbers(lines: Sequence[Line]) -> Guess:
    ids = ids_of_rows([line.text.split() for line in lines])
    if ids.sure and not ids.there:
        return Guess("spmf")
    return Guess("spmf").with_doubt("no first number comes twice: perhaps ids", ("basket", Options(True, " ")))


def _opens(line: Line) -> bool:
    try:
        return any(cell.text.startswith("(") and not cell.quoted for cell in cells(line))
    except DecloakError:
        return False


def _parses(lines: Sequence[Line]) -> bool:
    try:
        parse_published(lines, False)
    except DecloakError:
        return False
    return True


def _published(lines: Sequence[Line]) -> Guess:
    try:
        transactions, _ = parse_published(lines, False)
    except DecloakError as error:
        return Guess("published", problem=str(error))
    if not all(row and isinstance(row[0], str) for row in transactions):
        return Guess("published")
    rows = [[item if isinstance(item, str) else "()" for item in row] for row in transactions]
    return Guess("published").with_ids(rows)


def _separated(lines: Sequence[Line]) -> Guess:
    by = {mark: rows for mark in SEPARATORS if (rows := rows_by(lines, mark)) is not None}
    if not by:
        return Guess("basket", problem="quotes stand where none may: put whole names in quotes, and write theirs twice")
    words = sum(len(line.text.split()) for line in lines) / len(lines)
    sentences = sum(bool(_SENTENCE.search(line.text)) for line in lines)
    structured = max(split_share(rows) for mark, rows in by.items() if mark != ",") if set(by) - {","} else 0
    # Long lines with sentence ends and little structure are prose.
    if words >= 6 and 5 * sentences >= 2 * len(lines) and structured < 0.5:
        return Guess("text")
    for mark, rows in by.items():
        below = rows[1:] if header_of_rows(rows) else rows
        inner = inner_of(below, mark)
        if inner is not None and nearly_unique([row[0] for row in below]):
            return _nested(rows, below, mark, inner)
    # The separator that splits the most lines; ties go to the one that names rarely contain.
    best = max(by, key=lambda mark: split_share(by[mark]))
    if split_share(by[best]) < 0.1 and (blank := rows_by(lines, " ")) is not None and split_share(blank) >= 0.5:
        return _blank(blank, split_share(by[best]) > 0)
    if split_share(by[best]) == 0:
        return Guess("basket").with_doubt("one name a line: no separator is there", ("text", Options()))
    table = _separated_by(best, guess_rows(by[best], "basket"))
    headed = table.options.header or table.format in ("long", "onehot")
    for mark, rows in by.items():
        if headed and len(rows[0]) == 1:
            continue  # names of columns that it does not separate: it stands inside names
        if mark != best and 2 * split_share(rows) >= split_share(by[best]):
            why = f"{mark_name(mark)} separates names in {round(100 * split_share(rows))}% of the lines as well"
            table = table.with_doubt(why, ("basket", Options(separator=_separator(mark))))
    return table


def _separated_by(mark: str, table: Guess) -> Guess:
    separator = _separator(mark)
    others = tuple((name, options._replace(separator=separator)) for name, options in table.alternatives)
    return replace(table, options=table.options._replace(separator=separator), alternatives=others)


def _separator(mark: str) -> str | None:
    """Return the value of the option: None is a comma."""
    return None if mark == "," else mark


def _nested(rows: Rows, below: Rows, mark: str, inner: str) -> Guess:
    lists = Guess("basket", Options(True, _separator(mark), within=inner, header=len(below) < len(rows)))
    if len(below) < FEWEST:
        why = f"too few lines to be sure that {mark_name(mark)} separates an id from a list"
        lists = lists.with_doubt(why, ("basket", Options(separator=_separator(inner))))
    return lists.with_header(rows)


def _blank(rows: Rows, others: bool) -> Guess:
    """Return a guess for names separated by blanks, or for one name of several words a line."""
    header = header_of_rows(rows)
    words = Guess("basket", Options(separator=" ", header=header)).with_ids(rows[int(header) :]).with_header(rows)
    names = [cell for row in rows for cell in row]
    starts_strange = {cell for row in rows[1:] for cell in row}.isdisjoint(rows[0])
    if starts_strange and not words.unsure and not words.options.header:  # though blanks part all words alike
        headed = words.options._replace(header=True)
        words = words.with_doubt("the first line may name the column", ("basket", headed))
    if others or len(set(names)) > 0.7 * len(names) or len(rows) < FEWEST or len(set(map(len, rows))) == 1:
        return words.with_doubt(
            "blanks may separate names or be part of them", ("basket", Options()), ("text", Options())
        )
    return words
