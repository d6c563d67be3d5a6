"""Count terms in a corpus: f(x), f(x,y) and N of every item of some transactions, as a counts file.

    python benchmarks/count_terms.py ITEMS.txt CORPUS.tsv.xz [--without SOURCE]... > counts.csv

The corpus has one document a line, `source<TAB>text`. A term is counted as a phrase of stemmed words.
This is how scenarios/quickstart/counts.csv was made; tests/test_quickstart.py checks it against the corpus.
"""

import argparse
import csv
import lzma
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from decloak.data.formats.plain_files import read


def documents(path: Path, without: Iterable[str]) -> Iterator[str]:
    left_out = set(without)
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, text = line.split("\t", 1)
            if source not in left_out:
                yield text


def counts(terms: Iterable[str], texts: Iterable[str]) -> Iterator[tuple[str, str, int]]:
    """Rows of a counts file: N, f(x) of each term, f(x,y) of each pair."""
    index = sqlite3.connect(":memory:")
    index.execute("create virtual table d using fts5(t, content='', tokenize='porter unicode61', columnsize=0)")
    number = 0
    for number, text in enumerate(texts, 1):
        index.execute("insert into d(rowid, t) values (?, ?)", (number, text))
    yield "", "", number
    found = {}
    for term in sorted(terms):
        query = '"' + term.replace('"', '""') + '"'
        found[term] = {row for (row,) in index.execute("select rowid from d where d match ?", (query,))}
        yield term, "", len(found[term])
    for a, b in combinations(found, 2):
        yield a, b, len(found[a] & found[b])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("items", type=Path, help="transactions with an id, one a line")
    parser.add_argument("corpus", type=Path, help="source<TAB>text, one document a line, xz")
    parser.add_argument("--without", action="append", default=[], help="a source to leave out")
    arguments = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("a", "b", "count"))
    items = read(arguments.items, "basket", ids=True).items
    writer.writerows(counts(items, documents(arguments.corpus, arguments.without)))


if __name__ == "__main__":
    main()
