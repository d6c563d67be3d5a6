"""How far reconstructed records are from the true ones: the word mover's distance."""

from collections.abc import Collection, Mapping, Sequence

from decloak.data.formats.delimited import read_number, records
from decloak.data.formats.lines import FilePath, read_lines
from decloak.figures import metrics_of
from decloak.measure.family import CHUNKS, POOLED, AttackResult, Family, MetricResult
from decloak.releases.stored import UNKNOWN, StoredDisassociation
from decloak.yaml.section import ConfigSection, File

__all__ = ["FAMILY", "WmdSettings"]

Records = Sequence[Collection[str]]


class WmdSettings(ConfigSection):
    """Word vectors for the word mover's distance."""

    FILES = ("vectors",)
    vectors: File
    """Word vectors (GloVe or word2vec), or a CSV file without a header: an item, then the numbers of its vector."""


def _measure(attacked: AttackResult[StoredDisassociation], *, vectors: str) -> MetricResult:
    from decloak.measure.kernels.reassociation import reconstructed
    from decloak.measure.kernels.transport import mean_distance

    release, rows = attacked.release.published, attacked.release.rows
    if rows is None:
        return [], UNKNOWN.format("wmd")
    rebuilt = reconstructed(release, rows.of_row, attacked.assignments)
    anchors = reconstructed(release, rows.of_row, [])
    known = _vectors(attacked.folder / vectors, rebuilt, rows.records)
    distance = mean_distance(rows.records, rebuilt, known, anchors)
    return [(POOLED, "wmd", distance.mean, None, distance.compared)], None


def _vectors(path: FilePath, *transactions: Records) -> Mapping[str, Sequence[float]]:
    """Return the vectors of items, from a file of them, or from the word vectors of their words."""
    from decloak.relate.vectors_file import is_vectors_file
    from decloak.relate.word_vectors import vectors_of

    if is_vectors_file(path):
        items = {item for rows in transactions for row in rows for item in row}
        return {item: vector.tolist() for item, vector in vectors_of(path, sorted(items)).items()}
    # Vectors by item are taken as they are; a file of words above is asked for the words of each item.
    vectors = {}
    for line, (name, *numbers) in records(read_lines(path)):
        try:
            vectors[name] = [read_number(number) for number in numbers]
        except ValueError:
            raise line.error("a vector that is not all numbers", "write an item, then its numbers") from None
    return vectors


FAMILY = Family(
    name="wmd",
    about="Distance of reconstructed records from the original ones",
    metrics=metrics_of("wmd"),
    measure=_measure,
    fits=CHUNKS,
    settings=WmdSettings,
    rule_forms=frozenset({"reassociate"}),
)
