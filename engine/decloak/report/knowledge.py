"""Describe the attacker and the attacker's knowledge in a phrase, from the scenario."""

from collections.abc import Iterator, Mapping, Sequence

from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.digest import Config

__all__ = ["attacker_phrase", "language_of", "listed"]

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
