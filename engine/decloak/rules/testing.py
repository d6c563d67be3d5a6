"""Run the sibling test of a rule: a tiny graph in, the expected findings out."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from decloak.errors import DecloakError, nearest, shown
from decloak.rules.load import Catalogue, Rule, bundled_files, rule_files, stranger
from decloak.rules.model import Grid, RuleTest, TestCase, as_written
from decloak.rules.operators.operator import Sight
from decloak.store.relations import RELATIONS
from decloak.store.sandbox_guard import empty_sandbox, one_process
from decloak.yaml.source import Source, check, read_source

__all__ = ["CaseOutcome", "run_tests", "sibling_test"]

Columns = Mapping[str, Sequence[str]]


class CaseOutcome(NamedTuple):
    """What a case of a rule's test came to; `fault` is None when it passed."""

    rule: str
    case: str
    fault: str | None


def sibling_test(rule: Path) -> Path:
    return rule.with_name(f"{rule.stem}.test{rule.suffix}")


@one_process()
def run_tests(path: Path | None = None) -> list[CaseOutcome]:
    """Test every bundled rule, one rule file, or every rule file of a folder; a rule without a test fails."""
    files = bundled_files() if path is None else _rule_files(path)
    # A rule may read what its neighbours derive, so the folder of a single file is at hand too.
    catalogue = Catalogue(files if path is None or path.is_dir() else rule_files(path.parent, "*.yaml"))
    return [outcome for file in files for outcome in _tested(catalogue.rule(str(file.resolve())), catalogue)]


def _rule_files(path: Path) -> tuple[Path, ...]:
    if not path.is_dir():
        return (path,)
    files = rule_files(path)
    if not files:
        raise DecloakError("no rule files in the folder", str(path), "a rule file is named NAME.yaml")
    return files


def _tested(rule: Rule, catalogue: Catalogue) -> list[CaseOutcome]:
    file = sibling_test(Path(rule.path))
    if not file.exists():
        return [CaseOutcome(rule.name, "–", f"it has no test: write {file.name} beside it")]
    source = read_source(file)
    test = check(source, RuleTest)
    if test.rule != rule.name:
        raise source.error(("rule",), f"a test of {shown(test.rule)} beside the rule {rule.name}", "name that rule")
    return [
        CaseOutcome(rule.name, case.case, _fault(rule, case, catalogue, source, number))
        for number, case in enumerate(test.cases)
    ]


def _fault(rule: Rule, case: TestCase, catalogue: Catalogue, source: Source, number: int) -> str | None:
    columns: Columns = {name: relation.columns for name, relation in RELATIONS.items()}
    columns = {**columns, **dict(catalogue.derived(rule))}
    with empty_sandbox(columns, stranger(rule.name, rule.text)) as sandbox:
        for name, rows in _relations(case, columns, source, ("cases", number, "given")):
            sandbox.fill(name, columns[name], rows)
        sight = Sight(sandbox, case.release, case.distances, added=lambda _: case.probabilities())
        findings = list(rule.operator.run(rule, sight, case.settings).as_tested(case))
    if rule.operator.in_order:
        return _compare_strikes(findings, [tuple(strike) for strike in case.expect])
    return _compare_facts(findings, case.expect, rule.derives.columns[0])


def _compare_strikes(strikes: Sequence[Any], expected: Sequence[tuple[str, ...]]) -> str | None:
    """What is amiss with strikes, which are expected in this order; None where nothing is."""
    for number, (strike, due) in enumerate(zip(strikes, expected, strict=False), 1):
        if strike != due:
            return f"strike {number} is {as_written(strike)}, expected {as_written(due)}"
    if len(strikes) > len(expected):
        return f"{as_written(strikes[len(expected)])} was struck as well"
    return f"{as_written(expected[len(strikes)])} was not struck" if len(expected) > len(strikes) else None


def _compare_facts(facts: list[Any], expected: Sequence[Any], column: str) -> str | None:
    """What is amiss with facts, expected in any order; an expected fact may leave columns out."""
    for due in sorted(expected, key=len, reverse=True):  # those that say most choose first
        if isinstance(due, list):
            return f"write a fact as {{{column}: ...}}"
        match = next((fact for fact in facts if all(fact.get(name) == value for name, value in due.items())), None)
        if match is None:
            return f"{due} was not found"
        facts.remove(match)
    return f"{facts[0]} was found as well" if facts else None


def _relations(
    case: TestCase, columns: Columns, source: Source, loc: tuple[str | int, ...]
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    for name, content in case.relations.items():
        if name not in columns:
            hint = nearest(name, columns) or f"relations are {', '.join(columns)}"
            raise DecloakError(f"no relation {shown(name)}", source.place((*loc, name), key=True), hint)
        yield name, _rows(content, name, columns[name], source, (*loc, name))


def _rows(
    content: Grid | Sequence[dict[str, Any]],
    name: str,
    columns: Sequence[str],
    source: Source,
    loc: tuple[str | int, ...],
) -> list[tuple[Any, ...]]:
    if isinstance(content, Grid):
        if name != "distance":
            raise source.error(loc, "a grid is a distance table", "write rows as {column: value}")
        return [
            (0, row, col, value) for row, values in enumerate(content.rows.values()) for col, value in enumerate(values)
        ]
    for number, row in enumerate(content):
        unknown = sorted(row.keys() - set(columns))
        if unknown:
            hint = f"its columns are {', '.join(columns)}"
            raise source.error((*loc, number), f"{name} has no column {shown(unknown[0])}", hint)
    return [tuple(row.get(column) for column in columns) for row in content]
