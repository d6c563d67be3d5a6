"""`hierarchy`: what a data set would lose in one hierarchy or another."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import form_option, listed_choices, plain_options, read_plain, reading_of, reading_options
from decloak.data.formats.plain_files import FORMATS
from decloak.data.formats.writing import check_new
from decloak.errors import DecloakError
from decloak.report.table import emit
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.data.dataset import Dataset
    from decloak.data.hierarchy import Hierarchy


@click.command("hierarchy")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--input", "kind", help=f"Format: {listed_choices(FORMATS)}.  [default: detected]")
@reading_options
@click.option("--k", type=click.IntRange(min=1), default=5, show_default=True, help="Minimum support of an itemset.")
@click.option("--m", type=click.IntRange(min=1), default=2, show_default=True, help="Maximum number of known items.")
@click.option(
    "--fanout", type=click.IntRange(min=2), default=5, show_default=True, help="Maximum number of children of a node."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random order.")
@click.option("--tree", type=click.Path(path_type=Path), help="Your own hierarchy, to compare with the others.")
@click.option("--tree-format", help="Format of the tree: parents, indented, paths or nested.")
@click.option(
    "--write", type=click.Path(path_type=Path), help="Write the hierarchy with the smallest loss, as child,parent."
)
@form_option
def hierarchy_command(
    file: Path,
    kind: str | None,
    k: int,
    m: int,
    fanout: int,
    seed: int,
    tree: Path | None,
    tree_format: str | None,
    write: Path | None,
    form: str,
    as_said: bool,
    **reading: object,
) -> None:
    """Compare generalisation hierarchies by the loss of a k^m-anonymous release.

    decloak groups items by name, by their order in the file, by popularity, at random, and by co-occurrence. NCP is the
    share of information lost. A low NCP with few labels means that rare items lost most. The largest label covers the
    stated share of all items.
    """
    from decloak.data.formats.hierarchy_file import write_hierarchy

    if write is not None:
        check_new(write)
    data = read_plain(*reading_of(file, kind, plain_options(reading), "--input"), as_said=as_said)
    candidates = {hierarchy.origin: hierarchy for hierarchy in _candidates(data, fanout, seed, tree, tree_format)}
    rows = sorted((_row(data, hierarchy, k, m) for hierarchy in candidates.values()), key=lambda row: row[2])
    emit(("hierarchy", "levels", "NCP", "labels", "of items", "largest"), rows, form)
    if write is not None:
        best = rows[0][0]
        write_hierarchy(candidates[best].parents(), write)
        say(f"wrote {write}: {best}", err=True)


def _candidates(
    data: "Dataset", fanout: int, seed: int, tree: Path | None, tree_format: str | None
) -> Iterator["Hierarchy"]:
    from decloak.anonymisers.kernels.building import GROUPINGS, MOST, by_cooccurrence, ordered
    from decloak.data.hierarchy import Hierarchy

    if (tree is None) != (tree_format is None):
        raise DecloakError("a hierarchy and its format go together", hint="give --tree and --tree-format, or neither")
    if tree is not None:
        user_tree = Hierarchy.read(tree, str(tree_format))
        # An item that the user's tree lacks is reported before other hierarchies are made.
        user_tree.code(data)
        yield user_tree
    for order in GROUPINGS:
        yield ordered(data, order, fanout, seed)
    if len(data.items) <= MOST:
        yield by_cooccurrence(data, fanout)
    else:
        say(f"cooccurrence was left out: {len(data.items):,} items are more than {MOST:,}", err=True)


def _row(data: "Dataset", tree: "Hierarchy", k: int, m: int) -> tuple[str, int, float, int, int, float]:
    from decloak.anonymisers.registry import anonymise
    from decloak.measure.loss import labels_left

    # One method for all rows, so that only their hierarchies differ.
    release = anonymise(data, "cut", k=k, m=m, hierarchy=tree)
    labels = labels_left(release, tree.items)
    assert release.ncp is not None
    return (
        tree.origin, int(tree.level.max()) + 1, float(release.ncp), labels.left, len(data.items), float(labels.widest),
    )  # fmt: skip
