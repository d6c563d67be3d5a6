"""Read all that a scenario names before anything is written: a fault in it leaves the store as it was."""

from pathlib import Path

from decloak.data.dataset import Dataset
from decloak.data.formats.disassociated_file import read_disassociated
from decloak.data.formats.distance_file import read_distances
from decloak.releases.knowing import known_by_file
from decloak.releases.preparing import original_of, published_beside
from decloak.scenario.data import Distances, Generated, Original, Release
from decloak.scenario.model import Scenario

__all__ = ["Originals", "check_inputs"]


class Originals:
    """The original transactions of scenarios, those last read kept: variants mostly have the same."""

    def __init__(self) -> None:
        self._last: tuple[str, Dataset] | None = None

    def of(self, scenario: Scenario, folder: Path) -> Dataset:
        """The transactions of a scenario that has some."""
        key = scenario.data.model_dump_json()
        if self._last is None or self._last[0] != key:
            self._last = key, original_of(scenario, folder)[0]
        return self._last[1]


def check_inputs(scenario: Scenario, folder: Path, originals: Originals) -> None:
    """Raise what a run would find wrong with its files, and with what they say to each other.

    Text is read once, by its stage, which is the first: that takes long, and nothing was written before.
    """
    data = scenario.data
    before = originals.of(scenario, folder) if isinstance(data, Original | Generated) else None
    if scenario.anonymise is not None and before is not None:
        scenario.anonymise.check(before, folder)
    if isinstance(data, Distances):
        read_distances(folder / data.distances)
    elif scenario.torn and (before is not None or isinstance(data, Release)):
        known_by_file(scenario, folder, _items(scenario, folder, before))
    elif scenario.anonymise is None and not scenario.torn:
        published_beside(scenario, folder, before)
    if scenario.relate is not None:
        scenario.relate.check(folder)


def _items(scenario: Scenario, folder: Path, before: Dataset | None) -> tuple[str, ...]:
    """The items of disassociated data, or of the data that are to be."""
    if isinstance(scenario.data, Release):
        release = read_disassociated(folder / scenario.data.release)
        return tuple(sorted({item for cluster in release.clusters for item in cluster.items}))
    assert before is not None
    return before.items
