"""Synthetic records: drawn from a model of the data, so that none is the record of a person."""

from dataclasses import dataclass
from typing import ClassVar

from decloak.data.forms import FormName
from decloak.data.published import Published

__all__ = ["Synthetic"]


@dataclass(frozen=True, repr=False)
class Synthetic(Published):
    """Synthetic transactions.

    >>> Synthetic((("knee",),), ("1",)).rows_are_records
    False
    """

    form: ClassVar = FormName.SYNTHETIC
    rows_are_records: ClassVar[bool] = False
