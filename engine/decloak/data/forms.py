"""The forms a release can be published in, by name: what fits which is told in these words everywhere."""

from enum import StrEnum

__all__ = ["FormName"]


class FormName(StrEnum):
    """The name of a published form."""

    SET_GENERALISED = "set-generalised"
    GENERALISED = "generalised"
    DISASSOCIATED = "disassociated"
    DISTANCES = "distance tables"
