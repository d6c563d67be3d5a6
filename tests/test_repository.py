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


def test_the_workflow_has_every_python_on_both_systems_and_the_least_versions() -> None:
    jobs = _yaml(".github/workflows/test.yml")["jobs"]
    matrix = jobs["tests"]["strategy"]["matrix"]
    assert [system.partition("-")[0] for system in matrix["os"]] == ["ubuntu", "macos"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    commands = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}
    assert {"make test", "make test-all", "make test-lowest", "make lint types"} <= commands


def test_no_address_is_named_that_the_project_does_not_have() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "urls" not in project  # it has none yet: docs/how-to/release.md says so
    assert "no address on a package index yet" in (ROOT / "docs/how-to/release.md").read_text(encoding="utf-8")


def test_every_template_of_an_issue_asks_for_something_and_never_for_original_data() -> None:
    templates = [path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert len(templates) >= 2
    for path in templates:
        template = _yaml(str(path.relative_to(ROOT)))
        assert template["name"]
        assert any(part.get("validations", {}).get("required") for part in template["body"])
        assert "Do not attach original data" in path.read_text(encoding="utf-8")


def test_coverage_counts_branches_of_the_engine_and_has_a_command() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]["run"]
    assert (settings["source_pkgs"], settings["branch"]) == (["decloak"], True)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^coverage: .*\n\t.*--cov\b", makefile, re.MULTILINE)


def test_fewer_random_examples_are_for_make_test_alone() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^test-all: .*\n\t(.*)", makefile, re.MULTILINE)
    assert recipe is not None
    assert "$(ALL)" in recipe[1]
    assert re.search(r'^ALL := -m "" --hypothesis-profile=all$', makefile, re.MULTILINE)


@pytest.mark.slow
def test_two_builds_of_a_commit_have_equal_bytes(tmp_path: Path) -> None:
    pytest.importorskip("build", reason="the extra dev is not installed")
    from test_release_check import release_check

    first, second = (release_check.built(ROOT, tmp_path / folder) for folder in ("a", "another-folder"))
    assert list(release_check.faults_of_builds(first, second, release_check.version_of(ROOT))) == []


@pytest.mark.parametrize("name", [".ci/run", ".github/workflows/test.yml", ".pre-commit-config.yaml"])
def test_every_make_target_and_tool_that_is_named_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {
        target for run in re.findall(r"^(?:.*run: )?make ([a-z -]+)", text, re.MULTILINE) for target in run.split()
    }
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    tools = set(re.findall(r"\.venv/bin/([\w-]+)", text))
    assert all(f"$(BIN)/{tool}" in makefile for tool in tools)
    assert all((ROOT / script).is_file() for script in re.findall(r"^(\.ci/\w+)", text, re.MULTILINE))
    assert targets or tools


def test_no_two_files_of_tests_have_one_name() -> None:
    """Tests import one another by name, whatever folder they are in: of two, one would hide the other."""
    names = [path.name for path in ROOT.glob("tests/**/*.py")]
    assert len(names) == len(set(names))
