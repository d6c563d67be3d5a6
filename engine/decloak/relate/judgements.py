"""Human judgements of relatedness: CSV files with the header a,b,human and columns of other methods.

`judgements.csv` in this folder has the facts of table 3.1 of Shao's thesis (2015): thirty pairs of nouns judged by 32
people (Rubenstein and Goodenough 1965), and the scores of three methods. Larger is closer in every column.
"""

from importlib.resources import as_file, files
from typing import NamedTuple

from decloak.data.formats.delimited import read_number, split
from decloak.data.formats.lines import FilePath, Line, read_lines
from decloak.data.tables import Pair
from decloak.errors import quote

__all__ = ["PRINTED", "Judgements", "read_judgements", "thirty_pairs"]

PRINTED = {"NGD' of the thesis": 0.72, "Li et al.": 0.72, "Islam et al.": 0.64}
"""Correlations that the thesis prints below its table."""


class Judgements(NamedTuple):
    """Pairs with their human judgements, and the scores of other methods by name."""

    pairs: list[Pair]
    human: list[float]
    others: dict[str, list[float | None]]


def thirty_pairs() -> Judgements:
    """Return the judgements of the thesis."""
    with as_file(files("decloak.relate") / "judgements.csv") as path:
        return read_judgements(path)


def read_judgements(path: FilePath) -> Judgements:
    """Read the judgements at `path` and return them; a pair may occur again, and a method may leave out a pair."""
    lines = read_lines(path)
    header = split(lines[0])
    if header[:3] != ["a", "b", "human"] or len(set(header)) < len(header) or not all(header):
        raise lines[0].error("expected the header a,b,human", "further columns are named after other methods")
    judgements = Judgements([], [], {name: [] for name in header[3:]})
    for line in lines[1:]:
        values = split(line)
        if len(values) != len(header):
            raise line.error(f"{len(values)} values where the header has {len(header)}", "put commas in quotes")
        a, b, human, *further = values
        if not (a and b):
            raise line.error("a pair needs two names", "write both, or remove the line")
        judgements.pairs.append((a, b))
        judgements.human.append(_number(line, human))
        for column, value in zip(judgements.others.values(), further, strict=True):
            column.append(_number(line, value) if value else None)
    return judgements


def _number(line: Line, text: str) -> float:
    try:
        value = read_number(text)
    except ValueError:
        value = float("nan")
    # NaN is not below infinity either, so that one test refuses both.
    if not abs(value) < float("inf"):
        raise line.error(f"{quote(text)} is not a number", "write such as 0.85")
    return value
