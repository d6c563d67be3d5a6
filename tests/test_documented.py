"""Every command, option, setting, figure, format, method, rule, extra and variable is documented."""

import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import decloak
from decloak.anonymisers.registry import METHODS
from decloak.cli import COMMANDS, cli
from decloak.data.formats.plain_files import FORMATS
from decloak.measure.registry import metrics_by_key
from decloak.rules.load import bundled_names
from decloak.scenario.model import scenario_schema
from decloak.store.documentation import schema_tables
from decloak.store.relations import RELATIONS

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def page(name):
    return (REFERENCE / f"{name}.md").read_text(encoding="utf-8")


def commands():
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        yield name, command
        yield from ((f"{name} {one}", inner) for one, inner in getattr(command, "commands", {}).items())


@pytest.mark.parametrize(
    ("name", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_command_and_option_is_documented(name, command):
    section = page("commands").partition(f"## decloak {name}\n")[2].partition("\n## ")[0]
    assert section
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert f"`{', '.join(option.opts)}`" in section, option.name
        else:
            name = (option.metavar or option.name).strip("[].").partition("]")[0]
            assert name.upper().split()[0] in f"{section}".upper()


def test_every_setting_is_documented():
    text = page("scenario")
    schema = scenario_schema()
    for part in (schema, *schema["$defs"].values()):
        for key, described in part.get("properties", {}).items():
            assert f"| `{key}` |" in text
            assert described.get("description") or "$ref" in described, (part.get("title"), key)


def test_every_figure_is_documented():
    text = page("figures")
    for key, figure in metrics_by_key().items():
        assert f"| `{key}` | {figure.title} | {figure.unit} |" in text
        assert figure.definition


def test_every_kind_of_thing_is_documented():
    of_import = cli.get_command(click.Context(cli), "import").help + page("commands")
    assert all(f"{name}" in of_import for name in FORMATS)
    assert all(f'"{name}"' in page("scenario") for name in METHODS)
    assert all(f"| [{name}](rules/{name}.md) |" in page("rules") for name in bundled_names())
    assert {path.stem for path in (REFERENCE / "rules").glob("*.md")} == set(bundled_names())
    assert all(f"| {name} |" in page("rules") for name in RELATIONS)
    for table in schema_tables():
        assert f"## {table.name} ({table.kind})" in page("store")
        assert all(column.meaning for column in table.columns)


def test_every_name_of_python_is_documented():
    assert "automodule:: decloak\n" in page("python")
    for name in decloak.__all__:
        documentation = inspect.getdoc(getattr(decloak, name))
        assert documentation
        for parameter in (
            () if inspect.isclass(getattr(decloak, name)) else inspect.signature(getattr(decloak, name)).parameters
        ):
            assert re.search(rf"`{parameter}`|\b{parameter}\b", documentation), (name, parameter)


def test_every_extra_and_every_variable_is_documented():
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    text += (ROOT / "README.md").read_text(encoding="utf-8") + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for extra in EXTRAS.keys() - {"test", "dev", "docs", "bench"}:
        assert re.search(rf"extras? [`'\"]?{extra}\b", text), extra
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "engine").rglob("*.py"))
    for variable in set(re.findall(r"\bDECLOAK_[A-Z_]+[A-Z]\b", sources)) - {"DECLOAK_COMPLETE"}:
        assert variable in text, variable


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed_for_each_shell(shell, call):
    script = call("completion", shell).out
    assert f"_DECLOAK_COMPLETE={shell}_complete" in script
    assert f"decloak completion {shell} > " in page("commands")


@pytest.mark.skipif(os.name == "nt", reason="the lines are for the shells of Unix")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_that_installs_a_completion_works_in_an_empty_home(shell, tmp_path):
    line = re.search(rf"^\| {shell}.*? \| `(.+?)`", page("commands"), re.MULTILINE)[1]
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "decloak"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m decloak "$@"\n')
    command.chmod(0o755)
    (tmp_path / "home").mkdir()
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-c", line], env=os.environ | {"HOME": str(tmp_path / "home"), "PATH": path}, check=True)
    place = Path(line.rpartition("> ~/")[2])
    assert f"_DECLOAK_COMPLETE={shell}_complete" in (tmp_path / "home" / place).read_text(encoding="utf-8")


def test_the_script_of_bash_completes_commands(tmp_path):
    completed = {"COMP_WORDS": "decloak ser", "COMP_CWORD": "1", "_DECLOAK_COMPLETE": "bash_complete"}
    command = [sys.executable, "-m", "decloak"]
    done = subprocess.run(command, env=os.environ | completed, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split() == ["plain,serve"]
