"""What an attacker of disassociated data knows beforehand, as the scenario says."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from decloak.attack.knowledge import explicit, moderate, strong_pairs, weak
from decloak.data.disassociated import Disassociated
from decloak.data.formats.lines import read_lines
from decloak.releases.held import UNKNOWN, Rows
from decloak.scenario.model import Scenario
from decloak.scenario.parts import Nouns

__all__ = ["Knowledge", "known_by_file", "what_is_known"]

FOREIGN = 10
"""Words that the weak attacker knows beside the items."""


class Knowledge(NamedTuple):
    """The model of an attacker, the itemsets known, and why there are none where there should be."""

    model: str
    itemsets: list[tuple[str, ...]]
    note: str | None = None


def known_by_file(
    scenario: Scenario, folder: Path, items: Sequence[str], m: int = 2, seed: int = 0
) -> Knowledge | None:
    """What an attacker knows who goes by a file: listed itemsets, or foreign words beside items of the data."""
    attacker = scenario.attacker
    if attacker.knowledge is not None:
        return Knowledge("explicit", explicit(folder / attacker.knowledge, items))
    if attacker.foreign is None:
        return None
    if isinstance(attacker.foreign, Nouns):
        words = _nouns(attacker.foreign, folder, items, seed)
    else:
        words = [line.text.strip() for line in read_lines(folder / attacker.foreign)]
    return Knowledge("weak", weak(items, [word for word in words if word], m, seed=seed))


def _nouns(part: Nouns, folder: Path, items: Sequence[str], seed: int) -> list[str]:
    from decloak.relate.wordnet import WordNet

    found = WordNet.read(None if part.folder is None else folder / part.folder)
    return found.foreign_words(items, FOREIGN, seed)


def what_is_known(scenario: Scenario, folder: Path, seed: int, data: Disassociated, rows: Rows | None) -> Knowledge:
    """Work out the itemsets an attacker knows; the strong one knows every pair, and none is listed."""
    attacker = scenario.attacker
    items = sorted({item for cluster in data.clusters for item in cluster.items})
    m = data.m or 2
    by_file = known_by_file(scenario, folder, items, m, seed)
    if by_file is not None:
        return by_file
    if attacker.model == "strong":
        return Knowledge("strong", [])
    if rows is None:
        return Knowledge(attacker.model, [], UNKNOWN.format(f"what a {attacker.model} attacker knows"))
    if attacker.model == "moderate":
        return Knowledge("moderate", moderate(rows.records, m, share=attacker.share, seed=seed))
    return Knowledge("strong_pairs", strong_pairs(rows.records, m))
