"""What releases promise, each checked from what is published alone, whoever made it.

A promise is held over something: where a release shows nothing of what the promise is about, that is an error and no
result. Nothing here shares code with what makes releases.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from decloak.checks import check_km, check_whole
from decloak.counting.constraints import broken_privacy, broken_utility
from decloak.counting.disassociation_guarantee import check_release
from decloak.counting.generalisation_guarantee import alone, disguised, negative_violations, too_certain
from decloak.counting.guarantees import RareSets
from decloak.counting.inverse import enumerated
from decloak.data.disassociated import Disassociated
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.release import Release
from decloak.errors import DecloakError, shown

__all__ = [
    "AlikeRecords", "Constrained", "Disassociation", "Diverse", "First", "Frequent", "NegativeKnowledge", "Promise",
    "WholeSets",
]  # fmt: skip

FEW = 3
"""Names that a note lists."""
NOTHING = "no record has any item"

ReleaseT = TypeVar("ReleaseT", bound=Release)
Row = tuple[Any, ...]


class First(NamedTuple):
    """Some violations, and what counts all of them: None where they may be too many even to count."""

    rows: list[Row]
    total: Callable[[], int | None]


@dataclass(frozen=True)
class Promise(ABC, Generic[ReleaseT]):
    """What a release promises."""

    form: ClassVar[FormName] = FormName.GENERALISED
    """The form of releases it is about, sets of items being labels without a name."""
    columns: ClassVar[tuple[str, ...]]
    """What a violation is told by; in its rows a tuple is a set of items or labels."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What holds, in a line."""

    @abstractmethod
    def broken(self, release: ReleaseT) -> Iterable[Row]:
        """What breaks it, nothing when it holds."""

    def first(self, release: ReleaseT, most: int) -> "First":
        """The first of what breaks it, as soon as these are found."""
        rows = list(self.broken(release))
        return First(rows[:most], lambda: len(rows))

    def check_fits(self, release: Release) -> None:
        """Refuse a release of another form, and one that has nothing in it for the promise to be about."""
        if release.form != self.form:
            message = f"a {release.form} release, and what is checked is about {self.form} ones"
            raise DecloakError(message, hint="is it the right file, is it the right check?")
        if problem := self.lacking(release):  # type: ignore[arg-type]
            raise DecloakError(f"{problem}: nothing to check", hint="is it the right file, are the names right?")

    @abstractmethod
    def lacking(self, release: ReleaseT) -> str | None:
        """Why a release has nothing in it for the promise to be about, None where it has."""

    def notes(self, release: ReleaseT) -> Iterable[str]:
        """What a reader of the result should know."""
        return ()


@dataclass(frozen=True)
class _OfItemsets(Promise[ReleaseT]):
    """A promise of itemsets of up to m items, and k records."""

    k: int
    m: int

    def notes(self, release: ReleaseT) -> Iterable[str]:
        """That k = 1 asks for nothing: who reads that it holds should not take it for more."""
        return ("k = 1 asks for nothing: whatever occurs is in one record or more",) if self.k == 1 else ()

    def __post_init__(self) -> None:
        check_km(self.k, self.m)

    @property
    def words(self) -> str:
        return f"k = {self.k}, m = {self.m}"


@dataclass(frozen=True)
class Frequent(_OfItemsets[Generalised]):
    """k^m-anonymity: every m labels that some transaction shows together at least k show."""

    columns: ClassVar[tuple[str, ...]] = ("itemset", "support")

    def broken(self, release: Generalised) -> Iterable[Row]:
        return self._listed(RareSets(release.rows, self.k, self.m), None)

    def first(self, release: Generalised, most: int) -> First:
        """Raw data have millions: only the first are kept."""
        rare = RareSets(release.rows, self.k, self.m)
        return First(self._listed(rare, most), rare.count)

    def _listed(self, rare: RareSets, most: int | None) -> list[Row]:
        return [(tuple(sorted(itemset)), support) for itemset, support in rare.first(most)]

    def lacking(self, release: Generalised) -> str | None:
        return None if any(release.transactions) else NOTHING


@dataclass(frozen=True)
class NegativeKnowledge(Frequent):
    """The same for who knows of m labels whether they are there: what some have in common, k have in common."""

    columns: ClassVar = ("has", "has not", "support")

    def broken(self, release: Generalised) -> Iterable[Row]:
        return negative_violations(release.transactions, release.cut, self.k, self.m)

    def first(self, release: Generalised, most: int) -> First:
        """They are found one by one."""
        rows = list(islice(self.broken(release), most))
        return First(rows, lambda: len(rows) if len(rows) < most else None)


@dataclass(frozen=True)
class AlikeRecords(Promise[Generalised]):
    """k-anonymity of whole records: every transaction that shows something is shown like k - 1 others."""

    columns: ClassVar = ("transaction", "support")

    k: int

    def __post_init__(self) -> None:
        check_whole(1, k=self.k)

    @property
    def words(self) -> str:
        return f"k = {self.k}, of whole transactions"

    def broken(self, release: Generalised) -> Iterable[Row]:
        return sorted((tuple(sorted(labels)), support) for labels, support in alone(release.transactions, self.k))

    def lacking(self, release: Generalised) -> str | None:
        return None if any(release.transactions) else NOTHING


