"""Score pairs of items by the measure and the source that a scenario names."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from decloak.data.tables import Pair
from decloak.relate.counting import Cache, Counted, Progress
from decloak.relate.ngd import Scored, distances, settled
from decloak.relate.parts import (
    Clinic,
    Corpus,
    Counts,
    Embedding,
    Provider,
    PseudoCount,
    Relate,
    Scores,
    Within,
    Wordnet,
)
from decloak.relate.similar import Measure, apart
from decloak.relate.sources import CountsFile, ScoresFile, Source

__all__ = ["Documents", "Related", "check_relate", "related"]

Documents = Callable[[], Iterable[Iterable[str]]]
"""Gives what items stand together in, for a source that counts nothing else."""


class Related(NamedTuple):
    """Scores of pairs, with the measure, where it comes from, and what it could not use."""

    measure: str
    origin: str
    scores: Mapping[Pair, float | None]
    warnings: Sequence[str]


def related(
    part: Relate,
    folder: Path,
    pairs: Sequence[Pair],
    *,
    documents: Documents,
    cache: Cache | None = None,
    progress: Progress = lambda answered, asked: None,
) -> Related:
    """Score pairs; counts that had to be asked for are kept in the cache."""
    if isinstance(part, Scores):
        scored = _finished(part, folder, pairs)
        return Related(part.measure, part.file, scored.distances, scored.warnings)
    if isinstance(part, Embedding | Wordnet):
        scored = apart(_measure(part, folder).scores(pairs))
        origin = part.file or part.package if isinstance(part, Embedding) else part.folder
        return Related(part.measure, origin or "package", scored.distances, scored.warnings)
    with _source(part, folder, documents, cache, progress) as source:
        unseen = part.unseen.model_dump() if isinstance(part.unseen, PseudoCount) else part.unseen
        scored = distances(source, pairs, unseen=unseen, cap=part.cap)
        notes = source.notes if isinstance(source, Counted) else []
    origin = part.url if isinstance(part, Provider) else getattr(part, "file", part.source)
    return Related(part.measure, origin, scored.distances, [*notes, *scored.warnings])


def check_relate(part: Relate, folder: Path) -> None:
    """Read and open whatever it names; no question is asked."""
    if isinstance(part, Scores):
        ScoresFile.read(folder / part.file)
    elif isinstance(part, Embedding | Wordnet):
        _measure(part, folder)
    else:
        with _source(part, folder, lambda: (), None, lambda answered, asked: None):
            pass


def _finished(part: Scores, folder: Path, pairs: Sequence[Pair]) -> Scored:
    found = ScoresFile.read(folder / part.file).distances(pairs)
    if part.closer == "smaller":
        return settled(found, unseen=part.unseen, cap=part.cap)
    return Scored({pair: _finite(score) for pair, score in found.items()}, [])


def _finite(score: float | None) -> float | None:
    return score if score is not None and math.isfinite(score) else None


def _measure(part: Embedding | Wordnet, folder: Path) -> Measure:
    from decloak.relate.embedding import Embedding as Vectors
    from decloak.relate.embedding import FileVectors
    from decloak.relate.packaged import PackagedVectors
    from decloak.relate.wordnet import WordNet

    if isinstance(part, Wordnet):
        return WordNet.read(None if part.folder is None else folder / part.folder)
    return Vectors(PackagedVectors.load() if part.file is None else FileVectors.read(folder / part.file))


@contextmanager
def _source(
    part: Counts | Corpus | Clinic | Within | Provider,
    folder: Path,
    documents: Documents,
    cache: Cache | None,
    progress: Progress,
) -> Iterator[Source]:
    if isinstance(part, Counts):
        yield CountsFile.read(folder / part.file)
    elif isinstance(part, Clinic):
        from decloak.relate.clinic import clinic_counts

        yield clinic_counts()
    elif isinstance(part, Within):
        from decloak.relate.observed import Observed

        yield Observed(documents())
    elif isinstance(part, Corpus):
        from decloak.relate.corpus import Corpus as Index

        with Index.open(folder / part.file) as index:
            yield Counted(index, cache, progress=progress)
    else:
        from decloak.relate.provider import Provider as Service

        yield Counted(Service(part.settings), cache, n=part.pages, progress=progress)
