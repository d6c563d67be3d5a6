"""Counts of terms and pairs from a document counter, which is asked every question at most once.

t is a term, q(t) its query: the exact phrase. If the phrase is absent and the term has several words, the query is all
of its words. f(t) is the number of documents that q(t) finds, f(s,t) the number that both q(s) and q(t) find, and N the
number of all documents. A term that neither query finds has f(t) = 0, so it has no score.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

from decloak.data.document_counter import DocumentCounter, Query, QueryPair, unordered_pair
from decloak.data.tables import Pair
from decloak.errors import DecloakError, quote

__all__ = ["Cache", "CachedCounts", "CountingProgress", "LookupSummary", "MemoryCache"]

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
        _ = self.n  # whoever cannot know N is told before the first of many questions, not after the last
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
        keep_counts: Callable[[str, Mapping[Question, int | None]], None],
    ) -> dict[Question, int | None]:
        """Return the stored answers and the answers to other questions; each batch is stored before the next is asked
        for.
        """
        questions, origin = list(questions), self._counter.origin
        answers = cached(origin, questions)
        missing = [question for question in questions if question not in answers]
        answered = 0
        for batch in ask(missing) if missing else ():
            keep_counts(origin, batch)
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
