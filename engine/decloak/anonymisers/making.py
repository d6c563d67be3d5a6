"""Anonymise original transactions as a scenario says, by sets, in a hierarchy or under constraints."""

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

from decloak.anonymisers.generalising import check_sensitive, without
from decloak.anonymisers.kernels.building import by_cooccurrence, by_relatedness, check_items, ordered
from decloak.anonymisers.kernels.coat import Coat as Constrained
from decloak.anonymisers.kernels.constraints import (
    all_items,
    nested_sets,
    privacy_constraints,
    random_items,
    related_sets,
    utility_constraints,
)
from decloak.anonymisers.kernels.disassociation import check_records
from decloak.anonymisers.kernels.sets import by_sets, random_sets
from decloak.anonymisers.methods import (
    Coat,
    Disassociation,
    Diversity,
    Drawn,
    Generalisation,
    Lra,
    Method,
    Partition,
    Sets,
    Similar,
    Tree,
    Vpa,
)  # fmt: skip
from decloak.anonymisers.registry import anonymise
from decloak.checks import check_enough
from decloak.data.dataset import Dataset
from decloak.data.hierarchy import Hierarchy
from decloak.relate.counting import Cache
from decloak.relate.related import check_relate, related

__all__ = ["Made", "check_method", "made", "tree_of"]


@dataclass(frozen=True)
class Made:
    """A release: what is published, how it was made and at what loss, and what the evaluator knows of it."""

    published: Any
    method: str
    parameters: Mapping[str, Any]
    loss: Mapping[str, Any] = field(default_factory=dict)
    tree: Hierarchy | None = None
    marked: Sequence[tuple[str, str]] = ()
    suppressed: Sequence[str] = ()
    rows: Sequence[Sequence[int]] = ()
    notes: Sequence[str] = ()
    """What the measure of relatedness that it was made by could not use."""


def made(method: Method, data: Dataset, folder: Path, seed: int, cache: Cache | None = None) -> Made:
    """Anonymise; what is not told in the scenario is drawn from the seed."""
    if isinstance(method, Sets):
        return _by_sets(method, data, seed)
    if isinstance(method, Coat):
        return _constrained(method, data, folder, seed, cache)
    if isinstance(method, Disassociation):
        from decloak.anonymisers.kernels.disassociation import disassociate
        from decloak.counting.disassociation_guarantee import check_release

        settings = method.model_dump(exclude={"method"})
        torn = disassociate(data, **settings)
        for violation in check_release(torn.release, k=method.k, m=method.m)[:1]:
            raise AssertionError(f"the anonymiser broke its own guarantee: {violation.message}")
        return Made(torn.release, "disassociation", settings, rows=torn.truth)
    plain = _generalised_part(method, data)
    tree, notes = tree_of(method.hierarchy, plain, folder, seed, cache)
    options = method.model_dump(exclude={"method", "hierarchy"})
    if not options.get("refine"):
        options.pop("refine", None)
    clock = _Clock()
    release = anonymise(data, method.method, hierarchy=tree, **options)
    assert release.ncp is not None
    loss = {"ncp": str(release.ncp.exact), **clock.seconds}
    return Made(release.published, method.method, options, loss, tree, notes=notes)


def check_method(method: Method, data: Dataset, folder: Path) -> None:
    """Raise what a method would find wrong with its files and with the data, as far as little work tells."""
    if isinstance(method, Disassociation):
        check_records(data.transactions, method.k)
    elif isinstance(method, Sets):
        _by_sets(method, data, 0)
    elif isinstance(method, Coat):
        _check_constraints(method, data, folder)
    else:
        _check_tree(method, data, folder)


def _check_constraints(method: Coat, data: Dataset, folder: Path) -> None:
    privacy_constraints(_privacy(method, data, 0), data.items)
    if isinstance(method.utility, Similar):
        check_relate(method.utility.relate, folder)
    elif not isinstance(method.utility, str):
        utility_constraints(method.utility, data.items)
    check_enough(sum(map(bool, data.transactions)), method.k)


def _check_tree(method: Generalisation | Lra | Vpa | Partition | Diversity, data: Dataset, folder: Path) -> None:
    part, plain = method.hierarchy, _generalised_part(method, data)
    if isinstance(method, Diversity):
        check_sensitive(method.sensitive, data)
    if part.by is not None:
        check_items(plain.items, part.by)
    if part.relate is not None:
        check_relate(part.relate, folder)
    elif part.file is not None:
        tree = _read_tree(part, folder)
        tree.code(plain)
        if isinstance(method, Diversity):
            check_sensitive(method.sensitive, data, tree.labels)
    if not isinstance(method, Diversity):
        check_enough(sum(map(bool, data.transactions)), method.k)


