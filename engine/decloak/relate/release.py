"""What stands together in the published data themselves, as a source of relatedness."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

from decloak.relate.protocols import Source
from decloak.relate.relatedness import CountedSource, Supplies

__all__ = ["ReleaseSource"]


class ReleaseSource(CountedSource):
    """Normalised Google distance by the published data alone: no knowledge from outside."""

    outside: ClassVar[bool] = False

    source: Literal["release"]
    """The release itself: its transactions, or its clusters where it is disassociated."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[Source]:
        """The counts of the documents."""
        from decloak.relate.observed import Observed

        yield Observed(supplies.documents())
