"""The command `compile`: compile the loops of decloak once, so that no run waits for it."""

import click

from decloak.compiled import compile_seconds, is_kept
from decloak.errors import DecloakError
from decloak.report.terminal import say


@click.command("compile")
def compile_command() -> None:
    """Compile the loops for large data once, so that no run waits for it.

    `pip install .` and `make` do it when they install. A wheel for others cannot contain this machine code, because it
    fits one processor and one version of numba.
    """
    try:
        from decloak.rules.eliminate import loops  # noqa: F401 (the import fails without a numba that works here)
    except Exception:
        # numba supports new Pythons late, and everything works without it.
        say("nothing to compile: numba cannot be used here; results are the same, and large work takes longer")
        return
    compile_loops()
    seconds = compile_seconds()[0]
    if seconds and not is_kept():
        message = "the compiled loops cannot be kept: no folder for them can be written"
        raise DecloakError(message, hint="set NUMBA_CACHE_DIR to a folder that only you can write")
    say(f"compiled in {seconds:.0f} s" if seconds else "the loops were compiled already")


def compile_loops() -> None:
    """Call every compiled loop once with small arrays of the types that runs use."""
    import numpy as np

    from decloak.anonymisers.kernels.counting import counter
    from decloak.anonymisers.kernels.horpart import divided
    from decloak.anonymisers.kernels.records import Records
    from decloak.counting.blocks import Queries, add_pairs, sets_of
    from decloak.data.rows import CodedRows
    from decloak.measure.kernels.accuracy_loops import count_right, search_rows
    from decloak.rules.eliminate.kernel import eliminate
    from decloak.rules.load import Catalogue
    from decloak.rules.reassociate.cluster_loops import assign_by_means, value_units

    table = np.random.default_rng(1).random((40, 30))
    for name in ("wba", "gba", "rba"):
        eliminate([table, table.T.copy()], Catalogue().rule(name).compiled, accelerated=True)
    records = Records(np.array([0, 3, 6]), np.array([0, 1, 2, 0, 2, 3], np.int32), np.ones(2, np.int32))
    for size in (2, 3):
        list(counter(True, 0)(records, size, 4, 2, np.ones(4, np.bool_)))
    rows = CodedRows.of([("b", "a")])
    block = sets_of(rows, np.array([1, 0], np.int32))
    as_read = rows.codes.view()
    # Codes from a Parquet file are read-only, which is another type to numba.
    as_read.flags.writeable = False
    sets_of(CodedRows(rows.start, as_read, rows.names), np.array([1, 0], np.int32))
    leaves, roots, seen = np.arange(2), np.full(2, -1), np.zeros(2, np.int64)
    add_pairs(block, leaves, roots, np.zeros((2, 2), np.int32), seen)
    add_pairs(block, leaves, roots, np.zeros((2, 2), np.uint8), seen)
    divided(block.start, block.codes, 2, 1)
    none, start, codes = np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32)
    places, scores, sets = np.zeros((1, 1), np.int32), np.zeros(1), np.zeros((0, 3), np.int64)
    assign_by_means(none, start, start, start, codes, start, codes, places, scores, 1)
    units, anchors = np.zeros((1, 1), np.int64), np.zeros((1, 1, 1), np.int64)
    value_units(np.zeros((1, 1)), none, units, none, units, anchors, none, places, scores, 0.0, 0)
    clusters, assigned = (
        (none, start, start, codes, start, start, codes, start, codes),
        (none, start, none, start, none),
    )
    count_right(*clusters, 1, start, codes, none, *assigned)
    search_rows(*clusters, True, *assigned, 0, sets, np.zeros(2, np.int64), 0, none, none)
    Queries(np.zeros((1, 3), np.int64), np.zeros(1, np.bool_), np.ones(1, np.int64), 2).search(block)
