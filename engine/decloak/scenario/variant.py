"""The variants of a scenario: every combination of what varies, repeated, each with a seed of its own.

A seed is drawn from the digest of the data, `repeat.seed` and the repetition, and of nothing else: variants that are
compared, whatever they vary, are dealt the same hand. Two measures of relatedness are tried on the same release, two
values of k in the same random hierarchy, and one attack more changes nothing for the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from decloak.digest import digest
from decloak.scenario.model import Document, Scenario
from decloak.scenario.sweep import combination_name

__all__ = ["Variant", "seed_of", "variants"]


@dataclass(frozen=True)
class Variant:
    """One run: the scenario with one value for each key that varies, and one repetition, counted from 1."""

    name: str
    settings: Mapping[str, Any]
    repetition: int
    seed: int
    config: Mapping[str, Any]
    scenario: Scenario

    @property
    def title(self) -> str:
        """The name, with the repetition when there are several."""
        return f"{self.name} #{self.repetition}" if self.scenario.repeat.times > 1 else self.name


def variants(document: Document) -> list[Variant]:
    """Every combination in the order of the file, the last key varying fastest, each repeated."""
    return [
        Variant(
            combination_name(case.settings) or "base", case.settings, number,
            seed_of(case.scenario, number), case.source.value, case.scenario,
        )
        for case in document.cases
        for number in range(1, case.scenario.repeat.times + 1)
    ]  # fmt: skip


def seed_of(scenario: Scenario, repetition: int) -> int:
    """The seed of one repetition, below 2^63; a default written out is the same as left out."""
    data = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True, include={"data"})
    # SQLite keeps whole numbers of 63 bits and a sign.
    return int(digest([data, scenario.repeat.seed, repetition])[:16], 16) >> 1
