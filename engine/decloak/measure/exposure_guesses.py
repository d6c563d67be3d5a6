"""Exposure to an attacker who knows some random items of a person: records found, items inferred, membership.

Targets are people of the original data; a control is people who are not in it. Both are numbered in one vocabulary: the
items of the originals, then further items of the control.
"""

from collections.abc import Callable, Iterator
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
from decloak.measure.family import POOLED, Attacked, MetricResult, MetricValue
from decloak.measure.kernels.advantage import wilson
from decloak.measure.kernels.estimate.counts import Signatures, drawn_people, known_items, plain_records, signatures
from decloak.measure.kernels.estimate.estimator import Matrix
from decloak.measure.kernels.estimate.figures import Shares, guess_items, membership_scores, reidentified
from decloak.measure.kernels.estimate.guess_advantage import Z, auc, guess_advantage, surest, true_positives
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
    if held.original is None:
        return [], None  # the card says so
    most = None if targets == "all" else targets
    looked_up = held.cached(_LookUp(most, seed, str(control), tuple(attacked.exclusive), attacked.control))
    # What an attack assigns to records of a disassociated release has no estimator yet.
    after = looked_up.after(after_attack(held, attacked)) if isinstance(held, StoredSetRelease) else ()
    figures = [*looked_up.exposed, *after]
    # A share of right guesses means nothing without its control, so decloak computes it only on request.
    if not listed:
        return figures, None
    notes = [looked_up.note, *([NO_LOOK_UP_AFTER] if isinstance(held, StoredDisassociation) else [])]
    return [*figures, *looked_up.guesses], "; ".join(filter(None, notes)) or None


@dataclass(frozen=True)
class _LookUp:
    """Equal for equal settings, so that a release keeps what was worked out for each."""

    most: int | None
    seed: int
    named: str
    exclusive: tuple[str, ...]
    control: Callable[[], Dataset | None] = field(compare=False)

    def __call__(self, held: StoredRelease) -> "_ReleaseFigures":
        published = with_exclusive(published_by(held), self.exclusive)
        held_out = self.named == "held_out"
        return _ReleaseFigures(held, published, self.most, self.seed, self.control(), held_out=held_out)


class _People(NamedTuple):
    """Records in the common vocabulary: a matrix of records × items, and the signatures of the items."""

    records: Matrix
    items: Signatures

    def draw(self, known: int, least: int, most: int | None, seed: int) -> tuple[Ints, Ints]:
        """Draw people with enough items, and the known items of each: places, and known × people."""
        places = drawn_people(np.diff(self.records.indptr), least, most, seed)
        return places, known_items(self.records[places], self.items, places, known, seed)


