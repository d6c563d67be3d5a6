"""Run the sibling test of a rule: a tiny graph in, the expected findings out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.errors import DecloakError, nearest, shown
from decloak.rules.load import Catalogue, Rule, bundled_files, rule_files
from decloak.rules.model import Grid, RuleTest, TestCase
from decloak.rules.running import Settings, facts, give, strike
from decloak.store.relations import RELATIONS
from decloak.store.sandbox import Sandbox
from decloak.store.sandbox_guard import empty_sandbox, one_process
from decloak.yaml.source import Source, check, read

__all__ = ["Outcome", "run_tests", "sibling_test"]


class Outcome(NamedTuple):
    """What a case of a rule's test came to; `fault` is None when it passed."""

    rule: str
    case: str
    fault: str | None


def sibling_test(rule: Path) -> Path:
    """Where the test of a rule file is."""
    return rule.with_name(f"{rule.stem}.test{rule.suffix}")


@one_process()
def run_tests(path: Path | None = None) -> list[Outcome]:
    """Test every bundled rule, one rule file, or every rule file of a folder; a rule without a test fails."""
    files = bundled_files() if path is None else _rule_files(path)
    catalogue = Catalogue(files if path is None or path.is_dir() else rule_files(path.parent, "*.yaml"))
    return [outcome for file in files for outcome in _tested(catalogue.rule(str(file.resolve())), catalogue)]


def _rule_files(path: Path) -> tuple[Path, ...]:
    if not path.is_dir():
        return (path,)
    found = rule_files(path)
    if not found:
        raise DecloakError("no rule files in the folder", str(path), "a rule file is named NAME.yaml")
    return found


def _tested(rule: Rule, catalogue: Catalogue) -> list[Outcome]:
    file = sibling_test(Path(rule.path))
    if not file.exists():
        return [Outcome(rule.name, "–", f"it has no test: write {file.name} beside it")]
    source = read(file)
    test = check(source, RuleTest)
    if test.rule != rule.name:
        raise source.error(("rule",), f"a test of {shown(test.rule)} beside the rule {rule.name}", "name that rule")
    return [
        Outcome(rule.name, case.case, _fault(rule, case, catalogue, source, number))
        for number, case in enumerate(test.cases)
    ]


def _fault(rule: Rule, case: TestCase, catalogue: Catalogue, source: Source, number: int) -> str | None:
    if rule.reassociation is not None:
        return _facts_compared(_given(rule, case), case.expect, rule)
    known = {name: relation.columns for name, relation in RELATIONS.items()}
    known |= {one.name: one.columns for one in catalogue.derived(rule)}
    with empty_sandbox(known, rule.stranger) as sandbox:
        for name, given in case.given.items():
            loc = ("cases", number, "given", name)
            if name not in known:
                hint = nearest(name, known) or f"relations are {', '.join(known)}"
                raise DecloakError(f"no relation {shown(name)}", source.place(loc, key=True), hint)
            sandbox.fill(name, known[name], _rows(given, name, known[name], source, loc))
        settings = Settings(**case.settings.model_dump())
        if rule.strategy is not None:
            return _compared(_struck(rule, sandbox, settings, case), [tuple(one) for one in case.expect], rule)
        found = [dict(zip(rule.derives.columns, one.values, strict=True)) for one in facts(rule, sandbox, settings)]
        return _facts_compared(found, case.expect, rule)


def _given(rule: Rule, case: TestCase) -> list[dict[str, Any]]:
    """Who gets what, as plain values."""
    clusters = [
        Cluster(
            one.size,
            tuple(
                Chunk(tuple(sorted({item for part in chunk for item in part})), tuple(map(tuple, chunk)))
                for chunk in one.chunks
            ),
            tuple(one.terms),
        )
        for one in case.clusters
    ]
    scores = {(a, b): score for a, b, score in case.scores}
    settings = Settings(**case.settings.model_dump())
    return [
        {"cluster": one.cluster, "chunk": one.chunk, "unit": ", ".join(one.unit), "rows": _text(one.rows)}
        for one, _ in give(rule, Disassociated(tuple(clusters)), scores, settings)
    ]


def _rows(
    given: Grid | Sequence[dict[str, Any]],
    name: str,
    columns: Sequence[str],
    source: Source,
    loc: tuple[str | int, ...],
) -> list[tuple[Any, ...]]:
    if isinstance(given, Grid):
        if name != "distance":
            raise source.error(loc, "a grid is a distance table", "write rows as {column: value}")
        return [
            (0, row, col, value) for row, values in enumerate(given.rows.values()) for col, value in enumerate(values)
        ]
    for number, row in enumerate(given):
        unknown = sorted(row.keys() - set(columns))
        if unknown:
            hint = f"its columns are {', '.join(columns)}"
            raise source.error((*loc, number), f"{name} has no column {shown(unknown[0])}", hint)
    return [tuple(row.get(column) for column in columns) for row in given]


def _struck(rule: Rule, sandbox: Sandbox, settings: Settings, case: TestCase) -> list[tuple[str, ...]]:
    """The strikes in order: row and column names of a grid, numbers (table first) otherwise."""
    grid = case.given.get("distance")
    found: list[tuple[str, ...]] = []
    for one in strike(rule, sandbox, settings):
        for row, col in zip(one.done.steps.row.tolist(), one.done.steps.col.tolist(), strict=True):
            if isinstance(grid, Grid):
                found.append((list(grid.rows)[row], grid.columns[col]))
            else:
                found.append((str(one.table), str(row), str(col)))
    return found


def _compared(found: list[tuple[str, ...]], expected: list[tuple[Any, ...]], rule: Rule) -> str | None:
    for number, (one, other) in enumerate(zip(found, expected, strict=False), 1):
        if one != other:
            return f"strike {number} is {_text(one)}, expected {_text(other)}"
    if len(found) > len(expected):
        return f"{_text(found[len(expected)])} was struck as well"
    if len(expected) > len(found):
        return f"{_text(expected[len(found)])} was not struck"
    return None


def _facts_compared(found: list[dict[str, Any]], expected: Sequence[Any], rule: Rule) -> str | None:
    """Facts in any order; an expected fact may leave columns out, so those that say most choose first."""
    left = list(found)
    for fact in sorted(expected, key=len, reverse=True):
        if isinstance(fact, list):
            return f"write a fact as {{{rule.derives.columns[0]}: ...}}"
        match = next((one for one in left if all(one.get(name) == value for name, value in fact.items())), None)
        if match is None:
            return f"{fact} was not found"
        left.remove(match)
    return f"{left[0]} was found as well" if left else None


def _text(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names))