def tree_of(
    part: Tree, data: Dataset, folder: Path, seed: int, cache: Cache | None = None
) -> tuple[Hierarchy, Sequence[str]]:
    """Read a hierarchy, or make one of the items; with it what the measure it goes by could not use."""
    if part.file is not None:
        return _read_tree(part, folder), ()
    if part.by == "cooccurrence":
        return by_cooccurrence(data, part.fanout), ()
    if part.relate is not None:
        pairs = list(combinations(data.items, 2))
        scored = related(part.relate, folder, pairs, documents=lambda: data.transactions, cache=cache)
        return by_relatedness(data.items, scored.scores, part.fanout), scored.warnings
    return ordered(data, str(part.by), part.fanout, seed), ()


def _read_tree(part: Tree, folder: Path) -> Hierarchy:
    """The hierarchy of a file, called as the scenario calls it, wherever that is."""
    assert part.file is not None
    return replace(Hierarchy.read(folder / part.file, str(part.format)), origin=part.file)


def _generalised_part(method: Method, data: Dataset) -> Dataset:
    """The data without the items that are published as they are."""
    return without(data, frozenset(method.sensitive)) if isinstance(method, Diversity) else data


def _by_sets(method: Sets, data: Dataset, seed: int) -> Made:
    """Publish by listed sets, or by sets drawn at random."""
    if method.sets is not None:
        return Made(by_sets(data, method.sets), "sets", {"sets": len(method.sets)})
    assert method.size is not None
    drawn = random_sets(data.items, method.size, method.share, seed)
    return Made(by_sets(data, drawn), "sets", {"size": method.size, "share": method.share, "seed": seed})


def _constrained(method: Coat, data: Dataset, folder: Path, seed: int, cache: Cache | None) -> Made:
    """Publish under listed constraints, or constraints drawn at random or worked out from what is related."""
    privacy = _privacy(method, data, seed)
    utility, notes = _utility(method.utility, privacy, data, folder, cache)
    clock = _Clock()
    release: Constrained = anonymise(
        data, "coat", privacy=privacy, utility=utility, k=method.k, suppress=method.suppress
    )
    settings = {"k": method.k, "privacy": len(privacy), "utility": len(utility), "suppress": method.suppress}
    loss = {"ul_log10": _log10(release.ul.exact), "suppressed": len(release.suppressed), **clock.seconds}
    return Made(release.published, "coat", settings, loss, suppressed=release.suppressed, notes=notes)


def _privacy(method: Coat, data: Dataset, seed: int) -> Sequence[Sequence[str]]:
    if not isinstance(method.privacy, Drawn):
        return method.privacy
    if method.privacy.share is not None:
        return random_items(data.items, method.privacy.share, seed)
    assert method.privacy.count is not None
    return nested_sets(data.items, method.privacy.count, seed, method.privacy.sizes)


def _utility(
    wanted: str | Similar | Sequence[Sequence[str]],
    privacy: Sequence[Sequence[str]],
    data: Dataset,
    folder: Path,
    cache: Cache | None,
) -> tuple[Sequence[Sequence[str]], Sequence[str]]:
    if wanted == "all":
        return all_items(data.items), ()
    if not isinstance(wanted, Similar):
        return wanted, ()
    pairs = [(one, item) for one in sorted({item for one in privacy for item in one}) for item in data.items]
    scored = related(wanted.relate, folder, pairs, documents=lambda: data.transactions, cache=cache)
    sign = -1 if wanted.relate.closer == "smaller" else 1

    def close(a: str, b: str) -> float | None:
        score = scored.scores.get((a, b))
        return None if score is None else sign * score

    return related_sets(data.items, privacy, close, sign * wanted.within), scored.warnings


def _log10(loss: Fraction) -> float | None:
    """UL is too small for a float where there are many items; of no loss there is no logarithm."""
    return math.log10(loss.numerator) - math.log10(loss.denominator) if loss else None


class _Clock:
    """What anonymising takes: CPU seconds, those of other processes included, and seconds on the wall."""

    def __init__(self) -> None:
        self._cpu, self._wall = _cpu(), time.perf_counter()

    @property
    def seconds(self) -> dict[str, float]:
        """Since it was started."""
        return {"cpu_seconds": _cpu() - self._cpu, "seconds": time.perf_counter() - self._wall}


def _cpu() -> float:
    """Fine for this process; what others took is told in hundredths of a second."""
    others = os.times()
    return time.process_time() + others.children_user + others.children_system
