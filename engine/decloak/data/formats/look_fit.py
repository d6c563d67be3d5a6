"""Whether what was said of a file fits what is there: where it does not, that is an error with the remedy.

Nothing is refused that is only unusual; who knows better says so with `as_said`. The criteria, all of them here:

- nothing was split: two lines or more, and nearly all have one name at most behind the id, where another separator
  finds at least twice as many values in nearly all lines (SPLITS);
- the first name of nearly every line holds another separator, which stands nowhere else: an id and a list (LISTS);
- the first line is a header, by `header_of_rows`;
- the first names of all lines are ids, by `ids_of_rows`, and were read as items; or they were read as ids, and most
  of them are items elsewhere;
- every line is two names of which the first is an id that comes again: rows of the format long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.formats.jsonvalue import json_value
from decloak.data.formats.lines import FilePath, Line, ReadFile, place, stream_lines
from decloak.data.formats.look_evidence import (
    LINES,
    NEARLY,
    SEPARATORS,
    header_of_rows,
    ids_of_rows,
    inner_of,
    is_whole,
    rows_by,
)  # fmt: skip
from decloak.data.formats.look_warnings import date_warnings, warnings_of
from decloak.data.formats.readers import read
from decloak.data.formats.record import Options
from decloak.data.formats.unpacked import reading_file, unpacked_file
from decloak.data.repeats import RepeatedRecords
from decloak.errors import DecloakError

__all__ = ["check_enough_items", "check_ids", "mark_name", "read_fitting"]

OVERRIDE = "as_said: true (--as-said) reads it so all the same"
_NAMES = {"\t": "a tab", " ": "a blank"}


def mark_name(mark: str) -> str:
    """A separator for people.

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
    """Read transactions as `read` does; what was said of the file and does not fit is an error."""
    with reading_file(path):
        return _read_fitting(unpacked_file(path), path, format, options, as_said=as_said)


def _read_fitting(file: ReadFile, path: FilePath, format: str, options: Options, *, as_said: bool) -> Dataset:  # noqa: A002
    if as_said:
        return _warned(file, format, options, read(file, format, **options._asdict()))
    lines = list(islice(stream_lines(file), LINES)) if format == "basket" else []
    for message, remedy in _of_lines(lines, options) if lines else ():
        raise DecloakError(message, place(path), f"{remedy}; {OVERRIDE}")
    data = read(file, format, **options._asdict())
    long_sheet = format == "xlsx" and not data.labels[0].isdecimal()
    if format in ("basket", "xlsx") and not long_sheet:
        for error in _of_rows(data, options):
            raise type(error)(error.message, place(path), f"{error.hint}; {OVERRIDE}")
    return _warned(file, format, options, data)


def _warned(file: FilePath, format: str, options: Options, data: Dataset) -> Dataset:  # noqa: A002
    return replace(data, warnings=(*warnings_of(file, format, options, data), *date_warnings(data)))


def check_ids(path: FilePath, rows: Sequence[Sequence[Element]], ids: bool) -> None:
    """Refuse published transactions whose ids were read as items."""
    plain = [[item if isinstance(item, str) else f"({', '.join(item)})" for item in row] for row in rows[:LINES] if row]
    if not ids and plain and all(isinstance(row[0], str) for row in rows if row) and ids_of_rows(plain) == (True, True):
        error = _unread_ids(plain)
        raise type(error)(error.message, place(path), f"{error.hint}; {OVERRIDE}")


def _unread_ids(rows: Sequence[Sequence[str]]) -> DecloakError:
    """The error of ids that were read as items; of repeated ones that they repeat."""
    hint = "read it with ids (ids: true, --ids)"
    first = [row[0] for row in rows if row]
    again = len(first) - len(set(first))
    if not again:
        return DecloakError("the first name of every line looks like an id, and was read as an item", hint=hint)
    message = "the first name of every line looks like an id, and was read as an item"
    counted = f"{again:,} of {len(first):,} records have the id of an earlier one"
    return RepeatedRecords(f"{message}: {counted}", hint=f"remove the copies, and {hint}")


