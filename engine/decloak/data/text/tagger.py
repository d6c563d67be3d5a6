"""What tells nouns and adjectives from other words: whatever is called as `Tagger` says; here, HanTa for English.

HanTa (extra `text`) brings its model with it and asks no network. Its tags are those of the British National Corpus.
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
"""No English word. In notes and queries such a word is a name, a misspelt noun or an abbreviation: a noun."""

KEPT = 100_000
"""Words whose analysis is kept; to analyse a word takes far longer than to tag one that is known."""

AT_ONCE = 500
"""Words tagged at once: over many thousands HanTa's probabilities get too small for it to find its way back."""


class Tagger(Protocol):
    """Says of each word of a sentence what it is there."""

    def __call__(self, sentence: Sequence[str], /) -> list[Tagged]:
        """The words, in order, each with its kind."""


@cache
def english() -> Tagger:
    """The tagger of English text; an error when the package that holds it is not installed."""
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
