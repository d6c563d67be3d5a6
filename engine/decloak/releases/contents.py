"""Content of a release, whatever its form."""

from decloak.data.content import ChunkContent
from decloak.data.disassociated import Disassociated
from decloak.data.generalised import Generalised
from decloak.data.published import Published

__all__ = ["AnyRelease", "published_items"]

AnyRelease = Published | Generalised | Disassociated


def published_items(release: AnyRelease) -> frozenset[str]:
    """Return every item that `release` shows: plain, as a member, or in a chunk."""
    if isinstance(release, ChunkContent):
        shared = (chunk.items for joint in release.joints for chunk in joint.shared_chunks)
        return frozenset().union(*(cluster.items for cluster in release.clusters), *shared)
    published = release.published if isinstance(release, Generalised) else release
    elements = published.rows.used_names
    return frozenset(item for element in elements for item in ((element,) if isinstance(element, str) else element))
