"""The command `plugins`: list what installed packages add to decloak."""

import click

from decloak.commands.options import form_option
from decloak.plugins import installed
from decloak.report.table import emit


@click.command("plugins")
@form_option
def plugins_command(form: str) -> None:
    """List the installed plugins: packages that add formats, methods, sources, measures, operators or rules.

    The command imports none of them. A plugin is code that you installed, and it runs with all your rights.
    """
    rows = [(plugin.package, plugin.version, plugin.kind, plugin.entry.name) for plugin in installed()]
    emit(("package", "version", "adds", "name"), rows, form)
