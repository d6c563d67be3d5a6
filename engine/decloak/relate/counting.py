"""Counts of terms and pairs by asking a counter of documents, every question once ever.

t is a term, q(t) the query it is looked for by: the exact phrase; where no document holds that and the term has
several words, all of its words. f(t) is the number of documents q(t) finds, f(s,t) of those that q(s) and q(t)
both find, N of all there are. A term that is found neither way has f(t) = 0, so no score.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

from decloak.data.query import Both, Counter, Query, both
from decloak.data.tables import Pair
from decloak.errors import DecloakError, shown

__all__ = ["Cache", "Counted", "CountingProgress", "Memory", "Shares"]

FEW = 3

_WORD = re.compile(r"[^\W_]+")
"""A word in an item's name: knee-pain and knee_pain have two."""

CountingProgress = Callable[[int, int], None]
"""Told how many questions of how many have been answered."""

Question = TypeVar("Question", Query, Both)


class Cache(Protocol):
    """Keeps answers by the origin of the counter that gave them."""

    def known_n(self, origin: str) -> int | None:
        """N, None when it was never kept."""

    def keep_n(self, origin: str, n: int) -> None:
        """Keep N."""

    def known(self, origin: str, queries: Sequence[Query]) -> dict[Query, int | None]:
        """The answers there are to these queries."""

    def known_pairs(self, origin: str, pairs: Sequence[Both]) -> dict[Both, int | None]:
        """The answers there are to these pairs."""

    def keep(self, origin: str, counts: Mapping[Query, int | None]) -> None:
        """Keep answers to queries."""

    def keep_pairs(self, origin: str, counts: Mapping[Both, int | None]) -> None:
        """Keep answers to pairs of queries whose own answers are kept."""


class Memory:
    """A cache that lasts as long as the process."""

    def __init__(self) -> None:
        self._n: dict[str, int] = {}
        self._single: dict[tuple[str, Query], int | None] = {}
        self._joint: dict[tuple[str, Both], int | None] = {}

    def known_n(self, origin: str) -> int | None:
        return self._n.get(origin)

    def keep_n(self, origin: str, n: int) -> None:
        self._n[origin] = n

    def known(self, origin: str, queries: Sequence[Query]) -> dict[Query, int | None]:
        return {query: self._single[origin, query] for query in queries if (origin, query) in self._single}

    def known_pairs(self, origin: str, pairs: Sequence[Both]) -> dict[Both, int | None]:
        return {pair: self._joint[origin, pair] for pair in pairs if (origin, pair) in self._joint}

    def keep(self, origin: str, counts: Mapping[Query, int | None]) -> None:
        self._single.update({(origin, query): count for query, count in counts.items()})

    def keep_pairs(self, origin: str, counts: Mapping[Both, int | None]) -> None:
        self._joint.update({(origin, pair): count for pair, count in counts.items()})


class Shares(NamedTuple):
    """How terms were found: how many as a phrase and by their words, which not at all, which have no count."""

    phrase: int
    words: int
    absent: tuple[str, ...]
    uncounted: tuple[str, ...]

    def __str__(self) -> str:
        terms = self.phrase + self.words + len(self.absent) + len(self.uncounted)
        line = f"of {terms} terms {self.phrase} were found as a phrase, {self.words} by their words, "
        line += f"{len(self.absent)} not at all{_listed(self.absent)}"
        return line + (f"; {len(self.uncounted)} have no count{_listed(self.uncounted)}" if self.uncounted else "")


class _Lookup(NamedTuple):
    query: Query
    documents: int | None


