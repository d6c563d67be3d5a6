"""Sources that are a measure of their own: word vectors and WordNet."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from decloak.data.formats.folder import Folder
from decloak.errors import DecloakError
from decloak.relate.relatedness import SimilaritySource
from decloak.relate.similar import Similarities
from decloak.relate.word_vectors import Embedding, FileVectors, PackagedVectors
from decloak.relate.wordnet_similarity import WordNet, files_in
from decloak.yaml.section import ConfigErrors, File

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

    def config_errors(self) -> ConfigErrors:
        """Yield an error unless there is exactly one place to read vectors from."""
        if (self.file is None) == (self.package is None):
            message = "word vectors are read from a 'file' or come with a 'package'"
            yield (), DecloakError(message, hint="write one of the two")

    @property
    def origin(self) -> str:
        return str(self.file or self.package)

    def open(self, folder: Folder) -> Similarities:
        """Return the vectors, from a file in `folder` or a package; a file that was read before
        loads from the cache.
        """
        return Embedding(PackagedVectors.load() if self.file is None else FileVectors.read(folder / self.file))


class WordnetSource(SimilaritySource):
    """1 minus the similarity of Wu and Palmer, by the nouns of WordNet."""

    FILES: ClassVar = ("folder",)

    measure: Literal["wordnet"]
    """WordNet."""
    folder: File | None = None
    """The folder of WordNet's files. Without it, decloak uses the installed package (the extra 'wordnet')."""

    def files_of(self, key: str) -> Sequence[str]:
        return files_in(self.folder)

    @property
    def origin(self) -> str:
        return self.folder or "package"

    def open(self, folder: Folder) -> Similarities:
        return WordNet.read(None if self.folder is None else folder / self.folder)
