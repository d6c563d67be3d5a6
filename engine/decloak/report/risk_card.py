"""The exposure card: how many people a release exposes, in the same rows for every published form.

Each row has a cell: people exposed by the original data, by the release, after the strongest attack, and the baseline.
Random attacks are the baseline only. Where a figure is not known the cell says why. Every number is a figure of the
store, or its mean over repetitions.
"""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from decloak.digest import JsonObject
from decloak.figures import DICTIONARY, Bounds
from decloak.measure.kernels.advantage import wilson
from decloak.measure.kernels.statistics import Interval, interval, quantile
from decloak.report.study import Numbers, Study, flat, setting
from decloak.scenario.variant import is_random
from decloak.store.records import dataset_of, read_parts
from decloak.store.releases import knows_originals
from decloak.store.results import release_of

CERTAIN_LINKS = "certain_links_people"
ON_CARD = {"singled_out_1", "singled_out_2", "singled_out_3", "inferred_own", "implied", CERTAIN_LINKS}
ROWS = tuple(metric for metric in DICTIONARY if metric.key in ON_CARD)
"""The rows of every card, in their order."""

UNKNOWN = "the originals were not given"
NO_RECORD = "no published record belongs to a person"
GUESSES = "not applicable to attacks"
NOBODY = "no attack had anything to compare"
UNSURE = "no attack gave probabilities"
RELEASE, RANDOM = "release", "random"
"""Sources of the figure after an attack, in addition to the names of attacks."""
WIDEST = 0.25
"""The mean share of all items in a label from which a release reveals almost nothing of its people."""


@dataclass(frozen=True)
class Cell:
    """People exposed, out of `of`: by the original data, the release, after an attack, and at random.

    `release` and `after` are means over repetitions, with the bounds of their intervals where repetitions differ.
    `after` is the largest of the release, the baseline and the attack named `attack`; `source` says which of the three.
    `reason` says why a figure is None.
    """

    of: int
    original: float | None = None
    release: Interval | None = None
    after: Interval | None = None
    baseline: float | None = None
    attack: str | None = None
    source: str | None = None
    reason: str | None = None

    @property
    def worst(self) -> Interval | None:
        """Return the figure after the attack, or of the release without an attack; it is never below the release."""
        return self.release if self.after is None else self.after


@dataclass(frozen=True)
class ExposureCard:
    """The people that one variant exposes; `hidden` is the share of item occurrences that the release hides."""

    variant: str
    people: int
    records: int
    cells: Mapping[str, Cell]
    hidden: float | None
    releases: frozenset[int]
    """Their numbers in the store."""
    name: str
    """The name of the variant among others."""
    data_sets: int = 1
    """Over how many data sets of a kind its figures are means, one for each."""
    uniform: bool = False
    """True if the labels of the release contain so many items that it reveals almost nothing of its people."""
    random: bool = False
    """True if another repetition would draw another release."""
    exposed: float | None = None
    """The people exposed by 3 random items, after the strongest attack; of the people who were looked up."""
    error: float | None = None
    """The mean error of counts, the cost for readers."""
    in_files: bool = False
    """True if the release is in files beside the store."""
    taken_for_hidden: float | None = None
    """In place of `hidden` where nothing is marked: what the attacker takes for hidden, be it or not."""

    @property
    def sampled(self) -> bool:
        """Return whether its people are a sample."""
        return self.people < self.records

    @property
    def untried(self) -> bool:
        """Return whether every attack that can find people was idle."""
        published = [cell for cell in self.cells.values() if cell.release is not None]
        return all(cell.reason == NOBODY for cell in published if cell.reason != GUESSES)

    def worst(self, figure: str) -> float:
        """Return how many people are exposed in a row, after the attack where there is one."""
        worst = self.cells[figure].worst
        return 0.0 if worst is None or worst.mean is None else worst.mean

    def bounds_of(self, count: float) -> tuple[float, float]:
        """Return Wilson's interval of a count of its people, if they are a sample."""
        # Drawn without replacement: the larger the part of all people, the surer is the count.
        drawn = self.people * (self.records - 1) / (self.records - self.people)
        low, high = wilson(count / self.people, quantile(math.inf, 0.025) ** 2 / drawn)
        return low * self.people, high * self.people

    def around(self, count: Interval | None, of: int | None = None) -> Interval | None:
        """Return a count with the interval of a sample, if it is of one; `of` is the number of people counted."""
        # An interval over repetitions has the variation of the sample already.
        of_others = of not in (None, self.people)
        if of_others or count is None or count.mean is None or count.low is not None or not self.sampled:
            return count
        low, high = self.bounds_of(count.mean)
        return count._replace(low=low, high=high)

    def as_json(self) -> JsonObject:
        cells = {figure: self._plain(cell) for figure, cell in self.cells.items()}
        whose = {"variant": self.variant, "people": self.people, "records": self.records, "data_sets": self.data_sets}
        return whose | {"hidden": self.hidden, "taken_for_hidden": self.taken_for_hidden} | cells

    def _plain(self, cell: Cell) -> JsonObject:
        ways = {"release": self.around(cell.release, cell.of), "after": self.around(cell.after, cell.of)}
        bounds = {
            f"{name}{ending}": None if way is None else getattr(way, part)
            for name, way in ways.items()
            for ending, part in (("", "mean"), ("_low", "low"), ("_high", "high"))
        }
        beside = {"baseline": cell.baseline, "of": cell.of, "attack": cell.attack, "source": cell.source}
        return {"original": cell.original} | bounds | beside | {"reason": cell.reason}


