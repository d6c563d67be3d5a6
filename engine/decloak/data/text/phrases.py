"""Extraction of items from tagged words: nouns and noun phrases.

A phrase is noun + noun, adjective + noun, or a noun alone. A sentence is read from left to right, and each word is used
once. In adjective noun noun noun, the first two are a phrase, and so are the last two. A stop word, a number or a
single letter is not part of a phrase and ends one. The last word of an item is put into the singular.

An item is dropped if it repeats, or if its words are part of a longer item of the same record. Items stay in the
order of their first appearance.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from decloak.data.text.words import IRREGULAR, STOP_WORDS, UNCHANGED

__all__ = ["Tagged", "WordKind", "folded", "is_content", "outermost", "phrases", "singular"]


SHORTEST = 4
"""Least number of letters of a word that a rule changes: short words such as gas, bus and yes are excluded."""

STAYING = ("ss", "us", "is", "ics")
CHANGING = (
    ("knives", "knife"), ("leaves", "leaf"), ("shelves", "shelf"), ("wives", "wife"), ("wolves", "wolf"),
    ("poses", "pose"), ("closes", "close"), ("ooses", "oose"), ("oses", "osis"), ("eeses", "eese"), ("eses", "esis"),
    ("stases", "stasis"), ("ectases", "ectasis"), ("iases", "iasis"), ("yses", "ysis"), ("viruses", "virus"),
    ("plexuses", "plexus"), ("thoraces", "thorax"), ("cocci", "coccus"), ("bacilli", "bacillus"),
    ("villi", "villus"), ("smen", "sman"),
    ("ies", "y"), ("oes", "o"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("tzes", "tz"), ("xes", "x"),
    ("zzes", "zz"), ("s", ""),
)  # fmt: skip
"""Endings and their replacements. The first that matches is used."""


def singular(word: str) -> str:
    """Return the singular of `word`, a noun in lower case; the word itself if it is or may be a singular.

    >>> [singular(word) for word in ("biopsies", "masses", "diseases", "women", "diabetes", "pancreas")]
    ['biopsy', 'mass', 'disease', 'woman', 'diabetes', 'pancreas']
    """
    before, hyphen, last = word.rpartition("-")
    if hyphen:
        return before + hyphen + singular(last)
    if word in UNCHANGED or word in IRREGULAR:
        return IRREGULAR.get(word, word)
    if len(word) < SHORTEST or word.endswith(STAYING) or not word.isalpha():
        return word
    plural, ending = next((change for change in CHANGING if word.endswith(change[0])), ("", ""))
    return word.removesuffix(plural) + ending


WordKind = Literal["noun", "adjective", "other"]


class Tagged(NamedTuple):
    """A word of a sentence and its part of speech."""

    word: str
    kind: WordKind


def phrases(sentence: Sequence[Tagged]) -> Iterator[str]:
    """Yield the nouns and noun phrases of `sentence`, in lower case and in the singular.

    >>> sentence = [("Some", "other"), ("burning", "adjective"), ("chest", "noun"), ("pains", "noun")]
    >>> list(phrases([Tagged(word, kind) for word, kind in sentence]))
    ['burning chest', 'pain']
    """
    words = [Tagged(word, kind if is_content(word) else "other") for word, kind in sentence]
    start = 0
    while start < len(words):
        kinds = [word.kind for word in words[start : start + 2]]
        size = 2 if kinds in (["noun", "noun"], ["adjective", "noun"]) else 1
        if size == 2 or kinds[0] == "noun":
            yield folded([word.word for word in words[start : start + size]])
        start += size


def is_content(word: str) -> bool:
    """Return True if `word` may be part of an item: not a stop word, a number or a single letter."""
    return len(word) > 1 and any(map(str.isalpha, word)) and word.lower() not in STOP_WORDS


def folded(words: Sequence[str]) -> str:
    """Return `words` as an item: in lower case, the last in the singular."""
    *before, last = [word.lower() for word in words]
    return " ".join([*before, singular(last)])


def outermost(items: Iterable[str]) -> tuple[str, ...]:
    """Return the `items` of a record without repetitions and without parts of longer ones.

    >>> outermost(["history", "symptom", "long history", "symptoms list"])
    ('long history', 'symptoms list')
    """
    first: dict[tuple[str, ...], str] = {}
    for item in items:
        first.setdefault(tuple(map(singular, item.split(" "))), item)
    longer_parts = {part for words in first for part in _parts(words)}
    return tuple(item for words, item in first.items() if words not in longer_parts)


def _parts(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield every run of the words that is shorter than all of them."""
    for size in range(1, len(words)):
        for start in range(len(words) - size + 1):
            yield words[start : start + size]
