"""The sources that are a measure of their own: word vectors and WordNet."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from decloak.data.formats.folder import Folder
from decloak.errors import DecloakError
from decloak.relate.packaged import PackagedVectors
from decloak.relate.protocols import Similarities
from decloak.relate.relatedness import SimilaritySource
from decloak.relate.word_vectors import Embedding, FileVectors
from decloak.relate.wordnet_files import files_in
from decloak.relate.wordnet_similarity import WordNet
from decloak.yaml.part import File, Found

__all__ = ["EmbeddingSource", "WordnetSource"]


class EmbeddingSource(SimilaritySource):
    """1 minus the cosine of word vectors; a phrase is the mean of its words."""

    FILES: ClassVar = ("file",)

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

    @property
    def origin(self) -> str:
        return str(self.file or self.package)

    def open(self, folder: Folder) -> Similarities:
        """The vectors, those of a file in an instant when they were read before."""
        return Embedding(PackagedVectors.load() if self.file is None else FileVectors.read(folder / self.file))


class WordnetSource(SimilaritySource):
    """1 minus the similarity of Wu and Palmer, by the nouns of WordNet."""

    FILES: ClassVar = ("folder",)

    measure: Literal["wordnet"]
    """WordNet."""
    folder: File | None = None
    """The folder of WordNet's files; without it those of an installed package (the extra 'wordnet')."""

    def files_of(self, key: str) -> Sequence[str]:
        return files_in(self.folder)

    @property
    def origin(self) -> str:
        return self.folder or "package"

    def open(self, folder: Folder) -> Similarities:
        return WordNet.read(None if self.folder is None else folder / self.folder)
