"""Check that a commit can be tagged as a release; docs/how-to/release.md says when to run it.

    make release-check

The version must be that of the newest released section of the changelog, nothing may wait under Unreleased, and the
tree must be clean. The wheel and the source distribution are built twice, from two copies of the commit in different
folders, and must have the same bytes. At last the wheel is installed into a new environment and used.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
RELEASED = re.compile(r"^## (\d+\.\d+\.\d+) – \d{4}-\d{2}-\d{2}$", re.MULTILINE)
UNRELEASED = re.compile(r"^## Unreleased$(.*?)(?=^## )", re.MULTILINE | re.DOTALL)


def version_of(root: Path) -> str:
    """Return the version that the sources state."""
    found = VERSION.search((root / "engine" / "decloak" / "version.py").read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit('engine/decloak/version.py: no version; write __version__ = "1.2.3"')
    return found[1]


def faults_of_texts(root: Path) -> Iterator[str]:
    """Compare the version with the changelog."""
    version = version_of(root)
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = RELEASED.search(changelog)
    if newest is None:
        yield "CHANGELOG.md: no released section; write one as ## 1.2.3 – 2026-01-31"
    elif newest[1] != version:
        yield (
            f"CHANGELOG.md: the newest released section is {newest[1]} and engine/decloak/version.py says {version}; "
            "make them equal"
        )
    waiting = UNRELEASED.search(changelog)
    if waiting is not None and waiting[1].strip():
        yield "CHANGELOG.md: Unreleased is not empty; move its lines into the section of the release"


def faults_of_tree(root: Path) -> Iterator[str]:
    """Look for changes that are not committed, and for a tag of this version on another commit."""
    if changed := _git(root, "status", "--porcelain"):
        yield f"{len(changed.splitlines())} files are changed or new; commit or remove them first"
    tag = f"v{version_of(root)}"
    tagged = _git(root, "tag", "--list", tag) and _git(root, "rev-list", "-n", "1", tag)
    if tagged and tagged != _git(root, "rev-parse", "HEAD"):
        yield f"the tag {tag} is on another commit; raise the version in engine/decloak/version.py"


def built(root: Path, folder: Path) -> dict[str, str]:
    """Build the wheel and the source distribution of a commit from a copy in `folder`; return their digests by name."""
    sources, out = folder / "sources", folder / "dist"
    sources.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", root, "archive", "HEAD"], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", sources], input=archive, check=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _git(root, "log", "-1", "--format=%ct")}
    command = [sys.executable, "-m", "build", "--outdir", out, sources]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}\nthe build failed; its last lines say why")
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(out.iterdir())}


def faults_of_builds(first: dict[str, str], second: dict[str, str], version: str) -> Iterator[str]:
    """Compare two builds of one commit."""
    expected = {f"decloak-{version}-py3-none-any.whl", f"decloak-{version}.tar.gz"}
    if first.keys() != expected:
        yield f"built {', '.join(first) or 'nothing'}; expected {', '.join(sorted(expected))}"
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            yield f"{name}: two builds of this commit differ; find what depends on time, place or order"


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", root, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _end_on(faults: Iterator[str]) -> None:
    if said := list(faults):
        raise SystemExit("\n".join(said))


def main() -> None:
    version = version_of(ROOT)
    _end_on(faults_of_texts(ROOT))
    _end_on(faults_of_tree(ROOT))
    with tempfile.TemporaryDirectory() as temporary:
        first, second = (built(ROOT, Path(temporary) / folder) for folder in ("a", "another-folder"))
        _end_on(faults_of_builds(first, second, version))
        for name, digest in first.items():
            print(f"{digest}  {name}")
        wheel = Path(temporary) / "a" / "dist" / f"decloak-{version}-py3-none-any.whl"
        subprocess.run([ROOT / ".ci" / "try_wheel", wheel], check=True)
    print(f"this commit can be tagged: git tag -a v{version} -m 'decloak {version}'")


if __name__ == "__main__":
    main()
