"""A language model of the user's as a judge of relatedness: 1 minus the cosine of the vectors it gives to terms.

The service is asked as OpenAI's is for embeddings: {"model": M, "input": [terms]} is answered by {"data": [{"index":
place, "embedding": numbers}]}. A similarity is kept in the store in millionths, by pair, as counts are: a pair is asked
for once ever, a term once a run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from decloak.arrays import Floats
from decloak.data.assignment import Closer
from decloak.data.formats.folder import Folder
from decloak.data.query import Both, Query, both
from decloak.data.tables import Pair
from decloak.errors import DecloakError
from decloak.relate.counting import CountingProgress, Memory
from decloak.relate.ngd import Scored
from decloak.relate.protocols import Similar
from decloak.relate.provider import Variable, check_header_names, header_values
from decloak.relate.provider_asking import check_url
from decloak.relate.relatedness import AskedSource, Supplies
from decloak.relate.similar import apart, share_note
from decloak.yaml.part import Found

__all__ = ["ModelSource"]

AT_ONCE = 8
"""Terms in one question: their vectors must fit into one answer."""
MILLION = 1_000_000


class ModelSource(AskedSource):
    """1 minus the cosine of the vectors that a language model gives to terms."""

    closer: ClassVar[Closer] = "smaller"

    measure: Literal["model"]
    """A language model behind a service that is asked for embeddings as OpenAI's is."""
    url: str = Field(min_length=1)
    """Where it is asked, such as http://localhost:11434/v1/embeddings."""
    model: str = Field(min_length=1)
    """What the service calls the model."""
    headers: dict[str, Variable] = Field(default_factory=dict)
    """Headers to send, each with the environment variable that holds its value: DECLOAK_ and capitals."""
    budget: int = Field(10_000, ge=1)
    """Terms that it may be asked for in one run, at most: of more none is."""
    rate: float = Field(10.0, gt=0)
    """Questions a second, at most."""
    timeout: float = Field(60.0, gt=0)
    """Seconds to wait for an answer."""
    retries: int = Field(4, ge=0, le=20)
    """How often a question is asked again."""
    offline: bool = False
    """Whether nothing is asked: similarities the store has not got are missing."""

    def mistakes(self) -> Found:
        """What a service cannot be asked by."""
        checks = {"url": partial(check_url, self.url), "headers": partial(check_header_names, self.headers)}
        for key, check in checks.items():
            try:
                check()
            except DecloakError as error:
                yield (key,), DecloakError(error.message, hint=error.hint)

    @property
    def title(self) -> str:
        return f"model {self.model}"

    @property
    def origin(self) -> str:
        return f"{self.url} {self.model}"

    def check(self, folder: Folder) -> None:
        """There is nothing to open before it is asked."""

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """The distances, of what the store keeps and of what the model says of the rest."""
        cache = supplies.cache or Memory()
        queries = {both(Query(a), Query(b)): None for a, b in pairs}
        kept = dict(cache.known_pairs(self.origin, list(queries)))
        absent = [pair for pair in queries if pair not in kept and pair[0] != pair[1]]
        if absent and not self.offline:
            for answers in self._model_answers(absent, supplies.progress):
                cache.keep(self.origin, dict.fromkeys((query for pair in answers for query in pair), 1))
                cache.keep_pairs(self.origin, answers)
                kept |= answers
        return apart(_answer(pairs, kept))

    def _model_answers(self, pairs: Sequence[Both], progress: CountingProgress) -> Iterator[dict[Both, int | None]]:
        """What the model says of pairs, as soon as it has given the vectors of both."""
        terms = list(dict.fromkeys(query.text for pair in pairs for query in pair))
        if len(terms) > self.budget:
            message = f"would ask {self.model} for {len(terms):,} terms, more than the budget of {self.budget:,}"
            raise DecloakError(message, hint=f"write budget: {len(terms)} if that may be asked")
        place = {term: number for number, term in enumerate(terms)}
        latest = np.array([max(place[query.text] for query in pair) for pair in pairs])
        vectors: dict[str, Floats] = {}
        for batch in self.embedded(terms):
            ready = (latest >= len(vectors)) & (latest < len(vectors) + len(batch))
            vectors |= batch
            progress(len(vectors), len(terms))
            yield dict(_similar([pairs[number] for number in np.flatnonzero(ready).tolist()], vectors))

    def embedded(self, terms: Sequence[str]) -> Iterator[dict[str, Floats]]:
        """The vectors of terms, as many at once as one question has."""
        from decloak.relate.provider_http import Client  # loads ssl, which no other source needs

        client = Client(header_values(self.headers), rate=self.rate, timeout=self.timeout, retries=self.retries)
        for begin in range(0, len(terms), AT_ONCE):
            batch = list(terms[begin : begin + AT_ONCE])
            question = json.dumps({"model": self.model, "input": batch}).encode()
            yield dict(zip(batch, client.ask(self.url, question, partial(_read, count=len(batch))), strict=True))


def _read(body: bytes, count: int) -> Sequence[Floats]:
    """The vectors of an answer in the order of what was asked for."""
    hint = "check that the url is that of embeddings, such as http://host/v1/embeddings"
    try:
        answer = json.loads(body)
        data: list[Any] = sorted(answer["data"], key=lambda entry: entry.get("index", 0))
        vectors = [np.array(entry["embedding"], np.float64) for entry in data]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise DecloakError("answered what are no embeddings", hint=hint) from None
    if len(vectors) != count or any(vector.ndim != 1 or not vector.size for vector in vectors):
        raise DecloakError(f"answered {len(vectors)} embeddings for {count} terms", hint=hint)
    if not all(np.isfinite(vector).all() for vector in vectors):
        raise DecloakError("answered embeddings that are no numbers", hint=hint)
    return vectors


def _similar(pairs: Sequence[Both], vectors: Mapping[str, Floats]) -> Iterator[tuple[Both, int | None]]:
    """The cosine of every pair in millionths; None of vectors of different lengths, or without any."""
    for a, b in pairs:
        x, y = vectors[a.text], vectors[b.text]
        norm = float(np.linalg.norm(x) * np.linalg.norm(y)) if x.shape == y.shape else 0.0
        yield (a, b), None if norm == 0 else round(MILLION * float(x @ y) / norm)


def _answer(pairs: Sequence[Pair], answers: Mapping[Both, int | None]) -> Similar:
    scores: dict[Pair, float | None] = {}
    for a, b in pairs:
        kept = answers.get(both(Query(a), Query(b)))
        scores[a, b] = 1.0 if a == b else None if kept is None else kept / MILLION
    absent = [f"{a} with {b}" for (a, b), score in scores.items() if score is None]
    return Similar(scores, share_note(absent, len(scores), "were not asked for, so no score") if absent else [])