def check_enough_items(path: FilePath, rows: Sequence[Sequence[object]], *, as_said: bool = False) -> None:
    """Refuse to judge what was read where there is nothing to judge."""
    most = max(map(len, rows), default=0)
    if most == 0:
        raise DecloakError("no record has any item: nothing to check", place(path), "see `decloak look` what it holds")
    if most == 1 and not as_said:
        hint = f"see `decloak look` whether it was read as it is meant; {OVERRIDE}"
        raise DecloakError("no record has more than one item", place(path), hint)


def _of_lines(lines: Sequence[Line], options: Options) -> Iterator[tuple[str, str]]:
    separator = options.separator or ","
    if all(line.text.lstrip().startswith(("[", "{")) for line in lines) and _is_json(lines[0]):
        yield "every line is a JSON value", "read it as jsonl"
    rows = rows_by(lines[int(options.header) :], separator)
    if not rows:
        return
    yield from _lists(rows, options, separator)
    yield from _splits(lines[int(options.header) :], rows, options, separator)


def _is_json(line: Line) -> bool:
    try:
        return isinstance(json_value(line, ""), list | dict)
    except DecloakError:
        return False


def _lists(rows: Sequence[Sequence[str]], options: Options, separator: str) -> Iterator[tuple[str, str]]:
    """LISTS: `p1<TAB>milk|bread` read by the bar makes `p1<TAB>milk` one name; by the tab, `milk|bread`."""
    if len(rows) < 2 or options.within is not None:
        return
    behind = [mark for mark in SEPARATORS if mark != separator]
    for mark in behind:
        alone = [row for row in rows if row[0].count(mark) == 1 and not any(mark in cell for cell in row[1:])]
        if len(alone) >= NEARLY * len(rows) and any(len(row) > 1 for row in rows) and _are_ids(rows, mark):
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


def _are_ids(rows: Sequence[Sequence[str]], mark: str) -> bool:
    first = [row[0].split(mark)[0] for row in rows]
    return len(set(first)) == len(first)


def _splits(
    lines: Sequence[Line], rows: Sequence[Sequence[str]], options: Options, separator: str
) -> Iterator[tuple[str, str]]:
    """SPLITS: names are few by what was said, and many by another separator."""
    if len(rows) < 2 or sum(len(row) == 1 for row in rows) < NEARLY * len(rows):
        return
    for mark in (*SEPARATORS, " "):
        others = rows_by(lines, mark) if mark != separator else None
        if others is None or len(others) != len(rows):
            continue
        if mark == " " and not all(is_whole(cell) for row in others for cell in row):
            continue
        if sum(len(other) >= 2 * len(row) for row, other in zip(rows, others, strict=True)) >= NEARLY * len(rows):
            yield (
                f"{mark_name(separator)} separates nothing in nearly all lines, and {mark_name(mark)} does",
                f"give the separator {mark_name(mark)}, or see `decloak look` what the file is",
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
        hint = "say so: header: true (--header-line), or remove it"
        yield DecloakError("the first line is unlike all others: a header", hint=hint)
    if options.ids:
        yield from _ids_that_are_items(data)
    elif _pairs(rows):
        message = "every line has two names, the first an id that comes again: a row for every item"
        yield DecloakError(message, hint="write the line tid,item above it, and read it as long")
    elif ids_of_rows(rows) == (True, True):
        yield _unread_ids(rows)


def _ids_that_are_items(data: Dataset) -> Iterator[DecloakError]:
    """Numbers may be both."""
    if len(data.labels) >= 3 and not any(map(is_whole, data.labels)):
        items = set(data.items)
        if 2 * sum(label in items for label in data.labels) > len(data.labels):
            message = "most ids are items elsewhere: the first names are no ids"
            yield DecloakError(message, hint="read it without ids")


def _pairs(rows: Sequence[Sequence[str]]) -> bool:
    if len(rows) < 4 or not all(len(row) == 2 for row in rows):
        return False
    one_each = [[name, item] for name, item in {row[0]: row[1] for row in rows}.items()]
    follows = sum(row[0] == after[0] for row, after in pairwise(rows))
    return 0 < len(rows) - len(one_each) <= follows and ids_of_rows(one_each) == (True, True)
