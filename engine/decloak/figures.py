"""The dictionary of figures: the key, title, unit, direction and definition of everything that decloak measures.

Help, columns, keys of `expect`, plots, pages, the reference and the table `figure` of a store are made from
`DICTIONARY`. A figure that is measured in several ways (before and after an attack, say) has one entry, and an ending
of its key for each way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple


class Bounds(NamedTuple):
    """The smallest and the largest possible value of a figure; None if there is no such bound."""

    low: float | None = None
    high: float | None = None


REAL = Bounds()
SHARE = Bounds(0.0, 1.0)
SIGNED = Bounds(-1.0, 1.0)
COUNT = Bounds(0.0)
GAIN = Bounds(None, 1.0)

MOST_KNOWN = 3
"""Items that an attacker knows of a person, at most."""

WAYS = {
    "_original": "original data",
    "_release": "release",
    "": "after attack",
    "_baseline": "baseline",
    "_control": "control",
    "_low": "lower end of the 95% interval",
    "_high": "upper end of the 95% interval",
}
"""Endings of a key, and the data behind the figure. The control is people who are not in the data."""
PUBLISHED = ("_original", "_release", "_control", "_low", "_high")
"""The ways without an attack."""


class Direction(StrEnum):
    """The meaning of a higher value."""

    EXPOSES = "more is exposed"
    LOSES = "more is lost"
    COSTS = "it takes longer"
    NONE = ""


UNITS = {
    "share": SHARE,
    "of baseline errors": GAIN,
    "of control errors": Bounds(None, 1.0),
    "ratio": COUNT,
    "relative error": Bounds(0.0, 2.0),
    "squared error": SHARE,
    "levels": COUNT,
    "distance": COUNT,
    "seconds": COUNT,
    "log10": REAL,
}
"""Units that are no counts, with the least and the largest value that is possible."""


@dataclass(frozen=True)
class Metric:
    """A figure. Its `unit` is one of `UNITS`, or the name of the things that it counts.

    `families` measure it, in all of the `ways`. With `column` the table of a run has it; `decloak show` always does. A
    figure `of_release` is known although an attack had nothing to do.
    """

    key: str
    title: str
    unit: str
    definition: str
    direction: Direction
    families: tuple[str, ...]
    ways: tuple[str, ...] = ("",)
    column: bool = False
    of_release: bool = False
    way: str = ""
    """The way of a figure that `metrics_of` returned."""

    @property
    def count(self) -> bool:
        """Say whether it counts things."""
        return self.unit not in UNITS

    @property
    def clock(self) -> bool:
        """Say whether it is a time, which no two machines have in common."""
        return self.unit == "seconds"

    @property
    def bounds(self) -> Bounds:
        """Return the least and the largest possible value."""
        return UNITS.get(self.unit, COUNT)

    @property
    def base(self) -> str:
        """Return the key without the ending of the way."""
        return self.key.removesuffix(self.way)

    @property
    def before(self) -> str | None:
        """Return the key of the figure before the attack, or None."""
        return f"{self.key}_release" if self.way == "" and "_release" in self.ways else None

    def bounds_of(self, of: float | None, baselines: Sequence[float | None] = ()) -> Bounds:
        """Return the bounds of a count of `of` things, or of a share beyond `baselines`."""
        if self.count:
            return Bounds(0.0, of)
        # At a baseline of 1 there are no errors to be a share of, and no lower bound.
        highest = max((baseline for baseline in baselines if baseline is not None), default=1.0)
        if self.bounds == GAIN and self.unit == "of baseline errors" and highest < 1:
            return Bounds(-highest / (1 - highest), 1.0)  # nothing is worse than all wrong
        return self.bounds

    def in_each_way(self) -> Iterator["Metric"]:
        """Yield one metric for each way, with the key that the store has."""
        for number, ending in enumerate(self.ways):
            yield replace(
                self,
                key=f"{self.key}{ending}",
                title=f"{self.title}, {WAYS[ending]}" if ending else self.title,
                definition=self.definition if not number else f"{self.definition} ({WAYS[ending]})",
                # These ways have a value without any attack.
                of_release=self.of_release or ending in PUBLISHED,
                way=ending,
            )


_PEOPLE = ("_original", "_release", "", "_baseline")
_EXPOSES, _LOSES, _COSTS, _NONE = Direction


def _exposure() -> Iterator[Metric]:
    """Yield the figures of the family exposure; several have one entry for each number of known items."""
    family = ("exposure",)
    yield Metric("people", "people", "people", "people that these figures count", _NONE, family, of_release=True)
    for known in range(1, MOST_KNOWN + 1):
        items = "1 item" if known == 1 else f"up to {known} items"
        said = f"people whose record alone fits {items}"
        yield Metric(f"singled_out_{known}", f"singled out with {items}", "people", said, _EXPOSES, family, _PEOPLE)
    yield Metric(
        "inferred_own", "item known or inferred (expected)", "people", "people with an item shown, or rightly guessed",
        _EXPOSES, family, ("_release", "", "_baseline"),
    )  # fmt: skip
    yield Metric(
        "implied", "third item implied by 2 items", "people", "people with 2 items that imply a third",
        _EXPOSES, family, ("_original", "_release", "_control"),
    )  # fmt: skip
    yield Metric(
        "hidden", "hidden", "share", "item occurrences not shown with their record", _LOSES, family, of_release=True
    )
    yield Metric("certain_links", "certain links", "links", "links with p of .80 or more that are right",
                 _EXPOSES, family)  # fmt: skip
    yield Metric("certain_links_people", "with a certain link (p≥0.8)", "people", "people with a certain link",
                 _EXPOSES, family)  # fmt: skip
    for known in range(1, MOST_KNOWN + 1):
        items = "1 random item" if known == 1 else f"{known} random items"
        said = f"people found with p > 1/11, {items} known"
        ways = ("", "_original", "_release")
        yield Metric(f"exposed_{known}", f"exposed with {items}", "people", said, _EXPOSES, family, ways)
        said = f"people with a right guess, {items} known"
        yield Metric(f"inferred_{known}", f"further item inferred with {items}", "people", said, _NONE, family,
                     ("_release", "_control"))  # fmt: skip
        for ending, guesses in {"": "", "_at_1": ", surest 1%", "_at_5": ", surest 5%"}.items():
            said = f"right, of what control has wrong{guesses or ', all guesses'}"
            yield Metric(
                f"inference_advantage_{known}{ending}", f"inference advantage with {items}{guesses}",
                "of control errors", said, _EXPOSES, family, ("", "_low", "_high"), of_release=True,
            )  # fmt: skip
    yield Metric("membership_auc", "membership AUC", "share", "a member scores above a control", _EXPOSES, family,
                 of_release=True)  # fmt: skip
    yield Metric("membership_at_1", "members at 1%", "share", "members found at 1% false positives", _EXPOSES, family,
                 of_release=True)  # fmt: skip


def _utility() -> Iterator[Metric]:
    """Yield the figures of the family utility that every form has."""
    family = ("utility",)
    for size in range(1, MOST_KNOWN + 1):
        items = "1 item" if size == 1 else f"{size} items"
        yield Metric(f"count_error_{size}", f"count error, {items}", "ratio", f"how far off counts of {items} are",
                     _LOSES, family, of_release=True)  # fmt: skip
    yield Metric("count_error", "count error", "ratio", "mean error of counts of 1, 2 and 3 items", _LOSES, family,
                 column=True, of_release=True)  # fmt: skip
    yield Metric("count_error_median", "count error, median", "ratio", "median error of all counts", _LOSES, family,
                 of_release=True)  # fmt: skip
    yield Metric("count_error_95", "count error, 95th percentile", "ratio", "5% of the counts have a larger error",
                 _LOSES, family, of_release=True)  # fmt: skip
    yield Metric("count_error_within", "count error, constraints", "ratio", "error inside utility constraints",
                 _LOSES, family, of_release=True)  # fmt: skip
    yield Metric("count_error_within_most", "count error, worst constraint", "ratio", "the largest such error",
                 _LOSES, family, of_release=True)  # fmt: skip
    yield Metric("classification", "class predicted", "share", "people of the control whose class is predicted", _NONE,
                 family, ("_original", "_release", "_baseline"), of_release=True)  # fmt: skip
    yield Metric("itemsets_lost", "itemsets lost", "share", "frequent itemsets lost, by estimates", _LOSES, family,
                 of_release=True)  # fmt: skip
    yield Metric("itemsets_f1", "itemsets F1", "share", "frequent itemsets found by estimates", _NONE, family,
                 of_release=True)  # fmt: skip


_BOTH = ("recovery", "accuracy")

DICTIONARY: tuple[Metric, ...] = (
    Metric("findings", "findings", "findings", "facts that a rule derives, such as rare itemsets", _NONE,
           ("findings",), column=True),
    Metric("label_share", "items of a label", "share", "share of all items behind a shown label", _LOSES,
           ("identifiers",), of_release=True),
    Metric("reidentified_by_id", "re-identified by ids", "people", "people whose row carries their id", _EXPOSES,
           ("identifiers",), of_release=True),
    Metric("reidentified_by_order", "re-identified by row order", "people", "people whose row is at its original place",
           _EXPOSES, ("identifiers",), ("", "_baseline"), of_release=True),
    Metric("revealed_by_members", "revealed by the order of members", "people",
           "people with an item revealed by its place in brackets", _EXPOSES, ("identifiers",), ("", "_baseline"),
           of_release=True),
    *_exposure(),
    Metric("guarantee_violations", "guarantee violations", "violations",
           "0: the release meets its guarantee; 1: it does not", _EXPOSES, ("guarantee",), of_release=True),
    Metric("eliminated", "eliminated", "members", "members that an attack eliminates as added", _NONE, ("recovery",),
           column=True),
    Metric("correct", "correct", "members", "eliminated members that are added", _EXPOSES, ("recovery",), column=True),
    Metric("added", "added", "members", "added members, eliminated or not", _NONE, ("recovery",)),
    Metric("precision", "precision", "share", "correct / eliminated", _EXPOSES, ("recovery",), column=True),
    Metric("assigned", "assigned", "rows", "rows that an attack assigned something to", _NONE, ("accuracy",),
           column=True),
    Metric("true", "assignable", "rows", "rows whose record has something to assign", _NONE, ("accuracy",)),
    Metric("accuracy", "accuracy", "share", "assigned to the right record, of all assigned", _EXPOSES, ("accuracy",),
           column=True),
    Metric("accuracy_class", "accuracy by class", "share", "accuracy, any record with an equal anchor being right",
           _EXPOSES, ("accuracy",)),
    Metric("baseline", "baseline", "share", "expected precision or accuracy of random guessing", _NONE, _BOTH,
           column=True),
    Metric("normalised_advantage", "normalised advantage", "of baseline errors",
           "advantage / (1 - baseline); 0: random", _EXPOSES, _BOTH, column=True),
    Metric("p_random", "p of a random attack", "share", "probability that a random attack is right as often", _NONE,
           _BOTH),
    Metric("recall", "recall", "share", "correct, of all that can be recovered", _EXPOSES, _BOTH, column=True),
    Metric("f1", "F1", "share", "2 * correct / (eliminated + added)", _EXPOSES, ("recovery",), column=True),
    Metric("auc", "AUC", "share", "1: added members are eliminated first; 0.5: random", _EXPOSES, ("recovery",),
           column=True),
    Metric("density", "density", "share", "original members, of all; mean over tables", _NONE, ("recovery",)),
    Metric("ncp", "NCP", "share", "information lost, of all", _LOSES, ("loss",), column=True),
    Metric("optimum", "optimum", "share", "the least NCP of any cut of the hierarchy", _NONE, ("loss",), column=True),
    Metric("labels", "labels", "labels", "labels left, items among them", _NONE, ("loss",), column=True),
    Metric("largest", "widest label", "share", "the share of all items that the widest label has", _LOSES, ("loss",),
           column=True),
    Metric("suppressed", "suppressed", "items", "items that the method suppressed", _LOSES, ("loss",), column=True),
    Metric("support_error", "support error", "ratio", "mean error of supports estimated from the release", _LOSES,
           ("loss",), column=True),
    Metric("ul_log10", "log10 UL", "log10", "utility loss of COAT, as a logarithm", _LOSES, ("loss",), column=True),
    Metric("cpu_seconds", "CPU s", "seconds", "CPU time of making the release", _COSTS, ("cost",), column=True),
    Metric("seconds", "seconds", "seconds", "elapsed time of making the release", _COSTS, ("cost",), column=True),
    Metric("tree_nodes", "tree nodes", "nodes", "nodes of the largest count tree that aa, da, lra or vpa visits",
           _COSTS, ("cost",), column=True),
    Metric("built_nodes", "built nodes", "nodes", "nodes of that tree as the papers build it, for itemsets of m",
           _COSTS, ("cost",), column=True),
    Metric("part_nodes", "part nodes", "nodes", "nodes of the largest tree that vpa builds for a part",
           _COSTS, ("cost",), column=True),
    Metric("ml2", "ML2", "share", "frequent itemsets that are lost, at all levels", _LOSES, ("mining",), column=True),
    Metric("dml2", "dML2", "levels", "levels higher at which they are found", _LOSES, ("mining",), column=True),
    Metric("dml2_lost", "dML2 of lost", "levels", "dML2 of those not found at their own level", _LOSES, ("mining",),
           column=True),
    Metric("tkd", "top lost", "share", "most frequent itemsets no longer among these", _LOSES,
           ("mining", "utility"), column=True),
    Metric("brier", "Brier", "squared error", "mean squared error of the probabilities; 0 is best", _NONE,
           ("calibration",), ("", "_baseline")),
    Metric("miscalibration", "miscalibration", "share", "error of the probabilities, by tenths; 0 is best", _NONE,
           ("calibration",)),
    Metric("tenth_p", "p of a tenth", "share", "mean p of a tenth of probability (`--tables`)", _NONE,
           ("calibration",)),
    Metric("tenth_right", "right of a tenth", "share", "right findings of that tenth", _NONE, ("calibration",)),
    Metric("transaction_breakage", "records with an item recovered", "share", "records with an item recovered",
           _EXPOSES, ("breakage",), column=True),
    Metric("transaction_breakage_class", "records with an item recovered by class", "share",
           "records with an item recovered, by equal anchors", _EXPOSES, ("breakage",)),
    Metric("km_breakage", "itemsets exposed", "share", "protected itemsets that are re-associated", _EXPOSES,
           ("breakage",), column=True),
    Metric("km_breakage_class", "itemsets exposed by class", "share", "itemsets exposed, by equal anchors", _EXPOSES,
           ("breakage",)),
    Metric("cover_problems", "cover problems", "problems", "sets of items that fewer than k records have", _EXPOSES,
           ("breach",), column=True),
    Metric("breach", "breach", "problems", "cover problems that the attacker's knowledge breaches", _EXPOSES,
           ("breach",), column=True),
    Metric("vulnerable_items", "vulnerable items", "items", "items of a cluster that are breached", _EXPOSES,
           ("breach",), column=True),
    Metric("vulnerable_records", "vulnerable records", "records", "records of which a breach is true", _EXPOSES,
           ("breach",), column=True),
    Metric("attack_cpu_seconds", "attack CPU s", "seconds", "CPU time of the attack", _COSTS, ("time",), column=True),
    Metric("detection_seconds", "detection s", "seconds", "CPU time of detecting breaches", _COSTS, ("time",),
           column=True),
    Metric("coverage_items", "items covered", "share", "items with a score, of those the attack needs", _NONE,
           ("coverage",), of_release=True),
    Metric("coverage_pairs", "pairs covered", "share", "pairs with a score, of those the attack needs", _NONE,
           ("coverage",), of_release=True),
    Metric("coverage_occurrences", "occurrences covered", "share", "cells, or sub-records, with a score", _NONE,
           ("coverage",), of_release=True),
    Metric("coverage_least", "least coverage", "share", "share of pairs that a test of a release needs", _NONE,
           ("coverage",), of_release=True),
    *_utility(),
    Metric("re", "pair error", "relative error", "mean relative error of the supports of pairs", _LOSES, ("utility",),
           column=True),
    Metric("tlost", "items lost", "share", "items in k records or more that nothing shows", _LOSES, ("utility",),
           column=True),
    Metric("wmd", "WMD", "distance", "mean cost of moving a record to its reconstruction", _NONE, ("wmd",),
           column=True),
)  # fmt: skip
"""All figures, in the order of tables and texts."""


def all_metrics() -> Iterator[Metric]:
    """Yield the metrics of the dictionary, one for each way, by the keys of the store."""
    return (one for metric in DICTIONARY for one in metric.in_each_way())


def metrics_of(family: str) -> tuple[Metric, ...]:
    """Return the metrics of a `family`, one for each way, by the keys of the store."""
    return tuple(one for metric in DICTIONARY if family in metric.families for one in metric.in_each_way())


RENAMED = {
    "struck": "eliminated(ATTACK)",
    "chance": "baseline(ATTACK)",
    "gain": "normalised_advantage(ATTACK)",
    "lead": "precision(ATTACK) - baseline(ATTACK)",
    "lift": "precision(ATTACK) / baseline(ATTACK)",
    "f": "f1(ATTACK)",
    "accuracy_row": "accuracy(ATTACK)",
    "attack_seconds": "attack_cpu_seconds(ATTACK)",
    "nontrivial": "cover_problems(ATTACK)",
    "brier_chance": "brier_baseline(ATTACK)",
    "identified_by_id": "reidentified_by_id",
    "identified_by_order": "reidentified_by_order",
    "identified_by_order_baseline": "reidentified_by_order_baseline",
    **{
        f"certain_{percent}{ending}": f"certain_links{people}"
        for percent in (50, 80, 90, 95)
        for ending, people in {"": "", "_right": "", "_people": "_people"}.items()
    },
}
"""Old keys, and their replacements in a scenario; ATTACK is replaced by the name of an attack."""


def new_name(old: str, attack: str = "ATTACK") -> str | None:
    """Return the replacement of the old key `old` of an attack, or None if the key was never in use."""
    new = RENAMED.get(old)
    return None if new is None else new.replace("ATTACK", attack)
