"""Part-of-speech tagging: the interface `Tagger`, and HanTa for English.

HanTa (extra `text`) comes with its model and uses no network. Its tags are the tags of the British National Corpus.

Splitting of text into sentences of words.

A sentence ends at a full stop, a question mark or an exclamation mark that is not part of an abbreviation. It also ends
with its line, unless the next line begins with a small letter. So each entry of a list is a sentence, and wrapped prose
is joined. A hyphen at the end of such a line stays.
"""

import importlib
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Protocol

from decloak.data.text.phrases import Tagged, WordKind
from decloak.errors import DecloakError
from decloak.extras import install

__all__ = ["Tagger", "english", "sentences"]


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
    hanta = module.HanoverTagger(str(model))
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


LONGEST_WORD = 40
"""Largest number of characters of a word. A longer one has no kind, because tagging time grows with the square."""

_WORD = re.compile(
    r"""
      (?:[^\W\d_]\.){2,}                                              # b.i.d.
    | (?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|approx)\.(?=\s)            # an abbreviation, not the end of a sentence
    | \w+?(?=n['’]t\b) | n['’]t\b                                     # did n't
    | \w+(?:[-.]\w+|['’](?!(?:s|t|d|m|re|ve|ll)\b)\w+)*               # x-ray, cancer.org, o'brien
    | ['’]\w+                                                         # the end of patient's
    | [^\w\s]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ENDS = frozenset(".?!")


def sentences(text: str) -> Iterator[list[str]]:
    """Yield the words and punctuation marks of each sentence of `text`.

    >>> list(sentences("Mr. Smith's X-rays\\nwere normal. No pain"))
    [['Mr.', 'Smith', "'s", 'X-rays', 'were', 'normal', '.'], ['No', 'pain']]
    """
    for block in _blocks(text):
        sentence: list[str] = []
        for match in _WORD.finditer(block):
            sentence.append(match[0])
            if match[0] in _ENDS:
                yield sentence
                sentence = []
        if sentence:
            yield sentence


def _blocks(text: str) -> Iterator[str]:
    """Yield the lines, joined where a line continues the one before."""
    parts: list[str] = []
    for line in text.splitlines():
        line = line.strip()
        broken = bool(parts) and parts[-1][-1] == "-" and parts[-1][-2:-1].isalpha()
        if parts and not line[:1].islower() and not (broken and line):
            yield "".join(parts)
            parts = []
        if line:
            parts += [line] if broken or not parts else [" ", line]
    yield "".join(parts)
