"""Find, read and check rule files, and put the rules of a run in the order they depend on each other.

A rule text is read and checked once in a process: what is kept goes by its content, so that a file that changes is
read anew.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field, RootModel

from decloak.data.formats.folder import Folder
from decloak.digest import digest
from decloak.errors import DecloakError, nearest, shown
from decloak.resources import bundled
from decloak.rules.model import RuleModel, is_path
from decloak.rules.operators.operator import Operator, Rule
from decloak.rules.operators.registry import OPERATORS
from decloak.store.relations import RELATIONS, Derives
from decloak.store.sandbox_guard import empty_sandbox
from decloak.yaml.source import Source, check, source_text

__all__ = [
    "Catalogue",
    "Rule",
    "bundled_files",
    "bundled_names",
    "checked",
    "in_order",
    "no_rule",
    "parse_rule",
    "rule_files",
    "stranger",
]

if TYPE_CHECKING:
    AnyModel = RuleModel
else:
    AnyModel = Annotated[reduce(or_, (operator.model for operator in OPERATORS.values())), Field(discriminator="form")]


class _RuleFile(RootModel[AnyModel]):
    """A rule file of any form."""

    model_config = ConfigDict(defer_build=True)


Texts = dict[str, Rule]
"""Rules by name, their SQL not checked yet."""

_KEPT = 1000
"""Texts of rules that are kept in a process, about as many as anybody has."""


@lru_cache(_KEPT)
def _source(text: str, name: str) -> Source:
    return Source.parse(text, name)


@lru_cache(_KEPT)
def parse_rule(text: str, path: str = "rule") -> Rule:
    """Read a rule text, of a file or as the store keeps it."""
    source = _source(text, shown(path, 300)[1:-1])
    operator = _operator_of(source)
    # That of all forms takes long to build, and is there to say what is amiss with a form.
    model = check(source, operator.model) if operator else check(source, _RuleFile).root
    operator = OPERATORS[model.form]
    lines = text.replace("\r\n", "\n").replace("\r", "\n")  # the same rule, wherever it was written
    return Rule(operator, model, source, lines, path, operator.derives(model, source))


def _operator_of(source: Source) -> Operator[Any] | None:
    """What a rule file says it is for, None where it does not."""
    form = source.value.get("form") if isinstance(source.value, dict) else None
    return OPERATORS.get(form) if isinstance(form, str) else None


@lru_cache(_KEPT)
def checked(rule: Rule, derived: tuple[Derives, ...]) -> Rule:
    """Check a rule that may read the relations that others derive."""
    columns = {name: relation.columns for name, relation in RELATIONS.items()} | dict(derived)
    # SQLite itself says, while it prepares the SQL over empty tables, which relations are read.
    with empty_sandbox(columns, stranger(rule.name, rule.text)) as sandbox:
        compiled = rule.operator.compile(rule, sandbox)
        reads = frozenset(sandbox.read & columns.keys())
    # The sentence is compiled again when the attack has run; here it only has to be found sound in time.
    try:
        rule.because_sql("x")
        rule.operator.nodes(rule)
    except DecloakError as error:
        raise rule.source.error(("because",), error.message, error.hint) from None
    return replace(rule, reads=reads, compiled=compiled)


@cache
def _bundled() -> Mapping[str, Rule]:
    rules: Texts = {}
    for path in bundled_files():
        _admit(rules, path.resolve())
    return rules


def _admit(rules: Texts, path: Path, text: str | None = None) -> Rule:
    """Put the rule of a file beside others, unless they have its name or what it derives."""
    rule = parse_rule(source_text(path) if text is None else text, str(path))
    earlier = rules.get(rule.name, rule)
    if earlier.path != rule.path:
        problem = f"the rule {shown(rule.name)} is also in {earlier.path}"
        raise rule.source.error(("rule",), problem, "rename one of them")
    for rival in rules.values():
        if rival.derives.name == rule.derives.name and rival is not earlier:
            message = f"the rule {rival.name} derives {rule.derives.name} already"
            raise rule.source.error(("derives",), message, "give the relation another name")
    rules[rule.name] = rule
    return rule


class Catalogue:
    """The rules that can be named: those that come with decloak, and files given by path."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._texts: Texts = dict(_bundled())
        self._files: dict[Path, Rule] = {}
        self._rules: dict[str, Rule] = {}
        for path in paths:
            self._add(path)

    def _add(self, path: Path, text: str | None = None) -> Rule:
        """Return the rule of a file, read once in the life of a catalogue; `text` is its text where it was read."""
        path = path.resolve()
        if path not in self._files:
            self._files[path] = _admit(self._texts, path, text)
        return self._files[path]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._texts))

    def path(self, where: str, folder: Folder | None = None) -> Path:
        """The file of a rule named or given by a path relative to `folder`."""
        return Path(self._text(where, folder).path)

    def _text(self, where: str, folder: Folder | None) -> Rule:
        if is_path(where):
            folder = folder or Folder(Path())
            return self._add(folder.path / where, folder.text(where))
        if where not in self._texts:
            raise no_rule(where, self.names)
        return self._texts[where]

    def rule(self, where: str, folder: Folder | None = None) -> Rule:
        text = self._text(where, folder)
        if text.name not in self._rules:
            self._rules[text.name] = checked(text, tuple(self.derived(text)))
        return self._rules[text.name]

    def deriving(self, relation: str) -> str | None:
        return next((name for name, text in self._texts.items() if text.derives.name == relation), None)

    def derived(self, rule: Rule) -> list[Derives]:
        """What other rules derive for this one to read; one that ships reads nothing of those that do not."""
        ships = rule.name in _bundled()
        others = (name for name in self._texts if name != rule.name and (not ships or name in _bundled()))
        return [self._texts[name].derives for name in others]

    def needed(self, rule: Rule) -> list[Rule]:
        """The rules whose relations a rule reads, directly or not, in the order they must run."""
        needed: dict[str, Rule] = {}
        waiting = [rule]
        while waiting:
            reader = waiting.pop()
            for name in filter(None, map(self.deriving, sorted(reader.reads))):
                if name not in needed and name != rule.name:
                    needed[name] = self.rule(name)
                    waiting.append(needed[name])
        return in_order(needed.values())


