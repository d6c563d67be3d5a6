"""The command `schema`: describe the tables of the store, or the scenario language."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from decloak.commands.options import form_option
from decloak.errors import DecloakError, quote, suggest
from decloak.report.table import emit, emit_json
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.store.documentation import SchemaTable


@click.command("schema")
@click.argument("names", nargs=-1, metavar="[TABLE]...")
@click.option("--scenario", is_flag=True, help="Print the JSON Schema of scenario files.")
@click.option("--rule", is_flag=True, help="Print the JSON Schema of rule files.")
@click.option("--rule-test", is_flag=True, help="Print the JSON Schema of the test files of rules.")
@click.option("--relations", is_flag=True, help="Print the relations that rules may read.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the reference page.")
@form_option
def schema_command(
    names: tuple[str, ...],
    scenario: bool,
    rule: bool,
    rule_test: bool,
    relations: bool,
    as_markdown: bool,
    form: str,
) -> None:
    """Describe the tables of the store, the scenario keys or the keys of rules."""
    if rule:
        from decloak.rules.load import rule_schema

        emit_json(rule_schema())
    elif rule_test:
        from decloak.rules.model import test_schema

        emit_json(test_schema())
    elif scenario:
        from decloak.scenario.model import scenario_schema

        emit_json(scenario_schema())
    elif relations:
        from decloak.store.relations import RELATIONS

        rows = [(name, ", ".join(relation.columns), relation.meaning) for name, relation in RELATIONS.items()]
        emit(("relation", "columns", "meaning"), rows, form)
    else:
        _print_tables(names, as_markdown, form)


def _print_tables(names: Sequence[str], as_markdown: bool, form: str) -> None:
    from decloak.measure.registry import words_of_columns
    from decloak.store.documentation import WHOSE, schema_markdown, schema_tables

    described = {table.name: table for table in schema_tables(words_of_columns())}
    for name in names:
        if name not in described:
            hint = suggest(name, described) or "`decloak schema` lists them"
            raise DecloakError(f"no table or view {quote(name)}", hint=hint)
    chosen = [described[name] for name in names] or list(described.values())
    if as_markdown:
        say(schema_markdown(chosen))
    elif form == "table":
        say("\n\n".join([*([] if names else [WHOSE]), *map(_described, chosen)]))
    else:
        rows = [(table.name, table.kind, table.meaning, *column) for table in chosen for column in table.columns]
        emit(("table", "kind", "about", "column", "type", "meaning"), rows, form)


def _described(table: "SchemaTable") -> str:
    width = max(len(column.name) for column in table.columns)
    lines = [f"{table.name} ({table.kind}): {table.meaning}"]
    lines += [f"  {column.name:<{width}}  {column.type.lower():<7}  {column.meaning}" for column in table.columns]
    return "\n".join(line.rstrip() for line in lines)
