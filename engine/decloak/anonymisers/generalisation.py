"""Methods for k^m-anonymity with one cut of a hierarchy for all records: cut, AA, DA and OA."""

from functools import partial
from typing import ClassVar, Literal

from decloak.anonymisers.hierarchies import KM, Guarded, Records, km_faults, with_one_cut
from decloak.anonymisers.kernels import fast_cut
from decloak.anonymisers.kernels.apriori import aa, da
from decloak.anonymisers.kernels.optimal import oa
from decloak.anonymisers.kernels.raised_cut import Walked
from decloak.anonymisers.method import Anonymiser
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from decloak.yaml.section import ConfigErrors

__all__ = ["GeneralisationMethod"]


def _cut(tree: Hierarchy, records: Records, k: int, m: int, refine: bool = False) -> Walked:
    nodes = fast_cut.cut(tree, records, k, m)
    return Walked(fast_cut.refine(tree, records, k, m, nodes) if refine else nodes)


def _oa(tree: Hierarchy, records: Records, k: int, m: int) -> Walked:
    """Return the optimal cut. Its search builds no count tree."""
    return Walked(oa(tree, records, k, m))


class GeneralisationMethod(Guarded):
    """k^m-anonymity with one cut for all records: cut is fast, aa and da are from the papers, oa tries every cut."""

    one_cut: ClassVar = True
    anonymisers: ClassVar = (
        Anonymiser("cut", partial(with_one_cut, _cut, "cut"), km_faults, KM, {"refine"}),
        *(
            Anonymiser(name, partial(with_one_cut, find, name), km_faults, KM)
            for name, find in {"aa": aa, "da": da, "oa": _oa}.items()
        ),
    )

    method: Literal["cut", "aa", "da", "oa"]
    """The name of the method."""
    refine: bool = False
    """True to split labels again, the most expensive first, as far as the guarantee allows (cut)."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error if another method than cut is refined."""
        yield from super().config_errors()
        if self.method != "cut" and "refine" in self.model_fields_set:
            yield ("refine",), DecloakError(f"{self.method} is not refined", hint="delete it, or method: cut")
