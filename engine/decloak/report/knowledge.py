"""What an attacker has and knows, as a phrase, from what the scenario says."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["attacker_phrase", "listed"]

_TEXTS = "knows how often texts mention two terms together"
_SOURCES = {
    "clinic-counts": "knows how often medical texts mention two terms together",
    "corpus": _TEXTS,
    "counts": _TEXTS,
    "provider": "asks a search service how often two terms are mentioned together",
    "release": "counts which items are published together",
    "scores": "has scores of how closely items are related",
}
_MEASURES = {
    "embedding": "knows how near terms are as vectors of words",
    "wordnet": "has a dictionary of how terms are related",
    "clusters": "counts which items share clusters",
}
_PERSONS = {
    "strong": "knows any items of the persons",
    "moderate": "knows a pair of items of some of the persons",
    "weak": "knows itemsets that are common elsewhere",
    "explicit": "knows listed itemsets",
}


def attacker_phrase(config: Mapping[str, Any], *, of_persons: bool) -> str:
    """Who attacks; `of_persons` where the attacks go by what is known of persons."""
    known = list(dict.fromkeys(_known(config.get("relate"))))
    if of_persons:
        attacker = config.get("attacker") or {}
        known.append(_PERSONS["explicit" if attacker.get("knowledge") else attacker.get("model", "strong")])
    return f"An attacker who has the release and {listed(known)}" if known else "An attacker who has only the release"


def _known(relate: Any) -> Iterator[str]:
    for source in relate if isinstance(relate, Sequence) and not isinstance(relate, str) else [relate]:
        if isinstance(source, Mapping):
            phrases = _SOURCES if source.get("measure") == "ngd" else _MEASURES
            key = source.get("source") if source.get("measure") == "ngd" else source.get("measure")
            yield phrases.get(str(key), "has scores of how closely items are related")


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
