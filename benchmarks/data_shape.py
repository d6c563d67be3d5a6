"""Statistics of transactions, real and generated: supports, lengths, and how often items occur together.

    python benchmarks/data_shape.py [FOLDER]

FOLDER has copies of the real data sets (`decloak gallery --data` says which); generated data stand beside them. The
lift of a pair is the number of records with both items over the number that independent items would have.
"""

import sys
from pathlib import Path

import numpy as np
from scipy import sparse

from decloak.data.formats.plain_files import read
from decloak.data.generators.baskets import shaped
from decloak.data.rows import CodedRows
from decloak.report.gallery import real_files

TITLES = "records, items, mean, 50%, 90%, 99%, longest, top 1%, top 10%, rare, lift, lift 90%".split(", ")  # noqa: SIM905
GENERATED = {
    "baskets, as BMS-POS": (100_000, 1_657, 6.5, 0.0, 20),
    "habit: 0.3": (100_000, 1_657, 6.5, 0.3, 20),
    "baskets, as WebView-1": (60_000, 497, 2.5, 0.0, 20),
    "habit: 0.75, classes: 50": (60_000, 497, 2.5, 0.75, 50),
    "baskets, as WebView-2": (77_000, 3_340, 5, 0.0, 20),
    "habit: 0.85, classes: 100": (77_000, 3_340, 5, 0.85, 100),
}


def statistics(records: sparse.csr_array) -> list[str]:
    """Sizes; quantiles of lengths; shares of the occurrences in the most frequent items; items in fewer than 5 records;
    and the median and 90% of the lift of the 1,000 most frequent pairs of the 300 most frequent items.
    """
    support = np.asarray(records.sum(axis=0)).ravel()
    order = np.argsort(-support)
    ranked = support[order][support[order] > 0]
    lengths = np.diff(records.indptr)
    common = order[:300]
    held = records[:, common].astype(np.float64)
    together = np.triu((held.T @ held).toarray(), 1).ravel()
    expected = (np.outer(support[common], support[common]) / records.shape[0]).ravel()
    most = np.argsort(-together)[:1000]
    lift = together[most] / expected[most]
    shares = [ranked[: max(1, len(ranked) // part)].sum() / ranked.sum() for part in (100, 10)]
    quantiles = [f"{value:.0f}" for value in np.quantile(lengths, (0.5, 0.9, 0.99))]
    return [
        f"{records.shape[0]:,}", f"{len(ranked):,}", f"{lengths.mean():.2f}", *quantiles, f"{lengths.max()}",
        *(f"{share:.0%}" for share in shares), f"{np.mean(ranked < 5):.0%}", f"{np.median(lift):.1f}",
        f"{np.quantile(lift, 0.9):.1f}",
    ]  # fmt: skip


def matrix(path: str, options: dict[str, object]) -> sparse.csr_array:
    """Return the transactions of a file as records × items."""
    rows = CodedRows.of(read(Path(path), **options).transactions)
    return sparse.csr_array(
        (np.ones(len(rows.codes), np.int32), rows.codes, rows.start), (len(rows.start) - 1, len(rows.names))
    )


def main() -> None:
    print(f"| data | {' | '.join(TITLES)} |\n|{'---|' * (len(TITLES) + 1)}")
    files = real_files(Path(sys.argv[1])) if len(sys.argv) > 1 else {}
    for name, said in files.items():
        if "format" not in said:  # counts and vectors are no records
            continue
        options = {key: value for key, value in said.items() if key != "file"}
        print(f"| {name} | {' | '.join(statistics(matrix(str(said['file']), options)))} |")
    for name, (records, items, length, habit, classes) in GENERATED.items():
        drawn = shaped(records, items, length, habit=habit, classes=classes)
        print(f"| {name} | {' | '.join(statistics(drawn))} |")


if __name__ == "__main__":
    main()
