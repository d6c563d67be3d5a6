"""What an attacker of disassociated data knows beforehand, as the scenario says."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from decloak.attack.knowledge import explicit, frequent_itemsets, moderate, strong_pairs, weak
from decloak.data.formats.folder import Folder
from decloak.data.formats.lines import read_lines
from decloak.data.formats.readers import read
from decloak.errors import DecloakError
from decloak.releases.attacker import Attacker, FrequentSets, Nouns
from decloak.releases.held import UNKNOWN, HeldChunks

__all__ = ["Knowledge", "known_by_file", "what_is_known"]

FOREIGN = 10
"""Words that the weak attacker knows beside the items."""


class Knowledge(NamedTuple):
    """The model of an attacker, the itemsets known, and why there are none where there should be."""

    model: str
    itemsets: list[tuple[str, ...]]
    note: str | None = None


def known_by_file(
    attacker: Attacker, folder: Folder, items: Callable[[], Sequence[str]], m: int = 2, seed: int = 0
) -> Knowledge | None:
    """What an attacker knows who goes by a file: listed itemsets, or foreign words beside items of the data."""
    if attacker.knowledge is not None:
        return Knowledge("explicit", explicit(folder / attacker.knowledge, items()))
    if attacker.frequent is not None and attacker.frequent.file is not None:
        other = read(folder / attacker.frequent.file, attacker.frequent.format)
        return _frequent(attacker.frequent, other.transactions, m, seed)
    if attacker.foreign is None:
        return None
    if isinstance(attacker.foreign, Nouns):
        words = _nouns(attacker.foreign, folder, items(), seed)
    else:
        words = [line.text.strip() for line in read_lines(folder / attacker.foreign)]
    return Knowledge("weak", weak(items(), [word for word in words if word], m, seed=seed))


def _nouns(part: Nouns, folder: Folder, items: Sequence[str], seed: int) -> list[str]:
    from decloak.relate.wordnet_similarity import WordNet

    nouns = WordNet.read(None if part.folder is None else folder.path / part.folder)
    return nouns.foreign_words(items, FOREIGN, seed)


def _frequent(part: FrequentSets, records: Sequence[Collection[str]], m: int, seed: int) -> Knowledge:
    itemsets = frequent_itemsets(records, m, support=part.support, count=part.count, seed=seed)
    if not itemsets:
        message = f"no {m} items are together in {part.support:g} of the transactions"
        raise DecloakError(message, "attacker.frequent.support", "write a smaller one")
    return Knowledge("weak", itemsets)


def what_is_known(attacker: Attacker, folder: Folder, seed: int, held: HeldChunks) -> Knowledge:
    """Work out the itemsets an attacker knows; the strong one knows every pair, and none is listed."""
    m = held.published.m or 2
    by_file = known_by_file(attacker, folder, lambda: held.published.items, m, seed)
    if by_file is not None:
        return by_file
    if attacker.model == "strong":
        return Knowledge("strong", [])
    if held.rows is None:
        return Knowledge(attacker.model, [], UNKNOWN.format(f"what a {attacker.model} attacker knows"))
    if attacker.frequent is not None:
        return _frequent(attacker.frequent, held.rows.records, m, seed)
    if attacker.model == "moderate":
        return Knowledge("moderate", moderate(held.rows.records, m, share=attacker.share, seed=seed))
    return Knowledge("strong_pairs", strong_pairs(held.rows.records, m))
