"""Strikes from one large table at a time, by compiled loops. Importing this needs numba."""

from decloak.rules.eliminate.loops.blocks import lines, pack_all
from decloak.rules.eliminate.loops.keys import LOWEST
from decloak.rules.eliminate.loops.patterns import patterns
from decloak.rules.eliminate.loops.strikes import Struck, strike_lines
from decloak.rules.eliminate.loops.suspicions import Keys, Large
from decloak.rules.eliminate.loops.table import strike_table

__all__ = ["LOWEST", "Keys", "Large", "Struck", "lines", "pack_all", "patterns", "strike_lines", "strike_table"]
