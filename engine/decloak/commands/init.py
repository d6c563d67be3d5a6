"""The command `init`: write a scenario to start from."""

import shutil
from pathlib import Path

import click

from decloak.data.formats.writing import atomic_paths, report_write_errors
from decloak.errors import DecloakError, quote, suggest
from decloak.report.terminal import say

__all__ = ["init_command"]

STANDALONE = ("gallery", "papers/km-anonymity")
"""Folders of scenarios whose data are generated."""
SCHEMA = "scenario.schema.json"
"""The JSON Schema for editors. The first line of a scenario names it."""


@click.command("init")
@click.argument("scenario", type=click.Path(path_type=Path), default="scenario.yaml")
@click.option("--like", help="Example to copy, for example demo or clinic-methods.")
@click.option(
    "--from", "data_file", type=click.Path(path_type=Path), help="Data file or release to write a scenario for."
)
def init_command(scenario: Path, like: str | None, data_file: Path | None) -> None:
    """Create a scenario, from an example or from your file.

    Without an option, decloak writes the quickstart with its data: 24 records of a small clinic. --like copies an
    example with generated data. --from writes a scenario for your data or for your release, with the format that
    `decloak look` detects.
    """
    from decloak.commands.scenario_template import write_scenario_from
    from decloak.resources import bundled

    source = Path(str(bundled("scenarios")))
    if data_file is None:
        _copy_shipped(source, like, scenario)
    elif like is None:
        write_scenario_from(data_file, scenario, source / SCHEMA)
    else:
        raise DecloakError("a scenario is like another or from a file", hint="leave out --like or --from")


def _copy_shipped(source: Path, like: str | None, scenario: Path) -> None:
    """Copy a scenario that comes with decloak: the one of this name, or the quickstart with the folder of its data."""
    folder, data = scenario.parent, "quickstart"
    begun = source / f"{data}.yaml" if like is None else _shipped(source, like)
    copies = [folder / data] if like is None else []
    for target in (scenario, *copies):
        if target.exists() or scenario.name == data:
            raise DecloakError("there is something already", str(target), "choose another name or folder")
    # The first line names the schema by a path of the source tree; beside the copy lies a schema of its own.
    _, text = begun.read_text(encoding="utf-8").split("\n", 1)
    with report_write_errors(scenario):
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_paths(folder / SCHEMA, *copies, scenario) as (schema, *copied, written):
            shutil.copyfile(source / SCHEMA, schema)
            for part in copied:
                shutil.copytree(source / data, part)
            written.write_text(f"# yaml-language-server: $schema={SCHEMA}\n{text}", encoding="utf-8")
    beside = f" and {folder / data}/" if like is None else ""
    say(f"wrote {scenario}{beside}; next: decloak run {scenario}")


def _shipped(source: Path, name: str) -> Path:
    """A scenario that needs no file, by its name."""
    scenarios = {path.stem: path for folder in STANDALONE for path in sorted((source / folder).glob("*.yaml"))}
    if name not in scenarios:
        hint = suggest(name, scenarios) or f"one of {', '.join(scenarios)}"
        raise DecloakError(f"decloak has no example {quote(name)}", "--like", hint)
    return scenarios[name]
