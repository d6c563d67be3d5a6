"""Set-generalised transactions: items, and sets of items of which at least one is really in the record.

Synthetic records: drawn from a model of the data, so that none is the record of a person.

The originals of set-generalised transactions are aligned with them, transaction by transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from decloak.data.content import Element, LabelContent
from decloak.data.dataset import Dataset
from decloak.data.formats.generalised_file import write_generalised
from decloak.data.formats.lines import FilePath, location, read_lines
from decloak.data.formats.published import format_element, parse_published, write_published
from decloak.data.forms import FormName
from decloak.data.ordering import SortedRelease, sort_rows
from decloak.data.representation import LongRows, Represented, Summary, counted, joined
from decloak.data.rows import CodedRows, RowLabels, select_labels
from decloak.digest import Config
from decloak.errors import LONGEST_COMPARED, DecloakError, quote

LONGEST_LABEL = 1_000
"""Largest number of characters of a label made of members in brackets. Every line with the label repeats it."""


@dataclass(frozen=True, repr=False)
class Published(Represented):
    """Set-generalised transactions. A tuple among the items is a generalised item.

    >>> Published((("knee", ("icd", "injury")),), ("1",)).generalised
    (('icd', 'injury'),)
    """

    form: ClassVar = FormName.SET_GENERALISED

    transactions: Sequence[tuple[Element, ...]]
    labels: Sequence[str]
    origin: str = "memory"
    names: Mapping[tuple[str, ...], str] = field(default_factory=dict, compare=False)
    """Names of generalised items, where they have a name next to their members."""
    method: str = field(default="unknown", compare=False)
    parameters: Config = field(default_factory=dict, compare=False)

    @cached_property
    def rows(self) -> CodedRows[Element]:
        """The records as arrays."""
        return CodedRows.of(self.transactions)

    def summary(self) -> Summary:
        """Return the release in short."""
        size = len(self.transactions)
        counts = f"{counted(size, 'record')}, {counted(len(self.generalised), 'generalised item')}"
        line = f"Set-generalised release of {counts}, method {self.method}"
        rows = ((label, joined(row)) for label, row in zip(self.labels, self.transactions, strict=True))
        return Summary(line, size, ("record", "published items"), rows)

    def long_rows(self) -> LongRows:
        """Return a row for each published item of each record, with the number of its members: 1 of a plain item."""
        name = {element: format_element(element) for element in self.rows.used_names}
        pairs = zip(self.labels, self.transactions, strict=True)
        return LongRows(
            ("record", "published", "members"),
            (
                (label, name[element], 1 if isinstance(element, str) else len(element))
                for label, row in pairs
                for element in row
            ),
        )

    @property
    def ids(self) -> Sequence[str]:
        """The labels of the records."""
        return self.labels

    @cached_property
    def generalised(self) -> tuple[tuple[str, ...], ...]:
        """Every generalised item once, in order of first appearance."""
        return tuple(element for element in self.rows.used_names if isinstance(element, tuple))

    @property
    def items(self) -> tuple[str, ...]:
        """Every published item, plain or as a member, sorted."""
        # Vocabulary entries instead of all occurrences: there are far fewer.
        plain = {element for element in self.rows.used_names if isinstance(element, str)}
        return tuple(sorted(plain.union(*self.generalised)))

    @cached_property
    def hidden_cells(self) -> int:
        """The number of members in the generalised items of all records."""
        members = np.array([len(name) if isinstance(name, tuple) else 0 for name in self.rows.names], np.int64)
        return int(members[self.rows.codes].sum())

    @cached_property
    def label_rows(self) -> CodedRows[str]:
        """The records by name. The same members in another order are the same generalised item."""
        label: dict[frozenset[str], str] = {}
        for members in self.generalised:
            # The first form that appears names all of them.
            label.setdefault(frozenset(members), self.names.get(members) or format_element(members))
        return self.rows.with_names(lambda element: element if isinstance(element, str) else label[frozenset(element)])

    def sorted_by_content(self) -> SortedRelease[Self]:
        """Return the release in an order that depends only on its content, with rows numbered from 1.

        Generalised items sort by their names where they have one, else by their text.
        """
        rows, source_rows, equal_rows = sort_rows(self.rows.with_names(self._key))
        # Sorted, because two orders of the same members may differ in name.
        names = {tuple(sorted(members)): name for members, name in sorted(self.names.items())}
        shown: CodedRows[Element] = rows.with_names(lambda key: key[2])
        return SortedRelease(
            replace(self, transactions=shown, labels=RowLabels(len(shown)), names=names), source_rows, equal_rows
        )

    def _key(self, element: Element) -> tuple[str, bool, Element]:
        """Return the sort key of an element: its text first. An item may have the same name as a generalised item."""
        if isinstance(element, str):
            return element, True, element
        members = tuple(sorted(element))
        return self.names.get(element) or format_element(members), False, members

    def with_ids(self, ids: Sequence[str]) -> Self:
        """Return the release with its rows renamed to `ids`."""
        return replace(self, labels=ids)

    def renumbered(self) -> Self:
        """Return the release with its rows numbered from 1."""
        return self.with_ids(RowLabels(len(self.labels)))

    def as_labels(self, k: int | None = None, m: int | None = None) -> LabelContent:
        """Return the release as records of labels with the guarantee `k` and `m`.

        Labels are the names of generalised items, or their members in brackets.
        """
        members: dict[str, tuple[str, ...]] = {}
        label: dict[Element, str] = {}
        for element in self.rows.used_names:
            inner = (element,) if isinstance(element, str) else element
            name = element if isinstance(element, str) else self._name(element)
            while members.get(name, inner) != inner:  # an item that is called like another's label
                name += "*"
            members[name], label[element] = inner, name
        rows = self.rows.with_names(label.__getitem__)
        return LabelContent(rows.with_sorted_names(), members, self.labels, k=k, m=m)

    def _name(self, members: tuple[str, ...]) -> str:
        """Return the name of a generalised item, or its members in brackets; of very many members only their number."""
        name = self.names.get(members) or format_element(members)
        if len(name) > LONGEST_LABEL and name == format_element(members):
            return f"({members[0]}, and {len(members) - 1} more)"
        return name

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write one record a line to `path`, or a release file if the name ends in .jsonl; with `ids`, also the
        labels.
        """
        if Path(path).suffix == ".jsonl":
            write_generalised(self.as_labels(*self.guarantee_bounds), path, ids=ids)
        else:
            shown = self._as_text(ids)
            write_published(shown.transactions, shown.labels, path, ids=ids)

    def _as_text(self, ids: bool) -> "Published":
        """Return the release as text can show it. Text has no names of generalised items, so they must not decide the
        order.
        """
        if not self.names or self.parameters.get("order") != "sorted":
            return self
        arranged, source_rows, _ = replace(self, names={}).sorted_by_content()
        return replace(arranged, labels=select_labels(self.labels, source_rows)) if ids else arranged

    @property
    def guarantee_bounds(self) -> tuple[int | None, int | None]:
        """k and m. A bound without the other belongs to another guarantee, such as COAT's, which covers chosen items
        only.
        """
        k, m = self.parameters.get("k"), self.parameters.get("m")
        return (k, m) if k is not None and m is not None else (None, None)


