"""Review of rule files: faults that no test shows, and clauses that no test decides."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from decloak.errors import DecloakError, quote, suggest
from decloak.rules.because import column_names
from decloak.rules.load import Catalogue, bundled_files, checked
from decloak.rules.model import RuleModel
from decloak.rules.operators.operator import Rule
from decloak.rules.testing import case_fault, catalogue_of, read_test, sibling_test
from decloak.store.sandbox_guard import one_process
from decloak.yaml.source import Source

_OTHER_CHOICES: Mapping[str, Sequence[Any]] = {
    "weigh": ["d"],
    "suspicion": ["largest", "largest_gap"],
    "threshold": ["none", "mean(d)"],
    "eliminate": ["once", "all", "heaviest"],
    "groups": [["table"], ["row"], ["col"], ["row", "col"]],
    "units": [["term"], ["subrecord"], ["term", "subrecord"]],
    "size": ["1..1"],
    "support": ["1..1"],
}
"""Other values of keys that are no list of words. Those that do not compile are left out."""
_SKIPPED = {*RuleModel.model_fields, "derives", "evidence", "notes", "repeat", "state"}
"""Keys that decide no finding, and `repeat`: a round without its condition may never end."""
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\[[^\]]*\]|--[^\n]*|\w+|\S""")
_BEGIN = {"where", "on", "having"}
_END = {
    *_BEGIN, "group", "order", "limit", "union", "except", "intersect", "join", "left", "inner", "cross", "natural",
    "full", "window", "select", ",",
}  # fmt: skip


class RuleCoverage(NamedTuple):
    """The number of `clauses` of a rule, and those that `never` decided a case: the place, the text and the reason.

    The reason is empty where the test of the rule gives none under `undecided`.
    """

    rule: str
    clauses: int
    never: tuple[tuple[str, str, str], ...]


@one_process()
def lint(path: Path | None = None) -> tuple[int, list[DecloakError]]:
    """Return the number of rules in the file or folder `path`, or of all included rules, and their faults."""
    files, catalogue = catalogue_of(path)
    rules = [catalogue.rule(str(file.resolve())) for file in files]
    included = {file.resolve() for file in bundled_files()}
    # A copy of an included rule may be checked, so that each file is read apart from the others.
    others = [Catalogue().rule(str(file)) for file in included - {file.resolve() for file in files}]
    ids = {rule.model.id: rule for rule in others if rule.model.id is not None}
    faults = list[DecloakError]()
    for rule in rules:
        faults += _faults(rule, catalogue.names)
        same = ids.setdefault(rule.model.id, rule) if rule.model.id else rule
        if same is not rule:
            message = f"the rule {same.name} has the id {quote(rule.model.id)} already"
            faults.append(rule.source.error(("id",), message, "write an id that no other rule has"))
    return len(rules), faults


def _faults(rule: Rule, names: Sequence[str]) -> Iterator[DecloakError]:
    model, source = rule.model, rule.source
    if model.id is None:
        yield source.error((), "missing key 'id'", "add such as id: clinic-0001, and never change it")
    for number, name in enumerate(model.related):
        if name not in names:
            hint = suggest(name, names) or "`decloak rules` lists the rules"
            yield source.error(("related", number), f"no rule named {quote(name)}", hint)
    if model.status == "deprecated" and not model.related:
        yield source.error(("status",), "a deprecated rule without a replacement", "name one under related")
    if not column_names(model.because):
        yield source.error(("because",), "the reason is the same for all findings", "name a column, such as {item}")
    # The dump quotes the names of steps and of evidence, and quoted names are not counted: evidence is added as it is.
    values = (str(value) for value in model.model_dump().values())
    later = "\n".join([*model.steps.values(), *model.evidence_steps, *values])
    for name in model.steps:
        if len(re.findall(rf"\b{name}\b", later)) - len(re.findall(rf"'{name}'", later)) < 1:
            yield source.error(("let", name), f"nothing reads the step {quote(name)}", "delete it")
    cases = read_test(rule)
    if cases is None:
        yield DecloakError("the rule has no test", rule.path, f"write {sibling_test(Path(rule.path)).name} beside it")
    elif not any(case.expect for case in cases[1].cases if case.todo is None):
        message = "no case of its test expects a finding, so its condition may be impossible"
        yield cases[0].error(("cases",), message, "add a case in which the rule finds something")


@one_process()
def rule_coverage(path: Path | None = None) -> list[RuleCoverage]:
    """Return which clauses decide a test, for the rules in the file or folder `path`, or for all included rules.

    A clause is a choice, or a condition in SQL. It decides a case if the case has another result with another choice,
    or without the condition.
    """
    files, catalogue = catalogue_of(path)
    return [_coverage(catalogue.rule(str(file.resolve())), catalogue) for file in files]


