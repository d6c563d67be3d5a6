"""From plural to singular, carefully: what might be a singular stays as it is.

Only endings that are rarely a singular's are changed; -ss, -us, -is and -ics never are (illness, virus, diagnosis,
physics). Words that these rules would spoil are listed in `words`.
"""

from decloak.data.text.words import IRREGULAR, UNCHANGED

__all__ = ["singular"]

SHORTEST = 4
"""Letters of the shortest word that a rule is for: gas, bus, yes and the like are left alone."""

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
"""Endings and what takes their place; the first that fits counts."""


def singular(word: str) -> str:
    """The singular of a noun in lower case; the word itself when it is none, or may be none.

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
