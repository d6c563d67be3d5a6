"""A search service that returns the number of documents found: the questions for its kinds, and their answers.

A phrase is put in quotes, or in match_phrase; by words, a document has to contain all of the words, in any order. A
question about two terms finds documents that match both. Terms come from published data, so a term may not act as
search syntax. Control characters, quotes and wildcards become blanks. Single words are written without marks around
them, in lower case, so that none is an operator.
"""

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal, NamedTuple
from urllib import parse

from pydantic import Field

from decloak.data.document_counter import Query, QueryPair
from decloak.errors import DecloakError, quote
from decloak.relate.counting import CachedCounts
from decloak.relate.ngd import CountSource
from decloak.relate.relatedness import CountedSource, ServiceSource, Supplies
from decloak.relate.sending import CLOCK, Clock, TemporaryFailure, check_url
from decloak.yaml.section import ConfigErrors, checked_by

# The store keeps counts in eight bytes, which hold any number of 18 digits.
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
    """One kind of search service at one address; `where` is the field that is searched, or the path of the count."""

    def __init__(self, url: str, where: str) -> None:
        self.url, self.where = url, where

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
        # `true` is an integer in Python, and no count.
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

    def question(self, terms: Sequence[Query]) -> Question:
        """Return a count of documents whose field matches all `terms`."""
        return self._counting({"bool": {"must": [self._clause(term) for term in terms]}})

    def _clause(self, term: Query) -> dict[str, object]:
        if term.words:
            return {"match": {self.where: {"query": " ".join(_words(term.text)), "operator": "and"}}}
        return {"match_phrase": {self.where: _plain(term.text)}}

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

    def question(self, terms: Sequence[Query]) -> Question:
        # Slashes too are encoded: a term must not lead to another path.
        return Question(self.url.replace("{query}", parse.quote(_wording(terms, " AND "), safe="")), self.where)


KINDS: dict[str, type[Kind]] = {
    "mediawiki": MediaWiki, "elasticsearch": Elasticsearch, "searxng": SearXNG, "json": Json
}  # fmt: skip


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


def _check_variable_name(variable: str) -> None:
    if not re.fullmatch("DECLOAK_[A-Z0-9_]+", variable):
        hint = "give the secret to one such as DECLOAK_KEY: a scenario reads no other"
        # Not quoted: a secret that was written here by mistake would stand in logs as well.
        raise DecloakError("this is not a variable for decloak", hint=hint)


Variable = Annotated[str, checked_by(_check_variable_name)]
"""Name of an environment variable that may be sent: a scenario of another author must not read any other secret."""


EXAMPLES = (
    ("field", "elasticsearch", "the one that is searched, such as field: text"),
    ("path", "json", "where the count is, such as hits.total"),
)
"""The settings of one kind of service alone, each with the kind and an example."""


class ProviderSource(ServiceSource, CountedSource):
    """Normalised Google distance from a search service that returns the number of documents found."""

    source: Literal["provider"]
    """A search service."""
    service: Literal["mediawiki", "elasticsearch", "searxng", "json"]
    """How it is asked and how it answers; json is any other, by 'url' with {query} and 'path'."""
    url: str = Field(min_length=1)
    """Where it is."""
    field: str | None = None
    """Elasticsearch: the field that is searched."""
    path: str | None = None
    """For json: the path of the number of hits in the answer, for example hits.total."""
    headers: dict[str, Variable] = Field(default_factory=dict)
    """Headers to send, each with the environment variable that holds its value: DECLOAK_ and capitals."""
    pages: int | None = Field(None, ge=1)
    """The number of all documents, if the service does not state it."""
    rate: float = Field(1.0, gt=0)
    """Questions a second, at most."""
    timeout: float = Field(20.0, gt=0)
    """Seconds to wait for an answer."""
    retries: int = Field(4, ge=0, le=20)
    """How often a question is asked again."""
    offline: bool = False
    """If true, decloak sends no request. Counts that the store does not contain are missing."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for the first setting that the service cannot use."""
        yield from super().config_errors()
        try:
            check_url(self.url.replace("{query}", "") if self.service == "json" else self.url)
            self._check_shape()
            check_header_names(self.headers)
            _check_number("rate", self.rate, 0.001, 1000)
            _check_number("timeout", self.timeout, 0.001, 3600)
        except DecloakError as error:
            yield (str(error.place),), DecloakError(error.message, hint=error.hint)

    def _check_shape(self) -> None:
        """Check the settings that only some kinds of service have."""
        for name, service, example in EXAMPLES:
            value = getattr(self, name)
            if self.service == service and not value:
                raise DecloakError(f"{service} needs a {name}", name, f"add {example}")
            if self.service != service and value is not None:
                raise DecloakError(f"{self.service} has no {name}", name, "delete it")
        parts = parse.urlsplit(self.url)
        # A term in the host would decide where requests go.
        if self.service == "json" and "{query}" in parts.netloc:
            raise DecloakError("a {query} in the host of the url", "url", "write it in the path or after a ?")
        if self.service == "elasticsearch" and not parts.path.endswith("/_count"):
            raise DecloakError("the url does not end in /_count", "url", "write http://host:9200/index/_count")
        if self.service == "json" and "{query}" not in parts.path + parts.query:
            raise DecloakError("the url has no {query}", "url", "write it where the query goes, as in ?q={query}")

    @property
    def origin(self) -> str:
        return self.url

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        """Yield the counts of the service; those in the cache of `supplies` are not asked for."""
        yield CachedCounts(Provider(self), supplies.cache, n=self.pages, progress=supplies.progress)


