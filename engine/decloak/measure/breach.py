"""Quantitative privacy breach detection: the cover problems that an attacker sees, and the people they affect.

The time of an attack is here too, because a part of it is the time of detecting its breaches.
"""

from time import process_time
from typing import Literal

from decloak.attacker.cover import Cover, breach_total, build_covers, hit_records, risky_items
from decloak.data.disassociated import Disassociated
from decloak.data.forms import FormName
from decloak.figures import metrics_of
from decloak.measure.family import CHUNKS, POOLED, Attacked, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN, StoredDisassociation
from decloak.store.findings import read_covers, seconds_of
from decloak.store.relations import COVER_COLUMNS
from decloak.store.writing import attacker_of, read_knowledge
from decloak.yaml.section import ConfigSection

ALONE = "no cluster has two record chunks, so cover problems are impossible. Their absence is no evidence"


class BreachSettings(ConfigSection):
    """How privacy breaches by cover problems are added up."""

    reading: Literal["sound", "literal", "per_item", "sum"] = "sound"
    """Barakat et al. as proved, to the letter of their listing, by item, or all of them."""


def _measure_breach(attacked: AttackResult[StoredDisassociation], *, reading: str) -> MetricResult:
    """Return the QPBD breach_total, and the vulnerable items and records, from the findings of an attack."""
    attacker, note = attacker_of(attacked.connection, attacked.number)
    if note is not None:
        return [], None  # the run says it of the attacker
    release, rows = attacked.release.published, attacked.release.rows
    if all(len(cluster.record_chunks) < 2 for cluster in release.clusters):
        return [], ALONE
    knowledge = read_knowledge(attacked.connection, attacker)
    problems = _covers(attacked, release)
    items, breaches = risky_items(problems, knowledge), breach_total(release, problems, knowledge, reading)
    figures: list[MetricValue] = [
        (POOLED, "cover_problems", len(problems), len(problems), None),
        (POOLED, "breach", breaches, breaches, None),
        (POOLED, "vulnerable_items", len(items), len(items), None),
    ]
    if rows is None:
        return figures, UNKNOWN.format("the number of vulnerable records")
    hit = hit_records(problems, *rows, knowledge)
    return [*figures, (POOLED, "vulnerable_records", len(hit), len(hit), len(rows.records))], None


def _covers(attacked: Attacked, release: Disassociated) -> list[Cover]:
    """Return the cover problems of `release` that an attack derived."""
    relation = attacked.derives.name
    return build_covers(release, relation, read_covers(attacked.connection, attacked.number, relation))


BREACH = Family(
    name="breach",
    about="Cover problems and privacy breaches of a disassociated release",
    metrics=metrics_of("breach"),
    measure=_measure_breach,
    fits=CHUNKS,
    settings=BreachSettings,
    columns=COVER_COLUMNS,
    depends_on_knowledge=True,
    by_default=True,
)


def _measure_time(attacked: Attacked) -> MetricResult:
    taken = seconds_of(attacked.connection, attacked.number)
    figures: list[MetricValue] = []
    if "cpu_seconds" in taken:
        figures.append((POOLED, "attack_cpu_seconds", taken["cpu_seconds"], None, None))
    if isinstance(attacked.release, StoredDisassociation) and COVER_COLUMNS.issubset(attacked.derives.columns):
        figures.append((POOLED, "detection_seconds", _detection_seconds(attacked, attacked.release), None, None))
    return figures, None if taken else "what the attack took is not known: an older version of decloak ran it"


def _detection_seconds(attacked: Attacked, release: StoredDisassociation) -> float | None:
    """Return CPU seconds of the search for cover problems, with the attacker's knowledge."""
    attacker, unknown = attacker_of(attacked.connection, attacked.number)
    if unknown is not None:
        return None
    knowledge = read_knowledge(attacked.connection, attacker)
    problems = _covers(attacked, release.published)
    # Reading the store is no part of what the papers time.
    before = process_time()
    breach_total(release.published, problems, knowledge, "sound")
    return process_time() - before


TIME = Family(
    name="time",
    about="Time of an attack, to compare attacks on one machine",
    metrics=metrics_of("time"),
    measure=_measure_time,
    fits=frozenset(FormName),
)
