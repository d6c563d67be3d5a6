"""What re-association ranks the rows of a cluster by, unit by unit."""

from typing import NamedTuple

from attacked_clusters import attack


class RowValues(NamedTuple):
    """One number a row, larger is closer, -inf where no score is known."""

    cluster: int
    chunk: int | str
    unit: tuple[str, ...]
    values: tuple[float, ...]


def row_values(release, scores, strategy, **options):
    """The values of every unit's rows, in the order of the assignments."""
    return [
        RowValues(*assignment[:3], tuple(values[anchor] for anchor in one.case.rows.of_row))
        for one in sorted(attack(release, scores, strategy, **options), key=lambda one: one.case.number)
        for assignment, values in zip(one.assignments, one.values.tolist(), strict=True)
    ]
