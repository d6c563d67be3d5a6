"""What the lines of a file seem to be: the format, the options it is read with, and what is not sure of that."""

import re
from collections.abc import Sequence
from dataclasses import replace

from decloak.data.formats.delimited import cells
from decloak.data.formats.jsonvalue import json_value
from decloak.data.formats.lines import Line
from decloak.data.formats.look_evidence import (
    FEWEST,
    ID_WORDS,
    SEPARATORS,
    Rows,
    header_of_rows,
    ids_of_rows,
    inner_of,
    is_whole,
    matches,
    may_be_header,
    nested,
    rows_by,
    split_share,
)  # fmt: skip
from decloak.data.formats.look_fit import mark_name
from decloak.data.formats.look_table import Guess, long, onehot, separators_within
from decloak.data.formats.published import parse_elements
from decloak.data.formats.record import Options
from decloak.errors import DecloakError, shown

__all__ = ["Guess", "guess", "guess_rows"]

LINES = 20_000
"""Lines that are looked at."""
_SENTENCE = re.compile(r"[a-z][.!?](?:\s|$)")


def guess(lines: Sequence[Line]) -> Guess:
    lines = [line for line in lines[:LINES] if line.text.strip()]
    first = lines[0].text.lstrip()
    if first.startswith(("{", "[")):
        return _json(lines)
    if _is_spmf(lines):
        return _numbers(lines)
    if [name.strip().lower() for name in first.split("\t")[:2]] == ["anonid", "query"]:
        return Guess("searchlog")
    brackets = sum("(" in line.text and _opens(line) for line in lines)
    if 2 * brackets >= len(lines) or (brackets and _parses(lines)):
        return _published(lines)
    return _separated(lines)


def _json(lines: Sequence[Line]) -> Guess:
    try:
        value = json_value(lines[0], "")
    except DecloakError:
        return Guess("jsonl", problem="a JSON value over several lines: write each transaction on a line of its own")
    if isinstance(value, dict) and value.get("decloak") == "release":
        return Guess("disassociated" if value.get("method") == "disassociation" else "generalised")
    if isinstance(value, dict) and "items" not in value:
        keys = ", ".join(map(shown, list(value)[:6]))
        remedy = "write id and items, or import it as text with the --field that holds some"
        return Guess("jsonl", problem=f"JSON objects with the keys {keys}: {remedy}")
    return Guess("jsonl", Options(ids=isinstance(value, dict) and "id" in value))


def _is_spmf(lines: Sequence[Line]) -> bool:
    """Whole numbers with blanks between them in every line, several in some."""
    if any(line.text.startswith(("@CONVERTED_FROM_TEXT", "@ITEM=")) for line in lines[:2]):
        return True
    rows = [line.text.split() for line in lines if not line.text.startswith(("%", "#", "@"))]
    numbers = all(is_whole(word) or word in ("-1", "-2") for row in rows for word in row)
    return numbers and any(len(row) > 1 for row in rows) and not any("\t" in line.text for line in lines)


def _numbers(lines: Sequence[Line]) -> Guess:
    rows = [line.text.split() for line in lines]
    found = Guess("spmf")
    ids = ids_of_rows(rows)
    if ids.there or not ids.sure:
        found = found.doubting("no first number comes twice: perhaps ids", ("basket", Options(True, " ")))
    return found


def _opens(line: Line) -> bool:
    try:
        return any(cell.text.startswith("(") and not cell.quoted for cell in cells(line))
    except DecloakError:
        return False


def _parses(lines: Sequence[Line]) -> bool:
    try:
        parse_elements(lines, False)
    except DecloakError:
        return False
    return True


def _published(lines: Sequence[Line]) -> Guess:
    try:
        transactions = parse_elements(lines, False).transactions
    except DecloakError as error:
        return Guess("published", problem=str(error))
    if not all(row and isinstance(row[0], str) for row in transactions):
        return Guess("published")
    rows = [[item if isinstance(item, str) else "()" for item in row] for row in transactions]
    return _with_ids(Guess("published"), rows)


def _with_ids(found: Guess, rows: Rows) -> Guess:
    """The same, with ids where the rows begin with some."""
    ids = ids_of_rows(rows)
    options = found.options._replace(ids=ids.there)
    if ids.sure or (not ids.there and len(rows) < 2):
        return replace(found, options=options)
    why = "the first name of each line may be its id" if not ids.there else "the first name of each line may be no id"
    return replace(found, options=options).doubting(why, (found.format, options._replace(ids=not ids.there)))


def _with_header(found: Guess, rows: Rows) -> Guess:
    """The same, with a doubt where the first of all rows may be a header."""
    if found.options.header or not may_be_header(rows):
        return found
    behind = found.options._replace(header=True)
    without = _with_ids(Guess(found.format, behind._replace(ids=False)), rows[1:])
    others = () if behind.within else ((found.format, without.options), *without.alternatives)
    return found.doubting("the first line may name the columns", (found.format, behind), *others)


