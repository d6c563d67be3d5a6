"""Knowledge levels of an attacker: what the attacker has next to the release, from nothing up.

Negative controls: the same attack with permuted training data, which must fall back to the baseline.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, get_args


class KnowledgeLevel(StrEnum):
    """A level of knowledge. An attacker may have several."""

    NOTHING = "nothing"  # random guessing, order, counts
    LANGUAGE = "language"  # a corpus, word vectors, WordNet: general knowledge about items
    RELEASE = "release"  # what the release shows of its own items
    SAMPLE = "sample"  # other records of the same population
    PERSON = "person"  # items of single people


def level_name(levels: Iterable[str]) -> str:
    """Return the name of an attacker with the knowledge `levels`, listed from the lowest level up.

    >>> level_name({"sample", "language"})
    'language + sample'
    """
    given = set(levels)
    return " + ".join(knowledge_level for knowledge_level in KnowledgeLevel if knowledge_level in given)


Control = Literal["labels", "contexts", "words", "order"]

CONTROLS: tuple[Control, ...] = get_args(Control)

MUST_FAIL: tuple[Control, ...] = ("labels", "contexts")
"""Controls that leave nothing to learn: an attack has to do better than with any of them."""
