"""A disassociated release: clusters of records whose items are published in chunks that hide who had what.

The first record chunk of a cluster anchors the attacks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from decloak.data.content import Chunk, Chunked, Cluster, Joint
from decloak.data.formats.disassociated_file import DISASSOCIATION, parse_chunked, write_disassociated
from decloak.data.formats.lines import FilePath, Line, place, read_lines
from decloak.data.formats.release_header import LONGEST_RELEASE
from decloak.data.formats.release_text import text_table
from decloak.data.forms import FormName
from decloak.data.ordering import Arranged, Places
from decloak.data.release import Release, with_bounds
from decloak.errors import DecloakError, shown

__all__ = ["Chunk", "Cluster", "Disassociated", "Joint", "as_disassociated", "disassociated_of", "read_disassociated"]


@dataclass(frozen=True)
class Disassociated(Chunked):
    """What is published; nothing here says which record a sub-record came from.

    >>> chunk = Chunk(("a", "b"), (("a",), ("a", "b")))
    >>> release = Disassociated((Cluster(3, (chunk,), ("c",)),), k=2)
    >>> list(zip(release.ids, release.transactions))
    [('0.0', ('a',)), ('0.1', ('a', 'b')), ('0.2', ())]
    """

    form: ClassVar = FormName.DISASSOCIATED

    origin: str = field(default="memory", compare=False)
    method: str = field(default=DISASSOCIATION, compare=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", with_bounds(self.parameters, k=self.k, m=self.m))

    @property
    def transactions(self) -> tuple[tuple[str, ...], ...]:
        """The anchor that every row shows, cluster after cluster."""
        return tuple(anchor for cluster in self.clusters for anchor in cluster.anchors)

    @property
    def ids(self) -> tuple[str, ...]:
        """What the rows are called, as in 2.0: nobody outside knows more of the records behind them."""
        return tuple(f"{number}.{row}" for number, cluster in enumerate(self.clusters) for row in range(cluster.size))

    @property
    def items(self) -> tuple[str, ...]:
        """Every item of its clusters, in alphabetical order."""
        return tuple(sorted({item for cluster in self.clusters for item in cluster.items}))

    def arranged(self) -> Arranged[Self]:
        """The same in an order that only what it shows decides.

        Clusters, and joint clusters of one size, are sorted by what they publish. Chunks have their order from it
        already, that of their most frequent items; and so have items, sub-records and rows, which are sorted.
        """
        shared = [(joint, [self.clusters[number] for number in joint.clusters]) for joint in self.joints]
        in_joints: list[list[Any]] = [[] for _ in self.clusters]
        for joint, members in shared:
            for number in joint.clusters:
                in_joints[number].append((_content(joint.shared_chunks), sorted(map(_shows, members))))
        # Where clusters publish the same, what they share with others decides.
        keys = [(_shows(cluster), sorted(joined)) for cluster, joined in zip(self.clusters, in_joints, strict=True)]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        number_of = {place: number for number, place in enumerate(order)}
        joints = [
            replace(joint, clusters=tuple(sorted(map(number_of.__getitem__, joint.clusters)))) for joint in self.joints
        ]
        joints.sort(key=lambda joint: (len(joint.clusters), joint.clusters, _content(joint.shared_chunks)))
        arranged = replace(self, clusters=tuple(self.clusters[place] for place in order), joints=tuple(joints))
        start = np.cumsum([0, *(cluster.size for cluster in self.clusters)])
        places = [np.arange(start[place], start[place + 1]) for place in order]
        return Arranged(arranged, np.concatenate([np.arange(0), *places]), arranged.alike)

    @property
    def alike(self) -> Places:
        """A number for each row that it shares with the rows of its cluster that show the same anchor."""
        rows = [(number, anchor) for number, cluster in enumerate(self.clusters) for anchor in cluster.anchors]
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        return np.array([numbers[row] for row in rows], np.int64)

    def renumbered(self) -> Self:
        """The same: its rows are called by their clusters."""
        return self

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write it as a release file; its rows have no ids to write, only places in their clusters."""
        if ids:
            raise DecloakError("a disassociated release has no ids", place(path), "write it without them")
        write_disassociated(self, path)

    def __str__(self) -> str:
        return text_table(self)


def _content(chunks: Iterable[Chunk]) -> list[Any]:
    return [(chunk.items, chunk.subrecords) for chunk in chunks]


def _shows(cluster: Cluster) -> tuple[Any, ...]:
    return _content(cluster.record_chunks), cluster.term_chunk, cluster.size


def as_disassociated(release: object) -> Disassociated:
    """A release as somebody hands it in, who may have another one, or the transactions themselves."""
    if not isinstance(release, Disassociated):
        form = release.form if isinstance(release, Release) else type(release).__name__
        message = f"the release is {shown(form)}, and this is about disassociated ones"
        raise DecloakError(message, hint="read one with read_release, or make one by anonymise(data, 'disassociation')")
    return release


def read_disassociated(path: FilePath) -> Disassociated:
    """Read a disassociated release; what it promises is not checked here, only that it is one."""
    return disassociated_of(read_lines(path, longest=LONGEST_RELEASE))


def disassociated_of(lines: Sequence[Line]) -> Disassociated:
    return Disassociated(**vars(parse_chunked(lines)), origin=place(lines[0].path))
