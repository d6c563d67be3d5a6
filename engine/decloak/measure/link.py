"""What an attack exposes to somebody who knows a few items of a person."""

from pydantic import Field

from decloak.measure.family import POOLED, SETS, AttackedRelease, Family, Figure, FigureTitle, Measured
from decloak.releases.held import HeldSets
from decloak.store.reading import struck_items
from decloak.yaml.part import Part

__all__ = ["FAMILY", "LinkSettings"]


class LinkSettings(Part):
    """Which k^m protection the attacks are measured against."""

    k: int = Field(2, ge=2)
    """Transactions that must remain possible."""
    m: int = Field(2, ge=1, le=4)
    """Items that somebody may know of a person."""


def _measure(attacked: AttackedRelease[HeldSets], *, k: int, m: int) -> Measured:
    """Itemsets an attack pushed below k, and transactions it made unique."""
    from decloak.measure.kernels.link import link

    before, originals = attacked.release.possible, attacked.release.true
    after = [set(items) for items in before]
    for transaction, item in struck_items(attacked.connection, attacked.number, attacked.derives):
        after[transaction].discard(item)
    counts = link(before, after, originals, k=k, m=m)
    figures: list[Figure] = [(POOLED, "exposed", counts.exposed, counts.exposed, None)]
    if counts.exposed_true is not None:
        figures.append((POOLED, "exposed_true", counts.exposed_true, counts.exposed_true, counts.exposed))
    unique, unique_before = len(counts.unique), len(counts.unique_before)
    unique_new = len(set(counts.unique).difference(counts.unique_before))
    return [
        *figures,
        (POOLED, "vanished", counts.vanished, counts.vanished, None),
        (POOLED, "unique", unique, unique, len(before)),
        (POOLED, "unique_before", unique_before, unique_before, len(before)),
        (POOLED, "unique_new", unique_new, unique_new, len(before)),
    ], None


FAMILY = Family(
    name="link",
    about="What an attack exposes to somebody who knows a few items of a person",
    figures=(
        FigureTitle("exposed", "exposed", "itemsets left with 1 to k-1 candidates", count=True),
        FigureTitle("exposed_true", "truly exposed", "those that one of these really has", count=True, column=False),
        FigureTitle("vanished", "vanished", "itemsets left with none", count=True, column=False),
        FigureTitle("unique", "unique", "records that an itemset singles out", count=True, before="unique_before"),
        FigureTitle("unique_before", "unique before", "those as published", count=True, column=False, published=True),
        FigureTitle("unique_new", "newly unique", "those that were not before", count=True, column=False),
    ),
    measure=_measure,
    fits=SETS,
    settings=LinkSettings,
    strikes=True,
)
