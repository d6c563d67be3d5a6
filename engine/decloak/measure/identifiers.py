"""People who are re-identified by the ids or the row order of a release, without an attack."""

import numpy as np

from decloak.attacker.written_order import MEMBERS_BY_ORDER
from decloak.data.forms import FormName
from decloak.data.rows import RowLabels
from decloak.figures import metrics_of
from decloak.measure.family import POOLED, Attacked, Family, MetricResult, MetricValue
from decloak.releases.stored import StoredSetRelease
from decloak.store.records import read_origins

FEW_ITEMS = 20
BY_CHANCE = 1.0
"""Rows that a random order leaves at their places, on average, whatever the number of rows."""


def _measure(attacked: Attacked) -> MetricResult:
    held = attacked.release
    if not isinstance(held, StoredSetRelease):
        ordered = held.making.parameters.get("order") == "sorted"  # chunks carry no ids
        figures: list[MetricValue] = [(POOLED, "reidentified_by_id", 0, 0, None)]
        return figures + ([(POOLED, "reidentified_by_order", 0, 0, None)] if ordered else []), None
    people = len(held.published.transactions)
    if not people:
        return [], None
    share = _label_share(held)
    found: list[MetricValue] = [] if share is None else [(POOLED, "label_share", share, None, None)]
    found += [(POOLED, "reidentified_by_id", by_id := _by_id(held), by_id, people)]
    by_order = _by_order(held)
    if by_order is not None:
        found += [
            (POOLED, "reidentified_by_order", by_order, by_order, people),
            (POOLED, "reidentified_by_order_baseline", BY_CHANCE, BY_CHANCE, people),
        ]
    return found + _by_members(held, people), None


def _by_members(held: StoredSetRelease, people: int) -> list[MetricValue]:
    """Return the people with items that the order of members reveals, as the import of a file noted it."""
    revealed = held.making.loss.get(MEMBERS_BY_ORDER, (0, 0.0))  # releases of decloak have members in one order
    if revealed is None:
        return []
    counts = zip(("revealed_by_members", "revealed_by_members_baseline"), revealed, strict=True)
    return [(POOLED, name, count, count, people) for name, count in counts]


def _label_share(held: StoredSetRelease) -> float | None:
    """Return the mean share of all items in a published element; None for few items, where each label is wide."""
    rows = held.published.rows.with_used_names
    members = [{element} if isinstance(element, str) else element for element in rows.names]
    items = len(set().union(*members))
    sizes = np.array(list(map(len, members)), np.int64)
    return float(sizes[rows.codes].sum() / len(rows.codes) / items) if items >= FEW_ITEMS else None


def _by_id(held: StoredSetRelease) -> int:
    """Count the rows that carry the id of their original record; without original ids, any id."""
    labels = held.published.labels
    # Numbers from 1 are no ids: they are the lines of the file.
    if tuple(labels) == RowLabels(len(labels)):
        return 0
    behind = None if held.behind is None else held.behind.labels
    # Without original ids nothing shows that the published ones are new, so that all count.
    if held.original is None or behind is None or tuple(held.original.labels) == RowLabels(len(held.original.labels)):
        return len(labels)
    return sum(label == original for label, original in zip(labels, behind, strict=True))


def _by_order(held: StoredSetRelease) -> int | None:
    """Count the rows at the place of their original record, if the order depends on more than the content of rows."""
    if held.making.parameters.get("order") == "sorted":
        return 0
    rows = held.labels.transactions
    if tuple(rows) == tuple(held.labels.sorted_by_content().release.transactions):
        return 0
    places = read_origins(held.connection, held.number)
    return (
        None if held.original is None or places is None else sum(i == place for i, place in enumerate(places.tolist()))
    )


FAMILY = Family(
    name="identifiers",
    about="People re-identified by ids or row order; always measured",
    metrics=metrics_of("identifiers"),
    measure=_measure,
    fits=frozenset(FormName),
    of_release=True,
    always_measured=True,
)  # fmt: skip
