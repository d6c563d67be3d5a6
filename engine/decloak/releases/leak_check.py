"""Check of a published release for leaks: anything in it that leads back to the original data."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from decloak.anonymisers.registry import CHOICES, METHODS
from decloak.attacker.written_order import order_notes
from decloak.data.content import ChunkContent
from decloak.data.formats.manifest_file import Manifest
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.itemset_table import ItemsetTable
from decloak.data.ordering import ORDERS, RowIndices
from decloak.data.rows import RowLabels
from decloak.errors import quote
from decloak.releases.file_formats import AnyRelease, published_items
from decloak.releases.stored import StoredRelease
from decloak.store.record_links import read_origins

__all__ = ["HiddenFacts", "Leak", "find_leaks", "manifest_leaks"]

REPORT = "report it: no release of decloak should be so"
WORDS = {*ORDERS, *METHODS, *CHOICES, "all", "unknown", FormName.DISTANCES}
"""Texts that a parameter or a method may have."""


class Leak(NamedTuple):
    """A connection from published files to the original data."""

    message: str
    remedy: str = REPORT


class HiddenFacts(NamedTuple):
    """Facts that only the publisher knows."""

    ids: frozenset[str] = frozenset()
    """Ids of the original records; empty if these are only numbers."""
    places: RowIndices | None = None
    """Row index of the original record of every row; None if it is not known."""
    suppressed: frozenset[str] = frozenset()
    """Items of the originals that the release does not show."""

    @classmethod
    def of(cls, held: StoredRelease) -> "HiddenFacts":
        """Return what the store knows about the originals of the release `held`."""
        original = held.original
        if original is None:
            return cls()
        ids = () if tuple(original.labels) == RowLabels(len(original.labels)) else original.labels
        suppressed = frozenset(original.items) - published_items(held.published)
        return cls(frozenset(ids), read_origins(held.connection, held.number), suppressed)


def find_leaks(
    back: AnyRelease, written: AnyRelease, truth: HiddenFacts, *, recorded: bool, with_ids: bool
) -> Iterator[Leak]:
    """Yield every leak in the release `back` that was read from the published files.

    `written` is the release that was written, and `truth` has the hidden facts. `recorded` and `with_ids` say whether
    the recorded order and the original ids were asked for.
    """
    if _row_content(back) != _row_content(written):
        yield Leak("the file differs from the release after it is read back")
    # Numbers as ids carry no information; any other id may be that of a person.
    named = not isinstance(back, ChunkContent) and tuple(back.ids) != RowLabels(len(back.ids))
    if named and not with_ids and (ids := truth.ids.intersection(back.ids)):
        yield Leak(f"{len(ids)} of its {len(back.ids)} rows are called as the originals: {_name_first(ids)}")
    if not recorded and _ordered_content(back) != _ordered_content(back.sorted_by_content().release):
        yield Leak(f"the rows or their items are not sorted by content{_unmoved_rows(truth)}")
    for warning in order_notes(back):
        yield Leak(warning.removeprefix("WARNING: "))
    if isinstance(back, Generalised):
        if idle := set(back.members).difference(back.rows.used_names):
            yield Leak(f"it lists labels that no record shows: {_name_first(idle)}")
        if suppressed := truth.suppressed.intersection(back.members):
            remedy = "rename them in the hierarchy"
            yield Leak(
                f"labels are called like items that it does not show otherwise: {_name_first(suppressed)}", remedy
            )
    if suppressed := truth.suppressed.intersection(published_items(back)):
        yield Leak(f"it names items that the release suppressed: {_name_first(suppressed)}")


def manifest_leaks(manifest: Manifest) -> Iterator[Leak]:
    """Yield a leak for words of `manifest` outside decloak's own vocabulary: they come from the
    data or the scenario.
    """
    words = {manifest.method, *(value for value in manifest.parameters.values() if isinstance(value, str))}
    if foreign := words - WORDS:
        yield Leak(f"its manifest says {_name_first(foreign)}")


def _unmoved_rows(truth: HiddenFacts) -> str:
    if truth.places is None:
        return ""
    still = int(np.count_nonzero(truth.places == np.arange(len(truth.places))))
    return f"; {still} of {len(truth.places)} records are at their original position"


def _row_content(release: AnyRelease) -> Sequence[object]:
    """Return the content of the rows of a release, whatever their order."""
    return _ordered_content(release.sorted_by_content().release)[:1]


def _ordered_content(release: AnyRelease) -> Sequence[object]:
    """Return the content of a release in its order: its rows, and the members of its labels."""
    if isinstance(release, ChunkContent):
        return [(release.clusters, release.joints, release.totals)]
    if isinstance(release, ItemsetTable):
        return [(release.records, release.itemsets, release.supports)]
    return [release.transactions, list(release.members.items()) if isinstance(release, Generalised) else []]


def _name_first(names: Iterable[str]) -> str:
    first, *rest = sorted(names)
    return quote(first) + (f" and {len(rest)} more" if rest else "")
