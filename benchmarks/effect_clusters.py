"""What a disassociated release tells of itself, beside what half of the population tells.

    python benchmarks/effect_clusters.py RECORDS.dat.gz [--seeds N] [--refine] [--records N] [--without-yardsticks]

A file has one record a line, its items apart by blanks, or in a .tsv.gz behind an id and a tab, apart by |. k = 3, m
= 2, clusters of at most 50; of the records a random half is published (`--records`: so many of it at most), and every
seed draws another one. `clusters` is `bayes` by the relatedness that `measure: clusters` finds in the release,
`expectation` the attack that learns from the release, `half` is `bayes` by the log odds ratios in the other half,
`both` is `expectation` with these beside the relatedness by clusters: who has the release and half of the population.
`minus half` and `minus both` are the differences from them in accuracy, seed by seed. `labels`, `contexts` and
`order` are the controls of `expectation`. A mean stands with half of its 95% interval.

The yardstick is the rule `exact`, the exact posterior of all that a small cluster may have been: `exact` by what
`expectation` learns, `counting` where all items are alike, `told` by the log odds ratios in the published records
themselves, which no attacker has. Large clusters go by the expectation; how many are gone through stands below.

Below: of the rows a unit may be in, those that `expectation` thinks to have it with a probability in each range, how
many of them truly do, and of how many records. They are pooled over the seeds.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from attacked_clusters import AttackedCluster, attack
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.counting.itemsets import among
from decloak.data.assignment import Assignment, PairScores
from decloak.data.disassociated import Disassociated
from decloak.data.knowledge_levels import Control
from decloak.measure.accuracy import accuracy_of
from decloak.measure.kernels.statistics import paired_difference
from decloak.measure.kernels.true_rows import TrueRows
from decloak.relate.clusters import item_vectors
from decloak.rules.load import Catalogue
from effect_reassociate import Records, asked, cell, knowledge, load

EDGES = (0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.001)
Pair = tuple[str, str]
KNOWN = ("clusters", "expectation", "half", "both", "labels", "contexts", "order")
YARDSTICKS = ("exact", "counting", "told")


def by_clusters(release: Disassociated) -> dict[Pair, float]:
    vectors = item_vectors([one.items for one in release.clusters], [one.size for one in release.clusters], 20)
    return {(a, b): 1 - float(vectors[a] @ vectors[b]) for a, b in asked(release)}


def outcomes(
    attacked: Sequence[AttackedCluster], records: Records, truth: Sequence[Sequence[int]], release: Disassociated
) -> Iterator[tuple[float, bool, int]]:
    """The probability of every row of every unit, whether it has it, and the number of its record."""
    behind = TrueRows(release, records, truth)
    for part in attacked:
        number, of_row = part.case.number, np.array(part.case.rows.of_row)
        units = behind.units(Assignment(number, unit.chunk, unit.items, ()) for unit in part.case.units)
        rows = behind.first[number] + np.arange(len(of_row))
        having = among(units[:, None] * behind.rows + rows, behind.true)
        for mine, p in zip(having.tolist(), part.values, strict=True):
            yield from zip(p[of_row].tolist(), mine, truth[number], strict=True)


def run(
    records: Records, seed: int, refine: bool, measured: bool, most: int | None
) -> tuple[dict[str, float], float, list[tuple[float, bool, int]]]:
    mixed = random.Random(seed).sample(records, len(records))
    known, others = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :][:most]
    made = disassociate(others, k=3, m=2, max_cluster=50, refine=refine)
    catalogue, release, scores = Catalogue(), made.release, by_clusters(made.release)
    bayes, learned = (catalogue.rule(name).compiled for name in ("bayes", "expectation"))
    parts = list(attack(release, scores, learned, closer="smaller", unrelated=1.0))
    half = knowledge(known, release)
    both = PairScores(scores, "smaller", 1.0), PairScores(half, unrelated=0.0)
    attacks: dict[str, list[Assignment]] = {
        "clusters": _given(attack(release, scores, bayes, closer="smaller", unrelated=1.0)),
        "expectation": _given(parts),
        "half": _given(attack(release, half, bayes, unrelated=0.0)),
        "both": _given(attack(release, {}, learned, measures=both)),
    }
    controls: tuple[Control, ...] = ("labels", "contexts", "order")
    attacks |= {
        control: _given(attack(release, scores, learned, closer="smaller", unrelated=1.0, control=control, seed=seed))
        for control in controls
    }
    going_through = yardsticks(release, scores, knowledge(others, release)) if measured else {}
    exact = {name: list(one) for name, one in going_through.items()}
    attacks |= {name: _given(clusters) for name, clusters in exact.items()}
    rows = TrueRows(release, others, made.truth)
    right = {name: accuracy_of(rows, given) for name, given in attacks.items()}
    figures = {name: one.accuracy or 0.0 for name, one in right.items()}
    figures |= {f"chance of {name}": one.chance or 0.0 for name, one in right.items()}
    every = list(outcomes(parts, others, made.truth, release))
    figures["brier of expectation"] = brier(every)
    for name, clusters in exact.items():
        figures[f"brier of {name}"] = brier(list(outcomes(clusters, others, made.truth, release)))
        figures[f"clusters of {name}"] = sum(one.exactly for one in clusters) / len(clusters)
        figures[f"units of {name}"] = _share_of_units(clusters)
    return figures, len(others), every


def yardsticks(
    release: Disassociated, scores: Mapping[Pair, float], told: Mapping[Pair, float]
) -> dict[str, Iterator[AttackedCluster]]:
    rule = Catalogue().rule("exact").compiled
    return {
        "exact": attack(release, scores, rule, closer="smaller", unrelated=1.0),
        "counting": attack(release, {}, replace(rule, combine="bayes"), unrelated=0.0),
        "told": attack(release, told, rule, unrelated=0.0),
    }


def brier(every: Sequence[tuple[float, bool, int]]) -> float:
    return float(np.mean([(p - right) ** 2 for p, right, _ in every]))


def _share_of_units(clusters: Sequence[AttackedCluster]) -> float:
    """Of all units that are given, the share in clusters that were gone through."""
    counts = np.array([(len(one.case.units), one.exactly) for one in clusters])
    return float(counts[:, 0] @ counts[:, 1] / counts[:, 0].sum())


def _given(parts: Iterator[AttackedCluster] | list[AttackedCluster]) -> list[Assignment]:
    return [assignment for part in parts for assignment in part.assignments]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, default=10, help="how many halves are drawn")
    parser.add_argument("--refine", action="store_true", help="with joint clusters and their shared chunks")
    parser.add_argument("--records", type=int, help="published at most")
    parser.add_argument("--without-yardsticks", action="store_true", help="they take longest")
    arguments = parser.parse_args()
    records, measured = load(arguments.file), not arguments.without_yardsticks
    named = YARDSTICKS if measured else ()
    runs = [run(records, seed, arguments.refine, measured, arguments.records) for seed in range(arguments.seeds)]
    print(f"{arguments.file.name}: {len(records):,} records, {arguments.seeds} seeds, 95% intervals")
    figures = [one for one, *_ in runs]
    against = dict.fromkeys(KNOWN, ("half", "both")) | dict.fromkeys(named, ("expectation",))
    for name, others in against.items():
        ours, chance = ([run[key] for run in figures] for key in (name, f"chance of {name}"))
        minus = [_minus(ours, [run[other] for run in figures], other) for other in others if other != name]
        print(f"{name:12} accuracy {cell(ours)}  by chance {cell(chance)}  {'  '.join(minus)}")
    for name in named:
        shares = (f"{cell([run[f'{of} of {name}'] for run in figures])} of the {of}" for of in ("clusters", "units"))
        ours, theirs = ([run[f"brier of {one}"] for run in figures] for one in (name, "expectation"))
        print(
            f"{name:12} through {', '.join(shares)}; Brier score {cell(ours)}, {_minus(ours, theirs, 'expectation', 6)}"
        )
    calibrated([(p, right, (seed, person)) for seed, (*_, every) in enumerate(runs) for p, right, person in every])


def _minus(ours: Sequence[float], theirs: Sequence[float], other: str, digits: int = 4) -> str:
    mean, _, high, *_ = paired_difference(ours, theirs)
    return "" if mean is None else f"minus {other} {mean:+.{digits}f}±{(high or mean) - mean:.{digits}f}"


def calibrated(every: list[tuple[float, bool, tuple[int, int]]]) -> None:
    p, right = np.array([one[0] for one in every]), np.array([one[1] for one in every])
    print("probability    unit and row    mean p   truly     of records")
    for low, high in pairwise(EDGES):
        within = (p >= low) & (p < high)
        if within.any():
            people = len({every[at][2] for at in np.flatnonzero(within)}) if low >= 0.5 else 0
            shares = f"{p[within].mean():9.4f} {right[within].mean():7.4f}"
            print(f"[{low:.2f}, {min(high, 1):.2f})  {within.sum():14,} {shares}     {people or '':>10}")
    chance = right.mean()
    print(f"Brier score {np.mean((p - right) ** 2):.6f}, of the mean for all {chance * (1 - chance):.6f}")


if __name__ == "__main__":
    main()
