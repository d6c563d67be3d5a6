"""Find, read and check rule files, and put the rules of a run in the order they depend on each other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import networkx as nx
from pydantic import RootModel

from decloak.digest import digest
from decloak.errors import DecloakError, nearest, shown
from decloak.resources import bundled
from decloak.rules.because import sentence_sql
from decloak.rules.checking import derives_of, reassociation_of, strategy_of
from decloak.rules.eliminate.strategy import Strategy
from decloak.rules.model import AnyRule, ReassociateRule, is_path
from decloak.rules.reassociate.strategy import Reassociation
from decloak.store.findings import START
from decloak.store.relations import RELATIONS, Derives
from decloak.store.sandbox_guard import empty_sandbox
from decloak.yaml.source import Source, check, read

__all__ = [
    "SENTENCE",
    "Catalogue",
    "Rule",
    "bundled_files",
    "bundled_names",
    "in_order",
    "no_rule",
    "read_text",
    "rule_files",
    "sentence_columns",
    "stranger",
]

SENTENCE = {
    "eliminate": (
        *("round", "transaction", "item", "generalised", "group"),
        *("suspicion", "threshold", "weight", "d", "table"),
    ),
    "reassociate": ("transaction", "cluster", "row", "chunk", "unit", "value"),
}
"""What the sentence of a rule of these forms may name; the others name the columns they derive, and the round."""


class _RuleFile(RootModel[AnyRule]):
    """A rule file of any form."""


@dataclass(frozen=True)
class Rule:
    """A checked rule: what the file says, what it derives and what it reads."""

    model: AnyRule
    source: Source = field(repr=False)
    text: str = field(repr=False)
    path: str
    derives: Derives
    reads: frozenset[str]
    strategy: Strategy | None = None
    reassociation: Reassociation | None = None

    @property
    def random(self) -> bool:
        """Whether it goes by chance, so that a seed decides what it finds."""
        coin = self.strategy is not None and self.strategy.strike == "coin"
        return coin or (self.reassociation is not None and self.reassociation.match == "random")

    @property
    def name(self) -> str:
        return self.model.rule

    @property
    def digest(self) -> str:
        return digest(self.text)

    @property
    def stranger(self) -> str | None:
        """What errors call the rule when it did not come with decloak, so that its SQL is not trusted."""
        return stranger(self.name, self.text)

    def places(self) -> dict[str, str]:
        """Where each step of a query is written."""
        steps = {name: self.source.place(("let", name)) for name in getattr(self.model, "let", {})}
        return steps | {name: self.source.place((name,)) for name in ("facts", "start", "repeat", "cells", "of")}

    def start_sql(self) -> str | None:
        """The weight of a cell before the first round as SQL, when the rule takes the distances as they are."""
        plain = " ".join(getattr(self.model, "cells", "").lower().split()) == "select * from distance"
        if self.strategy is None or self.strategy.strike == "coin" or not plain:
            return None
        return self.strategy.weigh.sql(START, over="partition by x.distance_table")

    def because_sql(self, table: str) -> str:
        """The sentence as SQL over a table or view that has the columns it names."""
        return sentence_sql(self.model.because, sentence_columns(self.model, self.derives), table)


def read_text(text: str) -> tuple[AnyRule, Derives]:
    """A rule text that was checked before, as the store keeps it."""
    source = Source.parse(text, "rule")
    model = check(source, _RuleFile).root
    return model, derives_of(model, source)


def sentence_columns(model: AnyRule, derives: Derives) -> tuple[str, ...]:
    """The columns a rule's sentence may name."""
    return SENTENCE.get(model.form) or ("round", *derives.columns)


