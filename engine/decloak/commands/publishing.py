"""`publish`: write what a run anonymised to a file."""

from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import store_option
from decloak.data.formats.lines import check_new
from decloak.errors import DecloakError
from decloak.store import results
from decloak.store.opening import connect_readonly

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
    from decloak.releases.form import Publishing
    from decloak.releases.registry import form_of

    for path in (file, cut):
        if path is not None:
            check_new(path)
    if cut is not None and cut.resolve() == file.resolve():
        raise DecloakError("the release and its labels go to the same file", str(cut), "choose another name for one")
    with closing(connect_readonly(store)) as connection:
        release = results.release_of(connection, results.find_run(connection, run))
        form = form_of(connection, release)
        form.publish(form.hold(connection, release), file, Publishing(ids, text, cut))
    click.echo(f"wrote {file}")
