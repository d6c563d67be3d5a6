"""What cover problems tell an attacker: quantitative privacy breach detection, and whom it hits."""

from typing import Literal

from decloak.measure.family import CHUNKS, POOLED, AttackedRelease, Family, Figure, FigureTitle, Measured
from decloak.releases.held import UNKNOWN, HeldChunks
from decloak.store.attackers import attacker_of, read_knowledge
from decloak.yaml.part import Part

__all__ = ["FAMILY", "BreachSettings"]


ALONE = (
    "no cluster has two record chunks, so no item could cover another: that there are no cover problems says nothing"
)


class BreachSettings(Part):
    """How privacy breaches by cover problems are added up."""

    reading: Literal["sound", "literal", "per_item", "sum"] = "sound"
    """Barakat et al. as proved, to the letter of their listing, by item, or all of them."""


def _measure(attacked: AttackedRelease[HeldChunks], *, reading: str) -> Measured:
    """The QPBD breach_total, items and records that are vulnerable, by what the attack found."""
    from decloak.attack.breach import breach_total, hit_records, risky_items
    from decloak.attack.cover import covers_of
    from decloak.store.reading import read_covers

    attacker, note = attacker_of(attacked.connection, attacked.number)
    if note is not None:
        return [], None  # the run says it of the attacker
    release, rows = attacked.release.published, attacked.release.rows
    if all(len(cluster.record_chunks) < 2 for cluster in release.clusters):
        return [], ALONE
    knowledge = read_knowledge(attacked.connection, attacker)
    relation = attacked.derives.name
    problems = covers_of(release, relation, read_covers(attacked.connection, attacked.number, relation))
    nontrivial = sum(problem.size > 1 for problem in problems)
    items, breaches = risky_items(problems, knowledge), breach_total(release, problems, knowledge, reading)
    figures: list[Figure] = [
        (POOLED, "cover_problems", len(problems), len(problems), None),
        (POOLED, "nontrivial", nontrivial, nontrivial, len(problems)),
        (POOLED, "breach", breaches, breaches, None),
        (POOLED, "vulnerable_items", len(items), len(items), None),
    ]
    if rows is None:
        return figures, UNKNOWN.format("the number of vulnerable records")
    hit = hit_records(problems, *rows, knowledge)
    return [*figures, (POOLED, "vulnerable_records", len(hit), len(hit), len(rows.records))], None


FAMILY = Family(
    name="breach",
    about="What an attacker's knowledge makes of cover problems",
    figures=(
        FigureTitle(
            "cover_problems", "cover problems", "where the algorithm tells: fewer than k have both", count=True
        ),
        FigureTitle("nontrivial", "nontrivial", "those with more than one item that covers", count=True, column=False),
        FigureTitle("breach", "breach", "those that the attacker's knowledge breaches, added up", count=True),
        FigureTitle("vulnerable_items", "vulnerable items", "items of a cluster that are breached", count=True),
        FigureTitle("vulnerable_records", "vulnerable records", "records that a breach really hits", count=True),
    ),
    measure=_measure,
    fits=CHUNKS,
    settings=BreachSettings,
    columns=frozenset({"cluster", "chunk", "item", "earlier", "covered", "size", "support"}),
    knowing=True,
    usual=True,
)
