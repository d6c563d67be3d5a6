"""Whom somebody links to a record who knows some items of a person, and what further item is inferred."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from pydantic import Field

from decloak.data.forms import FormName
from decloak.measure.family import POOLED, AttackedRelease, Family, Figure, Measured
from decloak.measure.kernels.known_items import Model
from decloak.measure.kernels.looked_up import LookedUp
from decloak.measure.linkage_figures import FIGURES, figures_of, gain
from decloak.measure.lookup import KnownPeople, Lookup, Population
from decloak.releases.held import UNKNOWN, HeldChunks, HeldRelease, HeldSets
from decloak.yaml.part import Part

__all__ = ["FAMILY", "LinkageSettings"]

DRAWN = "linkage is of {:,} people drawn from {:,}"
ALSO_HERE = "control is of {:,} records that are not in the data; {:,} of them are like one that is"
NOTHING_DONE = "linkage is of what is published alone for an attack that strikes nothing and gives nothing to anybody"


class LinkageSettings(Part):
    """What is known of people, and how few candidates are too few."""

    model: Model = "moderate"
    """Which items: any (moderate), the rarest (strong), or any that one record in a hundred holds (weak)."""
    k: int = Field(5, ge=2)
    """Candidates that there should be for everybody."""


def _measure(attacked: AttackedRelease[HeldRelease], *, model: Model, k: int) -> Measured:
    held = attacked.release
    if held.original is None:
        return [], UNKNOWN.format("linkage")
    release = held.kept(_WorkOut(model))
    others = attacked.held_out()
    control = {} if others is None else release.population.others(others.rows)
    figures: list[Figure] = []
    for level in release.people:
        figures += release.figures(level, k, control.get(level))
        figures += _after(release, level, attacked, k, control.get(level))
    notes = [DRAWN.format(release.drawn, len(held.original.rows))] if release.drawn < len(held.original.rows) else []
    notes += [] if others is None else _also_here(others.transactions, held.original.transactions)
    did = attacked.idle or any(name.startswith("found_") and name.count("_") == 1 for _, name, *_ in figures)
    return figures, "; ".join(notes if did else [*notes, NOTHING_DONE]) or None


def _also_here(others: Iterable[Iterable[str]], original: Iterable[Iterable[str]]) -> Iterator[str]:
    """A note where records of a sample may be those of people who are in the data."""
    here, sampled = set(map(frozenset, original)), [*map(frozenset, others)]
    if alike := sum(record in here for record in sampled):
        yield ALSO_HERE.format(len(sampled), alike)


class _Release:
    """Whom somebody finds in the raw data and in what is published, by level; `drawn` people stand for all."""

    def __init__(self, population: Population, lookup: Lookup) -> None:
        self.population = population
        self.lookup = lookup
        self.people = {level: known for level, known in population.people.items() if len(known.record)}
        self.drawn = len(population.drawn)
        self.raw = {level: population.look(known) for level, known in self.people.items()}
        self.before = {level: lookup.look(known) for level, known in self.people.items()}
        self.blind = {level: float(population.most_frequent(known).sum()) for level, known in self.people.items()}

    def figures(self, level: str, k: int, control: KnownPeople | None) -> Iterator[Figure]:
        """What is known of the release alone."""
        known, before, blind = self.people[level], self.before[level], self.blind[level]
        yield from figures_of(level, "_original", [self.raw[level]], known.guessable, k)
        yield from figures_of(level, "_release", [before], known.guessable, k)
        if known.guessable:
            yield POOLED, f"blind_{level}", blind, blind, known.guessable
        yield from self.gains(level, "_release", before, control, None)

    def gains(
        self, level: str, ending: str, found: LookedUp, control: KnownPeople | None, done: Any
    ) -> Iterator[Figure]:
        """How much more often further items are guessed than of people who are not in the data, or blindly."""
        people = self.people[level].guessable
        baseline = self.blind[level] / people if people else 0.0
        if control is not None and control.guessable:
            others = float(self.lookup.look(control, done).guessed.sum())
            yield POOLED, f"control_{level}{ending}", others, others, control.guessable
            baseline = others / control.guessable
        if people:
            yield POOLED, f"gain_{level}{ending}", gain(float(found.guessed.sum()) / people, baseline), None, None


@dataclass(frozen=True)
class _WorkOut:
    """Equal for equal models, so that a release keeps what is worked out for each."""

    model: Model

    def __call__(self, held: HeldRelease) -> _Release:
        assert held.original is not None
        return _Release(Population(held.original.rows, self.model), _lookup(held))


def _after(
    release: _Release, level: str, attacked: AttackedRelease[Any], k: int, control: KnownPeople | None
) -> Iterator[Figure]:
    """Whom somebody finds after an attack, and after as much was done at random; nothing of one that did nothing."""
    known = release.people[level]
    done, *draws = [*release.lookup.after(attacked.release, attacked, release.drawn)] or [None]
    if done is None:
        return
    found = release.lookup.look(known, done)
    yield from figures_of(level, "", [found], known.guessable, k)
    yield from figures_of(level, "_baseline", [release.lookup.look(known, draw) for draw in draws], known.guessable, k)
    yield from release.gains(level, "", found, control, done)


@singledispatch
def _lookup(held: HeldRelease) -> Lookup:
    raise TypeError(f"nobody is looked up in {type(held).__name__}")


@_lookup.register
def _of_sets(held: HeldSets) -> Lookup:
    from decloak.measure.linkage_sets import LookupInSets

    return LookupInSets.of(held)


@_lookup.register
def _of_chunks(held: HeldChunks) -> Lookup:
    from decloak.measure.linkage_chunks import LookupInChunks

    return LookupInChunks.of(held)


FAMILY = Family(
    name="linkage",
    about="Whom a few known items lead to, and what else they let one guess",
    figures=FIGURES,
    measure=_measure,
    fits=frozenset(FormName) - {FormName.DISTANCES},
    settings=LinkageSettings,
    in_lines=True,
    by_others=True,
)
