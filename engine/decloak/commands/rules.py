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
@click.option("--sql", is_flag=True, help="Print the rule as a query rule: the same attack as SQL.")
@form_option
def rules_command(name: str | None, path: Path | None, sql: bool, form: str) -> int:
    """List the attack rules. With NAME or the path of a rule file, show that rule.

    `decloak rules show NAME --sql` prints the same attack as SQL over the attacker's database. It is a query rule to
    read, run and change.

    `decloak rules test` runs the tests of all included rules. `decloak rules test PATH` runs the tests of a rule file
    or a folder. A case with the key todo shows a known error of the rule, and does not count as passed. Exit code 3: a
    test failed.
    """
    if name == "test":
        return _test(path, form)
    if name == "show" and path is not None:
        name, path = str(path), None
    if path is not None:
        raise DecloakError("one rule at a time", hint="or `decloak rules test PATH`")
    if name is None:
        return _list(form)
    _show(name, sql, form)
    return 0


def _list(form: str) -> int:
    """Print the names and purposes of all rules that come with decloak, in the output `form`; return the exit code."""
    from decloak.rules.load import Catalogue

    catalogue = Catalogue()
    rules = [catalogue.rule(name) for name in catalogue.names]
    rows = [(rule.name, rule.model.form, rule.model.status, rule.model.about) for rule in rules]
    emit(("rule", "form", "status", "about"), rows, form)
    return 0


def _show(name: str, sql: bool, form: str) -> None:
    """Print the file of the rule `name`, or the same attack as a query rule with `sql`, in the output `form`."""
    from decloak.rules.load import Catalogue

    rule = Catalogue().rule(name)
    if sql:
        say(rule.operator.as_query(rule))
    elif form == "table":
        say(f"# {rule.path}")
        say(rule.text.removesuffix("\n"))
    else:
        emit(("key", "value"), [(key, str(value)) for key, value in rule.model.model_dump().items()], form)


def _test(path: Path | None, form: str) -> int:
    from decloak.rules.testing import run_tests

    outcomes = run_tests(path)
    emit(("rule", "case", "outcome"), [(one.rule, one.case, one.text) for one in outcomes], form)
    failed = sum(one.fault is not None for one in outcomes)
    known = sum(one.fault is None and one.todo is not None for one in outcomes)
    todo = f", {known} known {'error' if known == 1 else 'errors'}" if known else ""
    say(f"{len(outcomes) - failed - known} passed, {failed} failed{todo}", err=True)
    return EXIT_EXPECTATION if failed else 0
