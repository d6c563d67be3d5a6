"""`rules`: list the attack rules, show one, run their tests."""

from pathlib import Path

import click

from decloak.commands.options import EXIT_EXPECTATION, form_option
from decloak.errors import DecloakError
from decloak.report.table import emit
from decloak.report.terminal import say


@click.command("rules")
@click.argument("name", required=False)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--sql", is_flag=True, help="Print the rule as a query rule: the same attack as SQL.")
@click.option("--coverage", is_flag=True, help="List the clauses of rules that decide no test (test).")
@form_option
def rules_command(name: str | None, path: Path | None, sql: bool, coverage: bool, form: str) -> int:
    """List the attack rules. With NAME or the path of a rule file, show that rule.

    `decloak rules show NAME --sql` prints the same attack as SQL over the attacker's database. It is a query rule to
    read, run and change.

    `decloak rules test` runs the tests of all included rules. `decloak rules test PATH` runs the tests of a rule file
    or a folder. A case with the key todo shows a known error of the rule, and does not count as passed. Exit code 3: a
    test failed.

    `decloak rules test --coverage` changes each choice and leaves out each condition in SQL. It lists the clauses whose
    change no test notices, with the reasons that the test gives under the key undecided. Exit code 3: a clause has
    neither a test nor a reason.

    `decloak rules lint [PATH]` finds a duplicate or missing id, a reason without a column, a step that nothing reads,
    and a rule that finds nothing in its tests. Exit code 3: lint found a fault.

    `decloak rules pack FOLDER` checks the rules of a folder, runs their tests and writes the manifest pack.json with a
    digest of each file. decloak refuses a rule of a pack if a file was changed, or if the pack is for another version.
    """
    if name == "test":
        return _cover(path, form) if coverage else _test(path, form)
    if name == "lint":
        return _lint(path)
    if name == "pack":
        return _pack(path)
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


def _cover(path: Path | None, form: str) -> int:
    """Print the clauses of rules that decide no test; return the exit code."""
    from decloak.rules.review import rule_coverage

    covered = rule_coverage(path)
    emit(
        ("rule", "decides no test", "reason", "place"),
        [(one.rule, text, reason, place) for one in covered for place, text, reason in one.never],
        form,
    )
    reasons = [reason for one in covered for *_, reason in one.never]
    clauses, unexplained = sum(one.clauses for one in covered), reasons.count("")
    say(
        f"{clauses - len(reasons)} of {clauses} clauses decide a test, {unexplained} have neither a test nor a reason",
        err=True,
    )
    return EXIT_EXPECTATION if unexplained else 0


def _lint(path: Path | None) -> int:
    """Print the faults of rules; return the exit code."""
    from decloak.rules.review import lint

    count, faults = lint(path)
    for fault in faults:
        say(str(fault))
    say(
        f"{count} {'rule' if count == 1 else 'rules'}, {len(faults)} {'fault' if len(faults) == 1 else 'faults'}",
        err=True,
    )
    return EXIT_EXPECTATION if faults else 0


def _pack(folder: Path | None) -> int:
    """Write the manifest of a folder of rules that lint and tests accept; return the exit code."""
    from decloak.rules.pack import MANIFEST, write_manifest

    if folder is None or not folder.is_dir():
        raise DecloakError("a pack is a folder of rules", None if folder is None else str(folder), "name a folder")
    # Rules of a pack are refused if they differ from its manifest, so that the old one goes first.
    (folder / MANIFEST).unlink(missing_ok=True)
    # The manifest vouches for its files, so that no rule with a fault gets one.
    code = _lint(folder) or _test(folder, "table")
    if not code:
        say(f"wrote {folder / MANIFEST} with {write_manifest(folder)} files")
    return code
