"""k^m-anonymity by one cut of a hierarchy for all records: cut, AA, DA and OA."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar, Literal

from decloak.anonymisers.hierarchies import Guarded, Records, everywhere, settings
from decloak.anonymisers.kernels import fast_cut
from decloak.anonymisers.kernels.apriori import aa, da
from decloak.anonymisers.kernels.optimal import oa
from decloak.anonymisers.method import Anonymiser, Options
from decloak.counting.generalisation_guarantee import check_generalised
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy, Ints
from decloak.errors import DecloakError
from decloak.yaml.part import Found

__all__ = ["CUTS", "GeneralisationMethod"]


def _cut(tree: Hierarchy, records: Records, k: int, m: int, refine: bool = False) -> Ints:
    cut = fast_cut.cut(tree, records, k, m)
    return fast_cut.refine(tree, records, k, m, cut) if refine else cut


CUTS: dict[str, Callable[..., Ints]] = {"cut": _cut, "aa": aa, "da": da, "oa": oa}
_NEEDS = frozenset({"k", "m", "hierarchy"})


def _make(method: str, data: Dataset, options: Options) -> Generalised:
    return everywhere(lambda tree, records: CUTS[method](tree, records, **settings(options)), data, method, options)


def _faults(data: Dataset, release: Generalised, options: Options) -> Iterable[object]:
    return check_generalised(data, release, options["k"], options["m"])


class GeneralisationMethod(Guarded):
    """k^m-anonymity by one cut for all records: cut is fast, aa and da are the papers', oa tries every cut."""

    one_cut: ClassVar = True
    anonymisers: ClassVar = (
        Anonymiser("cut", partial(_make, "cut"), _faults, _NEEDS, frozenset({"refine"})),
        *(Anonymiser(name, partial(_make, name), _faults, _NEEDS) for name in ("aa", "da", "oa")),
    )

    method: Literal["cut", "aa", "da", "oa"]
    """The name of the method."""
    refine: bool = False
    """Whether labels are taken apart again, the dearest first, as far as the guarantee lets (cut)."""

    def mistakes(self) -> Found:
        """Only the fast form is refined."""
        if self.method != "cut" and "refine" in self.model_fields_set:
            yield ("refine",), DecloakError(f"{self.method} is not refined", hint="delete it, or method: cut")
