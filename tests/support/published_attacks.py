"""The attacks of Shao and Ong as strategies, by name, and what tests of eliminations share."""

from decloak.rules.eliminate.strategy import GROUP_KINDS, Strategy

BY_COUNTS = "d * max(0, 1 - 1/row_left) * max(0, 1 - 1/col_left)"
BY_STORED = "d * max(0, 1 - row_weight) * max(0, 1 - col_weight)"
TABLE = {"groups": ["table"], "suspicion": "largest"}
LINES = {"groups": ["row", "col"], "suspicion": "largest_gap", "threshold": "mean(suspicion)", "eliminate": "heaviest"}

ATTACKS = {
    "ra": Strategy.build(groups=["table"], suspicion="random", eliminate="random"),
    "mda": Strategy.build(**TABLE, eliminate="once"),
    "tba": Strategy.build(**TABLE, threshold="mean(d)", eliminate="all"),
    "wba": Strategy.build(**TABLE, weigh=BY_COUNTS, redistribute="all", threshold="mean(w)", eliminate="heaviest"),
    "gba": Strategy.build(**LINES, weigh=BY_COUNTS, redistribute="all"),
    "rba": Strategy.build(**LINES, weigh=BY_STORED, redistribute="lower_cluster"),
}
TBA_ROW_MAJOR = Strategy.build(**TABLE, threshold="mean(d)", eliminate="in_order")


def cells(done):
    """The eliminated cells in order."""
    return list(zip(done.steps.row.tolist(), done.steps.col.tolist(), strict=True))


def groups(done):
    """The groups of the steps as "r3", "c1", "t0"."""
    return [GROUP_KINDS[kind][0] + str(at) for kind, at in zip(done.steps.kind, done.steps.group, strict=True)]
