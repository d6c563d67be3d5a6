"""What all data of a scenario can be asked: their form, their originals, what was published of them."""

from collections.abc import Iterable
from typing import ClassVar

from decloak.anonymisers.method import NewRelease
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.lines import ReadProgress
from decloak.data.formats.release_header import Header
from decloak.data.forms import FormName
from decloak.data.tables import DistanceTable
from decloak.releases.attacker import Attacker
from decloak.yaml.part import Part

__all__ = ["DataPart"]


class DataPart(Part):
    """What a scenario's data are, and what can be had of them."""

    collected: ClassVar[bool] = False
    """Whether they have original transactions."""
    anonymised: ClassVar[bool] = True
    """Whether they have what was published, so that nothing is left to anonymise."""
    quick: ClassVar[bool] = True
    """Whether the originals are read as soon as they can be checked."""
    kept_as: ClassVar[str] = ""
    """How the store names the format of originals that have no other."""

    @property
    def form(self) -> FormName:
        """The form of what was published."""
        return FormName.SET_GENERALISED

    @property
    def marked(self) -> bool:
        """Whether what was published shows which items are generalised."""
        return True

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        """The original transactions."""
        raise AssertionError("no original transactions in these data")

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> NewRelease:
        """What was published; where the originals are known it must be what was made of them."""
        raise AssertionError("nothing was published in these data")

    def read_tables(self, folder: Folder) -> Iterable[DistanceTable]:
        """The distance tables that the data are."""
        return ()

    def read_header(self, folder: Folder) -> Header | None:
        """What a release file says it promises, None where there is none."""
        return None
