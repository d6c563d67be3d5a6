"""The command `import`: read a data file into the store."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from decloak.commands.options import (
    HEADED,
    listed_choices,
    look_reading,
    plain_options,
    progress_bar,
    read_plain,
    reading_options,
    store_option,
    warn_if_store_has_originals,
)
from decloak.data.formats.lines import FilePath, location
from decloak.data.formats.plain_files import FORMATS
from decloak.data.formats.record import Options
from decloak.data.representation import counted
from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote, suggest
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.data.dataset import Dataset


class _Importable(NamedTuple):
    """A line of help on a format, and the options that it may be given with."""

    summary: str
    options: frozenset[str]


IMPORTABLE = {
    # Which of them mean something to a format of plain records, its reader says.
    **{name: _Importable(entry.summary, frozenset(Options._fields)) for name, entry in FORMATS.items() if entry.parse},
    "published": _Importable("set-generalised: knee, (icd, injury, limbs)", frozenset({"ids", "repeats"})),
    "text": _Importable(
        "a folder or a table of documents: nouns and noun phrases", frozenset({"field", "id_field", "headers"})
    ),
    "searchlog": _Importable("search log with tabs: AnonID, Query, QueryTime, ...", frozenset({"short"})),
    **{name: _Importable(entry.summary, frozenset(Options._fields)) for name, entry in FORMATS.items() if entry.load},
}
"""The formats of `import`: plain records, releases, texts and logs."""

_FORMATS = "\n".join(f"{name:<9}  {entry.summary}" for name, entry in IMPORTABLE.items())
_HELP = f"Read a data file into the store, for queries with SQL or as a graph.\n\n\b\n{_FORMATS}"


@click.command("import", help=_HELP)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "form", help=f"{listed_choices(IMPORTABLE)}.  [default: detected]")
@reading_options
@click.option("--transaction", help="Column of the record id (long).  [default: tid]")
@click.option("--item", help="Column of the item (long).  [default: item]")
@click.option("--field", help="Column or key of the text (text, from a table).")
@click.option("--id-field", help="Column or key of the document id (text, from a table).")
@click.option("--header", "headers", multiple=True, help="Pattern of lines to ignore (text). Repeatable.")
@click.option(
    "--short",
    type=click.IntRange(0, 20),
    help="Longest query that becomes one item, in words (searchlog).  [default: 2]",
)
@store_option
def import_command(file: Path, form: str | None, store: Path, as_said: bool, **options: object) -> None:
    """Read a data file into the store."""
    # An option that was not given is None, false or empty. 0 is a value of --short.
    said = {name: value for name, value in options.items() if value or type(value) is int}
    source: FilePath = file
    if form is None:
        source, reading = look_reading(file, plain_options(said), "--format")
        form, said = reading.format, said | reading.settings
    if form in HEADED:
        raise DecloakError(f"a {form} release", str(file), "attack it: see `decloak init --help` on --from")
    if form not in IMPORTABLE:
        hint = suggest(form, IMPORTABLE) or f"known formats: {', '.join(IMPORTABLE)}"
        raise DecloakError(f"unknown format {quote(form)}", hint=hint)
    # Sorted, so that the same mistake has the same message each time.
    for name in sorted(said.keys() - IMPORTABLE[form].options):
        flag = {"headers": "--header", "header": "--header-line", "columns": "--column"}.get(
            name, f"--{name.replace('_', '-')}"
        )
        raise DecloakError(f"the format {form} has no option {flag}", hint="leave it out")
    if form == "published":
        _import_release(source, plain_options(said), as_said, store)
    else:
        _import_data(_read(source, form, said, as_said), form, file, store)


def _read(file: FilePath, form: str, options: JsonObject, as_said: bool) -> "Dataset":
    from decloak.data.text.notes import read_text
    from decloak.data.text.searchlog import read_searchlog

    if form not in ("text", "searchlog"):
        return read_plain(file, form, plain_options(options), as_said=as_said)
    with progress_bar("reading") as progress:
        if form == "searchlog":
            return read_searchlog(Path(file), progress=progress, **options)
        ids = options.pop("id_field", None)
        return read_text(Path(file), ids=ids, progress=progress, **options)


def _import_release(file: FilePath, options: Options, as_said: bool, store: Path) -> None:
    from decloak.data.formats.look_check import check_ids
    from decloak.data.published import read_published
    from decloak.digest import digest
    from decloak.store.inserting import find
    from decloak.store.opening import open_store
    from decloak.store.releases import write_release

    release = read_published(file, ids=options.ids, repeats=options.repeats)
    if not as_said:
        check_ids(file, release.transactions, options.ids)
    # The key depends on the content, so that a second import of the same file adds nothing.
    key = digest(["import", release.origin, tuple(release.transactions), tuple(release.labels)])
    with open_store(store) as opened:
        if find(opened.connection, "release", key) is None:
            with opened.stage() as connection:
                write_release(connection, key, release, "unknown", {})
    count, items = len(release.transactions), len(release.generalised)
    say(f"{counted(count, 'record')} with {counted(items, 'generalised item')} from {location(file)} in {store}")


def _import_data(data: "Dataset", form: str, file: Path, store: Path) -> None:
    from decloak.data.ordering import sorted_warning
    from decloak.digest import digest
    from decloak.store.inserting import find
    from decloak.store.opening import open_store
    from decloak.store.writing import write_dataset

    if not data.items:
        raise DecloakError("no transaction has any item", str(file), "run `decloak look FILE` to see how it is read")
    warning = sorted_warning(data)
    key = digest(["import", data.origin, form, data.digest])
    with warn_if_store_has_originals(store):
        with open_store(store) as opened:
            if find(opened.connection, "dataset", key) is None:
                with opened.stage() as connection:
                    write_dataset(connection, key, data, "original", form, warning)
        say(f"{counted(len(data.transactions), 'record')} of {counted(len(data.items), 'item')} from {file} in {store}")
        if warning:
            say(f"note: {warning}", err=True)
