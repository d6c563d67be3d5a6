"""`rules`: list the attack rules, show one, run their tests."""

from pathlib import Path

import click

from decloak.commands.options import EXIT_EXPECTATION, form_option
from decloak.errors import DecloakError
from decloak.report.table import emit
from decloak.report.terminal import say

__all__ = ["rules_command"]


@click.command("rules")
@click.argument("name", required=False)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@form_option
def rules_command(name: str | None, path: Path | None, form: str) -> int:
    """List the attack rules; with NAME (or the path of a rule file) show that one.

    `decloak rules test` runs the test of every rule that comes with decloak, `decloak rules test PATH` those of a
    rule file or of a folder of them. Exit code 3: a test fails.
    """
    from decloak.rules.load import Catalogue

    if name == "test":
        return _test(path, form)
    if path is not None:
        raise DecloakError("one rule at a time", hint="or `decloak rules test PATH`")
    catalogue = Catalogue()
    if name is None:
        rules = [catalogue.rule(rule_name) for rule_name in catalogue.names]
        emit(("rule", "form", "about"), [(rule.name, rule.model.form, rule.model.about) for rule in rules],
             form)  # fmt: skip
        return 0
    rule = catalogue.rule(name)
    if form == "table":
        say(f"# {rule.path}")
        say(rule.text.removesuffix("\n"))
    else:
        emit(("key", "value"), [(key, str(value)) for key, value in rule.model.model_dump().items()], form)
    return 0


def _test(path: Path | None, form: str) -> int:
    from decloak.rules.testing import run_tests

    outcomes = run_tests(path)
    rows = [(outcome.rule, outcome.case, "passed" if outcome.fault is None else outcome.fault) for outcome in outcomes]
    emit(("rule", "case", "outcome"), rows, form)
    failed = sum(outcome.fault is not None for outcome in outcomes)
    say(f"{len(outcomes) - failed} passed, {failed} failed", err=True)
    return EXIT_EXPECTATION if failed else 0
