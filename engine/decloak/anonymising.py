"""The anonymisers as one plain function: data in, a release out; no store."""

from collections.abc import Iterable, Sequence
from typing import overload

from decloak.anonymisers.disassociation import disassociate
from decloak.anonymisers.sets import by_sets
from decloak.data.dataset import Dataset, Published
from decloak.data.disassociated import Disassociated
from decloak.errors import DecloakError, nearest, shown

__all__ = ["anonymise"]

METHODS = ("disassociation", "sets")
OPTIONS = {"disassociation": {"k", "m", "max_cluster", "refine"}, "sets": {"sets"}}

Data = Dataset | Iterable[Iterable[str]]


@overload
def anonymise(data: Data, method: str, *, sets: Iterable[Sequence[str]]) -> Published: ...
@overload
def anonymise(data: Data, method: str, *, k: int, m: int, max_cluster: int, refine: bool = False) -> Disassociated: ...
def anonymise(data: Data, method: str, **options: object) -> Published | Disassociated:
    """Anonymise transactions, a Dataset or any iterable of iterables of names.

    `disassociation` takes k, m, max_cluster and refine; `sets` takes sets, each published in place of its items.

    >>> anonymise([["flu", "cough"], ["flu"], ["cough"]], "sets", sets=[["flu", "cough"]]).transactions
    ((('flu', 'cough'),), (('flu', 'cough'),), (('flu', 'cough'),))
    """
    if method not in METHODS:
        hint = nearest(method, METHODS) or f"methods are {', '.join(METHODS)}"
        raise DecloakError(f"unknown method {shown(method)}", hint=hint)
    known = OPTIONS[method]
    for option in options.keys() - known:
        hint = nearest(option, known) or f"its options are {', '.join(sorted(known))}"
        raise DecloakError(f"the method {method} has no option {shown(option)}", hint=hint)
    for option in sorted(known - options.keys() - {"refine"}):
        raise DecloakError(f"the method {method} needs {option}", hint=f"give {option}=")
    found = _dataset(data)
    if method == "sets":
        return by_sets(found, options["sets"])  # type: ignore[arg-type]
    return disassociate(found, **options).release  # type: ignore[arg-type]


def _dataset(data: Data) -> Dataset:
    if isinstance(data, Dataset):
        return data
    rows = tuple(tuple(dict.fromkeys(row)) for row in data)
    return Dataset(rows, tuple(str(number) for number in range(1, len(rows) + 1)))
