"""The risk card: whom a release tells of, in people of so many, the same rows of every published form.

Each row has a cell: people of whom the raw data tell, the release as published, the release after the attack that finds
most (those by chance are the control and do not count), and after as much done at random. Where a figure cannot be had
the cell says why. Everything in it is a figure of the store, a mean over repetitions.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple

from decloak.measure.kernels.lead import wilson
from decloak.measure.kernels.statistics import Bounds, Interval, interval
from decloak.releases.registry import form_of
from decloak.report.study import Numbers, Study, flat, setting
from decloak.rules.load import parse_rule
from decloak.store.reading import knows_originals
from decloak.store.results import attacks_of, release_of
from decloak.store.studies import StudyRun

__all__ = ["ROWS", "Cell", "RiskCard", "controls_of", "people_interval", "pooled_cards", "risk_card", "risk_cards"]


class Row(NamedTuple):
    """A row of every card: the figure, what it is called, and what a page calls its group."""

    figure: str
    title: str
    group: str


ROWS = (
    Row("singled_1", "singled out by 1 item", "singling out"),
    Row("singled_2", "by 2 items", "singling out"),
    Row("singled_3", "by 3 items", "singling out"),
    Row("linked", "linked", "linkability"),
    Row("inferred", "inferred", "inference"),
    Row("implied", "certain", "inference"),
)
"""In the order of the card."""

UNKNOWN = "the originals were not given"
WHOLE = "does not apply: nothing was cut apart"
GUESSES = "an attack guesses: nothing it says is certain"
NOBODY = "no attack had anything to go by"
QUANTILE = NormalDist().inv_cdf(0.975)
"""Of intervals of 95%."""


@dataclass(frozen=True)
class Cell:
    """People of `of`: raw, before, after the attack of a name, and by chance; `reason` says why what is None is so.

    `before` and `after` are means over repetitions, with the bounds of their intervals where they differ.
    """

    of: int
    raw: float | None = None
    before: Interval | None = None
    after: Interval | None = None
    chance: float | None = None
    attack: str | None = None
    reason: str | None = None

    @property
    def worst(self) -> Interval | None:
        """What tells of more people: the attack, or the release as published, which an attacker has as well."""
        ways = [way for way in (self.before, self.after) if way is not None and way.mean is not None]
        return max(ways, key=lambda way: way.mean or 0.0, default=None)


@dataclass(frozen=True)
class RiskCard:
    """What one variant tells of its people; `hidden` is the share of what records hold that is not shown with them."""

    variant: str
    people: int
    records: int
    cells: Mapping[str, Cell]
    hidden: float | None
    releases: frozenset[int]
    """Their numbers in the store."""
    name: str
    """What the variant is called beside others."""
    data_sets: int = 1
    """Over how many data sets of a kind its figures are means, one for each."""
    taken_for_hidden: float | None = None
    """In place of `hidden` where nothing is marked: what the attacker takes for hidden, be it or not."""

    @property
    def sampled(self) -> bool:
        """Whether its people stand for more."""
        return self.people < self.records

    @property
    def untried(self) -> bool:
        """Whether no attack that could have found people did anything."""
        published = [cell for cell in self.cells.values() if cell.before is not None]
        return all(cell.reason == NOBODY for cell in published if cell.reason != GUESSES)

    def worst(self, figure: str) -> float:
        """How many people it tells of there, as published or attacked."""
        worst = self.cells[figure].worst
        return 0.0 if worst is None or worst.mean is None else worst.mean

    def bounds_of(self, count: float) -> tuple[float, float]:
        """Wilson's interval of a count of its people, where they stand for more."""
        drawn = self.people * (self.records - 1) / (self.records - self.people)  # the more of all, the surer
        low, high = wilson(count / self.people, QUANTILE**2 / drawn)
        return low * self.people, high * self.people

    def around(self, count: Interval | None) -> Interval | None:
        """A count with that interval, if nothing else says how far it may be off."""
        if count is None or count.mean is None or count.low is not None or not self.sampled:
            return count
        low, high = self.bounds_of(count.mean)
        return count._replace(low=low, high=high)

    def as_json(self) -> dict[str, Any]:
        cells = {figure: self._plain(cell) for figure, cell in self.cells.items()}
        whose = {"variant": self.variant, "people": self.people, "records": self.records, "data_sets": self.data_sets}
        return whose | {"hidden": self.hidden, "taken_for_hidden": self.taken_for_hidden} | cells

    def _plain(self, cell: Cell) -> dict[str, Any]:
        ways = {"before": self.around(cell.before), "after": self.around(cell.after)}
        bounds = {
            f"{name}{ending}": None if way is None else getattr(way, part)
            for name, way in ways.items()
            for ending, part in (("", "mean"), ("_low", "low"), ("_high", "high"))
        }
        return (
            {"raw": cell.raw}
            | bounds
            | {"chance": cell.chance, "of": cell.of, "attack": cell.attack, "reason": cell.reason}
        )


