"""`report`: one HTML page about runs."""

import re
from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import print_run_titles, store_option
from decloak.data.formats.lines import location
from decloak.errors import DecloakError
from decloak.report.terminal import say


@click.command("report")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="File to write.  [default: named after the run]")
@click.option(
    "--with-evidence", is_flag=True, help="Include findings with their explanations. They contain item names of people."
)
@click.option("--with-originals", is_flag=True, help="Include original data: the items that an attack recovered.")
@store_option
def report_command(
    runs: tuple[str, ...], output: Path | None, with_evidence: bool, with_originals: bool, store: Path
) -> None:
    """Write an HTML report about RUN and its variants, or about several runs.

    RUN is a number, the name of a variant, or last. The page is one file and loads nothing from the network. It
    contains counts and shares, and no item names by default.
    """
    from decloak.data.formats.writing import check_new, write_text
    from decloak.report.assemble import page_of
    from decloak.report.page import rendered
    from decloak.store.opening import connect_readonly
    from decloak.store.results import chosen_runs

    with closing(connect_readonly(store)) as connection:
        chosen = chosen_runs(connection, runs or ("last",))
        file = output or Path(f"{_slug(chosen[0].scenario)}-run-{chosen[-1].run}.html")
        if file.suffix.lower() not in (".html", ".htm"):
            raise DecloakError("the report is an HTML page", location(file), "use .html; a browser can print it as PDF")
        check_new(file)
        page = page_of(connection, store, chosen, evidence=with_evidence, originals=with_originals)
        print_run_titles(connection, *(runs or ("last",)))
    write_text(rendered(page), file, private=with_originals)
    say(f"wrote {file}")


def _slug(title: str) -> str:
    """Return a title as the name of a file.

    >>> _slug("What does a clinic's release expose?")
    'what-does-a-clinic-s-release-expose'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower())[:60].strip("-") or "report"
