"""What a scenario may say of its measures: those that have settings, as types."""

from typing import Literal

from pydantic import Field

from decloak.parts import File, Part

__all__ = [
    "Breach",
    "BreachMeasure",
    "Link",
    "LinkMeasure",
    "Mining",
    "MiningMeasure",
    "Utility",
    "UtilityMeasure",
    "Wmd",
    "WmdMeasure",
]


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
