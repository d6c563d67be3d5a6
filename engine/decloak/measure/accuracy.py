"""The share of sub-records that an attack on a disassociated release re-associates correctly, by cluster and pooled."""

from collections.abc import Iterator

from decloak.figures import metrics_of
from decloak.measure.family import CHUNKS, POOLED, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN, StoredDisassociation

__all__ = ["FAMILY"]


def _measure(attacked: AttackResult[StoredDisassociation]) -> MetricResult:
    from decloak.measure.kernels.random_attack import reassociation_p
    from decloak.measure.kernels.reassociation import accuracy_by_cluster, accuracy_of, block_assignments
    from decloak.measure.kernels.true_rows import TrueRows

    rows = attacked.release.with_ground_truth(TrueRows)
    if rows is None:
        return [], UNKNOWN.format("accuracy")
    counts = accuracy_of(rows, attacked.assignments)
    return [
        *(figure for cluster in accuracy_by_cluster(rows, attacked.assignments) for figure in _of_cluster(*cluster)),
        (POOLED, "assigned", counts.assigned, counts.assigned, None),
        (POOLED, "true", counts.true, counts.true, None),
        (POOLED, "accuracy", counts.accuracy, float(counts.correct_exp), counts.assigned),
        (POOLED, "accuracy_class", counts.accuracy_class, counts.correct_class, counts.assigned),
        (POOLED, "baseline", counts.chance, float(counts.expected), counts.assigned),
        (POOLED, "normalised_advantage", counts.gain, float(counts.won), float(counts.assigned - counts.expected)),
        (POOLED, "p_random", reassociation_p(block_assignments(rows, attacked.assignments)), None, None),
        (POOLED, "recall", counts.recall, float(counts.correct_exp), counts.reachable),
    ], None


def _of_cluster(
    cluster: int, assigned: float, correct: float, expected: float, reachable: float
) -> Iterator[MetricValue]:
    yield cluster, "accuracy", _ratio(correct, assigned), correct, assigned
    yield cluster, "baseline", _ratio(expected, assigned), expected, assigned
    yield cluster, "recall", _ratio(correct, reachable), correct, reachable


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


FAMILY = Family(
    name="accuracy",
    about="Sub-records that an attack assigns to the right record",
    metrics=metrics_of("accuracy"),
    measure=_measure,
    fits=CHUNKS,
    rule_forms=frozenset({"reassociate"}),
    by_default=True,
)
