"""YAML text as a tree with the location of every key and value.

The text is parsed once, event by event, with bounds on every event. So deep nesting and alias bombs end early, while
the YAML library's own composer recurses without a bound.

Scalars follow the core schema of YAML 1.2. The only words with a meaning are `true`/`false` and `null` (also `True`,
`TRUE`, `~`, …), so `no`, `on` and `12:30` are text. `1e-3` is a number, `0x1f` and `0o17` are integers. One departure:
digits with a leading zero (`010`) stay text, because item codes look like that.
"""

import math
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import yaml

from decloak.errors import DecloakError, quote

# Both bounds count aliases as expanded: an alias bomb has few nodes and billions of values.
MOST = 100_000
"""Largest number of nodes of a document, with aliases expanded."""
DEEPEST = 50
"""Largest number of levels of nesting, with aliases expanded."""
WIDEST = 2**63 - 1
"""The largest integer: a database column holds no larger one."""

# PyYAML may be built without libyaml, which is faster.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# The characters that YAML 1.2 allows. The parser's own error for others may have no line.
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
UNUSABLE = re.compile("[\x00\ud800-\udfff]")  # in quoted text, where an escape can write any character
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"(?P<decimal>[-+]?(?:0|[1-9][0-9]*))|0o(?P<octal>[0-7]+)|0x(?P<hexadecimal>[0-9a-fA-F]+)")
_REAL = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ENDLESS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_BASES = {"decimal": 10, "octal": 8, "hexadecimal": 16}


class Location(NamedTuple):
    """The file, line and column of a value. Line 0 means that only the name is known, for example of an option."""

    name: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.name}:{self.line}:{self.column}" if self.line else self.name


@dataclass(frozen=True)
class Node:
    """A value of a document, and the locations of everything inside it."""

    value: Any
    place: Location
    keys: dict[str, Location] = field(default_factory=dict)
    children: dict[str | int, "Node"] = field(default_factory=dict)

    @classmethod
    def mapping(cls, place: Location, keys: dict[str, Location], children: dict[str | int, "Node"]) -> "Node":
        """Return a mapping at `place` with the locations `keys` of its keys and the values `children`."""
        return cls({key: child.value for key, child in children.items()}, place, keys, children)

    @classmethod
    def sequence(cls, place: Location, items: Sequence["Node"]) -> "Node":
        """Return a list of `items` at `place`."""
        return cls([item.value for item in items], place, {}, dict(enumerate(items)))

    @cached_property
    def size(self) -> int:
        """The number of keys and values in this node, including itself, with aliases expanded."""
        return 1 + len(self.keys) + sum(child.size for child in self.children.values())

    @cached_property
    def height(self) -> int:
        """The number of levels of nesting."""
        return 1 + max((child.height for child in self.children.values()), default=0)

    def put(self, keys: tuple[str, ...], node: "Node", key_place: Location) -> "Node":
        """Return this tree with `node` under `keys`, where * is every entry of a list. Missing mappings are created at
        `key_place`.
        """
        if not keys:
            return node
        head, rest = keys[0], keys[1:]
        if isinstance(self.value, list) and head == "*":
            entries = [child.put(rest, node, key_place) for child in self.children.values()]
            return Node.sequence(self.place, entries)
        if isinstance(self.value, list):
            index = self._index(head, key_place)
            items = self.children | {index: self.children[index].put(rest, node, key_place)}
            return Node.sequence(self.place, list(items.values()))
        if self.value is not None and not isinstance(self.value, dict):
            message = f"{quote(head)} cannot be set inside {quote(self.value)}, which holds no keys"
            raise DecloakError(message, str(key_place), f"write keys and values at {self.place}")
        inner = self.children.get(head, Node(None, node.place)).put(rest, node, key_place)
        keys_now = self.keys | {head: self.keys.get(head, key_place)}
        return Node.mapping(self.place, keys_now, self.children | {head: inner})

    def without_key(self, key: str) -> "Node":
        """Return this mapping without `key`."""
        keys = {name: place for name, place in self.keys.items() if name != key}
        return Node.mapping(self.place, keys, {name: self.children[name] for name in keys})

    def _index(self, text: str, place: Location) -> int:
        last = len(self.value) - 1
        # `isdigit` accepts characters such as "²", and "01" is not how an entry is counted.
        if text.isascii() and text.isdigit() and len(text) < 10 and str(int(text)) == text and int(text) <= last:
            return int(text)
        hint = f"count from 0 to {last}" if last >= 0 else "the list is empty"
        raise DecloakError(f"no entry {quote(text)} in the list at {self.place}", str(place), hint)


