"""Description of a file: its likely format, the doubts, its content, and its oddities.

The result alone changes nothing: a command that relies on it says so.
"""

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from decloak.data.dataset import Dataset
from decloak.data.formats.cleaning import folded
from decloak.data.formats.lines import FilePath, ReadFile, location
from decloak.data.formats.look_check import DATE, mark_name, warnings_of
from decloak.data.formats.look_evidence import SAMPLE, FileSample, sample_of
from decloak.data.formats.look_guess import Guess, guess, guess_rows
from decloak.data.formats.plain_files import FORMATS, read
from decloak.data.formats.published import parse_published
from decloak.data.formats.record import Options
from decloak.data.formats.unpacked import reading_file
from decloak.data.repeats import RepeatedRecords
from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote

SHOWN = 3
"""Number of records that are shown as decloak understands them."""
RARE = 3
"""The support below which an item is rare: it nearly names its people."""
ENOUGH = 50
"""The fewest records of which a rare item says something."""
MOST_DROPPED = 20
"""The most items that are proposed one by one to be left out."""
EXAMPLES = 3
"""Number of odd names that are shown."""

_ID = re.compile(r"[A-Za-z]{0,4}[-_]?\d{7,}|\S+@\S+\.\w+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


class Reading(NamedTuple):
    """A format and its options."""

    format: str
    options: Options = Options()

    @property
    def settings(self) -> dict[str, object]:
        """The options that differ from their defaults."""
        values = zip(Options._fields, self.options, Options(), strict=True)
        return {name: value for name, value, unset in values if value != unset}

    def __str__(self) -> str:
        words = [self.format]
        for name, value in self.settings.items():
            words.append(name if value is True else f"{name} {_format_value(value)}")
        return ", ".join(words)


def _format_value(value: Any) -> str:
    if not isinstance(value, str):
        return str(value) if isinstance(value, int) else ", ".join(map(quote, value))
    return mark_name(value) if len(value) == 1 else quote(value)


class FileCounts(NamedTuple):
    """Sizes of a file; for a large one, sizes of its first part."""

    records: int
    items: int
    occurrences: int
    mean: float
    longest: int
    whole: bool


@dataclass(frozen=True)
class Look:
    """The description of a file. `unsure` gives the reasons for the alternatives, `problem` a fault that must be fixed
    first.
    """

    path: str
    reading: Reading
    packing: str | None
    encoding: str
    line_ends: str
    quoting: bool
    unsure: tuple[str, ...]
    alternatives: tuple[Reading, ...]
    problem: str | None
    first: tuple[tuple[str, tuple[str, ...]], ...] = ()
    counts: FileCounts | None = None
    odd: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    proposals: tuple[tuple[str, str], ...] = ()
    """Keys for `clean` under `data` in a scenario, each with the reason."""

    @property
    def format(self) -> str:
        """The most likely format."""
        return self.reading.format

    @property
    def is_certain(self) -> bool:
        """True if there are no alternatives and the file can be read."""
        return not self.unsure and self.problem is None

    @property
    def value(self) -> JsonObject:
        """The description as a JSON object."""
        readings = [{"format": reading.format, **reading.settings} for reading in (self.reading, *self.alternatives)]
        counts = None if self.counts is None else self.counts._asdict()
        return asdict(self) | {
            "reading": readings[0], "alternatives": readings[1:], "counts": counts, "sure": self.is_certain,
        }  # fmt: skip

    def sure_reading(self, how: str) -> Reading:
        """Return the reading if it is certain; else raise an error with the choices, and `how` to state one."""
        if self.problem is not None:
            raise DecloakError(f"seems to be {self.format}, but: {self.problem}", location(self.path))
        if self.unsure:
            choices = " or ".join(map(str, (self.reading, *self.alternatives)))
            raise DecloakError(
                f"the format is uncertain: {'; '.join(self.unsure)}", location(self.path), f"choose by {how}: {choices}"
            )
        return self.reading


def look(path: FilePath, *, contents: bool = True) -> Look:
    """Return a description of the file at `path`; without `contents` it is not read to the end."""
    if Path(path).is_dir():
        return Look(os.fspath(path), Reading("text"), None, "", "", False, (), (), None)
    with reading_file(path):
        return _look(path, contents)


def _look(path: FilePath, contents: bool) -> Look:
    sample = sample_of(path)
    best = guess(sample.lines) if sample.binary is None else _binary(sample)
    reading = Reading(best.format, best.options)
    problem = best.problem or _unreadable(sample, reading.format)
    dataset, repeated = None, list[str]()
    # A part of a binary file cannot be read.
    if contents and best.problem is None and (sample.whole or sample.binary is None):
        try:
            try:
                dataset = _dataset(sample, reading)
            # Repeats are a warning here, so that the rest of the file is described too.
            except RepeatedRecords as error:
                repeated.append(str(error))
                dataset = _dataset(sample, reading, repeats=True)
        except DecloakError as error:
            problem = problem or str(error).removeprefix(f"{location(sample.path)}: ")
    return Look(
        sample.path, reading, sample.packing, sample.encoding, sample.line_ends,
        any('"' in line.text for line in sample.lines), best.unsure,
        tuple(Reading(*choice) for choice in dict.fromkeys(best.alternatives)), problem,
        **({} if dataset is None else _contents(dataset, sample, reading, repeated)),
        **_columns_left_out(best),
    )  # fmt: skip


def _columns_left_out(best: Guess) -> JsonObject:
    """Return the columns of a table that are not read."""
    read_here = {best.options.item, *best.options.columns, best.options.transaction if best.format != "basket" else ""}
    here = best.header[1:] if best.options.ids else best.header
    columns = tuple(name for name in here if name not in read_here)
    return {"left_out": columns}


def _binary(sample: FileSample) -> Guess:
    name = str(sample.binary)
    if name != "xlsx" or not sample.whole:
        return Guess(name)
    from decloak.data.formats.plain.xlsx import sheet_rows

    rows = [["" if cell is None else str(cell) for cell in cells] for _, cells in
            sheet_rows(sample.file.content, sample.path)]  # fmt: skip
    best = guess_rows([_trimmed(row) for row in rows], "xlsx") if rows else Guess("xlsx")
    if best.format == "onehot":
        return Guess("xlsx", problem="a sheet of 0 and 1: save it as CSV, which is read as onehot")
    return replace(best, format="xlsx", alternatives=tuple(("xlsx", options) for _, options in best.alternatives))


def _trimmed(row: list[str]) -> list[str]:
    while len(row) > 1 and not row[-1]:
        row.pop()
    return row


def _unreadable(sample: FileSample, name: str) -> str | None:
    """Return the reason why decloak cannot read the bytes unchanged, or None."""
    if sample.binary is not None:
        return None
    if not sample.encoding.startswith("UTF-8"):
        codec = "LATIN1" if sample.encoding == "Latin-1" else sample.encoding
        guessed = " by a guess" if sample.encoding == "Latin-1" else ""
        return f"it is {sample.encoding}{guessed}: save it as UTF-8 (iconv -f {codec} -t UTF-8 FILE > NEW)"
    if sample.line_ends == "CR":
        return "lines end with a carriage return alone: write LF (tr '\\r' '\\n' < FILE > NEW)"
    if sample.packing is not None and name not in FORMATS and name != "searchlog":
        return f"the file is compressed; decompress it first ({'gunzip' if sample.packing == '.gz' else 'unxz'} FILE)"
    return None


def _dataset(sample: FileSample, reading: Reading, *, repeats: bool = False) -> Dataset | None:
    """Return the content, read as it seems; None if it has no plain records."""
    if reading.format == "published":
        transactions, labels = parse_published(sample.lines, reading.options.ids, repeats=repeats)
        rows = tuple(tuple(item if isinstance(item, str) else f"({', '.join(item)})" for item in row)
                     for row in transactions)  # fmt: skip
        return Dataset(rows, labels)
    if reading.format not in FORMATS:
        return None
    return read(_readable(sample), reading.format, **reading.options._replace(repeats=repeats)._asdict())


def _readable(sample: FileSample) -> ReadFile:
    """Return the file in a form that readers accept."""
    if sample.readable or sample.binary:
        return sample.file
    return ReadFile(sample.path, "".join(f"{line.text}\n" for line in sample.lines).encode("utf-8", "replace"))


def _contents(dataset: Dataset, sample: FileSample, reading: Reading, repeated: list[str]) -> JsonObject:
    rows: Sequence[tuple[str, ...]] = dataset.transactions
    occurrences = sum(map(len, rows))
    all_read = reading.format in FORMATS and (sample.readable or sample.binary is not None)
    whole = sample.whole and (all_read or len(sample.file.content) <= SAMPLE)
    counts = FileCounts(len(rows), len(dataset.items), occurrences, occurrences / len(rows), max(map(len, rows)), whole)
    first = tuple(zip(dataset.labels[:SHOWN], rows[:SHOWN], strict=True))
    options = reading.options._replace(repeats=bool(repeated))  # said once
    warnings = (*repeated, *warnings_of(_readable(sample), reading.format, options, dataset))
    found = tuple(_oddities(dataset))
    return {"counts": counts, "first": first, "odd": found, "warnings": warnings,
            "proposals": tuple(_proposals(dataset))}  # fmt: skip


def _proposals(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """Yield keys under `clean` that the items need, each with the reason."""
    spellings = _group_spellings(dataset)
    if spellings:
        have = "1 item has" if len(spellings) == 1 else f"{len(spellings):,} items have"
        yield "fold_case: true", f"{have} several spellings"
    odd = [item for item in dataset.items if DATE.fullmatch(item) or _ID.fullmatch(item)]
    if odd and len(odd) <= MOST_DROPPED:
        yield f"drop: {json.dumps(odd, ensure_ascii=False)}", "they look like dates or ids"
    rare = sum(support < RARE for support in dataset.rows.supports().values())
    if rare and len(dataset.transactions) >= ENOUGH:
        yield f"min_support: {RARE}", f"{rare:,} of {len(dataset.items):,} items are in fewer records"


def _group_spellings(dataset: Dataset) -> list[list[str]]:
    """Return the items that differ in case or blanks only, in groups of several."""
    groups: dict[str, list[str]] = defaultdict(list)
    for item in dataset.items:
        groups[folded(item)].append(item)
    return [names for names in groups.values() if len(names) > 1]


def _oddities(dataset: Dataset) -> Iterator[str]:
    """Yield a line for each possible misreading or fault of the data."""
    sizes = Counter(map(len, dataset.transactions))
    records = len(dataset.transactions)
    if sizes[0]:
        yield f"{sizes[0]:,} of {records:,} records without items"
    if sizes[1] == records:
        yield "every record has one item"
    elif 2 * sizes[1] > records:
        yield f"{sizes[1]:,} of {records:,} records with one item"
    for what, pattern in (("dates", DATE), ("ids", _ID)):
        like = [item for item in dataset.items if pattern.fullmatch(item)]
        if like:
            yield f"items that look like {what}: {', '.join(map(quote, like[:EXAMPLES]))}{_count_rest(like)}"
    spellings = _group_spellings(dataset)
    if spellings:
        listed = "; ".join(" and ".join(map(quote, names[:EXAMPLES])) for names in spellings[:EXAMPLES])
        yield f"names that differ in case or blanks only: {listed}{_count_rest(spellings)}"


def _count_rest(names: Sequence[object]) -> str:
    return f" and {len(names) - EXAMPLES:,} more" if len(names) > EXAMPLES else ""
