"""Write what is generated: the references under docs/reference and the JSON Schemas of scenarios and releases.

    python docs/generate.py

tests/test_docs.py fails when a committed file is not what this would write.
"""

import inspect
import json
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import click

from decloak.cli import COMMANDS, cli
from decloak.errors import DecloakError
from decloak.measure.registry import metrics_by_key, words_of_columns
from decloak.rules.load import Catalogue, rule_schema
from decloak.rules.model import RuleModel, RuleTest, test_schema
from decloak.rules.operators.operator import Rule
from decloak.rules.testing import sibling_test
from decloak.scenario.model import scenario_schema
from decloak.store.documentation import questions, schema_markdown, schema_tables
from decloak.store.relations import RELATIONS
from decloak.yaml.source import check, read_source

ROOT = Path(__file__).parents[1]


COMPLETION = """\
`decloak completion` prints the script with which your shell completes commands, options and files:

| shell | command |
|---|---|
| bash, from 4.4 on | `mkdir -p ~/.local/share/bash-completion/completions && \
decloak completion bash > ~/.local/share/bash-completion/completions/decloak` |
| zsh | `mkdir -p ~/.zfunc && decloak completion zsh > ~/.zfunc/_decloak`, \
and `fpath+=~/.zfunc` before `compinit` in `~/.zshrc` |
| fish | `mkdir -p ~/.config/fish/completions && decloak completion fish > ~/.config/fish/completions/decloak.fish` |

These variables of the environment change a command:

| variable | effect |
|---|---|
| `DECLOAK_STORE` | the default of `--store` |
| `DECLOAK_TOKEN` | the token of `decloak serve` |
| `DECLOAK_DEBUG` | 1 prints the place of an internal fault |
| `DECLOAK_READ_MEMORY`, `DECLOAK_READ_SECONDS` | [limits for reading a file](../how-to/large-data.md) |
| `DECLOAK_SQL_MEMORY`, `DECLOAK_SQL_SECONDS` | [limits for SQL of rules](../how-to/write-an-attack.md) |
| `DECLOAK_KEY` and similar names | [secrets that a scenario names for a service](../how-to/measure-relatedness.md) |
"""
SQL = """\
# Ask the store with SQL

Generated from the questions in `engine/decloak/store/questions.sql`; do not edit.

A run writes its results to `store.db`. The views below have names in place of numbers, and no column that needs quotes.
[The store](../reference/store.md) describes all tables and views.

The table `figure` is the dictionary of all figures: title, unit, direction and definition. The views `result` and
`named_result` have one row for each figure of a run. `result_by_table` has the figures of single distance tables,
clusters and tenths of probability.

Each question works in four tools. Replace `:run` with the number of a run, or give it as a parameter.

```sh
decloak sql "SELECT title, value FROM named_result WHERE run = 1"
sqlite3 -header store.db "SELECT title, value FROM named_result WHERE run = 1"
sqlite-utils store.db "SELECT title, value FROM named_result WHERE run = :run" -p run 1 --table
decloak serve
```

```python
import sqlite3
import pandas

with sqlite3.connect("store.db") as connection:
    frame = pandas.read_sql("SELECT * FROM named_result WHERE run = :run", connection, params={"run": 1})
```

`decloak serve` is Datasette with a copy of the store. It lists the questions below. The copy has no original data, so
that the last two questions need another tool: views with the prefix `truth_` compare findings with the original data.

**CONFIDENTIAL:** the store contains the original data. Share only files written by `decloak publish`.
"""


def sql_questions() -> str:
    """The how-to of SQL: each question with its query."""
    parts = [SQL]
    for number, question in enumerate(questions(), 1):
        parts.append(f"## {number}. {question.title}\n\n```sql\n{question.sql}\n```\n")
    return "\n".join(parts)


