"""`check`: verify a guarantee of a data file or of a release."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from decloak.cli import EXIT_EXPECTATION
from decloak.commands.options import form_option
from decloak.errors import DecloakError
from decloak.report.table import emit

__all__ = ["check_command"]


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--input",
    "kind",
    default="release",
    show_default=True,
    help="What the file is: release (disassociated), published, basket, long, onehot, jsonl or spmf.",
)
@click.option("--ids", is_flag=True, help="The first name of a line is the transaction's id.")
@click.option("--k", type=int, help="How many must hold an itemset that occurs; a release may say it itself.")
@click.option("--m", type=int, help="How many items somebody may know of a person; likewise.")
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, help="Violations to print.")
@form_option
def check_command(file: Path, kind: str, ids: bool, k: int | None, m: int | None, most: int, form: str) -> int:
    """Check that a disassociated release keeps its guarantee, or that a data file is k^m-anonymous.

    A release is checked chunk by chunk, and by what its clusters may have been. In a data file every itemset of up to
    M items must occur in no transaction or in at least K; a generalised item of a published file counts as one item.
    Exit code 3: something violates it.
    """
    if kind == "release":
        columns, rows = _release(file, ids, k, m)
    else:
        columns, rows = ("itemset", "support"), _itemsets(file, kind, ids, k, m)
    emit(columns, rows[:most], form)
    rest = f", {len(rows) - most} more not shown" if len(rows) > most else ""
    click.echo(f"{len(rows)} violations{rest}" if rows else "it holds", err=True)
    return EXIT_EXPECTATION if rows else 0


def _release(file: Path, ids: bool, k: int | None, m: int | None) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    from decloak.data.release_file import read_release
    from decloak.measure.disassociation_guarantee import check_release

    if ids:
        raise DecloakError("a release file has no ids", hint="leave --ids out")
    found = check_release(read_release(file), k=k, m=m)
    rows = [(one.kind, one.cluster, one.chunk, ", ".join(one.itemset), one.support, one.message) for one in found]
    return ("kind", "cluster", "chunk", "itemset", "support", "what is wrong"), rows


def _itemsets(file: Path, kind: str, ids: bool, k: int | None, m: int | None) -> list[tuple[Any, ...]]:
    from decloak.data.published import read_published, written
    from decloak.data.readers import read
    from decloak.measure.guarantees import violations

    if k is None or m is None:
        raise DecloakError("a data file does not say its k and m", hint="give --k and --m")
    if kind == "published":
        release = read_published(file, ids=ids)
        records = [tuple(written(_sorted(element)) for element in row) for row in release.transactions]
    else:
        records = list(read(file, kind, ids=ids).transactions)
    found = violations(records, k=k, m=m)
    return [(", ".join(sorted(itemset)), support) for itemset, support in found]


def _sorted(element: str | tuple[str, ...]) -> str | tuple[str, ...]:
    return element if isinstance(element, str) else tuple(sorted(element))
