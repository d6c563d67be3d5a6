"""How many records, and how many protected itemsets, an attack on a disassociated release lays open."""

from decloak.measure.family import CHUNKS, POOLED, AttackedRelease, Family, Figure, FigureTitle, Measured
from decloak.releases.held import UNKNOWN, HeldChunks

__all__ = ["FAMILY"]


def _measure(attacked: AttackedRelease[HeldChunks]) -> Measured:
    from decloak.measure.kernels.breakage import km_breakage_of, transaction_breakage_of
    from decloak.measure.kernels.true_rows import TrueRows

    release, rows = attacked.release.published, attacked.release.beside_truth(TrueRows)
    if rows is None:
        return [], UNKNOWN.format("breakage")
    given = rows.given(attacked.assignments)
    broken = transaction_breakage_of(rows, given)
    figures = _shares("transaction_breakage", broken.row, broken.by_class, broken.records)
    # What a release protects depends on its k and m: a file that does not say them has no protected itemsets.
    if release.k is None or release.m is None:
        return figures, None
    sets = km_breakage_of(rows, given, k=release.k, m=release.m)
    return [*figures, *_shares("km_breakage", sets.row, sets.by_class, sets.protected)], None


def _shares(name: str, by_row: int, by_class: int, whole: int) -> list[Figure]:
    counts = {name: by_row, f"{name}_class": by_class}
    return [(POOLED, title, count / whole if whole else None, count, whole) for title, count in counts.items()]


FAMILY = Family(
    name="breakage",
    about="What an attack on disassociated data lays open",
    figures=(
        FigureTitle("transaction_breakage", "records broken", "records with something won back"),
        FigureTitle("transaction_breakage_class", "by class", "the same by identical anchors", column=False),
        FigureTitle("km_breakage", "itemsets exposed", "protected itemsets put together again"),
        FigureTitle("km_breakage_class", "exposed by class", "the same by identical anchors", column=False),
    ),
    measure=_measure,
    fits=CHUNKS,
    rule_forms=frozenset({"reassociate"}),
)