def figure_reference() -> str:
    """Every figure, with its definition."""
    parts = [
        "# Figures",
        "",
        "Generated from the dictionary of figures; do not edit. The table `figure` of a store is the same.",
        "",
    ]
    parts += ["| key | title | unit | higher values | definition | families |", "|---|---|---|---|---|---|"]
    parts += [
        f"| `{one.key}` | {one.title} | {one.unit} | {one.direction} | {one.definition} | {', '.join(one.families)} |"
        for one in metrics_by_key().values()
    ]
    return "\n".join([*parts, ""])


def command_reference() -> str:
    parts = ["# Commands", "", "Generated from the commands themselves; do not edit.", "", *COMPLETION.splitlines(), ""]
    for name, command in _commands():
        arguments = [one for one in command.params if isinstance(one, click.Argument)]
        options = [one for one in command.params if isinstance(one, click.Option)]
        usage = " ".join(["decloak", name, *map(_argument, arguments), *(["[OPTIONS]"] if options else [])])
        parts += [f"## decloak {name}", "", f"    {usage}", "", *_paragraphs(command.help or "")]
        if options:
            parts += ["| option | meaning |", "|---|---|", *map(_option, options), ""]
    return "\n".join(parts)


def _commands() -> Iterator[tuple[str, click.Command]]:
    """Every command, those of a group behind the group."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        yield name, command
        inner = command.commands if isinstance(command, click.Group) else {}
        yield from ((f"{name} {one}", inner[one]) for one in inner)


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; what click is told not to fold (\\b) is a block of code."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        as_it_is = paragraph.startswith("\b\n")
        yield textwrap.indent(paragraph.removeprefix("\b\n"), "    ") if as_it_is else paragraph
        yield ""


def _argument(one: click.Argument) -> str:
    name = (one.metavar or str(one.name).upper()).strip("[].")
    name += "..." if one.nargs == -1 else ""
    return name if one.required else f"[{name}]"


def _option(one: click.Option) -> str:
    default = "" if one.is_flag or not one.show_default or one.default is None else f" Default: `{one.default}`."
    choices = f" One of {', '.join(one.type.choices)}." if isinstance(one.type, click.Choice) else ""
    return f"| `{', '.join(one.opts)}` | {one.help}{choices}{default} |"


def rule_reference() -> str:
    """The list of rules, and the relations that a rule may read."""
    catalogue = Catalogue()
    parts = ["# Rules", "", "Generated from the rule files; do not edit. Each rule has a page.", ""]
    parts += ["| rule | form | status | about |", "|---|---|---|---|"]
    for name in catalogue.names:
        model = catalogue.rule(name).model
        parts += [f"| [{name}](rules/{name}.md) | {model.form} | {model.status} | {model.about.strip()} |"]
    parts += ["", "## Keys of every rule file", "", *_keys(rule_schema()["$defs"]["ItemsetsRule"], SHARED_KEYS), ""]
    kinds = dict(test_schema()["$defs"])
    parts += ["## Keys of a test file", "", *_keys(kinds.pop("TestCase")), ""]
    for name, kind in kinds.items():
        parts += [f"### {name}", "", *_keys(kind), ""]
    parts += ["## Relations a rule may read", "", "| relation | columns | meaning |", "|---|---|---|"]
    parts += [f"| {name} | {', '.join(one.columns)} | {one.meaning} |" for name, one in RELATIONS.items()]
    listed = "\n".join(f"rules/{name}" for name in catalogue.names)
    return "\n".join([*parts, "", f"```{{toctree}}\n:hidden:\n\n{listed}\n```", ""])


SHARED_KEYS = tuple(RuleModel.model_fields)


def rule_page(rule: Rule) -> str:
    """The page of one rule: the attack, its limits, its SQL and its tests."""
    model = rule.model
    parts = [
        f"# {rule.name}",
        "",
        "Generated from the rule file and its test; do not edit.",
        "",
        model.about.strip(),
        "",
    ]
    related = ", ".join(f"[{name}]({name}.md)" for name in model.related) or "–"
    table = {"id": f"`{model.id}`", "form": model.form, "status": model.status, "reference": model.reference,
             "related": related, "reads": ", ".join(f"`{name}`" for name in sorted(rule.reads)) or "–",
             "derives": f"`{rule.derives.name}({', '.join(rule.derives.columns)})`"}  # fmt: skip
    parts += ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in table.items()), ""]
    parts += ["## When it is wrong", "", model.wrong_when.strip(), "", "## Reason of a finding", ""]
    parts += [f"    {model.because}", "", "## Tests", "", "| case | kind |", "|---|---|"]
    test = check(read_source(sibling_test(Path(rule.path))), RuleTest)
    parts += [f"| {case.case} | {case.kind} |" for case in test.cases]
    parts += ["", "## Rule file", "", "```yaml", rule.text.rstrip(), "```", ""]
    try:
        sql = rule.operator.as_query(rule)
    except DecloakError:
        sql = rule.text
    if sql.strip() != rule.text.strip():
        parts += [
            "## As SQL",
            "",
            f"`decloak rules show {rule.name} --sql` prints:",
            "",
            "```yaml",
            sql.rstrip(),
            "```",
            "",
        ]
    return "\n".join(parts)


def scenario_reference() -> str:
    """A table for the scenario, and one for every part of it, each key with what it takes and what it means."""
    schema = scenario_schema()
    parts = [
        "# Scenario",
        "",
        "Generated from the language itself; do not edit. Paths are relative to the scenario file.",
        "",
    ]
    parts += [*_keys(schema), ""]
    for name, part in sorted(schema["$defs"].items()):
        parts += [f"## {name}", "", " ".join(part.get("description", "").split()), "", *_keys(part), ""]
    return "\n".join(parts)


def _keys(schema: dict[str, Any], only: Collection[str] = ()) -> Iterator[str]:
    needed = schema.get("required", ())
    yield from ("| key | takes | default | meaning |", "|---|---|---|---|")
    for key, part in schema.get("properties", {}).items():
        if only and key not in only:
            continue
        default = (
            "must be given" if key in needed else _value(part["default"]) if part.get("default") is not None else ""
        )
        meaning = " ".join(part.get("description", "").split())
        yield f"| `{key}` | {_takes(part)} | {default} | {meaning} |"


def _value(value: object) -> str:
    return f"`{json.dumps(value)}`"


def _takes(part: dict[str, Any]) -> str:
    """What a key takes, in a phrase; parts link to their own tables."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in part:
        return _value(part["const"])
    if "enum" in part:
        return ", ".join(map(_value, part["enum"]))
    options = part.get("oneOf") or part.get("anyOf")
    if options:
        return " or ".join(dict.fromkeys(text for option in options if (text := _takes(option)) != "nothing"))
    if "prefixItems" in part or part.get("type") == "array":
        return f"a list of {_takes(part.get('items') or {})}"
    words = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
             "object": "a mapping", "null": "nothing"}  # fmt: skip
    bounds = [
        f"{word} {part[name]}"
        for name, word in (("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most"))
        if name in part
    ]
    return ", ".join([words.get(part.get("type", ""), "a value"), *bounds])


def generated() -> Iterator[tuple[Path, str]]:
    """Every generated file with the text it must have."""
    reference = ROOT / "docs" / "reference"
    yield reference / "store.md", schema_markdown(schema_tables(words_of_columns()))
    yield reference / "commands.md", command_reference()
    yield reference / "rules.md", rule_reference()
    yield reference / "scenario.md", scenario_reference()
    yield reference / "figures.md", figure_reference()
    yield ROOT / "docs" / "how-to" / "sql.md", sql_questions()
    yield ROOT / "scenarios" / "scenario.schema.json", _json(scenario_schema())
    yield ROOT / "rules" / "rule.schema.json", _json(rule_schema())
    yield ROOT / "rules" / "rule-test.schema.json", _json(test_schema())
    catalogue = Catalogue()
    for name in catalogue.names:
        yield reference / "rules" / f"{name}.md", rule_page(catalogue.rule(name))


def _json(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    for path, text in generated():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
