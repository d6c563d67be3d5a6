"""Test runner for rules: each case has a small graph and its expected findings."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from decloak.data.disassociated import Disassociated
from decloak.data.pairs import Pair
from decloak.errors import DecloakError, quote, suggest
from decloak.rules.load import Catalogue, bundled_files, rule_files, untrusted_name
from decloak.rules.model import Grid, RuleTest, Settings, TestCase, join_names
from decloak.rules.operators.attacker_view import AttackerView
from decloak.rules.operators.operator import Rule, Value
from decloak.store.relations import RELATIONS
from decloak.store.sandbox_guard import empty_sandbox, one_process
from decloak.yaml.source import Source, check, read_source

Columns = Mapping[str, Sequence[str]]


class CaseOutcome(NamedTuple):
    """Outcome of a test case; `fault` is None if it passed.

    A case with `todo` holds a known miss or a known false alarm of the rule. Such a case never counts as passed.
    """

    rule: str
    case: str
    fault: str | None
    todo: str | None = None
    shown: str = ""
    """The known error that the case shows."""

    @property
    def text(self) -> str:
        """Return the outcome for people."""
        return self.fault or (f"todo, known {self.todo}: {self.shown}" if self.todo else "passed")


def sibling_test(rule: Path) -> Path:
    """Return the path of the test file of a `rule`."""
    return rule.with_name(f"{rule.stem}.test{rule.suffix}")


@one_process()
def run_tests(path: Path | None = None) -> list[CaseOutcome]:
    """Test the bundled rules, or the rule file or folder of rule files at `path`; a rule without a test fails.

    Return the outcome of each case.
    """
    files, catalogue = catalogue_of(path)
    return [outcome for file in files for outcome in _test_rule(catalogue.rule(str(file.resolve())), catalogue)]


def catalogue_of(path: Path | None) -> tuple[tuple[Path, ...], Catalogue]:
    """Return the rule files at `path`, or all included ones, and a catalogue with them."""
    files = bundled_files() if path is None else _rule_files(path)
    # A rule may read what its neighbours derive, so the folder of a single file is at hand too.
    return files, Catalogue(files if path is None or path.is_dir() else rule_files(path.parent, "*.yaml"))


def _rule_files(path: Path) -> tuple[Path, ...]:
    if not path.is_dir():
        return (path,)
    files = rule_files(path)
    if not files:
        raise DecloakError("no rule files in the folder", str(path), "a rule file is named NAME.yaml")
    return files


def read_test(rule: Rule) -> tuple[Source, RuleTest] | None:
    """Return the test file of a `rule`, as its source and its content; None if there is none."""
    file = sibling_test(Path(rule.path))
    if not file.exists():
        return None
    source = read_source(file)
    return source, check(source, RuleTest)


def _test_rule(rule: Rule, catalogue: Catalogue) -> list[CaseOutcome]:
    found = read_test(rule)
    if found is None:
        file = sibling_test(Path(rule.path))
        return [CaseOutcome(rule.name, "–", f"it has no test: write {file.name} beside it")]
    source, test = found
    if test.rule != rule.name:
        raise source.error(("rule",), f"a test of {quote(test.rule)} beside the rule {rule.name}", "name that rule")
    return [
        _outcome(rule, case, case_fault(rule, case, catalogue, source, number))
        for number, case in enumerate(test.cases)
    ]


def _outcome(rule: Rule, case: TestCase, fault: str | None) -> CaseOutcome:
    """Return the outcome of a case with its `fault`; a known error that is gone is a fault."""
    if case.todo is None:
        return CaseOutcome(rule.name, case.case, fault)
    gone = f"the known {case.todo} is gone: remove todo from the case" if fault is None else None
    return CaseOutcome(rule.name, case.case, gone, case.todo, fault or "")


def case_fault(rule: Rule, case: TestCase, catalogue: Catalogue, source: Source, number: int) -> str | None:
    """Return the difference between the findings of `rule` and a `case`, the entry `number` of `source`; else None."""
    columns: Columns = {name: relation.columns for name, relation in RELATIONS.items()}
    columns = {**columns, **dict(catalogue.relations_of_others(rule))}
    # Each case has a database of its own, so that no case sees rows of another.
    with empty_sandbox(columns, untrusted_name(rule.name, rule.text)) as sandbox:
        implied = published_relations(case.release(), case.distances(), case.settings)
        # Relations that a case gives itself replace those that follow from its release.
        for name, rows in (implied | _relations_of_grid(case.relations.get("distance"))).items():
            sandbox.fill(name, columns[name], rows)
        for name, rows in _relations(case, columns, source, ("cases", number, "given")):
            sandbox.fill(name, columns[name], rows)
        view = AttackerView(sandbox, case.release, case.distances, learned_probabilities=lambda _: case.probabilities())
        result = rule.operator.run(rule, view, case.settings)
        findings = list(result.test_findings(case))
    if case.notes is not None and list(result.notes) != case.notes:
        return f"the notes are {list(result.notes)}, expected {case.notes}"
    if rule.operator.ordered_findings:
        return _compare_eliminations(findings, [tuple(due) for due in case.expect])
    return _compare_facts(findings, case.expect, rule.derives.columns[0])


def published_relations(
    release: Disassociated, distances: Mapping[Pair, float | None], settings: Settings
) -> dict[str, list[tuple[Value, ...]]]:
    """Return the relations that an attacker reads of `release` and `distances`, with the k and m of `settings`."""
    if not release.clusters:
        return {}
    held = [
        (number, place, line, item)
        for number, cluster in enumerate(release.clusters)
        for place, chunk in enumerate(cluster.record_chunks)
        for line, subrecord in enumerate(chunk.subrecords)
        for item in subrecord
    ]
    terms = [(number, term) for number, cluster in enumerate(release.clusters) for term in cluster.term_chunk]
    names = sorted({item for *_, item in (*held, *terms)} | {item for pair in distances for item in pair})
    code = {name: number for number, name in enumerate(names, 1)}
    return {
        "item": [(number, name) for name, number in code.items()],
        "cluster": [(number, cluster.size) for number, cluster in enumerate(release.clusters)],
        "subrecord_item": [(*place, code[item]) for *place, item in held],
        "term": [(number, code[term]) for number, term in terms],
        "related": [(code[a], code[b], score) for (a, b), score in distances.items()],
        "stated": [(settings.k, settings.m)],
    }


def _relations_of_grid(grid: object) -> dict[str, list[tuple[Value, ...]]]:
    """Return the relations of a distance table beside the distances: its records and members, numbered from 1."""
    if not isinstance(grid, Grid):
        return {}
    records, members = list(enumerate(grid.rows)), list(enumerate(grid.columns))
    return {
        "distance_row": [(0, row, row + 1) for row, _ in records],
        "distance_col": [(0, col, col + 1) for col, _ in members],
        "txn": [(row + 1, row, name) for row, name in records],
        "item": [(col + 1, name) for col, name in members],
        "published_as": [(row + 1, 0, 1) for row, _ in records],
        "member_of": [(1, col, col + 1) for col, _ in members],
    }


def _compare_eliminations(findings: Sequence[tuple[str, ...]], expected: Sequence[tuple[str, ...]]) -> str | None:
    """Return the first difference from the expected findings, which are in order; None if there is none."""
    for number, (found, due) in enumerate(zip(findings, expected, strict=False), 1):
        if found != due:
            return f"elimination {number} is {join_names(found)}, expected {join_names(due)}"
    if len(findings) > len(expected):
        return f"{join_names(findings[len(expected)])} was eliminated too"
    if len(expected) > len(findings):
        count = "it eliminated nothing" if not findings else f"it stopped after elimination {len(findings)}"
        return f"{join_names(expected[len(findings)])} was not eliminated: {count}"
    return None


def _compare_facts(facts: list[Any], expected: Sequence[Any], column: str) -> str | None:
    """Return the first difference from the expected facts, in any order; an expected fact may leave columns out."""
    # The most specific expectation chooses first: a general one could take its match.
    for due in sorted(expected, key=len, reverse=True):
        if isinstance(due, list):
            return f"write a fact as {{{column}: ...}}"
        match = next((fact for fact in facts if all(fact.get(name) == value for name, value in due.items())), None)
        if match is None:
            return f"{due} was not found. {_nearest(due, facts)}"
        # Each fact meets one expectation, so that a repeated one has to be expected twice.
        facts.remove(match)
    return f"{facts[0]} was found as well" if facts else None


def _nearest(due: Mapping[str, Value], facts: Sequence[Mapping[str, Value]]) -> str:
    """Return what a rule found instead of the fact `due`: of the remaining `facts` the one that differs least."""
    if not facts:
        return "No other fact was found"
    found = max(facts, key=lambda fact: sum(fact.get(name) == value for name, value in due.items()))
    return f"Found instead: {found}"


def _relations(
    case: TestCase, columns: Columns, source: Source, loc: tuple[str | int, ...]
) -> Iterator[tuple[str, list[tuple[Value, ...]]]]:
    for name, content in case.relations.items():
        if name not in columns:
            hint = suggest(name, columns) or f"relations are {', '.join(columns)}"
            raise DecloakError(f"no relation {quote(name)}", source.location((*loc, name), key=True), hint)
        yield name, _rows(content, name, columns[name], source, (*loc, name))


def _rows(
    content: Grid | Sequence[Mapping[str, Value]],
    name: str,
    columns: Sequence[str],
    source: Source,
    loc: tuple[str | int, ...],
) -> list[tuple[Value, ...]]:
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
            raise source.error((*loc, number), f"{name} has no column {quote(unknown[0])}", hint)
    return [tuple(row.get(column) for column in columns) for row in content]
