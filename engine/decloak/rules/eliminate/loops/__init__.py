"""Compiled loops that eliminate cells of one large table at a time. Importing this package needs numba."""

from decloak.rules.eliminate.loops.blocks import lines, pack_all
from decloak.rules.eliminate.loops.keys import LOWEST
from decloak.rules.eliminate.loops.patterns import patterns
from decloak.rules.eliminate.loops.strikes import StrikeColumns, strike_lines
from decloak.rules.eliminate.loops.suspicions import Keys, Large
from decloak.rules.eliminate.loops.table import strike_table

__all__ = ["LOWEST", "Keys", "Large", "StrikeColumns", "lines", "pack_all", "patterns", "strike_lines", "strike_table"]