def check_header_names(names: Iterable[str]) -> None:
    """Raise an error for one of `names` that is no header."""
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9-]+", name):
            raise DecloakError(f"{quote(name)} is not the name of a header", "headers", "write one such as X-Api-Key")


def header_values(headers: Mapping[str, str]) -> dict[str, str]:
    """Return `headers` with the values of their environment variables."""
    values = {}
    for name, variable in headers.items():
        value = os.environ.get(variable, "").strip()
        if not value:
            hint = "set it to the value of the header, or use offline: true"
            raise DecloakError(f"the environment variable {variable} is not set", "headers", hint)
        if not re.fullmatch(r"[\x20-\x7e]+", value):
            hint = "set it to one line of ASCII"
            raise DecloakError(f"no header can hold what is in the environment variable {variable}", "headers", hint)
        values[name] = value
    return values


def _check_number(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise DecloakError(f"{quote(value)} is no {name}", name, f"write a number from {least:g} to {most:g}")


class Provider:
    """A search service as a counter of documents; every batch has one answer."""

    def __init__(self, source: ProviderSource, *, clock: Clock = CLOCK) -> None:
        from decloak.relate.http_client import Client  # loads ssl, which no other source needs

        self._source = source
        self._service = KINDS[source.service](source.url, source.field or source.path or "")
        self._client = Client(
            # Offline no key is needed, so that none has to be set.
            {} if source.offline else header_values(source.headers),
            rate=source.rate,
            timeout=source.timeout,
            retries=source.retries,
            clock=clock,
        )

    @property
    def origin(self) -> str:
        """Return the kind and the address, and what is searched in a document."""
        source = self._source
        return " ".join(part for part in (source.service, source.url, source.field, source.path) if part)

    @property
    def n(self) -> int | None:
        """Return N, asked for each time; None where the service does not know it."""
        question = None if self._source.offline else self._service.document_count_question()
        return None if question is None else self._request_count(question, "the number of its documents")

    def single(self, queries: Sequence[Query]) -> Iterator[Mapping[Query, int | None]]:
        """Yield f(x) of each of `queries`; nothing when offline."""
        for query in () if self._source.offline else queries:
            # One answer in a batch: what was asked is stored, even if the run is interrupted.
            yield {query: self._count((query,))}

    def joint(self, pairs: Sequence[QueryPair]) -> Iterator[Mapping[QueryPair, int | None]]:
        """Yield f(x,y) of each of `pairs`; nothing when offline."""
        for pair in () if self._source.offline else pairs:
            yield {pair: self._count(pair)}

    def _count(self, terms: Sequence[Query]) -> int | None:
        # Services answer an empty or overlong question with an error, or with all documents.
        if not is_valid_question(terms):
            return None
        return self._request_count(self._service.question(terms), " with ".join(quote(term.text) for term in terms))

    def _request_count(self, question: Question, subject: str) -> int | None:
        def read(body: bytes) -> int | None:
            try:
                answer = json.loads(body)
            except (ValueError, RecursionError):
                raise DecloakError("answered what is not JSON", hint="check service and url") from None
            return self._service.read(answer, question.path)

        try:
            return self._client.send_question(question.url, question.body, read)
        except DecloakError as error:
            raise DecloakError(f"{error.message} (asked for {subject})", error.place, error.hint) from None
