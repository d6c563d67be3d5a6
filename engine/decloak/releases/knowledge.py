"""Knowledge of an attacker on disassociated data, as the scenario describes it."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from decloak.attacker.knowledge import explicit, frequent_itemsets, moderate, strong_pairs, weak
from decloak.data.formats.cleaning import read_names
from decloak.data.formats.folder import Folder
from decloak.data.formats.plain_files import read
from decloak.errors import DecloakError
from decloak.releases.attacker import Attacker, FrequentSets, Nouns
from decloak.releases.stored import UNKNOWN, StoredDisassociation

FOREIGN = 10
"""Words that the weak attacker knows in addition to items."""


class Knowledge(NamedTuple):
    """The attacker model, the known itemsets, and the reason why there are none where there should be."""

    model: str
    itemsets: list[tuple[str, ...]]
    note: str | None = None


def known_from_file(
    attacker: Attacker, folder: Folder, items: Callable[[], Sequence[str]], m: int = 2, seed: int = 0
) -> Knowledge | None:
    """Return what `attacker` knows from a file in `folder`: listed itemsets, or foreign words combined with `items`.

    `m` is the size of itemsets, and `seed` decides the draws. None if no file is named.
    """
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
        words = read_names(folder / attacker.foreign)
    return Knowledge("weak", weak(items(), words, m, seed=seed))


def _nouns(part: Nouns, folder: Folder, items: Sequence[str], seed: int) -> list[str]:
    from decloak.relate.wordnet_similarity import WordNet

    nouns = WordNet.read(None if part.folder is None else folder.path / part.folder)
    return nouns.foreign_words(items, FOREIGN, seed)


def _frequent(part: FrequentSets, records: Sequence[Collection[str]], m: int, seed: int) -> Knowledge:
    itemsets = frequent_itemsets(records, m, support=part.support, count=part.count, seed=seed)
    if not itemsets:
        message = f"no {m} items are together in {part.support:g} of the records"
        raise DecloakError(message, "attacker.frequent.support", "write a smaller one")
    return Knowledge("weak", itemsets)


def known_itemsets(attacker: Attacker, folder: Folder, seed: int, held: StoredDisassociation) -> Knowledge:
    """Return the itemsets that `attacker` knows of the release `held`; the strong one knows every pair, and none is
    listed.

    `folder` has the files, and `seed` decides the draws.
    """
    # Another publisher need not state m. A pair is the smallest set with something to link.
    m = held.published.m or 2
    by_file = known_from_file(attacker, folder, lambda: held.published.items, m, seed)
    if by_file is not None:
        return by_file
    if attacker.model == "strong":
        return Knowledge("strong", [])
    # Without the originals nothing can be drawn from them; the run says so.
    if held.rows is None:
        return Knowledge(attacker.model, [], UNKNOWN.format(f"what a {attacker.model} attacker knows"))
    if attacker.frequent is not None:
        return _frequent(attacker.frequent, held.rows.records, m, seed)
    if attacker.model == "moderate":
        return Knowledge("moderate", moderate(held.rows.records, m, share=attacker.share, seed=seed))
    return Knowledge("strong_pairs", strong_pairs(held.rows.records, m))
