"""What a file says that a release promises: a scenario, or what one has under `anonymise`."""

from pathlib import Path
from typing import Any

from decloak.anonymisers.registry import AnyMethod
from decloak.counting.promises import Promise
from decloak.errors import placed
from decloak.yaml.part import Part
from decloak.yaml.source import Source, check, read_source
from decloak.yaml.tree import Node

__all__ = ["promise_in"]

KEY = "anonymise"


class _Anonymised(Part):
    anonymise: AnyMethod


def promise_in(path: Path, **bounds: int | None) -> Promise[Any]:
    """The promise of the method that a file names, coat where it names none; `bounds` stand in place of its own."""
    source = read_source(path)
    said = source.root.children.get(KEY, source.root)
    if not said.keys:
        raise source.error((), "expected a method with its settings", "write method: coat, k: 5, privacy: [[a, b]]")
    alone = Source(source.name, Node.mapping(said.place, {KEY: said.place}, {KEY: said}))
    settings = {"method": None if "method" in said.keys else "coat", **bounds}
    for name, value in settings.items():
        if value is not None:
            alone = alone.put((KEY, name), Node(value, said.place), said.place)
    method = check(alone, _Anonymised).anonymise
    with placed(str(said.place)):
        return method.promise
