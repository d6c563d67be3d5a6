"""A made-up clinic: records like those of a general hospital, as many as wanted, the same for the same seed.

A record is about one of some fifty conditions, the commonest two hundred times as often as the rarest. It is told as a
note would tell it: the condition, its symptoms, tests and treatments; then each further complaint with a few of its
own; then what any record may hold; and sometimes, as noise, an item that has nothing to do with the rest. So items
that stand side by side mostly belong together, supports have a long tail, and what is hidden leaves traces.

`clinic.yaml` holds all it knows: guesses that seem plausible, drawn independently of each other. It is to measure
attacks with, not to learn medicine from: no figure in it was measured, and patients have neither age nor sex.
"""

import random
from bisect import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import accumulate

import yaml

from decloak.data.dataset import Dataset
from decloak.data.rows import Numbers
from decloak.errors import DecloakError, shown

__all__ = ["Clinic", "Condition", "generate", "knowledge"]

SHORTEST, LONGEST = 3, 15
"""Items of a record; a shorter or a longer one is dropped and another made."""

FURTHER = 0.4
"""What the chance of an item falls to when its condition is not what the record is about."""

NOISE = 0.2
"""The chance of an item out of place."""

Chances = tuple[tuple[str, float], ...]
Draw = Callable[[], float]


@dataclass(frozen=True)
class Condition:
    """What belongs to a condition: its items in the order of telling, and what else its patients have."""

    prevalence: float
    items: Chances
    further: Chances


@dataclass(frozen=True)
class Clinic:
    """All that the clinic knows."""

    conditions: Mapping[str, Condition]
    general: Chances

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every item a record can hold, in code point order."""
        items = {item for condition in self.conditions.values() for item, _ in condition.items + condition.further}
        return tuple(sorted({*self.conditions, *dict(self.general), *items}))

    @cached_property
    def prevalences(self) -> tuple[float, ...]:
        return tuple(accumulate(condition.prevalence for condition in self.conditions.values()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.conditions)


@cache
def knowledge() -> Clinic:
    """What the clinic knows, from clinic.yaml."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    table = yaml.load((files("decloak.data.generators") / "clinic.yaml").read_text(encoding="utf-8"), loader)
    conditions = {
        name: Condition(
            entry["prevalence"],
            (*entry["symptoms"].items(), *entry["tests"].items(), *entry["treatments"].items()),
            tuple(entry["with"].items()),
        )
        for name, entry in table["conditions"].items()
    }
    return Clinic(conditions, tuple(table["general"].items()))


def generate(transactions: int, seed: int) -> Dataset:
    """Make records of the clinic. Of one seed, fewer are the first of more.

    The same on every platform and Python: of `random` it uses only what is promised never to change.

    >>> generate(2, seed=7).transactions[1]
    ('urinary tract infection', 'painful urination', 'fever')
    """
    _check("transactions", transactions, 1)
    _check("seed", seed, 0)
    draw = random.Random(seed).random
    clinic = knowledge()
    return Dataset(tuple(_record(clinic, draw) for _ in range(transactions)), Numbers(transactions), "clinic")


def _check(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise DecloakError(f"expected a whole number, at least {least}, found {shown(value)}", name)


def _record(clinic: Clinic, draw: Draw) -> tuple[str, ...]:
    while True:
        record = dict.fromkeys(_note(clinic, draw))
        if SHORTEST <= len(record) <= LONGEST:
            return tuple(record)


def _note(clinic: Clinic, draw: Draw) -> list[str]:
    """What a note says, in its order; some of it perhaps twice."""
    name = clinic.names[bisect(clinic.prevalences, draw() * clinic.prevalences[-1])]
    about = clinic.conditions[name]
    items = [name, *[item for item, chance in about.items if draw() < chance]]
    for complaint, chance in about.further:
        if draw() < chance:
            items.append(complaint)
            if complaint in clinic.conditions:
                items += [item for item, chance in clinic.conditions[complaint].items if draw() < chance * FURTHER]
    items += [item for item, chance in clinic.general if draw() < chance]
    if draw() < NOISE:
        items.append(clinic.vocabulary[int(draw() * len(clinic.vocabulary))])
    return items
