"""Guarantees about sensitive items: rho-uncertainty and (h, k, p)-coherence, checked from a release alone.

rho-uncertainty (Cao, Karras, Raissi and Tan, 2010): an attacker knows up to a items of a person, also sensitive ones.
The attacker infers another sensitive item with a probability of at most rho. (h, k, p)-coherence (Xu, Wang, Fu and Yu,
2008): up to p public items of a person are in at least k records. At most a share of h of these records has the same
private item.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from decloak.checks import check_whole
from decloak.counting.generalisation_guarantee import confident_rules, disguised
from decloak.counting.guarantees import Guarantee, Row, shown_items
from decloak.counting.violations import RareSets
from decloak.data.generalised import Generalised
from decloak.data.representation import counted
from decloak.errors import DecloakError


@dataclass(frozen=True)
class _AboutSensitive(Guarantee[Generalised]):
    """A guarantee about listed sensitive items, which a release publishes unchanged or suppresses."""

    sensitive: tuple[str, ...]

    def inapplicable_reason(self, release: Generalised) -> str | None:
        return (
            "the release shows none of the sensitive items" if shown_items(release).isdisjoint(self.sensitive) else None
        )

    def _disguised(self, release: Generalised) -> Iterable[tuple[tuple[str, ...], str]]:
        """Yield the labels that contain a sensitive item: the guarantee is about items that are shown plain."""
        return (((label,), item) for label, item in disguised(release, frozenset(self.sensitive)))


@dataclass(frozen=True)
class Uncertainty(_AboutSensitive):
    """rho-uncertainty: `known` is the number of items that an attacker knows, `rho` the largest confidence."""

    columns: ClassVar[tuple[str, ...]] = ("known", "sensitive item", "have it", "of")

    rho: float
    known: int

    def __post_init__(self) -> None:
        _check_share("rho", self.rho)
        check_whole(1, known=self.known)

    @property
    def statement(self) -> str:
        return f"rho = {self.rho:g}, known = {self.known}, {counted(len(self.sensitive), 'sensitive item')}"

    def violations(self, release: Generalised) -> Iterable[Row]:
        yield from ((*shown, None, None) for shown in self._disguised(release))
        hidden, limit = frozenset(self.sensitive), _exact(self.rho)
        rules = confident_rules(release.transactions, hidden, self.known, sensitive_known=True)
        yield from sorted(rule for rule in rules if rule[2] > limit * rule[3])


@dataclass(frozen=True)
class Coherence(_AboutSensitive):
    """(h, k, p)-coherence: `h` is the largest confidence, `k` the least support, `p` the number of known items."""

    columns: ClassVar[tuple[str, ...]] = ("violated", "known", "sensitive item", "have it", "of")
    parts: ClassVar = ("disguised", "support", "confidence")

    h: float
    k: int
    p: int

    def __post_init__(self) -> None:
        _check_share("h", self.h)
        check_whole(1, k=self.k, p=self.p)

    @property
    def statement(self) -> str:
        return f"h = {self.h:g}, k = {self.k}, p = {self.p}, {counted(len(self.sensitive), 'sensitive item')}"

    def violations(self, release: Generalised) -> Iterable[Row]:
        yield from (("disguised", *shown, None, None) for shown in self._disguised(release))
        hidden, limit = frozenset(self.sensitive), _exact(self.h)
        public = [tuple(label for label in row if label not in hidden) for row in release.transactions]
        rare = RareSets(public, self.k, self.p).first(None)
        yield from sorted(("support", tuple(sorted(labels)), None, None, support) for labels, support in rare)
        rules = confident_rules(release.transactions, hidden, self.p)
        yield from sorted(("confidence", *rule) for rule in rules if rule[2] > limit * rule[3])


def _exact(share: float) -> Fraction:
    """Return the decimal number that was written: 0.1 is one tenth, not the float next to it."""
    return Fraction(repr(float(share)))


def _check_share(name: str, share: float) -> None:
    if not 0 < share < 1:
        raise DecloakError(f"{name} is {share:g}", hint="give a share above 0 and below 1, such as 0.5")
