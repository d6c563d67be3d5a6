"""Finding, reading and checking of rule files, and the order of rules by their dependencies.

A process reads and checks a rule text once: the cache key is its content, so that decloak reads a changed file again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, reduce
from operator import or_
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field, RootModel

from decloak.data.formats.folder import Folder
from decloak.digest import JsonObject, digest
from decloak.errors import DecloakError, Faults, quote, suggest
from decloak.files import bundled
from decloak.plugins import installed
from decloak.rules.model import REQUIRED, RuleModel, is_path
from decloak.rules.operators.operator import Rule
from decloak.rules.operators.registry import OPERATORS
from decloak.rules.pack import check_packed
from decloak.store.relations import RELATIONS, Derives
from decloak.store.sandbox_guard import empty_sandbox
from decloak.yaml.source import Source, check, source_text

if TYPE_CHECKING:
    AnyModel = RuleModel
else:
    AnyModel = Annotated[reduce(or_, (operator.model for operator in OPERATORS.values())), Field(discriminator="form")]


@cache
def rule_file_model() -> "type[RootModel[AnyModel]]":
    """Return the model of a rule file of any form. Making it takes longer than reading a rule."""

    class RuleFile(RootModel[AnyModel]):
        """A rule file of any form."""

        model_config = ConfigDict(defer_build=True)

    return RuleFile


def rule_schema() -> JsonObject:
    """Return the JSON Schema of rule files of all forms, for editors."""
    schema = rule_file_model().model_json_schema(by_alias=True)
    for part in schema["$defs"].values():
        if "because" in part.get("properties", {}):  # these keys may lack only in the rule texts of a store
            part["required"] += REQUIRED
            for key in REQUIRED:
                part["properties"][key] = {"type": "string", "minLength": 1,
                                           "description": part["properties"][key]["description"]}  # fmt: skip
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "decloak rule"}


Texts = dict[str, Rule]
"""Rules by name, with SQL that is not checked yet."""

_KEPT = 1000
"""Texts of rules that a process caches, more than users have."""


@lru_cache(_KEPT)
def _source(text: str, name: str) -> Source:
    return Source.parse(text, name)


@lru_cache(_KEPT)
def parse_rule(text: str, path: str = "rule") -> Rule:
    """Read the rule in `text`, of a file or of the store; return it unchecked. `path` is its name in errors."""
    source = _source(text, quote(path, 300)[1:-1])
    form = source.value.get("form") if isinstance(source.value, dict) else None
    operator = OPERATORS.get(form) if isinstance(form, str) else None
    # The model of one form names its keys in errors. The model of all forms would list every key of every form, and
    # takes long to build, so that it only serves to name a fault of the key form.
    model = check(source, operator.model) if operator else check(source, rule_file_model()).root
    operator = OPERATORS[model.form]
    lines = text.replace("\r\n", "\n").replace("\r", "\n")  # the same rule, wherever it was written
    return Rule(operator, model, source, lines, path, operator.derives(model, source))


@lru_cache(_KEPT)
def checked(rule: Rule, relations_of_others: tuple[Derives, ...]) -> Rule:
    """Check a `rule` that may read the relations that others derive (`derived`); return it with its compiled SQL."""
    columns = {name: relation.columns for name, relation in RELATIONS.items()} | dict(relations_of_others)
    # SQLite itself says, while it prepares the SQL over empty tables, which relations are read.
    with empty_sandbox(columns, untrusted_name(rule.name, rule.text)) as sandbox:
        compiled = rule.operator.compile(rule, sandbox)
        reads = frozenset(sandbox.read & columns.keys())
    # The sentence is compiled again when the attack has run; here it only has to be found sound in time.
    try:
        rule.because_sql("x")
        _ = rule.nodes
    except DecloakError as error:
        raise rule.source.error(("because",), error.message, error.hint) from None
    return replace(rule, reads=reads, compiled=compiled)


@cache
def _bundled() -> Mapping[str, Rule]:
    rules: Texts = {}
    for path in bundled_files():
        _add_rule(rules, path.resolve())
    return rules


def _add_rule(rules: Texts, path: Path, text: str | None = None) -> Rule:
    """Add the rule of a file to others, unless they have its name or its relation; return it."""
    rule = parse_rule(source_text(path) if text is None else text, str(path))
    missing = [(key, remedy) for key, remedy in REQUIRED.items() if getattr(rule.model, key) is None]
    if missing:
        raise Faults(rule.source.error((), f"missing key {quote(key)}", remedy) for key, remedy in missing)
    earlier = rules.get(rule.name, rule)
    # Two rules of one name, or with one relation, would silently replace each other.
    if earlier.path != rule.path:
        problem = f"the rule {quote(rule.name)} is also in {earlier.path}"
        raise rule.source.error(("rule",), problem, "rename one of them")
    for rival in rules.values():
        if rival.derives.name == rule.derives.name and rival is not earlier:
            message = f"the rule {rival.name} derives {rule.derives.name} already"
            raise rule.source.error(("derives",), message, "give the relation another name")
    rules[rule.name] = rule
    return rule


class Catalogue:
    """The rules by name: rules of decloak and of plugins, and files given by path."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._texts: Texts = dict(_bundled())
        self._files: dict[Path, Rule] = {}
        self._rules: dict[str, Rule] = {}
        for path in (*_plugin_files(), *paths):
            self._add(path)

    def _add(self, path: Path, text: str | None = None) -> Rule:
        """Return the rule of a file, read once per catalogue; `text` is its content, if it was read already."""
        path = path.resolve()
        if path not in self._files:
            check_packed(path)
            self._files[path] = _add_rule(self._texts, path, text)
        return self._files[path]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._texts))

    def path(self, where: str, folder: Folder | None = None) -> Path:
        """Return the file of the rule `where`, a name or a path relative to `folder`."""
        return Path(self._text(where, folder).path)

    def _text(self, where: str, folder: Folder | None) -> Rule:
        if is_path(where):
            folder = folder or Folder(Path())
            return self._add(folder.path / where, folder.text(where))
        if where not in self._texts:
            raise unknown_rule_error(where, self.names)
        return self._texts[where]

    def rule(self, where: str, folder: Folder | None = None) -> Rule:
        """Return the checked rule `where`, a name or a path relative to `folder`."""
        text = self._text(where, folder)
        if text.name not in self._rules:
            self._rules[text.name] = checked(text, tuple(self.relations_of_others(text)))
        return self._rules[text.name]

    def rule_deriving(self, relation: str) -> str | None:
        """Return the name of the rule that derives `relation`, None if there is none."""
        return next((name for name, text in self._texts.items() if text.derives.name == relation), None)

    def relations_of_others(self, rule: Rule) -> list[Derives]:
        """Return the relations that `rule` may read of other rules; a bundled rule reads bundled ones only."""
        ships = rule.name in _bundled()
        others = (name for name in self._texts if name != rule.name and (not ships or name in _bundled()))
        return [self._texts[name].derives for name in others]

    def needed_rules(self, rule: Rule) -> list[Rule]:
        """Return the rules whose relations `rule` reads, directly or not, in the order in which they must run."""
        needed_rules: dict[str, Rule] = {}
        waiting = [rule]
        while waiting:
            reader = waiting.pop()
            for name in filter(None, map(self.rule_deriving, sorted(reader.reads))):
                if name not in needed_rules and name != rule.name:
                    needed_rules[name] = self.rule(name)
                    waiting.append(needed_rules[name])
        return dependency_order(needed_rules.values())


