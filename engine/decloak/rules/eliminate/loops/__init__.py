"""Compiled loops that eliminate cells of one large table at a time. Importing this package needs numba."""

from decloak.rules.eliminate.loops.blocks import lines, pack_all
from decloak.rules.eliminate.loops.by_lines import EliminationColumns, eliminate_lines
from decloak.rules.eliminate.loops.keys import LOWEST
from decloak.rules.eliminate.loops.patterns import patterns
from decloak.rules.eliminate.loops.suspicions import Large, keys_of
from decloak.rules.eliminate.loops.table import eliminate_table

__all__ = [
    "LOWEST", "EliminationColumns", "Large", "eliminate_lines", "eliminate_table", "keys_of", "lines", "pack_all",
    "patterns",
]  # fmt: skip
