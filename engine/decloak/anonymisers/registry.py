"""The anonymisers as one plain function: data in, a release out; no store.

Every release is checked before it is given back, by code that shares nothing with what made it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np

from decloak.anonymisers.generalising import Options, diverse, everywhere, in_parts
from decloak.anonymisers.kernels.coat import Coat, coat
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.anonymisers.kernels.sets import by_sets
from decloak.counting.constraints import broken_privacy, broken_utility
from decloak.counting.disassociation_guarantee import check_release
from decloak.counting.generalisation_guarantee import check_diverse, check_generalised, check_whole
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.pair import check_pair
from decloak.data.published import Published
from decloak.errors import DecloakError, nearest, shown

__all__ = ["METHODS", "anonymise"]

Data = Dataset | Iterable[Iterable[str]]
Made = Published | Disassociated | Generalised | Coat


class _Method(NamedTuple):
    """Makes a release of data and options, and says what is wrong with one."""

    make: Callable[..., Any]
    check: Callable[..., Iterable[object]]
    needs: frozenset[str]
    may: frozenset[str] = frozenset()


@overload
def anonymise(data: Data, method: str, *, sets: Iterable[Sequence[str]]) -> Published: ...
@overload
def anonymise(data: Data, method: str, *, k: int, m: int, max_cluster: int, refine: bool = False) -> Disassociated: ...
@overload
def anonymise(data: Data, method: str, *, hierarchy: Hierarchy, **options: Any) -> Generalised: ...
@overload
def anonymise(
    data: Data, method: str, *, privacy: Iterable[Sequence[str]], utility: Iterable[Sequence[str]], **options: Any
) -> Coat: ...
def anonymise(data: Data, method: str, **options: Any) -> Made:
    """Anonymise transactions, a Dataset or any iterable of iterables of names.

    `cut`, `aa`, `da` and `oa` take k, m and hierarchy (`cut` also refine); `lra` and `vpa` also parts, flexibility or
    level, and processes; `partition` takes k and hierarchy; `diversity` takes l, m, sensitive and hierarchy; `coat`
    takes k, privacy, utility, suppress and items; `disassociation` takes k, m, max_cluster and refine; `sets` takes
    sets, each published in place of its items.

    >>> tree = Hierarchy.from_parents({"flu": "illness", "cough": "illness", "knee": "*", "illness": "*"})
    >>> release = anonymise([["flu", "knee"], ["cough", "knee"]], "cut", k=2, m=2, hierarchy=tree)
    >>> release.transactions, release.ncp
    ((('illness', 'knee'), ('illness', 'knee')), 0.3333333333333333)
    """
    if not isinstance(method, str) or method not in METHODS:
        hint = nearest(str(method), METHODS) or f"methods are {', '.join(METHODS)}"
        raise DecloakError(f"unknown method {shown(method)}", hint=hint)
    chosen = METHODS[method]
    known = chosen.needs | chosen.may
    for option in options.keys() - known:
        hint = nearest(option, known) or f"its options are {', '.join(sorted(known))}"
        raise DecloakError(f"the method {method} has no option {shown(option)}", hint=hint)
    for option in sorted(chosen.needs - options.keys()):
        raise DecloakError(f"the method {method} needs {option}", hint=f"give {option}=")
    found = Dataset.of(data)
    given = {option: _plain(value) for option, value in options.items()}
    made: Made = chosen.make(found, method, given)
    for fault in chosen.check(found, made, given):
        raise AssertionError(f"{method} broke its own guarantee: {fault}")
    return replace(made, method=method, parameters=_parameters(given))


def _parameters(options: Options) -> dict[str, Any]:
    """What a release may say of how it was made: of what was listed how many, for a list may name what is hidden."""
    counted = {name: len(value) if isinstance(value, list | Set) else value for name, value in options.items()}
    return {name: value for name, value in counted.items() if isinstance(value, str | bool | int | float)}


def _plain(value: Any) -> Any:
    """An option as a release is made by it and then checked: a number of numpy as Python's, and what can be gone
    through but once as a list.
    """
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(one) for one in value] if isinstance(value, Iterator | list | tuple) else value


def _disassociated(data: Dataset, method: str, options: Options) -> Disassociated:
    return disassociate(data, **options).release


def _by_sets(data: Dataset, method: str, options: Options) -> Published:
    return by_sets(data, options["sets"])


def _constrained(data: Dataset, method: str, options: Options) -> Coat:
    return coat(data, **options)


def _check_cut(data: Dataset, made: Generalised, options: Options) -> Iterable[object]:
    return check_generalised(data, made, options["k"], options["m"])


def _check_records(data: Dataset, made: Generalised, options: Options) -> Iterable[object]:
    return check_whole(data, made, options["k"])


def _check_diverse(data: Dataset, made: Generalised, options: Options) -> Iterable[object]:
    return check_diverse(data, made, options["sensitive"], options["l"], options["m"])


def _check_coat(data: Dataset, made: Coat, options: Options) -> Iterable[object]:
    yield from broken_privacy(made.published, options["privacy"], k=options["k"])
    yield from broken_utility(made.published, options["utility"])
    try:
        lost = [item for item in check_pair(data, made.published) if item[1] not in made.suppressed]
    except DecloakError as error:  # here it is no mistake of somebody's data
        yield error.message
    else:
        yield from [f"occurrences are lost: {lost[:3]}"] if lost else []
        rows = zip(data.transactions, made.transactions, strict=True)
        invented = [one for items, row in rows for one in row if isinstance(one, tuple) and set(one).isdisjoint(items)]
        yield from [f"sets of which a transaction has nothing: {invented[:3]}"] if invented else []


def _check_chunks(data: Dataset, made: Disassociated, options: Options) -> Iterable[object]:
    return check_release(made, k=options["k"], m=options["m"])


def _unchecked(data: Dataset, made: Published, options: Options) -> Iterable[object]:
    """Sets promise nothing."""
    return ()


_KM = frozenset({"k", "m", "hierarchy"})
METHODS = {
    **{name: _Method(everywhere, _check_cut, _KM) for name in ("aa", "da", "oa")},
    "cut": _Method(everywhere, _check_cut, _KM, frozenset({"refine"})),
    "vpa": _Method(everywhere, _check_cut, _KM, frozenset({"parts", "level", "processes"})),
    "lra": _Method(in_parts, _check_cut, _KM, frozenset({"parts", "flexibility", "processes"})),
    "partition": _Method(in_parts, _check_records, frozenset({"k", "hierarchy"})),
    "diversity": _Method(diverse, _check_diverse, frozenset({"l", "m", "sensitive", "hierarchy"})),
    "coat": _Method(
        _constrained, _check_coat, frozenset({"k", "privacy", "utility"}), frozenset({"suppress", "items"})
    ),
    "disassociation": _Method(
        _disassociated, _check_chunks, frozenset({"k", "m", "max_cluster"}), frozenset({"refine"})
    ),
    "sets": _Method(_by_sets, _unchecked, frozenset({"sets"})),
}
"""By name."""
