"""A corpus of one's own, as a source of relatedness."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from decloak.relate.relatedness import CountedSource, Documents
from decloak.yaml.part import File

if TYPE_CHECKING:
    from decloak.relate.counting import Cache, Progress
    from decloak.relate.sources import Source

__all__ = ["CorpusSource"]


class CorpusSource(CountedSource):
    """Normalised Google distance by a corpus of documents."""

    FILES: ClassVar = ("file",)

    source: Literal["corpus"]
    """An index of documents."""
    file: File
    """The path of the index that `decloak corpus build` made."""

    @contextmanager
    def open(
        self, folder: Path, documents: Documents, cache: "Cache | None", progress: "Progress"
    ) -> "Iterator[Source]":
        """The counts of the index."""
        from decloak.relate.corpus_index import Corpus
        from decloak.relate.counting import Counted

        with Corpus.open(folder / self.file) as index:
            yield Counted(index, cache, progress=progress)