def read_published(path: FilePath, *, ids: bool = False, repeats: bool = False) -> Published:
    """Read set-generalised transactions from `path` and return them; with `ids` the first name of a line is the id.

    An item occurs once in a record, and ids are unique unless `repeats`.
    """
    return Published(*parse_published(read_lines(path), ids, repeats=repeats), location(path))


@dataclass(frozen=True, repr=False)
class Synthetic(Published):
    """Synthetic records.

    >>> Synthetic((("knee",),), ("1",)).rows_are_records
    False
    """

    form: ClassVar = FormName.SYNTHETIC
    rows_are_records: ClassVar[bool] = False


FEW = 3
"""Largest number of labels that an error lists."""
NEAR = 0.75
"""Least similarity of two spellings, from 0 to 1, to suggest one for the other."""
MOST = 500
"""Largest number of items on each side that are compared letter by letter."""


def check_alignment(original: Dataset, published: Published) -> list[tuple[str, str]]:
    """Return the suppressed items as (label, item): items of `original` that the record in `published` lost.

    An item is published plain or as a member of a generalised item. A plain item that the original lacks, and labels
    that do not match one to one, are errors: generalisation never produces them.

    >>> check_alignment(Dataset((("knee", "icd"),), ("1",)), Published(((("icd", "limbs"),),), ("1",)))
    [('1', 'knee')]
    """
    _check_labels(original, published)
    elements_of = dict(zip(published.labels, published.transactions, strict=True))
    suppressed, added = [], []
    for label, items in zip(original.labels, original.transactions, strict=True):
        # Sets, because a record may have thousands of items.
        plain = {element for element in elements_of[label] if isinstance(element, str)}
        members = {item for element in elements_of[label] if not isinstance(element, str) for item in element}
        added += [(label, item) for item in sorted(plain.difference(items))]
        suppressed += [(label, item) for item in items if item not in plain and item not in members]
    if added:
        label, item = added[0]
        more = f", and {len(added) - 1} more like it" if len(added) > 1 else ""
        raise DecloakError(
            f"transaction {quote(label)} publishes {quote(item)}, which its original does not hold{more}",
            published.origin,
            f"compare with {original.origin}: is it the right original, is a bracket missing?",
        )
    return suppressed


def likely_misspellings(original: Dataset, published: Published) -> list[tuple[str, str]]:
    """Return (item, published item) pairs where one name was probably misspelt.

    The first is an item of `original` that `published` lacks, the second a similar published item that no record has.

    >>> bread = Published(((("bread", "milk"),),), ("1",))
    >>> likely_misspellings(Dataset((("bread", "mlk"),), ("1",)), bread)
    [('mlk', 'milk')]
    """
    shown_items, original_items = set(published.items), set(original.items)
    not_published = [item for item in sorted(original_items - shown_items) if len(item) <= LONGEST_COMPARED][:MOST]
    only_published = sorted(shown_items - original_items)[:MOST]
    pairs = ((item, get_close_matches(item, only_published, 1, NEAR)) for item in not_published)
    return [(item, near[0]) for item, near in pairs if near]


def _check_labels(original: Dataset, published: Published) -> None:
    for data in (original, published):
        if len(set(data.labels)) < len(data.labels):
            raise DecloakError("two records have the same label", data.origin, "labels must be unique")
    for data, counterpart in ((original, published), (published, original)):
        missing = sorted(set(data.labels).difference(counterpart.labels))
        if missing:
            raise DecloakError(
                f"no transaction {_list_some(missing)}, though {data.origin} has",
                counterpart.origin,
                f"{len(original.labels)} original, {len(published.labels)} published transactions: "
                "give both the same ids, or neither any",
            )


def _list_some(labels: Sequence[str]) -> str:
    rest = [f"{len(labels) - FEW} more"] if len(labels) > FEW else []
    return ", ".join([*map(quote, labels[:FEW]), *rest])
