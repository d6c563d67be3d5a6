"""Variants of a scenario: every combination of the settings that vary, repeated, each with its own seed.

A seed depends only on the content of the data, `repeat.seed` and the repetition, not on a path or a format. So compared
variants use the same random choices: two measures of relatedness attack the same release, two values of k use the same
random hierarchy. A further attack changes nothing for the others.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from pydantic import ValidationError

from decloak.anonymisers.registry import PARTS
from decloak.digest import Config, digest
from decloak.errors import DecloakError
from decloak.scenario.document import Document
from decloak.scenario.model import Scenario
from decloak.scenario.split_by_form import SPLIT
from decloak.scenario.sweep import compact, short_names

DataOf = Callable[[Scenario], Mapping[str, object]]


@dataclass(frozen=True)
class Variant:
    """One run: the scenario with one value for each key that varies, and one repetition, counted from 1."""

    name: str
    settings: Config
    repetition: int
    seed: int
    config: Config
    scenario: Scenario
    whole: Config = field(default_factory=dict)
    """The full lists of the document, of which only some entries apply to the form of a variant."""

    @property
    def title(self) -> str:
        """The name, with the number of the repetition if there are several."""
        return f"{self.name} #{self.repetition}" if self.scenario.repeat.times > 1 else self.name

    @property
    def location(self) -> str:
        """The location in errors of the method."""
        return self.title if self.settings else "anonymise"


def variants(document: Document, data_of: DataOf) -> list[Variant]:
    """Return every combination of `document` in the order of the file, the last key varying fastest, each repeated.
    `data_of` identifies data by content.
    """
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


DATA_SET_KEYS = ("seed", "file")
"""The keys under data that select a data set of the same kind."""


def pool_variants(variants: Mapping[str, Mapping[str, object]]) -> dict[str, list[str]]:
    """Return groups of variants that differ only in the data set, by a common name. `variants` are their settings by
    name.

    >>> pool_variants({f"data.seed={seed}, anonymise.k=3": {"data.seed": seed, "anonymise.k": 3} for seed in (1, 2)})
    {'anonymise.k=3, over 2 data sets': ['data.seed=1, anonymise.k=3', 'data.seed=2, anonymise.k=3']}
    """
    cases = list(variants.values())
    keys = list(cases[0]) if cases else []
    which = data_set_keys(cases)
    groups: dict[str, list[str]] = {}
    for name in variants:
        groups.setdefault(_drop_keys(name, keys, which), []).append(name)
    return {
        ", ".join(filter(None, (rest, f"over {len(names)} data sets"))): names
        for rest, names in groups.items()
        if which and len(names) > 1
    }


def data_set_keys(cases: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the keys that select the data set, given the settings of all variants in `cases`."""
    named = {f"data.{name}" for name in DATA_SET_KEYS}
    return [key for key in (cases[0] if cases else ()) if key in named or _of_a_kind(key, cases)]


def _drop_keys(name: str, keys: Sequence[str], left_out: Sequence[str]) -> str:
    """Return the name of a variant, made of the values of these keys in this order, without some of them."""
    parts = []
    for key, following in zip_longest(keys, keys[1:]):
        # A value may have commas of its own, so that only the next key ends it.
        end = name.find(f", {following}=") if following else len(name)
        if key not in left_out:
            parts.append(name[:end])
        name = name[end + 2 :]
    return ", ".join(parts)


def _of_a_kind(key: str, cases: Sequence[Config]) -> bool:
    """Return True if the data vary only in the data set."""
    if key != "data" or not all(isinstance(case[key], Mapping) for case in cases):
        return False
    rests = [{name: value for name, value in case[key].items() if name not in DATA_SET_KEYS} for case in cases]
    return all(rest == rests[0] for rest in rests)


def _names(settings: Sequence[Mapping[str, object]]) -> list[str]:
    """Return a name for each combination that differs from the others."""
    # Names are made per key, so that a variant has the same name for one value everywhere.
    short: dict[str, dict[str, str]] = {}
    for key in settings[0]:
        values = {compact(combination[key]): combination[key] for combination in settings}
        short[key] = dict(zip(values, short_names(list(values.values())), strict=True))
    return [
        ", ".join(f"{key}={short[key][compact(value)]}" for key, value in combination.items()) or "base"
        for combination in settings
    ]


def seed_of(scenario: Scenario, repetition: int, data_of: DataOf) -> int:
    """Return the seed of one `repetition` of `scenario`, below 2^63. `data_of` identifies data by content."""
    # SQLite keeps whole numbers of 63 bits and a sign.
    return int(digest([{"data": data_of(scenario)}, scenario.repeat.seed, repetition])[:16], 16) >> 1


DRAWING = ("moderate", "weak")
"""The attackers whose knowledge of people is random."""


def is_random(config: Config) -> bool:
    """Return True if repetitions with the configuration `config` differ, of a scenario or of a stored run.

    The release, the records that are held out of it, or the knowledge of people may be random.
    """
    attacker = config.get("attacker") or {}
    steps = attacker.get("knows")
    steps = steps if isinstance(steps, list) else [steps]
    # A share holds other records out in each repetition. A file is the same in all of them.
    known = any(isinstance(step, Mapping) and isinstance(step.get("sample"), float) for step in steps)
    exposed = (entry.get("exposure") for entry in config.get("measure") or () if isinstance(entry, Mapping))
    control = any(isinstance(settings, Mapping) and settings.get("control") == "held_out" for settings in exposed)
    if known or control or attacker.get("model") in DRAWING:
        return True
    settings = config.get("anonymise")
    entry = PARTS.get(settings.get("method", "")) if isinstance(settings, Mapping) else None
    if entry is None:
        return False
    try:
        return entry.model_validate_json(json.dumps(settings)).is_random
    except (ValidationError, DecloakError):
        # Settings of an older version: nobody knows whether they draw at random.
        return False


def identical_repetitions(document: Document) -> Iterable[str]:
    """Yield a warning if the repetitions of the scenario in `document` do not differ, with its location and a
    remedy.
    """
    first = document.scenario
    if first.repeat.times < 2 or any(is_random(case.source.value) for case in document.cases):
        return
    repeat = document.source.root.children["repeat"]
    place = repeat.children.get("times", repeat).place
    why = "the release is given" if first.anonymise is None else f"{first.anonymise.method} draws nothing at random"
    yield (
        f"{place}: the {first.repeat.times} repetitions do not differ ({why}), so they say nothing about other data; "
        "remove repeat, or vary the data (vary: {data.file: [...]})"
    )