def number_or_text(text: str) -> str | int | float | bool | None:
    """Return the value of `text`, a scalar without quotes.

    >>> [number_or_text(text) for text in ("3", "1e-3", "0x1f", "no", "true", "010", "")]
    [3, 0.001, 31, 'no', True, '010', None]
    """
    if text in _WORDS:
        return _WORDS[text]
    if whole := _WHOLE.fullmatch(text):
        return _whole(whole)
    if _ENDLESS.fullmatch(text) or (_REAL.fullmatch(text) and not math.isfinite(float(text))):
        raise DecloakError(f"{quote(text)} is not a finite number", hint="write a number below 1e308")
    return float(text) if _REAL.fullmatch(text) else text


def _whole(match: re.Match[str]) -> int:
    base = str(match.lastgroup)
    digits = match[base]
    # Python refuses to read thousands of digits, with an error that has no remedy.
    number = int(digits, _BASES[base]) if len(digits) <= 64 else WIDEST + 1
    if abs(number) > WIDEST:
        raise DecloakError(f"{quote(match[0])} is too large", hint=f"write a whole number up to {WIDEST}")
    return number


def end_of(text: str, name: str) -> Location:
    """Return the location of the end of `text` in the file `name`."""
    return Location(name, text.count("\n") + 1, len(text) - text.rfind("\n"))


def compose(text: str, name: str, *, marks: bool = True) -> Node:
    """Read YAML `text` of the file `name` and return its tree. Without `marks` every location is only the name.

    >>> compose("{k: 3}", "x.yaml").children["k"].place
    Location(name='x.yaml', line=1, column=5)
    """
    if text.lstrip().startswith(("{", "[")):  # JSON
        text = _PAIR.sub(_joined, text)
    composer = _Composer(text, name, marks)
    # Garbage collection would drop a Ctrl-C that is raised in it.
    with closing(composer.events):
        return composer.document()


def _joined(pair: re.Match[str]) -> str:
    """Return one character for two escapes that JSON joins and YAML does not."""
    return bytes.fromhex(pair[1] + pair[2]).decode("utf-16-be")


