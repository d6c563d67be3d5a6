"""What a release has, whatever the form it is published in."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from decloak.data.content import Element
from decloak.data.formats.lines import FilePath
from decloak.data.forms import FormName

__all__ = ["Release", "with_bounds"]


@runtime_checkable
class Release(Protocol):
    """What every result of `decloak.anonymise`, and every release that is read from a file, can be asked.

    All of it is published or may be: nothing here tells what only the data before it know.
    """

    @property
    def transactions(self) -> Sequence[tuple[Element, ...]]:
        """What each row shows: items, generalised items or labels; of a disassociated release the anchors, which are
        the sub-records of the first record chunk of each cluster in published order, then empty rows.
        """

    @property
    def ids(self) -> Sequence[str]:
        """What the rows are called: ids of transactions, or numbers from 1; "cluster.row" when disassociated."""

    @property
    def form(self) -> FormName:
        """The form it is published in."""

    @property
    def method(self) -> str:
        """What made it, as `decloak.anonymise` calls it; what a release file says; or "unknown"."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """k, m and what else it was made with as far as that is known; of what was listed, such as constraints, only
        how many there were.
        """

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write it to a file that decloak reads back, with the ids of its rows or without.

        Set-generalised transactions are written as such, and as a release file when the name ends in .jsonl; other
        forms are release files always. What cannot be written so is an error, never lost. `decloak publish` does more:
        it writes a manifest beside it, and reads both back as an attacker would.
        """


def with_bounds(parameters: Mapping[str, Any], **bounds: int | None) -> dict[str, Any]:
    """Parameters that say of k and m what the release itself says.

    >>> with_bounds({"k": 3, "m": 2, "refine": True}, k=4, m=None)
    {'k': 4, 'refine': True}
    """
    stated = {name: bound for name, bound in bounds.items() if bound is not None}
    return stated | {name: value for name, value in parameters.items() if name not in bounds}
