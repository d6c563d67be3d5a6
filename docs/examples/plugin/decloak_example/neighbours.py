"""The method `neighbours`: each item becomes a set of items that follow each other in the alphabet."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.method import Anonymiser, GeneralisingMethod, MethodOptions, NewRelease
from decloak.counting.guarantees import WholeSets
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.generalised import Generalised
from decloak.data.published import Published
from decloak.relate.counting import Cache


def anonymise(data: Dataset, options: MethodOptions) -> Published:
    """Return the release of `data`."""
    names, size = sorted(data.items), options["size"]
    sets = [tuple(names[place : place + size]) for place in range(0, len(names), size)]
    shown = {item: members if len(members) > 1 else item for members in sets for item in members}
    return Published(tuple(tuple({shown[item] for item in items}) for items in data.transactions), data.labels)


def violations(data: Dataset, release: Published, options: MethodOptions) -> Iterable[object]:
    """Yield the violations of the guarantee; decloak checks each release."""
    return WholeSets().violations(Generalised.of(release))


class NeighboursMethod(GeneralisingMethod):
    """Sets of neighbours in the alphabet."""

    guarantee_type: ClassVar = WholeSets
    anonymisers: ClassVar = (Anonymiser("neighbours", anonymise, violations, {"size"}),)

    method: Literal["neighbours"]
    """The name of the method."""
    size: int = Field(ge=2)
    """The number of items in a set."""

    def check(self, data: Dataset, folder: Folder) -> None:
        """Find errors in `data` and in the files of `folder` before the method runs. Here there are none."""

    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease[Published]:
        """Return the release, and its settings."""
        settings = {"size": self.size}
        return NewRelease(self.anonymiser(data, settings), self.method, settings)
