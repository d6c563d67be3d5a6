"""Who attacks, on a page: every rung of the ladder, what somebody on it knows here, and which attacks go by it."""

from collections.abc import Mapping
from typing import Any

from decloak.data.rungs import Rung
from decloak.report.knowledge import attacker_phrase, language_of, listed
from decloak.report.page import Section, Table
from decloak.report.study import Study

__all__ = ["who_section"]

KNOWS = {
    Rung.NOTHING: "what is published, and chance",
    Rung.LANGUAGE: "what anybody may know of the items",
    Rung.RELEASE: "what the release shows of its own items",
    Rung.SAMPLE: "other records of the same population",
    Rung.PERSON: "items of single persons",
}
TARGETS = {
    "strong": "a prosecutor, who knows that somebody is in the data and has any of the items",
    "strong_pairs": "a prosecutor, who knows that somebody is in the data and some items of everybody",
    "moderate": "a journalist, who knows items of some of the persons",
    "weak": "a journalist, who knows no more than what is common elsewhere",
    "explicit": "somebody who knows listed itemsets",
}


def who_section(study: Study) -> Section:
    """The attackers of some runs in a sentence and a table, what was not tried among it."""
    config = study.runs[-1].config
    tried = {rung: _attacks(study, rung) for rung in Rung}
    missing = [str(rung) for rung, attacks in tried.items() if not attacks]
    here = {knows for (run, _), knows in study.knows.items() if run == study.runs[-1].run and knows != "control"}
    steps = sorted(filter(None, here), key=lambda step: (step.count("+"), step != Rung.NOTHING, step))
    lines = [f"{attacker_phrase(config, steps[-1])}." if steps else "Nobody attacked."]
    if tried[Rung.PERSON]:
        attacker = config.get("attacker") or {}
        model = "explicit" if attacker.get("knowledge") else attacker.get("model", "strong")
        lines.append(f"Who knows something of persons is {TARGETS[model]}.")
    else:
        lines.append("Nobody in particular is looked for: this is a marketer, who takes what comes back of anybody.")
    if missing:
        lines.append(f"Not tried: {listed(missing)}. Whoever knows that may win back more.")
    rows = [[str(rung), _known(config, rung), listed(attacks) or "not tried"] for rung, attacks in tried.items()]
    table = Table("The ladder of attackers", ("rung", "knows", "attacks"), rows)
    return Section("who", "Who attacks", lines, tables=[table])


def _attacks(study: Study, rung: Rung) -> list[str]:
    """The attacks that go by a rung, alone or with others."""
    return list(dict.fromkeys(attack for (_, attack), knows in study.knows.items() if rung in knows.split(" + ")))


def _known(config: Mapping[str, Any], rung: Rung) -> str:
    phrases = language_of(config) if rung == Rung.LANGUAGE else []
    return f"{KNOWS[rung]}: who {listed(phrases)}" if phrases else KNOWS[rung]
