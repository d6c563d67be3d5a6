"""The interface of document counters: a local corpus or a search service.

f(x) is the number of documents that contain x, f(x,y) the number that contain both, N the number of all documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar


class Query(NamedTuple):
    """A term to look for: the exact phrase, or all of its words anywhere in a document."""

    text: str
    words: bool = False


QueryPair = tuple[Query, Query]
"""Two terms in one document, the smaller query first."""

Term = TypeVar("Term", str, Query)


def unordered_pair(a: Term, b: Term) -> tuple[Term, Term]:
    """Return the terms `a` and `b` as a pair in ascending order, so that (a, b) and (b, a) are one key.

    >>> unordered_pair(Query("flu"), Query("cough"))
    (Query(text='cough', words=False), Query(text='flu', words=False))
    """
    return (a, b) if a <= b else (b, a)


class DocumentCounter(Protocol):
    """A counter of documents. Answers come in batches, so that each can be stored before the next is requested.

    None means that the counter does not know. It is an answer, stored like a number. Failed or skipped queries are left
    out.
    """

    @property
    def origin(self) -> str:
        """The name of the source. Stored counts of the same origin are reused. It contains no secret."""

    @property
    def n(self) -> int | None:
        """N, the number of documents; None if the counter does not know it."""

    def single(self, queries: Sequence[Query]) -> Iterator[Mapping[Query, int | None]]:
        """Yield f(x) for every one of `queries` once; None where the counter does not know."""

    def joint(self, pairs: Sequence[QueryPair]) -> Iterator[Mapping[QueryPair, int | None]]:
        """Yield f(x,y) for every one of `pairs` once; None where the counter does not know."""