class Counted:
    """A source of counts that asks a counter what its cache does not know, and keeps each answer at once.

    `n` stands for N where the counter cannot tell it, or before what it tells.
    """

    def __init__(
        self,
        counter: Counter,
        cache: Cache | None = None,
        *,
        n: float | None = None,
        progress: CountingProgress = lambda answered, total: None,
    ) -> None:
        if n is not None and not n > 0:
            raise DecloakError(f"{shown(n)} is not a number of documents", "n", "write one above 0, such as 50000")
        self._counter = counter
        self._cache = Memory() if cache is None else cache
        self._pages = n
        self._progress = progress
        self._lookups: dict[str, _Lookup] = {}
        self._left_out: set[Query | Both] = set()

    @cached_property
    def n(self) -> float:
        if self._pages is not None:
            return self._pages
        n = self._cache.known_n(self._counter.origin)
        if n is None:
            n = self._counter.n
            if n is None or n < 1:
                message = "nobody tells N, the number of documents" + ("" if n is None else f": it is said to be {n}")
                raise DecloakError(message, self._counter.origin, "give it, such as pages: 50000")
            self._cache.keep_n(self._counter.origin, n)
        return n

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        """f(t) of every term; None where there is no answer."""
        self._find(dict.fromkeys(terms))
        return {term: self._lookups[term].documents for term in terms}

    def joint(self, pairs: Sequence[Pair]) -> dict[Pair, int | None]:
        """f(s,t) of every pair; None where there is no answer, and where either term is in no document."""
        self._find(dict.fromkeys(term for pair in pairs for term in pair))
        queries = {
            pair: both(self._lookups[pair[0]].query, self._lookups[pair[1]].query) for pair in self._askable(pairs)
        }
        answers = self._answers(
            dict.fromkeys(queries.values()), self._cache.known_pairs, self._counter.joint, self._cache.keep_pairs
        )
        counts = {pair: answers.get(query) for pair, query in queries.items()}
        return {(s, t): self._lookups[s].documents if s == t else counts.get((s, t)) for s, t in pairs}

    @property
    def shares(self) -> Shares:
        """How the terms asked for so far were found."""
        lookups = self._lookups.items()
        present = [lookup.query.words for _, lookup in lookups if lookup.documents is not None and lookup.documents > 0]
        return Shares(
            present.count(False),
            present.count(True),
            tuple(term for term, lookup in lookups if lookup.documents == 0),
            tuple(term for term, lookup in lookups if lookup.documents is None or lookup.documents < 0),
        )

    @property
    def notes(self) -> list[str]:
        """What a reader of the scores has to know of them, a line each."""
        lines = [str(self.shares)] if self._lookups else []
        if self._left_out:
            lines.append(f"counts that were never asked for (offline), so there are none: {len(self._left_out)}")
        return lines

    def _find(self, terms: Iterable[str]) -> None:
        """Settle by which query each term is looked for, and how many documents that finds."""
        new = [term for term in terms if term not in self._lookups]
        if not new:
            return
        _ = self.n  # whoever cannot know N is told before the first of many questions, not after the last
        phrases = self._single(Query(term) for term in new)
        # A single word that is not found as a phrase is not found by its words either: it is not asked for again.
        absent = {term for term in new if phrases.get(Query(term)) == 0 and len(_WORD.findall(term)) > 1}
        words = self._single(Query(term, words=True) for term in new if term in absent)
        for term in new:
            query = Query(term, words=term in absent)
            self._lookups[term] = _Lookup(query, (words if query.words else phrases).get(query))

    def _askable(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        present = {
            term for term, lookup in self._lookups.items() if lookup.documents is not None and lookup.documents > 0
        }
        return ((s, t) for s, t in pairs if s != t and s in present and t in present)

    def _single(self, queries: Iterable[Query]) -> dict[Query, int | None]:
        return self._answers(queries, self._cache.known, self._counter.single, self._cache.keep)

    def _answers(
        self,
        questions: Iterable[Question],
        cached: Callable[[str, Sequence[Question]], dict[Question, int | None]],
        ask: Callable[[Sequence[Question]], Iterator[Mapping[Question, int | None]]],
        keep: Callable[[str, Mapping[Question, int | None]], None],
    ) -> dict[Question, int | None]:
        """What is known already, and the answers to the rest, each batch kept before the next is asked for."""
        questions, origin = list(questions), self._counter.origin
        answers = cached(origin, questions)
        missing = [question for question in questions if question not in answers]
        answered = 0
        for batch in ask(missing) if missing else ():
            keep(origin, batch)
            answers.update(batch)
            answered += len(batch)
            self._progress(answered, len(missing))
        self._left_out.update(question for question in missing if question not in answers)
        return answers


def _listed(terms: Sequence[str]) -> str:
    if not terms:
        return ""
    rest = len(terms) - FEW
    return ": " + ", ".join(map(shown, terms[:FEW])) + (f" and {rest} more" if rest > 0 else "")
