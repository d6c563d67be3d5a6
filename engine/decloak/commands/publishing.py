"""`publish`: write what a run anonymised to a file."""

from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import store_option
from decloak.errors import DecloakError
from decloak.store import results
from decloak.store.opening import connect_readonly

__all__ = ["publish_command"]


@click.command("publish")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--ids", is_flag=True, help="Set-generalised: begin each line with the transaction's id.")
@click.option("--text", is_flag=True, help="Disassociated: tables for people instead of a release file.")
@store_option
def publish_command(run: str, file: Path, ids: bool, text: bool, store: Path) -> None:
    """Write the release of RUN (a number, a variant's name, or last) to FILE, as somebody else may see it.

    Set-generalised transactions are written one a line, a disassociated release as JSON Lines. Nothing that links a
    release to its original is in the file.
    """
    from decloak.data.published import write_published
    from decloak.data.release_file import write_release
    from decloak.store.reading import read_published
    from decloak.store.torn import read_torn

    if file.exists():
        raise DecloakError("there is something already", str(file), "choose another name")
    with closing(connect_readonly(store)) as connection:
        release = results.release_of(connection, results.find_run(connection, run))
        if not release.torn:
            if text:
                raise DecloakError("the release is set-generalised, and a text as it is", hint="leave --text out")
            write_published(read_published(connection, release.number), file, ids=ids)
        elif ids:
            raise DecloakError("a disassociated release has no ids", hint="leave --ids out")
        elif text:
            _write_text(str(read_torn(connection, release.number)), file)
        else:
            write_release(read_torn(connection, release.number), file)
    click.echo(f"wrote {file}")


def _write_text(text: str, file: Path) -> None:
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise DecloakError(f"cannot write: {error.strerror}", str(file), "name another file") from None
