"""Word vectors as they are described, one word and one pair at a time."""

import math
import re
from collections.abc import Mapping, Sequence

Vector = Sequence[float]


def naive_vector(term: str, words: Mapping[str, Vector]) -> list[float] | None:
    """The vector of a term: its own, or the mean of its words'; None when no word is known."""
    for text in (term.lower(), term):
        pieces = re.split(r"[\s_]+", text.strip(" _"))
        for mark in ("_", " ", "-"):
            if mark.join(pieces) in words:
                return list(words[mark.join(pieces)])
    found = [vector for word in re.split(r"[\s_.!]+", term) for vector in _word(word, words)]
    return [sum(numbers) / len(found) for numbers in zip(*found, strict=True)] if found else None


def _word(word: str, words: Mapping[str, Vector]) -> list[Vector]:
    if not word:
        return []
    for spelt in (word.lower(), word):
        if spelt in words:
            return [words[spelt]]
    if re.search("['’]s$", word, re.IGNORECASE):
        return _word(word[:-2], words)
    return [vector for part in word.split("-") for vector in _word(part, words)] if "-" in word else []


def naive_cosine(u: Vector, v: Vector) -> float | None:
    """The cosine of two vectors, None where one is all zeros."""
    if not any(u) or not any(v):
        return None
    return sum(a * b for a, b in zip(u, v, strict=True)) / (math.hypot(*u) * math.hypot(*v))
