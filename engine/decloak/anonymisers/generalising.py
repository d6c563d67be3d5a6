"""The methods that generalise in a hierarchy, from transactions to a release; none of them checks what it made."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from decloak.anonymisers.kernels.apriori import aa, da
from decloak.anonymisers.kernels.constraints import names
from decloak.anonymisers.kernels.diversity import diversity
from decloak.anonymisers.kernels.fast_cut import cut, refine
from decloak.anonymisers.kernels.optimal import oa
from decloak.anonymisers.kernels.parts import lra, vpa
from decloak.anonymisers.kernels.release import Local, generalised
from decloak.anonymisers.kernels.top_down import partition
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy, Ints
from decloak.errors import DecloakError, nearest, shown

__all__ = ["GLOBAL", "Options", "check_sensitive", "diverse", "everywhere", "in_parts", "without"]

Options = Mapping[str, Any]
GLOBAL: Mapping[str, Callable[..., Ints]] = {"cut": cut, "aa": aa, "da": da, "oa": oa, "vpa": vpa}
LOCAL: Mapping[str, Callable[..., Local]] = {"lra": lra, "partition": partition}


def everywhere(data: Dataset, method: str, options: Options) -> Generalised:
    """One cut for all records."""
    tree, k, m = _tree(options), options["k"], options["m"]
    records = tree.code(data)
    found = GLOBAL[method](tree, records, k, m, **_rest(options, "k", "m", "refine"))
    if options.get("refine"):
        found = refine(tree, records, k, m, found)
    return generalised(data, tree, records, Local.everywhere(found, records.shape[0]), method=method, k=k, m=m)


def in_parts(data: Dataset, method: str, options: Options) -> Generalised:
    """A cut for every part of the records."""
    tree = _tree(options)
    records = tree.code(data)
    found = LOCAL[method](tree, records, **_rest(options))
    return generalised(data, tree, records, found, method=method, k=options["k"], m=options.get("m"))


def diverse(data: Dataset, method: str, options: Options) -> Generalised:
    """Only what is not sensitive is generalised."""
    tree, sensitive = _tree(options), frozenset(names(options["sensitive"], "sensitive"))
    check_sensitive(sensitive, data, tree.labels)
    plain = without(data, sensitive)
    hidden = [sorted(sensitive.intersection(row)) for row in data.transactions]
    records = tree.code(plain)
    cut_found = diversity(tree, records, hidden, options["l"], options["m"])
    found = Local.everywhere(cut_found, records.shape[0])
    made = generalised(plain, tree, records, found, method=method, k=None, m=options["m"])
    rows = tuple(tuple(sorted([*row, *held])) for row, held in zip(made.transactions, hidden, strict=True))
    members = {**made.members, **{item: (item,) for item in sensitive.intersection(data.items)}}
    return Generalised(rows, members, data.labels, method, None, options["m"], made.ncp, data.origin)


def without(data: Dataset, sensitive: Collection[str]) -> Dataset:
    """The data without the items that are published as they are."""
    rows = tuple(tuple(item for item in row if item not in sensitive) for row in data.transactions)
    return Dataset(rows, data.labels, data.origin)


def check_sensitive(sensitive: Collection[str], data: Dataset, labels: Collection[str] = ()) -> None:
    """Refuse sensitive items that are generalised as well, and those no transaction holds: they would hide nothing."""
    for item in sorted(set(sensitive).intersection(labels)):
        raise DecloakError(f"the sensitive item {shown(item)} is in the hierarchy", hint="leave it out of one of them")
    for item in sorted(set(sensitive).difference(data.items)):
        hint = nearest(item, data.items[:5000]) or "check the spelling, or leave it out"
        raise DecloakError(f"the sensitive item {shown(item)} is in no transaction", hint=hint)


def _tree(options: Options) -> Hierarchy:
    tree = options["hierarchy"]
    if not isinstance(tree, Hierarchy):
        hint = "build one: decloak.Hierarchy.balanced(data.items, fanout=5)"
        raise DecloakError(f"{shown(tree)} is not a hierarchy", hint=hint)
    return tree


def _rest(options: Options, *known: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in ("hierarchy", *known)}
