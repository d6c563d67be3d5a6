"""What the documentation shows is what happens: its files are written, its commands run, its output compared."""

import ast
import doctest
import re
import sys
from pathlib import Path
from shutil import copyfile

import pytest
import yaml

from decloak.cli import COMMANDS, _code
from decloak.report import progress
from decloak.version import __version__
from slowly import slow_but

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

import examples  # noqa: E402 (it lies beside the pages)
from examples import BLOCK, PAGES, README, lines_of  # noqa: E402

LONG = ("attack-a-disassociated-release", "attack-a-release", "from-a-file-to-a-decision", "generalise", "large-data")
"""Pages whose commands take seconds, though all others print what commands like theirs do."""


@pytest.mark.parametrize(
    "page", slow_but([page for page in PAGES if page.stem not in LONG], PAGES), ids=lambda page: page.stem
)
def test_every_file_and_command_of_a_page_does_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for data in page.parent.glob("*.csv"):
        copyfile(data, data.name)
    commands = 0
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["file"]:
            Path(block["file"]).write_text(block["text"], encoding="utf-8")
        if block["kind"] == "python":
            shown = doctest.DocTestParser().get_doctest(block["text"], {}, page.stem, None, None)
            assert doctest.DocTestRunner().run(shown).failed == 0
        if block["kind"] == "console":
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, *expected = part.splitlines()
                assert lines_of(command) == expected, f"{command}: run `make examples`"
                commands += 1
    assert commands


def test_a_slow_machine_and_loops_that_are_compiled_add_no_line_to_an_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "HEARTBEAT", 0.0)  # a line for each stage
    run = lines_of(f"decloak run {ROOT / 'scenarios' / 'quickstart.yaml'} --store s.db")
    assert run[0].startswith("RESULT ")
    assert not [line for line in run if line.startswith("after ")]


def test_generated_references_are_current():
    from generate import generated

    for path, text in generated():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make docs`"


def test_every_command_is_in_the_reference_and_the_readme_names_the_two_to_begin_with():
    reference = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert all(f"## decloak {name}\n" in reference for name in COMMANDS)
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    first_screen = "\n".join(readme[:40])
    assert len(readme) <= 120
    assert "make demo" in first_screen
    assert "decloak look" in first_screen


@pytest.mark.slow
def test_the_readme_shows_what_happens(tmp_path, monkeypatch):
    text = README.read_text(encoding="utf-8")
    scenario = next(block["text"] for block in BLOCK.finditer(text) if block["kind"] == "yaml")
    monkeypatch.chdir(tmp_path)
    assert examples.readme() == text, "run `make examples`"
    assert yaml.safe_load(scenario) == yaml.safe_load(Path("demo.yaml").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_changed_figure_and_a_changed_line_of_the_readme_are_written_anew(tmp_path, monkeypatch):
    text = README.read_text(encoding="utf-8")
    stale = re.sub(r"[0-9]+ of 1,000 people", "9,999 of 1,000 people", text)
    assert stale != text
    (tmp_path / "README.md").write_text(stale, encoding="utf-8")
    monkeypatch.setattr(examples, "README", tmp_path / "README.md")
    monkeypatch.chdir(tmp_path)
    assert examples.readme() == text


def test_a_page_is_written_with_what_its_commands_print(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- file: a.csv -->\n```text\na,b\n```\n\n"
        "```python\n>>> from pathlib import Path\n>>> _ = Path('b.csv').write_text('b')\n```\n"
        "```console\n$ decloak --version\nold\n$ decloak nix\n```\n"
        "```console\nmake demo\n```\n"
    )
    monkeypatch.chdir(tmp_path)
    written = examples.rewritten(page)
    assert f"$ decloak --version\ndecloak, version {__version__}\n$ decloak nix\ndecloak: no command 'nix'" in written
    assert "old" not in written
    assert written.endswith("```console\nmake demo\n```\n")
    assert (tmp_path / "a.csv").read_text() == "a,b\n"
    assert (tmp_path / "b.csv").read_text() == "b"


@pytest.mark.slow
def test_the_picture_is_of_the_page_that_the_demo_ends_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = examples.description(examples.PICTURE.read_bytes())
    assert said == examples.pictured(examples.demo_page()), "run `make examples`"
    assert "600" in said


@pytest.mark.slow
def test_the_film_shows_the_result_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert examples.FILM.read_text(encoding="utf-8") == examples.demo_film(), "run `make examples`"
    result = next(line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("RESULT"))
    assert result in examples.FILM.read_text(encoding="utf-8")


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


MARKDOWN = [path for path in ROOT.rglob("*.md") if not any(part[0] == "." for part in path.relative_to(ROOT).parts)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, and its labels."""
    prose = re.sub(r"(?ms)^```.*?^```$", "", page.read_text("utf-8"))
    headings = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"(?m)^#+ +(.+)$", prose)]
    slugs = {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.strip().lower())) for heading in headings}
    return slugs | set(re.findall(r"(?m)^\((\S+)\)=$", prose)) | set(re.findall(r'id="([^"]+)"', prose))


def test_every_link_of_every_page_leads_to_a_file_and_a_heading():
    lost, seen = [], 0
    for page in MARKDOWN:
        text = page.read_text("utf-8")
        listed = [f"{name}.md" for block in re.findall(r"(?ms)^```\{toctree\}\n(.*?)^```", text)
                  for name in block.split("\n\n", 1)[-1].split()]  # fmt: skip
        prose = re.sub(r"(?ms)^```.*?^```$", "", text)
        for link in [*listed, *re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", prose)]:
            file, _, anchor = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            seen += 1
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                lost.append((page.relative_to(ROOT).as_posix(), link))
    assert seen > 100
    assert lost == []


def test_every_file_that_a_page_names_in_backquotes_exists():
    named = {
        (page.relative_to(ROOT).as_posix(), name)
        for page in MARKDOWN
        if page.name != "CHANGELOG.md"
        for name in re.findall(r"`((?:tests|benchmarks|scenarios|docs|engine)/[\w./-]+\.\w+)`", page.read_text("utf-8"))
    }
    assert len(named) > 20
    assert [one for one in sorted(named) if not (ROOT / one[1]).exists()] == []
