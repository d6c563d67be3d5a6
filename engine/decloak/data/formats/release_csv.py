"""Releases as CSV tables for readers with statistics programs, and the codebook beside each.

A release of labels has a row per record and label. A disassociated release has a row per sub-record and item. The
codebook explains the columns, and lists the items of each label.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from decloak.data.content import Chunk, ChunkContent, LabelContent
from decloak.data.formats.delimited import join, records
from decloak.data.formats.lines import FilePath, read_lines
from decloak.data.formats.writing import write_lines
from decloak.errors import DecloakError

__all__ = ["codebook_lines", "codebook_path", "write_csv"]

LABELS = {
    "record": "the record; its number does not lead to a person",
    "label": "an item, or the label of several items of which the person has at least one; empty: nothing is published",
}
CHUNKS = {
    "cluster": "the number of the cluster, or the numbers of the clusters that share the chunk",
    "records": "how many records the cluster has; for the kind total, how many records have the item",
    "kind": "record: a record chunk; term: items without a number of records; shared: a chunk of several clusters; "
    "total: the number of all records with the item",
    "chunk": "the number of the chunk in the cluster",
    "row": "the number of the sub-record in the chunk; equal numbers in different chunks do not mean the same record",
    "item": "an item",
}


def codebook_path(path: Path) -> Path:
    """Return the path of the codebook beside the release at `path`.

    >>> codebook_path(Path("out/visits.csv")).name
    'visits.codebook.csv'
    """
    return path.with_name(f"{path.stem}.codebook.csv")


def write_csv(release: LabelContent | ChunkContent, path: FilePath, *, ids: bool = False) -> None:
    """Write the rows of `release` to `path`, with its ids if `ids`; raise an error unless they can be read back."""
    columns, cells = (LABELS, _label_rows(release, ids)) if isinstance(release, LabelContent) else (
        CHUNKS, _chunk_rows(release),
    )  # fmt: skip
    rows = [list(columns), *cells]
    write_lines([join(row, multiline=True) for row in rows], path)
    if [row for _, row in records(read_lines(path))] != rows:
        raise DecloakError("the table differs after it is read back", hint="write a release file (.jsonl)")


def _label_rows(release: LabelContent, ids: bool) -> Iterator[list[str]]:
    names = release.ids if ids else map(str, range(1, len(release.transactions) + 1))
    for name, labels in zip(names, release.transactions, strict=True):
        yield from ([name, label] for label in labels or ("",))


def _chunk_rows(release: ChunkContent) -> Iterator[list[str]]:
    for number, cluster in enumerate(release.clusters):
        head = [str(number), str(cluster.size)]
        if not (cluster.record_chunks or cluster.term_chunk):
            yield [*head, "", "", "", ""]
        for place, chunk in enumerate(cluster.record_chunks):
            yield from _subrecord_rows([*head, "record", str(place)], chunk)
        yield from ([*head, "term", "", "", item] for item in cluster.term_chunk)
    for joint in release.joints:
        size = sum(release.clusters[number].size for number in joint.clusters)
        head = [" ".join(map(str, joint.clusters)), str(size)]
        for place, chunk in enumerate(joint.shared_chunks):
            yield from _subrecord_rows([*head, "shared", str(place)], chunk)
    yield from (["", str(support), "total", "", "", item] for item, support in release.totals)


def _subrecord_rows(head: list[str], chunk: Chunk) -> Iterator[list[str]]:
    for row, items in enumerate(chunk.subrecords):
        yield from ([*head, str(row), item] for item in items)


def codebook_lines(release: LabelContent | ChunkContent, facts: Mapping[str, object]) -> Iterable[str]:
    """Yield the lines of the codebook of `release`: columns, `facts` about the method, and the items of labels."""
    of_labels = isinstance(release, LabelContent)
    yield join(["entry", "name", "meaning"])
    for name, meaning in (LABELS if of_labels else CHUNKS).items():
        yield join(["column", name, meaning])
    for name, value in facts.items():
        yield join(["fact", name, str(value)])
    for label, items in sorted(release.members.items()) if isinstance(release, LabelContent) else ():
        yield from (join(["label", label, item], multiline=True) for item in sorted(items))
