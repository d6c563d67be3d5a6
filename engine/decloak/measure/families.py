"""What a scenario may measure: families of measures by name, those that have settings as types."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from decloak.yaml.part import File, Part
from decloak.yaml.wording import Remedies

__all__ = ["MEASURES", "SET_MEASURES", "TORN_MEASURES", "Measure", "family_of", "missing_family", "settings_of"]

MEASURES = {
    "findings": ("findings",),
    "recovery": ("struck", "correct", "added", "precision", "chance", "lift", "recall", "f", "auc", "density"),
    "link": ("exposed", "exposed_true", "vanished", "unique", "unique_before"),
    "loss": ("ncp", "optimum", "ul_log10", "labels", "largest", "suppressed", "support_error"),
    "cost": ("cpu_seconds", "seconds"),
    "mining": ("ml2", "dml2", "dml2_lost", "tkd"),
    "accuracy": ("assigned", "true", "accuracy", "accuracy_row", "accuracy_class", "chance", "recall"),
    "breakage": ("transaction_breakage", "transaction_breakage_class", "km_breakage", "km_breakage_class"),
    "breach": ("cover_problems", "nontrivial", "breach", "vulnerable_items", "vulnerable_records"),
    "utility": ("tkd", "re", "tlost"),
    "wmd": ("wmd",),
}
"""What an expectation may compare, by what must be measured for it; the findings are always counted."""
SET_MEASURES = ("recovery", "link", "loss", "cost", "mining")
TORN_MEASURES = ("accuracy", "breakage", "breach", "utility", "wmd")


class Link(Part):
    """Which k^m protection the attacks are measured against."""

    k: int = Field(2, ge=2)
    """Transactions that must remain possible."""
    m: int = Field(2, ge=1, le=4)
    """Items that somebody may know of a person."""


class LinkMeasure(Part):
    """What an attack exposes to somebody who knows a few items of a person."""

    link: Link
    """The protection."""


class Breach(Part):
    """How privacy breaches by cover problems are added up."""

    reading: Literal["sound", "literal", "per_item", "sum"] = "sound"
    """Barakat et al. as proved, to the letter of their listing, by item, or all of them."""


class BreachMeasure(Part):
    """What an attacker's knowledge makes of cover problems."""

    breach: Breach
    """The reading."""


class Utility(Part):
    """What a disassociated release keeps of frequent itemsets."""

    top: int = Field(100, ge=1)
    """How many of the most frequent itemsets are compared."""


class UtilityMeasure(Part):
    """What a disassociated release keeps."""

    utility: Utility
    """The settings."""


class Mining(Part):
    """What mining finds in a generalised release."""

    support: float = Field(0.01, gt=0, le=1)
    """The share of the transactions that hold a frequent itemset."""
    top: int = Field(100, ge=1)
    """How many of the most frequent itemsets are compared."""


class MiningMeasure(Part):
    """What mining still finds at every level of the hierarchy."""

    mining: Mining
    """The settings."""


class Wmd(Part):
    """Word vectors for the word mover's distance."""

    vectors: File
    """Word vectors (GloVe or word2vec), or a CSV file without a header: an item, then the numbers of its vector."""


class WmdMeasure(Part):
    """How far reconstructed records are from the true ones."""

    wmd: Wmd
    """The vectors."""


WithSettings = LinkMeasure | MiningMeasure | BreachMeasure | UtilityMeasure | WmdMeasure


def _measuring(figure: str) -> list[str]:
    """The families that have a figure."""
    return [family for family, figures in MEASURES.items() if figure in figures]


def _instead(figure: str) -> str:
    """What to write for a figure that somebody lists as if it were a family."""
    families = _measuring(figure)
    if families == ["findings"]:
        return "leave it out, findings are always counted"
    if families == ["wmd"]:
        return "write {wmd: {vectors: FILE}}"
    return f"write {' or '.join(families)}, which measure{'s' if len(families) == 1 else ''} {figure}"


Measure = Annotated[
    Literal["recovery", "link", "loss", "cost", "mining", "accuracy", "breakage", "breach", "utility"] | WithSettings,
    Remedies({figure: _instead(figure) for figures in MEASURES.values() for figure in figures}),
]


def family_of(measure: str | WithSettings) -> str:
    """The name of a measure; with settings it is its one key."""
    return measure if isinstance(measure, str) else next(iter(type(measure).model_fields))


def missing_family(figure: str, measured: Sequence[str], fitting: Sequence[str]) -> str | None:
    """What must be measured for a figure, one that fits the data if there is one; None where nothing is missing."""
    families = _measuring(figure)
    if not families or {"findings", *measured}.intersection(families):
        return None
    return next((one for one in families if one in fitting), families[0])


def settings_of(family: str, measures: Sequence[str | WithSettings]) -> dict[str, Any]:
    """The settings of a family, defaults included."""
    given = [getattr(one, family) for one in measures if not isinstance(one, str) and family_of(one) == family]
    defaults = {"link": Link(), "mining": Mining(), "breach": Breach(), "utility": Utility()}
    settings: Part | None = given[0] if given else defaults.get(family)
    return {} if settings is None else settings.model_dump()
