"""Write the fingerprints of the sources into a wheel, where reading all sources at every start would take longer.

A source distribution and an editable install have no such file: their sources may still change, and are read.
"""

from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class SourcesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds one file to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fingerprint the sources, and have the file packed."""
        if self.target_name != "wheel" or version == "editable":
            return
        fingerprints = run_path(str(ROOT / "engine" / "decloak" / "fingerprints.py"))
        self._folder = TemporaryDirectory()
        file = Path(self._folder.name) / fingerprints["BUILT"]
        file.write_text(fingerprints["built_text"](ROOT / "engine" / "decloak"), encoding="utf-8")
        build_data["force_include"][str(file)] = f"decloak/{fingerprints['BUILT']}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file, which is in the wheel now."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