class _Composer:
    """A builder of the tree from the events of the parser, one method call per node."""

    def __init__(self, text: str, name: str, marks: bool) -> None:
        self.name, self.marks = name, marks
        self.events = self._events(text)
        self.anchors: dict[str, Node | None] = {}  # None: the node is still open
        self.count = 0

    def document(self) -> Node:
        next(self.events)  # the stream starts
        if isinstance(next(self.events), yaml.StreamEndEvent):
            raise DecloakError(
                "the file is empty", self.name, "write keys and values; `decloak init` writes an example"
            )
        root = self._node(next(self.events), 1)
        next(self.events)  # the document ends
        after = next(self.events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._fault(after, "a second document begins here", "keep one document a file, delete the '---'")
        return root

    def _events(self, text: str) -> Generator[yaml.Event]:
        if bad := _UNREADABLE.search(text):
            place = end_of(text[: bad.start()], self.name) if self.marks else Location(self.name)
            message = f"{quote(bad[0])} is not a readable character"
            raise DecloakError(message, str(place), "delete it, or save the file as text")
        try:
            yield from yaml.parse(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            problem, began, mark = error.problem or "", error.context_mark, error.problem_mark or error.context_mark
            hint = next((hint for part, hint in _SYNTAX.items() if part in problem), None)
            if hint is None:
                hint = "check indentation, brackets and quotes"
                if self.marks and began is not None and mark is not None and began.line < mark.line:
                    hint += f" from line {began.line + 1} on"
            raise DecloakError(f"cannot read the YAML: {problem}", str(self._location(mark)), hint) from None
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise DecloakError(f"cannot read the YAML: {str(error)[:60]!r}", self.name, "save it as text") from None

    def _location(self, mark: Any) -> Location:
        return Location(self.name, mark.line + 1, mark.column + 1) if self.marks else Location(self.name)

    def _fault(self, event: yaml.Event, message: str, hint: str) -> DecloakError:
        return DecloakError(message, str(self._location(event.start_mark)), hint)

    def _node(self, event: yaml.Event, depth: int) -> Node:
        if isinstance(event, yaml.AliasEvent):
            node = self._alias(event)
            self._count(event, node.size, depth + node.height - 1)
            return node
        if (tag := getattr(event, "tag", None)) is not None:
            # People write the short form.
            tag = str(tag).replace("tag:yaml.org,2002:", "!!")
            raise self._fault(event, f"the tag {quote(tag)} is not allowed", "delete it")
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self.anchors[anchor] = None
        # Counted before its values are read, so that deep nesting ends early.
        self._count(event, 1, depth)
        if isinstance(event, yaml.MappingStartEvent):
            node = self._mapping(event, depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._sequence(event, depth)
        else:
            node = Node(self._scalar(event), self._location(event.start_mark))
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def _count(self, event: yaml.Event, size: int, deepest: int) -> None:
        self.count += size
        if self.count > MOST:
            raise self._fault(event, f"more than {MOST} values, aliases expanded", "keep bulk data in files")
        if deepest > DEEPEST:
            raise self._fault(event, f"nested deeper than {DEEPEST} levels", "write it flatter")

    def _alias(self, event: Any) -> Node:
        name = event.anchor
        if name not in self.anchors:
            raise self._fault(event, f"no anchor {quote(name)} before this alias", "write & and the name there")
        node = self.anchors[name]
        if node is None:
            raise self._fault(event, f"the alias {quote(name)} holds itself", "write the value out")
        return node

    def _scalar(self, event: Any) -> Any:
        if UNUSABLE.search(event.value):
            raise self._fault(event, f"{quote(event.value)} holds a character no text may hold", "delete it")
        try:
            # The parser sets implicit[0] only for a scalar without quotes.
            return number_or_text(event.value) if event.implicit[0] else event.value
        except DecloakError as error:
            raise self._fault(event, error.message, f"{error.hint}, or quote it to make it text") from None

    def _sequence(self, start: yaml.Event, depth: int) -> Node:
        items: list[Node] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return Node.sequence(self._location(start.start_mark), items)

    def _mapping(self, start: yaml.Event, depth: int) -> Node:
        keys: dict[str, Location] = {}
        children: dict[str | int, Node] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._key(event, depth, keys)
            keys[key] = self._location(event.start_mark)
            children[key] = self._node(next(self.events), depth + 1)
        return Node.mapping(self._location(start.start_mark), keys, children)

    def _key(self, event: yaml.Event, depth: int, earlier: Mapping[str, Location]) -> str:
        # Merge keys belong to YAML 1.1: in 1.2 this key would be ordinary text.
        if getattr(event, "value", None) == "<<" and getattr(event, "implicit", (False,))[0]:
            raise self._fault(event, "merge keys '<<' are not read", "write the keys out")
        key = self._node(event, depth + 1).value
        if not isinstance(key, str):
            raise self._fault(event, "a key must be text", "put it in quotes")
        if key in earlier:
            hint = f"it was first written at {earlier[key]}; delete one of the two"
            raise self._fault(event, f"the key {quote(key)} is written twice", hint)
        return key


_SYNTAX = {
    "cannot start any token": "indent with spaces instead of tabs, and quote text that begins with @, ` or %",
    "mapping values are not allowed": "write a colon after every key, and quote text that holds ': '",
    "unexpected end of stream": "close the quote",
}