def exposure_cards(connection: sqlite3.Connection, study: Study) -> list[ExposureCard]:
    """Return the card of each variant of some runs in which people were counted."""
    cards = (exposure_card(connection, study, name, numbers) for name, numbers in study.variants)
    return [card for card in cards if card is not None]


def pooled_cards(connection: sqlite3.Connection, study: Study) -> list[ExposureCard]:
    """Pool the cards of variants that differ in their data set alone, if these have equally many people."""
    # A mean of counts says something only if all of them are of equally many people.
    alike = [(name, runs) for name, runs in study.pooled_variants if len(set(study.values(flat(runs), "people"))) == 1]
    cards = (exposure_card(connection, study, name, runs) for name, runs in alike)
    return [
        replace(card, data_sets=len(runs), name=card.name.rpartition(", over ")[0] or card.name)
        for card, (_, runs) in zip(cards, alike, strict=True)
        if card is not None
    ]


def exposure_card(connection: sqlite3.Connection, study: Study, variant: str, runs: Numbers) -> ExposureCard | None:
    """Return the card of one variant over its repetitions, or of several over their data sets."""
    people = study.mean(runs, "people")
    if people is None:
        return None
    every = flat(runs)
    release = release_of(connection, every[-1])
    known = knows_originals(connection, release)
    of = round(people)
    cells = {row.key: _cell(study, runs, row.key, of, known) for row in ROWS}
    records = study.sizes.get(every[-1]) or of
    releases = frozenset(release_of(connection, run) for run in every)
    hidden, taken = study.mean(runs, "hidden"), None
    configs = [run.config for run in study.runs if run.run in every]
    if any(setting(config, "data.published.marked") is False for config in configs):
        # Nothing is marked as generalised, so that this share is a guess of the attacker, and no fact.
        hidden, taken = None, hidden
    wide = study.mean(runs, "label_share")
    return ExposureCard(
        variant, of, records, cells, hidden, releases, variant,
        uniform=wide is not None and wide >= WIDEST, random=any(map(is_random, configs)), taken_for_hidden=taken,
        exposed=_exposed(study, runs), error=study.mean(runs, "count_error"),
        in_files=bool(read_parts(connection, dataset_of(connection, release))),
    )  # fmt: skip


def _exposed(study: Study, runs: Numbers) -> float | None:
    """Return the people exposed by 3 random items, by the release or the strongest attack."""
    means = [study.mean(runs, "exposed_3_release")]
    means += [study.mean(runs, "exposed_3", attack) for attack in study.real_attacks]
    return max((mean for mean in means if mean is not None), default=None)


def _cell(study: Study, runs: Numbers, figure: str, of: int, known: bool) -> Cell:
    # The release alone gives no probabilities, and the links are counted over all records.
    if figure == CERTAIN_LINKS:
        of = max(study.sizes.get(run) or 0 for run in flat(runs))
        attack, links = _strongest(study, runs, figure, of) or (None, None)
        return Cell(of, after=links, attack=attack, source=attack, reason=None if attack else UNSURE)
    original = study.mean(runs, f"{figure}_original")
    release = people_interval(study.values(runs, f"{figure}_release"), of)
    if release.mean is None:
        # If people were counted at all, the form lacks this figure, and not the originals.
        measured = known and study.mean(runs, "singled_out_1_release") is not None
        return Cell(of, original, reason=NO_RECORD if measured else UNKNOWN)
    # Attacks guess, and an implied item is certain.
    if figure == "implied":
        return Cell(of, original, release, reason=GUESSES)
    strongest = _strongest(study, runs, figure, of)
    if strongest is None:
        return Cell(of, original, release, reason=NOBODY)
    attack, after = strongest
    baseline = study.mean(runs, f"{figure}_baseline", attack)
    source = _source(after.mean or 0.0, release.mean, baseline, attack)
    return Cell(of, original, release, after, baseline, attack, source, None if known else f"at least: {UNKNOWN}")


def _strongest(study: Study, runs: Numbers, figure: str, of: int) -> tuple[str, Interval] | None:
    """Return the attack that finds most people, and its mean over repetitions; None if no attack has the figure."""
    values = {attack: study.values(runs, figure, attack) for attack in study.real_attacks}
    reached = {attack: some for attack, some in values.items() if any(value is not None for value in some)}
    # The largest of several means is large by chance too, so that the level allows for all of them.
    means = {attack: people_interval(some, of, 1 - 0.05 / len(reached)) for attack, some in reached.items()}
    return max(means.items(), key=lambda entry: entry[1].mean or 0.0, default=None)


def _source(after: float, release: float, baseline: float | None, attack: str) -> str:
    """Name the largest of the three that an attacker has: the release, a random guess, or the attack."""
    if after <= release:
        return RELEASE
    return RANDOM if baseline is not None and after <= baseline else attack


def people_interval(values: Sequence[float | None], of: int, level: float = 0.95) -> Interval:
    """Return the mean of counts of people with its interval. It includes zero, or all people, if most counts are at
    that end, because rare events give too few counts.
    """
    mean = interval(values, level, Bounds(0.0, float(of)))
    present = [value for value in values if value is not None]
    low, high = (2 * present.count(bound) > len(present) for bound in (0.0, float(of)))
    if mean.low is None or mean.high is None:
        return mean
    return mean._replace(low=0.0 if low else mean.low, high=float(of) if high else mean.high)
