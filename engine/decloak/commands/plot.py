"""`plot`: write figures as pictures."""

from contextlib import closing
from pathlib import Path

import click

from decloak.commands.options import print_run_titles, store_option
from decloak.errors import DecloakError, quote
from decloak.report.terminal import say

KINDS = (".svg", ".png", ".pdf")


@click.command("plot")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--of", default="figure", show_default=True, help="figure or reliability.")
@click.option("--x", help="Varied key of the horizontal axis, for example anonymise.k, or attack.")
@click.option("--y", help="Figure of the vertical axis, as in `decloak show`.")
@click.option("--by", multiple=True, help="One panel for each value of this key, or for each attack. Repeatable.")
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write: .svg, .png or .pdf.",
)
@store_option
def plot_command(
    runs: tuple[str, ...], of: str, x: str | None, y: str | None, by: tuple[str, ...], output: Path, store: Path
) -> None:
    """Plot a figure against a parameter, with one panel for each attack.

    RUN is a number, the name of a variant, or last. decloak plots all its variants. Several runs keep the order of the
    command line. A band is the 95% interval of the mean over repetitions. The dashed grey line is the baseline.

    --of reliability plots the share of correct findings against their stated probability. The dashed grey line is
    perfect calibration. Points with fewer than 30 findings are hollow.
    """
    from decloak.data.formats.writing import check_new, write_bytes
    from decloak.report import charts
    from decloak.report.pictures import PICTURES
    from decloak.report.study import Study
    from decloak.store.opening import connect_readonly
    from decloak.store.results import chosen_runs

    if output.suffix not in KINDS:
        raise DecloakError(f"no kind of picture {quote(output.suffix)}", str(output), f"one of {', '.join(KINDS)}")
    if of not in PICTURES:
        hint = ", or ".join(f"{name}: {picture.about}" for name, picture in PICTURES.items())
        raise DecloakError(f"there is no plot of {quote(of)}", "--of", hint)
    # Before the store is read, because drawing takes seconds.
    check_new(output)
    with closing(connect_readonly(store)) as connection:
        study = Study.of(connection, chosen_runs(connection, runs or ("last",)))
        panels = PICTURES[of].panels(connection, study, {"x": x, "y": y}, by)
        print_run_titles(connection, *(runs or ("last",)))
    picture = charts.drawn(charts.grid(panels), output.suffix[1:])
    write_bytes(picture, output)
    say(f"wrote {output}")
