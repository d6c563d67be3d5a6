"""The files that a scenario names, read once in a run: by digest for the plan, by content for checks and stages."""

from dataclasses import dataclass, field
from typing import Literal

from decloak.anonymisers.method import NewRelease, StoredContent
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.formats.lines import ReadProgress
from decloak.data.formats.plain_files import read
from decloak.data.ordering import canonical_digest
from decloak.data.repeats import WARNING, WRITTEN
from decloak.data.sampling import RecordSplit, control_share, split_records
from decloak.digest import digest
from decloak.errors import DecloakError, no_release, quote
from decloak.measure.family import SharedValues
from decloak.relate.relatedness import KnownSample
from decloak.relate.wordnet_files import FILES as WORDNET
from decloak.relate.wordnet_files import check_database
from decloak.releases.attacker import Auxiliary
from decloak.scenario.model import Scenario
from decloak.scenario.originals import DataPart
from decloak.yaml.section import ConfigSection


@dataclass
class Inputs:
    """The inputs of the variants of a scenario; what was read last is kept, since variants mostly share it."""

    folder: Folder
    kept_counts: int = 0
    """Counts that the store keeps, for a run that may not request more."""
    _original: tuple[str, Dataset] | None = None
    _release: tuple[str, NewRelease[StoredContent]] | None = None
    _records: tuple[Dataset, str] | None = None
    _split: tuple[Dataset, float, int, RecordSplit] | None = None
    shared: SharedValues = field(default_factory=SharedValues, init=False)
    """Values of the original data that measures computed."""

    def digest_of(self, name: str) -> str:
        path = self.folder.path / name
        if path.name in WORDNET:
            # The error names all files that are missing; the digest would name the first.
            check_database(path.parent)
        return self.folder.digest(name)

    def identity(self, part: ConfigSection | None) -> dict[str, object] | None:
        return None if part is None else part.identity(self.digest_of)

    def original_identity(self, data: DataPart) -> dict[str, object]:
        """Return what identifies the original `data`: the content of a file, or the settings of a generator."""
        said = {key: value for key, value in data.identity(self.digest_of).items() if key != "published"}
        if not (data.reads_early and any(data.file_names())):
            return said
        # No guarantee holds over copies, unless the scenario says that they are none.
        return {"content": self.original(data).digest} | ({"copies": True} if self.copies(data) else {})

    def copies(self, data: DataPart) -> list[str]:
        """Return the warnings that the original `data` were written more than once."""
        return [warning for warning in self.warnings(data) if WRITTEN in warning]

    def data_of(self, scenario: Scenario) -> dict[str, object]:
        """Return what identifies the data of `scenario`: the original data, else the published file.

        Originals that are anonymised are a set of records: neither their order nor what they are called tells one of
        two such data sets from another, so that what is published cannot depend on it by way of the seed.
        """
        data = scenario.data
        if scenario.anonymise is not None and data.reads_early and any(data.file_names()):
            return {"records": self._records_digest(self.original(data))}
        return self.original_identity(data) if data.has_original else data.identity(self.digest_of)

    def _records_digest(self, original: Dataset) -> str:
        """Return the digest of records in any order, computed once for all variants of the same data."""
        if self._records is None or self._records[0] is not original:
            self._records = original, canonical_digest(original)
        return self._records[1]

    def original(self, data: DataPart, progress: ReadProgress | None = None) -> Dataset:
        """Return the original records of `data`; reading reports to `progress`."""
        # A published file beside them does not change the original records.
        key = digest({key: value for key, value in data.identity(self.digest_of).items() if key != "published"})
        if self._original is None or self._original[0] != key:
            self._original = key, data.read_original(self.folder, progress)
        return self._original[1]

    def warnings(self, data: DataPart) -> list[str]:
        """Return the warnings about the original `data` that a reader of the results needs."""
        if not (data.has_original and data.reads_early and any(data.file_names())):
            return []
        original = self.original(data)
        return [f"{WARNING}{quote(original.origin, 200)[1:-1]}: {warning}" for warning in original.warnings]

    def published_part(self, scenario: Scenario, seed: int, progress: ReadProgress | None = None) -> Dataset:
        """Return the original records of `scenario` without the held-out records, drawn with `seed`."""
        original = self.original(scenario.data, progress)
        return original if scenario.held_out is None else self._divided(original, scenario.held_out, seed).remaining

    def _divided(self, original: Dataset, share: float | Literal["control"], seed: int) -> RecordSplit:
        if share == "control":
            share = control_share(len(original.transactions))
        if self._split is None or self._split[0] is not original or self._split[1:3] != (share, seed):
            self._split = original, share, seed, split_records(original, share, seed)
        parts = self._split[3]
        if not (len(parts.remaining.transactions) and len(parts.held_out.transactions)):
            message = f"a share of {share:g} of {len(original.transactions):,} records leaves none"
            raise DecloakError(message, "attacker.knows", "hold out a share that leaves some on both sides")
        return parts

    def sample(self, scenario: Scenario, seed: int) -> KnownSample:
        """Return the records that the attacker of `scenario` knows next to the release, drawn with `seed`."""
        sample = scenario.attacker.sample
        assert sample is not None
        if (share := sample.share) is not None:
            original = self.original(scenario.data)
            records = self._divided(original, share, seed).held_out
            of = len(original.transactions)
            return KnownSample(records, f"a sample of {len(records.rows):,} records is known, held out of {of:,}")
        assert isinstance(sample.sample, str)
        records = read(self.folder / sample.sample, sample.format)
        note = f"a sample of {len(records.rows):,} records is known ({quote(sample.sample, 200)[1:-1]})"
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
        if scenario.data.has_original and scenario.data.reads_early and not sample.published:
            # The file of the sample may have records and items in another order.
            there = set(map(frozenset, sample_records.transactions))
            if there.issuperset(map(frozenset, self.published_part(scenario, seed).transactions)):
                message = f"the sample {quote(sample.sample, 200)} has every record, so the attacker knows the answers"
                hint = "use other records, `{sample: 0.5}`, or `published: true`"
                raise DecloakError(message, "attacker.knows", hint)

    def release(self, scenario: Scenario) -> NewRelease[StoredContent]:
        """Return the published file of a `scenario` that anonymises nothing; it must belong to the original data."""
        data, attacker = scenario.data, scenario.attacker
        key = digest([self.identity(data), self.identity(attacker)])
        if self._release is None or self._release[0] != key:
            original = self.original(data) if data.has_original else None
            self._release = key, data.read_release(self.folder, attacker, original)
        return self._release[1]

    def check(self, scenario: Scenario, seed: int, place: str) -> None:
        """Raise the first fault of the files of `scenario`, read with `seed`, or of one file with another.

        If the method cannot make a release, the error names `place`.

        Originals that take long to read are read by their stage, which is the first: nothing was written before.
        """
        data, form = scenario.data, scenario.form
        if scenario.anonymise is None:
            prepared = self.release(scenario)
            form.check_knowledge(scenario.attacker, self.folder, lambda: prepared.release.items)
        elif data.reads_early:
            original = self.published_part(scenario, seed)
            with no_release(place):
                scenario.anonymise.check(original, self.folder)
            form.check_knowledge(scenario.attacker, self.folder, lambda: original.items)
        if scenario.attacker.auxiliary_records is not None:
            scenario.attacker.auxiliary_records.read(self.folder)
        if scenario.control != "held_out":
            self.control(scenario, seed)
        if scenario.related_by is not None:
            scenario.related_by.check(self.folder)
        self._check_sample(scenario, seed)

    def occurrences(self) -> int:
        """Return the number of item occurrences in the original records that were read last."""
        return 0 if self._original is None else len(self._original[1].rows.codes)
