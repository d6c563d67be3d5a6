"""The files of the repository that tools outside Python read agree with each other."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="not a checkout: no .github")


def _yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_every_cited_paper_is_in_the_bibliography() -> None:
    text = " ".join((ROOT / "docs/reference/bibliography.md").read_text(encoding="utf-8").split())
    papers = _yaml("CITATION.cff")["references"]
    assert len(papers) == 5
    for paper in papers:
        assert paper["title"] in text
        assert str(paper["year"]) in text
        for author in paper["authors"]:
            assert f"{author['given-names']} {author['family-names']}" in text


def test_the_workflow_starts_at_the_least_python_that_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = project["requires-python"].removeprefix(">=")
    pythons = _yaml(".github/workflows/test.yml")["jobs"]["tests"]["strategy"]["matrix"]["python"]
    assert min(pythons, key=lambda version: tuple(map(int, version.split(".")))) == least


@pytest.mark.parametrize("name", [".github/workflows/test.yml", ".pre-commit-config.yaml"])
def test_every_make_target_and_tool_that_is_named_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {target for run in re.findall(r"run: make (.+)", text) for target in run.split()}
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    tools = set(re.findall(r"\.venv/bin/([\w-]+)", text))
    assert all(f"$(BIN)/{tool}" in makefile for tool in tools)
    assert targets or tools


def test_no_two_files_of_tests_have_one_name() -> None:
    """Tests import one another by name, whatever folder they are in: of two, one would hide the other."""
    names = [path.name for path in ROOT.glob("tests/**/*.py")]
    assert len(names) == len(set(names))
