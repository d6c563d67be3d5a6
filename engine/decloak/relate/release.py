"""What stands together in the published data themselves, as a source of relatedness."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from decloak.relate.relatedness import CountedSource, Documents

if TYPE_CHECKING:
    from decloak.relate.counting import Cache, Progress
    from decloak.relate.sources import Source

__all__ = ["ReleaseSource"]


class ReleaseSource(CountedSource):
    """Normalised Google distance by the published data alone: no knowledge from outside."""

    outside: ClassVar[bool] = False

    source: Literal["release"]
    """The release itself: its transactions, or its clusters where it is disassociated."""

    @contextmanager
    def open(
        self, folder: Path, documents: Documents, cache: "Cache | None", progress: "Progress"
    ) -> "Iterator[Source]":
        """The counts of the documents."""
        from decloak.relate.observed import Observed

        yield Observed(documents())
