"""Format `spmf`: whole numbers separated by spaces, as the SPMF library writes them.

-1 (end of an itemset) and -2 (end of a sequence, the last of its line) are passed over. A line @ITEM=n=name
names item n; other lines that begin with @, % or # are comments. An empty record is -2.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from decloak.arrays import Ints
from decloak.data.dataset import Dataset
from decloak.data.formats.lines import BLOCK, LONGEST_LINE, Line, check_name
from decloak.data.formats.record import NUMBER, ROW, TEXT, Format, Options, Record
from decloak.data.read_budget import charge
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, quote

# Numbers of 18 digits always fit into eight bytes.
DIGITS = 18


def _parse(lines: Iterable[Line], options: Options) -> Iterator[Record]:
    names: dict[str, str] = {}
    numbers: dict[str, str] = {}
    for line in lines:
        if line.text.startswith("@ITEM="):
            _take_name(line, names, numbers)
        elif not line.text.strip():
            raise line.error("an empty line", "remove it; an empty transaction is -2")
        elif not line.text.startswith(("@", "%", "#")):
            yield Record(line, None, [_named(line, number, names, numbers) for number in _items(line)])


def _rows(content: bytes) -> CodedRows[str] | None:
    """Return the records of a file with numbers, blanks and line ends alone; None for any other file."""
    content = content.rstrip()
    if not content or content.translate(None, b"0123456789 \n"):
        return None
    parts, begin = list[tuple[Ints, Ints]](), 0
    while begin < len(content):
        end = content.find(b"\n", begin + BLOCK) + 1 or len(content)
        part = _lengths_and_numbers(content[begin:end])
        if part is None:
            return None
        parts.append(part)
        begin = end
    largest = max(int(numbers.max()) for _, numbers in parts)
    code: Callable[[Ints], Ints]
    if largest < len(content):  # a table of all numbers is no larger than the file: faster than a search
        there = np.zeros(largest + 1, np.bool_)
        for _, numbers in parts:
            there[numbers] = True
        (names,) = np.nonzero(there)
        code = (np.cumsum(there) - 1).take
    else:
        names = np.unique(np.concatenate([np.unique(numbers) for _, numbers in parts]))
        code = names.searchsorted
    charge(TEXT * len(names))
    coded = [_sets(lengths, code(numbers).astype(np.int32)) for lengths, numbers in parts]
    lengths, codes = (np.concatenate(column) for column in zip(*coded, strict=True))
    return CodedRows(np.append(0, np.cumsum(lengths)), codes, tuple(map(str, names.tolist()))).with_used_names


def _lengths_and_numbers(block: bytes) -> tuple[Ints, Ints] | None:
    """Return how many numbers each line of a block has, and all of them; None if `_parse` must read it."""
    text = np.frombuffer(b"\n%b\n" % block.removesuffix(b"\n"), np.uint8)
    digit = text > ord(" ")
    (edge,) = np.nonzero(digit[1:] != digit[:-1])
    before, last = edge[::2], edge[1::2]  # the places before each number, and of its last digit
    (line_end,) = np.nonzero(text == ord("\n"))
    lengths = np.diff(np.searchsorted(before, line_end))
    if lengths.min() == 0 or np.diff(line_end).max() > LONGEST_LINE or (last - before).max() > DIGITS:
        return None
    charge(len(block) + ROW * len(lengths) + NUMBER * len(before))
    return lengths, np.fromstring(block, np.int64, sep=" ")


def _sets(lengths: Ints, codes: Ints) -> tuple[Ints, Ints]:
    """Return the rows with these lengths and codes, without the items that come again in their row."""
    row = np.repeat(np.arange(len(lengths)), lengths)
    # A code has 31 bits, so that no two rows share a key.
    key = row << 32 | codes
    ascending = np.sort(key)
    if (ascending[1:] != ascending[:-1]).all():
        return lengths, codes
    kept = np.sort(np.unique(key, return_index=True)[1])
    return np.bincount(row[kept], minlength=len(lengths)), codes[kept]


def _take_name(line: Line, names: dict[str, str], numbers: dict[str, str]) -> None:
    number, equals, name = line.text.removeprefix("@ITEM=").partition("=")
    name = name.strip()
    if number in ("-1", "-2"):  # how SPMF's text converter prints the two marks
        return
    if not (equals and name and _is_number(number)):
        raise line.error("not the name of an item", "write @ITEM=12=bread")
    number = str(int(number))
    # An item that was read without a name would have a second one from here on.
    if number in names or numbers.get(number) == number or numbers.get(name, number) != number:
        raise line.error(
            f"the number {number} or the name {quote(name)} is taken", "name every item once, above its use"
        )
    names[number], numbers[name] = name, number


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= DIGITS


def _items(line: Line) -> list[str]:
    words = line.text.split()
    if words and words[-1] == "-2":
        words.pop()
    wrong = next((word for word in words if word != "-1" and not _is_number(word)), None)
    if wrong is not None:
        raise line.error(
            f"{quote(wrong)} is not the number of an item",
            "spmf holds whole numbers separated by spaces; for names use the format basket",
            line.text.index(wrong) + 1,
        )
    return [str(int(word)) for word in words if word != "-1"]


def _named(line: Line, number: str, names: dict[str, str], numbers: dict[str, str]) -> str:
    """Return the name of the item, or its number if it has none. That number must not be the name of another item."""
    name = names.get(number, number)
    if numbers.setdefault(name, number) != number:
        raise line.error(f"item {number} has no name, and {number} is the name of another", "name every item")
    return name


def _render(dataset: Dataset, options: Options) -> Iterator[str]:
    """Write SPMF records with the names of the items before them."""
    numbers = {item: str(number) for number, item in enumerate(dataset.items, 1)}
    yield "@CONVERTED_FROM_TEXT"
    for item, number in numbers.items():
        if item != check_name(item).strip() or "\n" in item or "\r" in item:
            raise DecloakError(f"spmf cannot carry the blanks of the name {quote(item)}", hint="write jsonl")
        yield f"@ITEM={number}={item}"
    for items in dataset.transactions:
        yield " ".join(numbers[item] for item in items) or "-2"


FORMAT = Format("spmf", "whole numbers separated by spaces", _parse, _render, rows=_rows)
