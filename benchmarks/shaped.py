"""Random transactions of the shape of well-known data sets, made by decloak.data.generators.baskets, as lists."""

import gzip
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from scipy import sparse

from decloak.data.generators.baskets import shaped as generate

__all__ = ["SHAPES", "Shape", "generate", "lists", "lists_of"]


class Shape(NamedTuple):
    """A real data set: its file, and a generator of similar records; `data_shape.py` prints the statistics of both."""

    file: str
    records: int
    items: int
    length: float
    habit: float = 0.3
    classes: int = 20

    def generator(self, *, independent: bool = False) -> str:
        """The data of a scenario; `independent` items have the same supports and lengths."""
        size = f"transactions: {self.records}, items: {self.items}, length: {self.length}"
        habit = "" if independent else f", habit: {self.habit}, classes: {self.classes}"
        return f"{{generate: baskets, {size}{habit}}}"


SHAPES = {
    "kosarak": Shape("kosarak_100k_subset.dat.gz", 100_000, 23_496, 8.0),
    "retail": Shape("retail.dat.gz", 88_162, 16_470, 10.3),
    "T10I4D100K": Shape("T10I4D100K.dat.gz", 100_000, 870, 10.1),
    "recipes": Shape("recipes.tsv.gz", 39_774, 6_703, 10.8),
    "bms_webview1": Shape("bms_webview1.dat.gz", 59_602, 497, 2.5, 0.75, 50),
    "bms_webview2": Shape("bms_webview2.dat.gz", 77_512, 3_340, 4.6, 0.85, 100),
    "bms_pos": Shape("bms_pos_100k_subset.dat.gz", 100_000, 1_350, 6.9),
}


def lists(records: sparse.csr_array[Any]) -> list[list[str]]:
    """The records as lists of item names."""
    names = [f"item {number}" for number in range(records.shape[1])]
    held = [names[item] for item in records.indices.tolist()]
    start = records.indptr.tolist()
    return [held[begin:end] for begin, end in pairwise(start)]


def lists_of(name: str, data: Path | None, folder: Path) -> Path:
    """Write the records of the data set `name` into `folder`: the real ones if `data` has them, else generated ones."""
    shape, path = SHAPES[name], folder / f"{name}.dat"
    if data is not None and (data / shape.file).exists():
        path.write_bytes(gzip.decompress((data / shape.file).read_bytes()))
    else:
        path = folder / f"like {name}.dat"
        records = generate(shape.records, shape.items, shape.length, habit=shape.habit, classes=shape.classes)
        path.write_text("".join(f"{' '.join(item.split()[1] for item in row)}\n" for row in lists(records) if row))
    return path
