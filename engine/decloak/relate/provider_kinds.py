"""The kinds of search services: how each is asked for a count, and what its answer means.

A phrase is what stands in quotes, or a match_phrase; by words, all of the words have to be in a document, in any
order. Two terms are put so that a document has to satisfy both. Terms come from published data, so nothing in one
may act as syntax: control characters, quotes and wildcards become blanks, and single words are put without
the marks around them, in lower case, so that none is an operator.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from decloak.data.query import Query
from decloak.errors import DecloakError, shown
from decloak.relate.provider_asking import Passing

__all__ = ["KINDS", "Elasticsearch", "Json", "Kind", "MediaWiki", "Question", "SearXNG", "can_be_asked"]

DIGITS = 18

LONGEST = 300
"""Characters of a question; a wiki refuses a longer one."""

_SYNTAX = re.compile('[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff"\\\\*“”„‟]')
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


class Question(NamedTuple):
    """What is sent, and where in the answer the count stands."""

    url: str
    path: str
    body: bytes | None = None


class Kind(ABC):
    """One kind of search service at one address."""

    def __init__(self, url: str) -> None:
        self.url = url

    @abstractmethod
    def question(self, terms: Sequence[Query]) -> Question:
        """How many documents hold all of these."""

    def everything(self) -> Question | None:
        """How many documents there are; None where the service cannot be asked that."""
        return None

    def read(self, answer: Any, path: str) -> int | None:
        """The count in an answer; None where the service says that it has none."""
        value = _at(answer, path)
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= DIGITS:
            return int(value)
        if value is not None and (type(value) is not int or abs(value) >= 10**DIGITS):
            raise DecloakError(f"{shown(path)} of the answer is no count", hint="check service, url and path")
        return value

    def _get(self, **parameters: str) -> str:
        return f"{self.url}{'&' if '?' in self.url else '?'}{urlencode(parameters)}"


class MediaWiki(Kind):
    """A wiki; the url is that of its api.php."""

    BUSY = ("ratelimited", "maxlag", "cirrussearch-too-busy-error")

    def question(self, terms: Sequence[Query]) -> Question:
        """A search for titles and texts of articles, of which only the number of hits is asked for."""
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

    def everything(self) -> Question:
        url = self._get(action="query", meta="siteinfo", siprop="statistics", format="json")
        return Question(url, "query.statistics.articles")

    def read(self, answer: Any, path: str) -> int | None:
        """The count; a wiki says 200 to what it did not do."""
        error = answer.get("error") if isinstance(answer, dict) else None
        if isinstance(error, dict):
            message = f"answered {shown(error.get('code'))}: {shown(error.get('info'), 200)}"
            if error.get("code") in self.BUSY or str(error.get("code")).startswith("internal_api_error"):
                raise Passing(message)
            raise DecloakError(message, hint="check the url, which is that of api.php")
        return super().read(answer, path)


class Elasticsearch(Kind):
    """Elasticsearch or OpenSearch; the url is that of an index with /_count."""

    def __init__(self, url: str, field: str) -> None:
        super().__init__(url)
        self.field = field

    def question(self, terms: Sequence[Query]) -> Question:
        """A count of documents whose field matches every term."""
        return self._counting({"bool": {"must": [self._clause(term) for term in terms]}})

    def _clause(self, term: Query) -> dict[str, Any]:
        if term.words:
            return {"match": {self.field: {"query": " ".join(_words(term.text)), "operator": "and"}}}
        return {"match_phrase": {self.field: _plain(term.text)}}

    def everything(self) -> Question:
        return self._counting({"match_all": {}})

    def _counting(self, query: dict[str, Any]) -> Question:
        return Question(self.url, "count", json.dumps({"query": query}).encode())

    def read(self, answer: Any, path: str) -> int | None:
        """The count, unless a part of the index did not answer."""
        shards = answer.get("_shards") if isinstance(answer, dict) else None
        if isinstance(shards, dict) and shards.get("failed"):
            raise Passing(f"{shown(shards['failed'])} shards of the index did not answer")
        return super().read(answer, path)


class SearXNG(Kind):
    """SearXNG; the url is that of its search page. Only some of the engines behind it tell how many hits there are."""

    def question(self, terms: Sequence[Query]) -> Question:
        return Question(self._get(q=_wording(terms, " "), format="json"), "number_of_results")

    def read(self, answer: Any, path: str) -> int | None:
        """The count; 0 with results below it means that no engine told, which is no count."""
        count = super().read(answer, path)
        # Hits without a number of hits: no engine told one, which is no count of 0.
        if count == 0 and answer.get("results"):
            return None
        if count == 0 and answer.get("unresponsive_engines"):
            raise Passing("its engines did not answer")
        return count


class Json(Kind):
    """Any service that answers a GET with JSON; the url holds {query}, the path leads to the count."""

    def __init__(self, url: str, path: str) -> None:
        super().__init__(url)
        self.path = path

    def question(self, terms: Sequence[Query]) -> Question:
        return Question(self.url.replace("{query}", quote(_wording(terms, " AND "), safe="")), self.path)


KINDS = ("mediawiki", "elasticsearch", "searxng", "json")
"""Their names in a scenario."""


def can_be_asked(terms: Sequence[Query]) -> bool:
    """Whether there is a word in every term, and no more in all of them than every service takes.

    A service asked for no word, or for too much, answers with an error, or with everything.
    """
    return all(_words(term.text) for term in terms) and len(_wording(terms, " ")) <= LONGEST


def _plain(text: str) -> str:
    return " ".join(_SYNTAX.sub(" ", text).split())


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_plain(text))]


def _wording(terms: Sequence[Query], joiner: str) -> str:
    return joiner.join(joiner.join(_words(term.text)) if term.words else f'"{_plain(term.text)}"' for term in terms)


def _at(answer: Any, path: str) -> Any:
    """What stands at a path such as hits.total.value; a number in it counts the members of a list from 0."""
    value = answer
    for step in path.split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and len(step) <= DIGITS and int(step) < len(value):
            value = value[int(step)]
        else:
            keys = f"; it has {', '.join(map(shown, list(value)[:5]))}" if isinstance(value, dict) and value else ""
            raise DecloakError(f"the answer has no {shown(path)}{keys}", hint="check service, url and path")
    return value
