"""WordNet, as a source of relatedness."""

from collections.abc import Iterator
from typing import Literal

from decloak.data.formats.folder import Folder
from decloak.relate.protocols import Similarities
from decloak.relate.relatedness import SimilaritySource
from decloak.relate.wordnet_files import files_in
from decloak.yaml.part import File

__all__ = ["WordnetSource"]


class WordnetSource(SimilaritySource):
    """1 minus the similarity of Wu and Palmer, by the nouns of WordNet."""

    measure: Literal["wordnet"]
    """WordNet."""
    folder: File | None = None
    """The folder of WordNet's files; without it those of an installed package (the extra 'wordnet')."""

    def named(self) -> Iterator[str]:
        """The files that decide what is found."""
        yield from files_in(self.folder)

    @property
    def origin(self) -> str:
        """The folder, or that it is a package's."""
        return self.folder or "package"

    def open(self, folder: Folder) -> Similarities:
        """The nouns of the database."""
        from decloak.relate.wordnet_similarity import WordNet

        return WordNet.read(None if self.folder is None else folder / self.folder)
