"""Names of the published forms. Attacks, measures and errors all use these words.

The interface that every release has, whatever its form.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

from decloak.data.content import Element
from decloak.data.formats.lines import FilePath


class FormName(StrEnum):
    """The name of a published form."""

    SET_GENERALISED = "set-generalised"
    GENERALISED = "generalised"
    DISASSOCIATED = "disassociated"
    DISTANCES = "distance tables"
    ITEMSETS = "itemset-table"
    SYNTHETIC = "synthetic"


@runtime_checkable
class Release(Protocol):
    """The interface of every result of `decloak.anonymise` and of every release that is read from a file.

    All of it is published or may be. Nothing here depends on the original data beyond that.
    """

    @property
    def transactions(self) -> Sequence[tuple[Element, ...]]:
        """The content of each row: items, generalised items or labels.

        Of a disassociated release these are the anchors: the sub-records of the first record chunk of each cluster in
        published order, then empty rows.
        """

    @property
    def ids(self) -> Sequence[str]:
        """The names of the rows: ids of records, or numbers from 1; "cluster.row" if disassociated."""

    @property
    def form(self) -> FormName:
        """The form in which the release is published."""

    @property
    def method(self) -> str:
        """The method that made it, as `decloak.anonymise` or a release file calls it, or "unknown"."""

    @property
    def parameters(self) -> Mapping[str, object]:
        """The known parameters of the method, such as k and m. Of a list, such as constraints, only its length."""

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write the release to the file at `path`, which decloak can read back; with `ids`, also the ids of its rows.

        Set-generalised transactions are written as text, or as a release file if the name ends in .jsonl. Other forms
        are always release files. If the file cannot represent the release, this is an error: nothing is dropped.
        `decloak publish` does more: it adds a manifest, and reads both back as an attacker would.
        """


def with_bounds(parameters: Mapping[str, object], **bounds: int | None) -> dict[str, object]:
    """Return `parameters` with k and m replaced by `bounds`, the values that the release itself states.

    >>> with_bounds({"k": 3, "m": 2, "refine": True}, k=4, m=None)
    {'k': 4, 'refine': True}
    """
    stated = {name: bound for name, bound in bounds.items() if bound is not None}
    return stated | {name: value for name, value in parameters.items() if name not in bounds}
