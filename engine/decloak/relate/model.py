"""A language model of the user as a measure of relatedness: 1 minus the cosine of the vectors that it gives to terms.

The service is called like the embeddings endpoint of OpenAI: {"model": M, "input": [terms]} is answered by {"data":
[{"index": place, "embedding": numbers}]}. The store keeps a similarity in millionths, by pair, like a count: a pair is
asked for once ever, a term once per run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from decloak.arrays import Floats
from decloak.data.assignment import ScoreDirection
from decloak.data.document_counter import Query, QueryPair, unordered_pair
from decloak.data.formats.folder import Folder
from decloak.data.pairs import Pair, ScoredPairs
from decloak.errors import DecloakError
from decloak.relate.counting import CountingProgress, MemoryCache
from decloak.relate.ngd import Scored
from decloak.relate.provider import Variable, check_header_names, header_values
from decloak.relate.relatedness import ServiceSource, Supplies
from decloak.relate.sending import check_url
from decloak.relate.similar import Similar, share_note, similarity_to_distance
from decloak.yaml.section import ConfigErrors

AT_ONCE = 8
"""Terms in one question: their vectors must fit into one answer."""
MILLION = 1_000_000


class ModelSource(ServiceSource):
    """1 minus the cosine of the vectors that a language model gives to terms."""

    closer: ClassVar[ScoreDirection] = "smaller"

    measure: Literal["model"]
    """A language model behind a service that is asked for embeddings as OpenAI's is."""
    url: str = Field(min_length=1)
    """Where it is asked, such as http://localhost:11434/v1/embeddings."""
    model: str = Field(min_length=1)
    """The name of the model at the service."""
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
    """If true, decloak sends no request. Similarities that the store does not contain are missing."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for a url or a header that cannot be used."""
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
        """Do nothing: there is nothing in `folder` to open before the service is asked."""

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """Return the distances of `pairs`, from the cache in `supplies` and, for other pairs, from the model."""
        cache = supplies.cache or MemoryCache()
        queries = {unordered_pair(Query(a), Query(b)): None for a, b in pairs}
        kept = dict(cache.known_pairs(self.origin, list(queries)))
        absent = [pair for pair in queries if pair not in kept and pair[0] != pair[1]]
        if absent and not self.offline:
            for answers in self._model_answers(absent, supplies.progress):
                # The store keeps a pair beside counts of both terms; a model has none, so 1 stands for them.
                cache.keep_counts(self.origin, dict.fromkeys((query for pair in answers for query in pair), 1))
                cache.keep_pairs(self.origin, answers)
                kept |= answers
        return similarity_to_distance(_answer(pairs, kept))

    def _model_answers(
        self, pairs: Sequence[QueryPair], progress: CountingProgress
    ) -> Iterator[dict[QueryPair, int | None]]:
        """Yield the similarities of pairs as soon as the model has given the vectors of both terms."""
        terms = list(dict.fromkeys(query.text for pair in pairs for query in pair))
        # All or nothing: some of the terms would cost money and still leave pairs without a score.
        if len(terms) > self.budget:
            message = f"would ask {self.model} for {len(terms):,} terms, more than the budget of {self.budget:,}"
            raise DecloakError(message, hint=f"write budget: {len(terms)} if that may be asked")
        place = {term: number for number, term in enumerate(terms)}
        # A pair is answered, and stored, with the batch that brings its second vector, so that an interrupted run keeps
        # it.
        latest = np.array([max(place[query.text] for query in pair) for pair in pairs])
        vectors: dict[str, Floats] = {}
        for batch in self.embedded(terms):
            ready = (latest >= len(vectors)) & (latest < len(vectors) + len(batch))
            vectors |= batch
            progress(len(vectors), len(terms))
            yield dict(_similar([pairs[number] for number in np.flatnonzero(ready).tolist()], vectors))

    def embedded(self, terms: Sequence[str]) -> Iterator[dict[str, Floats]]:
        """Yield the vectors of `terms`, in the batches of one question each."""
        from decloak.relate.http_client import Client  # loads ssl, which no other source needs

        client = Client(header_values(self.headers), rate=self.rate, timeout=self.timeout, retries=self.retries)
        for begin in range(0, len(terms), AT_ONCE):
            batch = list(terms[begin : begin + AT_ONCE])
            question = json.dumps({"model": self.model, "input": batch}).encode()
            yield dict(
                zip(batch, client.send_question(self.url, question, partial(_read, count=len(batch))), strict=True)
            )


def _read(body: bytes, count: int) -> Sequence[Floats]:
    """Return the vectors of an answer, in the order of the question."""
    hint = "use the url of the embeddings, such as http://host/v1/embeddings"
    try:
        answer = json.loads(body)
        # A service may answer in any order; without an index it keeps the order of the question.
        data: list[Any] = sorted(answer["data"], key=lambda entry: entry.get("index", 0))
        vectors = [np.array(entry["embedding"], np.float64) for entry in data]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise DecloakError("answered what are no embeddings", hint=hint) from None
    if len(vectors) != count or any(vector.ndim != 1 or not vector.size for vector in vectors):
        raise DecloakError(f"answered {len(vectors)} embeddings for {count} terms", hint=hint)
    if not all(np.isfinite(vector).all() for vector in vectors):
        raise DecloakError("answered embeddings that are no numbers", hint=hint)
    return vectors


def _similar(pairs: Sequence[QueryPair], vectors: Mapping[str, Floats]) -> Iterator[tuple[QueryPair, int | None]]:
    """Yield the cosine of every pair in millionths; None for vectors of different lengths, or without any direction."""
    for a, b in pairs:
        x, y = vectors[a.text], vectors[b.text]
        norm = float(np.linalg.norm(x) * np.linalg.norm(y)) if x.shape == y.shape else 0.0
        yield (a, b), None if norm == 0 else round(MILLION * float(x @ y) / norm)


def _answer(pairs: Sequence[Pair], answers: Mapping[QueryPair, int | None]) -> Similar:
    scores: dict[Pair, float | None] = {}
    for a, b in pairs:
        kept = answers.get(unordered_pair(Query(a), Query(b)))
        scores[a, b] = 1.0 if a == b else None if kept is None else kept / MILLION
    absent = [f"{a} with {b}" for (a, b), score in scores.items() if score is None]
    return Similar(ScoredPairs.of(scores), share_note(absent, len(scores), "not requested") if absent else [])
