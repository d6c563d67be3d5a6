"""All anonymisation methods, as scenarios name them and as one plain function: data in, a release out; no store.

A new method is a class like theirs, and a line here or a plugin.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Annotated, Literal, Union, cast, get_args, overload

from pydantic import Discriminator

from decloak.anonymisers.coat import CoatMethod
from decloak.anonymisers.disassociation import DisassociationMethod
from decloak.anonymisers.diversity import DiversityMethod
from decloak.anonymisers.generalisation import GeneralisationMethod, LraMethod, PartitionMethod, VpaMethod
from decloak.anonymisers.itemsets import ItemsetsMethod
from decloak.anonymisers.kernels.coat import Coat
from decloak.anonymisers.kernels.coat_partner import Closeness, PartnerChoice
from decloak.anonymisers.kernels.disassociation import CoverCure
from decloak.anonymisers.method import Method, OrderedInput
from decloak.anonymisers.sets import SetsMethod
from decloak.anonymisers.suppression import SuppressionMethod
from decloak.anonymisers.synthetic import SyntheticMethod
from decloak.counting.guarantees import AnyGuarantee
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.itemset_table import ItemsetTable
from decloak.data.ordering import Order, check_order
from decloak.data.published import Published, Synthetic
from decloak.digest import Config, JsonObject
from decloak.errors import DecloakError, quote, suggest
from decloak.plugins import with_plugins

_INCLUDED: tuple[type[Method], ...] = (
    SetsMethod, DisassociationMethod, GeneralisationMethod, LraMethod, VpaMethod, PartitionMethod, DiversityMethod,
    CoatMethod, SuppressionMethod, ItemsetsMethod, SyntheticMethod,
)  # fmt: skip


def _names(entry: type[Method]) -> list[str]:
    made = {anonymiser.name for anonymiser in entry.anonymisers}
    return [name for name in get_args(entry.model_fields["method"].annotation) if name in made]


ENTRIES = with_plugins("methods", Method, _INCLUDED, _names)
PARTS = {anonymiser.name: entry for entry in ENTRIES for anonymiser in entry.anonymisers}
"""The section of each method, by name."""
METHODS = {anonymiser.name: anonymiser for entry in ENTRIES for anonymiser in entry.anonymisers}
"""The function of each method, by name."""
CHOICES = frozenset(
    word
    for entry in ENTRIES
    for option in entry.model_fields.values()
    for part in (option.annotation, *get_args(option.annotation))
    for word in get_args(part)
    if isinstance(word, str)
)
"""The words that options of methods may have, such as `cells`: they reveal nothing of the data."""
ONE_CUT = frozenset(anonymiser.name for entry in ENTRIES if entry.one_cut for anonymiser in entry.anonymisers)
"""Methods with one k^m-anonymous cut for all records."""

if TYPE_CHECKING:
    AnyMethod = Method
else:
    AnyMethod = Annotated[Union[ENTRIES], Discriminator("method")]  # noqa: UP007
"""What a scenario says under anonymise: any of them."""

Data = Dataset | Iterable[Iterable[str]]
Release = Published | Disassociated | Generalised | ItemsetTable


ItemSets = Iterable[Sequence[str]]


# One overload for each set of options, so that editors complete them and type checkers refuse others.
@overload
def anonymise(data: Data, method: Literal["sets"], *, sets: ItemSets, order: Order = "sorted") -> Published: ...
@overload
def anonymise(
    data: Data,
    method: Literal["disassociation"],
    *,
    k: int,
    m: int,
    max_cluster: int | None = None,
    refine: bool = False,
    cover: CoverCure | None = None,
    totals: bool = False,
    order: Order = "sorted",
) -> Disassociated: ...
@overload
def anonymise(
    data: Data,
    method: Literal["cut"],
    *,
    k: int,
    m: int,
    hierarchy: Hierarchy,
    refine: bool = False,
    negative: bool = False,
    order: Order = "sorted",
) -> Generalised: ...
@overload
def anonymise(
    data: Data, method: Literal["aa", "da", "oa"], *, k: int, m: int, hierarchy: Hierarchy, order: Order = "sorted"
) -> Generalised: ...
@overload
def anonymise(
    data: Data,
    method: Literal["lra"],
    *,
    k: int,
    m: int,
    hierarchy: Hierarchy,
    parts: int = 3,
    flexibility: int = 10,
    processes: int = 1,
    order: Order = "sorted",
) -> Generalised: ...
@overload
def anonymise(
    data: Data,
    method: Literal["vpa"],
    *,
    k: int,
    m: int,
    hierarchy: Hierarchy,
    parts: int = 3,
    level: int = 1,
    processes: int = 1,
    order: Order = "sorted",
) -> Generalised: ...
@overload
def anonymise(
    data: Data, method: Literal["partition"], *, k: int, hierarchy: Hierarchy, order: Order = "sorted"
) -> Generalised: ...
@overload
def anonymise(
    data: Data,
    method: Literal["diversity"],
    *,
    l: int,  # noqa: E741 (the symbol of the literature)
    m: int,
    sensitive: Iterable[str],
    hierarchy: Hierarchy,
    order: Order = "sorted",
) -> Generalised: ...
@overload
def anonymise(
    data: Data,
    method: Literal["coat"],
    *,
    k: int,
    privacy: ItemSets,
    utility: ItemSets,
    suppress: float = 1.0,
    items: Iterable[str] = (),
    partner: PartnerChoice | None = None,
    near: Closeness | Sequence[Closeness] = (),
    population: Data | None = None,
    slack: float = 1.0,
    order: Order = "sorted",
) -> Coat: ...
@overload
def anonymise(
    data: Data,
    method: Literal["suppression"],
    *,
    k: int,
    m: int,
    suppress: Literal["items", "cells"],
    order: Order = "sorted",
) -> Published: ...
@overload
def anonymise(
    data: Data,
    method: Literal["itemsets"],
    *,
    k: int = 11,
    m: int = 3,
    zeros: Literal["refuse", "allow"] = "refuse",
    order: Order = "sorted",
) -> ItemsetTable: ...
@overload
def anonymise(
    data: Data,
    method: Literal["synthetic"],
    *,
    parts: int = 200,
    epsilon: float | None = None,
    seed: int | None = None,
    order: Order = "sorted",
) -> Synthetic: ...
@overload
def anonymise(data: Data, method: str, *, order: Order = "sorted", **options: object) -> Release: ...
def anonymise(data: Data, method: str, *, order: Order = "sorted", **options: object) -> Release:
    """Anonymise `data`, a Dataset or an iterable of sets of names, with `method`, and return the release.

    The `options` depend on the method:

    - `cut`, `aa`, `da`, `oa`: k, m and hierarchy. `cut` also has refine and negative.
    - `lra`, `vpa`: k, m, hierarchy, parts, processes, and flexibility or level.
    - `partition`: k and hierarchy. `diversity`: l, m, sensitive and hierarchy.
    - `coat`: k, privacy, utility, suppress and items. With partner, which is hard or even, also near, population and
      slack.
    - `disassociation`: k, m, refine, cover, totals and max_cluster. The default of max_cluster is a quarter of the
      records, at most 1,000 and at least k.
    - `suppression`: k, m, and suppress, which is items or cells.
    - `itemsets`: k, and optionally m and zeros, which is refuse or allow. The result is a table without records.
    - `synthetic`: parts, or epsilon, and seed. The records are drawn from a model.
    - `sets`: sets, which replace their items.

    With `order` "sorted", the release has a new order and new numbers, which reveal nothing about the records. With
    "recorded", the release keeps the order of the records and of their items.

    >>> tree = Hierarchy.from_parents({"flu": "illness", "cough": "illness", "knee": "*", "illness": "*"})
    >>> release = anonymise([["flu", "knee"], ["cough", "knee"]], "cut", k=2, m=2, hierarchy=tree)
    >>> release.transactions, release.ncp
    ((('illness', 'knee'), ('illness', 'knee')), 0.3333333333333333)
    """
    if not isinstance(method, str) or method not in METHODS:
        hint = suggest(str(method), METHODS) or f"methods are {', '.join(METHODS)}"
        raise DecloakError(f"unknown method {quote(method)}", hint=hint)
    check_order(order)
    ordered = OrderedInput.from_data(Dataset.of(data), order)
    release, _ = ordered.reorder(METHODS[method](ordered.data, options))
    parameters = {**release.parameters, **_parameters(options), "order": order}
    return cast(Release, replace(release, method=method, parameters=parameters))


def published_parameters(method: str, parameters: Config) -> dict[str, str | bool | int | float]:
    """Return the public `parameters` of a release by `method`: its settings, and the lengths of lists. Seeds and losses
    are left out.

    For the release of another tool these are k and m.
    """
    # The number of processes changes nothing in a release.
    public = set(PARTS[method].model_fields) - {"method", "processes"} if method in PARTS else {"k", "m"}
    return _parameters({name: value for name, value in parameters.items() if name in public})


def guarantee_of(method: str, parameters: Config) -> AnyGuarantee:
    """Return the guarantee of `method` for the stated `parameters`; raise an error if they do not determine it."""
    if method not in PARTS:
        raise DecloakError(f"the guarantee of the method {quote(method)} is unknown", hint="give --k and --m")
    guarantee_type = PARTS[method].guarantee_for(parameters)
    stated = {entry.name: parameters[entry.name] for entry in fields(guarantee_type) if entry.type is int}
    stated |= {entry.name: parameters[entry.name] for entry in fields(guarantee_type) if entry.name in parameters}
    if listed := [entry.name for entry in fields(guarantee_type) if entry.type is not int and entry.default is MISSING]:
        message = f"the manifest does not list the protected items of {method} ({listed[0]})"
        raise DecloakError(message, hint="add --constraints FILE with the scenario or its `anonymise` section")
    return guarantee_type(**stated)


def _parameters(options: Config) -> JsonObject:
    """Return the public parameters. A list is replaced by its length, because it may name hidden items."""
    counted = {name: len(value) if isinstance(value, list | Set) else value for name, value in options.items()}
    return {name: value for name, value in counted.items() if isinstance(value, str | bool | int | float)}
