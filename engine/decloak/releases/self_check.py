"""Whether what is handed out leads back to the originals: it is read as an attacker would who has everything else.

Ids, the order of rows and of what stands in them, labels that nothing shows, suppressed items and words beside the
release: what they give away is an error before anything stands under the name that was asked for.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from decloak.anonymisers.registry import METHODS
from decloak.attack.written_order import order_notes
from decloak.data.content import Chunked
from decloak.data.formats.manifest_file import Manifest
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.ordering import ORDERS, Places
from decloak.data.rows import Numbers
from decloak.errors import shown
from decloak.releases.held import HeldRelease
from decloak.releases.shown import AnyRelease, names_shown
from decloak.store.origins import read_origins

__all__ = ["Secret", "WayBack", "links", "words_told"]

REPORT = "report it: no release of decloak should be so"
WORDS = {*ORDERS, *METHODS, "all", "unknown", FormName.DISTANCES}
"""What a parameter or a method may be that is no number."""


class WayBack(NamedTuple):
    """A way from what is handed out to the originals."""

    message: str
    remedy: str = REPORT


class Secret(NamedTuple):
    """What only the publisher knows."""

    ids: frozenset[str] = frozenset()
    """What the original transactions are called; none where these are but their numbers."""
    places: Places | None = None
    """The place of the original transaction behind every row; None where they are not known."""
    suppressed: frozenset[str] = frozenset()
    """Items of the originals that the release does not show."""

    @classmethod
    def of(cls, held: HeldRelease) -> "Secret":
        """What the store knows behind a release."""
        original = held.original
        if original is None:
            return cls()
        ids = () if tuple(original.labels) == Numbers(len(original.labels)) else original.labels
        suppressed = frozenset(original.items) - names_shown(held.published)
        return cls(frozenset(ids), read_origins(held.connection, held.number), suppressed)


def links(back: AnyRelease, written: AnyRelease, truth: Secret, *, recorded: bool, with_ids: bool) -> Iterator[WayBack]:
    """What leads from a release, read back, to the originals; `recorded` and `with_ids` where that was asked for."""
    if _content(back) != _content(written):
        yield WayBack("it does not read back as the release that was written")
    named = not isinstance(back, Chunked) and tuple(back.ids) != Numbers(len(back.ids))
    if named and not with_ids and (ids := truth.ids.intersection(back.ids)):
        yield WayBack(f"{len(ids)} of its {len(back.ids)} rows are called as the originals: {_few(ids)}")
    if not recorded and _listed(back) != _listed(back.arranged().release):
        yield WayBack(f"the order of its rows, or of what they show, is not that of what they show{_in_place(truth)}")
    for warning in order_notes(back):
        yield WayBack(warning.removeprefix("WARNING: "))
    if isinstance(back, Generalised):
        if idle := set(back.members).difference(back.rows.used):
            yield WayBack(f"it lists labels that no transaction shows: {_few(idle)}")
        if suppressed := truth.suppressed.intersection(back.members):
            remedy = "rename them in the hierarchy"
            yield WayBack(f"labels are called like items that it does not show otherwise: {_few(suppressed)}", remedy)
    if suppressed := truth.suppressed.intersection(names_shown(back)):
        yield WayBack(f"it names items that the release suppressed: {_few(suppressed)}")


def words_told(manifest: Manifest) -> Iterator[WayBack]:
    """Words in a manifest that are not of decloak's own vocabulary, and so from the data or the scenario."""
    words = {manifest.method, *(value for value in manifest.parameters.values() if isinstance(value, str))}
    if foreign := words - WORDS:
        yield WayBack(f"its manifest says {_few(foreign)}")


def _in_place(truth: Secret) -> str:
    if truth.places is None:
        return ""
    still = int(np.count_nonzero(truth.places == np.arange(len(truth.places))))
    return f"; {still} of {len(truth.places)} stand at the place of the original transaction"


def _content(release: AnyRelease) -> Sequence[Any]:
    """What the rows of a release say, whatever their order."""
    return _listed(release.arranged().release)[:1]


def _listed(release: AnyRelease) -> Sequence[Any]:
    """What a release says in the order that it has: its rows, and what its labels stand for."""
    if isinstance(release, Chunked):
        return [(release.clusters, release.joints)]
    return [release.transactions, list(release.members.items()) if isinstance(release, Generalised) else []]


def _few(names: Iterable[str]) -> str:
    first, *rest = sorted(names)
    return shown(first) + (f" and {len(rest)} more" if rest else "")
