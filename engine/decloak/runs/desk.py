"""The one who writes while a run is carried out: those who work on stages ask here, and hand in what they made.

    node     a stage by its kind and its key
    lane     the nodes of kinds that write to the same tables, in the order in which one after the other writes them

Rows are numbered as they come. What was made before its turn waits until all before it in its lane is written, so that
every row has the number that it has where one variant is worked on after the other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from decloak.runs.plan import Plan
from decloak.runs.session import Kept
from decloak.store import inserting
from decloak.store.counts import StoredCounts
from decloak.store.opening import Store

__all__ = ["Claim", "Desk", "Made", "Node", "Offer", "Told", "Write", "lanes_of", "nodes_of"]

Write = Callable[[Any], int]
"""Writes a stage that was computed, inside its transaction, and returns its number."""


class Node(NamedTuple):
    """A stage: its kind, which is the table that lists it, and its key."""

    kind: str
    key: str


class Claim(NamedTuple):
    """Somebody needs a stage: the answer is its number, None where it is to be made by whoever asks."""

    node: Node


class Offer(NamedTuple):
    """Somebody could make a stage: the answer, at once, is whether they are to."""

    node: Node


class Made(NamedTuple):
    """A stage was made, and is written when its turn comes. `kept` are counts that making it asked for."""

    node: Node
    write: Write
    kept: Sequence[Kept] = ()


class Told(NamedTuple):
    """How far a stage has come, in words."""

    text: str


Question = Claim | Made | Offer | Told

_LANES = (
    ("dataset", "release"),
    ("relatedness",),
    ("scoring",),
    ("attacker",),
    ("attack",),
    ("measurement",),
    ("run",),
)
"""Kinds that write to the same tables share a lane."""
_COUNTING = (("dataset", "release", "relatedness"), *_LANES[2:])
"""The same where methods go by relatedness, so that releases keep counts as well."""


class Desk:
    """Writes what is handed in, in order, and tells who is to make what."""

    def __init__(
        self,
        store: Store,
        tell: Callable[[int, str], None],
        lanes: Iterable[Sequence[Node]] = (),
        owners: Mapping[Node, int] | None = None,
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        self.store, self.tell, self.idle = store, tell, idle
        self._lanes = [list(reversed(lane)) for lane in lanes]
        self._lane_of = {node: lane for lane in self._lanes for node in lane}
        self._owners = dict(owners or {})
        self._waiting: dict[Node, list[int]] = {}
        self._handed_in: dict[Node, Made] = {}

    def answer(self, cell: int, question: Question) -> Iterator[tuple[int, Any]]:
        """The answers there are now, each with the cell that asked for it."""
        match question:
            case Told(text):
                self.tell(cell, text)
                yield cell, None
            case Offer(node):
                yield cell, self._is_to_make(cell, node)
            case Claim(node) if self._is_to_make(cell, node):
                yield cell, None
            case Claim(node):
                self._waiting.setdefault(node, []).append(cell)
                if inserting.find(self.store, *node) is not None:
                    yield from self._written(node)
                    yield from self._advance(self._lane_of.get(node, []))
            case Made(node):
                yield cell, None
                self._handed_in[node] = question
                yield from self._advance(self._lane_of.get(node, [node]))

    def look_again(self) -> Iterator[tuple[int, Any]]:
        """The answers that another run of the store has made possible by writing the stages first."""
        for lane in self._lanes:
            yield from self._advance(lane)
        for node in list(self._waiting):
            if inserting.find(self.store, *node) is not None:
                yield from self._written(node)

    def _is_to_make(self, cell: int, node: Node) -> bool:
        """Whether a stage is missing, and for this cell to make."""
        if node in self._handed_in or self._owners.get(node, cell) != cell:
            return False
        if inserting.find(self.store, *node) is not None:
            return False
        if node.kind != "run":  # it only notes what belongs together
            self.tell(cell, node.kind)
        return True

    def _advance(self, lane: list[Node]) -> Iterator[tuple[int, int]]:
        """Write what is next in a lane as long as it is there."""
        while lane and (lane[-1] in self._handed_in or inserting.find(self.store, *lane[-1]) is not None):
            yield from self._written(lane.pop())

    def _written(self, node: Node) -> Iterator[tuple[int, int]]:
        """Write a stage, unless another run has been faster, and answer all who need it."""
        made = self._handed_in.pop(node, None)
        number = inserting.find(self.store, *node)
        if number is None:
            assert made is not None
            for name, arguments in made.kept:
                getattr(StoredCounts(self.store), name)(*arguments)
            with self.store.stage() as connection:
                number = inserting.find(self.store, *node)  # another run may have been faster
                number = made.write(connection) if number is None else number
        for cell in self._waiting.pop(node, ()):
            yield cell, number


def nodes_of(plan: Plan) -> Iterator[Node]:
    """The stages of a variant in the order in which they are made."""
    for kind, key in (
        ("dataset", plan.original), ("release", plan.release), ("relatedness", plan.relatedness),
        ("scoring", plan.scoring), ("attacker", plan.attacker), ("dataset", plan.auxiliary),
    ):  # fmt: skip
        if key is not None:
            yield Node(kind, key)
    for planned in plan.attacks:
        yield Node("attack", planned.digest)
        for _, key, _ in planned.measures:
            yield Node("measurement", key)
    yield Node("run", plan.run)


def lanes_of(nodes: Iterable[Node], *, counting: bool) -> list[list[Node]]:
    """Nodes in lanes; `counting` tells that releases keep counts as well."""
    ordered = list(dict.fromkeys(nodes))
    return [[node for node in ordered if node.kind in kinds] for kinds in (_COUNTING if counting else _LANES)]
