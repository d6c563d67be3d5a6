"""Words for numbers and for attackers: counts, percentages, probabilities, and what an attacker knows."""

from collections.abc import Mapping, Sequence
from math import ceil, floor
from textwrap import fill

from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.digest import Config
from decloak.measure.kernels.statistics import Interval

WIDTH = 110
"""Characters of a line."""


def filled(text: str, indent: str = "") -> str:
    """Break a paragraph into lines, all but the first of them indented."""
    # An option such as --dry-run stays whole, so that it can be copied.
    return fill(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def count(value: float | None) -> str:
    """Write a number of things; the mean of few has a digit more.

    >>> count(1943.0), count(3.5), count(None)
    ('1,943', '3.5', '–')
    """
    return whole(value) or "–"


def whole(value: float | None) -> str | None:
    """Write a number of things, or return None."""
    if value is None:
        return None
    return f"{value:,.0f}" if value >= 10 or value == round(value) else f"{value:.1f}"


def people(value: Interval | None) -> str | None:
    """Write a number of people with its interval, rounded outwards."""
    if value is None or value.low is None or value.high is None:
        return None if value is None else whole(value.mean)
    # Outwards, so that the printed interval contains the exact one.
    return f"{whole(value.mean)} ({floor(value.low):,}–{ceil(value.high):,})"


def percent(share: float, digits: int = 0) -> str:
    """Write a share; a small one is never 0%, and a large one never 100%.

    >>> percent(0.004), percent(0.996), percent(0.153, 1), percent(-0.02)
    ('<1%', '>99%', '15.3%', '-2%')
    """
    if not digits and 0 < share < 0.005:
        return "<1%"
    # Rounding to 0% or 100% would claim that nobody, or everybody, is meant.
    return ">99%" if not digits and 0.995 <= share < 1 else f"{share:.{digits}%}"


def points(value: float | None, digits: int = 0) -> str:
    """Write a difference of two shares in points."""
    return "–" if value is None else f"{100 * value:+.{digits}f}"


def probability(p: float) -> str:
    """Write a probability; one that is too small for a float is bounded.

    >>> probability(0.0432), probability(2.3e-23), probability(0.0), probability(1.0)
    ('0.04', '2.3e-23', 'below 1e-300', '1.00')
    """
    # Below it floats lose digits, down to a probability of 0 that no attack has.
    if p < 1e-300:
        return "below 1e-300"
    return f"{p:.1e}" if p < 0.001 else f"{p:.3f}" if p < 0.01 else f"{p:.2f}"


def interval_of(repetitions: int, *, data_sets: bool = False) -> str:
    """Say what an interval is about."""
    kind = "data sets of one kind" if data_sets else "repetitions of one data set"
    return f"{repetitions} {kind}"


_TEXTS = "knows how often texts mention two terms together"
_SOURCES = {
    "clinic-counts": "knows how often medical texts mention two terms together",
    "corpus": _TEXTS,
    "counts": _TEXTS,
    "provider": "asks a search service how often two terms are mentioned together",
    "scores": "has scores of how closely items are related",
}
_MEASURES = {
    "embedding": "knows the relatedness of terms as word vectors",
    "wordnet": "has a dictionary of how terms are related",
    "model": "asks a language model for the relatedness of terms",
}
_LEARNED = ("clusters", "release", "sample")
"""Sources that an attacker learns from, in place of knowledge of the language."""
_ALWAYS = {
    KnowledgeLevel.RELEASE: "learns from its own items",
    KnowledgeLevel.SAMPLE: "knows other records of the same population",
}
_PERSONS = {
    "strong": "knows any items of the people",
    "moderate": "knows a pair of items of some of the people",
    "weak": "knows itemsets that are common elsewhere",
    "explicit": "knows listed itemsets",
}


def attacker_phrase(config: Config, knows: str) -> str:
    """Describe the attacker of a scenario; `knows` has the knowledge levels."""
    levels = set(knows.split(" + "))
    known = language_of(config) if KnowledgeLevel.LANGUAGE in levels else []
    attacker = config.get("attacker") or {}
    always = _ALWAYS | ({KnowledgeLevel.SAMPLE: "has other records beside it"} if attacker.get("auxiliary") else {})
    known += [phrase for level, phrase in always.items() if level in levels]
    if KnowledgeLevel.PERSON in levels:
        known.append(_PERSONS["explicit" if attacker.get("knowledge") else attacker.get("model", "strong")])
    return f"An attacker who has the release and {listed(known)}" if known else "An attacker who has only the release"


def language_of(config: Config) -> list[str]:
    """Describe the language knowledge behind the measures of a scenario."""
    phrases = ["has tables of how far items are apart"] if (config.get("data") or {}).get("distances") else []
    relate = config.get("relate")
    for part in relate.get("of") or [relate] if isinstance(relate, Mapping) else relate or ():
        if isinstance(part, Mapping):
            ngd = part.get("measure") == "ngd"
            key = str(part.get("source") if ngd else part.get("measure"))
            if key not in _LEARNED:
                phrases.append((_SOURCES if ngd else _MEASURES).get(key, _SOURCES["scores"]))
    return list(dict.fromkeys(phrases))


def listed(words: Sequence[str], last: str = "and") -> str:
    """Return `words` as a sentence lists them, with `last` before the last one.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return f" {last} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
