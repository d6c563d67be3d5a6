"""Shared chunks: sub-records that a joint cluster publishes for all its clusters together.

A sub-record of a shared chunk belongs to a record of the joint cluster, unless its own cluster, or a smaller joint
cluster around it, publishes one of its items elsewhere. For the attack, the rows of all clusters of the joint cluster
are treated as one cluster.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.data.assignment import ChunkNumber, RowLists
from decloak.data.disassociated import Disassociated
from decloak.rules.reassociate.scores import ClusterCase
from decloak.rules.reassociate.units import AnchoredRows, Unit, rows_of_cluster, subrecord_units

__all__ = ["JointCase", "is_shared", "joint_cases", "shared_places"]


class JointCase(NamedTuple):
    """The rows of the clusters of a joint cluster as one list, its shared chunks, and the start of each cluster.

    `row_starts` and `anchor_starts` have one number more than clusters; `barred` lists units and clusters, by index,
    that do not go together.
    """

    case: ClusterCase
    clusters: tuple[int, ...]
    row_starts: tuple[int, ...]
    anchor_starts: tuple[int, ...]
    barred: tuple[tuple[int, int], ...]

    def mask_values(self, values: Floats) -> Floats:
        """Return `values`, -inf where a unit cannot be."""
        # The caller still needs its values of other clusters.
        values = values.copy()
        for unit, cluster in self.barred:
            values[unit, self.anchor_starts[cluster] : self.anchor_starts[cluster + 1]] = -np.inf
        return values

    def split_by_cluster(self, values: Floats, rows: RowLists) -> Iterator[tuple[ClusterCase, Floats, RowLists]]:
        """Yield for each cluster its case, the `values` of its anchors, and its `rows` of every unit."""
        for place, number in enumerate(self.clusters):
            low, high = self.row_starts[place : place + 2]
            of_row = tuple(anchor - self.anchor_starts[place] for anchor in self.case.rows.of_row[low:high])
            anchors = slice(*self.anchor_starts[place : place + 2])
            case = ClusterCase(number, AnchoredRows(self.case.rows.anchors[anchors], of_row), self.case.units)
            mine = (rows.rows >= low) & (rows.rows < high)
            lengths = np.bincount(rows.list_of_row[mine], minlength=len(self.case.units))
            yield case, values[:, anchors], RowLists(np.append(0, np.cumsum(lengths)), rows.rows[mine] - low)


def is_shared(chunk: ChunkNumber) -> bool:
    """Return True if `chunk` names a shared chunk."""
    return str(chunk).startswith("S")


def shared_places(release: Disassociated) -> list[dict[str, str]]:
    """Return for each cluster of `release` the shared chunk `S<joint>.<chunk>` of each item that may be in one."""
    if not release.joints:
        return [{} for _ in release.clusters]
    places: list[dict[str, str]] = [dict.fromkeys(cluster.items, "") for cluster in release.clusters]
    # Smaller joint clusters first: an item stays where the innermost one publishes it.
    for number, joint in sorted(enumerate(release.joints), key=lambda entry: len(entry[1].clusters)):
        for j, chunk in enumerate(joint.shared_chunks):
            for cluster in joint.clusters:
                for item in chunk.items:
                    places[cluster].setdefault(item, f"S{number}.{j}")
    return [{item: chunk for item, chunk in named.items() if chunk} for named in places]


def joint_cases(release: Disassociated) -> Iterator[JointCase]:
    """Yield every joint cluster of `release` with a shared chunk; rows of clusters without a
    record chunk show nothing.
    """
    places = shared_places(release)
    for number, joint in enumerate(release.joints):
        units = [
            unit for j, chunk in enumerate(joint.shared_chunks) for unit in subrecord_units(f"S{number}.{j}", chunk)
        ]
        if units:
            yield _joint_case(release, joint.clusters, units, places)


def _joint_case(
    release: Disassociated, members: tuple[int, ...], units: list[Unit], places: list[dict[str, str]]
) -> JointCase:
    rows = [rows_of_cluster(release.clusters[number]) for number in members]
    anchor_starts = np.cumsum([0, *(len(part.anchors) for part in rows)]).tolist()
    row_starts = np.cumsum([0, *(len(part.of_row) for part in rows)]).tolist()
    anchors = tuple(anchor for part in rows for anchor in part.anchors)
    of_row = tuple(anchor + start for part, start in zip(rows, anchor_starts, strict=False) for anchor in part.of_row)
    barred = tuple(
        (at, place)
        for at, unit in enumerate(units)
        for place, number in enumerate(members)
        if any(places[number].get(item) != unit.chunk for item in unit.items)
    )
    case = ClusterCase(-1, AnchoredRows(anchors, of_row), units)
    return JointCase(case, members, tuple(row_starts), tuple(anchor_starts), barred)
