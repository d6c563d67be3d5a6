"""Read all that a scenario names before anything is written: a fault in it leaves the store as it was."""

from pathlib import Path

from decloak.anonymisers.disassociation import check_count
from decloak.data.dataset import Dataset
from decloak.data.distance_file import read_distances
from decloak.data.release_file import read_release
from decloak.knowing import known_by_file
from decloak.parts import Disassociation, Distances, Original, Release, Sets
from decloak.preparing import anonymised, original_of, published_beside
from decloak.relate.sources import CountsFile, ScoresFile
from decloak.scenario import Scenario

__all__ = ["check_inputs"]


def check_inputs(scenario: Scenario, folder: Path) -> None:
    """Raise what a run would find wrong with its files, and with what they say to each other."""
    data = scenario.data
    before = original_of(scenario, folder)[0] if isinstance(data, Original) else None
    if isinstance(data, Distances):
        read_distances(folder / data.distances)
    elif scenario.torn:
        known_by_file(scenario, folder, _items(scenario, folder, before))
    elif scenario.anonymise is None:
        published_beside(scenario, folder, before)
    if isinstance(scenario.anonymise, Sets) and before is not None:
        anonymised(scenario, before, 0)
    if scenario.relate is not None:
        source = CountsFile if scenario.relate.source == "counts" else ScoresFile
        source.read(folder / scenario.relate.file)


def _items(scenario: Scenario, folder: Path, before: Dataset | None) -> tuple[str, ...]:
    """The items of disassociated data, or of the data that are to be."""
    if isinstance(scenario.data, Release):
        release = read_release(folder / scenario.data.release)
        return tuple(sorted({item for cluster in release.clusters for item in cluster.items}))
    assert isinstance(scenario.anonymise, Disassociation)
    assert before is not None
    check_count(len(before.transactions), scenario.anonymise.k)
    return before.items
