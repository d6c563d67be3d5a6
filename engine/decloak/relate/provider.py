"""A search service as a counter of documents: one question, one answer."""

import dataclasses
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from decloak.data.document_counter import Query, QueryPair
from decloak.errors import DecloakError, quote, suggest
from decloak.relate.counting import CachedCounts
from decloak.relate.ngd import CountSource
from decloak.relate.relatedness import CountedSource, ServiceSource, Supplies
from decloak.relate.search_services import (
    KINDS,
    Elasticsearch,
    Json,
    Kind,
    MediaWiki,
    Question,
    SearXNG,
    is_valid_question,
)
from decloak.relate.sending import CLOCK, Clock, check_url
from decloak.yaml.section import ConfigErrors
from decloak.yaml.source import LocatedErrors

__all__ = ["Provider", "ProviderSettings", "ProviderSource", "Variable", "check_header_names", "header_values"]


@dataclasses.dataclass(frozen=True)
class ProviderSettings:
    """The service to ask, and how. An error in it has the name of the setting as its place.

    `field` is for elasticsearch, `path` for json. `headers` maps headers to environment variables, so that no key is
    ever written down. With `offline` nothing is asked.
    """

    kind: str
    url: str
    field: str | None = None
    path: str | None = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    rate: float = 1.0
    timeout: float = 20.0
    retries: int = 4
    offline: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            hint = suggest(self.kind, KINDS) or f"write one of {', '.join(KINDS)}"
            raise DecloakError(f"unknown kind of service {quote(self.kind)}", "kind", hint)
        check_url(self.url.replace("{query}", "") if self.kind == "json" else self.url)
        _check_shape(self)
        check_header_names(self.headers)
        _check_number("rate", self.rate, 0.001, 1000)
        _check_number("timeout", self.timeout, 0.001, 3600)
        if not 0 <= self.retries <= 20:
            raise DecloakError(f"{quote(self.retries)} retries", "retries", "write a number from 0 to 20")

    @property
    def service(self) -> Kind:
        match self.kind:
            case "elasticsearch":
                return Elasticsearch(self.url, str(self.field))
            case "json":
                return Json(self.url, str(self.path))
            case "mediawiki":
                return MediaWiki(self.url)
        return SearXNG(self.url)


class Provider:
    """A search service as a counter of documents; every batch has one answer."""

    def __init__(self, settings: ProviderSettings, *, clock: Clock = CLOCK) -> None:
        from decloak.relate.http_client import Client  # loads ssl, which no other source needs

        self._settings = settings
        self._service = settings.service
        self._client = Client(
            # Offline no key is needed, so that none has to be set.
            {} if settings.offline else header_values(settings.headers),
            rate=settings.rate,
            timeout=settings.timeout,
            retries=settings.retries,
            clock=clock,
        )

    @property
    def origin(self) -> str:
        """Return the kind and the address, and what is searched in a document."""
        settings = self._settings
        return " ".join(part for part in (settings.kind, settings.url, settings.field, settings.path) if part)

    @property
    def n(self) -> int | None:
        """Return N, asked for each time; None where the service does not know it."""
        question = None if self._settings.offline else self._service.document_count_question()
        return None if question is None else self._request_count(question, "the number of its documents")

    def single(self, queries: Sequence[Query]) -> Iterator[Mapping[Query, int | None]]:
        """Yield f(x) of each of `queries`; nothing when offline."""
        for query in () if self._settings.offline else queries:
            yield {query: self._count((query,))}

    def joint(self, pairs: Sequence[QueryPair]) -> Iterator[Mapping[QueryPair, int | None]]:
        """Yield f(x,y) of each of `pairs`; nothing when offline."""
        for pair in () if self._settings.offline else pairs:
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


def _check_shape(settings: ProviderSettings) -> None:
    """Check the settings that only some kinds of service have."""
    for name, kind in (("field", "elasticsearch"), ("path", "json")):
        value = getattr(settings, name)
        if settings.kind == kind and not value:
            raise DecloakError(f"{kind} needs a {name}", name, f"add {EXAMPLES[name]}")
        if settings.kind != kind and value is not None:
            raise DecloakError(f"{settings.kind} has no {name}", name, "delete it")
    parts = urlsplit(settings.url)
    if settings.kind == "json" and "{query}" in parts.netloc:
        raise DecloakError("a {query} in the host of the url", "url", "write it in the path or after a ?")
    if settings.kind == "elasticsearch" and not parts.path.endswith("/_count"):
        raise DecloakError("the url does not end in /_count", "url", "write http://host:9200/index/_count")
    if settings.kind == "json" and "{query}" not in parts.path + parts.query:
        raise DecloakError("the url has no {query}", "url", "write it where the query goes, as in ?q={query}")


EXAMPLES = {"field": "the one that is searched, such as field: text", "path": "where the count is, such as hits.total"}


def check_header_names(headers: Mapping[str, str]) -> None:
    """Raise an error for a name in `headers` that is no header, or a value that names no environment variable."""
    for name, variable in headers.items():
        if not re.fullmatch(r"[A-Za-z0-9-]+", name):
            raise DecloakError(f"{quote(name)} is not the name of a header", "headers", "write one such as X-Api-Key")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
            message = f"the header {name} does not name an environment variable"
            raise DecloakError(message, "headers", "write the name of one that holds its value, never the value itself")


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


def _check_variable_name(variable: str) -> str:
    if not re.fullmatch("DECLOAK_[A-Z0-9_]+", variable):
        hint = "give the secret to one such as DECLOAK_KEY: a scenario reads no other"
        raise LocatedErrors(((), DecloakError(f"{quote(variable)} is not a variable for decloak", hint=hint)))
    return variable


Variable = Annotated[str, AfterValidator(_check_variable_name)]
"""Name of an environment variable that may be sent: a scenario of another author must not read any other secret."""


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

    @property
    def settings(self) -> ProviderSettings:
        """Return the settings for the counter."""
        return ProviderSettings(
            self.service, self.url, self.field, self.path, self.headers, self.rate, self.timeout, self.retries,
            self.offline,
        )  # fmt: skip

    def config_errors(self) -> ConfigErrors:
        """Yield an error for each setting that the service cannot use."""
        yield from super().config_errors()
        try:
            _ = self.settings
        except DecloakError as error:
            key = "service" if error.place == "kind" else error.place
            place = (key,) if key in type(self).model_fields else ()
            yield place, DecloakError(error.message, hint=error.hint)

    @property
    def origin(self) -> str:
        return self.url

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        """Yield the counts of the service; those in the cache of `supplies` are not asked for."""
        yield CachedCounts(Provider(self.settings), supplies.cache, n=self.pages, progress=supplies.progress)
