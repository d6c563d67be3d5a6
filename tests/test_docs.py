"""What the documentation shows is what happens: its files are written, its commands run, its output compared."""

import ast
import doctest
import math
import re
import shlex
import sys
from pathlib import Path
from shutil import copyfile

import pytest
import yaml

from decloak.cli import COMMANDS, _code
from decloak.report import progress

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

BLOCK = re.compile(r"(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)
PAGES = sorted(page for folder in ("how-to", "tutorial") for page in (ROOT / "docs" / folder).glob("*.md"))


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    """A slow machine says how far a run is."""
    monkeypatch.setattr(progress, "SOON", math.inf)


def run(command: str, capsys) -> list[str]:
    words = shlex.split(command)
    assert words.pop(0) == "decloak"
    _code(words)
    captured = capsys.readouterr()
    return [line.rstrip() for line in (captured.out + captured.err).splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_and_command_of_a_page_does_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for data in page.parent.glob("*.csv"):
        copyfile(data, data.name)
    commands = 0
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["file"]:
            Path(block["file"]).write_text(block["text"], encoding="utf-8")
        if block["kind"] == "python":
            examples = doctest.DocTestParser().get_doctest(block["text"], {}, page.stem, None, None)
            assert doctest.DocTestRunner().run(examples).failed == 0
        if block["kind"] == "console":
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, *expected = part.splitlines()
                assert run(command, capsys) == expected, command
                commands += 1
    assert commands


def test_generated_references_are_current():
    from generate import generated

    for path, text in generated():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make docs`"


def test_every_command_is_in_the_reference_and_the_readme_names_the_two_to_begin_with():
    reference = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert all(f"## decloak {name}\n" in reference for name in COMMANDS)
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40]
    assert "make demo" in first_screen
    assert "make test" in first_screen


def test_the_readme_shows_what_happens(tmp_path, monkeypatch, capsys):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    demo, mistake = (block["text"] for block in BLOCK.finditer(readme) if block["kind"] == "text")
    scenario = next(block["text"] for block in BLOCK.finditer(readme) if block["kind"] == "yaml")
    monkeypatch.chdir(tmp_path)
    _code(["init", "mine.yaml"])
    capsys.readouterr()
    mine = Path("mine.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(scenario) == yaml.safe_load(mine)
    happens = run("decloak run mine.yaml", capsys) + run("decloak explain last p01 insulin --attack rba", capsys)
    assert happens == demo.splitlines()
    wrong, right = re.findall(r"'(\w+)'", mistake)
    Path("mine.yaml").write_text(mine.replace(right, wrong), encoding="utf-8")
    assert run("decloak run mine.yaml", capsys) == mistake.splitlines()


def test_every_bundled_scenario_names_its_schema_and_is_valid(capsys):
    for scenario in sorted((ROOT / "scenarios").rglob("*.yaml")):
        first = scenario.read_text(encoding="utf-8").splitlines()[0]
        schema = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
        assert schema, scenario
        assert (scenario.parent / schema[1]).resolve() == ROOT / "scenarios" / "scenario.schema.json"
        assert _code(["validate", str(scenario)]) == 0
    capsys.readouterr()


def test_what_the_page_for_contributors_names_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    engine = ROOT / "engine" / "decloak"
    places = re.findall(r"`([a-z_]+/[a-z_/]+\.py)(?:: (\w+))?`", text)
    assert len(places) > 10
    for path, name in places:
        if not (ROOT / path).exists():
            assert name in {"", *names_in(engine / path)}, f"{path}: {name}"
    assert not [folder for folder in re.findall(r"`([a-z_]+/)`", text) if not folders_called(folder)]


def names_in(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def folders_called(name: str) -> list[Path]:
    """The folders of this name, in the project or anywhere in the engine."""
    return [path for path in (ROOT / name, *(ROOT / "engine").rglob(name)) if path.is_dir()]