def _with_lists(found: Guess, below: Rows) -> Guess:
    """The same, with a doubt where every id has one value, and these may be lists."""
    values = [row[1] for row in below if len(row) > 1]
    if not found.options.ids or not nested(below):
        return found
    lists = [(found.format, found.options._replace(within=mark)) for mark in separators_within(values)]
    return found.doubting("the values behind the ids may be lists", *lists) if lists else found


def _separated(lines: Sequence[Line]) -> Guess:
    by = {mark: rows for mark in SEPARATORS if (rows := rows_by(lines, mark)) is not None}
    if not by:
        return Guess("basket", problem="quotes stand where none may: put whole names in quotes, and write theirs twice")
    words = sum(len(line.text.split()) for line in lines) / len(lines)
    sentences = sum(bool(_SENTENCE.search(line.text)) for line in lines)
    structured = max(split_share(rows) for mark, rows in by.items() if mark != ",") if set(by) - {","} else 0
    if words >= 6 and 5 * sentences >= 2 * len(lines) and structured < 0.5:
        return Guess("text")
    for mark, rows in by.items():
        below = rows[1:] if header_of_rows(rows) else rows
        inner = inner_of(below, mark)
        if inner is not None and len({row[0] for row in below}) == len(below):
            return _nested(rows, below, mark, inner)
    best = max(by, key=lambda mark: split_share(by[mark]))
    if split_share(by[best]) < 0.1 and (blank := rows_by(lines, " ")) is not None and split_share(blank) >= 0.5:
        return _blank(blank, split_share(by[best]) > 0)
    if split_share(by[best]) == 0:
        found = Guess("basket")
        return found.doubting("one name a line: no separator is there", ("text", Options()))
    found = guess_rows(by[best], "basket")
    found = replace(found, options=found.options._replace(separator=best if best != "," else None))
    mark_of = found.options.separator
    others = tuple((name, options._replace(separator=mark_of)) for name, options in found.alternatives)
    found = replace(found, alternatives=others)
    headed = found.options.header or found.format in ("long", "onehot")
    for mark, rows in by.items():
        if headed and len(rows[0]) == 1:
            continue  # names of columns that it does not separate: it stands inside names
        if mark != best and 2 * split_share(rows) >= split_share(by[best]):
            why = f"{mark_name(mark)} separates names in {round(100 * split_share(rows))}% of the lines as well"
            found = found.doubting(why, ("basket", Options(separator=mark if mark != "," else None)))
    return found


def _nested(rows: Rows, below: Rows, mark: str, inner: str) -> Guess:
    options = Options(True, None if mark == "," else mark, within=inner, header=len(below) < len(rows))
    found = Guess("basket", options)
    if len(below) < FEWEST:
        why = f"few lines to tell that {mark_name(mark)} separates an id from a list"
        found = found.doubting(why, ("basket", Options(separator=None if inner == "," else inner)))
    return _with_header(found, rows)


def _blank(rows: Rows, others: bool) -> Guess:
    """Names with blanks between them, or one name of several words a line."""
    header = header_of_rows(rows)
    found = _with_ids(Guess("basket", Options(separator=" ", header=header)), rows[int(header) :])
    found = _with_header(found, rows)
    names = [cell for row in rows for cell in row]
    found = found if found.options.header else _with_strange_start(found, rows)
    if others or len(set(names)) > 0.7 * len(names) or len(rows) < FEWEST or len(set(map(len, rows))) == 1:
        return found.doubting(
            "blanks may separate names or be part of them", ("basket", Options()), ("text", Options())
        )
    return found


def _with_strange_start(found: Guess, rows: Rows) -> Guess:
    """The same, with a doubt where nothing of the first row comes again, while blanks part all words alike."""
    if found.unsure or not {cell for row in rows[1:] for cell in row}.isdisjoint(rows[0]):
        return found
    return found.doubting("the first line may name the column", (found.format, found.options._replace(header=True)))


def guess_rows(rows: Rows, name: str) -> Guess:
    """What the rows of a table or the values of lines are; `name` is the format of a list each row."""
    width = len(rows[0])
    constant = width > 1 and all(len(row) == width for row in rows)
    if constant and len(rows) > 1 and (found := onehot(rows) or long(rows)) is not None:
        return found
    header = header_of_rows(rows)
    below = rows[1:] if header else rows
    found = Guess(name, Options(header=header))
    if header and matches(ID_WORDS, rows[0][0]) and len({row[0] for row in below}) == len(below):
        found = _with_lists(replace(found, options=Options(ids=True, header=True)), below)
        return found if width == 2 or not constant or _is_series(rows) else found.doubting(_columns(width))
    found = _with_ids(found, below)
    found = _with_header(_with_lists(found, below), rows)
    if constant and (header or len(rows) >= FEWEST):
        return found.doubting(_columns(width), ("long", Options(transaction=rows[0][0], item=rows[0][1])))
    return found


def _columns(width: int) -> str:
    return f"every line has {width} values: perhaps the columns of a table, not a list"


def _is_series(rows: Rows) -> bool:
    """Whether the columns behind the ids are of one kind: their names differ in a number alone."""
    return len({re.sub(r"\d+", "", cell).strip() for cell in rows[0][1:]}) == 1
