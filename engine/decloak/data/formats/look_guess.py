"""What the lines of a file seem to be: the format, the options it is read with, and what is not sure of that."""

import re
from collections.abc import Sequence
from dataclasses import replace

from decloak.data.formats.delimited import cells
from decloak.data.formats.jsonvalue import json_value
from decloak.data.formats.lines import Line
from decloak.data.formats.look_evidence import (
    FEWEST,
    LINES,
    SEPARATORS,
    Rows,
    header_of_rows,
    ids_of_rows,
    inner_of,
    is_whole,
    nearly_unique,
    rows_by,
    split_share,
)  # fmt: skip
from decloak.data.formats.look_fit import mark_name
from decloak.data.formats.look_table import Guess, guess_rows
from decloak.data.formats.published import parse_elements
from decloak.data.formats.record import Options
from decloak.errors import DecloakError, shown

__all__ = ["guess"]

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
    ids = ids_of_rows([line.text.split() for line in lines])
    if ids.sure and not ids.there:
        return Guess("spmf")
    return Guess("spmf").doubting("no first number comes twice: perhaps ids", ("basket", Options(True, " ")))


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
    return Guess("published").with_ids(rows)


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
        if inner is not None and nearly_unique([row[0] for row in below]):
            return _nested(rows, below, mark, inner)
    best = max(by, key=lambda mark: split_share(by[mark]))
    if split_share(by[best]) < 0.1 and (blank := rows_by(lines, " ")) is not None and split_share(blank) >= 0.5:
        return _blank(blank, split_share(by[best]) > 0)
    if split_share(by[best]) == 0:
        return Guess("basket").doubting("one name a line: no separator is there", ("text", Options()))
    table = _separated_by(best, guess_rows(by[best], "basket"))
    headed = table.options.header or table.format in ("long", "onehot")
    for mark, rows in by.items():
        if headed and len(rows[0]) == 1:
            continue  # names of columns that it does not separate: it stands inside names
        if mark != best and 2 * split_share(rows) >= split_share(by[best]):
            why = f"{mark_name(mark)} separates names in {round(100 * split_share(rows))}% of the lines as well"
            table = table.doubting(why, ("basket", Options(separator=_separator(mark))))
    return table


def _separated_by(mark: str, table: Guess) -> Guess:
    separator = _separator(mark)
    others = tuple((name, options._replace(separator=separator)) for name, options in table.alternatives)
    return replace(table, options=table.options._replace(separator=separator), alternatives=others)


def _separator(mark: str) -> str | None:
    """The option: None is a comma."""
    return None if mark == "," else mark


def _nested(rows: Rows, below: Rows, mark: str, inner: str) -> Guess:
    lists = Guess("basket", Options(True, _separator(mark), within=inner, header=len(below) < len(rows)))
    if len(below) < FEWEST:
        why = f"few lines to tell that {mark_name(mark)} separates an id from a list"
        lists = lists.doubting(why, ("basket", Options(separator=_separator(inner))))
    return lists.with_header(rows)


def _blank(rows: Rows, others: bool) -> Guess:
    """Names with blanks between them, or one name of several words a line."""
    header = header_of_rows(rows)
    words = Guess("basket", Options(separator=" ", header=header)).with_ids(rows[int(header) :]).with_header(rows)
    names = [cell for row in rows for cell in row]
    starts_strange = {cell for row in rows[1:] for cell in row}.isdisjoint(rows[0])
    if starts_strange and not words.unsure and not words.options.header:  # though blanks part all words alike
        behind = words.options._replace(header=True)
        words = words.doubting("the first line may name the column", ("basket", behind))
    if others or len(set(names)) > 0.7 * len(names) or len(rows) < FEWEST or len(set(map(len, rows))) == 1:
        return words.doubting(
            "blanks may separate names or be part of them", ("basket", Options()), ("text", Options())
        )
    return words
