"""Warnings about data that were read as the user said: nothing is wrong for certain, and yet the result may be."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from unicodedata import normalize

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import records
from decloak.data.formats.lines import FilePath, stream_lines
from decloak.data.formats.look_evidence import ID_WORDS, ITEM_WORDS, LINES, is_shaped, is_whole, matches
from decloak.data.formats.record import Options
from decloak.data.repeats import copies_of
from decloak.errors import shown

__all__ = ["DATE", "date_warnings", "warnings_of"]

EXAMPLES = 3
TO_NFC = (
    'write the file in one form: python3 -c "import sys, unicodedata as u; '
    "sys.stdout.write(u.normalize('NFC', sys.stdin.read()))\" < FILE > NEW"
)
DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[ T][\d:.]+)?|\d\d?[./]\d\d?[./]\d{2,4}(?: [\d:.]+)?")
"""How dates are written, as spreadsheets and logs have them."""


def warnings_of(path: FilePath, format: str, options: Options, data: Dataset) -> Iterator[str]:  # noqa: A002
    """List what a reader of any result should know: names of several forms, copies, exchanged columns."""
    if not options.repeats and (copies := copies_of(data.rows)) is not None:
        yield f"{copies}; {copies.remedy}"
    yield from _unicode_forms(data)
    if format == "long":
        yield from _exchanged(path, options)


def _unicode_forms(data: Dataset) -> Iterator[str]:
    """Items that look alike and are different texts, such as é in one character or in two."""
    forms: dict[str, list[str]] = defaultdict(list)
    for item in data.items:
        if not item.isascii():
            forms[normalize("NFC", item)].append(item)
    several = [name for name, items in forms.items() if len(items) > 1]
    if several:
        names = "1 name is" if len(several) == 1 else f"{len(several):,} names are"
        listed = ", ".join(map(shown, several[:EXAMPLES])) + (", …" if len(several) > EXAMPLES else "")
        yield f"{names} written in several Unicode forms, and so several items each: {listed}; {TO_NFC}"


def date_warnings(data: Dataset) -> Iterator[str]:
    """List dates among the items, which spreadsheets make of columns beside the items, and of some codes."""
    dates = [item for item in data.items if DATE.fullmatch(item)]
    if dates:
        listed = ", ".join(map(shown, dates[:EXAMPLES])) + (", …" if len(dates) > EXAMPLES else "")
        few = "1 item is a date" if len(dates) == 1 else f"{len(dates):,} items are dates"
        yield f"{few}: {listed}; leave the column out, or format it as text if it holds codes"


def _exchanged(path: FilePath, options: Options) -> Iterator[str]:
    """The columns of a long table, where each holds what the other should."""
    rows = [row for _, row in islice(records(stream_lines(path), options.separator or ","), LINES)]
    if not {options.transaction, options.item} <= set(rows[0]):
        return
    ids, items = ([row[rows[0].index(name)] for row in rows[1:]] for name in (options.transaction, options.item))
    shaped = _are_ids(items), _are_ids(ids)
    runs = _are_runs(items) and not _are_runs(ids)
    named = _is_item_word(options.transaction) and matches(ID_WORDS, options.item)
    if (shaped == (True, False) and runs) or (shaped[0] == shaped[1] and named):
        remedy = f"transaction: {options.item}, item: {options.transaction}"
        flags = f"--transaction {options.item} --item {options.transaction}"
        columns = f"the columns {shown(options.transaction)} and {shown(options.item)} seem exchanged"
        yield f"{columns}: {shown(options.item)} looks like ids; say {remedy} ({flags})"


def _is_item_word(name: str) -> bool:
    return matches(ITEM_WORDS, name) and not matches(ID_WORDS, name)


def _are_ids(values: Sequence[str]) -> bool:
    return all(map(is_whole, values)) or is_shaped(values)


def _are_runs(values: Sequence[str]) -> bool:
    """Whether equal values nearly all follow one another, as the rows of a transaction do."""
    again = len(values) - len(set(values))
    return again > 0 and sum(value == after for value, after in pairwise(values)) >= 0.9 * again
