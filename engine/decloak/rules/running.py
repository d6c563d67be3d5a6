"""Run a checked rule in a sandbox and give back what it found, not yet written anywhere."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.checks import check_km
from decloak.counting.guarantees import violations
from decloak.data.assignment import Assignment, Closer
from decloak.data.disassociated import Disassociated
from decloak.errors import DecloakError, shown
from decloak.rules.eliminate.kernel import Elimination, eliminate
from decloak.rules.eliminate.strategy import Strategy
from decloak.rules.load import Rule
from decloak.rules.model import EliminateRule, ItemsetsRule, QueryRule
from decloak.rules.reassociate.kernel import reassociate, row_values
from decloak.store.derivation import Derived, derive, fixpoint, make_steps
from decloak.store.sandbox import Sandbox

__all__ = ["Settings", "Struck", "facts", "give", "strike"]


class Settings(NamedTuple):
    """What a scenario sets beside the rule's name; `seed` is for coins, `k` and `m` for itemsets."""

    threshold: float | None = None
    ratio: float = 1.0
    seed: int = 0
    k: int | None = None
    m: int | None = None


class Struck(NamedTuple):
    """What an eliminate rule did to the distance table of a number."""

    table: int
    done: Elimination


class _Cells(NamedTuple):
    """The relation of one table as arrays: distances, and what else the weights read."""

    table: int
    d: NDArray[np.float64]
    further: dict[str, NDArray[np.float64]]


def strike(rule: Rule, sandbox: Sandbox, settings: Settings) -> list[Struck]:
    """Run an eliminate rule over all its tables at once."""
    assert isinstance(rule.model, EliminateRule)
    assert rule.strategy is not None
    tables = _cells(rule, rule.strategy, sandbox)
    done = eliminate(
        [one.d for one in tables],
        rule.strategy,
        threshold=settings.threshold,
        ratio=settings.ratio,
        # Neighbouring seeds are as good as distant ones: splitmix64 mixes every bit of its state.
        seeds=[settings.seed + one.table for one in tables] if rule.strategy.strike == "coin" else None,
        further={name: [one.further[name] for one in tables] for name in rule.strategy.further},
    )
    return [Struck(one.table, elimination) for one, elimination in zip(tables, done, strict=True)]


def give(
    rule: Rule,
    release: Disassociated,
    scores: Mapping[tuple[str, str], float | None],
    settings: Settings,
    closer: Closer = "smaller",
) -> list[tuple[Assignment, tuple[float | None, ...]]]:
    """Run a reassociate rule; with each assignment what its rows were ranked by, None where nothing is known.

    The scores are distances, the smaller the closer, unless `closer` says otherwise.
    """
    assert rule.reassociation is not None
    strategy, k = rule.reassociation, settings.k
    found = reassociate(release, scores, strategy, closer=closer, k=k, seed=settings.seed)
    if strategy.match == "random":
        return [(one, (None,) * len(one.rows)) for one in found]
    ranked = row_values(release, scores, strategy, closer=closer, k=k)
    return [(one, tuple(_finite(own.values[row]) for row in one.rows)) for one, own in zip(found, ranked, strict=True)]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def facts(rule: Rule, sandbox: Sandbox, settings: Settings) -> list[Derived]:
    """Run a rule that derives a relation of its own."""
    if isinstance(rule.model, QueryRule):
        return _query(rule, rule.model, sandbox)
    if isinstance(rule.model, ItemsetsRule):
        return _itemsets(rule, rule.model, sandbox, settings)
    raise AssertionError(f"a rule of the form {rule.model.form} derives no facts")


def _query(rule: Rule, model: QueryRule, sandbox: Sandbox) -> list[Derived]:
    places, columns = rule.places(), rule.derives.columns
    make_steps(sandbox, model.let, places)
    if model.facts is not None:
        return derive(sandbox, model.facts, columns, places["facts"])
    assert model.start is not None
    assert model.repeat is not None
    return fixpoint(sandbox, rule.derives.name, columns, model.start, model.repeat, places)


