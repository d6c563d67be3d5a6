"""Word vectors for the items of the made-up clinic, out of the counts that come with decloak.

    python benchmarks/clinic_vectors.py scenarios/papers/disassociation/vectors.txt

The vector of an item has the scores of its row in the positive pointwise mutual information of all items, in the
directions of the largest singular values, each by their root: the classical way from counts to vectors. So they know
what the counts know, smoothed: that is what sets them apart from NGD by the same counts, not another corpus. Written as
GloVe writes text, blanks inside a name as underscores.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from decloak.relate.clinic import clinic_counts

DIMENSIONS = 16


def information() -> tuple[list[str], NDArray[np.float64]]:
    """max(0, ln(N f(x,y) / (f(x) f(y)))) of all pairs of items, and of an item with itself."""
    counts = clinic_counts()
    items = sorted(counts.single)
    single = np.array([counts.single[item] for item in items], float)
    both = np.diag(single)
    place = {item: number for number, item in enumerate(items)}
    for (a, b), count in counts.both.items():
        both[place[a], place[b]] = both[place[b], place[a]] = count
    with np.errstate(divide="ignore"):
        return items, np.maximum(np.log(counts.n * both / np.outer(single, single)), 0)


def vectors(scores: NDArray[np.float64], dimensions: int) -> NDArray[np.float64]:
    """The rows by the largest singular values; the sign of a direction is that of its largest entry."""
    left, values, _ = np.linalg.svd(scores)
    left = left[:, :dimensions]
    left *= np.sign(left[np.abs(left).argmax(axis=0), np.arange(dimensions)])
    return left * np.sqrt(values[:dimensions])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    items, scores = information()
    lines = [
        f"{item.replace(' ', '_')} {' '.join(f'{number:.2f}' for number in row)}"
        for item, row in zip(items, vectors(scores, DIMENSIONS).tolist(), strict=True)
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
