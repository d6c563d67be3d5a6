"""What re-association wins back, by attack, from an attacker's own records: accuracy, chance and transaction breakage.

    python benchmarks/effect_reassociate.py [RECORDS.dat.gz] [--apart] [--seeds N]

A file has one record a line, its items apart by blanks; without one the records are generated, each with a taste for
one of 25 topics. k = 3, m = 2, clusters of at most 50. The attacker knows a random half of the records in full, goes by
the log odds ratio of items in it, and does not know which cluster they went to. All records are published, the known
ones among them; with --apart only those that the attacker does not know. Every seed draws another half.

`reached` is the share of the records that were given anything, `broken` of those that were given something right. A
mean stands with half of its 95% interval, and the last column is the difference in accuracy from aba, seed by seed.
"""

import argparse
import gzip
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, product
from pathlib import Path

from bench_reassociate import records as generated
from decloak.anonymisers.kernels.disassociation import DisassociationResult, disassociate
from decloak.data.disassociated import Disassociated
from decloak.measure.accuracy import accuracy_of, added_items
from decloak.measure.breakage import transaction_breakage_of
from decloak.measure.kernels.statistics import interval, paired_difference
from decloak.measure.kernels.true_rows import TrueRows
from decloak.rules.load import Catalogue
from decloak.rules.reassociate.kernel import reassociate
from decloak.rules.reassociate.strategy import Reassociation

RULES = ("random", "aba", "rga", "mra", "assignment", "bayes")
FIGURES = ("accuracy", "accuracy_row", "accuracy_class", "chance", "reached", "broken_row", "broken_class")
AGAINST = "aba"
"""The attack that the others are compared with."""

Records = list[tuple[str, ...]]
Pair = tuple[str, str]
Figures = Mapping[str, float | None]


def load(path: Path) -> Records:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        if ".tsv" in path.suffixes:  # an id, a tab, items with | between them
            rows = [line.rstrip("\n").split("\t")[1].split("|") for line in lines if "\t" in line]
        else:
            rows = [line.split() for line in lines]
        return [tuple(sorted(set(row))) for row in rows if row]


def attacks() -> dict[str, Reassociation]:
    catalogue = Catalogue()
    rules = {name: catalogue.rule(name).compiled for name in RULES}
    return rules | {"consistent": replace(rules["assignment"], consistent=True)}


def anonymised(records: Records) -> DisassociationResult:
    return disassociate(records, k=3, m=2, max_cluster=50)


def asked(release: Disassociated) -> Iterator[Pair]:
    """The pairs whose scores an attack may look up, each once: an item of an anchor and an item elsewhere, in order."""
    found: set[Pair] = set()
    for cluster in release.clusters:
        anchors, *others = [chunk.items for chunk in cluster.record_chunks] or [()]
        elsewhere = [*cluster.term_chunk, *(item for chunk in others for item in chunk)]
        found.update((a, y) if a < y else (y, a) for a, y in product(anchors, elsewhere))
    yield from sorted(found)


def knowledge(known: Records, release: Disassociated) -> dict[Pair, float]:
    """The log odds ratios; items of the attacker's records that are never together there have a count of 0."""
    counts = Counter(item for record in known for item in record)
    together = Counter(pair for record in known for pair in combinations(record, 2))
    return {(x, y): log_odds_ratio(counts[x], counts[y], together[x, y], len(known)) for x, y in asked(release)}


def log_odds_ratio(fx: int, fy: int, both: int, n: int) -> float:
    """From how often two items occur among n records, 0 for independent ones; a half more of each count, so that none
    is 0 (Haldane and Anscombe).
    """
    return math.log((both + 0.5) * (n - fx - fy + both + 0.5) / ((fx - both + 0.5) * (fy - both + 0.5)))


def measured(records: Records, made: DisassociationResult, known: Records, seed: int) -> dict[str, Figures]:
    """The figures of every attack, by its name."""
    scores = knowledge(known, made.release)
    found: dict[str, Figures] = {}
    for name, strategy in attacks().items():
        given = reassociate(made.release, scores, strategy, seed=seed, unrelated=0.0)
        rows = TrueRows(made.release, records, made.truth)
        right, broken = accuracy_of(rows, given), transaction_breakage_of(rows, rows.assigned_units(given))
        values = (right.accuracy, right.accuracy_row, right.accuracy_class, right.chance)
        reached = sum(map(bool, chain.from_iterable(added_items(made.release, given))))
        shares = [count / broken.records for count in (reached, broken.row, broken.by_class)]
        found[name] = dict(zip(FIGURES, [*values, *shares], strict=True))
    return found


def runs(records: Records, seeds: int, apart: bool) -> Iterator[dict[str, Figures]]:
    made = None if apart else anonymised(records)
    for seed in range(seeds):
        mixed = random.Random(seed).sample(records, len(records))
        known, others = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
        yield measured(records, made, known, seed) if made else measured(others, anonymised(others), known, seed)


def cell(values: Sequence[float | None]) -> str:
    """The mean, with half of its 95% interval where something varies."""
    mean, _, high, *_ = interval(values)
    if mean is None:
        return "-"
    return f"{mean:.4f}" if high is None or high - mean < 5e-7 else f"{mean:.4f}±{high - mean:.4f}"


def report(found: Sequence[dict[str, Figures]]) -> None:
    columns = [*FIGURES, f"minus {AGAINST}"]
    print("".join(["attack    ", *(f"  {column:>14}" for column in columns)]))
    for name in found[0]:
        cells = [cell([one[name][figure] for one in found]) for figure in FIGURES]
        ours, theirs = ([one[attack]["accuracy"] for one in found] for attack in (name, AGAINST))
        mean, low, high, *_ = paired_difference(ours, theirs)
        bounds = "" if low is None or high is None or mean is None else f"±{high - mean:.4f}"
        cells.append("" if name == AGAINST or mean is None else f"{mean:+.4f}{bounds}")
        print("".join([f"{name:10}", *(f"  {one:>14}" for one in cells)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--apart", action="store_true", help="publish only the records that the attacker does not know")
    parser.add_argument("--seeds", type=int, default=5, help="how many halves are drawn")
    arguments = parser.parse_args()
    records = load(arguments.file) if arguments.file else list(generated(6_000, random.Random(1)))
    source = arguments.file.name if arguments.file else "generated"
    print(f"{source}: {len(records):,} records, {arguments.seeds} seeds, 95% intervals")
    report(list(runs(records, arguments.seeds, arguments.apart)))


if __name__ == "__main__":
    main()
