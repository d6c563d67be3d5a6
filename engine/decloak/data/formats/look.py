"""A look at a file: what it seems to be, how sure that is, what it holds, and what is odd about it.

Nothing is read by a look alone: whoever goes by it says so.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from decloak.data.dataset import Dataset
from decloak.data.formats.lines import FilePath, ReadFile, place
from decloak.data.formats.look_fit import mark_name
from decloak.data.formats.look_guess import guess
from decloak.data.formats.look_sample import SAMPLE, FileSample, sample_of
from decloak.data.formats.look_table import Guess, guess_rows
from decloak.data.formats.look_warnings import DATE, warnings_of
from decloak.data.formats.published import parse_elements
from decloak.data.formats.readers import FORMATS, read
from decloak.data.formats.record import Options
from decloak.data.formats.unpacked import reading_file
from decloak.data.repeats import RepeatedRecords
from decloak.errors import DecloakError, shown

__all__ = ["FileCounts", "Look", "Reading", "look"]

SHOWN = 3
"""Records that are shown as they were understood."""
EXAMPLES = 3
"""Names that are shown of those that are odd."""

_ID = re.compile(r"[A-Za-z]{0,4}[-_]?\d{7,}|\S+@\S+\.\w+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


class Reading(NamedTuple):
    """A format and its options."""

    format: str
    options: Options = Options()

    @property
    def settings(self) -> dict[str, Any]:
        """The options that are not as they are by themselves."""
        values = zip(Options._fields, self.options, Options(), strict=True)
        return {name: value for name, value, unset in values if value != unset}

    def __str__(self) -> str:
        words = [self.format]
        for name, value in self.settings.items():
            words.append(name if value is True else f"{name} {mark_name(value) if len(value) == 1 else shown(value)}")
        return ", ".join(words)


class FileCounts(NamedTuple):
    """How much a file holds; of a large one only its beginning was counted."""

    records: int
    items: int
    occurrences: int
    mean: float
    longest: int
    whole: bool


@dataclass(frozen=True)
class Look:
    """What a file seems to be; `unsure` says why it may be one of the alternatives, `problem` what must be mended."""

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

    @property
    def format(self) -> str:
        return self.reading.format

    @property
    def sure(self) -> bool:
        """Whether nothing else comes into question, and it can be read."""
        return not self.unsure and self.problem is None

    @property
    def value(self) -> dict[str, Any]:
        """The same as JSON has it."""
        readings = [{"format": reading.format, **reading.settings} for reading in (self.reading, *self.alternatives)]
        counts = None if self.counts is None else self.counts._asdict()
        return asdict(self) | {
            "reading": readings[0], "alternatives": readings[1:], "counts": counts, "sure": self.sure,
        }  # fmt: skip

    def sure_reading(self, how: str) -> Reading:
        """What it is read as where nobody says; an error that names the choices, and how to say them, where that is
        not sure.
        """
        if self.problem is not None:
            raise DecloakError(f"seems to be {self.format}, but: {self.problem}", place(self.path))
        if self.unsure:
            choices = " or ".join(map(str, (self.reading, *self.alternatives)))
            raise DecloakError(
                f"not sure what it is: {'; '.join(self.unsure)}", place(self.path), f"say by {how} which: {choices}"
            )
        return self.reading


def look(path: FilePath) -> Look:
    if Path(path).is_dir():
        return Look(os.fspath(path), Reading("text"), None, "", "", False, (), (), None)
    with reading_file(path):
        return _look(path)


def _look(path: FilePath) -> Look:
    sample = sample_of(path)
    likely = guess(sample.lines) if sample.binary is None else _binary(sample)
    reading = Reading(likely.format, likely.options)
    problem = likely.problem or _unreadable(sample, reading.format)
    dataset, repeated = None, list[str]()
    if likely.problem is None and (sample.whole or sample.binary is None):
        try:
            try:
                dataset = _dataset(sample, reading)
            except RepeatedRecords as error:
                repeated.append(str(error))
                dataset = _dataset(sample, reading, repeats=True)
        except DecloakError as error:
            problem = problem or str(error).removeprefix(f"{place(sample.path)}: ")
    return Look(
        sample.path, reading, sample.packing, sample.encoding, sample.line_ends,
        any('"' in line.text for line in sample.lines), likely.unsure,
        tuple(Reading(*choice) for choice in dict.fromkeys(likely.alternatives)), problem,
        **({} if dataset is None else _contents(dataset, sample, reading, repeated)),
    )  # fmt: skip


def _binary(sample: FileSample) -> Guess:
    name = str(sample.binary)
    if name != "xlsx" or not sample.whole:
        return Guess(name)
    from decloak.data.formats.plain.xlsx import sheet_rows

    rows = [["" if cell is None else str(cell) for cell in cells] for _, cells in
            sheet_rows(sample.file.content, sample.path)]  # fmt: skip
    likely = guess_rows([_trimmed(row) for row in rows], "xlsx") if rows else Guess("xlsx")
    if likely.format == "onehot":
        return Guess("xlsx", problem="a sheet of 0 and 1: save it as CSV, which is read as onehot")
    return replace(likely, format="xlsx", alternatives=tuple(("xlsx", options) for _, options in likely.alternatives))


def _trimmed(row: list[str]) -> list[str]:
    while len(row) > 1 and not row[-1]:
        row.pop()
    return row


def _unreadable(sample: FileSample, name: str) -> str | None:
    """What keeps decloak from reading the bytes as they are."""
    if sample.binary is not None:
        return None
    if not sample.encoding.startswith("UTF-8"):
        codec = "LATIN1" if sample.encoding == "Latin-1" else sample.encoding
        guessed = " by a guess" if sample.encoding == "Latin-1" else ""
        return f"it is {sample.encoding}{guessed}: save it as UTF-8 (iconv -f {codec} -t UTF-8 FILE > NEW)"
    if sample.line_ends == "CR":
        return "lines end with a carriage return alone: write LF (tr '\\r' '\\n' < FILE > NEW)"
    if sample.packing is not None and name not in FORMATS and name != "searchlog":
        return f"it is packed: unpack it ({'gunzip' if sample.packing == '.gz' else 'unxz'} FILE)"
    return None


def _dataset(sample: FileSample, reading: Reading, *, repeats: bool = False) -> Dataset | None:
    """What it holds, read as it seems; None for what holds no plain transactions."""
    if reading.format == "published":
        elements = parse_elements(sample.lines, reading.options.ids, repeats=repeats)
        rows = tuple(tuple(item if isinstance(item, str) else f"({', '.join(item)})" for item in row)
                     for row in elements.transactions)  # fmt: skip
        return Dataset(rows, elements.labels)
    if reading.format not in FORMATS:
        return None
    return read(_readable(sample), reading.format, **reading.options._replace(repeats=repeats)._asdict())


def _readable(sample: FileSample) -> ReadFile:
    """The file as readers take it."""
    if sample.readable or sample.binary:
        return sample.file
    return ReadFile(sample.path, "".join(f"{line.text}\n" for line in sample.lines).encode("utf-8", "replace"))


def _contents(dataset: Dataset, sample: FileSample, reading: Reading, repeated: list[str]) -> dict[str, Any]:
    rows: Sequence[tuple[str, ...]] = dataset.transactions
    occurrences = sum(map(len, rows))
    all_read = reading.format in FORMATS and (sample.readable or sample.binary is not None)
    whole = sample.whole and (all_read or len(sample.file.content) <= SAMPLE)
    counts = FileCounts(len(rows), len(dataset.items), occurrences, occurrences / len(rows), max(map(len, rows)), whole)
    first = tuple(zip(dataset.labels[:SHOWN], rows[:SHOWN], strict=True))
    options = reading.options._replace(repeats=bool(repeated))  # said once
    warnings = (*repeated, *warnings_of(_readable(sample), reading.format, options, dataset))
    return {"counts": counts, "first": first, "odd": tuple(_oddities(dataset)), "warnings": warnings}


def _oddities(dataset: Dataset) -> Iterator[str]:
    """What may be a misreading or a fault of the data, in a line each."""
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
            yield f"items that look like {what}: {', '.join(map(shown, like[:EXAMPLES]))}{_more(like)}"
    groups: dict[str, list[str]] = defaultdict(list)
    for item in dataset.items:
        groups["".join(item.split()).casefold()].append(item)
    alike = [names for names in groups.values() if len(names) > 1]
    if alike:
        listed = "; ".join(" and ".join(map(shown, names[:EXAMPLES])) for names in alike[:EXAMPLES])
        yield f"names that differ in case or blanks only: {listed}{_more(alike)}"


def _more(names: Sequence[object]) -> str:
    return f" and {len(names) - EXAMPLES:,} more" if len(names) > EXAMPLES else ""
