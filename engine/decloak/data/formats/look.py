"""A look at a file: what it seems to be, how sure that is, what it holds, and what is odd about it.

Nothing is read by a look alone: whoever goes by it says so.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from decloak.data.dataset import Dataset
from decloak.data.formats.lines import FilePath, ReadFile, place
from decloak.data.formats.look_fit import mark_name
from decloak.data.formats.look_guess import Guess, guess, guess_rows
from decloak.data.formats.look_odd import oddities
from decloak.data.formats.look_sample import SAMPLE, Sample, sample_of
from decloak.data.formats.published import parse_elements
from decloak.data.formats.readers import FORMATS, read
from decloak.data.formats.record import Options
from decloak.errors import DecloakError, shown

__all__ = ["Counts", "Look", "Reading", "look"]

SHOWN = 3
"""Records that are shown as they were understood."""


class Reading(NamedTuple):
    """A format and its options."""

    format: str
    options: Options = Options()

    @property
    def settings(self) -> dict[str, Any]:
        """The options that are not as they are by themselves."""
        given = zip(Options._fields, self.options, Options(), strict=True)
        return {name: value for name, value, unset in given if value != unset}

    def __str__(self) -> str:
        words = [self.format]
        for name, value in self.settings.items():
            words.append(name if value is True else f"{name} {mark_name(value) if len(value) == 1 else shown(value)}")
        return ", ".join(words)


class Counts(NamedTuple):
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
    counts: Counts | None = None
    odd: tuple[str, ...] = ()

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
        readings = [{"format": one.format, **one.settings} for one in self.alternatives]
        told = asdict(self)
        told |= {"reading": {"format": self.format, **self.reading.settings}, "alternatives": readings}
        told |= {"counts": None if self.counts is None else self.counts._asdict(), "sure": self.sure}
        return told

    def sure_reading(self, how: str) -> Reading:
        """What it is read as where nobody says; an error that names the choices, and how to say them, where that is
        not sure.
        """
        if self.problem is not None:
            raise DecloakError(f"seems to be {self.format}, but: {self.problem}", place(self.path))
        if self.unsure:
            choices = " or ".join(str(one) for one in (self.reading, *self.alternatives))
            raise DecloakError(
                f"not sure what it is: {'; '.join(self.unsure)}", place(self.path), f"say by {how} which: {choices}"
            )
        return self.reading


def look(path: FilePath) -> Look:
    if Path(path).is_dir():
        return Look(os.fspath(path), Reading("text"), None, "", "", False, (), (), None)
    sample = sample_of(path)
    found = guess(sample.lines) if sample.binary is None else _binary(sample)
    reading = Reading(found.format, found.options)
    problem = found.problem or _unreadable(sample, reading.format)
    dataset: Dataset | None = None
    if found.problem is None and (sample.whole or sample.binary is None):
        try:
            dataset = _dataset(sample, reading)
        except DecloakError as error:
            problem = problem or str(error).removeprefix(f"{place(sample.path)}: ")
    return Look(
        sample.path, reading, sample.packing, sample.encoding, sample.line_ends,
        any('"' in line.text for line in sample.lines), found.unsure,
        tuple(Reading(*one) for one in dict.fromkeys(found.alternatives)), problem,
        **({} if dataset is None else _told(dataset, sample, reading)),
    )  # fmt: skip


def _binary(sample: Sample) -> Guess:
    name = str(sample.binary)
    if name != "xlsx" or not sample.whole:
        return Guess(name)
    from decloak.data.formats.plain.xlsx import sheet_rows

    rows = [["" if cell is None else str(cell) for cell in cells] for _, cells in
            sheet_rows(sample.file.content, sample.path)]  # fmt: skip
    found = guess_rows([_trimmed(row) for row in rows], "xlsx") if rows else Guess("xlsx")
    if found.format == "onehot":
        return Guess("xlsx", problem="a sheet of 0 and 1: save it as CSV, which is read as onehot")
    return Guess("xlsx", found.options, found.unsure, tuple(("xlsx", one) for _, one in found.alternatives),
                 found.problem)  # fmt: skip


def _trimmed(row: list[str]) -> list[str]:
    while len(row) > 1 and not row[-1]:
        row.pop()
    return row


def _unreadable(sample: Sample, name: str) -> str | None:
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


def _dataset(sample: Sample, reading: Reading) -> Dataset | None:
    """What it holds, read as it seems; None for what holds no plain transactions."""
    file = sample.file if sample.readable or sample.binary else _mended(sample)
    if reading.format == "published":
        elements = parse_elements(sample.lines, reading.options.ids)
        rows = tuple(tuple(one if isinstance(one, str) else f"({', '.join(one)})" for one in row)
                     for row in elements.transactions)  # fmt: skip
        return Dataset(rows, elements.labels)
    if reading.format in FORMATS:
        return read(file, reading.format, **reading.options._asdict())
    return None


def _mended(sample: Sample) -> ReadFile:
    return ReadFile(sample.path, "".join(f"{line.text}\n" for line in sample.lines).encode("utf-8", "replace"))


def _told(dataset: Dataset, sample: Sample, reading: Reading) -> dict[str, Any]:
    rows: Sequence[tuple[str, ...]] = dataset.transactions
    occurrences = sum(map(len, rows))
    all_read = reading.format in FORMATS and (sample.readable or sample.binary is not None)
    whole = sample.whole and (all_read or len(sample.file.content) <= SAMPLE)
    counts = Counts(len(rows), len(dataset.items), occurrences, occurrences / len(rows), max(map(len, rows)), whole)
    first = tuple(zip(dataset.labels[:SHOWN], rows[:SHOWN], strict=True))
    return {"counts": counts, "first": first, "odd": oddities(dataset)}
