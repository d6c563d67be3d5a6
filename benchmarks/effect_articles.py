"""Count re-associations of articles in the readings that the paper leaves open, along k, density and cluster size.

    python benchmarks/articles.py FOLDER OUT
    python benchmarks/effect_articles.py OUT [--records N] [--seeds N] [--quick]

A term is assigned to k - 1 records, and a sub-record to as many as the release shows. `row` counts an assigned record
as right if it truly has the unit, and `class` if any record with an identical anchor has it. `unit` and `unit class`
count units instead: a unit is right if at least one of its records is right in that sense. `anchors` is the number of
different anchors per record: the fewer, the more records are identical to the attack. Distances are NGD.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from decloak.anonymisers.kernels.disassociation import DisassociationResult, disassociate
from decloak.data.assignment import Assignment
from decloak.data.dataset import Dataset
from decloak.data.formats.plain_files import read
from decloak.data.generators.clinic import generate
from decloak.data.sampling import draw_sample
from decloak.errors import DecloakError
from decloak.measure.accuracy import accuracy_of
from decloak.measure.kernels.statistics import interval
from decloak.measure.kernels.true_rows import TrueRows
from decloak.relate.clinic import clinic_counts
from decloak.relate.ngd import ngd
from decloak.rules.load import Catalogue
from decloak.rules.reassociate.kernel import reassociate
from decloak.rules.reassociate.units import rows_of_cluster

ATTACKS = ("random", "aba", "rga", "mra")
FIGURES = ("row", "class", "unit", "unit class", "anchors")
SETTINGS = [
    *((k, 25, 0.3) for k in (2, 3, 4, 5)),
    *((3, 25, density) for density in (0.2, 0.4, 0.5, 0.6, 0.7)),
    *((3, size, 0.3) for size in (9, 81, 243)),
]
"""The paper's k, largest cluster and density."""

Scores = Mapping[tuple[str, str], float | None]


def distances(single: Mapping[str, int | None], both: Mapping[tuple[str, str], int | None], n: int) -> Scores:
    """Return the NGD of each pair in `both`, from the counts of `single` items in `n` documents."""
    pairs = list(both)
    fx, fy, fxy = (
        np.array(some, float) for some in zip(*((single[a], single[b], both[a, b]) for a, b in pairs), strict=True)
    )
    return dict(zip(pairs, ngd(fx, fy, fxy, n).tolist(), strict=True))


def counted(path: Path) -> Scores:
    """Return the NGD of each pair in a file of counts."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [(a, b, int(count)) for a, b, count in list(csv.reader(file))[1:]]
    single = {a: count for a, b, count in rows if not b}
    return distances(single, {(a, b): count for a, b, count in rows if b}, single.pop(""))


def right_units(
    made: DisassociationResult, records: Sequence[Collection[str]], given: Sequence[Assignment]
) -> list[float]:
    """Return the shares of the units in `given` that were assigned to a record with them: by row and by class."""
    by_row = by_class = 0
    for number, chunk, unit, assigned in given:
        cluster = made.release.clusters[number]
        items = set(cluster.record_chunks[chunk].items if isinstance(chunk, int) else unit)
        anchor = rows_of_cluster(cluster).of_row
        truth = made.truth[number]
        having = {row for row in range(cluster.size) if items & set(records[truth[row]]) == set(unit)}
        classes = {anchor[row] for row in having} & {anchor[row] for row in assigned}
        by_row, by_class = by_row + bool(having & set(assigned)), by_class + bool(classes)
    return [by_row / max(1, len(given)), by_class / max(1, len(given))]


def figures(data: Dataset, scores: Scores, k: int, size: int, seed: int) -> Iterator[tuple[str, list[float | None]]]:
    """Yield the figures of each attack on a release of `data`, with clusters of at most `size` records."""
    records = [tuple(sorted(record)) for record in data.transactions]
    made = disassociate(records, k=k, m=2, max_cluster=size)
    anchors = [len(rows_of_cluster(cluster).anchors) for cluster in made.release.clusters]
    for name in ATTACKS:
        given = reassociate(made.release, scores, Catalogue().rule(name).compiled, closer="smaller", seed=seed)
        right = accuracy_of(TrueRows(made.release, records, made.truth), given)
        units = right_units(made, records, given)
        yield name, [right.accuracy_row, right.accuracy_class, *units, sum(anchors) / len(records)]


def cell(values: Sequence[float | None]) -> str:
    """Return the mean, with half of its 95% interval where it varies."""
    mean, low, high, *_ = interval(values)
    if mean is None:
        return "–"
    return f"{mean:.2f}" if low is None or high is None else f"{mean:.2f} ± {high - mean:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="what articles.py wrote; without it, the clinic alone")
    parser.add_argument("--records", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3, help="how many samples are drawn")
    parser.add_argument("--quick", action="store_true", help="only the smallest and the largest k")
    arguments = parser.parse_args()
    clinic = clinic_counts()
    sources = {"clinic": (generate(5_000, 7), distances(clinic.single, clinic.both, int(clinic.n)))}
    if arguments.folder:
        scores = counted(arguments.folder / "articles_counts.csv")
        for name in ("wiki", "notes"):
            sources[name] = read(arguments.folder / f"articles_{name}.csv", "basket"), scores
    print(f"| data | k | cluster | density | attack | {' | '.join(FIGURES)} |\n|{'---|' * (5 + len(FIGURES))}")
    for name, (data, scores) in sources.items():
        for k, size, density in SETTINGS[:4:3] if arguments.quick else SETTINGS:
            found = defaultdict(list)
            try:
                for seed in range(1, arguments.seeds + 1):
                    drawn = draw_sample(data, arguments.records, density, seed)
                    for attack, values in figures(drawn, scores, k, size, seed):
                        found[attack].append(values)
            except DecloakError as error:
                print(f"| {name} | {k} | {size} | {density} | {error} |")
                continue
            for attack, rows in found.items():
                cells = map(cell, zip(*rows, strict=True))
                print(f"| {name} | {k} | {size} | {density} | {attack} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
