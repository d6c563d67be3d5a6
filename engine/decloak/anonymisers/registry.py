"""Every method of anonymising, as a scenario names it and as one plain function: data in, a release out; no store.

Another method is a class like theirs, and a line here.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Union, cast, overload

from pydantic import Discriminator

from decloak.anonymisers.coat import CoatMethod
from decloak.anonymisers.disassociation import DisassociationMethod
from decloak.anonymisers.diversity import DiversityMethod
from decloak.anonymisers.generalisation import GeneralisationMethod
from decloak.anonymisers.kernels.coat import Coat
from decloak.anonymisers.lra_vpa import LraMethod, VpaMethod
from decloak.anonymisers.method import Method, Presented
from decloak.anonymisers.partition import PartitionMethod
from decloak.anonymisers.sets import SetsMethod
from decloak.counting.promises import Promise
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.ordering import Order, check_order
from decloak.data.published import Published
from decloak.errors import DecloakError, nearest, shown

__all__ = ["METHODS", "ONE_CUT", "AnyMethod", "anonymise", "promise_of", "published_parameters"]

ENTRIES: tuple[type[Method], ...] = (
    SetsMethod, DisassociationMethod, GeneralisationMethod, LraMethod, VpaMethod, PartitionMethod, DiversityMethod,
    CoatMethod,
)  # fmt: skip
PARTS = {anonymiser.name: entry for entry in ENTRIES for anonymiser in entry.anonymisers}
"""Each as a scenario says it, by its name."""
METHODS = {anonymiser.name: anonymiser for entry in ENTRIES for anonymiser in entry.anonymisers}
"""Each as a function, by its name."""
ONE_CUT = frozenset(anonymiser.name for entry in ENTRIES if entry.one_cut for anonymiser in entry.anonymisers)
"""Those that find one k^m-anonymous cut for all records."""

if TYPE_CHECKING:
    AnyMethod = Method
else:
    AnyMethod = Annotated[Union[ENTRIES], Discriminator("method")]  # noqa: UP007
"""What a scenario says under anonymise: any of them."""

Data = Dataset | Iterable[Iterable[str]]
Release = Published | Disassociated | Generalised | Coat


@overload
def anonymise(data: Data, method: str, *, sets: Iterable[Sequence[str]], order: Order = "sorted") -> Published: ...
@overload
def anonymise(
    data: Data,
    method: str,
    *,
    k: int,
    m: int,
    max_cluster: int | None = None,
    refine: bool = False,
    order: Order = "sorted",
) -> Disassociated: ...
@overload
def anonymise(
    data: Data, method: str, *, hierarchy: Hierarchy, order: Order = "sorted", **options: Any
) -> Generalised: ...
@overload
def anonymise(
    data: Data,
    method: str,
    *,
    privacy: Iterable[Sequence[str]],
    utility: Iterable[Sequence[str]],
    order: Order = "sorted",
    **options: Any,
) -> Coat: ...
def anonymise(data: Data, method: str, *, order: Order = "sorted", **options: Any) -> Release:
    """Anonymise transactions, a Dataset or any iterable of iterables of names.

    `cut`, `aa`, `da` and `oa` take k, m and hierarchy (`cut` also refine); `lra` and `vpa` also parts, flexibility or
    level, and processes; `partition` takes k and hierarchy; `diversity` takes l, m, sensitive and hierarchy; `coat`
    takes k, privacy, utility, suppress and items; `disassociation` takes k, m, refine, and max_cluster, by default a
    quarter of the records, at most 1,000 and at least k; `sets` takes sets, each published in place of its items.

    The release is sorted, its rows are numbered: no row tells which record it is of by its place or its id. In the
    order `recorded` rows stand as the records did, and so does what each shows.

    >>> tree = Hierarchy.from_parents({"flu": "illness", "cough": "illness", "knee": "*", "illness": "*"})
    >>> release = anonymise([["flu", "knee"], ["cough", "knee"]], "cut", k=2, m=2, hierarchy=tree)
    >>> release.transactions, release.ncp
    ((('illness', 'knee'), ('illness', 'knee')), 0.3333333333333333)
    """
    if not isinstance(method, str) or method not in METHODS:
        hint = nearest(str(method), METHODS) or f"methods are {', '.join(METHODS)}"
        raise DecloakError(f"unknown method {shown(method)}", hint=hint)
    check_order(order)
    presented = Presented.of(Dataset.of(data), order)
    release, _ = presented.published(METHODS[method](presented.data, options))
    parameters = {**release.parameters, **_parameters(options), "order": order}
    return cast(Release, replace(release, method=method, parameters=parameters))


def published_parameters(method: str, parameters: Mapping[str, Any]) -> dict[str, str | bool | int | float]:
    """What may be told of how a release in a store was made: what its method asks for, and of lists only how long they
    are; not what was drawn, nor how much was lost. Of somebody else's release k and m.
    """
    public = set(PARTS[method].model_fields) - {"method", "processes"} if method in PARTS else {"k", "m"}
    return _parameters({name: value for name, value in parameters.items() if name in public})


def promise_of(method: str, parameters: Mapping[str, Any]) -> Promise[Any]:
    """What a method promises, by the parameters that are told; an error where they do not say it."""
    if method not in PARTS:
        raise DecloakError(f"nobody knows what the method {shown(method)} promises", hint="give --k and --m")
    promised = PARTS[method].promised
    numbers = {entry.name: parameters[entry.name] for entry in fields(promised) if entry.type is int}
    if listed := [entry.name for entry in fields(promised) if entry.type is not int and entry.default is MISSING]:
        message = f"what {method} promises is about items that are told nowhere here ({listed[0]})"
        raise DecloakError(message, hint="give the scenario, or what stands under its anonymise, as --constraints")
    return promised(**numbers)


def _parameters(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a release may say of how it was made: of what was listed how many, for a list may name what is hidden."""
    counted = {name: len(value) if isinstance(value, list | Set) else value for name, value in options.items()}
    return {name: value for name, value in counted.items() if isinstance(value, str | bool | int | float)}
