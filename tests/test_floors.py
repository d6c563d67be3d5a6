"""The floors of the engine, as pyproject.toml lays them: imports go down, and what reaches back is found."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from processes import PATIENCE

pytest.importorskip("importlinter", reason="import-linter comes with the extra dev")

LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"
LAZILY = "def _later() -> None:\n    import {0}\n"
FOR_TYPES = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import {0}\n"


def checked(folder: Path) -> tuple[int, str]:
    """The exit code of the check of `folder`/decloak, and what it said on one line."""
    command = [sys.executable, "-c", LINT, "--no-cache", "--config", ROOT / "pyproject.toml"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "1000"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A copy of the engine's modules, to be spoilt."""
    shutil.copytree(ROOT / "engine" / "decloak", tmp_path / "decloak", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_every_module_imports_only_from_floors_below_its_own():
    code, said = checked(ROOT / "engine")
    assert code == 0, said


BACK = {
    "data": "decloak.pipeline",
    "measure": "decloak.report",
    "store": "decloak.relate",
    "anonymisers.kernels": "decloak.counting",
    "counting": "decloak.anonymisers",
}
"""What a module of a folder must not import."""


@pytest.mark.parametrize("way", [LAZILY, FOR_TYPES], ids=["lazily", "for types"])
def test_a_stage_that_reaches_back_is_found(engine, way):
    for folder, imports in BACK.items():
        (engine / "decloak" / folder.replace(".", "/") / "spoilt.py").write_text(way.format(imports))
    code, said = checked(engine)
    assert code == 1
    for folder, imports in BACK.items():
        assert f"decloak.{folder}.spoilt -> {imports} (l." in said


@pytest.mark.parametrize("way", [LAZILY, FOR_TYPES], ids=["lazily", "for types"])
def test_a_cycle_between_modules_of_a_folder_is_found(engine, way):
    (engine / "decloak" / "data" / "hen.py").write_text("import decloak.data.egg\n")
    (engine / "decloak" / "data" / "egg.py").write_text(way.format("decloak.data.hen"))
    code, said = checked(engine)
    assert code == 1
    assert "No cycles are allowed in decloak.data." in said
    assert ".egg -> .hen" in said or ".hen -> .egg" in said


def test_a_new_folder_must_take_its_place(engine):
    (engine / "decloak" / "attic").mkdir()
    (engine / "decloak" / "attic" / "__init__.py").touch()
    code, said = checked(engine)
    assert code == 1
    assert "decloak.attic" in said