@dataclass(frozen=True)
class Diverse(Promise[Generalised]):
    """l^m-diversity: of those who show m labels together, no more than one in l shows a sensitive item."""

    columns: ClassVar = ("known", "sensitive item", "have it", "of")

    l: int  # noqa: E741 (the word of the papers)
    m: int
    sensitive: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"l = {self.l}, m = {self.m}, of {_number(self.sensitive, 'sensitive item')}"

    def broken(self, release: Generalised) -> Iterable[Row]:
        hidden = frozenset(self.sensitive)
        yield from (((label,), item, None, None) for label, item in disguised(release, hidden))
        yield from too_certain(release.transactions, hidden, self.l, self.m)

    def lacking(self, release: Generalised) -> str | None:
        none = _items(release).isdisjoint(self.sensitive)
        return "the release shows none of the sensitive items" if none else None

    def notes(self, release: Generalised) -> Iterable[str]:
        return _nowhere("sensitive", self.sensitive, release)


@dataclass(frozen=True)
class Constrained(Promise[Generalised]):
    """COAT's: of the items of a privacy constraint no combination may be held by 1..k-1 transactions, and what stands
    together in a generalised item is together in a utility constraint.
    """

    columns: ClassVar = ("broken", "itemset", "support", "constraint")

    k: int
    privacy: tuple[tuple[str, ...], ...]
    utility: tuple[tuple[str, ...], ...] | None = None
    """None where any items may stand for one another."""

    @property
    def words(self) -> str:
        allowed = "any items" if self.utility is None else _number(self.utility, "utility constraint")
        return f"k = {self.k}, of {_number(self.privacy, 'privacy constraint')}, within {allowed}"

    def broken(self, release: Generalised) -> Iterable[Row]:
        published = release.published
        for fault in broken_privacy(published, self.privacy, k=self.k):
            yield "privacy", fault.itemset, fault.support, fault.constraint
        if self.utility is not None:
            yield from (("utility", members, None, None) for members in broken_utility(published, self.utility))

    def lacking(self, release: Generalised) -> str | None:
        none = _items(release).isdisjoint(item for constraint in self.privacy for item in constraint)
        return "the release shows none of the protected items" if none else None

    def notes(self, release: Generalised) -> Iterable[str]:
        return _nowhere("protected", [item for constraint in self.privacy for item in constraint], release)


@dataclass(frozen=True)
class WholeSets(Promise[Generalised]):
    """Sets': whoever has an item of a set is shown to have the set, and nothing of it plain; no item is in two.

    So at least as many candidates remain as a set has items. How many people have it is not promised.
    """

    columns: ClassVar = ("broken", "itemset")

    sets: tuple[tuple[str, ...], ...] | None = None
    """The sets, None where they were drawn."""

    @property
    def words(self) -> str:
        return "each hidden item is shown as its set alone" + ("" if self.sets is None else ", as listed")

    def broken(self, release: Generalised) -> Iterable[Row]:
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

    def lacking(self, release: Generalised) -> str | None:
        return None if release.published.generalised else "the release shows no set of items"


@dataclass(frozen=True)
class Disassociation(_OfItemsets[Disassociated]):
    """The disassociation guarantee, by its closed form, and for small clusters by all that they may have been."""

    form: ClassVar = FormName.DISASSOCIATED
    columns: ClassVar[tuple[str, ...]] = ("kind", "cluster", "chunk", "itemset", "support", "what is wrong")

    def broken(self, release: Disassociated) -> Iterable[Row]:
        stated = replace(release, k=self.k, m=self.m)
        faults = (*check_release(stated), *enumerated(stated))
        return [
            (fault.kind, fault.cluster, fault.chunk, fault.itemset, fault.support, fault.message) for fault in faults
        ]

    def lacking(self, release: Disassociated) -> str | None:
        return None if any(cluster.items for cluster in release.clusters) or release.joints else NOTHING


def _items(release: Generalised) -> frozenset[str]:
    """What the transactions show, plain or as a member."""
    labels = {label for row in release.transactions for label in row}
    return frozenset(item for label in labels for item in release.members[label])


def _nowhere(kind: str, names: Iterable[str], release: Generalised) -> Iterator[str]:
    every = list(dict.fromkeys(names))
    missing = [name for name in every if name not in _items(release)]
    if missing:
        listed = ", ".join(map(shown, missing[:FEW])) + (", …" if len(missing) > FEW else "")
        yield f"{len(missing)} of {len(every)} {kind} items stand nowhere, suppressed or misspelt: {listed}"


def _number(counted: Sequence[object], name: str) -> str:
    return f"{len(counted)} {name}{'s' * (len(counted) != 1)}"
