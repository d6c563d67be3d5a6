"""The guarantees of releases, each checked from the published data alone.

A guarantee is about some content. A release without any such content gives an error, not a result. Nothing here shares
code with the methods.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from decloak.checks import check_km, check_whole
from decloak.counting.disassociation_guarantee import check_release
from decloak.counting.generalisation_guarantee import (
    alone,
    broken_privacy,
    broken_utility,
    disguised,
    negative_violations,
    too_certain,
)
from decloak.counting.inverse import enumerated
from decloak.counting.violations import RareSets, small_cells
from decloak.data.disassociated import Disassociated
from decloak.data.forms import FormName, Release
from decloak.data.generalised import Generalised
from decloak.data.itemset_table import ItemsetTable
from decloak.data.representation import counted
from decloak.errors import DecloakError, quote

FEW = 3
"""Largest number of names in a note."""
NOTHING = "no record has any item"
ZEROS = ("refuse", "allow")
"""Treatments of empty cells in an itemset table. The first is the default."""

ReleaseT = TypeVar("ReleaseT", bound=Release)
Row = tuple[object, ...]


class FirstViolations(NamedTuple):
    """The first violations, and the numbers of all: None if they may be too many to count."""

    rows: list[Row]
    total: Callable[[], int | None]


@dataclass(frozen=True)
class Guarantee(ABC, Generic[ReleaseT]):
    """A guarantee that a release must meet."""

    form: ClassVar[FormName] = FormName.GENERALISED
    """The form of releases that it is about. Generalised items count as labels without a name."""
    columns: ClassVar[tuple[str, ...]]
    """The columns of a violation. A tuple in its rows is a set of items or labels."""
    parts: ClassVar[tuple[str, ...]] = ("violations",)
    """The parts of the guarantee. If there are several, the first column of a violation names one."""

    @property
    @abstractmethod
    def statement(self) -> str:
        """The guarantee in one line."""

    @abstractmethod
    def violations(self, release: ReleaseT) -> Iterable[Row]:
        """Yield the violations in `release`, none if it meets the guarantee."""

    def classes(self, release: ReleaseT) -> Sequence[str]:
        """Return the classes of violations that `release` may have: the parts of the guarantee."""
        return self.parts

    def class_of(self, row: Row) -> str:
        """Return the class of the violation `row`."""
        return str(row[0]) if len(self.parts) > 1 else self.parts[0]

    def first(self, release: ReleaseT, most: int) -> "FirstViolations":
        """Return the first `most` violations in `release`, as soon as they are found."""
        rows = list(self.violations(release))
        return FirstViolations(rows[:most], lambda: len(rows))

    def check_fits(self, release: Release) -> None:
        """Raise an error if `release` has another form, or no content that the guarantee is about."""
        if release.form != self.form:
            message = f"this check applies to {self.form} releases, and the file is a {release.form} release"
            raise DecloakError(message, hint="is it the right file, is it the right check?")
        if problem := self.inapplicable_reason(release):  # type: ignore[arg-type]
            raise DecloakError(f"{problem}: nothing to check", hint="is it the right file, are the names right?")

    @abstractmethod
    def inapplicable_reason(self, release: ReleaseT) -> str | None:
        """Return the reason why `release` has no content that the guarantee is about, or None."""

    def notes(self, release: ReleaseT) -> Iterable[str]:
        """Yield remarks about the result for `release`."""
        return ()


AnyGuarantee = Guarantee[Any]
"""A guarantee of releases of any form."""


@dataclass(frozen=True)
class _OfItemsets(Guarantee[ReleaseT]):
    """A guarantee about itemsets of up to m items, and k records."""

    k: int
    m: int

    def notes(self, release: ReleaseT) -> Iterable[str]:
        """Yield a remark for k = 1, which requires nothing of `release`."""
        return ("k = 1 asks for nothing: whatever occurs is in one record or more",) if self.k == 1 else ()

    def __post_init__(self) -> None:
        check_km(self.k, self.m)

    @property
    def statement(self) -> str:
        return f"k = {self.k}, m = {self.m}"


@dataclass(frozen=True)
class KmAnonymity(_OfItemsets[Generalised]):
    """k^m-anonymity: m labels that some record has together occur together in at least k records."""

    columns: ClassVar[tuple[str, ...]] = ("itemset", "support")

    def classes(self, release: Generalised) -> Sequence[str]:
        # No itemset is longer than the longest record, whatever m is.
        longest = min(self.m, int(release.rows.lengths.max(initial=0)))
        return [counted(size, "item") for size in range(1, longest + 1)]

    def class_of(self, row: Row) -> str:
        return counted(sum(len(part) for part in row if isinstance(part, tuple)), "item")

    def violations(self, release: Generalised) -> Iterable[Row]:
        return self._listed(RareSets(release.rows, self.k, self.m), None)

    def first(self, release: Generalised, most: int) -> FirstViolations:
        """Return the first `most` violations in `release`. Raw data have millions, so only these are kept."""
        rare = RareSets(release.rows, self.k, self.m)
        return FirstViolations(self._listed(rare, most), rare.count)

    def _listed(self, rare: RareSets, most: int | None) -> list[Row]:
        return [(tuple(sorted(itemset)), support) for itemset, support in rare.first(most)]

    def inapplicable_reason(self, release: Generalised) -> str | None:
        return None if any(release.transactions) else NOTHING


@dataclass(frozen=True)
class NegativeKnowledge(KmAnonymity):
    """k^m-anonymity against an attacker who also knows absent labels: any known property has support k or 0."""

    columns: ClassVar = ("has", "has not", "support")

    def violations(self, release: Generalised) -> Iterable[Row]:
        return negative_violations(release.transactions, release.cut, self.k, self.m)

    def first(self, release: Generalised, most: int) -> FirstViolations:
        """Return the first `most` violations in `release`, found one by one."""
        rows = list(islice(self.violations(release), most))
        # There may be more than were asked for, too many to count.
        return FirstViolations(rows, lambda: len(rows) if len(rows) < most else None)


@dataclass(frozen=True)
class KAnonymity(Guarantee[Generalised]):
    """k-anonymity of whole records: every non-empty record equals at least k - 1 others."""

    columns: ClassVar = ("transaction", "support")

    k: int

    def __post_init__(self) -> None:
        check_whole(1, k=self.k)

    @property
    def statement(self) -> str:
        return f"k = {self.k}, of whole transactions"

    def violations(self, release: Generalised) -> Iterable[Row]:
        return sorted((tuple(sorted(labels)), support) for labels, support in alone(release.transactions, self.k))

    def inapplicable_reason(self, release: Generalised) -> str | None:
        return None if any(release.transactions) else NOTHING


@dataclass(frozen=True)
class LmDiversity(Guarantee[Generalised]):
    """l^m-diversity: of the records that share m labels, at most one in l has a given sensitive item."""

    columns: ClassVar = ("known", "sensitive item", "have it", "of")

    l: int  # noqa: E741 (the word of the papers)
    m: int
    sensitive: tuple[str, ...]

    @property
    def statement(self) -> str:
        return f"l = {self.l}, m = {self.m}, of {counted(len(self.sensitive), 'sensitive item')}"

    def violations(self, release: Generalised) -> Iterable[Row]:
        hidden = frozenset(self.sensitive)
        yield from (((label,), item, None, None) for label, item in disguised(release, hidden))
        yield from too_certain(release.transactions, hidden, self.l, self.m)

    def inapplicable_reason(self, release: Generalised) -> str | None:
        none = shown_items(release).isdisjoint(self.sensitive)
        return "the release shows none of the sensitive items" if none else None

    def notes(self, release: Generalised) -> Iterable[str]:
        return _missing_items("sensitive", self.sensitive, release)


@dataclass(frozen=True)
class CoatConstraints(Guarantee[Generalised]):
    """The guarantee of COAT: no combination of items of a privacy constraint has a support from 1 to k - 1, and the
    members of a generalised item are together in a utility constraint.
    """

    columns: ClassVar = ("broken", "itemset", "support", "constraint")
    parts: ClassVar = ("privacy", "utility")

    k: int
    privacy: tuple[tuple[str, ...], ...]
    utility: tuple[tuple[str, ...], ...] | None = None
    """None if any items may be generalised together."""

    @property
    def statement(self) -> str:
        allowed = "any items" if self.utility is None else counted(len(self.utility), "utility constraint")
        return f"k = {self.k}, of {counted(len(self.privacy), 'privacy constraint')}, within {allowed}"

    def violations(self, release: Generalised) -> Iterable[Row]:
        published = release.published
        for fault in broken_privacy(published, self.privacy, k=self.k):
            yield "privacy", fault.itemset, fault.support, fault.constraint
        if self.utility is not None:
            yield from (("utility", members, None, None) for members in broken_utility(published, self.utility))

    def inapplicable_reason(self, release: Generalised) -> str | None:
        none = shown_items(release).isdisjoint(item for constraint in self.privacy for item in constraint)
        return "the release shows none of the protected items" if none else None

    def notes(self, release: Generalised) -> Iterable[str]:
        return _missing_items("protected", [item for constraint in self.privacy for item in constraint], release)


@dataclass(frozen=True)
class WholeSets(Guarantee[Generalised]):
    """The guarantee of sets: a record with an item of a set publishes the set, and none of its items plain. Sets are
    disjoint.

    So the number of remaining candidates is at least the size of the set. The number of people with the set is not
    guaranteed.
    """

    columns: ClassVar = ("broken", "itemset")
    parts: ClassVar = ("in two sets", "shown plain as well", "not a listed set", "a set of one item")

    sets: tuple[tuple[str, ...], ...] | None = None
    """The sets, None if they were drawn at random."""

    @property
    def statement(self) -> str:
        return "each hidden item is shown as its set alone" + ("" if self.sets is None else ", as listed")

    def violations(self, release: Generalised) -> Iterable[Row]:
        hiding = {frozenset(members) for members in release.published.generalised}
        owners = Counter(item for members in hiding for item in members)
        plain = {element for row in release.published.transactions for element in row if isinstance(element, str)}
        listed = None if self.sets is None else {frozenset(members) for members in self.sets}
        members_of_all = frozenset().union(*(hiding if listed is None else hiding | listed))
        yield from (("in two sets", (item,)) for item in sorted(owners) if owners[item] > 1)
        yield from (("shown plain as well", (item,)) for item in sorted(plain & members_of_all))
        alone = [] if listed is None else sorted(tuple(sorted(members)) for members in hiding - listed)
        yield from (("not a listed set", members) for members in alone)
        yield from (("a set of one item", tuple(members)) for members in hiding if len(members) == 1)

    def inapplicable_reason(self, release: Generalised) -> str | None:
        return None if release.published.generalised else "the release shows no set of items"


@dataclass(frozen=True)
class Disassociation(_OfItemsets[Disassociated]):
    """The disassociation guarantee, by its closed form, and by enumeration for small clusters."""

    form: ClassVar = FormName.DISASSOCIATED
    columns: ClassVar[tuple[str, ...]] = ("kind", "cluster", "chunk", "itemset", "support", "what is wrong")
    parts: ClassVar[tuple[str, ...]] = (
        "support",
        "size",
        "empty",
        "outside",
        "repeated",
        "overlap",
        "records",
        "enumeration",
    )

    def violations(self, release: Disassociated) -> Iterable[Row]:
        return [*check_release(release, k=self.k, m=self.m), *enumerated(release, self.k, self.m)]

    def inapplicable_reason(self, release: Disassociated) -> str | None:
        return None if any(cluster.items for cluster in release.clusters) or release.joints else NOTHING


@dataclass(frozen=True)
class CellSupports(Guarantee[ItemsetTable]):
    """The guarantee of an itemset table: every cell of an itemset has `k` records, or none where `zeros` allows it.

    A cell of an itemset has the records with some of its items and without the others. Its size follows from the
    supports of all subsets.
    """

    form: ClassVar = FormName.ITEMSETS
    columns: ClassVar = ("has", "has not", "records")

    k: int
    zeros: str = ZEROS[0]
    """`refuse` if cells without records violate the guarantee, `allow` otherwise."""

    def __post_init__(self) -> None:
        check_whole(1, k=self.k)
        if self.zeros not in ZEROS:
            raise DecloakError(f"zeros is {quote(self.zeros)}", hint="give refuse or allow")

    @property
    def statement(self) -> str:
        return f"k = {self.k}, in every cell of an itemset" + ("" if self.zeros == "allow" else ", none empty")

    def violations(self, release: ItemsetTable) -> Iterable[Row]:
        return small_cells(release, self.k, zeros=self.zeros == "allow")

    def inapplicable_reason(self, release: ItemsetTable) -> str | None:
        return None if release.itemsets else "the table has no itemsets"


def shown_items(release: Generalised) -> frozenset[str]:
    """Return the items that `release` publishes, plain or as a member."""
    return frozenset(item for label in release.rows.used_names for item in release.members[label])


def _missing_items(kind: str, names: Iterable[str], release: Generalised) -> Iterator[str]:
    every, shown = list(dict.fromkeys(names)), shown_items(release)
    missing = [name for name in every if name not in shown]
    if missing:
        listed = ", ".join(map(quote, missing[:FEW])) + (", …" if len(missing) > FEW else "")
        absent = f"{len(missing)} of {len(every)} {kind} items"
        yield f"{absent} do not occur in the release (suppressed or misspelt): {listed}"