class Catalogue:
    """The rules that can be named: those that come with decloak, and files given by path."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._files: dict[str, Path] = {}
        self._headers: dict[str, Derives] = {}
        self._rules: dict[Path, Rule] = {}
        for path in (*bundled_files(), *paths):
            self._add(path)

    def _add(self, path: Path) -> Path:
        path = path.resolve()
        if path in self._files.values():
            return path
        source = read(path)
        model = check(source, _RuleFile).root
        earlier = self._files.get(model.rule)
        if earlier is not None:
            raise source.error(("rule",), f"the rule {shown(model.rule)} is also in {earlier}", "rename one of them")
        derives = derives_of(model, source)
        other = self.deriving(derives.name)
        if other is not None:
            message = f"the rule {other} derives {derives.name} already"
            raise source.error(("derives",), message, "give the relation another name")
        self._files[model.rule] = path
        self._headers[model.rule] = derives
        return path

    @property
    def names(self) -> tuple[str, ...]:
        """Every rule that can be named."""
        return tuple(sorted(self._files))

    def path(self, where: str, folder: Path = Path()) -> Path:
        """The file of a rule named or given by a path relative to `folder`."""
        if is_path(where):
            return self._add(folder / where)
        if where not in self._files:
            raise no_rule(where, self.names)
        return self._files[where]

    def rule(self, where: str, folder: Path = Path()) -> Rule:
        """Read and check a rule."""
        path = self.path(where, folder)
        if path not in self._rules:
            self._rules[path] = self._checked(path)
        return self._rules[path]

    def deriving(self, relation: str) -> str | None:
        """The rule that derives a relation."""
        return next((name for name, derives in self._headers.items() if derives.name == relation), None)

    def derived(self, rule: Rule) -> list[Derives]:
        """What other rules derive for this one to read."""
        return [one for name, one in self._headers.items() if name != rule.name]

    def needed(self, rule: Rule) -> list[Rule]:
        """The rules whose relations a rule reads, directly or not, in the order they must run."""
        found: dict[str, Rule] = {}
        waiting = [rule]
        while waiting:
            one = waiting.pop()
            for name in filter(None, map(self.deriving, sorted(one.reads))):
                if name not in found and name != rule.name:
                    found[name] = self.rule(name)
                    waiting.append(found[name])
        return in_order(found.values())

    def _checked(self, path: Path) -> Rule:
        source = read(path)
        model = check(source, _RuleFile).root
        derives = self._headers[model.rule]
        known = {name: relation.columns for name, relation in RELATIONS.items()}
        known |= {one.name: one.columns for name, one in self._headers.items() if name != model.rule}
        text = path.read_text(encoding="utf-8-sig")
        with empty_sandbox(known, stranger(model.rule, text)) as sandbox:
            strategy = strategy_of(sandbox, model, derives, source)
            torn = reassociation_of(model, source) if isinstance(model, ReassociateRule) else None
            reads = frozenset(sandbox.read & known.keys())
        try:
            sentence_sql(model.because, sentence_columns(model, derives), "x")
        except DecloakError as error:
            raise source.error(("because",), error.message, error.hint) from None
        return Rule(model, source, text, str(path), derives, reads, strategy, torn)


@cache
def bundled_files() -> tuple[Path, ...]:
    """The rule files that come with decloak."""
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


def no_rule(name: str, known: Sequence[str]) -> DecloakError:
    """The answer to a name that no rule has."""
    hint = nearest(name, known) or f"rules are {', '.join(known)}; a rule of yours goes by path"
    return DecloakError(f"no rule named {shown(name)}", hint=hint)


def rule_files(folder: Path, pattern: str = "**/*.yaml") -> tuple[Path, ...]:
    """The rule files in a folder and below: YAML files with the keys rule and form."""
    found = sorted(one for one in folder.glob(pattern) if not one.name.endswith(".test.yaml"))
    return tuple(one for one in found if {"rule", "form"} <= set(_keys(one)))


def _keys(path: Path) -> Iterable[str]:
    """The top-level keys of a YAML file, none when it cannot be read: then it is no rule of anybody's."""
    try:
        value = read(path).value
    except DecloakError:
        return ()
    return value if isinstance(value, dict) else ()


def in_order(rules: Iterable[Rule]) -> list[Rule]:
    """Sort rules so that each comes after those whose relations it reads."""
    by_name = {rule.name: rule for rule in rules}
    by_relation = {rule.derives.name: rule.name for rule in by_name.values()}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(by_name)
    for rule in by_name.values():
        graph.add_edges_from((by_relation[read], rule.name) for read in rule.reads if read in by_relation)
    try:
        return [by_name[name] for name in nx.lexicographical_topological_sort(graph)]
    except nx.NetworkXUnfeasible:
        circle = [edge[0] for edge in nx.find_cycle(graph)]
        place = by_name[circle[0]].source.place(("rule",))
        raise DecloakError(
            f"rules read each other in a circle: {' → '.join([*circle, circle[0]])}",
            place,
            "let one rule derive both, with start: and repeat:",
        ) from None
