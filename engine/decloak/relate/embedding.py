"""Word vectors, as a source of relatedness."""

from typing import ClassVar, Literal

from decloak.data.formats.folder import Folder
from decloak.errors import DecloakError
from decloak.relate.protocols import Similarities
from decloak.relate.relatedness import SimilaritySource
from decloak.yaml.part import File, Found

__all__ = ["EmbeddingSource"]


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
        """The file or the package."""
        return str(self.file or self.package)

    def open(self, folder: Folder) -> Similarities:
        """The vectors, those of a file in an instant when they were read before."""
        from decloak.relate.packaged import PackagedVectors
        from decloak.relate.word_vectors import Embedding, FileVectors

        return Embedding(PackagedVectors.load() if self.file is None else FileVectors.read(folder / self.file))