def risk_cards(connection: sqlite3.Connection, study: Study) -> list[RiskCard]:
    """The card of each variant of some runs, of which people were counted."""
    controls = controls_of(connection, study.runs)
    cards = (risk_card(connection, study, name, numbers, controls) for name, numbers in study.variants)
    return [card for card in cards if card is not None]


def pooled_cards(connection: sqlite3.Connection, study: Study) -> list[RiskCard]:
    """The cards of variants that differ in their data set alone, together, where these have as many people."""
    controls = controls_of(connection, study.runs)
    alike = [(name, runs) for name, runs in study.pools if len(set(study.values(flat(runs), "people"))) == 1]
    cards = (risk_card(connection, study, name, runs, controls) for name, runs in alike)
    return [
        replace(card, data_sets=len(runs), name=card.name.rpartition(", over ")[0] or card.name)
        for card, (_, runs) in zip(cards, alike, strict=True)
        if card is not None
    ]


def controls_of(connection: sqlite3.Connection, runs: Sequence[StudyRun]) -> set[str]:
    """The attacks that toss coins, or are spoilt: what others are compared with, and no attack to fear."""
    attacks = {attack.label: attack for run in runs for attack in attacks_of(connection, run.run)}
    return {label for label, attack in attacks.items() if attack.control is not None or parse_rule(attack.text).random}


def risk_card(
    connection: sqlite3.Connection, study: Study, variant: str, runs: Numbers, controls: set[str]
) -> RiskCard | None:
    """The card of one variant, over the runs that repeat it; or of several, over their data sets."""
    people = _published(study, runs, "people").mean
    if people is None:
        return None
    every = flat(runs)
    release = release_of(connection, every[-1])
    known, apart = knows_originals(connection, release), form_of(connection, release).apart
    of = round(people)
    attacks = [attack for attack in study.attacks if attack not in controls]
    cells = {row.figure: _cell(study, runs, row.figure, attacks, of, known, apart) for row in ROWS}
    records = study.sizes.get(every[-1]) or of
    releases = frozenset(release_of(connection, run) for run in every)
    hidden, taken = _published(study, runs, "hidden").mean, None
    configs = [run.config for run in study.runs if run.run in every]
    if any(setting(config, "data.published.marked") is False for config in configs):
        hidden, taken = None, hidden
    return RiskCard(variant, of, records, cells, hidden, releases, variant, taken_for_hidden=taken)


def _published(study: Study, runs: Numbers, name: str, of: int | None = None) -> Interval:
    """The mean of a figure of the release alone."""
    values = study.values(runs, name)
    return interval(values) if of is None else people_interval(values, of)


def _cell(study: Study, runs: Numbers, figure: str, attacks: Sequence[str], of: int, known: bool, apart: bool) -> Cell:
    raw = _published(study, runs, f"{figure}_raw").mean
    if figure == "linked" and not apart:
        return Cell(of, reason=WHOLE)
    if figure == "implied":
        implied = _published(study, runs, figure, of)
        return Cell(of, raw, reason=UNKNOWN) if implied.mean is None else Cell(of, raw, implied, reason=GUESSES)
    before = _published(study, runs, f"{figure}_before", of)
    if before.mean is None:
        return Cell(of, reason=UNKNOWN)
    of_attacks = {attack: study.values(runs, figure, attack) for attack in attacks}
    reached = {attack: values for attack, values in of_attacks.items() if any(value is not None for value in values)}
    if not reached:
        return Cell(of, raw, before, reason=NOBODY)
    means = {attack: _over(values, of, len(reached)) for attack, values in reached.items()}
    attack, after = max(means.items(), key=lambda entry: entry[1].mean or 0.0)
    chance = interval(study.values(runs, f"{figure}_chance", attack)).mean
    return Cell(of, raw, before, after, chance, attack, None if known else f"at least: {UNKNOWN}")


def _over(values: Sequence[float | None], of: int, considered: int) -> Interval:
    """The mean over repetitions; of several attacks the one that finds most is shown, which its level allows for."""
    return people_interval(values, of, 1 - 0.05 / considered)


def people_interval(values: Sequence[float | None], of: int, level: float = 0.95) -> Interval:
    """The mean of counts of people with its interval, which reaches nobody, or all, where most of the counts are that:
    of what is rare a few of them tell too much.
    """
    mean = interval(values, level, Bounds(0.0, float(of)))
    present = [value for value in values if value is not None]
    low, high = (2 * present.count(bound) > len(present) for bound in (0.0, float(of)))
    if mean.low is None or mean.high is None:
        return mean
    return mean._replace(low=0.0 if low else mean.low, high=float(of) if high else mean.high)
