"""A corpus of one's own, as a source of relatedness."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

from decloak.relate.protocols import Source
from decloak.relate.relatedness import CountedSource, Supplies
from decloak.yaml.part import File

__all__ = ["CorpusSource"]


class CorpusSource(CountedSource):
    """Normalised Google distance by a corpus of documents."""

    FILES: ClassVar = ("file",)

    source: Literal["corpus"]
    """An index of documents."""
    file: File
    """The path of the index that `decloak corpus build` made."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[Source]:
        """The counts of the index."""
        from decloak.relate.corpus_index import Corpus
        from decloak.relate.counting import Counted

        with Corpus.open(supplies.folder / self.file) as index:
            yield Counted(index, supplies.cache, progress=supplies.progress)
