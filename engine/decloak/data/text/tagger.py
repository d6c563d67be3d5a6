"""Part-of-speech tagging: the interface `Tagger`, and HanTa for English.

HanTa (extra `text`) comes with its model and uses no network. Its tags are the tags of the British National Corpus.
"""

import importlib
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Protocol

from decloak.data.text.phrases import Tagged, WordKind
from decloak.data.text.tokens import LONGEST_WORD
from decloak.errors import DecloakError
from decloak.extras import install

__all__ = ["Tagger", "english"]

NOUNS = frozenset({"NN0", "NN1", "NN2", "NP0"})
ADJECTIVES = frozenset({"AJ0", "AJC"})
UNKNOWN = "UNC"
"""The tag of words that are not English. In notes and queries they are names, misspelt nouns or abbreviations:
nouns.
"""

KEPT = 100_000
"""Number of words whose analysis is cached: an analysis takes far longer than tagging a known word."""

AT_ONCE = 500
"""Number of words that are tagged together: over many thousands HanTa's probabilities underflow."""


class Tagger(Protocol):
    """A function that returns the part of speech of each word of a sentence."""

    def __call__(self, sentence: Sequence[str], /) -> list[Tagged]:
        """Return the words of `sentence`, in order, each with its kind."""


@cache
def english() -> Tagger:
    """Return the tagger of English text; raise an error if its package is not installed."""
    try:
        module = importlib.import_module("HanTa.HanoverTagger")
    except ImportError:
        raise DecloakError("telling nouns in text needs the extra text", hint=install("text")) from None
    model = Path(str(module.__file__)).with_name("morphmodel_en.pgz")  # in full: a bare name is first sought here
    hanta: Any = module.HanoverTagger(str(model))
    hanta.analyze_forward = lru_cache(KEPT)(hanta.analyze_forward)

    def tag(sentence: Sequence[str], /) -> list[Tagged]:
        short = [word if len(word) <= LONGEST_WORD else "-" for word in sentence]
        tags = [tag for n in range(0, len(short), AT_ONCE) for tag in hanta.tag_sent(short[n : n + AT_ONCE], 0)]
        return [Tagged(word, _kind(bounded, tag)) for word, bounded, tag in zip(sentence, short, tags, strict=True)]

    return tag


def _kind(word: str, tag: str) -> WordKind:
    if tag in NOUNS or (tag == UNKNOWN and any(map(str.isalpha, word))):
        return "noun"
    return "adjective" if tag in ADJECTIVES else "other"
