"""k^m-anonymous releases: every item is published as a label of a hierarchy that covers it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

from decloak.data.content import Element, LabelContent
from decloak.data.exact_ratio import ExactRatio
from decloak.data.formats.generalised_file import parse_label_content, write_generalised
from decloak.data.formats.lines import FilePath, Line, location, read_lines
from decloak.data.formats.release_header import LONGEST_RELEASE
from decloak.data.forms import FormName, with_bounds
from decloak.data.ordering import SortedRelease, sort_rows
from decloak.data.published import Published
from decloak.data.representation import LongRows, Represented, Summary, counted, joined
from decloak.data.rows import CodedRows, RowLabels


@dataclass(frozen=True, repr=False)
class Generalised(Represented, LabelContent):
    """Transactions of labels in alphabetical order, and the items that each label covers.

    A label that is an item itself covers only that item. With local recoding labels may overlap.
    """

    form: ClassVar = FormName.GENERALISED

    ncp: ExactRatio | None = None
    """Normalised certainty penalty, the share of information lost; None if the original is not known. Not published."""
    origin: str = field(default="memory", compare=False)
    parameters: Mapping[str, object] = field(default_factory=dict, compare=False)
    tree_nodes: int | None = field(default=None, compare=False)
    """Nodes of the largest count tree that the method built; None if it built none. Not published."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", with_bounds(self.parameters, k=self.k, m=self.m))

    def summary(self) -> Summary:
        """Return the release in short."""
        size = len(self.transactions)
        counts = f"{counted(size, 'record')}, {counted(len(self.members), 'label')}"
        line = f"Generalised release of {counts}, method {self.method}"
        rows = ((name, joined(row)) for name, row in zip(self.ids, self.transactions, strict=True))
        return Summary(line, size, ("record", "published labels"), rows)

    def long_rows(self) -> LongRows:
        """Return a row for each label of each record, with the number of items that the label covers."""
        size = {label: len(items) for label, items in self.members.items()}
        pairs = zip(self.ids, self.transactions, strict=True)
        rows = ((name, label, size[label]) for name, row in pairs for label in row)
        return LongRows(("record", "published", "members"), rows)

    @property
    def items(self) -> tuple[str, ...]:
        """Every item that a label covers, sorted."""
        return tuple(sorted({item for members in self.members.values() for item in members}))

    @cached_property
    def published(self) -> Published:
        """The release as set-generalised transactions, which the elimination attacks read."""
        plain = {label for label, members in self.members.items() if members == (label,)}
        rows: CodedRows[Element] = self.rows.with_names(lambda label: label if label in plain else self.members[label])
        # Sorted, because two labels may have the same members, and the order of a file must not decide.
        names = {members: label for label, members in sorted(self.members.items()) if label not in plain}
        return Published(rows, self.ids, self.origin, names, self.method, self.parameters)

    def sorted_by_content(self) -> SortedRelease[Self]:
        """Return the release in an order that depends only on its content, with rows numbered from 1."""
        rows, source_rows, equal_rows = sort_rows(self.rows)
        members = {label: tuple(sorted(items)) for label, items in sorted(self.members.items())}
        return SortedRelease(
            replace(self, transactions=rows, members=members, ids=RowLabels(len(rows))), source_rows, equal_rows
        )

    def with_ids(self, ids: Sequence[str]) -> Self:
        """Return the release with its rows renamed to `ids`."""
        return replace(self, ids=ids)

    def renumbered(self) -> Self:
        """Return the release with its rows numbered from 1."""
        return self.with_ids(RowLabels(len(self.ids)))

    @classmethod
    def of(cls, published: Published, k: int | None = None, m: int | None = None) -> Self:
        """Return `published` as records of labels with the guarantee `k` and `m`.

        Labels are the names of generalised items, or their members in brackets.
        """
        return cls(**vars(published.as_labels(k, m)), origin=published.origin)

    @classmethod
    def of_lines(cls, lines: Sequence[Line]) -> Self:
        """Return the release that the `lines` of a release file describe. Its guarantee is not checked here."""
        return cls(**vars(parse_label_content(lines)), origin=location(lines[0].path))

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write a release file to `path`, with the ids of the records if `ids`."""
        write_generalised(self, path, ids=ids)


def read_generalised(path: FilePath) -> Generalised:
    """Read the release at `path` and return it. Its guarantee is not checked here."""
    return Generalised.of_lines(read_lines(path, longest=LONGEST_RELEASE))
