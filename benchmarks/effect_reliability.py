"""Whether probabilities of links hold where links can be certain: on generated records of several structures.

    python benchmarks/effect_reliability.py [--seeds N] [--rule exact]
    python benchmarks/effect_reliability.py --eliminations [--seeds N]

On real data nearly all links are unsure, and hardly any is given more than .5. Here records are of so many kinds, each
with an item that all its records have, and two that most of them have (`often`, and a little less); four items and a
rare one belong to everybody. What is torn off such a record often goes back for certain. k = 3, m = 2, 1,500 records a
release; a row says, of the links that the rule gives with each tenth of probability, how many there are and the share
that is right.

With `--eliminations`, the same of `selftrained` on releases of baskets and of a clinic: a row says how many
eliminations a tenth has, the probability that they state, and the share that is right. The first row of a release says
how many eliminations have a probability, of all.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import decloak
from attacked_clusters import attack
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.counting.itemsets import among
from decloak.measure.calibration import ReliabilityBin, brier, miscalibration, reliability_bins
from decloak.measure.kernels.true_rows import TrueRows
from decloak.rules.load import Catalogue
from decloak.store.assigned import findings_count
from decloak.store.opening import connect_readonly
from decloak.store.results import sureness_of
from effect_clusters import by_clusters

KINDS, OFTEN, LARGEST = (4, 6, 8), (0.75, 0.9, 1.0), (25, 40)
RECORDS, EVERYBODYS, RARE = 1_500, 4, 6

Link = tuple[float, bool]


def records_of_kinds(kinds: int, often: float, seed: int) -> list[tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    records = []
    for _ in range(RECORDS):
        kind = rng.integers(kinds)
        items = {f"b{number}" for number in np.flatnonzero(rng.random(EVERYBODYS) < 0.5)}
        items |= {f"a{kind}", f"r{rng.integers(RARE)}"}
        items |= {f"{name}{kind}" for name, share in (("q", often), ("p", often - 0.1)) if rng.random() < share}
        records.append(tuple(sorted(items)))
    return records


def links(rule: str, kinds: int, often: float, largest: int, seed: int) -> Iterator[Link]:
    """The probability of every row that was given something, and whether its record has that."""
    records = records_of_kinds(kinds, often, seed)
    made = disassociate(records, k=3, m=2, max_cluster=largest)
    behind, scores = TrueRows(made.release, records, made.truth), by_clusters(made.release)
    for part in attack(made.release, scores, Catalogue().rule(rule).compiled, closer="smaller", unrelated=1.0):
        of_row = np.array(part.case.rows.of_row)
        for one, p in zip(part.assignments, part.values, strict=True):
            each = [one._replace(rows=(row,)) for row in one.rows]
            gifts = behind.assigned_units(each)
            right = among(gifts.unit * behind.rows + gifts.row, behind.true)
            yield from zip(p[of_row[list(one.rows)]].tolist(), right.tolist(), strict=True)


SETS = "method: sets, size: {}, share: 0.4"
RELEASES = {
    "baskets, 300, sets of 3": ("baskets, transactions: 300", SETS.format(3), "release"),
    "baskets, 600, sets of 2": ("baskets, transactions: 600", SETS.format(2), "release"),
    "120 items, 600, sets of 3": ("baskets, transactions: 600, items: 120", SETS.format(3), "release"),
    "baskets, 1500, sets of 3": ("baskets, transactions: 1500", SETS.format(3), "release"),
    "baskets, 200, COAT": (
        "baskets, transactions: 200", "method: coat, k: 5, privacy: {count: 10, sizes: [2]}", "release",
    ),
    "clinic, 200, sets of 3": ("clinic, transactions: 200", SETS.format(3), "clinic-counts"),
    "clinic, 400, sets of 2": ("clinic, transactions: 400", SETS.format(2), "clinic-counts"),
    "clinic, 800, sets of 3": ("clinic, transactions: 800", SETS.format(3), "clinic-counts"),
}  # fmt: skip
"""Releases: the data that are generated, the method, and the source of relatedness."""


def print_eliminations(seeds: int) -> None:
    """Print for each tenth of probability what `selftrained` states, and the share that is right."""
    print(f"{'':26}{'tenth':>6}{'count':>8}{'stated':>8}{'right':>8}")
    for name, (made, method, source) in RELEASES.items():
        parts: dict[int, np.ndarray] = {}
        eliminated = 0
        # The controls learn again, and no figure here depends on them.
        with TemporaryDirectory() as folder, patch("decloak.rules.operators.eliminate.CONTROLS", ()):
            for seed in range(1, seeds + 1):
                scenario = {
                    "scenario": name,
                    "data": yaml.safe_load(f"{{generate: {made}, seed: {seed}}}"),
                    "anonymise": yaml.safe_load(f"{{{method}}}"),
                    "relate": {"measure": "ngd", "source": source},
                    "attacker": {"context": "all"},
                    "attack": ["selftrained"],
                    "measure": ["calibration"],
                }
                store = Path(folder) / f"{seed}.db"
                decloak.run(scenario, store=store)
                with closing(connect_readonly(store)) as connection:
                    eliminated += findings_count(connection, 1)
                    for one in sureness_of(connection, 1):
                        if one.attack == "selftrained":
                            parts[one.tenth] = parts.get(one.tenth, 0) + np.array([one.findings, one.p, one.right])
        print(f"{name:26}{'':6}{sum(part[0] for part in parts.values()):8,.0f} of {eliminated:,}", flush=True)
        for tenth, (count, p, right) in sorted(parts.items()):
            print(f"{name:26}{tenth / 10:>6}{count:8,.0f}{p / count:8.3f}{right / count:8.3f}", flush=True)


def line(of: Sequence[Link]) -> str:
    parts: list[ReliabilityBin] = reliability_bins(*zip(*of, strict=True))
    cells = {part.number: f"{part.findings:,} {part.right / part.findings:.2f}" for part in parts}
    return "".join(f"{cells.get(number, '-'):>13}" for number in range(3, 10))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="releases of each structure")
    parser.add_argument("--rule", choices=["expectation", "exact"], default="expectation")
    parser.add_argument("--eliminations", action="store_true", help="those of selftrained on small releases")
    arguments = parser.parse_args()
    if arguments.eliminations:
        print_eliminations(arguments.seeds)
        return
    print("kinds often clusters" + "".join(f"{f'.{number} and more':>13}" for number in range(3, 10)))
    every: list[Link] = []
    for kinds, often, largest in product(KINDS, OFTEN, LARGEST):
        of = [link for seed in range(arguments.seeds) for link in links(arguments.rule, kinds, often, largest, seed)]
        print(f"{kinds:5} {often:5} {largest:8}{line(of)}", flush=True)
        every += of
    p, right = zip(*every, strict=True)
    score, of_chance = brier(p, right)
    print(f"all                 {line(every)}")
    print(f"Brier score {score:.4f}, of the mean for all {of_chance:.4f}; off {miscalibration(p, right):.4f}")


if __name__ == "__main__":
    main()
