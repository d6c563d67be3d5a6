"""What is in a release, whatever its form."""

from decloak.data.content import Chunked
from decloak.data.disassociated import Disassociated
from decloak.data.generalised import Generalised
from decloak.data.published import Published

__all__ = ["AnyRelease", "names_shown"]

AnyRelease = Published | Generalised | Disassociated


def names_shown(release: AnyRelease) -> frozenset[str]:
    """Every item that a release shows: plain, as a member, or in a chunk."""
    if isinstance(release, Chunked):
        shared = (chunk.items for joint in release.joints for chunk in joint.shared_chunks)
        return frozenset().union(*(cluster.items for cluster in release.clusters), *shared)
    published = release.published if isinstance(release, Generalised) else release
    elements = published.rows.used
    return frozenset(item for element in elements for item in ((element,) if isinstance(element, str) else element))
