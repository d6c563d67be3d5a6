"""WordNet as a measure of relatedness: Wu and Palmer's similarity of nouns.

a, b synsets (meanings), c a synset above both by hypernym and instance hypernym pointers (each is above itself); d(c)
the number of synsets on the longest way from c up to a root, both ends counted, so that a root has 1; l(a,c) the number
of pointers on the shortest way from a up to c: similarity(a,b) = max over c of 2 d(c) / (2 d(c) + l(a,c) + l(b,c)), 0
when nothing is above both. In a tree that is 2 d(c) / (d(a) + d(b)) with the lowest c. Two words are as similar as
their closest meanings.

A term is looked up whole (heart_attack), then by its last word, its head; WordNet's rules turn a plural into a
singular.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.formats.folder import Folder
from decloak.data.formats.lines import FilePath
from decloak.data.pairs import Pair, Pairs, ScoredPairs
from decloak.errors import DecloakError
from decloak.relate.relatedness import SimilaritySource
from decloak.relate.similar import CELLS, FEW, Similar, Similarities, share_note, similarities
from decloak.relate.wordnet_files import WordNetNouns, files_in, packaged_nouns, read_nouns
from decloak.yaml.section import File

Hypernyms = Mapping[int, Sequence[int]]

RULES = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
)  # fmt: skip
"""Endings of plurals and of their singulars (morphy)."""

WHOLE = "found whole in WordNet"
HEAD = "found by their last word"
NOTHING = "missing in WordNet"


class _Ancestor(NamedTuple):
    """A synset c: 2 d(c), the row indices of the synsets below it, ascending, and l(a,c) of each."""

    twice: int
    below: Ints
    steps: Ints


class Taxonomy(NamedTuple):
    """The number of synsets that are compared, and everything above any of them."""

    size: int
    above: list[_Ancestor]


def taxonomy(synsets: Sequence[int], hypernyms: Hypernyms) -> Taxonomy:
    """Return the ancestors of distinct `synsets` by their `hypernyms`; raise CycleError if one is above itself."""
    below: dict[int, list[tuple[int, int]]] = {}
    for place, synset in enumerate(synsets):
        for c, steps in _ancestors(synset, hypernyms).items():
            below.setdefault(c, []).append((place, steps))
    depth: dict[int, int] = {}
    # Static order visits a synset after everything above it, so that each depth is known when it is needed.
    for c in TopologicalSorter({c: hypernyms[c] for c in below}).static_order():
        depth[c] = 1 + max((depth[higher] for higher in hypernyms[c]), default=0)
    above = [_Ancestor(2 * depth[c], *np.array(places, dtype=np.int64).T) for c, places in below.items()]
    return Taxonomy(len(synsets), above)


def _ancestors(synset: int, hypernyms: Hypernyms) -> dict[int, int]:
    """Return everything above a synset, with the length of the shortest way."""
    steps, queue = {synset: 0}, [synset]
    # The queue grows meanwhile: breadth first, so that the first way found is the shortest.
    for current in queue:
        for higher in hypernyms[current]:
            if higher not in steps:
                steps[higher] = steps[current] + 1
                queue.append(higher)
    return steps


def wu_palmer(rows: Ints, taxonomy: Taxonomy) -> Floats:
    """Return the similarity of some synsets of `taxonomy`, at the indices `rows`, with all of them (columns)."""
    similarity = np.zeros((len(rows), taxonomy.size))
    row = np.full(taxonomy.size, -1)
    row[rows] = np.arange(len(rows))
    for twice, below, steps in taxonomy.above:
        mine = row[below] >= 0
        if mine.any():
            cells = np.ix_(row[below[mine]], below)
            similarity[cells] = np.maximum(similarity[cells], twice / (twice + steps[mine, None] + steps))
    return similarity


class _Lookup(NamedTuple):
    synsets: tuple[int, ...]
    how: str


@dataclass(frozen=True)
class WordNet:
    """Relatedness of terms by the meanings of their nouns."""

    nouns: WordNetNouns

    @classmethod
    def read(cls, folder: FilePath | None = None) -> Self:
        """Read the WordNet database in `folder`, or in the installed package; return it."""
        return cls(packaged_nouns() if folder is None else read_nouns(folder))

    def scores(self, pairs: Iterable[Pair]) -> Similar:
        """Return Wu and Palmer's similarity of each of `pairs`, None where WordNet lacks a noun."""
        distinct = Pairs.of(pairs)
        terms = distinct.terms
        lookups = {term: self._find(term) for term in terms}
        meanings = {term: lookup.synsets for term, lookup in lookups.items() if lookup.synsets}
        return Similar(self._compared(distinct, meanings), list(_warnings(lookups)))

    def foreign_words(self, items: Iterable[str], count: int, seed: int) -> list[str]:
        """Return `count` random nouns that are none of the `items`: single words in code point order, no plurals of
        items.

        `seed` decides the draw.
        """
        item_forms = {word for item in items for word in self._forms(_underscored(item))}
        nouns = [
            word for word in sorted(self.nouns.synsets) if word.isalpha() and item_forms.isdisjoint(self._forms(word))
        ]
        if len(nouns) < count:
            message = f"{len(nouns)} nouns that are no items of the data, where {count} foreign words are asked for"
            raise DecloakError(message, self.nouns.place, "ask for fewer, or take a whole WordNet database")
        return sorted(random.Random(seed).sample(nouns, count))

    def _compared(self, pairs: Sequence[Pair], meanings: Mapping[str, Sequence[int]]) -> ScoredPairs:
        synsets = list(dict.fromkeys(synset for senses in meanings.values() for synset in senses))
        place_of = {synset: position for position, synset in enumerate(synsets)}
        senses = [np.array([place_of[synset] for synset in meaning], dtype=np.int64) for meaning in meanings.values()]
        try:
            compare = taxonomy(synsets, self.nouns.hypernyms)
        except CycleError as error:
            message = f"synset {error.args[1][0]:08} of data.noun is its own hypernym"
            raise DecloakError(message, self.nouns.place, "take the files from a whole WordNet database") from None
        number = {term: place for place, term in enumerate(meanings)}
        # A term has several meanings: the block is chosen so that the matrix of meanings fits into memory.
        most = max(map(len, senses), default=1) * max(1, len(synsets))
        return similarities(pairs, number, CELLS // most, lambda rows: _closest(rows.tolist(), senses, compare))

    def _find(self, term: str) -> _Lookup:
        whole = _underscored(term)
        for how, word in ((WHOLE, whole), (HEAD, whole.rpartition("_")[2])):
            synsets = [synset for form in self._forms(word) for synset in self.nouns.synsets.get(form, ())]
            if synsets:
                return _Lookup(tuple(dict.fromkeys(synsets)), how)
        return _Lookup((), NOTHING)

    def _forms(self, word: str) -> Iterator[str]:
        yield word
        yield from self.nouns.irregular.get(word) or _singulars(word)
        if "-" in word:
            yield from self._forms(word.replace("-", "_"))


def _singulars(word: str) -> Iterator[str]:
    """Yield the singulars of a word by the rules; for boxesful, boxful."""
    stem, ful = (word[:-3], "ful") if word.endswith("ful") else (word, "")
    # WordNet's own look-up leaves these words as they are.
    if not ful and (word.endswith("ss") or len(word) <= 2):
        return
    for end, start in RULES:
        if stem.endswith(end):
            yield stem[: -len(end)] + start + ful


def _underscored(term: str) -> str:
    return "_".join(term.lower().replace("_", " ").split())


def _closest(numbers: Sequence[int], senses: Sequence[Ints], compare: Taxonomy) -> Floats:
    """Return the similarity of some terms with all terms, by their closest meanings."""
    mine = [senses[number] for number in numbers]
    # Terms share meanings: each is compared once.
    rows, place = np.unique(np.concatenate(mine), return_inverse=True)
    similarity = wu_palmer(rows, compare)[place]
    similarity = np.maximum.reduceat(similarity, _starts(mine), axis=0)[:, np.concatenate(senses)]
    return np.asarray(np.maximum.reduceat(similarity, _starts(senses), axis=1))


def _starts(parts: Sequence[Ints]) -> Ints:
    return np.cumsum([0, *map(len, parts[:-1])])


def _warnings(lookups: Mapping[str, _Lookup]) -> Iterator[str]:
    for how in (WHOLE, HEAD, NOTHING):
        found = [term for term, lookup in lookups.items() if lookup.how == how]
        yield from share_note(found, len(lookups), how, few=0 if how == WHOLE else FEW)


class WordnetSource(SimilaritySource):
    """1 minus the similarity of Wu and Palmer, by the nouns of WordNet."""

    FILES: ClassVar = ("folder",)

    measure: Literal["wordnet"]
    """WordNet."""
    folder: File | None = None
    """The folder of WordNet's files. Without it, decloak uses the installed package (the extra 'wordnet')."""

    def files_of(self, key: str) -> Sequence[str]:
        return files_in(self.folder)

    @property
    def origin(self) -> str:
        return self.folder or "package"

    def open(self, folder: Folder) -> Similarities:
        return WordNet.read(None if self.folder is None else folder / self.folder)
