"""What a scenario names, read once in a run: by its digest for the plan, by its content for checks and stages."""

from dataclasses import dataclass
from typing import Any, Literal

from decloak.anonymisers.method import NewRelease
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.lines import ReadProgress
from decloak.data.formats.readers import read
from decloak.data.ordering import canonical_digest
from decloak.data.repeats import WARNING
from decloak.data.sampling import Divided, control_share, divided
from decloak.digest import digest
from decloak.errors import DecloakError, no_release, shown
from decloak.relate.relatedness import KnownSample
from decloak.relate.wordnet_files import FILES as WORDNET
from decloak.relate.wordnet_files import check_database
from decloak.releases.attacker import Auxiliary
from decloak.scenario.data_part import DataPart
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
        path = self.folder.path / name
        if path.name in WORDNET:
            check_database(path.parent)
        return self.folder.digest(name)

    def identity(self, part: Part | None) -> dict[str, Any] | None:
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

    def original(self, data: DataPart, progress: ReadProgress | None = None) -> Dataset:
        """The original transactions of data that have some."""
        key = digest({key: value for key, value in data.identity(self.digest_of).items() if key != "published"})
        if self._original is None or self._original[0] != key:
            self._original = key, data.read_original(self.folder, progress)
        return self._original[1]

    def warnings(self, data: DataPart) -> list[str]:
        """What a reader of the results should know of the original transactions, where they are quick to read."""
        if not (data.collected and data.quick and any(data.named())):
            return []
        original = self.original(data)
        return [f"{WARNING}{shown(original.origin, 200)[1:-1]}: {warning}" for warning in original.warnings]

    def published_part(self, scenario: Scenario, seed: int, progress: ReadProgress | None = None) -> Dataset:
        """The original transactions without those that are held out."""
        original = self.original(scenario.data, progress)
        return original if scenario.held_out is None else self._divided(original, scenario.held_out, seed).left

    def _divided(self, original: Dataset, share: float | Literal["control"], seed: int) -> Divided:
        if share == "control":
            share = control_share(len(original.transactions))
        parts = divided(original, share, seed)
        if not (len(parts.left.transactions) and len(parts.held_out.transactions)):
            message = f"a share of {share:g} of {len(original.transactions):,} records leaves none"
            raise DecloakError(message, "attacker.knows", "hold out a share that leaves some on both sides")
        return parts

    def sample(self, scenario: Scenario, seed: int) -> KnownSample:
        """The records that the attacker knows beside those that are published."""
        sample = scenario.attacker.sample
        assert sample is not None
        if (share := sample.share) is not None:
            original = self.original(scenario.data)
            records = self._divided(original, share, seed).held_out
            of = len(original.transactions)
            return KnownSample(records, f"a sample of {len(records.rows):,} records is known, held out of {of:,}")
        assert isinstance(sample.sample, str)
        records = read(self.folder / sample.sample, sample.format)
        note = f"a sample of {len(records.rows):,} records is known ({shown(sample.sample, 200)[1:-1]})"
        return KnownSample(records, note + (", the published ones if they are in it" if sample.published else ""))

    def control(self, scenario: Scenario, seed: int) -> Dataset | None:
        """Read the records of people who are not in the data, or hold them out; None where no control is named."""
        control = scenario.control
        if control is None:
            return None
        if control == "held_out":
            share = scenario.held_out
            assert share is not None
            return self._divided(self.original(scenario.data), share, seed).held_out
        other = control if isinstance(control, Auxiliary) else Auxiliary(file=str(control))
        return other.read(self.folder)

    def _check_sample(self, scenario: Scenario, seed: int) -> None:
        """Refuse a sample that has all that is published in it, unless that is wanted."""
        sample = scenario.attacker.sample
        if sample is None:
            return
        sample_records = self.sample(scenario, seed).records
        if scenario.data.collected and scenario.data.quick and not sample.published:
            there = set(map(frozenset, sample_records.transactions))
            if there.issuperset(map(frozenset, self.published_part(scenario, seed).transactions)):
                message = f"every record of the data is in the sample {shown(sample.sample, 200)}: it is the answers"
                hint = "give other records, {sample: 0.5} holds some out, or write published: true beside it"
                raise DecloakError(message, "attacker.knows", hint)

    def release(self, scenario: Scenario) -> NewRelease:
        """What was published, for a scenario that anonymises nothing; it must belong to the originals."""
        data, attacker = scenario.data, scenario.attacker
        key = digest([self.identity(data), self.identity(attacker)])
        if self._release is None or self._release[0] != key:
            original = self.original(data) if data.collected else None
            self._release = key, data.read_release(self.folder, attacker, original)
        return self._release[1]

    def check(self, scenario: Scenario, seed: int, place: str) -> None:
        """Raise what a run would find wrong with its files, and with what they say to each other.

        What a method cannot do is told of `place`, as that there is no release.

        Originals that take long to read are read by their stage, which is the first: nothing was written before.
        """
        data, form = scenario.data, scenario.form
        if scenario.anonymise is None:
            prepared = self.release(scenario)
            form.check_knowledge(scenario.attacker, self.folder, lambda: prepared.release.items)
        elif data.quick:
            original = self.published_part(scenario, seed)
            with no_release(place):
                scenario.anonymise.check(original, self.folder)
            form.check_knowledge(scenario.attacker, self.folder, lambda: original.items)
        if scenario.attacker.beside is not None:
            scenario.attacker.beside.read(self.folder)
        if scenario.control != "held_out":
            self.control(scenario, seed)
        if scenario.related_by is not None:
            scenario.related_by.check(self.folder)
        self._check_sample(scenario, seed)

    def held(self) -> list[object]:
        """What was read and is kept."""
        kept = (self._original, self._release)
        return [pair[1] for pair in kept if pair is not None]

    def occurrences(self) -> int:
        """How many items the original transactions have that were read last."""
        return 0 if self._original is None else len(self._original[1].rows.codes)
