"""Make records, document counts and word vectors out of articles: the data of the figures about re-association.

    python benchmarks/articles.py FOLDER OUT

FOLDER has mtsamples_notes.jsonl.xz, corpus_wiki_lite.tsv.xz, corpus_medical.tsv.xz, glove100_i8_150k.npz and
glove100_vocab_150k.txt.gz. OUT gets the files that `decloak gallery disassociation --data OUT` reads: the records of
medical notes and of 1,000 articles of Wikipedia, whose items the text reader finds; f(x), f(x,y) and N of the most
frequent items; and GloVe's vectors of their words. The counts are those of other articles: no document is both
attacked and counted.
"""

import csv
import gzip
import lzma
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from count_terms import counts, documents
from decloak.data.dataset import Dataset
from decloak.data.text.notes import read_text

ARTICLES, PARAGRAPHS = 1_000, 8
"""Number of articles, and the least number of paragraphs of one."""
ITEMS = 300
"""Number of frequent items that are counted, for each kind of article: more than dense samples have."""


def wiki(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the articles as their number and their paragraphs, a line each."""
    with lzma.open(folder / "corpus_wiki_lite.tsv.xz", "rt", encoding="utf-8") as lines:
        pairs = (line.rstrip("\n").split("\t", 1) for line in lines)
        for number, paragraphs in groupby(pairs, key=lambda pair: pair[0]):
            yield number, "\n".join(text for _, text in paragraphs)


def frequent(records: Dataset) -> list[str]:
    support = Counter(item for record in records.transactions for item in record)
    return [item for item, _ in support.most_common(ITEMS)]


def write_records(records: Dataset, items: Sequence[str], path: Path) -> None:
    kept = set(items)
    rows = ([item for item in record if item in kept and "," not in item] for record in records.transactions)
    path.write_text("".join(f"{','.join(row)}\n" for row in rows if row), encoding="utf-8")


def write_vectors(folder: Path, items: Sequence[str], path: Path) -> None:
    """Write the vectors of the words of `items` like GloVe writes text."""
    words = {word for item in items for word in item.split()}
    packed = np.load(folder / "glove100_i8_150k.npz")
    with gzip.open(folder / "glove100_vocab_150k.txt.gz", "rt", encoding="utf-8") as lines:
        rows = {word: row for row, word in enumerate(line.rstrip("\n") for line in lines) if word in words}
    at = list(rows.values())
    vectors = packed["q"][at] * packed["scale"][at, np.newaxis].astype(np.float32) / 127  # the scale is of the largest
    with path.open("w", encoding="utf-8") as file:
        for word, vector in zip(rows, vectors, strict=True):
            print(word, *(f"{number:.4f}" for number in vector), file=file)


def main() -> None:
    folder, out = map(Path, sys.argv[1:])
    out.mkdir(exist_ok=True)
    chosen: list[tuple[str, str]] = []
    others: list[str] = []
    for number, text in wiki(folder):
        if len(chosen) < ARTICLES and text.count("\n") + 1 >= PARAGRAPHS:
            chosen.append((number, text))
        else:
            others += text.split("\n")
    with tempfile.TemporaryDirectory() as texts:
        for number, text in chosen:
            (Path(texts) / f"{number}.txt").write_text(text, encoding="utf-8")
        of = {
            "articles_notes": read_text(folder / "mtsamples_notes.jsonl.xz", field="text", ids="id"),
            "articles_wiki": read_text(Path(texts)),
        }
    items = {name: frequent(records) for name, records in of.items()}
    for name, records in of.items():
        write_records(records, items[name], out / f"{name}.csv")
    every = sorted({item for some in items.values() for item in some if "," not in item})
    medical = documents(folder / "corpus_medical.tsv.xz", ["mtsamples", "mtsdialog"])
    with (out / "articles_counts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("a", "b", "count"), *counts(every, [*others, *medical])])
    write_vectors(folder, every, out / "articles_vectors.txt")


if __name__ == "__main__":
    main()
