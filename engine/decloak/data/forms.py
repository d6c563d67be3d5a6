"""Names of the published forms. Attacks, measures and errors all use these words."""

from enum import StrEnum

__all__ = ["FormName"]


class FormName(StrEnum):
    """The name of a published form."""

    SET_GENERALISED = "set-generalised"
    GENERALISED = "generalised"
    DISASSOCIATED = "disassociated"
    DISTANCES = "distance tables"
    ITEMSETS = "itemset-table"
    SYNTHETIC = "synthetic"
