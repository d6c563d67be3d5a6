"""The folder that a scenario's files are named from: each is opened once, for its digest and for its content."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from decloak.data.formats.lines import FilePath, ReadFile, opened
from decloak.digest import digest
from decloak.yaml.source import source_text

__all__ = ["Folder"]

LARGEST = 1 << 26
"""Bytes of a file that are kept for its readers; of a larger one only the digest is."""


class Folder:
    """A folder, and what was read of its files; `folder / name` is what a reader takes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digests: dict[str, str] = {}
        self._files: dict[str, ReadFile] = {}
        self._texts: dict[str, str] = {}

    def __truediv__(self, name: FilePath) -> FilePath:
        return self._files.get(str(name)) or self.path / name

    def text(self, name: str) -> str:
        """Return the text of a YAML file, which is opened once: a pipe can be read only once."""
        if name not in self._texts:
            self._texts[name] = source_text((self.path / name).resolve())
        return self._texts[name]

    def once(self, name: str) -> FilePath:
        """The same of a file that somebody reads before its digest is asked for."""
        if (self.path / name).is_file():
            self.digest(name)
        return self / name

    def holding(self, names: Iterable[str]) -> "Folder | None":
        """A folder with these files alone, which has them wherever it is; None where it does not keep them all."""
        folder = Folder(Path())
        for name in names:
            if name not in self._files:
                return None
            folder._files[name], folder._digests[name] = self._files[name], self._digests[name]
        return folder

    def digest(self, name: str) -> str:
        """The digest of a file, or of all files in a folder with their names."""
        if name not in self._digests:
            path = self.path / name
            self._digests[name] = self._of_folder(path) if path.is_dir() else self._of_file(path, name)
        return self._digests[name]

    def _of_file(self, path: Path, name: str | None = None) -> str:
        with opened(path, again=True) as file:
            content = file.read(LARGEST + 1)
            if name is not None and len(content) <= LARGEST:
                self._files[name] = ReadFile(path, content)
            sha256 = hashlib.sha256(content)
            while content := file.read(LARGEST):
                sha256.update(content)
        return sha256.hexdigest()

    def _of_folder(self, path: Path) -> str:
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return digest([[str(file.relative_to(path)), self._of_file(file)] for file in files])
