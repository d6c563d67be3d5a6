"""Conversion between tables with named columns and transactions: pandas, polars and Arrow.

There are three shapes: a column of lists; columns of only 0 and 1, one per item; rows of (record, item). A format
names the shape. Without a format the content of the columns decides. An explicit index, or the remaining column, has
the ids.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from importlib import import_module
from numbers import Integral
from typing import Any, Literal, NamedTuple

from decloak.errors import DecloakError, quote, quote_some, suggest
from decloak.extras import install

FrameLibrary = Literal["pandas", "polars"]
SHAPES = {"long": {"transaction", "item"}, "onehot": {"ids"}, "basket": {"ids", "item", "within"}}
"""The formats in which a frame can be read, and the options of each."""

Row = tuple[str | None, list[str]]
"""The id of a record, None if it has none, and its items."""


class Columns(NamedTuple):
    """The values of a table by column name, and the ids of its rows if they have any."""

    values: Mapping[str, Sequence[object]]
    labels: Sequence[object] | None = None


def is_frame(value: object) -> bool:
    """Return True if `value` is a frame of pandas or polars, or a table of Arrow."""
    # By its methods: the packages of frames are optional, and slow to import.
    return (hasattr(value, "to_dict") or hasattr(value, "to_pydict")) and hasattr(value, "columns")


def frame_columns(frame: Any) -> Columns:
    """Return the columns of `frame`. An index that only counts the rows is left out."""
    # The columns of an Arrow table are its data.
    keys = getattr(frame, "column_names", None) or list(frame.columns)
    names = [str(key) for key in keys]
    check_columns(names)
    values = {name: _list(frame[key]) for name, key in zip(names, keys, strict=True)}
    index = _list(frame.index) if hasattr(frame, "index") else None
    return Columns(values, None if index is None or index == list(range(len(index))) else index)


def check_columns(names: Sequence[str]) -> None:
    """Raise an error if two of the column `names` are equal."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise DecloakError(f"two columns of the frame are called {quote(twice)}", hint="rename one")


def _list(column: Any) -> list[Any]:
    # The method of pandas and polars, of Arrow, and of numpy.
    convert = next(getattr(column, name) for name in ("to_list", "to_pylist", "tolist") if hasattr(column, name))
    return list(convert())


def rows_of_columns(columns: Columns, transaction: str = "tid", item: str = "item") -> Iterator[Row]:
    """Yield the records of the table `columns`; `transaction` and `item` name the columns of ids and items, if
    any.
    """
    values = dict(columns.values)
    if not values:
        raise DecloakError("a table without columns", hint="give one with items")
    lists = [name for name, column in values.items() if _holds_lists(column)]
    # Several columns of lists are ambiguous, unless one has the agreed name.
    if len(lists) > 1 and item in lists:
        lists = [item]
    if len(lists) == 1:
        return _rows_of_lists(values.pop(lists[0]), _ids(values, columns.labels, transaction))
    if lists:
        raise DecloakError(f"the columns {quote_some(lists, 6)} all hold lists", hint="leave one of them")
    flags = [name for name, column in values.items() if _holds_flags(column)]
    # One more column may have the ids; the agreed names mean a row for each item.
    if flags and len(values) - len(flags) <= 1 and not {transaction, item} <= values.keys():
        ids = _ids({name: column for name, column in values.items() if name not in flags}, columns.labels, transaction)
        return _rows_of_flags({name: values[name] for name in flags}, ids)
    return _rows_of_pairs(*_pairs(values, columns.labels, transaction, item))


def rows_in_format(
    columns: Columns,
    shape: str,
    *,
    transaction: str,
    item: str,
    ids: bool,
    within: str | None,
) -> Iterator[Row]:
    """Yield the records of the table `columns` in a `shape` of `SHAPES`; the options are those of `read`.

    Further columns of a table in the format `long` or `basket` are left out.
    """
    values = dict(columns.values)
    if shape == "long":
        names = [_existing(values, transaction), _existing(values, item)]
        return _rows_of_pairs(*(values[name] for name in names))
    labels = values.pop(next(iter(values))) if ids and values else columns.labels
    if shape == "onehot":
        odd = next((name for name, column in values.items() if not _holds_flags(column)), None)
        if odd is not None:
            message = f"the column {quote(odd)} has other values than 0 and 1"
            raise DecloakError(message, hint="remove it; an id column comes first and needs the option ids")
        return _rows_of_flags(values, labels)
    name = item if item in values or len(values) != 1 else next(iter(values))
    column = values[_existing(values, name)]
    if within is not None:
        column = [value if _is_missing(value) or _is_list(value) else str(value).split(within) for value in column]
    if not _holds_lists(column):
        message = f"the column {quote(name)} holds no lists of items"
        raise DecloakError(message, hint="give the character between items as within, or read it as long")
    return _rows_of_lists(column, labels)