@cache
def bundled_files() -> tuple[Path, ...]:
    """Return the rule files that come with decloak."""
    root = Path(str(bundled("rules")))
    return tuple(sorted(path for path in root.glob("*/*.yaml") if not path.name.endswith(".test.yaml")))


@cache
def _bundled_digests() -> frozenset[str]:
    return frozenset(digest(path.read_text(encoding="utf-8-sig")) for path in bundled_files())


def untrusted_name(name: str, text: str) -> str | None:
    """Return the name of a rule in errors; None if its `text` equals the bundled rule `name`."""
    return None if digest(text) in _bundled_digests() else f"the rule {name}"


@cache
def bundled_names() -> tuple[str, ...]:
    """Return the names of bundled rules: a file has the name of its rule."""
    return tuple(sorted(path.stem for path in bundled_files()))


@cache
def _plugin_files() -> tuple[Path, ...]:
    """Return the rule files in the folders of plugins."""
    modules = [plugin.load(ModuleType) for plugin in installed() if plugin.kind == "rules"]
    folders = [Path(folder) for module in modules for folder in getattr(module, "__path__", ())]
    return tuple(path for folder in folders for path in rule_files(folder))


@cache
def rule_names() -> tuple[str, ...]:
    """Return the names of bundled rules and of the rules of plugins."""
    added = (parse_rule(source_text(path), str(path)).name for path in _plugin_files())
    return tuple(sorted([*bundled_names(), *added]))


def unknown_rule_error(name: str, names: Sequence[str]) -> DecloakError:
    """Return an error for the unknown rule `name`; `names` are the existing ones."""
    hint = suggest(name, names) or f"rules are {', '.join(names)}; for your own rule give its path"
    return DecloakError(f"no rule named {quote(name)}", hint=hint)


def rule_files(folder: Path, pattern: str = "**/*.yaml") -> tuple[Path, ...]:
    """Return the rule files in `folder` and below that match `pattern`: YAML files with the keys rule and form."""
    # Sorted, so that errors and runs do not depend on the file system.
    files = sorted(path for path in folder.glob(pattern) if not path.name.endswith(".test.yaml"))
    return tuple(path for path in files if {"rule", "form"} <= set(_keys(path)))


def _keys(path: Path) -> Iterable[str]:
    """Return the top-level keys of a YAML file; none if it cannot be read, because then it is no rule file."""
    try:
        value = _source(source_text(path), quote(path.resolve(), 300)[1:-1]).value
    except DecloakError:
        return ()
    return value if isinstance(value, dict) else ()


def dependency_order(rules: Iterable[Rule]) -> list[Rule]:
    """Return `rules` in an order in which each comes after those whose relations it reads."""
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
    """Return the error for rules that read each other."""
    import networkx as nx  # costs 0.1 s, which only this fault need pay

    edges = [(other, name) for name, others in needs.items() for other in others & needs.keys()]
    circle = [edge[0] for edge in nx.find_cycle(nx.DiGraph(edges))]
    message = f"rules read each other in a circle: {' → '.join([*circle, circle[0]])}"
    source, hint = by_name[circle[0]].source, "let one rule derive both, with start: and repeat:"
    return source.error(("rule",), message, hint)
