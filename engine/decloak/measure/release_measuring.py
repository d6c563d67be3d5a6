"""What a run measures of a generalised release itself: what it lost, and what mining still finds in it."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from decloak.anonymisers.generalising import GLOBAL
from decloak.anonymisers.kernels.optimal import optimum
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.measure.figure import POOLED, UNKNOWN, Figure
from decloak.measure.kernels.loss import information_loss, labels_left, support_error
from decloak.measure.kernels.mining import least_support, ml2, tkd_labels
from decloak.store.reading import read_dataset, read_published, read_tree

__all__ = ["RELEASE_FAMILIES", "Measured"]

RELEASE_FAMILIES = ("loss", "cost", "mining")
"""They say nothing of an attack, so that every attack has the same."""


@dataclass
class Measured:
    """A release, and what the evaluator knows of it: each read once, when a family of measures asks for it."""

    connection: sqlite3.Connection
    release: int

    def figures(self, family: str, settings: Mapping[str, Any]) -> tuple[list[Figure], str | None]:
        """The figures of a family, and why some are missing."""
        if family == "cost":
            figures: list[Figure] = [(POOLED, name, self.told[name], None, None) for name in COST if name in self.told]
            return figures, None if figures else "what making the release took is not known"
        if family == "loss":
            return self._loss()
        return self._mining(**settings)

    @cached_property
    def _made(self) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """The method, its settings, and what making the release told."""
        method, settings, told = self.connection.execute(
            "select method, parameters, loss from release where id = ?", (self.release,)
        ).fetchone()
        return method, json.loads(settings), json.loads(told)

    @property
    def told(self) -> dict[str, Any]:
        """What making the release told."""
        return self._made[2]

    @cached_property
    def original(self) -> Dataset | None:
        """What it was made from, None when that is not known."""
        row = self.connection.execute(
            "select original from truth_release where release = ?", (self.release,)
        ).fetchone()
        return None if row is None else read_dataset(self.connection, row[0])

    @cached_property
    def shown(self) -> Generalised:
        """What it shows."""
        return Generalised.of(read_published(self.connection, self.release))

    @cached_property
    def tree(self) -> Hierarchy | None:
        """The hierarchy it was generalised in, None where there is none."""
        return read_tree(self.connection, self.release)

    def _loss(self) -> tuple[list[Figure], str | None]:
        told, shown, original, tree = self.told, self.shown, self.original, self.tree
        items = {*shown.items, *(original.items if original else ()), *(tree.items if tree else ())}
        left = labels_left(shown, items)
        figures: list[Figure] = [(POOLED, name, told[name], None, None) for name in TOLD if name in told]
        figures.append((POOLED, "labels", left.left, left.left, len(items)))
        figures.append((POOLED, "largest", float(left.widest), None, None))
        if original is None:
            return figures, UNKNOWN.format("the loss of information")
        ncp = Fraction(told["ncp"]) if "ncp" in told else information_loss(original, shown)
        figures.append((POOLED, "ncp", None if ncp is None else float(ncp), None, None))
        figures.append((POOLED, "support_error", support_error(original, shown), None, None))
        return [*figures, *self._optimum(original)], None

    def _optimum(self, original: Dataset) -> list[Figure]:
        """The least that one cut for all records can lose, where the hierarchy has few enough to know."""
        method, settings, _ = self._made
        if self.tree is None or method not in GLOBAL:
            return []
        records = self.tree.code(original.transactions)
        found = optimum(self.tree, records, settings["k"], settings["m"], FEW_CUTS)
        return [] if found is None else [(POOLED, "optimum", float(found), None, None)]

    def _mining(self, support: float, top: int) -> tuple[list[Figure], str | None]:
        shown, original, tree = self.shown, self.original, self.tree
        if original is None:
            return [], UNKNOWN.format("what mining finds")
        figures: list[Figure] = [(POOLED, "tkd", tkd_labels(shown, original.transactions, top), None, None)]
        if tree is None:
            return figures, "ML2 needs the hierarchy that the release was generalised in"
        found = ml2(tree, original, shown, least_support(support, len(original.transactions)))
        values = {"ml2": found.ml2, "dml2": found.dml2_eq2, "dml2_lost": found.dml2_experiments}
        figures += [(POOLED, name, None if one is None else float(one), None, None) for name, one in values.items()]
        return figures, None


FEW_CUTS = 50_000
"""Cuts of a hierarchy that are all looked at for the optimum: a second's work."""
TOLD = ("ul_log10", "suppressed")
COST = ("cpu_seconds", "seconds")
"""What making a release told of it."""
