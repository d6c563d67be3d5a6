"""`init` and `import`: how one begins."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from decloak.commands.options import listed_choices, progress_bar, store_option, told_of_originals
from decloak.commands.reading import HEADED, look_reading, plain_options, read_plain, reading_options
from decloak.data.formats.lines import FilePath, place
from decloak.data.formats.readers import FORMATS
from decloak.data.formats.record import Options
from decloak.data.formats.writing import made_whole, told_unwritable
from decloak.errors import DecloakError, nearest, shown
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.data.dataset import Dataset

__all__ = ["import_command", "init_command"]


class _Importable(NamedTuple):
    """A line of help on a format, and the options that it may be given with."""

    summary: str
    options: frozenset[str]


IMPORTABLE = {
    # Which of them mean something to a format of plain transactions, its reader says.
    **{name: _Importable(entry.summary, frozenset(Options._fields)) for name, entry in FORMATS.items() if entry.parse},
    "published": _Importable("set-generalised: knee, (icd, injury, limbs)", frozenset({"ids", "repeats"})),
    "text": _Importable(
        "a folder or a table of documents: their nouns and noun phrases", frozenset({"field", "id_field", "headers"})
    ),
    "searchlog": _Importable("AnonID, Query, QueryTime, ... with tabs: what people looked for", frozenset({"short"})),
    **{name: _Importable(entry.summary, frozenset(Options._fields)) for name, entry in FORMATS.items() if entry.load},
}
"""What can be imported: plain transactions, releases, and what transactions are drawn from."""
STANDALONE = ("gallery", "papers/km-anonymity")
"""Folders of scenarios whose data are generated."""
SCHEMA = "scenario.schema.json"
"""What an editor completes and checks the scenario by; its first line names it."""


@click.command("init")
@click.argument("scenario", type=click.Path(path_type=Path), default="scenario.yaml")
@click.option("--like", help="Another scenario that comes with decloak and needs no file, such as clinic-coat.")
@click.option("--from", "data_file", type=click.Path(path_type=Path), help="A file of yours, read as it seems to be.")
def init_command(scenario: Path, like: str | None, data_file: Path | None) -> None:
    """Write a scenario to begin with, and the small clinic it attacks, beside each other.

    With --like it is one of the gallery or of the experiments of the k^m-anonymity paper, whose data are made up.
    With --from it is about a file of yours: data to anonymise, or a release to attack; what `decloak look` finds it to
    be is spelt out in the scenario.
    """
    from decloak.commands.beginning import write_scenario_from
    from decloak.resources import bundled

    source = Path(str(bundled("scenarios")))
    if data_file is None:
        _copy_shipped(source, like, scenario)
    elif like is None:
        write_scenario_from(data_file, scenario, source / SCHEMA)
    else:
        raise DecloakError("a scenario is like another or from a file", hint="leave out --like or --from")


def _copy_shipped(source: Path, like: str | None, scenario: Path) -> None:
    """Copy a scenario that comes with decloak: the one of this name, or the quickstart with the folder of its data."""
    folder, data = scenario.parent, "quickstart"
    begun = source / f"{data}.yaml" if like is None else _shipped(source, like)
    copies = [folder / data] if like is None else []
    for target in (scenario, *copies):
        if target.exists() or scenario.name == data:
            raise DecloakError("there is something already", str(target), "choose another name or folder")
    # The first line names the schema by a path of the source tree; beside the copy lies a schema of its own.
    _, text = begun.read_text(encoding="utf-8").split("\n", 1)
    with told_unwritable(scenario):
        folder.mkdir(parents=True, exist_ok=True)
        with made_whole(folder / SCHEMA, *copies, scenario) as (schema, *copied, written):
            shutil.copyfile(source / SCHEMA, schema)
            for part in copied:
                shutil.copytree(source / data, part)
            written.write_text(f"# yaml-language-server: $schema={SCHEMA}\n{text}", encoding="utf-8")
    beside = f" and {folder / data}/" if like is None else ""
    say(f"wrote {scenario}{beside}; next: decloak run {scenario}")


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
@click.option("--format", "form", help=f"{listed_choices(IMPORTABLE)}; by itself what the file seems.")
@reading_options
@click.option("--transaction", help="The column of the transaction's id (long; default tid).")
@click.option("--item", help="The column of the item (long; default item).")
@click.option("--field", help="The column or key that holds the text (text, from a table).")
@click.option("--id-field", help="The column or key that names the document (text, from a table).")
@click.option("--header", "headers", multiple=True, help="A pattern of lines to leave out (text); may be repeated.")
@click.option("--short", type=click.IntRange(0, 20), help="Words of a query kept whole (searchlog; default 2).")
@store_option
def import_command(file: Path, form: str | None, store: Path, as_said: bool, **options: Any) -> None:
    """Read a data file into the store; its help lists the formats there are."""
    said = {name: value for name, value in options.items() if value or type(value) is int}  # --short 0
    source: FilePath = file
    if form is None:
        source, reading = look_reading(file, plain_options(said), "--format")
        form, said = reading.format, said | reading.settings
    if form in HEADED:
        raise DecloakError(f"a {form} release", str(file), "attack it: see `decloak init --help` on --from")
    if form not in IMPORTABLE:
        hint = nearest(form, IMPORTABLE) or f"known formats: {', '.join(IMPORTABLE)}"
        raise DecloakError(f"unknown format {shown(form)}", hint=hint)
    for name in said.keys() - IMPORTABLE[form].options:
        flag = {"headers": "--header", "header": "--header-line"}.get(name, f"--{name.replace('_', '-')}")
        raise DecloakError(f"the format {form} has no option {flag}", hint="leave it out")
    if form == "published":
        _import_release(source, plain_options(said), as_said, store)
    else:
        _import_data(_read(source, form, said, as_said), form, file, store)


def _read(file: FilePath, form: str, options: dict[str, Any], as_said: bool) -> "Dataset":
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
    from decloak.data.formats.look_fit import check_ids
    from decloak.data.published import read_published
    from decloak.digest import digest
    from decloak.store.inserting import find
    from decloak.store.opening import open_store
    from decloak.store.releases import write_release
    from decloak.store.showing import show_if_usual

    release = read_published(file, ids=options.ids, repeats=options.repeats)
    if not as_said:
        check_ids(file, release.transactions, options.ids)
    key = digest(["import", release.origin, tuple(release.transactions), tuple(release.labels)])
    with open_store(store) as opened:
        if find(opened, "release", key) is None:
            with opened.stage() as connection:
                write_release(connection, key, release, "unknown", {})
        show_if_usual(opened)
    count, items = len(release.transactions), len(release.generalised)
    say(f"{count} transactions with {items} generalised items from {place(file)} in {store}")


def _import_data(data: "Dataset", form: str, file: Path, store: Path) -> None:
    from decloak.data.text.order import sorted_warning
    from decloak.digest import digest
    from decloak.store.inserting import find
    from decloak.store.opening import open_store
    from decloak.store.showing import show_if_usual
    from decloak.store.writing import write_dataset

    if not data.items:
        raise DecloakError("no transaction has any item", str(file), "see `decloak look` what the file holds")
    warning = sorted_warning(data)
    key = digest(["import", data.origin, form, data.digest])
    with told_of_originals(store):
        with open_store(store) as opened:
            if find(opened, "dataset", key) is None:
                with opened.stage() as connection:
                    write_dataset(connection, key, data, "original", form, warning)
            show_if_usual(opened)
        noun = "transaction" if len(data.transactions) == 1 else "transactions"
        say(f"{len(data.transactions)} {noun} of {len(data.items)} items from {file} in {store}")
        if warning:
            say(f"note: {warning}", err=True)
