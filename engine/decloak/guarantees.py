"""Guarantees as assertions, for the tests of an anonymiser. The checks are the checks of `decloak check`.

Each function raises an AssertionError with the first violations. A release is a release of decloak, the path of a file,
or rows of items and labels. With the `original` records, the functions also check that the release is complete.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from decloak.attacker.cover import cover_problems
from decloak.counting.generalisation_guarantee import check_complete
from decloak.counting.guarantees import (
    AnyGuarantee,
    CellSupports,
    CoatConstraints,
    Disassociation,
    KmAnonymity,
    LmDiversity,
)
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.forms import Release
from decloak.data.generalised import Generalised
from decloak.data.itemset_table import ItemsetTable
from decloak.digest import JsonObject
from decloak.library.checking import release_of
from decloak.library.running import evaluate
from decloak.releases.file_formats import ReleaseOfFile

__all__ = [
    "copies_no_record",
    "has_no_cover_problem",
    "keeps_cells",
    "keeps_coat",
    "keeps_disassociation",
    "keeps_km",
    "keeps_km_between",
    "keeps_l_diversity",
    "wins_no_more_than",
]

FEW = 3
"""Largest number of violations that an error lists."""
CHANCE = 0.01
"""Largest probability that a random attack is as good, for a result that is no chance."""

AnyForm = Release | str | Path | Iterable[Iterable[str]]
Records = Iterable[Iterable[str]]


def keeps_km(release: AnyForm, k: int, m: int, original: Records | None = None) -> None:
    """Raise an error unless `release` is k^m-anonymous for `k` and `m`.

    With `original`, each item must be published by exactly one label. Rows may be in any order, if each can belong to
    another record.
    """
    _complete(_meets(KmAnonymity(k, m), release), original)


def keeps_l_diversity(
    release: AnyForm,
    l: int,  # noqa: E741 (the word of the papers)
    m: int,
    sensitive: Iterable[str],
    original: Records | None = None,
) -> None:
    """Raise an error if `m` labels of `release` reveal a `sensitive` item with a probability above 1/l (`l`).

    `original` is as in `keeps_km`.
    """
    _complete(_meets(LmDiversity(l, m, tuple(sensitive)), release), original)


def keeps_coat(
    release: AnyForm,
    k: int,
    privacy: Iterable[Iterable[str]],
    utility: Iterable[Iterable[str]] | None = None,
    original: Records | None = None,
) -> None:
    """Raise an error if 1 to `k` - 1 records of `release` may contain some items of a set of `privacy`, or if items
    are generalised together that no set of `utility` has.

    With `original`, each published item or set must have an item of its record. Suppression is allowed.
    """
    protected, allowed = tuple(map(tuple, privacy)), None if utility is None else tuple(map(tuple, utility))
    _complete(_meets(CoatConstraints(k, protected, allowed), release), original, suppressed=True)


def keeps_disassociation(release: AnyForm, k: int, m: int, original: Records | None = None) -> None:
    """Raise an error unless `release` meets the disassociation guarantee for `k` and `m`.

    With `original`, the release must have the same number of records, the same items, and no item more often.
    """
    found = _meets(Disassociation(k, m), release)
    if original is None or not isinstance(found, Disassociated):
        return
    rows = [frozenset(record) for record in original]
    chunks = [chunk for cluster in found.clusters for chunk in cluster.record_chunks]
    chunks += [chunk for joint in found.joints for chunk in joint.shared_chunks]
    shown = Counter(item for chunk in chunks for subrecord in chunk.subrecords for item in subrecord)
    terms = {item for cluster in found.clusters for item in cluster.term_chunk}
    held = Counter(item for row in rows for item in row)
    if sum(cluster.size for cluster in found.clusters) != len(rows):
        raise AssertionError("the release has another number of records")
    if {*shown, *terms} != held.keys():
        raise AssertionError(f"only one side has the items {sorted({*shown, *terms} ^ held.keys())}")
    if more := sorted((shown - held).keys()):
        raise AssertionError(f"more sub-records than records have the items {more}")


def keeps_cells(release: AnyForm, k: int, zeros: str = "refuse", original: Records | None = None) -> None:
    """Raise an error if a difference of supports in an itemset table is below `k` records.

    `zeros` is `refuse` if empty cells are violations too, else `allow`. With `original`, the supports must be right.
    """
    found = _meets(CellSupports(k, zeros), release)
    if original is not None and isinstance(found, ItemsetTable):
        rows = [frozenset(record) for record in original]
        supports = {itemset: sum(itemset <= row for row in rows) for itemset in found.by_itemset}
        if wrong := [sorted(items) for items, support in found.by_itemset.items() if support != supports[items]]:
            raise AssertionError(f"the supports of these itemsets are wrong: {wrong[:FEW]}")


def has_no_cover_problem(release: Disassociated) -> None:
    """Raise an error if a disassociated `release` has a cover problem."""
    if problems := cover_problems(release):
        raise AssertionError(f"{len(problems)} cover problems: {problems[:FEW]}")


def copies_no_record(release: AnyForm, original: Records, k: int = 2, size: int = 3) -> None:
    """Raise an error if a synthetic `release` has exactly the items of 1 to `k` - 1 `original` records.

    Records of fewer than `size` items do not count. A model also draws some records of people by chance, the more the
    fewer items there are.
    """
    held = Counter(frozenset(record) for record in original)
    found = release_of(release)
    shown = {frozenset(row) for row in found.transactions} if isinstance(found, Generalised) else set()
    if copies := sorted(sorted(row) for row in shown if len(row) >= size and 0 < held[row] < k):
        raise AssertionError(f"copies of fewer than {k} original records: {copies[:FEW]}")


def keeps_km_between(earlier: AnyForm, later: AnyForm, k: int, m: int) -> None:
    """Raise an error if the difference of two releases reveals the records that came between them.

    It does if 1 to `k` - 1 further records of the `later` release have some labels, at most `m`. Labels count if they
    have the same items in both releases, or items that the `earlier` one does not show.
    """
    before, after = release_of(earlier), release_of(later)
    if not (isinstance(before, Generalised) and isinstance(after, Generalised)):
        raise TypeError("give two releases with records")
    known = set(before.items)
    same = {
        label for label, items in after.members.items() if before.members.get(label) == items or known.isdisjoint(items)
    }
    # The difference has positive counts alone: no further record reveals nothing.
    further = _supports(after, same, m) - _supports(before, same, m)
    if revealed := sorted(entry for entry in further.items() if entry[1] < k):
        raise AssertionError(f"k = {k}, m = {m}: further records with these labels: {revealed[:FEW]}")


def _supports(release: Generalised, labels: set[str], m: int) -> Counter[tuple[str, ...]]:
    rows = (sorted(labels.intersection(row)) for row in release.transactions)
    return Counter(itemset for row in rows for size in range(1, m + 1) for itemset in combinations(row, size))


def wins_no_more_than(
    attack: str,
    limit: float,
    release: AnyForm,
    original: Records,
    rows: Sequence[int] | None = None,
    **sections: object,
) -> None:
    """Raise an error if the normalised advantage of `attack` is above `limit`, and chance does not explain it.

    - `rows`: for each row of `release`, the place of its record in `original`, from 0. By default row i is record i.
    - `sections`: sections of a scenario. By default the attacker learns how items are related from the release.

    Chance explains an advantage if a random attack reaches it with a probability of 1% or more.
    """
    found = release_of(release)
    if isinstance(found, ItemsetTable):
        raise TypeError("an itemset table has no records to attack")
    split = isinstance(found, Disassociated)
    related: JsonObject = {"relate": {"measure": "ngd", "source": "release"}, **sections}
    run = evaluate(
        found, original, range(len(found.ids)) if rows is None else rows,
        attack=[attack], measure=["accuracy" if split else "recovery"], store=None, **related,
    )  # fmt: skip
    figures = {figure.measure: figure.value for figure in run.measures if figure.attack == attack}
    advantage, chance = figures.get("normalised_advantage"), figures.get("p_random")
    if advantage is not None and advantage > limit and chance is not None and chance < CHANCE:
        raise AssertionError(
            f"{attack} has a normalised advantage of {advantage:.2f}, above {limit:g} (p = {chance:.2g})"
        )


def _meets(guarantee: AnyGuarantee, release: AnyForm) -> ReleaseOfFile:
    """Return the `release` if it meets a `guarantee`. A release without anything that the guarantee is about meets
    it.
    """
    found = release_of(release)
    # Without anything protected, `check_fits` would refuse a release that violates nothing.
    if found.form != guarantee.form:
        guarantee.check_fits(found)
    if rows := guarantee.first(found, FEW).rows:
        listed = "; ".join(
            ", ".join(f"{name} {value}" for name, value in zip(guarantee.columns, row, strict=True)) for row in rows
        )
        raise AssertionError(f"{guarantee.statement}: {listed}")
    return found


def _complete(release: ReleaseOfFile, original: Records | None, *, suppressed: bool = False) -> None:
    """Raise an error unless `release` publishes the `original` records and nothing else, in any order of its rows.

    With `suppressed`, items may be missing.
    """
    if original is None or not isinstance(release, Generalised):
        return
    records = [tuple(record) for record in original]
    fits = [[_may_show(items, row, release, suppressed) for items in records] for row in release.transactions]
    rows = list(range(len(records)))
    if len(records) == len(fits) and any(map(any, fits)):
        matched = maximum_bipartite_matching(csr_array(np.array(fits)), perm_type="column").tolist()
        # Without a complete matching, the faults are named for the rows as given.
        rows = rows if -1 in matched else matched
    if not suppressed:
        for fault in check_complete(Dataset(tuple(records[row] for row in rows), release.ids), release):
            raise AssertionError(fault)
    elif len(records) != len(fits) or not all(fit[row] for fit, row in zip(fits, rows, strict=True)):
        raise AssertionError("the rows of the release cannot belong to different records")


def _may_show(items: Sequence[str], row: Sequence[str], release: Generalised, suppressed: bool) -> bool:
    """Return True if a `row` has each of `items` by exactly one label, or none if `suppressed`, and nothing else."""
    over = [[label for label in row if item in release.members[label]] for item in items]
    allowed = (0, 1) if suppressed else (1,)
    return all(len(labels) in allowed for labels in over) and {label for labels in over for label in labels} == set(row)
