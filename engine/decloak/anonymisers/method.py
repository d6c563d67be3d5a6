"""What all methods of anonymising share. A method is a module beside its kernel, and a line in the registry.

In a scenario a method is a part: `check` says what little work tells to be wrong, `make` publishes. In Python it is an
`Anonymiser`: data and options in, a release out. Either way what was made is checked by code that shares nothing with
what made it.
"""

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from decloak.compiled import spent_compiling
from decloak.counting.promises import Promise
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.data.hierarchy import Hierarchy
from decloak.data.ordering import RECORDED, Order, Places, canonical, shuffled_alike
from decloak.errors import DecloakError, nearest, shown
from decloak.relate.counting import Cache
from decloak.yaml.part import Part

__all__ = ["Anonymiser", "Method", "MethodOptions", "NewRelease", "Presented", "Stopwatch"]

MethodOptions = Mapping[str, Any]


@dataclass(frozen=True)
class NewRelease:
    """A release: what is published, how it was made and at what loss, and what the evaluator knows of it."""

    release: Any
    """In the shape of its form."""
    method: str
    parameters: Mapping[str, Any]
    loss: Mapping[str, Any] = field(default_factory=dict)
    tree: Hierarchy | None = None
    marked: Sequence[tuple[str, str]] = ()
    suppressed: Sequence[str] = ()
    notes: Sequence[str] = ()
    """What the measure of relatedness that it was made by could not use."""
    truth: Places | None = None
    """The place of the record behind every row; None where each row is of the record at its own place, or where the
    records are not known."""


class Anonymiser(NamedTuple):
    """A method as a function: makes a release of data and options, and says what is wrong with one."""

    name: str
    make: Callable[[Dataset, MethodOptions], Any]
    check: Callable[[Dataset, Any, MethodOptions], Iterable[object]]
    needs: Set[str]
    may: Set[str] = frozenset()

    def __call__(self, data: Dataset, options: MethodOptions) -> Any:
        """Make a release, checked."""
        self._check_names(options)
        values = {option: _plain(value) for option, value in options.items()}
        return self.checked(data, self.make(data, values), values)

    def checked(self, data: Dataset, release: Any, options: MethodOptions) -> Any:
        """A release that keeps what was promised."""
        for fault in self.check(data, release, options):
            raise AssertionError(f"{self.name} broke its own guarantee: {fault}")
        return release

    def _check_names(self, options: MethodOptions) -> None:
        names = self.needs | self.may
        for option in options.keys() - names:
            hint = nearest(option, names) or f"its options are {', '.join(sorted(names))}"
            raise DecloakError(f"the method {self.name} has no option {shown(option)}", hint=hint)
        for option in sorted(self.needs - options.keys()):
            raise DecloakError(f"the method {self.name} needs {option}", hint=f"give {option}=")


def _plain(value: Any) -> Any:
    """An option as a release is made by it and then checked: a number of numpy as Python's, and what can be gone
    through but once as a list.
    """
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(inner) for inner in value] if isinstance(value, Iterator | list | tuple) else value


class Presented(NamedTuple):
    """The records as a method is given them, and the place that each has in the data."""

    data: Dataset
    places: Places
    order: Order

    @classmethod
    def of(cls, data: Dataset, order: Order) -> Self:
        """Records in canonical order where what is made of them will be sorted, else as they are."""
        return cls(*canonical(data), order) if order == "sorted" else cls(data, np.arange(len(data.rows)), order)

    def published(self, release: Any, truth: Places | None = None) -> tuple[Any, Places]:
        """What a method made of them as it is published, and the place in the data of the record behind every row.

        `truth` is where each row's record was among those it was given, None where rows stand as the records did.
        """
        behind = self.places if truth is None else truth
        if self.order == "recorded":
            return release.renumbered(), behind
        arranged, rows, alike = release.arranged()
        return arranged, self.places[shuffled_alike(rows if truth is None else truth[rows], alike)]


class Method(Part):
    """How original transactions are anonymised."""

    form: ClassVar[FormName]
    """The form of what it publishes."""
    one_cut: ClassVar[bool] = False
    """Whether all records are generalised by the same cut of a hierarchy."""
    cut_apart: ClassVar[bool] = False
    """Whether it cuts the work into parts that several can do."""
    anonymisers: ClassVar[tuple[Anonymiser, ...]]
    """The same in Python, by each of its names."""

    method: str
    """The name of the method."""
    order: Order = "sorted"
    """The order of what is published: sorted, so that no place says anything, or as recorded."""

    @property
    def random(self) -> bool:
        """Whether what it makes depends on the seed."""
        return False

    @property
    def anonymiser(self) -> Anonymiser:
        return next(anonymiser for anonymiser in self.anonymisers if anonymiser.name == self.method)

    promised: ClassVar[type[Promise[Any]]]
    """What it promises of every release, by settings of the same names."""

    @property
    def promise(self) -> Promise[Any]:
        """The same as it is set, to be checked from a release alone; an error where that cannot be."""
        return self.promised(**{entry.name: getattr(self, entry.name) for entry in fields(self.promised)})

    def words(self, data: Dataset, folder: Folder) -> Collection[str]:
        """The names that may be in what it publishes, and so may be asked about."""
        return data.items

    @abstractmethod
    def check(self, data: Dataset, folder: Folder) -> None:
        """Raise what it would find wrong with its files and with the data, as far as little work tells."""

    def publish(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease:
        """Anonymise, in the order that is asked for; rows are called by their numbers."""
        presented = Presented.of(data, self.order)
        new = self.make(presented.data, folder, seed, cache)
        release, truth = presented.published(new.release, new.truth)
        notes = [*new.notes, *([] if self.order == "sorted" else [RECORDED])]
        parameters = {**new.parameters, "order": self.order}
        return replace(new, release=release, truth=truth, parameters=parameters, notes=notes)

    @abstractmethod
    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease:
        """Anonymise; what is not told in the scenario is drawn from the seed."""


class Stopwatch:
    """What anonymising takes: CPU seconds, those of other processes included, and seconds on the wall.

    Loops that are compiled for the first time are none of it.
    """

    def __init__(self) -> None:
        self._begun = _clocks()

    @property
    def seconds(self) -> dict[str, float]:
        cpu, wall = (now - begun for now, begun in zip(_clocks(), self._begun, strict=True))
        return {"cpu_seconds": cpu, "seconds": wall}


def _clocks() -> tuple[float, float]:
    """Fine for this process; what others took is told in hundredths of a second."""
    times, (cpu, wall) = os.times(), spent_compiling()
    return time.process_time() + times.children_user + times.children_system - cpu, time.perf_counter() - wall
