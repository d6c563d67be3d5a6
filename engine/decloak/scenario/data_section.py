"""The interface of all data of a scenario: their form, their originals, and their published part."""

from collections.abc import Iterable
from typing import ClassVar

from decloak.anonymisers.method import NewRelease, StoredContent
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.lines import ReadProgress
from decloak.data.formats.release_header import Header
from decloak.data.forms import FormName
from decloak.data.tables import DistanceTable
from decloak.releases.attacker import Attacker
from decloak.yaml.section import ConfigSection

__all__ = ["DataPart"]


class DataPart(ConfigSection):
    """The data of a scenario."""

    has_original: ClassVar[bool] = False
    """True if there are original transactions."""
    is_published: ClassVar[bool] = True
    """True if there is a release, so that nothing is left to anonymise."""
    reads_early: ClassVar[bool] = True
    """True if the originals are read early, as soon as they can be checked."""
    stored_format: ClassVar[str] = ""
    """The name in the store for the format of originals without another one."""

    @property
    def form(self) -> FormName:
        """The form of the release."""
        return FormName.SET_GENERALISED

    @property
    def marked(self) -> bool:
        """True if the release shows which items are generalised."""
        return True

    @property
    def exclusive(self) -> tuple[str, ...]:
        """The columns whose values are items, such as `sex=f`: two items of one column exclude each other."""
        return ()

    def read_original(self, folder: Folder, progress: ReadProgress | None = None) -> Dataset:
        """Return the original transactions, from files in `folder`; `progress` is called during reading."""
        raise AssertionError("no original transactions in these data")

    def read_release(self, folder: Folder, attacker: Attacker, original: Dataset | None) -> NewRelease[StoredContent]:
        """Return the release, from files in `folder`, as the `attacker` sees it; raise an error if it does not match
        `original`, where that is known.
        """
        raise AssertionError("nothing was published in these data")

    def read_tables(self, folder: Folder) -> Iterable[DistanceTable]:
        """Return the distance tables in `folder`, if the data are such tables."""
        return ()

    def read_header(self, folder: Folder) -> Header | None:
        """Return the header of the release file in `folder`, or None."""
        return None
