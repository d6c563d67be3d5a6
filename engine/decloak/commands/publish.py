"""`publish`: write a release to files that others may have."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import print_run_titles, store_option
from decloak.data.formats.lines import location
from decloak.report.terminal import say

if TYPE_CHECKING:
    import sqlite3


@click.command("publish")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--original-ids", is_flag=True, help="Write the original id before each record. This re-identifies people."
)
@click.option("--text", is_flag=True, help="Write a disassociated release as tables for people.")
@click.option(
    "--cut", type=click.Path(path_type=Path), help="Write the items of every label as CSV (generalised releases)."
)
@store_option
def publish_command(run: str, file: Path, original_ids: bool, text: bool, cut: Path | None, store: Path) -> None:
    """Write the release of RUN to FILE, with a manifest beside it.

    RUN is a number, the name of a variant, or last. release:3 is the release with number 3.

    The extension of FILE selects the format. .txt has one record per line, and .jsonl is a release file. .csv is a
    table for readers, with a codebook beside it. .db is a store without original data. For a disassociated release,
    .txt needs --text.

    decloak gives the records new numbers and an order that depends on the published content alone. Before FILE appears,
    decloak reads it back and compares it with the original data. If the file leads to them, decloak writes nothing.
    """
    from decloak.releases.form import Publishing
    from decloak.releases.publishing import publish_release
    from decloak.store import results
    from decloak.store.opening import connect_readonly

    with closing(connect_readonly(store)) as connection:
        release = results.find_release(connection, run)
        handed_out = publish_release(connection, release, file, Publishing(original_ids, text, cut))
        of_run = []
        # A release without its run has no variants and no control group to warn of.
        if not run.startswith("release:"):
            number = results.find_run(connection, run)
            of_run = [*_one_of_several(connection, number), *_warn_of_held_out_records(connection, number)]
            print_run_titles(connection, run)
    for warning in (*handed_out.warnings, *of_run):
        say(warning if warning.startswith("WARNING:") else f"note: {warning}", err=True)
    first, *others = map(location, handed_out.files)
    say(f"wrote {first} and {' and '.join(others)}")


def _one_of_several(connection: "sqlite3.Connection", number: int) -> list[str]:
    """Name the published run of a sweep, because other variants and repetitions expose other people."""
    from decloak.store.results import sweep_of

    sweep = {each.run: each for each in sweep_of(connection, number)}
    if number not in sweep or len(sweep) == 1:
        return []
    published = sweep[number]
    title = f"{published.variant} #{published.repetition}"
    run_of = f"run {number} ({title}) is one of {len(sweep)} runs of its sweep"
    return [f"{run_of}; `decloak show {number}` lists the people exposed"]


def _warn_of_held_out_records(connection: "sqlite3.Connection", number: int) -> list[str]:
    """Say that a release lacks the control group, if its run held one out."""
    from decloak.measure.exposure_guesses import HELD_OUT
    from decloak.store.results import notes_of

    if not any(HELD_OUT in note for note in notes_of(connection, number)):
        return []
    remedy = "to publish all records, delete `control: held_out` in the scenario and run it again"
    return [f"the release lacks the people of the control group, who are held out; {remedy}"]
