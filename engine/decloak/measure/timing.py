"""The time of an attack, and of detecting its breaches; it differs from run to run."""

from time import process_time

from decloak.data.forms import FormName
from decloak.figures import metrics_of
from decloak.measure.breach import FAMILY as BREACH
from decloak.measure.family import POOLED, Attacked, Family, MetricResult, MetricValue
from decloak.releases.stored import StoredDisassociation
from decloak.store.reading import read_covers, seconds_of
from decloak.store.writing import attacker_of, read_knowledge


def _measure(attacked: Attacked) -> MetricResult:
    taken = seconds_of(attacked.connection, attacked.number)
    figures: list[MetricValue] = []
    if "cpu_seconds" in taken:
        figures.append((POOLED, "attack_cpu_seconds", taken["cpu_seconds"], None, None))
    if isinstance(attacked.release, StoredDisassociation) and BREACH.columns.issubset(attacked.derives.columns):
        detection = _detection(attacked, attacked.release)
        figures.append((POOLED, "detection_seconds", detection, None, None))
    return figures, None if taken else "what the attack took is not known: an older version of decloak ran it"


def _detection(attacked: Attacked, release: StoredDisassociation) -> float | None:
    """Return CPU seconds of the search for cover problems, with the attacker's knowledge."""
    from decloak.attacker.cover import breach_total, build_covers

    attacker, unknown = attacker_of(attacked.connection, attacked.number)
    if unknown is not None:
        return None
    relation = attacked.derives.name
    knowledge = read_knowledge(attacked.connection, attacker)
    problems = list(
        build_covers(release.published, relation, read_covers(attacked.connection, attacked.number, relation))
    )
    before = process_time()
    breach_total(release.published, problems, knowledge, "sound")
    return process_time() - before


FAMILY = Family(
    name="time",
    about="Time of an attack, to compare attacks on one machine",
    metrics=metrics_of("time"),
    measure=_measure,
    fits=frozenset(FormName),
)  # fmt: skip
