"""How many records, and how many protected itemsets, an attack on a disassociated release lays open."""

from decloak.figures import metrics_of
from decloak.measure.family import CHUNKS, POOLED, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN, StoredDisassociation

__all__ = ["FAMILY"]


def _measure(attacked: AttackResult[StoredDisassociation]) -> MetricResult:
    from decloak.measure.kernels.breakage import km_breakage_of, transaction_breakage_of
    from decloak.measure.kernels.true_rows import TrueRows

    release, rows = attacked.release.published, attacked.release.with_ground_truth(TrueRows)
    if rows is None:
        return [], UNKNOWN.format("breakage")
    given = rows.assigned_units(attacked.assignments)
    broken = transaction_breakage_of(rows, given)
    figures = _shares("transaction_breakage", broken.row, broken.by_class, broken.records)
    # What a release protects depends on its k and m: a file that does not say them has no protected itemsets.
    if release.k is None or release.m is None:
        return figures, None
    sets = km_breakage_of(rows, given, k=release.k, m=release.m)
    return [*figures, *_shares("km_breakage", sets.row, sets.by_class, sets.protected)], None


def _shares(name: str, by_row: int, by_class: int, whole: int) -> list[MetricValue]:
    counts = {name: by_row, f"{name}_class": by_class}
    return [(POOLED, title, count / whole if whole else None, count, whole) for title, count in counts.items()]


FAMILY = Family(
    name="breakage",
    about="Records and itemsets that re-association exposes",
    metrics=metrics_of("breakage"),
    measure=_measure,
    fits=CHUNKS,
    rule_forms=frozenset({"reassociate"}),
)
