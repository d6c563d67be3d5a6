"""The interface of anonymisation methods. A method is a module next to its kernel, and a line in the registry.

In a scenario a method is a section: `check` finds errors that need little work, `make` publishes. In Python it is an
`Anonymiser`: data and options in, a release out. In both cases the result is checked by code that shares nothing with
the method.
"""

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from decloak.compiled import compile_seconds
from decloak.counting.guarantees import AnyGuarantee
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import PartedData
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.data.hierarchy import Hierarchy
from decloak.data.itemset_table import ItemsetTable
from decloak.data.ordering import RECORDED, Order, RowIndices, SortedRelease, shuffle_equal_rows, sort_records
from decloak.data.published import Published
from decloak.digest import Config
from decloak.errors import DecloakError, quote, suggest
from decloak.lazy import sparse
from decloak.relate.counting import Cache
from decloak.yaml.section import ConfigSection

MethodOptions = Config
StoredContent = Published | Disassociated | ItemsetTable
"""The content of a release as the store keeps it."""


class Sortable(Protocol):
    """A release whose rows can be sorted by content and renumbered."""

    rows_are_records: ClassVar[bool]
    """True if each row stands for a record of the original data."""

    def sorted_by_content(self) -> SortedRelease[Self]:
        """Return the release in an order that depends only on its content."""

    def renumbered(self) -> Self:
        """Return the release with its rows numbered from 1."""


ReleaseT = TypeVar("ReleaseT", bound=Sortable)
ContentT_co = TypeVar("ContentT_co", bound=StoredContent, covariant=True)


@dataclass(frozen=True)
class NewRelease(Generic[ContentT_co]):
    """A new release: the published data, the method and its loss, and the evaluator's knowledge of it."""

    release: ContentT_co
    """The published data, in the type of its form."""
    method: str
    parameters: Config
    loss: Config = field(default_factory=dict)
    tree: Hierarchy | None = None
    marked: Sequence[tuple[str, str]] = ()
    suppressed: Sequence[str] = ()
    notes: Sequence[str] = ()
    """Remarks, such as items that the measure of relatedness does not know."""
    truth: RowIndices | None = None
    """The index of the record behind every row; None if row i is record i, or if the records are unknown."""
    cut: Sequence[tuple[int, str]] = ()
    """Ground truth: single occurrences that were suppressed, each as the index of its record and the item."""


class Anonymiser(NamedTuple, Generic[ReleaseT]):
    """A method as a function from data and options to a release, with a check of the result."""

    name: str
    make: Callable[[Dataset, MethodOptions], ReleaseT]
    check: Callable[[Dataset, ReleaseT, MethodOptions], Iterable[object]]
    required: Set[str]
    optional: Set[str] = frozenset()

    def __call__(self, data: Dataset, options: MethodOptions) -> ReleaseT:
        """Return a checked release of `data` with `options`."""
        self._check_names(options)
        values = {option: _plain(value) for option, value in options.items()}
        return self.checked(data, self.make(data, values), values)

    def checked(self, data: Dataset, release: ReleaseT, options: MethodOptions) -> ReleaseT:
        """Return `release` if it meets its guarantee for `data` and `options`; raise an AssertionError otherwise."""
        for fault in self.check(data, release, options):
            # No data and no options may cause this, so that it is no DecloakError.
            raise AssertionError(f"{self.name} broke its own guarantee: {fault}")
        return release

    def _check_names(self, options: MethodOptions) -> None:
        names = self.required | self.optional
        for option in (option for option in options if option not in names):
            hint = suggest(option, names) or f"its options are {', '.join(sorted(names))}"
            raise DecloakError(f"the method {self.name} has no option {quote(option)}", hint=hint)
        for option in sorted(self.required - options.keys()):
            raise DecloakError(f"the method {self.name} needs {option}", hint=f"give {option}=")


def _plain(value: Any) -> Any:
    """Return an option in plain Python: numbers of numpy converted, iterators as lists, because an option is used
    twice.
    """
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(inner) for inner in value] if isinstance(value, Iterator | list | tuple) else value


def item_matrix(data: Dataset) -> "sparse.csr_array":
    """Return a matrix of the records of `data` × its items, 1 where a record has the item."""
    place = {item: number for number, item in enumerate(data.items)}
    columns = np.array([place.get(name, 0) for name in data.rows.names], np.int64)  # no record has what has no place
    return data.rows.matrix(columns, max(1, len(place)))


class OrderedInput(NamedTuple):
    """Input records in the order the method sees them, with their original row indices."""

    data: Dataset
    source_rows: RowIndices
    order: Order

    @classmethod
    def from_data(cls, data: Dataset, order: Order) -> Self:
        """Return the records of `data`, in canonical order if `order` is sorted, else unchanged."""
        return cls(*sort_records(data), order) if order == "sorted" else cls(data, np.arange(len(data.rows)), order)

    def reorder(self, release: ReleaseT, truth: RowIndices | None = None) -> tuple[ReleaseT, RowIndices]:
        """Return `release` in canonical order (unless the order is recorded) and, for every published row, the index of
        its original record. Rows that stand for no record have none.

        `truth`: for every row of `release`, the input record it came from; None if row i came from record i.
        """
        if not release.rows_are_records:
            return release.sorted_by_content().release, np.zeros(0, np.int64)
        behind = self.source_rows if truth is None else truth
        if self.order == "recorded":
            return release.renumbered(), behind
        arranged, rows, equal_rows = release.sorted_by_content()
        return arranged, self.source_rows[shuffle_equal_rows(rows if truth is None else truth[rows], equal_rows)]


