"""Synthetic clinic: records similar to a general hospital's, in any number, reproducible by a seed.

A record is about one of some fifty conditions, the most common two hundred times as frequent as the rarest. It has the
order of a note. First comes the condition with its symptoms, tests and treatments, then each further complaint with a
few of its own. Then come items that any record may have, and sometimes, as noise, an unrelated item. So neighbouring
items are mostly related, supports have a long tail, and hidden items leave traces.

`clinic.yaml` has all its parameters: plausible guesses, drawn independently of each other. They serve to measure
attacks, not to learn medicine: no number in it was measured, and patients have neither age nor sex.
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
from decloak.data.rows import RowLabels

SHORTEST, LONGEST = 3, 15
"""Least and largest number of items of a record. A shorter or longer one is dropped and redrawn."""

FURTHER = 0.4
"""Factor on the probability of an item if its condition is not the subject of the record."""

NOISE = 0.2
"""Probability of an unrelated item."""

Chances = tuple[tuple[str, float], ...]
Draw = Callable[[], float]


@dataclass(frozen=True)
class Condition:
    """A condition: its items in the order of a note, and the further conditions of its patients."""

    prevalence: float
    items: Chances
    further: Chances


@dataclass(frozen=True)
class Clinic:
    """All parameters of the clinic."""

    conditions: Mapping[str, Condition]
    general: Chances

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every item that a record may have, in code point order."""
        items = {item for condition in self.conditions.values() for item, _ in condition.items + condition.further}
        # Noise is drawn by position, and the order of a set differs between processes.
        return tuple(sorted({*self.conditions, *dict(self.general), *items}))

    @cached_property
    def prevalences(self) -> tuple[float, ...]:
        return tuple(accumulate(condition.prevalence for condition in self.conditions.values()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.conditions)


@cache
def knowledge() -> Clinic:
    """Return the parameters of the clinic, from clinic.yaml."""
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
    """Return `transactions` records of the clinic, drawn with `seed`. With one seed, fewer are the first of more.

    The result is equal on every platform and Python version: of `random` it uses only functions that are guaranteed
    never to change.

    >>> generate(2, seed=7).transactions[1]
    ('urinary tract infection', 'painful urination', 'fever')
    """
    draw = random.Random(seed).random
    clinic = knowledge()
    return Dataset(tuple(_record(clinic, draw) for _ in range(transactions)), RowLabels(transactions), "clinic")


def _record(clinic: Clinic, draw: Draw) -> tuple[str, ...]:
    while True:
        record = dict.fromkeys(_note(clinic, draw))
        if SHORTEST <= len(record) <= LONGEST:
            return tuple(record)


def _note(clinic: Clinic, draw: Draw) -> list[str]:
    """Return the items of a note in order, some perhaps twice."""
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
