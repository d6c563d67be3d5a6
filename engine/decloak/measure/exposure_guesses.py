"""Exposure to an attacker who knows some random items of a person: records found, items inferred, membership.

Targets are people of the original data; a control is people who are not in it. Both are numbered in one vocabulary: the
items of the originals, then further items of the control.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from decloak.arrays import Ints
from decloak.data.dataset import Dataset
from decloak.data.forms import FormName
from decloak.data.rows import CodedRows
from decloak.figures import MOST_KNOWN
from decloak.lazy import sparse
from decloak.measure.estimates import Published, after_attack, published_by, with_exclusive
from decloak.measure.family import POOLED, Attacked, MetricResult, MetricValue, SlowValue
from decloak.measure.kernels.advantage import wilson
from decloak.measure.kernels.estimate.counts import Signatures, drawn_people, known_items, plain_records, signatures
from decloak.measure.kernels.estimate.estimator import Matrix
from decloak.measure.kernels.estimate.figures import (
    Shares,
    Z,
    auc,
    guess_advantage,
    guess_items,
    membership_scores,
    reidentified,
    surest,
    true_positives,
)
from decloak.releases.attacker import Auxiliary
from decloak.releases.stored import StoredDisassociation, StoredRelease, StoredSetRelease
from decloak.yaml.section import ConfigSection, File

__all__ = ["ExposureSettings", "measure"]

LEVELS = range(1, MOST_KNOWN + 1)
SUREST = {"": 1.0, "_at_1": 0.01, "_at_5": 0.05}
"""The share of the surest guesses that an advantage is of, by the ending of its key."""
FALSE_POSITIVES = 0.01
FEWEST_CONTROLS = 30
"""People of a control who are enough for membership: a third of them are the reference."""

NO_TABLES = "distance tables contain no records, so people cannot be counted"
DRAWN = (
    "figures with random items count at most {:,} people each, drawn from {:,} with seed {}: "
    "95 of 100 such draws are within {:.1f} points"
)
CONTROL = "the control is {:,} people{}"
HELD_OUT = ", held out of the release"
ALSO_HERE = "{:,} records of the control equal a record of the data, so the inference advantage may be too small"
NO_CONTROL = "the inference advantage needs a control group; add {{exposure: {{control: {}}}}} to measure"
NO_LOOK_UP_AFTER = "people exposed by an attack on disassociated data, beyond the release, are not measured"
TOO_FEW = "membership is not measured: that needs a control of {} people or more"


class ExposureSettings(ConfigSection):
    """The people that are looked up with random known items, and the control."""

    FILES = ("control",)

    targets: Annotated[int, Field(ge=1_000)] | Literal["all"] = 1_000
    """How many people are looked up, 1,000 or more; or all."""
    control: Literal["held_out"] | File | Auxiliary | None = None
    """People outside the data: a file of their records, or `held_out` to keep a tenth of the records out of the release
    (at least 500, at most 5,000 or half).
    """
    seed: int = Field(0, ge=0)
    """The seed for the sample of people and their known items."""

    def files_of(self, key: str) -> tuple[str, ...]:
        return () if self.control == "held_out" else tuple(super().files_of(key))


def measure(attacked: Attacked, *, targets: int | Literal["all"], control: object, seed: int) -> MetricResult:
    """Return the figures of guesses for the release that was attacked, and a note.

    `attacked` is the attack. `targets` is the number of people, `control` says whether people outside the data are
    measured, and `seed` decides the draws.
    """
    held, listed = attacked.release, "exposure" in attacked.listed
    if held.making.method == FormName.DISTANCES:
        return [], NO_TABLES if listed else None
    looked_up = _look_up(attacked, targets, control, seed)
    if looked_up is None:
        return [], None  # the card says so
    # What an attack assigns to records of a disassociated release has no estimator yet.
    after = looked_up.after(after_attack(held, attacked)) if isinstance(held, StoredSetRelease) else ()
    figures = [*looked_up.exposed, *after]
    # A share of right guesses means nothing without its control, so decloak computes it only on request.
    if not listed:
        return figures, None
    notes = [looked_up.note, *([NO_LOOK_UP_AFTER] if isinstance(held, StoredDisassociation) else [])]
    return [*figures, *looked_up.guesses], "; ".join(filter(None, notes)) or None


def slow_values(
    attacked: Attacked, *, targets: int | Literal["all"], control: object, seed: int
) -> list[SlowValue]:  # fmt: skip
    """Return the slow values of the release that was attacked; the settings are those of `measure`."""
    if attacked.release.making.method == FormName.DISTANCES:
        return []
    looked_up = _look_up(attacked, targets, control, seed)
    names = ("exposed", "guesses") if "exposure" in attacked.listed else ("exposed",)
    return [] if looked_up is None else SlowValue.of(looked_up, *names)


def _look_up(
    attacked: Attacked, targets: int | Literal["all"], control: object, seed: int
) -> "_ReleaseFigures | None":  # fmt: skip
    """Return the people who are looked up in the release, None without the original records."""
    held, most = attacked.release, None if targets == "all" else targets
    if held.original is None:
        return None
    people = attacked.shared.of(held.original, _Draw(most, seed, str(control), attacked.control))
    return held.cached(_LookUp(people, tuple(attacked.exclusive)))


@dataclass(frozen=True)
class _Draw:
    """Equal for equal settings, so that all releases of the same data have the same people."""

    most: int | None
    seed: int
    named: str
    control: Callable[[], Dataset | None] = field(compare=False)

    def __call__(self, original: Dataset) -> "_Drawn":
        others = self.control()
        return _Drawn(original, others, self.most, self.seed, held_out=self.named == "held_out")


@dataclass(frozen=True)
class _LookUp:
    """Equal for equal people and columns, so that a release keeps what was worked out for each."""

    people: "_Drawn"
    exclusive: tuple[str, ...]

    def __call__(self, held: StoredRelease) -> "_ReleaseFigures":
        return _ReleaseFigures(held, with_exclusive(published_by(held), self.exclusive), self.people)


class _People(NamedTuple):
    """Records in the common vocabulary: a matrix of records × items, and the signatures of the items."""

    records: Matrix
    items: Signatures

    def draw(self, known: int, least: int, most: int | None, seed: int) -> tuple[Ints, Ints]:
        """Draw people with enough items, and the known items of each: places, and known × people."""
        places = drawn_people(np.diff(self.records.indptr), least, most, seed)
        return places, known_items(self.records[places], self.items, places, known, seed)


class _Drawn:
    """The people of the data and of the control that are looked up, and what the original data show of them."""

    def __init__(
        self, original: Dataset, control: Dataset | None, most: int | None, seed: int, *, held_out: bool
    ) -> None:
        self.held_out, self.most, self.seed = held_out, most, seed
        rows = original.rows.with_used_names
        others = None if control is None else control.rows.with_used_names
        self.names = list(dict.fromkeys((*rows.names, *(() if others is None else others.names))))
        first = _in_vocabulary(rows, self.names)
        items = signatures(first)
        self.people = _People(first, items)
        self.others = None if others is None else _People(_in_vocabulary(others, self.names), items)
        self.known = {known: self.people.draw(known, known, most, seed) for known in LEVELS}

    @cached_property
    def guessed(self) -> Mapping[int, Mapping[str, tuple[Matrix, Ints]]]:
        """People with a further item to guess, by the number of known items: their records and the known items."""
        ways = {"release": self.people, "control": self.others}
        drawn = {
            known: {way: (people, *people.draw(known, known + 1, self.most, self.seed))
                    for way, people in ways.items() if people is not None}
            for known in LEVELS
        }  # fmt: skip
        return {
            known: {way: (people.records[places], itemsets) for way, (people, places, itemsets) in by_way.items()}
            for known, by_way in drawn.items()
        }

    def found(self, published: Published, known: int) -> float:
        """Return for how many people `known` items lead to their record in `published`."""
        places, itemsets = self.known[known]
        number = self.numbered(published)
        return float(reidentified(published.estimator, number[itemsets], published.row_of[places]).sum())

    def numbered(self, published: Published) -> Ints:
        """Return the number that a release has for each item of the vocabulary, -1 for an item it does not have."""
        return np.array([published.number.get(name, -1) for name in self.names], np.int64)

    @cached_property
    def exposed(self) -> Mapping[int, float]:
        """The people whose records are found in the original data, by the number of known items."""
        first = self.people.records
        number = {name: at for at, name in enumerate(self.names)}
        whole = Published(plain_records(first), number, np.arange(first.shape[0]))
        return {known: self.found(whole, known) for known, (places, _) in self.known.items() if len(places)}

    @cached_property
    def compared(self) -> tuple[Shares, Matrix, Matrix] | None:
        """The reference of membership, and the records of people in the data and of others; None without enough."""
        if self.others is None or self.others.records.shape[0] < FEWEST_CONTROLS:
            return None
        records = self.others.records
        order = np.random.default_rng([self.seed, records.shape[0]]).permutation(records.shape[0])
        third = len(order) // 3
        reference = Shares(plain_records(records[order[:third]]), np.arange(len(self.names)), third)
        members = drawn_people(np.diff(self.people.records.indptr), 1, self.most, self.seed)
        return reference, self.people.records[members], records[np.sort(order[third:])[: self.most]]


class _ReleaseFigures:
    """The figures of one release, and the input for the figures after an attack."""

    def __init__(self, held: StoredRelease, published: Published, people: _Drawn) -> None:
        self.held, self.published, self.people = held, published, people

    @property
    def note(self) -> str | None:
        """Return the note on these figures."""
        people, most, others = self.people.people.records, self.people.most, self.people.others
        notes = []
        if most is not None and most < people.shape[0]:
            off = 100 * (wilson(0.5, Z * Z / most)[1] - 0.5)
            notes.append(DRAWN.format(most, people.shape[0], self.people.seed, off))
        if others is None:
            notes.append(NO_CONTROL.format("FILE" if self.held.making.method == "unknown" else "held_out"))
        else:
            held_out = self.people.held_out
            notes.append(CONTROL.format(others.records.shape[0], HELD_OUT if held_out else ""))
            if not held_out and (alike := _count_equal_records(people, others.records)):
                notes.append(ALSO_HERE.format(alike))
            if others.records.shape[0] < FEWEST_CONTROLS:
                notes.append(TOO_FEW.format(FEWEST_CONTROLS))
        return "; ".join(notes)

    @cached_property
    def exposed(self) -> list[MetricValue]:
        """The people whose records are found in the original data and in the release."""
        return list(self._exposed())

    @cached_property
    def guesses(self) -> list[MetricValue]:
        """Return the people for whom the attacker guesses a further item, or their membership."""
        return [*chain.from_iterable(map(self._inferred, LEVELS)), *self._membership()]

    def _exposed(self) -> Iterator[MetricValue]:
        for known, original in self.people.exposed.items():
            count = len(self.people.known[known][0])
            for ending, exposed in (("original", original), ("release", self.people.found(self.published, known))):
                yield POOLED, f"exposed_{known}_{ending}", exposed, exposed, count

    def after(self, published: Published | None) -> Iterator[MetricValue]:
        """Yield the people exposed after an attack: never fewer than in the release, which an attacker has as well."""
        released = {name: value for _, name, value, *_ in self.exposed}
        for known in self.people.exposed:
            exposed = released[f"exposed_{known}_release"] or 0.0
            if published is not None:
                exposed = max(exposed, self.people.found(published, known))
            yield POOLED, f"exposed_{known}", exposed, exposed, len(self.people.known[known][0])

    def _inferred(self, known: int) -> Iterator[MetricValue]:
        guesses, number, estimator = {}, self.people.numbered(self.published), self.published.estimator
        for way, (records, itemsets) in self.people.guessed[known].items():
            if records.shape[0]:
                held = _renumbered(records, number, estimator.items)
                guesses[way] = guess_items(estimator, number[itemsets], held)
                right = float(guesses[way][1].sum())
                yield POOLED, f"inferred_{known}_{way}", right, right, records.shape[0]
        if len(guesses) < 2:
            return
        for ending, share in SUREST.items():
            gain = guess_advantage(*(surest(p, right, share) for p, right in guesses.values()))
            if gain is not None:
                key = f"inference_advantage_{known}{ending}"
                for name, value in ((key, gain.value), (f"{key}_low", gain.low), (f"{key}_high", gain.high)):
                    yield POOLED, name, value, None, None

    def _membership(self) -> Iterator[MetricValue]:
        if self.people.compared is None:
            return
        reference, members, others = self.people.compared
        number, size = self.people.numbered(self.published), self.people.people.records.shape[0]
        published = Shares(self.published.estimator, number, size)
        inside, outside = (membership_scores(published, reference, records) for records in (members, others))
        yield POOLED, "membership_auc", auc(inside, outside), None, None
        yield POOLED, "membership_at_1", true_positives(inside, outside, FALSE_POSITIVES), None, None


def _in_vocabulary(rows: CodedRows[str], names: list[str]) -> Matrix:
    number = {name: at for at, name in enumerate(names)}
    return rows.matrix(np.array([number[name] for name in rows.names], np.int64), len(names))


def _renumbered(records: Matrix, number: Ints, items: int) -> Matrix:
    """Return the records with other numbers for items; items without a number are left out."""
    row = np.repeat(np.arange(records.shape[0]), np.diff(records.indptr))
    column = number[records.indices]
    there = column >= 0
    return sparse.csr_array((np.ones(int(there.sum())), (row[there], column[there])), (records.shape[0], items))


def _count_equal_records(records: Matrix, others: Matrix) -> int:
    """Count the other records that equal a record."""
    there = {tuple(row) for row in _sets(records)}
    return sum(row in there for row in _sets(others))


def _sets(records: Matrix) -> Iterator[tuple[int, ...]]:
    for begin, end in zip(records.indptr[:-1], records.indptr[1:], strict=True):
        yield tuple(np.sort(records.indices[begin:end]).tolist())
