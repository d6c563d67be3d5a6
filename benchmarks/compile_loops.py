"""Compile the loops of decloak once, so that no run waits for it. `make` calls this after each installation.

    python benchmarks/compile_loops.py

Machine code fits one processor and one installation, so no wheel can carry it. It is cached beside the modules.
"""

import numpy as np

from decloak.anonymisers.kernels.counting import counter
from decloak.anonymisers.kernels.records import Records
from decloak.compiled import compile_seconds
from decloak.counting.blocks import Queries, add_pairs, sets_of
from decloak.data.rows import CodedRows
from decloak.rules.eliminate.kernel import eliminate
from decloak.rules.load import Catalogue

LOOPED = ("wba", "gba", "rba")


def main() -> None:
    try:
        rare = counter(True, 0)
    except Exception as error:  # numba follows new Pythons late; everything works without it
        print(f"no loops to compile: {error}")
        return
    table = np.random.default_rng(1).random((40, 30))
    for name in LOOPED:
        eliminate([table, table.T.copy()], Catalogue().rule(name).compiled, accelerated=True)
    records = Records(np.array([0, 3, 6]), np.array([0, 1, 2, 0, 2, 3], np.int32), np.ones(2, np.int32))
    for size in (2, 3):
        list(rare(records, size, 4, 2, np.ones(4, np.bool_)))
    block = sets_of(CodedRows.of([("b", "a")]), np.array([1, 0], np.int32))
    for kind in (np.int32, np.uint8):
        add_pairs(block, np.arange(2), np.full(2, -1), np.zeros((2, 2), kind), np.zeros(2, np.int64))
    Queries(np.zeros((1, 3), np.int64), np.zeros(1, np.bool_), np.ones(1, np.int64), 2).search(block)
    print(f"compiled in {compile_seconds()[0]:.1f} s")


if __name__ == "__main__":
    main()
