"""The choices of a re-association attack: the value of a row, the number of rows of a unit, and the matching.

A unit is a part that was split off the records of a cluster: a distinct sub-record of the second or a later record
chunk, or a term. Rows are the records of the cluster, known by their anchors, the sub-records of its first record
chunk.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from decloak.errors import DecloakError
from decloak.rules.model import check_choice

__all__ = ["Combine", "Reassociation"]

Unit = Literal["term", "subrecord"]
Combine = Literal["mean", "upper_half", "best", "bayes", "fitted"]
Give = Literal["k - 1", "multiplicity", "expected"]
Match = Literal["best", "assignment", "expectation", "exact", "random"]


@dataclass(frozen=True)
class Reassociation:
    """A re-association attack.

    `combine` makes one value of a unit's scores with the items of an anchor: their `mean`, the mean of the
    `upper_half`, the `best`, or log odds by `bayes` or `fitted`. For fitted ones, the scores by each measure and the
    lifts of the release's own record chunks have weights that are learned from these chunks. It is for the kinds of
    `units`; the others use the mean. A sub-record goes to the published number of rows. A term, published once, goes to
    `k - 1` rows, the most it can be in, to one (`multiplicity`), or to the number `expected` of supports similar to the
    published ones. `best` matches every unit alone. `assignment` matches all sub-records of a chunk together.
    `expectation` uses the probability of every row with all units of a chunk, shared chunks included. `exact`
    enumerates the possibilities of a small cluster and uses `expectation` in the others. `random` draws rows.
    `consistent` excludes placements that the algorithm could not have published.

    >>> rga = Reassociation.build(units=["term"], combine="upper_half")
    >>> rga.combine_for("T"), rga.combine_for(1)
    ('upper_half', 'mean')
    """

    units: tuple[Unit, ...]
    combine: Combine
    give: Give
    match: Match
    consistent: bool

    @classmethod
    def build(
        cls,
        *,
        units: Sequence[str] = ("term", "subrecord"),
        combine: str | None = None,
        give: str = "k - 1",
        match: str = "best",
        consistent: bool = False,
        places: Mapping[str, str] | None = None,
    ) -> "Reassociation":
        """Check the choices and return the strategy; `places` has the location of each.

        `units`, `combine`, `give`, `match` and `consistent` are as in the rule file.
        """
        place = (places or {}).get
        kinds = tuple(check_choice(unit, get_args(Unit), place("units")) for unit in units)
        combined: Combine = check_choice("mean" if combine is None else combine, get_args(Combine), place("combine"))
        giving: Give = check_choice(give, get_args(Give), place("give"))
        matched: Match = check_choice(match, get_args(Match), place("match"))
        built = cls(kinds, combined, giving, matched, consistent)
        for choice, message, hint in _contradictions(built, combine is not None):
            raise DecloakError(message, place(choice), hint)
        return built

    @property
    def by_probability(self) -> bool:
        """Return True if rows are ranked by the probability that they have a unit."""
        return self.match in ("expectation", "exact")

    def combine_for(self, chunk: int | str) -> Combine:
        """Return how scores are combined for the units of `chunk`."""
        return self.combine if ("term" if chunk == "T" else "subrecord") in self.units else "mean"


def _contradictions(attack: Reassociation, combine_chosen: bool) -> Iterator[tuple[str, str, str]]:
    """Yield each contradiction between choices: the choice at fault, the problem, and the remedy."""
    if not attack.units or len(set(attack.units)) < len(attack.units):
        yield "units", "units are terms, sub-records or both", "write [term], [subrecord] or [term, subrecord]"
    if attack.match == "random" and combine_chosen:
        yield "combine", "a random match ignores scores", "leave combine out, or match: best"
    if attack.match == "random" and len(attack.units) < 2:
        yield "units", "a random match assigns terms and sub-records", "write [term, subrecord]"
    if attack.match != "random" and not combine_chosen:
        yield "combine", "the way to combine scores is missing", f"write one of {', '.join(get_args(Combine))}"
    if attack.consistent and attack.match not in ("assignment", "expectation", "exact"):
        message = "consistent needs a rule that matches all parts together"
        yield "consistent", message, "write match: assignment or match: expectation"
    if attack.match == "exact" and not (attack.consistent and attack.give == "expected"):
        message = "match: exact excludes what the method cannot publish, and weighs the number of rows of a term"
        yield "match", message, "also write consistent: true and give: expected"
    if attack.by_probability and (attack.combine not in ("bayes", "fitted") or len(attack.units) < 2):
        message = "probabilities need the log odds of terms and sub-records"
        yield "match", message, "write combine: bayes or combine: fitted, and leave units out"
