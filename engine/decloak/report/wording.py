"""Words for numbers and for attackers: counts, percentages, probabilities, and what an attacker knows."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from textwrap import fill

from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.digest import Config
from decloak.measure.kernels.statistics import Interval

WIDTH = 110
"""Characters of a line."""


def filled(text: str, indent: str = "") -> str:
    """Break a paragraph into lines, all but the first of them indented."""
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
_RUNGS = {"clusters": KnowledgeLevel.RELEASE, "release": KnowledgeLevel.RELEASE, "sample": KnowledgeLevel.SAMPLE}
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


def attacker_phrase(config: Config, knows: str = "") -> str:
    """Describe the attacker by a knowledge level, or by all related items if the level is not recorded."""
    knowledge_levels = (
        set(knows.split(" + ")) if knows else {knowledge_level for knowledge_level, _ in _related(config)}
    )
    known = [
        phrase
        for knowledge_level, phrase in _related(config)
        if knowledge_level == KnowledgeLevel.LANGUAGE and knowledge_level in knowledge_levels
    ]
    attacker = config.get("attacker") or {}
    always = _ALWAYS | ({KnowledgeLevel.SAMPLE: "has other records beside it"} if attacker.get("auxiliary") else {})
    known += [phrase for knowledge_level, phrase in always.items() if knowledge_level in knowledge_levels]
    if KnowledgeLevel.PERSON in knowledge_levels:
        known.append(_PERSONS["explicit" if attacker.get("knowledge") else attacker.get("model", "strong")])
    known = list(dict.fromkeys(known))
    return f"An attacker who has the release and {listed(known)}" if known else "An attacker who has only the release"


def language_of(config: Mapping[str, object]) -> list[str]:
    """Describe the language knowledge behind the measures of a scenario."""
    phrases = (phrase for knowledge_level, phrase in _related(config) if knowledge_level == KnowledgeLevel.LANGUAGE)
    return list(dict.fromkeys(phrases))


def _related(config: Config) -> Iterator[tuple[KnowledgeLevel, str]]:
    """Return the knowledge level of each measure, and its description."""
    if (config.get("data") or {}).get("distances"):
        yield KnowledgeLevel.LANGUAGE, "has tables of how far items are apart"
    relate = config.get("relate")
    parts = relate.get("of") or [relate] if isinstance(relate, Mapping) else relate or ()
    for part in parts:
        if isinstance(part, Mapping):
            ngd = part.get("measure") == "ngd"
            key = str(part.get("source") if ngd else part.get("measure"))
            phrase = (_SOURCES if ngd else _MEASURES).get(key, "has scores of how closely items are related")
            yield _RUNGS.get(key, KnowledgeLevel.LANGUAGE), phrase


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
