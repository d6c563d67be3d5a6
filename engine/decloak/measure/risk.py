"""The risk card: whom a release tells of, before and after an attack, in people of so many, whatever its form."""

from functools import singledispatch
from typing import Any

from decloak.data.forms import FormName
from decloak.measure.family import AttackedRelease, Family, Measured
from decloak.measure.kernels.crowd import MOST_ITEMS
from decloak.measure.risk_figures import FIGURES, Risk
from decloak.releases.held import HeldChunks, HeldRelease, HeldSets

__all__ = ["FAMILY"]


def _measure(attacked: AttackedRelease[HeldRelease]) -> Measured:
    return list(_risk(attacked.release, attacked).figures()), None


@singledispatch
def _risk(held: HeldRelease, attacked: AttackedRelease[Any]) -> Risk:
    raise TypeError(f"no risk card of {type(held).__name__}")


@_risk.register
def _of_sets(held: HeldSets, attacked: AttackedRelease[Any]) -> Risk:
    from decloak.measure.risk_sets import risk_of_sets

    return risk_of_sets(held, attacked)


@_risk.register
def _of_chunks(held: HeldChunks, attacked: AttackedRelease[Any]) -> Risk:
    from decloak.measure.risk_chunks import risk_of_chunks

    return risk_of_chunks(held, attacked)


FAMILY = Family(
    name="risk",
    about=f"Whom a release tells of, in people; always measured; by {MOST_ITEMS} rarest items",
    figures=FIGURES,
    measure=_measure,
    fits=frozenset(FormName),
    always=True,
)
