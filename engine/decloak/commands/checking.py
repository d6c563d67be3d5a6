"""`check`: verify a guarantee of a data file."""

from pathlib import Path

import click

from decloak.cli import EXIT_EXPECTATION
from decloak.report.table import emit

__all__ = ["check_command"]


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "kind", required=True, help="basket, long, onehot, jsonl, spmf or published.")
@click.option("--ids", is_flag=True, help="The first name of a line is the transaction's id.")
@click.option("--k", type=int, required=True, help="How many transactions must hold an itemset that occurs.")
@click.option("--m", type=int, required=True, help="How many items somebody may know of a person.")
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, help="Violations to print.")
@click.option(
    "--output-format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="The same as --output-format json.")
def check_command(file: Path, kind: str, ids: bool, k: int, m: int, most: int, form: str, as_json: bool) -> int:
    """Check that every itemset of up to M items occurs in no transaction of FILE or in at least K.

    A generalised item of a published file counts as one item. Exit code 3: some itemsets violate it.
    """
    from decloak.data.published import read_published, written
    from decloak.data.readers import read
    from decloak.measure.guarantees import violations

    if kind == "published":
        release = read_published(file, ids=ids)
        transactions = [tuple(map(_sorted, row)) for row in release.transactions]
        records = [tuple(written(element) for element in row) for row in transactions]
    else:
        records = list(read(file, kind, ids=ids).transactions)
    found = violations(records, k=k, m=m)
    rows = [(", ".join(sorted(itemset)), support) for itemset, support in found[:most]]
    emit(("itemset", "support"), rows, "json" if as_json else form)
    rest = f", {len(found) - most} more not shown" if len(found) > most else ""
    click.echo(f"{len(found)} itemsets violate k={k}, m={m}{rest}" if found else f"k={k}, m={m} holds", err=True)
    return EXIT_EXPECTATION if found else 0


def _sorted(element: str | tuple[str, ...]) -> str | tuple[str, ...]:
    return element if isinstance(element, str) else tuple(sorted(element))
