"""`publish`: hand out what others may have."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import store_option, tell_runs
from decloak.data.formats.lines import place
from decloak.data.formats.writing import check_new
from decloak.errors import DecloakError
from decloak.report.terminal import say

if TYPE_CHECKING:
    import sqlite3

__all__ = ["publish_command"]


@click.command("publish")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--original-ids", is_flag=True, help="Write what the original transactions are called before each row.")
@click.option("--text", is_flag=True, help="Disassociated: tables for people instead of a release file.")
@click.option("--cut", type=click.Path(path_type=Path), help="Generalised: write the items of every label too, as CSV.")
@store_option
def publish_command(run: str, file: Path, original_ids: bool, text: bool, cut: Path | None, store: Path) -> None:
    """Write the release of RUN to FILE, as somebody else may see it, and a manifest beside it.

    RUN is a number, a variant's name, or last; release:3 is the release of that number, which no run need have
    attacked. Set-generalised transactions are written one a line, generalised items as their members in brackets; when
    FILE ends in .jsonl as a release file, with the labels and what they stand for; when it ends in .db as a store of
    its own, to be asked in SQL and attacked, without any truth. A disassociated release is a release file.

    Rows stand in an order that is a function of what they show, under new numbers. FILE.manifest.json says how the
    release was made, what is in the file and what is not. What was written is read back and held against the originals:
    where it leads to them, nothing is published. Nor is a part of it when the disk is full.
    """
    from decloak.data.formats.manifest_file import manifest_path
    from decloak.releases.form import Publishing
    from decloak.releases.publishing import hand_out
    from decloak.store import results
    from decloak.store.opening import connect_readonly

    paths = [path for path in (file, cut, manifest_path(file)) if path is not None]
    for path in paths:
        check_new(path)
    if len({path.resolve() for path in paths}) < len(paths):
        raise DecloakError("the release and its labels go to the same file", str(cut), "choose another name for one")
    with closing(connect_readonly(store)) as connection:
        release = results.find_release(connection, run)
        handed_out = hand_out(connection, release, file, Publishing(original_ids, text, cut))
        of_several = _one_of_several(connection, run)
        if not run.startswith("release:"):
            tell_runs(connection, run)
    for warning in (*handed_out.warnings, *of_several):
        say(f"note: {warning}", err=True)
    first, *others = map(place, handed_out.files)
    say(f"wrote {first} and {' and '.join(others)}")


def _one_of_several(connection: "sqlite3.Connection", run: str) -> list[str]:
    """Which run of a sweep was published: other variants, and other draws of the same, tell of other people."""
    from decloak.store.results import find_run
    from decloak.store.studies import sweep_of

    if run.startswith("release:"):
        return []
    number = find_run(connection, run)
    sweep = {each.run: each for each in sweep_of(connection, number)}
    if number not in sweep or len(sweep) == 1:
        return []
    published = sweep[number]
    title = f"{published.variant} #{published.repetition}"
    run_of = f"run {number}, {title}, one of {len(sweep)} of its sweep"
    return [f"this is {run_of}; `decloak show {number}` says whom it tells of"]
