"""`serve`: the store in a browser."""

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from decloak import ending
from decloak.commands.options import store_option
from decloak.report.terminal import say

__all__ = ["serve_command"]


@click.command("serve")
@store_option
@click.option("--port", type=click.IntRange(0, 65_535), default=8001, show_default=True, help="Port. 0: any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at. Others need --token.")
@click.option("--token", envvar="DECLOAK_TOKEN", help="16 letters and digits or more, which a visitor must give.")
def serve_command(store: Path, port: int, host: str, token: str | None) -> None:
    """Show the store in a browser, read-only, with Datasette.

    decloak serves a copy without the original data: no table truth_*, no original records, no names that were not
    published. SQL reads this copy alone. The copy is made at the start. It contains no later runs.

    The first page links the report of the last run. The database page lists queries for common questions.
    """
    from decloak.library.serving import listen, serve, site

    with listen(host, port, token) as opened, TemporaryDirectory(prefix="decloak-") as folder:
        app = site(store, Path(folder), token)
        name = f"[{host}]" if ":" in host else host
        say(f"http://{name}:{opened.getsockname()[1]}/ (stop with Ctrl-C)")
        try:
            serve(app, opened)
        except KeyboardInterrupt:
            ending.forget()