class Method(ConfigSection):
    """The settings of an anonymisation method."""

    form: ClassVar[FormName]
    """The form of its releases."""
    one_cut: ClassVar[bool] = False
    """True if all records are generalised by the same cut of a hierarchy."""
    splits_work: ClassVar[bool] = False
    """True if it splits the work into parts for several processes."""
    anonymisers: ClassVar[tuple[Anonymiser[Any], ...]]
    """The functions of the method, by name."""

    method: str
    """The name of the method."""
    order: Order = "sorted"
    """The order of the release: sorted, so that positions reveal nothing, or as recorded."""

    @property
    def is_random(self) -> bool:
        """True if the release depends on the seed."""
        return False

    @property
    def anonymiser(self) -> Anonymiser[Any]:
        """The function of the method."""
        return next(anonymiser for anonymiser in self.anonymisers if anonymiser.name == self.method)

    guarantee_type: ClassVar[type[AnyGuarantee] | None] = None
    """The guarantee of every release, with settings of the same names; None if a release alone cannot show it."""

    @classmethod
    def guarantee_for(cls, parameters: Config) -> type[AnyGuarantee]:
        """Return the guarantee of a release with these `parameters`; raise an error if none shows one."""
        if cls.guarantee_type is None:
            message = f"no release of the method {cls.anonymisers[0].name} shows a guarantee"
            raise DecloakError(message, hint="measure its exposure instead")
        return cls.guarantee_type

    @property
    def guarantee(self) -> AnyGuarantee:
        """The guarantee with its settings, to be checked from a release alone. Raises an error if that is
        impossible.
        """
        guarantee_type = self.guarantee_for(dict(self))
        return guarantee_type(**{entry.name: getattr(self, entry.name) for entry in fields(guarantee_type)})

    def publishable_names(self, data: Dataset, folder: Folder) -> Collection[str]:
        """Return the names that the release of `data` may contain, with hierarchies in `folder`."""
        return data.items

    @abstractmethod
    def check(self, data: Dataset, folder: Folder) -> None:
        """Raise an error that little work finds in the files in `folder` or in `data`."""

    def publish(
        self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None
    ) -> NewRelease[StoredContent]:
        """Return the release of `data` in the requested order, with numbered rows. The other arguments are as in
        `make`.

        `folder`, `seed` and `cache` are passed on.
        """
        ordered = OrderedInput.from_data(data, self.order)
        new = self.make(ordered.data, folder, seed, cache)
        release, truth = ordered.reorder(new.release, new.truth)
        notes = [*new.notes, *([] if self.order == "sorted" else [RECORDED])]
        parameters = {**new.parameters, "order": self.order}
        source_rows = ordered.source_rows.tolist()
        # The method has numbered the records in the order that it got them.
        cut = [(source_rows[place], item) for place, item in new.cut]
        return replace(new, release=release, truth=truth, cut=cut, parameters=parameters, notes=notes)

    @property
    def splits_records(self) -> bool:
        """True if `publish_parts` makes the release with these settings, from records that stay in files."""
        return False

    def publish_parts(
        self, data: PartedData, folder: Folder, seed: int, store: Path, original: str, key: str, secret: str
    ) -> NewRelease[StoredContent]:
        """Write the release of `data` as files beside `store`, and return it; `folder` and `seed` are as in `make`.

        `original` and `key` are the keys of the data and of the release. Random choices depend on `secret`, which
        only an owner of the data knows.
        """
        raise DecloakError(f"{self.method} needs all records in memory", hint="use cut or disassociation, or no parts")

    @abstractmethod
    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease[StoredContent]:
        """Return a release of `data`. Files are in `folder`, random choices depend on `seed`, and `cache` has
        scores.
        """


class GeneralisingMethod(Method):
    """A method that publishes records of items and generalised items."""

    form: ClassVar = FormName.SET_GENERALISED

    @abstractmethod
    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease[Published]:
        """Return a release of `data`, as `Method.make` does with `folder`, `seed` and `cache`."""


class Stopwatch:
    """CPU seconds of an anonymisation, including child processes, and wall-clock seconds.

    The first compilation of loops does not count.
    """

    def __init__(self) -> None:
        self._begun = _clocks()

    @property
    def seconds(self) -> dict[str, float]:
        """CPU and wall-clock seconds since the start."""
        cpu, wall = (now - begun for now, begun in zip(_clocks(), self._begun, strict=True))
        return {"cpu_seconds": cpu, "seconds": wall}


def _clocks() -> tuple[float, float]:
    """Return CPU and wall-clock time. Child processes are measured in hundredths of a second."""
    times, (cpu, wall) = os.times(), compile_seconds()
    return time.process_time() + times.children_user + times.children_system - cpu, time.perf_counter() - wall
