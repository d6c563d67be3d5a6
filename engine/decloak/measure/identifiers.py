"""People whom the ids or the row order of a release re-identify: for this no attack is needed."""

from decloak.data.forms import FormName
from decloak.data.rows import Numbers
from decloak.measure.family import POOLED, AttackedRelease, Family, Figure, FigureTitle, Measured
from decloak.releases.held import HeldRelease, HeldSets
from decloak.store.origins import read_origins

__all__ = ["FAMILY"]

FEW_ITEMS = 20
BY_CHANCE = 1.0
"""Rows that a random order leaves at their places, on average, whatever the number of rows."""


def _measure(attacked: AttackedRelease[HeldRelease]) -> Measured:
    held = attacked.release
    if not isinstance(held, HeldSets):
        ordered = held.making.parameters.get("order") == "sorted"  # chunks carry no ids
        figures: list[Figure] = [(POOLED, "identified_by_id", 0, 0, None)]
        return figures + ([(POOLED, "identified_by_order", 0, 0, None)] if ordered else []), None
    people = len(held.published.transactions)
    if not people:
        return [], None
    share = _label_share(held)
    found: list[Figure] = [] if share is None else [(POOLED, "label_share", share, None, None)]
    found += [(POOLED, "identified_by_id", by_id := _by_id(held), by_id, people)]
    by_order = _by_order(held)
    if by_order is not None:
        found += [
            (POOLED, "identified_by_order", by_order, by_order, people),
            (POOLED, "identified_by_order_baseline", BY_CHANCE, BY_CHANCE, people),
        ]
    return found, None


def _label_share(held: HeldSets) -> float | None:
    """Average the share of all items that what rows show stands for; None of few items, where any label is wide."""
    shown = [
        {element} if isinstance(element, str) else element for row in held.published.transactions for element in row
    ]
    items = len(set().union(*set(map(frozenset, shown))))
    return sum(map(len, shown)) / len(shown) / items if items >= FEW_ITEMS else None


def _by_id(held: HeldSets) -> int:
    """Count the rows that carry the id of their original record; without original ids, any id."""
    labels = held.published.labels
    if tuple(labels) == Numbers(len(labels)):
        return 0
    behind = None if held.behind is None else held.behind.labels
    if held.original is None or behind is None or tuple(held.original.labels) == Numbers(len(held.original.labels)):
        return len(labels)
    return sum(label == original for label, original in zip(labels, behind, strict=True))


def _by_order(held: HeldSets) -> int | None:
    """Count the rows at the place of their original record, where the order is not a function of what rows show."""
    if held.making.parameters.get("order") == "sorted":
        return 0
    rows = held.labels.transactions
    if tuple(rows) == tuple(held.labels.arranged().release.transactions):
        return 0
    places = read_origins(held.connection, held.number)
    return (
        None if held.original is None or places is None else sum(i == place for i, place in enumerate(places.tolist()))
    )


FAMILY = Family(
    name="identifiers",
    about="People whom ids or the row order re-identify; always measured",
    figures=(
        FigureTitle(
            "label_share", "items of a label", "share of all items behind what is shown",
            column=False, published=True,
        ),
        FigureTitle(
            "identified_by_id", "re-identified by ids", "people whose row carries their id",
            count=True, column=False, published=True,
        ),
        FigureTitle(
            "identified_by_order", "re-identified by row order", "people whose row is at its original place",
            count=True, column=False, published=True,
        ),
        FigureTitle(
            "identified_by_order_baseline", "re-identified by row order, baseline", "the same in a random order",
            count=True, column=False, published=True,
        ),
    ),
    measure=_measure,
    fits=frozenset(FormName),
    of_release=True,
    always=True,
)  # fmt: skip
