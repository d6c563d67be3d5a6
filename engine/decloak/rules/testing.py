"""Run the sibling test of a rule: a tiny graph in, the expected findings out."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from decloak.errors import DecloakError, nearest, shown
from decloak.rules.cases import Grid, RuleTest, TestCase
from decloak.rules.load import Catalogue, Rule, bundled_files, rule_files
from decloak.rules.operators.operator import Sight
from decloak.store.relations import RELATIONS
from decloak.store.sandbox import Sandbox
from decloak.yaml.source import Source, check, read_source

__all__ = ["Outcome", "run_tests", "sibling_test"]

Columns = Mapping[str, Sequence[str]]


class Outcome(NamedTuple):
    """What a case of a rule's test came to; `fault` is None when it passed."""

    rule: str
    case: str
    fault: str | None


def sibling_test(rule: Path) -> Path:
    """Where the test of a rule file is."""
    return rule.with_name(f"{rule.stem}.test{rule.suffix}")


def run_tests(path: Path | None = None) -> list[Outcome]:
    """Test every bundled rule, one rule file, or every rule file of a folder; a rule without a test fails."""
    files = bundled_files() if path is None else _rule_files(path)
    catalogue = Catalogue(files if path is None or path.is_dir() else rule_files(path.parent, "*.yaml"))
    return [outcome for file in files for outcome in _tested(catalogue.rule(str(file.resolve())), catalogue)]


def _rule_files(path: Path) -> tuple[Path, ...]:
    if not path.is_dir():
        return (path,)
    files = rule_files(path)
    if not files:
        raise DecloakError("no rule files in the folder", str(path), "a rule file is named NAME.yaml")
    return files


def _tested(rule: Rule, catalogue: Catalogue) -> list[Outcome]:
    file = sibling_test(Path(rule.path))
    if not file.exists():
        return [Outcome(rule.name, "–", f"it has no test: write {file.name} beside it")]
    source = read_source(file)
    test = check(source, RuleTest)
    if test.rule != rule.name:
        raise source.error(("rule",), f"a test of {shown(test.rule)} beside the rule {rule.name}", "name that rule")
    return [
        Outcome(rule.name, case.case, _fault(rule, case, catalogue, source, number))
        for number, case in enumerate(test.cases)
    ]


def _fault(rule: Rule, case: TestCase, catalogue: Catalogue, source: Source, number: int) -> str | None:
    known: Columns = {name: relation.columns for name, relation in RELATIONS.items()}
    known = {**known, **dict(catalogue.derived(rule))}
    with Sandbox.empty(known) as sandbox:
        for name, rows in _relations(case, known, source, ("cases", number, "given")):
            sandbox.fill(name, known[name], rows)
        sight = Sight(sandbox, case.release, case.distances)
        return rule.operator.run(rule, sight, case.settings).fault(case)


def _relations(
    case: TestCase, known: Columns, source: Source, loc: tuple[str | int, ...]
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """The relations of a case with their rows."""
    for name, given in case.given.items():
        if name not in known:
            hint = nearest(name, known) or f"relations are {', '.join(known)}"
            raise DecloakError(f"no relation {shown(name)}", source.place((*loc, name), key=True), hint)
        yield name, _rows(given, name, known[name], source, (*loc, name))


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
