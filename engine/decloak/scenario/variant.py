"""The variants of a scenario: every combination of what varies, repeated, each with a seed of its own.

A seed is drawn from what the data hold, `repeat.seed` and the repetition, and of nothing else, neither a path nor a
format: variants that are compared, whatever they vary, are dealt the same hand. Two measures of relatedness are tried
on the same release, two values of k in the same random hierarchy, and one attack more changes nothing for the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from decloak.digest import digest
from decloak.scenario.by_form import SPLIT
from decloak.scenario.document import Document
from decloak.scenario.model import Scenario
from decloak.scenario.sweep import compact, short_names

__all__ = ["OF_A_KIND", "DataOf", "Variant", "data_set_keys", "pools", "seed_of", "variants"]

DataOf = Callable[[Scenario], Mapping[str, Any]]


@dataclass(frozen=True)
class Variant:
    """One run: the scenario with one value for each key that varies, and one repetition, counted from 1."""

    name: str
    settings: Mapping[str, Any]
    repetition: int
    seed: int
    config: Mapping[str, Any]
    scenario: Scenario
    whole: Mapping[str, Any] = field(default_factory=dict)
    """The lists of the file of which only some entries fit the form of a variant, here or in another."""

    @property
    def title(self) -> str:
        return f"{self.name} #{self.repetition}" if self.scenario.repeat.times > 1 else self.name

    @property
    def place(self) -> str:
        """Where what its method cannot do is told to be."""
        return self.title if self.settings else "anonymise"


def variants(document: Document, data_of: DataOf) -> list[Variant]:
    """Every combination in the order of the file, the last key varying fastest, each repeated."""
    names = _names([case.settings for case in document.cases])
    split = any(case.fitted is not case.source for case in document.cases)
    whole = {key: document.raw.get(key) for key in SPLIT} if split else {}
    return [
        Variant(
            name, case.settings, number,
            seed_of(case.scenario, number, data_of), case.source.value, case.scenario, whole,
        )
        for name, case in zip(names, document.cases, strict=True)
        for number in range(1, case.scenario.repeat.times + 1)
    ]  # fmt: skip


OF_A_KIND = ("seed", "file")
"""The keys under data that say which data set of a kind is meant."""


def pools(variants: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """What to call variants together that differ in nothing but the data set of a kind; `variants` are their settings
    by name.

    >>> pools({f"data.seed={seed}, anonymise.k=3": {"data.seed": seed, "anonymise.k": 3} for seed in (1, 2)})
    {'anonymise.k=3, over 2 data sets': ['data.seed=1, anonymise.k=3', 'data.seed=2, anonymise.k=3']}
    """
    cases = list(variants.values())
    keys = list(cases[0]) if cases else []
    which = data_set_keys(cases)
    groups: dict[str, list[str]] = {}
    for name in variants:
        groups.setdefault(_without(name, keys, which), []).append(name)
    return {
        ", ".join(filter(None, (rest, f"over {len(names)} data sets"))): names
        for rest, names in groups.items()
        if which and len(names) > 1
    }


def data_set_keys(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys that say which data set of a kind a variant is of, by the settings of all variants."""
    named = {f"data.{name}" for name in OF_A_KIND}
    return [key for key in (cases[0] if cases else ()) if key in named or _of_a_kind(key, cases)]


def _without(name: str, keys: Sequence[str], left_out: Sequence[str]) -> str:
    """The name of a variant, made of the values of these keys in this order, without some of them."""
    parts = []
    for key, following in zip_longest(keys, keys[1:]):
        end = name.find(f", {following}=") if following else len(name)
        if key not in left_out:
            parts.append(name[:end])
        name = name[end + 2 :]
    return ", ".join(parts)


def _of_a_kind(key: str, cases: Sequence[Mapping[str, Any]]) -> bool:
    """Whether data as a whole vary in nothing but which of a kind they are."""
    if key != "data" or not all(isinstance(case[key], Mapping) for case in cases):
        return False
    rests = [{name: value for name, value in case[key].items() if name not in OF_A_KIND} for case in cases]
    return all(rest == rests[0] for rest in rests)


def _names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """What combinations are called among each other."""
    short: dict[str, dict[str, str]] = {}
    for key in settings[0]:
        values = {compact(combination[key]): combination[key] for combination in settings}
        short[key] = dict(zip(values, short_names(list(values.values())), strict=True))
    return [
        ", ".join(f"{key}={short[key][compact(value)]}" for key, value in combination.items()) or "base"
        for combination in settings
    ]


def seed_of(scenario: Scenario, repetition: int, data_of: DataOf) -> int:
    """The seed of one repetition, below 2^63; `data_of` says what the data are, by their content."""
    # SQLite keeps whole numbers of 63 bits and a sign.
    return int(digest([{"data": data_of(scenario)}, scenario.repeat.seed, repetition])[:16], 16) >> 1
