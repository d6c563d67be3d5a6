"""`plot`: pictures of what was measured, as files."""

from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import store_option, tell_runs
from decloak.errors import DecloakError, shown
from decloak.report.terminal import say

__all__ = ["plot_command"]

KINDS = (".svg", ".png", ".pdf")


@click.command("plot")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--of", default="figure", show_default=True, help="figure, or reliability.")
@click.option("--x", help="What lies across: a key that varies, such as anonymise.k, or attack.")
@click.option("--y", help="The figure, as `decloak show` lists it.")
@click.option("--by", multiple=True, help="A panel for each value of this key, or for each attack; may be repeated.")
@click.option(
    "--output", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path), help="FILE.svg, .png, .pdf."
)
@store_option
def plot_command(
    runs: tuple[str, ...], of: str, x: str | None, y: str | None, by: tuple[str, ...], output: Path, store: Path
) -> None:
    """Draw what was measured in the sweep of RUN (a number, a variant's name, or last), a panel for each attack.

    Several runs are drawn as they are named. Of a figure (--x and --y) means over repetitions have a band of their 95%
    intervals; what chance would have reached is the grey dashed line. With --of reliability the share of findings that
    is right lies along the probability they were given: who is as right as he says is on the grey dashed line. Points
    of fewer than 30 findings are hollow.
    """
    from decloak.data.formats.writing import check_new, write_bytes
    from decloak.report import charts
    from decloak.report.pictures import PICTURES
    from decloak.report.study import Study
    from decloak.store.opening import connect_readonly
    from decloak.store.studies import chosen_runs

    if output.suffix not in KINDS:
        raise DecloakError(f"no kind of picture {shown(output.suffix)}", str(output), f"one of {', '.join(KINDS)}")
    if of not in PICTURES:
        hint = ", or ".join(f"{name}: {picture.about}" for name, picture in PICTURES.items())
        raise DecloakError(f"there is no plot of {shown(of)}", "--of", hint)
    check_new(output)
    with closing(connect_readonly(store)) as connection:
        study = Study.of(connection, chosen_runs(connection, runs or ("last",)))
        panels = PICTURES[of].panels(connection, study, {"x": x, "y": y}, by)
        tell_runs(connection, *(runs or ("last",)))
    picture = charts.drawn(charts.grid(panels), output.suffix[1:])
    write_bytes(picture, output)
    say(f"wrote {output}")
