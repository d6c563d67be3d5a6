"""The command `validate`: check scenarios without running them."""

from pathlib import Path

import click

from decloak.commands.run import set_option
from decloak.data.repeats import WARNING
from decloak.errors import quote
from decloak.report.terminal import say

__all__ = ["validate_command"]


@click.command("validate")
@click.argument("scenarios", nargs=-1, required=True, type=click.Path(path_type=Path))
@set_option
def validate_command(scenarios: tuple[Path, ...], overrides: tuple[str, ...]) -> None:
    """Check scenarios without running them: every key, rule and variant, and that the files are there."""
    from decloak.pipeline.validate import plans
    from decloak.scenario.document import load
    from decloak.scenario.randomness import identical_repetitions

    for scenario in scenarios:
        document = load(scenario, overrides)
        count = len(plans(document))
        for warning in identical_repetitions(document):
            say(f"{WARNING}{quote(warning, 300)[1:-1]}", err=True)
        say(f"{scenario}: valid, {count} {'run' if count == 1 else 'runs'}")
