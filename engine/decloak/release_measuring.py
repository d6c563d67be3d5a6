"""What a run measures of a generalised release itself: what it lost, and what mining still finds in it."""

import json
import sqlite3
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from decloak.anonymisers.hierarchy import Hierarchy
from decloak.anonymisers.optimal import optimum
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.figures import POOLED, UNKNOWN, Figure
from decloak.generalising import GLOBAL
from decloak.measure.loss import information_loss, labels_left, support_error
from decloak.measure.mining import least_support, ml2, tkd_labels
from decloak.store.reading import read_dataset, read_published, read_tree

__all__ = ["RELEASE_FAMILIES", "measure_release"]

RELEASE_FAMILIES = ("loss", "cost", "mining")
"""They say nothing of an attack, so that every attack has the same."""


def measure_release(
    connection: sqlite3.Connection, family: str, release: int, settings: Mapping[str, Any]
) -> tuple[list[Figure], str | None]:
    """The figures of a family, and why some are missing."""
    (text,) = connection.execute("select loss from release where id = ?", (release,)).fetchone()
    told = json.loads(text)
    if family == "cost":
        figures: list[Figure] = [(POOLED, name, told[name], None, None) for name in COST if name in told]
        return figures, None if figures else "what making the release took is not known"
    row = connection.execute("select original from truth_release where release = ?", (release,)).fetchone()
    original = None if row is None else read_dataset(connection, row[0])
    shown = Generalised.of(read_published(connection, release))
    tree = read_tree(connection, release)
    if family == "loss":
        figures, note = _loss(told, shown, original, tree)
        return [*figures, *_optimum(connection, release, original, tree)], note
    if original is None:
        return [], UNKNOWN.format("what mining finds")
    return _mining(shown, original, tree, **settings)


def _loss(
    told: Mapping[str, Any], shown: Generalised, original: Dataset | None, tree: Hierarchy | None
) -> tuple[list[Figure], str | None]:
    items = {*shown.items, *(original.items if original else ()), *(tree.items if tree else ())}
    left = labels_left(shown, items)
    figures: list[Figure] = [(POOLED, name, told[name], None, None) for name in TOLD if name in told]
    figures.append((POOLED, "labels", left.left, left.left, len(items)))
    figures.append((POOLED, "largest", float(left.widest), None, None))
    if original is None:
        return figures, UNKNOWN.format("the loss of information")
    ncp = Fraction(told["ncp"]) if "ncp" in told else information_loss(original, shown)
    figures.append((POOLED, "ncp", None if ncp is None else float(ncp), None, None))
    return [*figures, (POOLED, "support_error", support_error(original, shown), None, None)], None


def _optimum(
    connection: sqlite3.Connection, release: int, original: Dataset | None, tree: Hierarchy | None
) -> list[Figure]:
    """The least that one cut for all records can lose, where the hierarchy has few enough to know."""
    method, text = connection.execute("select method, parameters from release where id = ?", (release,)).fetchone()
    settings = json.loads(text)
    if tree is None or original is None or method not in GLOBAL:
        return []
    found = optimum(tree, tree.code(original.transactions), settings["k"], settings["m"], FEW_CUTS)
    return [] if found is None else [(POOLED, "optimum", float(found), None, None)]


FEW_CUTS = 50_000
"""Cuts of a hierarchy that are all looked at for the optimum: a second's work."""
TOLD = ("ul_log10", "suppressed")
COST = ("cpu_seconds", "seconds")
"""What making a release told of it."""


def _mining(
    shown: Generalised, original: Dataset, tree: Hierarchy | None, support: float, top: int
) -> tuple[list[Figure], str | None]:
    figures: list[Figure] = [(POOLED, "tkd", tkd_labels(shown, original.transactions, top), None, None)]
    if tree is None:
        return figures, "ML2 needs the hierarchy that the release was generalised in"
    found = ml2(tree, original, shown, least_support(support, len(original.transactions)))
    values = {"ml2": found.ml2, "dml2": found.dml2_eq2, "dml2_lost": found.dml2_experiments}
    figures += [(POOLED, name, None if one is None else float(one), None, None) for name, one in values.items()]
    return figures, None
