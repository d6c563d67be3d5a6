"""Counts of pages from a file, as a source of relatedness."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from decloak.relate.relatedness import CountedSource, Documents
from decloak.yaml.part import File

if TYPE_CHECKING:
    from decloak.relate.counting import Cache, Progress
    from decloak.relate.sources import Source

__all__ = ["CountsSource"]


class CountsSource(CountedSource):
    """Normalised Google distance by a file of counts."""

    FILES: ClassVar = ("file",)

    source: Literal["counts"]
    """Counts of pages."""
    file: File
    """The path of the file: CSV (a,b,count) or JSON."""

    @contextmanager
    def open(
        self, folder: Path, documents: Documents, cache: "Cache | None", progress: "Progress"
    ) -> "Iterator[Source]":
        """The counts of the file."""
        from decloak.relate.sources import CountsFile

        yield CountsFile.read(folder / self.file)