class _ReleaseFigures:
    """The figures of one release, and the input for the figures after an attack."""

    def __init__(
        self,
        held: StoredRelease,
        published: Published,
        most: int | None,
        seed: int,
        control: Dataset | None,
        *,
        held_out: bool,
    ) -> None:
        assert held.original is not None
        self.held_out = held_out
        self.held, self.most, self.seed = held, most, seed
        original = held.original.rows.with_used_names
        others = None if control is None else control.rows.with_used_names
        self.names = list(dict.fromkeys((*original.names, *(() if others is None else others.names))))
        first = _in_vocabulary(original, self.names)
        items = signatures(first)
        self.people = _People(first, items)
        self.others = None if others is None else _People(_in_vocabulary(others, self.names), items)
        self.published = published
        self.drawn = {known: self.people.draw(known, known, most, seed) for known in LEVELS}

    @property
    def note(self) -> str | None:
        """Return the note on these figures."""
        people = self.people.records.shape[0]
        notes = []
        if self.most is not None and self.most < people:
            off = 100 * (wilson(0.5, Z * Z / self.most)[1] - 0.5)
            notes.append(DRAWN.format(self.most, people, self.seed, off))
        if self.others is None:
            notes.append(NO_CONTROL.format("FILE" if self.held.making.method == "unknown" else "held_out"))
        else:
            notes.append(CONTROL.format(self.others.records.shape[0], HELD_OUT if self.held_out else ""))
            if not self.held_out and (alike := _count_equal_records(self.people.records, self.others.records)):
                notes.append(ALSO_HERE.format(alike))
            if self.others.records.shape[0] < FEWEST_CONTROLS:
                notes.append(TOO_FEW.format(FEWEST_CONTROLS))
        return "; ".join(notes)

    def _number(self, published: Published) -> Ints:
        """Return the number that a release has for each item of the vocabulary, -1 for an item it does not have."""
        return np.array([published.number.get(name, -1) for name in self.names], np.int64)

    def _found(self, published: Published, known: int) -> float:
        places, itemsets = self.drawn[known]
        return float(
            reidentified(published.estimator, self._number(published)[itemsets], published.row_of[places]).sum()
        )

    @cached_property
    def exposed(self) -> list[MetricValue]:
        """The people whose records are found in the original data and in the release."""
        return list(self._exposed())

    @cached_property
    def guesses(self) -> list[MetricValue]:
        """Return the people for whom the attacker guesses a further item, or their membership."""
        return [*chain.from_iterable(map(self._inferred, LEVELS)), *self._membership()]

    def _exposed(self) -> Iterator[MetricValue]:
        first = self.people.records
        whole = Published(
            plain_records(first), {name: at for at, name in enumerate(self.names)}, np.arange(first.shape[0])
        )
        for known, (places, _) in self.drawn.items():
            for ending, published in {"original": whole, "release": self.published}.items():
                if len(places):
                    exposed = self._found(published, known)
                    yield POOLED, f"exposed_{known}_{ending}", exposed, exposed, len(places)

    def after(self, published: Published | None) -> Iterator[MetricValue]:
        """Yield the people exposed after an attack: never fewer than in the release, which an attacker has as well."""
        released = {name: value for _, name, value, *_ in self.exposed}
        for known, (places, _) in self.drawn.items():
            if len(places):
                exposed = released[f"exposed_{known}_release"] or 0.0
                if published is not None:
                    exposed = max(exposed, self._found(published, known))
                yield POOLED, f"exposed_{known}", exposed, exposed, len(places)

    def _inferred(self, known: int) -> Iterator[MetricValue]:
        guesses = {}
        for way, people in {"release": self.people, "control": self.others}.items():
            if people is None:
                continue
            places, itemsets = people.draw(known, known + 1, self.most, self.seed)
            if len(places):
                number, estimator = self._number(self.published), self.published.estimator
                held = _renumbered(people.records[places], number, estimator.items)
                guesses[way] = guess_items(estimator, number[itemsets], held)
                right = float(guesses[way][1].sum())
                yield POOLED, f"inferred_{known}_{way}", right, right, len(places)
        if len(guesses) < 2:
            return
        for ending, share in SUREST.items():
            gain = guess_advantage(*(surest(p, right, share) for p, right in guesses.values()))
            if gain is not None:
                key = f"inference_advantage_{known}{ending}"
                for name, value in ((key, gain.value), (f"{key}_low", gain.low), (f"{key}_high", gain.high)):
                    yield POOLED, name, value, None, None

    def _membership(self) -> Iterator[MetricValue]:
        if self.others is None or self.others.records.shape[0] < FEWEST_CONTROLS:
            return
        records = self.others.records
        order = np.random.default_rng([self.seed, records.shape[0]]).permutation(records.shape[0])
        third = len(order) // 3
        identity = np.arange(len(self.names))
        reference = Shares(plain_records(records[order[:third]]), identity, third)
        published = Shares(self.published.estimator, self._number(self.published), self.people.records.shape[0])
        members = drawn_people(np.diff(self.people.records.indptr), 1, self.most, self.seed)
        others = np.sort(order[third:])[: self.most]
        inside = membership_scores(published, reference, self.people.records[members])
        outside = membership_scores(published, reference, records[others])
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
