"""`publish`: write what a run anonymised to a file."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decloak.commands.options import store_option
from decloak.data.formats.delimited import join
from decloak.data.formats.lines import check_new, write_lines
from decloak.errors import DecloakError
from decloak.store import results
from decloak.store.opening import connect_readonly

if TYPE_CHECKING:
    from decloak.data.generalised import Generalised

__all__ = ["publish_command"]


@click.command("publish")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--ids", is_flag=True, help="Set-generalised: begin each line with the transaction's id.")
@click.option("--text", is_flag=True, help="Disassociated: tables for people instead of a release file.")
@click.option("--cut", type=click.Path(path_type=Path), help="Generalised: write the items of every label too, as CSV.")
@store_option
def publish_command(run: str, file: Path, ids: bool, text: bool, cut: Path | None, store: Path) -> None:
    """Write the release of RUN (a number, a variant's name, or last) to FILE, as somebody else may see it.

    Set-generalised transactions are written one a line, generalised items as their members in brackets; when FILE ends
    in .jsonl as a release file, with the labels and what they stand for. A disassociated release is a release file
    always. Nothing that links a release to its original is in the file.
    """
    from decloak.data.formats.disassociated_file import write_disassociated
    from decloak.data.formats.published import write_published
    from decloak.data.generalised import Generalised
    from decloak.store.reading import read_published
    from decloak.store.torn import read_torn

    for one in (file, cut):
        if one is not None:
            check_new(one)
    if cut is not None and cut.resolve() == file.resolve():
        raise DecloakError("the release and its labels go to the same file", str(cut), "choose another name for one")
    with closing(connect_readonly(store)) as connection:
        release = results.release_of(connection, results.find_run(connection, run))
        if not release.torn:
            if text:
                raise DecloakError("the release is set-generalised, and a text as it is", hint="leave --text out")
            published = read_published(connection, release.number)
            generalised = Generalised.of(published, *_promised(release.parameters))
            labels = [] if cut is None else ["label,item", *_cut(generalised)]
            if file.suffix == ".jsonl":
                generalised.write(file, ids=ids)
            else:
                write_published(published, file, ids=ids)
            if cut is not None:
                write_lines(labels, cut)
        elif ids or cut is not None:
            raise DecloakError("a disassociated release has no ids and no labels", hint="leave --ids and --cut out")
        elif text:
            _write_text(str(read_torn(connection, release.number)), file)
        else:
            write_disassociated(read_torn(connection, release.number), file)
    click.echo(f"wrote {file}")


def _promised(parameters: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """k and m of a release; one alone is of another promise, such as that of COAT, which covers chosen items only."""
    k, m = parameters.get("k"), parameters.get("m")
    return (k, m) if k is not None and m is not None else (None, None)


def _cut(release: "Generalised") -> Iterator[str]:
    for label in release.cut:
        yield from (join([label, item]) for item in release.members[label])


def _write_text(text: str, file: Path) -> None:
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise DecloakError(f"cannot write: {error.strerror}", str(file), "name another file") from None
