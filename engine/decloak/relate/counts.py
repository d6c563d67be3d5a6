"""Counts of pages from a file, as a source of relatedness."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

from decloak.relate.protocols import Source
from decloak.relate.relatedness import CountedSource, Supplies
from decloak.yaml.part import File

__all__ = ["CountsSource"]


class CountsSource(CountedSource):
    """Normalised Google distance by a file of counts."""

    FILES: ClassVar = ("file",)

    source: Literal["counts"]
    """Counts of pages."""
    file: File
    """The path of the file: CSV (a,b,count) or JSON."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[Source]:
        """The counts of the file."""
        from decloak.relate.sources import CountsFile

        yield CountsFile.read(supplies.folder / self.file)
