"""The kinds of search services: the question for a count, and the meaning of the answer.

A phrase is put in quotes, or in match_phrase; by words, a document has to contain all of the words, in any order. A
question about two terms finds documents that match both. Terms come from published data, so a term may not act as
search syntax. Control characters, quotes and wildcards become blanks. Single words are written without marks around
them, in lower case, so that none is an operator.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple
from urllib import parse

from decloak.data.document_counter import Query
from decloak.errors import DecloakError, quote
from decloak.relate.sending import TemporaryFailure

__all__ = ["KINDS", "Elasticsearch", "Json", "Kind", "MediaWiki", "Question", "SearXNG", "is_valid_question"]

DIGITS = 18

LONGEST = 300
"""Characters of a question; a wiki refuses longer ones."""

_SYNTAX = re.compile('[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff"\\\\*“”„‟]')
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


class Question(NamedTuple):
    """A question, and the path of the count in the answer."""

    url: str
    path: str
    body: bytes | None = None


class Kind(ABC):
    """One kind of search service at one address."""

    def __init__(self, url: str) -> None:
        self.url = url

    @abstractmethod
    def question(self, terms: Sequence[Query]) -> Question:
        """Return the question for the number of documents that contain all `terms`."""

    def document_count_question(self) -> Question | None:
        """Return the question for the number of all documents; None where the service cannot answer it."""
        return None

    def read(self, answer: object, path: str) -> int | None:
        """Return the count at `path` in an `answer`; None where the service says that it has none."""
        value = _value_at(answer, path)
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= DIGITS:
            return int(value)
        if value is not None and (type(value) is not int or abs(value) >= 10**DIGITS):
            raise DecloakError(f"{quote(path)} of the answer is no count", hint="check service, url and path")
        return value

    def _get(self, **parameters: str) -> str:
        return f"{self.url}{'&' if '?' in self.url else '?'}{parse.urlencode(parameters)}"


class MediaWiki(Kind):
    """A wiki; the url ends in its api.php."""

    BUSY = ("ratelimited", "maxlag", "cirrussearch-too-busy-error")

    def question(self, terms: Sequence[Query]) -> Question:
        """Return a search of titles and texts for `terms`, which asks only for the number of hits."""
        url = self._get(
            action="query",
            list="search",
            srsearch=_wording(terms, " "),
            srinfo="totalhits",
            srprop="",
            srlimit="1",
            format="json",
        )
        return Question(url, "query.searchinfo.totalhits")

    def document_count_question(self) -> Question:
        url = self._get(action="query", meta="siteinfo", siprop="statistics", format="json")
        return Question(url, "query.statistics.articles")

    def read(self, answer: object, path: str) -> int | None:
        """Return the count at `path` in an `answer`; a wiki answers with status 200 even if it refuses."""
        error = answer.get("error") if isinstance(answer, dict) else None
        if isinstance(error, dict):
            message = f"answered {quote(error.get('code'))}: {quote(error.get('info'), 200)}"
            if error.get("code") in self.BUSY or str(error.get("code")).startswith("internal_api_error"):
                raise TemporaryFailure(message)
            raise DecloakError(message, hint="use the url of api.php")
        return super().read(answer, path)


class Elasticsearch(Kind):
    """Elasticsearch or OpenSearch; the url ends in an index and /_count."""

    def __init__(self, url: str, field: str) -> None:
        super().__init__(url)
        self.field = field

    def question(self, terms: Sequence[Query]) -> Question:
        """Return a count of documents whose field matches all `terms`."""
        return self._counting({"bool": {"must": [self._clause(term) for term in terms]}})

    def _clause(self, term: Query) -> dict[str, object]:
        if term.words:
            return {"match": {self.field: {"query": " ".join(_words(term.text)), "operator": "and"}}}
        return {"match_phrase": {self.field: _plain(term.text)}}

    def document_count_question(self) -> Question:
        return self._counting({"match_all": {}})

    def _counting(self, query: dict[str, object]) -> Question:
        return Question(self.url, "count", json.dumps({"query": query}).encode())

    def read(self, answer: object, path: str) -> int | None:
        """Return the count at `path` in an `answer`, unless a part of the index did not reply."""
        shards = answer.get("_shards") if isinstance(answer, dict) else None
        if isinstance(shards, dict) and shards.get("failed"):
            raise TemporaryFailure(f"{quote(shards['failed'])} shards of the index did not answer")
        return super().read(answer, path)


class SearXNG(Kind):
    """SearXNG; the url is its search page. Only some of its engines return the number of hits."""

    def question(self, terms: Sequence[Query]) -> Question:
        return Question(self._get(q=_wording(terms, " "), format="json"), "number_of_results")

    def read(self, answer: object, path: str) -> int | None:
        """Return the count at `path` in an `answer`; 0 with results below it means that no engine gave a count."""
        count = super().read(answer, path)
        # Hits without a number of hits: no engine gave one, which is no count of 0.
        if count == 0 and isinstance(answer, dict) and answer.get("results"):
            return None
        if count == 0 and isinstance(answer, dict) and answer.get("unresponsive_engines"):
            raise TemporaryFailure("its engines did not answer")
        return count


class Json(Kind):
    """Any service that answers a GET with JSON; the url contains {query}, and the path leads to the count."""

    def __init__(self, url: str, path: str) -> None:
        super().__init__(url)
        self.path = path

    def question(self, terms: Sequence[Query]) -> Question:
        return Question(self.url.replace("{query}", parse.quote(_wording(terms, " AND "), safe="")), self.path)


KINDS = ("mediawiki", "elasticsearch", "searxng", "json")
"""Names of the kinds in a scenario."""


def is_valid_question(terms: Sequence[Query]) -> bool:
    """Return True if each of `terms` has a word, and all of them together are short enough for every service.

    A service that is asked for no word, or for too many, answers with an error, or with all documents.
    """
    return all(_words(term.text) for term in terms) and len(_wording(terms, " ")) <= LONGEST


def _plain(text: str) -> str:
    return " ".join(_SYNTAX.sub(" ", text).split())


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_plain(text))]


def _wording(terms: Sequence[Query], joiner: str) -> str:
    return joiner.join(joiner.join(_words(term.text)) if term.words else f'"{_plain(term.text)}"' for term in terms)


def _value_at(answer: object, path: str) -> object:
    """Return the value at a path such as hits.total.value; a number in it is an index into a list, from 0."""
    value = answer
    for step in path.split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and len(step) <= DIGITS and int(step) < len(value):
            value = value[int(step)]
        else:
            keys = f"; it has {', '.join(map(quote, list(value)[:5]))}" if isinstance(value, dict) and value else ""
            raise DecloakError(f"the answer has no {quote(path)}{keys}", hint="check service, url and path")
    return value