def _existing(values: Mapping[str, object], name: str) -> str:
    if name not in values:
        hint = suggest(name, values) or "name the columns with the options transaction and item"
        raise DecloakError(f"no column {quote(name)} among {quote_some(values, 6)}", hint=hint)
    return name


def make_frame(columns: Sequence[str], rows: Iterable[Sequence[object]], library: FrameLibrary | None = None) -> object:
    """Return the `rows` under `columns` as a frame of `library`; by default of pandas, else of polars."""
    names = ("pandas", "polars") if library is None else (library,)
    for name in names:
        if name not in ("pandas", "polars"):
            raise DecloakError(f"no frames of {quote(name)}", hint="use pandas or polars")
        try:
            frames = import_module(name)
        except ImportError:
            continue
        # Without rows, `zip` gives no columns either.
        values = list(zip(*rows, strict=True)) or [()] * len(columns)
        return frames.DataFrame({column: list(cells) for column, cells in zip(columns, values, strict=True)})
    raise DecloakError(f"a frame needs {' or '.join(names)}", hint=install("frames"))


def _holds_lists(column: Sequence[object]) -> bool:
    # A missing list is an empty record, so it says nothing about the column.
    there = (value for value in column if not _is_missing(value))
    first = next(there, None)
    return first is not None and _is_list(first) and all(map(_is_list, there))


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset) or getattr(value, "ndim", None) == 1


def _is_missing(value: object) -> bool:
    """Return True for None, NaN, NaT and the NA of pandas. Except for None they differ from themselves."""
    if value is None or _is_list(value):
        return value is None
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA is neither true nor false
        return True


def _holds_flags(column: Sequence[object]) -> bool:
    try:
        return 0 < len(set(column)) <= 2 and all(not _is_missing(value) and value in (0, 1) for value in set(column))
    except TypeError:  # lists, which no set holds
        return False


def _ids(
    others: Mapping[str, Sequence[object]], index: Sequence[object] | None, transaction: str
) -> Sequence[object] | None:
    """Return the ids of rows that are one transaction each."""
    if transaction in others:
        return others[transaction]
    if index is not None:
        return index
    if len(others) > 1:
        hint = f"call it {transaction}, or leave out the others"
        raise DecloakError(f"which of {quote_some(others, 6)} holds the ids is not said", hint=hint)
    return next(iter(others.values()), None)


def _rows_of_lists(column: Sequence[Any], ids: Sequence[Any] | None) -> Iterator[Row]:
    """Yield the records of a column of lists. A missing list is an empty record."""
    for number, value in enumerate(column):
        items = () if _is_missing(value) else value.tolist() if hasattr(value, "tolist") else value
        # The order of a set differs between processes, and records keep their order.
        names = sorted(items) if isinstance(items, set | frozenset) else items
        yield _id(ids, number), [cell_name(name, number) for name in names]


def _rows_of_flags(flags: Mapping[str, Sequence[object]], ids: Sequence[object] | None) -> Iterator[Row]:
    for number, row in enumerate(zip(*flags.values(), strict=True)):
        yield _id(ids, number), [item for item, flag in zip(flags, row, strict=True) if flag]


def _pairs(
    values: Mapping[str, Sequence[object]], index: Sequence[object] | None, transaction: str, item: str
) -> tuple[Sequence[object], Sequence[object]]:
    """Return the ids and the items of rows that have one item each."""
    if transaction in values and item in values:
        return values[transaction], values[item]
    if index is not None and (item in values or len(values) == 1):
        return index, values.get(item) or next(iter(values.values()))
    if index is None and len(values) == 2:
        ids, items = values.values()
        # Ids repeat, one row per item: otherwise the first column may as well be an item.
        if len(set(map(str, ids))) < len(ids):
            return ids, items
    missing = item if transaction in values else transaction
    hint = suggest(missing, values) or "say which columns hold the record and the item, or call them tid and item"
    raise DecloakError(f"no column {quote(missing)} among {quote_some(values, 6)}", hint=hint)


def _rows_of_pairs(ids: Sequence[object], items: Sequence[object]) -> Iterator[Row]:
    rows: dict[str, list[str]] = {}
    for number, name in enumerate(items):
        rows.setdefault(str(_id(ids, number)), []).append(cell_name(name, number))
    yield from rows.items()


def _id(ids: Sequence[Any] | None, number: int) -> str | None:
    return None if ids is None else cell_name(ids[number], number, "id")


def cell_name(value: Any, number: int, what: str = "item") -> str:
    """Return the cell `value` of row `number` as a name: integers in digits, dates in ISO format. `what` names the cell
    in errors.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, bool) and isinstance(value, Integral):
        return str(int(value))
    # pandas makes floats of the integers in a column where a value is missing.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    # A column of dates has midnight as the time of each.
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if _is_missing(value):
        raise DecloakError(f"row {number + 1} has no {what}", hint="fill it, or remove the row")
    raise DecloakError(f"the {what} of row {number + 1} is {quote(value)}, not a name", hint="make it text")
