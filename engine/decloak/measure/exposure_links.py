"""The links that an attack is nearly certain of, and rightly: a part of the exposure family.

A link is a member that the attack eliminates, right if the record lacks it. Or it is a sub-record that the attack
assigns to a row, right if the record of the row has it.
"""

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.measure.family import POOLED, Attacked, MetricResult
from decloak.measure.kernels.true_rows import TrueRows
from decloak.store.assigned import probabilities
from decloak.store.eliminations import read_eliminations
from decloak.store.lists import damaged
from decloak.store.outcomes import scoring_of

CERTAIN = 0.8
"""The probability from which on a link counts as certain."""
Links = tuple[Floats, Floats, Ints]
"""The probability of every link, how likely it is right, and the row of the release that it is about.

Identical rows share a link: it is right for the share of them that truly has it.
"""


def links_of(attacked: Attacked, least: float = 0.0) -> Links | None:
    """Return the links of an attack with a probability of at least `least`.

    Return None if the attack gives no probabilities, or the release has no ground truth.
    """
    p = probabilities(attacked.connection, attacked.number)
    if p is None or attacked.release.original is None:
        return None
    chosen = np.flatnonzero(p >= least - 1e-12)  # false of NaN: no probability is known
    eliminations = read_eliminations(attacked.connection, attacked.number)
    if eliminations is not None:
        right, rows = np.zeros(len(p)), np.zeros(len(p), np.int64)
        order = np.argsort(eliminations.tables, kind="stable")
        of_table = eliminations.tables[order]
        for table in attacked.release.true_tables(scoring_of(attacked.connection, attacked.number)):
            some = order[slice(*np.searchsorted(of_table, (table.id, table.id + 1)))]
            row = eliminations.rows[some]
            try:
                right[some], rows[some] = ~table.original[row, eliminations.cols[some]], table.places[row]
            except IndexError:
                raise damaged(f"attack {attacked.number} is on other cells than those of its distance tables") from None
        return p[chosen], right[chosen], rows[chosen]
    behind = attacked.release.with_ground_truth(TrueRows)
    if behind is None:
        return None
    if not attacked.assignments and len(chosen):
        return None  # the findings are facts, which are no links
    links = attacked.assignments.by_finding(chosen)
    return p[chosen], behind.right_of_equals(links, attacked.assignments), behind.assigned_units(links).row


def measure(attacked: Attacked) -> MetricResult:
    """Count the links that are certain and right, and the people with one."""
    links = None if attacked.idle else links_of(attacked, CERTAIN)
    if links is None or attacked.release.original is None:
        return [], None
    _, right, rows = links
    count, of = float(right.sum()), len(attacked.release.original.rows)
    surest = np.zeros(of)
    np.maximum.at(surest, rows, right)
    people = float(surest.sum())
    return [
        (POOLED, "certain_links", count, count, len(right)),
        (POOLED, "certain_links_people", people, people, of),
    ], None