def _coverage(rule: Rule, catalogue: Catalogue) -> RuleCoverage:
    found = read_test(rule)
    tests = [] if found is None else [(case, found[0], number) for number, case in enumerate(found[1].cases)]
    before = [case_fault(rule, case, catalogue, source, number) for case, source, number in tests]
    decided: dict[tuple[str, str], bool] = {}
    for clause, model in _variants(rule):
        # One variant that decides a case is enough, and each further one runs the tests again.
        if decided.get(clause):
            continue
        try:
            other = _compiled(rule, model, catalogue)
        except DecloakError:
            continue
        decided[clause] = any(
            _differs(other, case, catalogue, source, number, fault)
            for (case, source, number), fault in zip(tests, before, strict=True)
        )
    reasons = {} if found is None else found[1].undecided
    never = [(*clause, reasons.get(clause[1], "")) for clause, decides in decided.items() if not decides]
    needless = reasons.keys() - {text for _, text, _ in never}
    if found is not None and needless:
        text = min(needless)
        message = f"the rule has no clause {quote(text)} that decides no test"
        raise found[0].error(("undecided", text), message, "remove it from undecided")
    return RuleCoverage(rule.name, len(decided), tuple(never))


def _compiled(rule: Rule, model: RuleModel, catalogue: Catalogue) -> Rule:
    """Return `rule` with another `model`."""
    return checked(replace(rule, model=model), tuple(catalogue.relations_of_others(rule)))


def _differs(rule: Rule, case: Any, catalogue: Catalogue, source: Source, number: int, fault: str | None) -> bool:
    try:
        return case_fault(rule, case, catalogue, source, number) != fault
    except DecloakError:
        return True


def _variants(rule: Rule) -> Iterator[tuple[tuple[str, str], RuleModel]]:
    """Yield each clause, by its place and text, with the content of a rule that has another one there."""
    model = rule.model
    for name, sql in model.steps.items():
        for text, other in sql_conditions(sql):
            yield (rule.place("let", name), text), model.model_copy(update={"let": {**model.let, name: other}})
    for key, field in type(model).model_fields.items():
        value = getattr(model, key)
        if key in _SKIPPED or key == "let" or value is None:
            continue
        if isinstance(value, str) and value.lstrip().lower().startswith(("select", "with")):
            for text, other in sql_conditions(value):
                yield (rule.place(key), text), model.model_copy(update={key: other})
        # Types are compared, because 1 is a choice for a number, and True would be one as well.
        others = [choice for choice in (*_OTHER_CHOICES.get(key, ()), 1) if type(choice) is type(value)]
        for choice in (*_words(field.annotation), *others):
            if choice != value:
                yield (rule.place(key), f"{key}: {value}"), model.model_copy(update={key: choice})


def _words(annotation: Any) -> Iterator[Any]:
    """Yield the values of a key that has a list of words, or is true or false."""
    if annotation is bool:
        yield from (True, False)
    elif get_origin(annotation) is Literal:
        yield from get_args(annotation)
    elif NoneType in get_args(annotation):
        words = [word for part in get_args(annotation) for word in _words(part)]
        yield from (None, *words) if words else ()


def sql_conditions(sql: str) -> Iterator[tuple[str, str]]:
    """Yield each condition of `sql`, with the SQL without it.

    >>> [text for text, _ in sql_conditions("select 1 from a join b on a.x = b.x where y between 1 and 2 and z > 3")]
    ['a.x = b.x', 'y between 1 and 2', 'z > 3']
    """
    for start, end in _spans(sql):
        # 1 is always true, so the SQL is valid without the condition.
        yield " ".join(sql[start:end].split()), f"{sql[:start]}1{sql[end:]}"


class _Clause:
    """The conditions behind one where, on or having."""

    def __init__(self, start: int) -> None:
        self.start, self.joints, self.either, self.between = start, list[tuple[int, int]](), False, 0

    def spans(self, end: int) -> Iterable[tuple[int, int]]:
        """Yield the start and end of each condition; conditions joined by or count as one."""
        # Without one side of an `or` the other one would decide more, and not less.
        cuts = [] if self.either else self.joints
        starts, ends = [self.start, *(after for _, after in cuts)], [*(before for before, _ in cuts), end]
        return zip(starts, ends, strict=True)


def _spans(sql: str) -> list[tuple[int, int]]:
    """Return the start and end of each condition in `sql`."""
    found = list[tuple[int, int]]()
    open_clauses: list[_Clause | None] = [None]
    for token in _TOKEN.finditer(sql):
        word, clause = token[0].lower(), open_clauses[-1]
        # A bracket and a case have conditions of their own.
        if word in ("(", "case"):
            open_clauses.append(None)
            continue
        closes = word in (")", "end")
        if clause is not None and (closes or word in _END):
            found += clause.spans(token.start())
            open_clauses[-1] = None
        elif clause is not None and word == "between":
            clause.between += 1
        # The `and` of a between joins no conditions.
        elif clause is not None and word == "and" and clause.between:
            clause.between -= 1
        elif clause is not None and word == "and":
            clause.joints.append((token.start(), token.end()))
        elif clause is not None and word == "or":
            clause.either = True
        if closes and len(open_clauses) > 1:
            open_clauses.pop()
        elif word in _BEGIN:
            open_clauses[-1] = _Clause(token.end())
    if open_clauses[-1] is not None:
        found += open_clauses[-1].spans(len(sql))
    return [_stripped(sql, *span) for span in found if sql[slice(*span)].strip()]


def _stripped(sql: str, start: int, end: int) -> tuple[int, int]:
    text = sql[start:end]
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())
