"""Splitting of text into sentences of words.

A sentence ends at a full stop, a question mark or an exclamation mark that is not part of an abbreviation. It also ends
with its line, unless the next line begins with a small letter. So each entry of a list is a sentence, and wrapped prose
is joined. A hyphen at the end of such a line stays.
"""

import re
from collections.abc import Iterator

__all__ = ["LONGEST_WORD", "sentences"]

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
