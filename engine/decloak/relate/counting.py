"""Counts of terms and pairs from a document counter, which is asked every question at most once.

t is a term, q(t) its query: the exact phrase. If the phrase is absent and the term has several words, the query is all
of its words. f(t) is the number of documents that q(t) finds, f(s,t) the number that both q(s) and q(t) find, and N the
number of all documents. A term that neither query finds has f(t) = 0, so it has no score.

Joint document counts of many pairs of terms, as products of sparse or dense matrices.

A: terms × documents, 1 where the document contains the term. f(x,y) of all pairs is A Aᵀ. Where documents have few
terms the product is sparse; where they have many, blocks of documents are multiplied densely, which is then faster.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from decloak.arrays import Ints
from decloak.data.document_counter import DocumentCounter, Query, QueryPair, unordered_pair
from decloak.data.pairs import Pair
from decloak.errors import DecloakError, quote
from decloak.lazy import sparse

__all__ = ["Cache", "CachedCounts", "CountingProgress", "LookupSummary", "MemoryCache", "joint_counts"]


FEW = 3

_WORD = re.compile(r"[^\W_]+")
"""A word in the name of an item: knee-pain and knee_pain have two words."""

CountingProgress = Callable[[int, int], None]
"""Called with the number of questions that have been answered, and the number of all."""

Question = TypeVar("Question", Query, QueryPair)


class Cache(Protocol):
    """A store of answers, by the origin of the counter that gave them."""

    def known_n(self, origin: str) -> int | None:
        """Return the stored N of `origin`; None if there is none."""

    def keep_n(self, origin: str, n: int) -> None:
        """Store `n` as the N of `origin`."""

    def known(self, origin: str, queries: Sequence[Query]) -> dict[Query, int | None]:
        """Return the stored answers of `origin` to these `queries`."""

    def known_pairs(self, origin: str, pairs: Sequence[QueryPair]) -> dict[QueryPair, int | None]:
        """Return the stored answers of `origin` to these `pairs`."""

    def keep_counts(self, origin: str, counts: Mapping[Query, int | None]) -> None:
        """Store the `counts` of `origin`, by query."""

    def keep_pairs(self, origin: str, counts: Mapping[QueryPair, int | None]) -> None:
        """Store the `counts` of `origin`, by pair of queries whose own answers are stored."""


class MemoryCache:
    """A cache that lasts as long as the process."""

    def __init__(self) -> None:
        self._n: dict[str, int] = {}
        self._single: dict[tuple[str, Query], int | None] = {}
        self._joint: dict[tuple[str, QueryPair], int | None] = {}

    def known_n(self, origin: str) -> int | None:
        return self._n.get(origin)

    def keep_n(self, origin: str, n: int) -> None:
        self._n[origin] = n

    def known(self, origin: str, queries: Sequence[Query]) -> dict[Query, int | None]:
        return {query: self._single[origin, query] for query in queries if (origin, query) in self._single}

    def known_pairs(self, origin: str, pairs: Sequence[QueryPair]) -> dict[QueryPair, int | None]:
        return {pair: self._joint[origin, pair] for pair in pairs if (origin, pair) in self._joint}

    def keep_counts(self, origin: str, counts: Mapping[Query, int | None]) -> None:
        self._single.update({(origin, query): count for query, count in counts.items()})

    def keep_pairs(self, origin: str, counts: Mapping[QueryPair, int | None]) -> None:
        self._joint.update({(origin, pair): count for pair, count in counts.items()})


class LookupSummary(NamedTuple):
    """Numbers of terms found as a phrase and by their words, and the terms that were not found or have no count."""

    phrase: int
    words: int
    absent: tuple[str, ...]
    uncounted: tuple[str, ...]

    def __str__(self) -> str:
        terms = self.phrase + self.words + len(self.absent) + len(self.uncounted)
        line = f"of {terms} terms {self.phrase} were found as a phrase, {self.words} by their words, "
        line += f"{len(self.absent)} not at all{_name_some(self.absent)}"
        return line + (f"; {len(self.uncounted)} have no count{_name_some(self.uncounted)}" if self.uncounted else "")


class _Lookup(NamedTuple):
    query: Query
    documents: int | None


class CachedCounts:
    """Counts of a document counter, which is asked only for answers that the cache does not have.

    `n` replaces the N of the counter, or supplies it if the counter has none. Every answer is stored immediately.
    """

    def __init__(
        self,
        counter: DocumentCounter,
        cache: Cache | None = None,
        *,
        n: float | None = None,
        progress: CountingProgress = lambda answered, total: None,
    ) -> None:
        if n is not None and not n > 0:
            raise DecloakError(f"{quote(n)} is not a number of documents", "n", "write one above 0, such as 50000")
        self._counter = counter
        self._cache = MemoryCache() if cache is None else cache
        self._pages = n
        self._progress = progress
        self._lookups: dict[str, _Lookup] = {}
        self._unanswered: set[Query | QueryPair] = set()

    @cached_property
    def n(self) -> float:
        if self._pages is not None:
            return self._pages
        n = self._cache.known_n(self._counter.origin)
        if n is None:
            n = self._counter.n
            if n is None or n < 1:
                message = "the number of documents N is missing" if n is None else f"the number of documents N is {n}"
                raise DecloakError(message, self._counter.origin, "give it, such as pages: 50000")
            self._cache.keep_n(self._counter.origin, n)
        return n

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        """Return f(t) of each of `terms`; None where there is no answer."""
        self._look_up(dict.fromkeys(terms))
        return {term: self._lookups[term].documents for term in terms}

    def joint(self, pairs: Sequence[Pair]) -> dict[Pair, int | None]:
        """Return f(s,t) of each of `pairs`; None where there is no answer, and where a term is in no document."""
        self._look_up(dict.fromkeys(term for pair in pairs for term in pair))
        queries = {
            pair: unordered_pair(self._lookups[pair[0]].query, self._lookups[pair[1]].query)
            # A term in no document has no score, so its pairs need no question.
            for pair in self._countable_pairs(pairs)
        }
        answers = self._answers(
            dict.fromkeys(queries.values()), self._cache.known_pairs, self._counter.joint, self._cache.keep_pairs
        )
        counts = {pair: answers.get(query) for pair, query in queries.items()}
        return {(s, t): self._lookups[s].documents if s == t else counts.get((s, t)) for s, t in pairs}

    @property
    def shares(self) -> LookupSummary:
        """Return a summary of how the terms so far were found."""
        lookups = self._lookups.items()
        present = [lookup.query.words for _, lookup in lookups if lookup.documents is not None and lookup.documents > 0]
        return LookupSummary(
            present.count(False),
            present.count(True),
            tuple(term for term, lookup in lookups if lookup.documents == 0),
            # Some sources say -1 where they do not know a count.
            tuple(term for term, lookup in lookups if lookup.documents is None or lookup.documents < 0),
        )

    @property
    def notes(self) -> list[str]:
        """Return one line for each thing that a reader of the scores has to know."""
        lines = [str(self.shares)] if self._lookups else []
        if self._unanswered:
            lines.append(f"counts that are missing because of offline: true: {len(self._unanswered)}")
        return lines

    def _look_up(self, terms: Iterable[str]) -> None:
        """Choose the query of each term, and store the number of documents that it finds."""
        new = [term for term in terms if term not in self._lookups]
        if not new:
            return
        # An unknown N is an error before the first of many questions, not after the last.
        _ = self.n
        phrases = self._single(Query(term) for term in new)
        # A single word that is not found as a phrase is not found by its words either: it is not asked for again.
        absent = {term for term in new if phrases.get(Query(term)) == 0 and len(_WORD.findall(term)) > 1}
        words = self._single(Query(term, words=True) for term in new if term in absent)
        for term in new:
            query = Query(term, words=term in absent)
            self._lookups[term] = _Lookup(query, (words if query.words else phrases).get(query))

    def _countable_pairs(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        present = {
            term for term, lookup in self._lookups.items() if lookup.documents is not None and lookup.documents > 0
        }
        return ((s, t) for s, t in pairs if s != t and s in present and t in present)

    def _single(self, queries: Iterable[Query]) -> dict[Query, int | None]:
        return self._answers(queries, self._cache.known, self._counter.single, self._cache.keep_counts)

    def _answers(
        self,
        questions: Iterable[Question],
        cached: Callable[[str, Sequence[Question]], dict[Question, int | None]],
        ask: Callable[[Sequence[Question]], Iterator[Mapping[Question, int | None]]],
        keep: Callable[[str, Mapping[Question, int | None]], None],
    ) -> dict[Question, int | None]:
        """Return the stored answers and the answers to other questions; each batch is stored before the next is asked
        for.
        """
        questions, origin = list(questions), self._counter.origin
        answers = cached(origin, questions)
        missing = [question for question in questions if question not in answers]
        answered = 0
        for batch in ask(missing) if missing else ():
            keep(origin, batch)
            answers.update(batch)
            answered += len(batch)
            self._progress(answered, len(missing))
        self._unanswered.update(question for question in missing if question not in answers)
        return answers


def _name_some(terms: Sequence[str]) -> str:
    if not terms:
        return ""
    rest = len(terms) - FEW
    return ": " + ", ".join(map(quote, terms[:FEW])) + (f" and {rest} more" if rest > 0 else "")


DENSE = 0.1
"""Share of ones above which the dense product is faster, measured for 300 and for 2,000 terms."""

SLAB = 4096
CELLS = 8_000_000
"""Cells of a product that are in memory together."""


def joint_counts(holds: "sparse.csr_array[np.int32]", first: Ints, second: Ints) -> Ints:
    """Return f(x,y) of the pairs (`first`[i], `second`[i]) of rows of `holds`, a matrix of terms × documents.

    >>> holds = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1]], dtype=np.int32))
    >>> joint_counts(holds, np.array([0, 0]), np.array([1, 0])).tolist()
    [1, 2]
    """
    counts = np.zeros(len(first), dtype=np.int64)
    if not holds.nnz or not len(first):
        return counts
    rows, row = np.unique(first, return_inverse=True)
    columns, column = np.unique(second, return_inverse=True)
    dense = holds.nnz > DENSE * holds.shape[0] * holds.shape[1]
    # Only terms of these pairs are multiplied, the first ones in steps: the product of all would not fit into memory.
    right = holds[columns].T.tocsr()
    step = max(1, CELLS // len(columns))
    # Pairs are sorted by their first term, so that each block of rows is multiplied once.
    order = np.argsort(row, kind="stable")
    for low in range(0, len(rows), step):
        begin, end = np.searchsorted(row[order], (low, low + step))
        here = order[begin:end]
        block = holds[rows[low : low + step]]
        product = _dense(block, right) if dense else (block @ right).toarray()
        counts[here] = product[row[here] - low, column[here]]
    return counts


def _dense(rows: Any, columns: Any) -> Ints:
    """Multiply blocks of documents in single precision, which is exact up to 2²⁴ and so for a block."""
    product = np.zeros((rows.shape[0], columns.shape[1]), dtype=np.int64)
    turned = rows.T.tocsr()
    for low in range(0, columns.shape[0], SLAB):
        a, b = (factor[low : low + SLAB].astype(np.float32).toarray() for factor in (turned, columns))
        product += (a.T @ b).astype(np.int64)
    return product
