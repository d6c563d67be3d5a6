"""The command `validate`: check scenarios without running them."""

from pathlib import Path

import click

from decloak.commands.run import set_option
from decloak.data.repeats import WARNING
from decloak.errors import quote
from decloak.report.terminal import say


@click.command("validate")
@click.argument("scenarios", nargs=-1, required=True, type=click.Path(path_type=Path))
@set_option
@click.option("--key", is_flag=True, help="Print only the cache key of a store with the results.")
def validate_command(scenarios: tuple[Path, ...], overrides: tuple[str, ...], key: bool) -> None:
    """Check scenarios without running them: every key, rule and variant, and that the files are there.

    --key prints a digest of the scenarios, of all files that they read, and of the code of decloak that they need. A
    store that was saved under an equal key has all results. With another key, decloak reuses each stage that is the
    same.
    """
    from decloak.digest import digest
    from decloak.pipeline.validate import plans
    from decloak.scenario.document import load
    from decloak.scenario.variant import identical_repetitions

    runs = list[str]()
    for scenario in scenarios:
        document = load(scenario, overrides)
        planned = plans(document)
        # The key of a run covers those of all its stages, with their files and code.
        runs += [plan.run for plan in planned]
        for warning in identical_repetitions(document):
            say(f"{WARNING}{quote(warning, 300)[1:-1]}", err=True)
        if not key:
            say(f"{scenario}: valid, {len(planned)} {'run' if len(planned) == 1 else 'runs'}")
    if key:
        say(digest(runs))
