"""A commit that is not ready for a tag is told why."""

import subprocess
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = spec_from_file_location("release_check", ROOT / ".ci" / "release_check.py")
release_check = module_from_spec(SPEC)
SPEC.loader.exec_module(release_check)
CHANGELOG = "# Changelog\n\n## Unreleased\n{waiting}\n## {version} – 2026-12-01\n\n- New.\n\n## 0.1.0 – 2026-11-18\n"
MINE = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *MINE, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of version 0.2.0 that is ready."""
    (tmp_path / "engine" / "decloak").mkdir(parents=True)
    (tmp_path / "engine" / "decloak" / "version.py").write_text('"""V."""\n\n__version__ = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG.format(version="0.2.0", waiting=""))
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "Release 0.2.0")
    return tmp_path


def faults(checkout: Path) -> list[str]:
    return [*release_check.faults_of_texts(checkout), *release_check.faults_of_tree(checkout)]


def test_a_commit_that_is_ready_has_no_fault(checkout):
    assert faults(checkout) == []
    git(checkout, "tag", "-a", "v0.2.0", "-m", "0.2.0")
    assert faults(checkout) == []


@pytest.mark.parametrize(
    ("version", "waiting", "message"),
    [
        ("0.1.9", "", "the newest released section is 0.1.9 and engine/decloak/version.py says 0.2.0"),
        ("soon", "", "the newest released section is 0.1.0"),
        ("0.2.0", "\n- One more.\n", "Unreleased is not empty"),
    ],
)
def test_the_changelog_has_the_version_and_nothing_waits(checkout, version, waiting, message):
    (checkout / "CHANGELOG.md").write_text(CHANGELOG.format(version=version, waiting=waiting))
    (said,) = release_check.faults_of_texts(checkout)
    assert message in said


def test_a_changelog_without_a_release_is_told(checkout):
    (checkout / "CHANGELOG.md").write_text("# Changelog\n")
    (said,) = release_check.faults_of_texts(checkout)
    assert said == "CHANGELOG.md: no released section; write one as ## 1.2.3 – 2026-01-31"


def test_what_is_not_committed_and_a_tag_elsewhere_are_told(checkout):
    git(checkout, "tag", "v0.2.0")
    (checkout / "new.txt").write_text("x")
    assert faults(checkout) == ["1 files are changed or new; commit or remove them first"]
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "More")
    assert faults(checkout) == ["the tag v0.2.0 is on another commit; raise the version in engine/decloak/version.py"]


def test_builds_that_differ_are_told_by_name():
    same = {"decloak-0.2.0-py3-none-any.whl": "a", "decloak-0.2.0.tar.gz": "b"}
    assert list(release_check.faults_of_builds(same, dict(same), "0.2.0")) == []
    (said,) = release_check.faults_of_builds(same, {**same, "decloak-0.2.0.tar.gz": "c"}, "0.2.0")
    assert said.startswith("decloak-0.2.0.tar.gz: two builds of this commit differ")
    assert "expected decloak-0.3.0-py3-none-any.whl" in next(release_check.faults_of_builds(same, same, "0.3.0"))


def test_this_project_has_the_version_of_its_changelog():
    newest = release_check.RELEASED.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert newest[1] == release_check.version_of(ROOT)
