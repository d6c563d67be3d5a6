"""`plot`: how a figure changes with what varies, as a picture."""

from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import store_option
from decloak.errors import DecloakError, shown
from decloak.report.terminal import say

__all__ = ["plot_command"]

KINDS = (".svg", ".png", ".pdf")


@click.command("plot")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--x", required=True, help="What lies across: a key that varies, such as anonymise.k, or attack.")
@click.option("--y", required=True, help="The figure, as `decloak show` lists it.")
@click.option("--by", multiple=True, help="A panel for each value of this key, or for each attack; may be repeated.")
@click.option(
    "--output", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path), help="FILE.svg, .png, .pdf."
)
@store_option
def plot_command(runs: tuple[str, ...], x: str, y: str, by: tuple[str, ...], output: Path, store: Path) -> None:
    """Draw how a figure changes with what varies in the sweep of RUN (a number, a variant's name, or last).

    Several runs are drawn as they are named. Means over repetitions have a band of their 95% intervals; what chance
    would have reached is the grey dashed line.
    """
    from decloak.data.formats.writing import check_new, write_bytes
    from decloak.report import charts
    from decloak.report.study import Study
    from decloak.store.opening import connect_readonly
    from decloak.store.studies import chosen_runs

    if output.suffix not in KINDS:
        raise DecloakError(f"no kind of picture {shown(output.suffix)}", str(output), f"one of {', '.join(KINDS)}")
    check_new(output)
    with closing(connect_readonly(store)) as connection:
        study = Study.of(connection, chosen_runs(connection, runs or ("last",)))
    picture = charts.drawn(charts.grid(charts.panels(study, x, y, by)), output.suffix[1:])
    write_bytes(picture, output)
    say(f"wrote {output}")
