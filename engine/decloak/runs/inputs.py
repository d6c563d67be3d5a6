"""What a scenario names, read once in a run: by its digest for the plan, by its content for checks and stages."""

from dataclasses import dataclass
from typing import Any

from decloak.anonymisers.method import NewRelease
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.ordering import canonical_digest
from decloak.digest import digest
from decloak.relate.wordnet_files import FILES as WORDNET
from decloak.relate.wordnet_files import check_database
from decloak.scenario.data_part import DataPart, Progress
from decloak.scenario.model import Scenario
from decloak.yaml.part import Part

__all__ = ["Inputs"]


@dataclass
class Inputs:
    """The inputs of the variants of a scenario; what was read last is kept, since variants mostly share it."""

    folder: Folder
    kept_counts: int = 0
    """Counts that the store keeps: what somebody can go by who asks for no more of them."""
    _original: tuple[str, Dataset] | None = None
    _release: tuple[str, NewRelease] | None = None
    _records: tuple[Dataset, str] | None = None

    def digest_of(self, name: str) -> str:
        """The digest of a file."""
        path = self.folder.path / name
        if path.name in WORDNET:
            check_database(path.parent)
        return self.folder.digest(name)

    def identity(self, part: Part | None) -> dict[str, Any] | None:
        """What a part says, with files by their content."""
        return None if part is None else part.identity(self.digest_of)

    def original_identity(self, data: DataPart) -> dict[str, Any]:
        """What the originals are: what a file holds, however it is written; how else they are come by."""
        said = {key: value for key, value in data.identity(self.digest_of).items() if key != "published"}
        return {"content": self.original(data).digest} if data.quick and any(data.named()) else said

    def data_of(self, scenario: Scenario) -> dict[str, Any]:
        """What the data of a scenario are, originals before what was published of them.

        Originals that are anonymised are a set of records: neither their order nor what they are called tells one of
        two such data sets from another, so that what is published cannot depend on it by way of the seed.
        """
        data = scenario.data
        if scenario.anonymise is not None and data.quick and any(data.named()):
            return {"records": self._records_digest(self.original(data))}
        return self.original_identity(data) if data.collected else data.identity(self.digest_of)

    def _records_digest(self, original: Dataset) -> str:
        """The digest of records whatever their order, worked out once for all variants of the same data."""
        if self._records is None or self._records[0] is not original:
            self._records = original, canonical_digest(original)
        return self._records[1]

    def original(self, data: DataPart, progress: Progress | None = None) -> Dataset:
        """The original transactions of data that have some."""
        key = digest({key: value for key, value in data.identity(self.digest_of).items() if key != "published"})
        if self._original is None or self._original[0] != key:
            self._original = key, data.read_original(self.folder, progress)
        return self._original[1]

    def release(self, scenario: Scenario) -> NewRelease:
        """What was published, for a scenario that anonymises nothing; it must belong to the originals."""
        data, attacker = scenario.data, scenario.attacker
        key = digest([self.identity(data), self.identity(attacker)])
        if self._release is None or self._release[0] != key:
            original = self.original(data) if data.collected else None
            self._release = key, data.read_release(self.folder, attacker, original)
        return self._release[1]

    def check(self, scenario: Scenario) -> None:
        """Raise what a run would find wrong with its files, and with what they say to each other.

        Originals that take long to read are read by their stage, which is the first: nothing was written before.
        """
        data, form = scenario.data, scenario.form
        if scenario.anonymise is None:
            prepared = self.release(scenario)
            form.check_knowledge(scenario.attacker, self.folder, lambda: prepared.release.items)
        elif data.quick:
            original = self.original(data)
            scenario.anonymise.check(original, self.folder)
            form.check_knowledge(scenario.attacker, self.folder, lambda: original.items)
        if scenario.relate is not None:
            scenario.relate.check(self.folder)
