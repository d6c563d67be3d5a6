"""Format `xlsx`: an Excel sheet of rows (record, item) below a header that names both, or of a list each row.

If each row is a list, the options have the meaning of baskets. The first cell is the id (ids), the first row a header
(header), and a cell a list of its own (within). Empty cells are passed over. A file with several sheets is refused.
"""

import warnings
import zipfile
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import Any

from decloak.data.formats.delimited import split
from decloak.data.formats.lines import Line, location
from decloak.data.formats.record import PIECE, Format, Options, Record, find_column, pop_id
from decloak.data.formats.tables_extra import import_extra, records_of_columns
from decloak.data.frames import Columns, cell_name
from decloak.data.read_budget import charge
from decloak.errors import DecloakError, at_location, quote

Cells = tuple[object, ...]

CELLS, CELL = 60, 60
"""Bytes of memory per row of a sheet, and per cell."""
WHOLE = {"worksheets/": 1, "sharedStrings": 30, "media/": 0, "drawings/": 0, "theme/": 0}
OTHERS = 150
"""Bytes of memory per byte of a part of the file, by part: parts that are kept whole take the most."""


def _load(content: bytes, path: str, options: Options) -> Iterator[Record]:
    """Read an Excel file."""
    rows = [row for row in sheet_rows(content, path) if any(cell is not None for cell in row[1])]
    # Rows keep their numbers in the sheet, where empty ones count.
    rows = [row for row in rows if row[0] >= options.header_row]
    if not rows:
        raise DecloakError("a sheet without cells", location(path), "expected a record a row")
    header = rows[0][1]
    if {options.transaction, options.item} <= set(header):
        return records_of_columns(_columns(header, rows, path, options), path, options)
    if (options.transaction, options.item) != (Options().transaction, Options().item):
        named = ", ".join(quote(cell) for cell in header[:6] if cell is not None)
        message = f"no columns {quote(options.transaction)} and {quote(options.item)}; the first row has {named}"
        raise DecloakError(message, location(path, 1), "name the columns with the options transaction and item")
    return _lists(rows, path, options)


def _columns(header: Cells, rows: list[tuple[int, Cells]], path: str, options: Options) -> Columns:
    """Return the columns of ids and of items; further columns become further rows with items such as `sex=f`."""
    head = Line(path, rows[0][0], "")
    names = ["" if cell is None else str(cell) for cell in header]
    places = [names.index(name) for name in (options.transaction, options.item)]
    further = [find_column(head, names, name, "columns") for name in options.columns]
    ids, items, above = list[object](), list[object](), None
    for number, cells in rows[1:]:
        label, item = (cells[at] if at < len(cells) else None for at in places)
        if options.fill_down:
            label = above = above if label is None else label
            if label is None:
                hint = "write the id into the first row of each transaction"
                raise Line(path, number, "").error("no id, and none above", hint)
        values = {at: cells[at] for at in further if at < len(cells) and cells[at] is not None}
        of_columns = [f"{names[at]}={cell_name(value, number)}" for at, value in values.items()]
        ids += [label] * (1 + len(of_columns))
        items += [item, *of_columns]
    return Columns({options.transaction: ids, options.item: items})


def _lists(rows: list[tuple[int, Cells]], path: str, options: Options) -> Iterator[Record]:
    for number, cells in islice(rows, int(options.header), None):
        line = Line(path, number, "")
        if options.ids and cells[0] is None:
            raise line.error("a row without an id", "fill its first cell")
        with at_location(location(path, number)):
            names = [cell_name(cell, number - 1) for cell in cells if cell is not None]
        label = pop_id(names, options.ids)
        if options.within is not None:
            names = [inner for name in names for inner in split(line._replace(text=name), options.within)]
        yield Record(line, label, names)


def sheet_rows(content: bytes, path: str) -> list[tuple[int, Cells]]:
    """Return the rows of the one sheet with any in `content` of the file `path`, with their numbers."""
    openpyxl = import_extra("openpyxl", "Excel files")
    try:
        with zipfile.ZipFile(BytesIO(content)) as packed:
            charge(sum(map(_cost, packed.infolist())))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # styles and validations that openpyxl leaves out
            # Row by row, because a whole book takes far more memory. Formulas come as their values.
            book = openpyxl.load_workbook(BytesIO(content), read_only=True, data_only=True)
            sheets = [_sheet(sheet) for sheet in book.worksheets]
    except (DecloakError, MemoryError):
        raise
    except Exception as error:  # openpyxl lets through whatever its parsers raise
        raise DecloakError(f"not an Excel file: {quote(error)}", location(path), "save it as .xlsx again") from None
    filled = [rows for rows in sheets if rows]
    if len(filled) > 1:
        raise DecloakError(
            f"{len(filled)} sheets with cells", location(path), "save the right sheet as a separate file"
        )
    return filled[0] if filled else []


def _cost(member: zipfile.ZipInfo) -> int:
    """Return the bytes of memory for a part of the file. The texts of all sheets and the styles are kept whole."""
    whole = next((cost for name, cost in WHOLE.items() if name in member.filename), None)
    return member.file_size * (OTHERS if whole is None else whole)


def _sheet(sheet: Any) -> list[tuple[int, Cells]]:
    sheet.reset_dimensions()  # what the file claims need not be so
    rows, cost = [], 0
    for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        cost += CELLS + CELL * len(cells)
        if cost >= PIECE:
            charge(cost)
            cost = 0
        if any(cell is not None for cell in cells):
            rows.append((number, cells))
    return rows


FORMAT = Format(
    "xlsx",
    "an Excel sheet as long, or of a record a row (extra 'tables')",
    options=frozenset({"ids", "transaction", "item", "within", "header", "header_row", "fill_down", "columns"}),
    load=_load,
)
