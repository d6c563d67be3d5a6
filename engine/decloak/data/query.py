"""What every counter of documents can be asked: a corpus of one's own, or a search service.

f(x) is the number of documents that hold x, f(x,y) of those that hold both, N of all there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

__all__ = ["Both", "Counter", "Query", "both"]


class Query(NamedTuple):
    """A term as it is looked for: the exact phrase, or all of its words anywhere in a document."""

    text: str
    words: bool = False


Both = tuple[Query, Query]
"""Two terms in one document, the lesser query first."""

Term = TypeVar("Term", str, Query)


def both(a: Term, b: Term) -> tuple[Term, Term]:
    """The unordered pair of two terms, or of two queries.

    >>> both(Query("flu"), Query("cough"))
    (Query(text='cough', words=False), Query(text='flu', words=False))
    """
    return (a, b) if a <= b else (b, a)


class Counter(Protocol):
    """Counts documents. Answers come in batches: each can be kept before more is asked.

    None, it cannot tell, is an answer and kept like a number. What failed, or was not asked, is left out.
    """

    @property
    def origin(self) -> str:
        """What names it: counts of one origin may be kept and used again. It holds no secret."""

    @property
    def n(self) -> int | None:
        """N, the number of documents; None where it cannot tell."""

    def single(self, queries: Sequence[Query]) -> Iterator[Mapping[Query, int | None]]:
        """f(x) of every query once; None where it cannot tell."""

    def joint(self, pairs: Sequence[Both]) -> Iterator[Mapping[Both, int | None]]:
        """f(x,y) of every pair once; None where it cannot tell."""
