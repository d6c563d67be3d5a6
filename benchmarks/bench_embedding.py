"""How long word vectors take to be ready, first and again, and to score 300 terms; the same of a WordNet database.

python benchmarks/bench_embedding.py [FOLDER OF A WORDNET DATABASE]

The word vectors are generated: 400,000 words of 100 numbers. A start is a process of its own, its memory its highest.
"""

import os
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np

from decloak.relate.word_vectors import Embedding, FileVectors
from decloak.relate.wordnet_similarity import WordNet
from timing import cpu

WORDS, NUMBERS = 400_000, 100
START = """
import resource, sys, time
from decloak.relate.word_vectors import Embedding, FileVectors
begun = time.perf_counter(), time.process_time()
Embedding(FileVectors.read(sys.argv[1])).scores([("w1", "w2 w3")])
print(f"{time.perf_counter() - begun[0]:.2f} s, CPU {time.process_time() - begun[1]:.2f} s,", end=" ")
print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
"""


def generate(path: Path) -> None:
    rng = np.random.default_rng(1)
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, WORDS, 10_000):
            block = rng.normal(size=(10_000, NUMBERS)).round(5).tolist()
            file.writelines(f"w{first + at} {' '.join(map(str, row))}\n" for at, row in enumerate(block))


def start(path: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", START, path], check=True, capture_output=True, text=True
    ).stdout.strip()


def vectors(folder: str) -> None:
    os.environ["XDG_CACHE_HOME"] = folder
    path = Path(folder) / "vectors.txt"
    generate(path)
    print(f"{WORDS:,} word vectors, {path.stat().st_size / 1e6:.0f} MB of text, first start: {start(path)}")
    print(f"second start: {start(path)}")
    embedding = Embedding(FileVectors.read(path))
    pairs = list(combinations([f"w{at * 1000} w{at}" for at in range(300)], 2))
    print(f"cosines of {len(pairs):,} pairs of 300 terms: {cpu(lambda: embedding.scores(pairs)):.2f} s")


def nouns(database: str) -> None:
    print(f"read WordNet: {cpu(lambda: WordNet.read(database)):.2f} s")
    wordnet = WordNet.read(database)
    items = wordnet.foreign_words([], 500, seed=1)
    print(f"Wu-Palmer of 124,750 pairs of 500 nouns: {cpu(lambda: wordnet.scores(combinations(items, 2))):.2f} s")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        vectors(folder)
    for database in sys.argv[1:]:
        nouns(database)


if __name__ == "__main__":
    main()
