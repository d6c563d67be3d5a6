"""How much of what a disassociated release took apart an attack put back where it belongs, by cluster and pooled."""

from collections.abc import Iterator

from decloak.measure.family import CHUNKS, POOLED, AttackedRelease, Family, Figure, FigureTitle, Measured
from decloak.measure.kernels.statistics import GAIN
from decloak.releases.held import UNKNOWN, HeldChunks

__all__ = ["FAMILY"]


def _measure(attacked: AttackedRelease[HeldChunks]) -> Measured:
    from decloak.measure.kernels.random_attack import reassociation_p
    from decloak.measure.kernels.reassociation import accuracy_by_cluster, accuracy_of, gifts_of
    from decloak.measure.kernels.true_rows import TrueRows

    rows = attacked.release.beside_truth(TrueRows)
    if rows is None:
        return [], UNKNOWN.format("accuracy")
    counts = accuracy_of(rows, attacked.assignments)
    return [
        *(figure for cluster in accuracy_by_cluster(rows, attacked.assignments) for figure in _of_cluster(*cluster)),
        (POOLED, "assigned", counts.assigned, counts.assigned, None),
        (POOLED, "true", counts.true, counts.true, None),
        (POOLED, "accuracy", counts.accuracy, float(counts.correct_exp), counts.assigned),
        (POOLED, "accuracy_row", counts.accuracy_row, counts.correct_row, counts.assigned),
        (POOLED, "accuracy_class", counts.accuracy_class, counts.correct_class, counts.assigned),
        (POOLED, "chance", counts.chance, float(counts.expected), counts.assigned),
        (POOLED, "gain", counts.gain, float(counts.won), float(counts.assigned - counts.expected)),
        (POOLED, "p_random", reassociation_p(gifts_of(rows, attacked.assignments)), None, None),
        (POOLED, "recall", counts.recall, float(counts.correct_exp), counts.reachable),
    ], None


def _of_cluster(cluster: int, assigned: float, correct: float, expected: float, reachable: float) -> Iterator[Figure]:
    yield cluster, "accuracy", _ratio(correct, assigned), correct, assigned
    yield cluster, "chance", _ratio(expected, assigned), expected, assigned
    yield cluster, "recall", _ratio(correct, reachable), correct, reachable


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


FAMILY = Family(
    name="accuracy",
    about="What an attack on disassociated data puts back where it belongs",
    figures=(
        FigureTitle("assigned", "assigned", "rows that something was given to", count=True),
        FigureTitle("true", "true", "rows that truly have something to be given", count=True, column=False),
        FigureTitle("accuracy", "accuracy", "given to the right record, of what is given"),
        FigureTitle("accuracy_row", "by row", "the same, identical anchors told apart", column=False),
        FigureTitle("accuracy_class", "by class", "the same, any record behind an identical anchor right"),
        FigureTitle("chance", "by chance", "what rows drawn at random would have right of as many"),
        FigureTitle("gain", "gain", "of what chance has wrong, right; 0: no better than blind", bounds=GAIN),
        FigureTitle("p_random", "p", "probability that a random attack is right as often here", column=False),
        FigureTitle("recall", "recall", "given to the right record, of all that can be given"),
    ),
    measure=_measure,
    fits=CHUNKS,
    rule_forms=frozenset({"reassociate"}),
    usual=True,
)