def _itemsets(rule: Rule, model: ItemsetsRule, sandbox: Sandbox, settings: Settings) -> list[Derived]:
    k, m = _bound(rule, model.support, "k", settings.k), _bound(rule, model.size, "m", settings.m)
    check_km(k, m)
    columns, rows = sandbox.select(model.of, rule.places()["of"])
    sets, items = columns.index("set"), columns.index("item")
    records: dict[Any, set[str]] = {}
    for row in rows:
        records.setdefault(row[sets], set()).add(str(row[items]))
    found = violations(records.values(), k=k, m=m)
    if model.report == "minimal":
        found = _minimal(found)
    if model.report == "count":
        counts: dict[tuple[int, int], int] = {}
        for itemset, support in found:
            counts[len(itemset), support] = counts.get((len(itemset), support), 0) + 1
        return [Derived(1, (str(number), *key)) for key, number in sorted(counts.items())]
    return [Derived(1, (", ".join(sorted(itemset)), len(itemset), support)) for itemset, support in found]


def _bound(rule: Rule, text: str, name: str, given: int | None) -> int:
    """The upper end of `1..m` or `1..k-1`, as m or k."""
    last = text.removeprefix("1..")
    if last.isdigit():
        return int(last) + (name == "k")
    if given is None:
        raise DecloakError(f"the rule {rule.name} needs {name}", hint="write with: {k: 3, m: 2} in the test")
    return given


def _minimal(found: Sequence[tuple[frozenset[str], int]]) -> list[tuple[frozenset[str], int]]:
    """The itemsets none of whose proper subsets is among them; `found` has these first."""
    minimal: list[tuple[frozenset[str], int]] = []
    known: set[frozenset[str]] = set()
    for itemset, support in sorted(found, key=lambda one: len(one[0])):
        if not any(frozenset(itemset - {item}) in known for item in itemset):
            minimal.append((itemset, support))
        known.add(itemset)
    return minimal


def _cells(rule: Rule, strategy: Strategy, sandbox: Sandbox) -> list[_Cells]:
    """Read a rule's cells; a table has the rows and columns its relation names, cells not named are unscored."""
    assert isinstance(rule.model, EliminateRule)
    place = rule.places()["cells"]
    names, rows = sandbox.select(rule.model.cells, place)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    if not columns:
        return []
    at = [_whole(name, columns[name], place) for name in ("table", "row", "col")]
    values = [_numbers(name, columns[name], place) for name in ("d", *strategy.further)]
    order = np.lexsort(at[::-1])
    cut = np.flatnonzero(np.diff(at[0][order])) + 1
    return [_table(part, at, values, strategy.further, place) for part in np.split(order, cut)]


def _whole(name: str, column: tuple[Any, ...], place: str) -> NDArray[np.int64]:
    for value in column:
        if type(value) is not int or value < 0:
            raise DecloakError(f"the cells give {shown(value)} as {name}", place, "give whole numbers from 0")
    return np.array(column, np.int64)


def _numbers(name: str, column: tuple[Any, ...], place: str) -> NDArray[np.float64]:
    for value in column:
        if value is not None and type(value) not in (int, float):
            raise DecloakError(f"the cells give {shown(value)} as {name}", place, "give a number, or null")
    return np.array(column, np.float64)


def _table(
    part: NDArray[np.intp],
    at: Sequence[NDArray[np.int64]],
    values: Sequence[NDArray[np.float64]],
    further: Sequence[str],
    place: str,
) -> _Cells:
    number, row, col = int(at[0][part[0]]), at[1][part], at[2][part]
    shape = (int(row.max()) + 1, int(col.max()) + 1)
    if shape[0] * shape[1] > 10 * len(part) + 10_000:
        cells = f"table {number} has {len(part)} cells in {shape[0]} rows and {shape[1]} columns"
        raise DecloakError(cells, place, "number rows and columns from 0 without gaps")
    flat = row * shape[1] + col
    if (np.diff(flat) == 0).any():
        raise DecloakError(f"the cells give a cell of table {number} twice", place, "group them")
    arrays = []
    for column in values:
        array = np.full(shape, np.nan)
        array.flat[flat] = column[part]
        arrays.append(array)
    return _Cells(number, arrays[0], dict(zip(further, arrays[1:], strict=True)))
