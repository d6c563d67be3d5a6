"""From text to sentences of words.

A sentence ends at a full stop, a question or an exclamation mark that is no part of an abbreviation. It also ends with
its line, unless the next line begins with a small letter: so a list has a sentence an entry, and wrapped prose is put
together again. A hyphen at the end of such a line stays.
"""

import re
from collections.abc import Iterator

__all__ = ["LONGEST_WORD", "sentences"]

LONGEST_WORD = 40
"""Characters of a word; a longer one is a word of no kind, as the time to tag it grows with its square."""

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
    """The words and marks of each sentence.

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
    """The lines, those that go on where the one before broke off joined to it."""
    held: list[str] = []
    for line in text.splitlines():
        line = line.strip()
        broken = bool(held) and held[-1][-1] == "-" and held[-1][-2:-1].isalpha()
        if held and not line[:1].islower() and not (broken and line):
            yield "".join(held)
            held = []
        if line:
            held += [line] if broken or not held else [" ", line]
    yield "".join(held)
