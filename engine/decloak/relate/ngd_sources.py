"""Sources of normalised Google distances without a service: count files, a corpus, the release, a sample, scores.

Co-occurrence counts in the published data: what an attacker without other knowledge can count.

A document is anything that shows which items may belong together. It is a published record, where a generalised
item counts as all of its members, or a cluster of a disassociated release.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Literal

import numpy as np

from decloak.data.formats.folder import Folder
from decloak.data.formats.plain_files import FORMATS, read
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.data.pairs import Pair, Pairs, ScoredPairs
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError
from decloak.relate.corpus_index import Corpus
from decloak.relate.counting import CachedCounts, joint_counts
from decloak.relate.counts_file import CountsFile, ScoresFile
from decloak.relate.ngd import CountSource, Scored, bound_scores
from decloak.relate.relatedness import CountedSource, Distance, NgdSource, Supplies
from decloak.yaml.section import ConfigErrors, File


class CountsSource(CountedSource):
    """Normalised Google distance from a file of counts."""

    FILES: ClassVar = ("file",)

    source: Literal["counts"]
    """Counts of pages."""
    file: File
    """The path of the file: CSV (a,b,count) or JSON."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        yield CountsFile.read(supplies.folder / self.file)


class CorpusSource(CountedSource):
    """Normalised Google distance from a corpus of documents."""

    FILES: ClassVar = ("file",)

    source: Literal["corpus"]
    """An index of documents."""
    file: File
    """The path of the index that `decloak corpus build` made."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        with Corpus.open(supplies.folder / self.file) as index:
            yield CachedCounts(index, supplies.cache, progress=supplies.progress)


class SampleSource(CountedSource):
    """Normalised Google distance from records of other people of the same population."""

    FILES: ClassVar = ("file",)
    knowledge_level: ClassVar = KnowledgeLevel.SAMPLE

    source: Literal["sample"]
    """Records of other people of the same population. The published records would contain the answers."""
    file: File | None = None
    """The path of the records; by default the records that the attacker `knows`."""
    # Plugins add formats, so that their names are known at run time only.
    format: Literal[tuple(FORMATS)] = "basket"  # type: ignore[valid-type]
    """How they are written; `decloak import --help` describes the formats."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for a format without a file."""
        if self.file is None and "format" in self.model_fields_set:
            yield ("format",), DecloakError("there is no file to have a format", hint="write file: FILE, or delete it")
        yield from super().config_errors()

    def check(self, folder: Folder) -> None:
        """Read the file in `folder`; a sample that the attacker knows is read elsewhere."""
        if self.file is not None:
            super().check(folder)

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        yield ObservedCounts(*self._sample(supplies))

    def other_transactions(self, supplies: Supplies) -> Sequence[Sequence[str]]:
        """Return the records of the sample in `supplies`."""
        return self._sample(supplies)[0]

    def _sample(self, supplies: Supplies) -> tuple[Sequence[Sequence[str]], Sequence[str]]:
        """Return the records, and a note on their origin."""
        if self.file is not None:
            return read(supplies.folder / self.file, self.format).transactions, ()
        if supplies.sample is None:
            raise DecloakError("no sample is known here", hint="write file: FILE")
        sample = supplies.sample()
        return sample.records.transactions, (sample.note,)


class ReleaseSource(CountedSource):
    """Normalised Google distance from the published data alone: no knowledge from elsewhere."""

    knowledge_level: ClassVar = KnowledgeLevel.RELEASE

    source: Literal["release"]
    """The release itself: its records, or its clusters where it is disassociated."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        yield ObservedCounts(supplies.documents())


class ScoresSource(NgdSource):
    """Finished scores from a file."""

    FILES: ClassVar = ("file",)

    source: Literal["scores"]
    """Scores from another program."""
    file: File
    """The path of the file: CSV, a,b,ngd."""
    unseen: Distance = 1.0
    """The value of an infinite distance: a number, or none for no score."""
    closer: Literal["smaller", "larger"] = "smaller"
    """The direction of the scores: smaller or larger means closer. Larger needs disassociated data."""

    def config_errors(self) -> ConfigErrors:
        if self.closer == "larger":
            for key in sorted({"unseen", "cap"} & self.model_fields_set):
                yield (key,), DecloakError(f"'{key}' is about distances", hint="delete it, or closer: larger")
        yield from super().config_errors()

    def check(self, folder: Folder) -> None:
        ScoresFile.read(folder / self.file)

    def scored(self, pairs: Sequence[Pair], supplies: Supplies) -> Scored:
        """Return the scores of `pairs` in the file; distances are bounded like computed ones.

        `supplies` name the folder of the file.
        """
        scores = ScoresFile.read(supplies.folder / self.file).distances(pairs)
        if self.closer == "smaller":
            return bound_scores(scores, unseen=self.unseen, cap=self.cap)
        found = ScoredPairs.of(scores)
        return Scored(ScoredPairs(found.pairs, np.where(np.isfinite(found.numbers), found.numbers, np.nan)), [])


class ObservedCounts:
    """Counts of items over documents, as a CountSource.

    >>> seen = ObservedCounts([["flu", "cough"], ["flu"]])
    >>> seen.n, seen.counts(["flu", "knee"]), seen.joint([("cough", "flu")])
    (2, {'flu': 2, 'knee': 0}, {('cough', 'flu'): 1.0})
    """

    def __init__(self, documents: Iterable[Iterable[str]], notes: Sequence[str] = ()) -> None:
        self.notes = notes
        rows = CodedRows.of(documents)
        self._place = {item: code for code, item in enumerate(rows.names)}
        held = rows.matrix(np.arange(len(rows.names)), len(rows.names))
        # Transposed, because pairs are counted by rows of terms. An item that a document repeats counts once.
        # Sums of products would overflow the single byte of the matrix.
        self._held = held.T.tocsr().astype(np.int32)
        self._held.data[:] = 1

    @property
    def n(self) -> int:
        return int(self._held.shape[1])

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        size = np.diff(self._held.indptr)
        return {term: int(size[self._place[term]]) if term in self._place else 0 for term in terms}

    def joint(self, pairs: Sequence[Pair]) -> ScoredPairs:
        """Return f(x,y) of each of `pairs`."""
        pairs = Pairs.of(pairs)
        place = np.array([self._place.get(item, -1) for item in pairs.items], np.int64)
        first, second = place[pairs.a], place[pairs.b]
        known = (first >= 0) & (second >= 0)
        counts = np.zeros(len(pairs))
        counts[known] = joint_counts(self._held, first[known], second[known])
        return ScoredPairs(pairs, counts)
