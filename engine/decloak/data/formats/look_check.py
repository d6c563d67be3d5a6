"""Checks of the user's description of a file against its content. A contradiction is an error with a remedy.

Unusual content alone is no error, and `as_said` overrides every check. The criteria:

- nothing was split: two lines or more, and nearly all have one name, where another separator finds at least twice as
  many values in nearly all lines;
- the first name of nearly every line holds another separator, which stands nowhere else: an id and a list;
- the first line is a header, by `header_of_rows`;
- the first names of all lines are ids, by `ids_of_rows`, and were read as items; or they were read as ids, and most
  of them are items elsewhere;
- every line is two names of which the first is an id that comes again: rows of the format long;
- the two columns of a long table seem exchanged: the item column has ids, and the other one has items.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from unicodedata import normalize

from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import records
from decloak.data.formats.lines import FilePath, Line, json_value, location, stream_lines
from decloak.data.formats.look_evidence import (
    ID_WORDS,
    ITEM_WORDS,
    LINES,
    NEARLY,
    SEPARATORS,
    header_of_rows,
    ids_of_pairs,
    ids_of_rows,
    inner_of,
    is_shaped,
    is_whole,
    matches,
    rows_by,
)  # fmt: skip
from decloak.data.formats.plain_files import read
from decloak.data.formats.record import Options
from decloak.data.formats.unpacked import reading_file, unpacked_file
from decloak.data.repeats import RepeatedRecords, find_copies
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, quote, quote_some

TO_NFC = (
    'write the file in one form: python3 -c "import sys, unicodedata as u; '
    "sys.stdout.write(u.normalize('NFC', sys.stdin.read()))\" < FILE > NEW"
)
DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[ T][\d:.]+)?|\d\d?[./]\d\d?[./]\d{2,4}(?: [\d:.]+)?")
"""Dates as spreadsheets and logs write them."""


def warnings_of(path: FilePath, format: str, options: Options, data: Dataset) -> Iterator[str]:  # noqa: A002
    """Yield warnings for every result from `data`, read from `path` in `format` with `options`: names in several
    Unicode forms, copies, exchanged columns.
    """
    if not options.repeats and (copies := find_copies(data.rows)) is not None:
        yield f"{copies}; {copies.remedy}"
    yield from _unicode_forms(data)
    if format == "long":
        yield from (f"{message}. Use {remedy}" for message, remedy in _exchanged(path, options))


def _unicode_forms(data: Dataset) -> Iterator[str]:
    """Yield a warning about items that look equal and are different texts, such as é in one character or in two."""
    forms: dict[str, list[str]] = defaultdict(list)
    for item in data.items:
        if not item.isascii():
            forms[normalize("NFC", item)].append(item)
    several = [name for name, items in forms.items() if len(items) > 1]
    if several:
        names = "1 name has" if len(several) == 1 else f"{len(several):,} names have"
        yield f"{names} several Unicode forms, and each form is an item: {quote_some(several)}; {TO_NFC}"


def date_warnings(data: Dataset) -> Iterator[str]:
    """Yield a warning about dates among the items of `data`. Spreadsheets create them from other columns and from some
    codes.
    """
    dates = [item for item in data.items if DATE.fullmatch(item)]
    if dates:
        few = "1 item is a date" if len(dates) == 1 else f"{len(dates):,} items are dates"
        yield f"{few}: {quote_some(dates)}. Remove the column, or format it as text if it contains codes"


def _exchanged(path: FilePath, options: Options) -> Iterator[tuple[str, str]]:
    """Yield a message and a remedy if the two columns of a long table seem exchanged."""
    lines = (line for line in stream_lines(path) if line.number >= options.header_row)
    rows = [row for _, row in islice(records(lines, options.separator or ","), LINES)]
    if not {options.transaction, options.item} <= set(rows[0]):
        return
    ids, items = ([row[rows[0].index(name)] for row in rows[1:]] for name in (options.transaction, options.item))
    shaped = _are_ids(items), _are_ids(ids)
    runs = _are_runs(items) and not _are_runs(ids)
    worded = [matches(words, options.transaction) for words in (ITEM_WORDS, ID_WORDS)] == [True, False]
    named = worded and matches(ID_WORDS, options.item)
    if (shaped == (True, False) and runs) or (shaped[0] == shaped[1] and named):
        remedy = f"transaction: {options.item}, item: {options.transaction}"
        flags = f"--transaction {options.item} --item {options.transaction}"
        columns = f"the columns {quote(options.transaction)} and {quote(options.item)} seem exchanged"
        yield f"{columns}: {quote(options.item)} seems to contain ids", f"{remedy} ({flags})"


def _are_ids(values: Sequence[str]) -> bool:
    return all(map(is_whole, values)) or is_shaped(values)


def _are_runs(values: Sequence[str]) -> bool:
    """Return True if nearly all equal values are neighbours, as the rows of a record are."""
    again = len(values) - len(set(values))
    return again > 0 and sum(value == after for value, after in pairwise(values)) >= NEARLY * again


OVERRIDE = "to keep this reading, add as_said: true (--as-said)"
"""The option to read the file in spite of the check."""
_NAMES = {"\t": "a tab", " ": "a blank"}


def mark_name(mark: str) -> str:
    """Return the name of the separator `mark` for people.

    >>> mark_name(";"), mark_name(chr(9))
    ("';'", 'a tab')
    """
    return _NAMES.get(mark, f"'{mark}'")


def read_fitting(
    path: FilePath,
    format: str,  # noqa: A002 (the word users write)
    options: Options,
    *,
    as_said: bool = False,
) -> Dataset:
    """Read records from `path` as `read` does, in `format` with `options`. A description that does not fit the
    content is an error, unless `as_said`.
    """
    with reading_file(path):
        file = unpacked_file(path)
        # Only baskets have a separator that may be wrong; other formats fail while reading.
        checked = format == "basket" and not options.columns and not as_said
        lines = list(islice(stream_lines(file), LINES))[options.header_row - 1 :] if checked else []
        for message, remedy in _of_lines(lines, options) if lines else ():
            raise DecloakError(message, location(path), f"{remedy}; {OVERRIDE}")
        data = read(file, format, **options._asdict())
        # A figure about the records of each item would be no figure about people, and a guarantee would be met by it.
        for message, remedy in _exchanged(file, options) if format == "long" and not as_said else ():
            raise DecloakError(message, location(path), f"use {remedy}; {OVERRIDE}")
        long_sheet = format == "xlsx" and not data.labels[0].isdecimal()
        if format in ("basket", "xlsx") and not (long_sheet or as_said):
            for error in _of_rows(data, options):
                # The type stays, because `look` catches repeated records by theirs.
                raise type(error)(error.message, location(path), f"{error.hint}; {OVERRIDE}")
        return with_warnings(data, format, options, file)


def with_warnings(data: Dataset, format: str, options: Options, file: FilePath = "") -> Dataset:  # noqa: A002
    """Return `data` with the warnings about it; `file` is read again for the format `long`."""
    return replace(data, warnings=(*warnings_of(file, format, options, data), *date_warnings(data)))


def check_ids(path: FilePath, rows: Sequence[Sequence[Element]], ids: bool) -> None:
    """Raise an error if the ids of the published records `rows` of `path` were read as items; `ids` is True if
    they were read as ids.
    """
    plain = [[item if isinstance(item, str) else f"({', '.join(item)})" for item in row] for row in rows[:LINES] if row]
    # A line that begins with a bracket cannot begin with an id.
    if not ids and plain and all(isinstance(row[0], str) for row in rows if row) and ids_of_rows(plain) == (True, True):
        error = _unread_ids(plain)
        raise type(error)(error.message, location(path), f"{error.hint}; {OVERRIDE}")


def _unread_ids(rows: Sequence[Sequence[str]]) -> DecloakError:
    """Return the error for ids that were read as items. For repeated ids it counts the repetitions."""
    hint = "read it with ids (ids: true, --ids)"
    first = [row[0] for row in rows if row]
    again = len(first) - len(set(first))
    if not again:
        return DecloakError("the first name of every line looks like an id, and was read as an item", hint=hint)
    message = "the first name of every line looks like an id, and was read as an item"
    counted = f"{again:,} of {len(first):,} records have the id of an earlier one"
    return RepeatedRecords(f"{message}: {counted}", hint=f"remove the copies, and {hint}")


def check_enough_items(path: FilePath, rows: Sequence[Sequence[object]], *, as_said: bool = False) -> None:
    """Raise an error if `rows`, read from `path`, have too few items to check anything; `as_said` accepts one item per
    record.
    """
    most = int(rows.lengths.max(initial=0)) if isinstance(rows, CodedRows) else max(map(len, rows), default=0)
    if most == 0:
        raise DecloakError(
            "no record has any item: nothing to check", location(path), "see `decloak look` what it holds"
        )
    if most == 1 and not as_said:
        hint = f"see `decloak look` whether it was read as it is meant; {OVERRIDE}"
        raise DecloakError("no record has more than one item", location(path), hint)


def _of_lines(lines: Sequence[Line], options: Options) -> Iterator[tuple[str, str]]:
    separator = options.separator or ","
    if all(line.text.lstrip().startswith(("[", "{")) for line in lines) and _is_json(lines[0]):
        yield "every line is a JSON value", "read it as jsonl"
    rows = rows_by(lines[int(options.header) :], separator)
    if not rows:
        return
    yield from _lists(rows, options, separator)
    yield from _splits(lines[int(options.header) :], rows, separator)


def _is_json(line: Line) -> bool:
    try:
        return isinstance(json_value(line, ""), list | dict)
    except DecloakError:
        return False


def _lists(rows: Sequence[Sequence[str]], options: Options, separator: str) -> Iterator[tuple[str, str]]:
    """Yield errors for lists: `p1<TAB>milk|bread` split by the bar makes `p1<TAB>milk` one name; by the tab,
    `milk|bread`.
    """
    if len(rows) < 2 or options.within is not None:
        return
    other_marks = [mark for mark in SEPARATORS if mark != separator]
    for mark in other_marks:
        alone = [row for row in rows if row[0].count(mark) == 1 and not any(mark in cell for cell in row[1:])]
        if (
            len(alone) >= NEARLY * len(rows)
            and any(len(row) > 1 for row in rows)
            and len({row[0].split(mark)[0] for row in rows}) == len(rows)  # what comes before it is unique
        ):
            yield (
                f"the first name of nearly every line holds {mark_name(mark)}: an id, then a list",
                f"give the separator {mark_name(mark)} with ids, and {mark_name(separator)} as 'within'",
            )
    inner = inner_of(rows, separator) if options.ids else None
    if inner is not None:
        yield (
            f"nearly every line has one name behind its id, with {mark_name(inner)} in it: a list",
            f"say so: within {mark_name(inner)}",
        )


def _splits(lines: Sequence[Line], rows: Sequence[Sequence[str]], separator: str) -> Iterator[tuple[str, str]]:
    """Yield errors for separators: few names by the given one, many by another."""
    if len(rows) < 2 or sum(len(row) == 1 for row in rows) < NEARLY * len(rows):
        return
    for mark in (*SEPARATORS, " "):
        others = rows_by(lines, mark) if mark != separator else None
        if others is None or len(others) != len(rows):
            continue
        # A blank is a part of names, unless all of them are numbers.
        if mark == " " and not all(is_whole(cell) for row in others for cell in row):
            continue
        if sum(len(other) >= 2 * len(row) for row, other in zip(rows, others, strict=True)) >= NEARLY * len(rows):
            yield (
                f"the separator seems to be {mark_name(mark)}, not {mark_name(separator)}",
                f"use --separator {mark_name(mark).removeprefix('a ')} (separator: under data)",
            )


def _of_rows(data: Dataset, options: Options) -> Iterator[DecloakError]:
    rows = [[*([label] if options.ids else []), *items]
            for label, items in zip(data.labels[:LINES], data.transactions[:LINES], strict=True)]  # fmt: skip
    if not options.header and header_of_rows(rows):
        rest = rows[1:]
        if all(len(row) == 2 for row in rest) and len({row[0] for row in rest}) < len(rest):
            message = "the first line is a header, and the ids below it come again"
            yield DecloakError(message, hint="read it as long, and name its columns")
        elif all({"0", "1"}.issuperset(row[1:]) for row in rest):
            yield DecloakError("the first line is a header above 0 and 1", hint="read it as onehot")
        hint = "add `header: true` (--header-line), or remove it"
        yield DecloakError("the first line is unlike all others: a header", hint=hint)
    if options.ids:
        yield from _ids_that_are_items(data)
    elif _pairs(rows):
        message = "every line has two names, the first an id that comes again: a row for every item"
        yield DecloakError(message, hint="write the line tid,item above it, and read it as long")
    elif ids_of_rows(rows) == (True, True):
        yield _unread_ids(rows)


def _ids_that_are_items(data: Dataset) -> Iterator[DecloakError]:
    """Yield an error if most ids are also items. Numbers may be both."""
    if len(data.labels) >= 3 and not any(map(is_whole, data.labels)):
        items = set(data.items)
        if 2 * sum(label in items for label in data.labels) > len(data.labels):
            message = "most ids are items elsewhere: the first names are no ids"
            yield DecloakError(message, hint="read it without ids")


def _pairs(rows: Sequence[Sequence[str]]) -> bool:
    return len(rows) >= 4 and all(len(row) == 2 for row in rows) and ids_of_pairs(rows) == (True, True)
