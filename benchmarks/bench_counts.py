"""How long scoring takes when every count is kept in the store already; CPU seconds, the best of several.

python benchmarks/bench_counts.py
"""

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from decloak.data.document_counter import Query, QueryPair
from decloak.relate.counting import CachedCounts
from decloak.relate.ngd import distances
from decloak.store.counts import StoredCounts
from decloak.store.opening import open_store
from timing import cpu

N = 200_000


class Made:
    """A counter that makes its counts up and tells how often it was asked."""

    origin = "made up"
    n = N

    def __init__(self) -> None:
        self.asked = 0
        self._rng = random.Random(1)

    def single(self, queries: Sequence[Query]) -> Iterator[Mapping[Query, int | None]]:
        self.asked += len(queries)
        yield {query: self._rng.randrange(1_000, 2_000) for query in queries}

    def joint(self, pairs: Sequence[QueryPair]) -> Iterator[Mapping[QueryPair, int | None]]:
        self.asked += len(pairs)
        yield {pair: self._rng.randrange(1_000) for pair in pairs}


def measure(terms: int, folder: Path) -> None:
    """Print how long it takes to keep the counts of all pairs of terms, and to score them from what is kept."""
    pairs = list(combinations([f"term {number}" for number in range(terms)], 2))
    counter = Made()
    with open_store(folder / f"{terms}.db") as store:
        cache = StoredCounts(store)
        asking = cpu(lambda: distances(CachedCounts(counter, cache), pairs), best_of=1)
        assert counter.asked == terms + len(pairs)
        counting = cpu(lambda: _counts(CachedCounts(counter, cache), pairs))
        scoring = cpu(lambda: distances(CachedCounts(counter, cache), pairs))
        assert counter.asked == terms + len(pairs), "what is kept was asked for again"
    print(f"{terms:5} terms, {len(pairs):8,} pairs: {asking:.2f} s to keep and score", end="; ")
    print(f"from the cache {counting:.3f} s to count, {scoring:.3f} s to score")


def _counts(source: CachedCounts, pairs: list[tuple[str, str]]) -> None:
    source.counts([term for pair in pairs for term in pair])
    source.joint(pairs)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for terms in (100, 300, 1000):
            measure(terms, Path(folder))


if __name__ == "__main__":
    main()
