"""Quantitative privacy breach detection: the cover problems that an attacker sees, and the people they affect."""

from typing import Literal

from decloak.figures import metrics_of
from decloak.measure.family import CHUNKS, POOLED, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN, StoredDisassociation
from decloak.store.relations import COVER_COLUMNS
from decloak.store.writing import attacker_of, read_knowledge
from decloak.yaml.section import ConfigSection

ALONE = "no cluster has two record chunks, so cover problems are impossible. Their absence is no evidence"


class BreachSettings(ConfigSection):
    """How privacy breaches by cover problems are added up."""

    reading: Literal["sound", "literal", "per_item", "sum"] = "sound"
    """Barakat et al. as proved, to the letter of their listing, by item, or all of them."""


def _measure(attacked: AttackResult[StoredDisassociation], *, reading: str) -> MetricResult:
    """Return the QPBD breach_total, and the vulnerable items and records, from the findings of an attack."""
    from decloak.attacker.cover import breach_total, build_covers, hit_records, risky_items
    from decloak.store.reading import read_covers

    attacker, note = attacker_of(attacked.connection, attacked.number)
    if note is not None:
        return [], None  # the run says it of the attacker
    release, rows = attacked.release.published, attacked.release.rows
    if all(len(cluster.record_chunks) < 2 for cluster in release.clusters):
        return [], ALONE
    knowledge = read_knowledge(attacked.connection, attacker)
    relation = attacked.derives.name
    problems = build_covers(release, relation, read_covers(attacked.connection, attacked.number, relation))
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


FAMILY = Family(
    name="breach",
    about="Cover problems and privacy breaches of a disassociated release",
    metrics=metrics_of("breach"),
    measure=_measure,
    fits=CHUNKS,
    settings=BreachSettings,
    columns=COVER_COLUMNS,
    depends_on_knowledge=True,
    by_default=True,
)
