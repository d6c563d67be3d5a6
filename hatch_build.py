"""Build decloak: hatchling, with the fingerprints of the sources and, where pip installs it, compiled loops.

A wheel gets the fingerprints, because reading all sources at every start would take longer. A source distribution and
an editable install have no such file: their sources may still change, and are read.

Machine code fits one processor, so only an installation gets it: `pip install .` compiles all loops in its build, in an
environment with everything that decloak needs. A build for others (`python -m build`) gets none, so it stays universal
and reproducible. The environment variable DECLOAK_COMPILE chooses otherwise: 1 compiles, 0 does not. If compiling
fails, the build says so and goes on: runs compile what they need.
"""

import os
import subprocess
import sys
from pathlib import Path
from runpy import run_path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.build import *  # noqa: F403 (this module is the build backend too: see pyproject.toml)
from hatchling.build import get_requires_for_build_wheel as _requires
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent
COMPILE = """
import sys
sys.path.insert(0, sys.argv[1])
from decloak.compiled import keep_in_package
keep_in_package()
from decloak.commands.compile import compile_loops
compile_loops()
"""


def is_compiled() -> bool:
    """Return whether a wheel gets machine code: pip names its folder of builds in the environment."""
    return os.environ.get("DECLOAK_COMPILE", str(int("PIP_BUILD_TRACKER" in os.environ))) == "1"


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what a build needs: what decloak needs too, where it compiles."""
    needed = WheelBuilder(str(ROOT)).metadata.core.dependencies if is_compiled() else []
    return [*_requires(config_settings), *needed]


class SourcesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds files to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fingerprint the sources, compile the loops, and have the files packed."""
        if self.target_name != "wheel" or version == "editable":
            return
        fingerprints = run_path(str(ROOT / "engine" / "decloak" / "fingerprints.py"))
        self._folder = TemporaryDirectory()
        file = Path(self._folder.name) / fingerprints["BUILT"]
        file.write_text(fingerprints["built_text"](ROOT / "engine" / "decloak"), encoding="utf-8")
        build_data["force_include"][str(file)] = f"decloak/{fingerprints['BUILT']}"
        if is_compiled() and (loops := self._compiled(Path(self._folder.name))):
            build_data["force_include"][str(loops)] = f"decloak/{loops.name}"
            build_data["pure_python"], build_data["infer_tag"] = False, True

    def _compiled(self, folder: Path) -> Path | None:
        """Compile the loops in a copy of the package in `folder`, and return the folder of machine code."""
        package = folder / "decloak"
        try:
            copytree(ROOT / "engine" / "decloak", package)
            copytree(ROOT / "rules", package / "_rules")
            command = [sys.executable, "-c", COMPILE, str(folder)]
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.SubprocessError) as error:
            reason = str(getattr(error, "stderr", "") or error).strip()[-300:]
            self.app.display_warning(f"the loops are not compiled, so runs will compile what they need: {reason}")
            return None
        return package / "_compiled"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files, which are in the wheel now."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
