"""The attacker, on a page: the knowledge levels, the knowledge of each, and the attacks that use it."""

from collections.abc import Mapping
from typing import Any

from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.report.knowledge import attacker_phrase, language_of, listed
from decloak.report.page import Section, Table
from decloak.report.study import Study

__all__ = ["attacker_section"]

KNOWS = {
    KnowledgeLevel.NOTHING: "the release",
    KnowledgeLevel.LANGUAGE: "the release, and how items are related in language",
    KnowledgeLevel.RELEASE: "the release, and what it reveals about its own items",
    KnowledgeLevel.SAMPLE: "the release, and other records of the same population",
    KnowledgeLevel.PERSON: "the release, and items of specific people",
}
TARGETS = {
    "strong": "a prosecutor: knows that a person is in the data, and any items of the person",
    "strong_pairs": "a prosecutor: knows that a person is in the data, and some items of every person",
    "moderate": "a journalist: knows items of some people",
    "weak": "a journalist: knows only common items",
    "explicit": "an attacker who knows listed itemsets",
}


def attacker_section(study: Study) -> Section:
    """Describe the attackers of the runs of `study` in a sentence and a table."""
    config = study.runs[-1].config
    tried = {level: _attacks(study, level) for level in KnowledgeLevel}
    here = {knows for (run, _), knows in study.knows.items() if run == study.runs[-1].run and knows != "control"}
    steps = sorted(filter(None, here), key=lambda step: (step.count("+"), step != KnowledgeLevel.NOTHING, step))
    lines = [f"{attacker_phrase(config, steps[-1])}." if steps else "No attack was run."]
    if tried[KnowledgeLevel.PERSON]:
        attacker = config.get("attacker") or {}
        model = "explicit" if attacker.get("knowledge") else attacker.get("model", "strong")
        lines.append(f"Attacker goal: {TARGETS[model]}.")
    else:
        lines.append("Attacker goal: any person (marketer model).")
    rows = [[str(level), _known(config, level), listed(attacks) or "not tested"] for level, attacks in tried.items()]
    table = Table("Knowledge levels and attacks", ("knowledge level", "the attacker knows", "attacks"), rows)
    return Section("who", "What the attacker knows", lines, tables=[table], half=True)


def _attacks(study: Study, level: str) -> list[str]:
    """Return the attacks that use a knowledge level, alone or with others."""
    return list(dict.fromkeys(attack for (_, attack), knows in study.knows.items() if level in knows.split(" + ")))


def _known(config: Mapping[str, Any], level: KnowledgeLevel) -> str:
    phrases = language_of(config) if level == KnowledgeLevel.LANGUAGE else []
    return f"{KNOWS[level]}: {listed(phrases)}" if phrases else KNOWS[level]
