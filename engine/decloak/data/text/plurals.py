"""Conversion of plurals to singulars. A word that may be a singular stays unchanged.

Only endings that singulars rarely have are changed; -ss, -us, -is and -ics never are (illness, virus, diagnosis,
physics). Exceptions are listed in `words`.
"""

from decloak.data.text.words import IRREGULAR, UNCHANGED

__all__ = ["singular"]

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
