"""The sources of normalised Google distances that need no service: counts, a corpus, the release itself, scores."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Literal

from decloak.data.formats.folder import Folder
from decloak.data.formats.readers import FORMATS, read
from decloak.data.rungs import Rung
from decloak.data.tables import Pair
from decloak.errors import DecloakError
from decloak.relate.corpus_index import Corpus
from decloak.relate.counting import Counted
from decloak.relate.ngd import Scored, settled
from decloak.relate.observed import Observed
from decloak.relate.protocols import CountSource
from decloak.relate.relatedness import CountedSource, Distance, NgdSource, Supplies
from decloak.relate.sources import CountsFile, ScoresFile
from decloak.yaml.part import File, Found

__all__ = ["CorpusSource", "CountsSource", "ReleaseSource", "SampleSource", "ScoresSource"]


class CountsSource(CountedSource):
    """Normalised Google distance by a file of counts."""

    FILES: ClassVar = ("file",)

    source: Literal["counts"]
    """Counts of pages."""
    file: File
    """The path of the file: CSV (a,b,count) or JSON."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        yield CountsFile.read(supplies.folder / self.file)


class CorpusSource(CountedSource):
    """Normalised Google distance by a corpus of documents."""

    FILES: ClassVar = ("file",)

    source: Literal["corpus"]
    """An index of documents."""
    file: File
    """The path of the index that `decloak corpus build` made."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        with Corpus.open(supplies.folder / self.file) as index:
            yield Counted(index, supplies.cache, progress=supplies.progress)


class SampleSource(CountedSource):
    """Normalised Google distance by transactions of the same population: what somebody with a sample of it counts."""

    FILES: ClassVar = ("file",)
    rung: ClassVar = Rung.SAMPLE

    source: Literal["sample"]
    """Transactions of other people of the same population; those that are published would be the answers."""
    file: File | None = None
    """The path of the transactions; without it those that the attacker `knows`."""
    format: Literal[tuple(FORMATS)] = "basket"  # type: ignore[valid-type]
    """How they are written; `decloak import --help` describes the formats."""

    def mistakes(self) -> Found:
        """A format is that of a file."""
        if self.file is None and "format" in self.model_fields_set:
            yield ("format",), DecloakError("there is no file to have a format", hint="write file: FILE, or delete it")
        yield from super().mistakes()

    def check(self, folder: Folder) -> None:
        """Read the file; what the attacker knows is read elsewhere."""
        if self.file is not None:
            super().check(folder)

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        yield Observed(*self._sample(supplies))

    def others(self, supplies: Supplies) -> Sequence[Sequence[str]]:
        return self._sample(supplies)[0]

    def _sample(self, supplies: Supplies) -> tuple[Sequence[Sequence[str]], Sequence[str]]:
        """The transactions, and where they come from."""
        if self.file is not None:
            return read(supplies.folder / self.file, self.format).transactions, ()
        if supplies.sample is None:
            raise DecloakError("no sample is known here", hint="write file: FILE")
        sample = supplies.sample()
        return sample.records.transactions, (sample.note,)


class ReleaseSource(CountedSource):
    """Normalised Google distance by the published data alone: no knowledge from outside."""

    rung: ClassVar = Rung.RELEASE

    source: Literal["release"]
    """The release itself: its transactions, or its clusters where it is disassociated."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        yield Observed(supplies.documents())


class ScoresSource(NgdSource):
    """Finished scores."""

    FILES: ClassVar = ("file",)

    source: Literal["scores"]
    """Scores somebody worked out."""
    file: File
    """The path of the file: CSV, a,b,ngd."""
    unseen: Distance = 1.0
    """What an infinite distance becomes: a distance, or no score."""
    closer: Literal["smaller", "larger"] = "smaller"
    """Whether smaller scores are of closer items, as distances are, or larger ones (disassociated data)."""

    def mistakes(self) -> Found:
        if self.closer == "larger":
            for key in sorted({"unseen", "cap"} & self.model_fields_set):
                yield (key,), DecloakError(f"'{key}' is about distances", hint="delete it, or closer: larger")
        yield from super().mistakes()

    def check(self, folder: Folder) -> None:
        ScoresFile.read(folder / self.file)

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """The scores of the file: distances bounded as those worked out here are, others as they are."""
        scores = ScoresFile.read(supplies.folder / self.file).distances(pairs)
        if self.closer == "smaller":
            return settled(scores, unseen=self.unseen, cap=self.cap)
        finite = {pair: score if score is not None and math.isfinite(score) else None for pair, score in scores.items()}
        return Scored(finite, [])
