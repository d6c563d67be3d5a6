"""`init` and `import`: how one begins."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from decloak.commands.options import listed_choices, progress_bar, store_option
from decloak.data.formats.readers import FORMATS, read
from decloak.data.formats.record import Options
from decloak.errors import DecloakError, nearest, shown

if TYPE_CHECKING:
    from decloak.data.dataset import Dataset

__all__ = ["import_command", "init_command"]


class _Importable(NamedTuple):
    """A line of help on a format, and the options that it may be given with."""

    summary: str
    options: frozenset[str]


IMPORTABLE = {
    # Which of them mean something to a format of plain transactions, its reader says.
    **{name: _Importable(entry.summary, frozenset(Options._fields)) for name, entry in FORMATS.items()},
    "published": _Importable("set-generalised: knee, (icd, injury, limbs)", frozenset({"ids"})),
    "text": _Importable(
        "a folder or a table of documents: their nouns and noun phrases", frozenset({"field", "id_field", "headers"})
    ),
    "searchlog": _Importable("AnonID, Query, QueryTime, ... with tabs: what people looked for", frozenset({"short"})),
}
"""What can be imported: plain transactions, releases, and what transactions are drawn from."""
STANDALONE = ("gallery", "papers/km-anonymity")
"""Folders of scenarios whose data are generated."""
SCHEMA = "scenario.schema.json"
"""What an editor completes and checks the scenario by; its first line names it."""


@click.command("init")
@click.argument("scenario", type=click.Path(path_type=Path), default="scenario.yaml")
@click.option("--like", help="Another scenario that comes with decloak and needs no file, such as clinic-coat.")
def init_command(scenario: Path, like: str | None) -> None:
    """Write a scenario to begin with, and the small clinic it attacks, beside each other.

    With --like it is one of the gallery or of the experiments of the k^m-anonymity paper, whose data are made up.
    """
    from decloak.resources import bundled

    source, data = Path(str(bundled("scenarios"))), "quickstart"
    begun = source / f"{data}.yaml" if like is None else _shipped(source, like)
    for target in (scenario, *([scenario.parent / data] if like is None else [])):
        if target.exists() or scenario.name == data:
            raise DecloakError("there is something already", str(target), "choose another name or folder")
    try:
        scenario.parent.mkdir(parents=True, exist_ok=True)
        if like is None:
            shutil.copytree(source / data, scenario.parent / data)
        # The first line names the schema by a path of the source tree; beside the copy lies a schema of its own.
        _, text = begun.read_text(encoding="utf-8").split("\n", 1)
        scenario.write_text(f"# yaml-language-server: $schema={SCHEMA}\n{text}", encoding="utf-8")
        shutil.copyfile(source / SCHEMA, scenario.parent / SCHEMA)
    except OSError as error:
        raise DecloakError(f"cannot write: {error.strerror}", str(scenario), "choose another folder") from None
    beside = f" and {scenario.parent / data}/" if like is None else ""
    click.echo(f"wrote {scenario}{beside}; next: decloak run {scenario}")


def _shipped(source: Path, name: str) -> Path:
    """A scenario that needs no file, by its name."""
    scenarios = {path.stem: path for folder in STANDALONE for path in sorted((source / folder).glob("*.yaml"))}
    if name not in scenarios:
        hint = nearest(name, scenarios) or f"one of {', '.join(scenarios)}"
        raise DecloakError(f"no scenario {shown(name)} that needs no file comes with decloak", "--like", hint)
    return scenarios[name]


_FORMATS = "\n".join(f"{name:<9}  {entry.summary}" for name, entry in IMPORTABLE.items())
_HELP = f"Read a data file into the store, to be looked at with SQL or as a graph.\n\n\b\n{_FORMATS}"


@click.command("import", help=_HELP)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "form", required=True, help=f"{listed_choices(IMPORTABLE)}.")
@click.option("--ids", is_flag=True, help="The first name of a line is the transaction's id.")
@click.option("--separator", help="The character between names, when it is not a comma.")
@click.option("--transaction", help="The column of the transaction's id (long; default tid).")
@click.option("--item", help="The column of the item (long; default item).")
@click.option("--field", help="The column or key that holds the text (text, from a table).")
@click.option("--id-field", help="The column or key that names the document (text, from a table).")
@click.option("--header", "headers", multiple=True, help="A pattern of lines to leave out (text); may be repeated.")
@click.option("--short", type=click.IntRange(0, 20), help="Words of a query kept whole (searchlog; default 2).")
@store_option
def import_command(file: Path, form: str, store: Path, **options: Any) -> None:
    """Read a data file into the store; its help lists the formats there are."""
    if form not in IMPORTABLE:
        hint = nearest(form, IMPORTABLE) or f"known formats: {', '.join(IMPORTABLE)}"
        raise DecloakError(f"unknown format {shown(form)}", hint=hint)
    chosen = {name: value for name, value in options.items() if value or type(value) is int}  # --short 0
    for name in chosen.keys() - IMPORTABLE[form].options:
        flag = "--header" if name == "headers" else f"--{name.replace('_', '-')}"
        raise DecloakError(f"the format {form} has no option {flag}", hint="leave it out")
    if form == "published":
        _import_release(file, bool(chosen), store)
    else:
        _import_data(_read(file, form, chosen), form, file, store)


def _read(file: Path, form: str, options: dict[str, Any]) -> "Dataset":
    from decloak.data.text.notes import read_text
    from decloak.data.text.searchlog import read_searchlog

    if form not in ("text", "searchlog"):
        return read(file, form, **options)
    with progress_bar("reading") as progress:
        if form == "searchlog":
            return read_searchlog(file, progress=progress, **options)
        ids = options.pop("id_field", None)
        return read_text(file, ids=ids, progress=progress, **options)


def _import_release(file: Path, ids: bool, store: Path) -> None:
    from decloak.data.published import read_published
    from decloak.digest import digest
    from decloak.store.inserting import find
    from decloak.store.opening import open_store
    from decloak.store.releases import write_release

    release = read_published(file, ids=ids)
    key = digest(["import", release.origin, release.transactions, release.labels])
    with open_store(store) as opened:
        if find(opened, "release", key) is None:
            with opened.stage() as connection:
                write_release(connection, key, release, "unknown", {})
    count, items = len(release.transactions), len(release.generalised)
    click.echo(f"{count} transactions with {items} generalised items from {file} in {store}")


def _import_data(data: "Dataset", form: str, file: Path, store: Path) -> None:
    from decloak.data.text.order import sorted_warning
    from decloak.digest import digest
    from decloak.store.inserting import find
    from decloak.store.opening import open_store
    from decloak.store.writing import write_dataset

    warning = sorted_warning(data)
    key = digest(["import", data.origin, form, data.transactions, data.labels])
    with open_store(store) as opened:
        if find(opened, "dataset", key) is None:
            with opened.stage() as connection:
                write_dataset(connection, key, data, "original", form, warning)
    noun = "transaction" if len(data.transactions) == 1 else "transactions"
    click.echo(f"{len(data.transactions)} {noun} of {len(data.items)} items from {file} in {store}")
    if warning:
        click.echo(f"note: {warning}", err=True)
