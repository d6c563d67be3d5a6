"""What counting in a corpus costs: CPU seconds to index it and for the NGD of all pairs of terms, and peak memory.

    python benchmarks/bench_corpus.py [INDEX]

Documents are generated: 60 to 140 words each, by Zipf's law over 100,000 words; a term is one of the 20,000 commonest,
three in ten with a common second word. With an INDEX, terms are words of its own. Each measurement is a process of its
own.
"""

import math
import multiprocessing
import random
import resource
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from decloak.data.text.documents import Documents, TextOptions
from decloak.relate.corpus_index import Corpus, build
from decloak.relate.counting import CachedCounts
from decloak.relate.ngd import distances
from timing import cpu

TERMS = (100, 200, 300, 400, 800)
DOCUMENTS = (50_000, 100_000, 200_000, 400_000)
WORDS = 100_000
Point = tuple[int, float]


def texts(count: int) -> Iterator[str]:
    rng = np.random.default_rng(1)
    chances = 1 / (np.arange(WORDS) + 3)
    upto = np.cumsum(chances / chances.sum())
    for size in rng.integers(60, 141, count):
        yield " ".join(f"w{word}" for word in np.searchsorted(upto, rng.random(size)))


def indexed(count: int, folder: str) -> tuple[float, float]:
    """CPU seconds and megabytes of the index of so many documents."""
    source, out = Path(folder) / f"{count}.txt", Path(folder) / f"{count}.index"
    source.write_text("".join(f"{text}\n" for text in texts(count)), encoding="utf-8")
    spent = cpu(lambda: build([Documents(source, TextOptions(lines=True))], out), best_of=1)
    source.unlink()
    return spent, out.stat().st_size / 1e6


def generated_terms(count: int) -> list[str]:
    rng = random.Random(2)
    words = [f"w{word}" for word in rng.sample(range(20_000), count)]
    return [f"{word} w{rng.randrange(100)}" if rng.random() < 0.3 else word for word in words]


def own_terms(index: Path, count: int) -> list[str]:
    with closing(sqlite3.connect(index)) as connection:
        connection.execute("create virtual table temp.word using fts5vocab(main, documents, row)")
        query = "select term from word where doc between 50 and 100000 and term glob '[a-z][a-z][a-z]*' order by term"
        return random.Random(2).sample([term for (term,) in connection.execute(query)], count)


def scored(index: Path, terms: Sequence[str]) -> tuple[float, int]:
    """CPU seconds for the NGD of all pairs, and peak megabytes of this process."""
    pairs = list(combinations(terms, 2))

    def score() -> None:
        with Corpus.open(index) as corpus:
            distances(CachedCounts(corpus), pairs)

    return cpu(score), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def apart(job, *arguments):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(job, arguments)


def exponent(points: Sequence[Point]) -> float:
    """The slope of log time on log size, by least squares."""
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])


def measured(index: Path, name: str, terms: Sequence[str]) -> float:
    spent, peak = apart(scored, index, terms)
    print(f"{name}: NGD of {len(terms):,} terms, {math.comb(len(terms), 2):,} pairs: {spent:.2f} s, {peak} MB peak")
    return spent


def main() -> None:
    if len(sys.argv) > 1:
        index = Path(sys.argv[1])
        found = [(count, measured(index, index.name, own_terms(index, count))) for count in TERMS]
        print(f"time grows as terms^{exponent(found):.2f}")
        return
    with TemporaryDirectory() as folder:
        by_documents = []
        for count in DOCUMENTS:
            spent, size = apart(indexed, count, folder)
            print(f"{count:,} documents indexed in {spent:.1f} s, {size:.0f} MB")
            index = Path(folder) / f"{count}.index"
            by_documents.append((count, measured(index, f"{count:,} documents", generated_terms(300))))
        index = Path(folder) / "200000.index"
        by_terms = [(count, measured(index, "200,000 documents", generated_terms(count))) for count in TERMS]
        print(f"time grows as documents^{exponent(by_documents):.2f} and terms^{exponent(by_terms):.2f}")


if __name__ == "__main__":
    main()