@cache
def bundled_files() -> tuple[Path, ...]:
    root = Path(str(bundled("rules")))
    return tuple(sorted(path for path in root.glob("*/*.yaml") if not path.name.endswith(".test.yaml")))


@cache
def _bundled_digests() -> frozenset[str]:
    return frozenset(digest(path.read_text(encoding="utf-8-sig")) for path in bundled_files())


def stranger(name: str, text: str) -> str | None:
    """What errors call a rule of somebody else's, None when its text is that of one that comes with decloak."""
    return None if digest(text) in _bundled_digests() else f"the rule {name}"


@cache
def bundled_names() -> tuple[str, ...]:
    """Their names: a file is named after its rule."""
    return tuple(sorted(path.stem for path in bundled_files()))


def no_rule(name: str, names: Sequence[str]) -> DecloakError:
    hint = nearest(name, names) or f"rules are {', '.join(names)}; a rule of yours goes by path"
    return DecloakError(f"no rule named {shown(name)}", hint=hint)


def rule_files(folder: Path, pattern: str = "**/*.yaml") -> tuple[Path, ...]:
    """The rule files in a folder and below: YAML files with the keys rule and form."""
    files = sorted(path for path in folder.glob(pattern) if not path.name.endswith(".test.yaml"))
    return tuple(path for path in files if {"rule", "form"} <= set(_keys(path)))


def _keys(path: Path) -> Iterable[str]:
    """The top-level keys of a YAML file, none when it cannot be read: then it is no rule of anybody's."""
    try:
        value = _source(source_text(path), shown(path.resolve(), 300)[1:-1]).value
    except DecloakError:
        return ()
    return value if isinstance(value, dict) else ()


def in_order(rules: Iterable[Rule]) -> list[Rule]:
    """Sort rules so that each comes after those whose relations it reads."""
    by_name = {rule.name: rule for rule in rules}
    by_relation = {rule.derives.name: rule.name for rule in by_name.values()}
    needs = {name: {by_relation[read] for read in rule.reads if read in by_relation} for name, rule in by_name.items()}
    order: list[Rule] = []
    while needs:
        # By name where no rule needs another: a run attacks in the same order, whatever was named first.
        name = min((name for name, others in needs.items() if not others & needs.keys()), default=None)
        if name is None:
            raise _circular(by_name, needs)
        order.append(by_name[name])
        del needs[name]
    return order


def _circular(by_name: Mapping[str, Rule], needs: Mapping[str, set[str]]) -> DecloakError:
    """What to raise of rules that read each other."""
    import networkx as nx  # costs 0.1 s, which only this fault need pay

    edges = [(other, name) for name, others in needs.items() for other in others & needs.keys()]
    circle = [edge[0] for edge in nx.find_cycle(nx.DiGraph(edges))]
    message = f"rules read each other in a circle: {' → '.join([*circle, circle[0]])}"
    source, hint = by_name[circle[0]].source, "let one rule derive both, with start: and repeat:"
    return source.error(("rule",), message, hint)
