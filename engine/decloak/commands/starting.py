"""`init` and `import`: how one begins."""

import shutil
from pathlib import Path

import click

from decloak.commands.options import store_option
from decloak.errors import DecloakError

__all__ = ["import_command", "init_command"]

SCHEMA = "scenario.schema.json"
"""What an editor completes and checks the scenario by; its first line names it."""


@click.command("init")
@click.argument("scenario", type=click.Path(path_type=Path), default="scenario.yaml")
def init_command(scenario: Path) -> None:
    """Write a scenario to begin with, and the small clinic it attacks, beside each other."""
    from decloak.resources import bundled

    source, data = Path(str(bundled("scenarios"))), "quickstart"
    for target in (scenario, scenario.parent / data):
        if target.exists() or scenario.name == data:
            raise DecloakError("there is something already", str(target), "choose another name or folder")
    try:
        scenario.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source / data, scenario.parent / data)
        shutil.copyfile(source / f"{data}.yaml", scenario)
        shutil.copyfile(source / SCHEMA, scenario.parent / SCHEMA)
    except OSError as error:
        raise DecloakError(f"cannot write: {error.strerror}", str(scenario), "choose another folder") from None
    click.echo(f"wrote {scenario} and {scenario.parent / data}/; next: decloak run {scenario}")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "form", required=True, help="basket, long, onehot, jsonl, spmf or published.")
@click.option("--ids", is_flag=True, help="The first name of a line is the transaction's id.")
@click.option("--separator", help="The character between names, when it is not a comma.")
@click.option("--transaction", help="The column of the transaction's id (long; default tid).")
@click.option("--item", help="The column of the item (long; default item).")
@store_option
def import_command(
    file: Path, form: str, ids: bool, separator: str | None, transaction: str | None, item: str | None, store: Path
) -> None:
    """Read a data file into the store, to be looked at with SQL or as a graph.

    \b
    basket     one transaction a line: milk, bread
    long       CSV with a row per item: tid,item
    onehot     CSV with a column of 0 and 1 per item
    jsonl      a JSON list of names a line, or {"id": ..., "items": [...]}
    spmf       whole numbers separated by spaces
    published  set-generalised: knee, (icd, injury, limbs)
    """
    from decloak.data.published import read_published
    from decloak.data.readers import read
    from decloak.digest import digest
    from decloak.store.opening import open_store
    from decloak.store.writing import find, write_dataset, write_release

    if form == "published":
        if separator or transaction or item:
            raise DecloakError("the format published has no such option", hint="only --ids goes with it")
        release = read_published(file, ids=ids)
        key = digest(["import", release.origin, release.transactions, release.labels])
        with open_store(store) as opened:
            if find(opened, "release", key) is None:
                with opened.stage() as connection:
                    write_release(connection, key, release, "unknown", {})
        count, items = len(release.transactions), len(release.generalised)
        click.echo(f"{count} transactions with {items} generalised items from {file} in {store}")
        return
    columns = {name: value for name, value in (("transaction", transaction), ("item", item)) if value is not None}
    data = read(file, form, ids=ids, separator=separator, **columns)
    key = digest(["import", data.origin, form, data.transactions, data.labels])
    with open_store(store) as opened:
        if find(opened, "dataset", key) is None:
            with opened.stage() as connection:
                write_dataset(connection, key, data, "original", form)
    click.echo(f"{len(data.transactions)} transactions of {len(data.items)} items from {file} in {store}")
