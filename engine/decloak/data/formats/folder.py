"""The folder of a scenario's files. Each file is opened once, for its digest and for its content."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from decloak.data.dataset import Dataset
from decloak.data.formats.lines import FilePath, ReadFile, open_file
from decloak.digest import digest
from decloak.yaml.source import source_text

# A file may be a pipe, or change during a run: small ones are read once and cached.
LARGEST = 1 << 26
"""Largest size in bytes of a file whose content is cached. Of a larger file only the digest is."""


class Folder:
    """A folder and a cache of its files. `folder / name` is a path or a cached file, as readers take it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digests: dict[str, str] = {}
        self._files: dict[str, ReadFile] = {}
        self._texts: dict[str, str] = {}
        self._data: dict[str, Dataset] = {}

    def __truediv__(self, name: FilePath) -> FilePath:
        return self._files.get(str(name)) or self.path / name

    def add_data(self, name: str, data: Dataset) -> None:
        """Let `name` stand for `data` in memory, in place of a file."""
        self._data[name], self._digests[name] = data, data.digest

    def data_of(self, name: str) -> Dataset | None:
        """Return the data in memory that `name` stands for, or None if it is the name of a file."""
        return self._data.get(name)

    def text(self, name: str) -> str:
        """Return the text of the YAML file `name`, which is opened once: a pipe can be read only once."""
        if name not in self._texts:
            self._texts[name] = source_text((self.path / name).resolve())
        return self._texts[name]

    def read_once(self, name: str) -> FilePath:
        """Return the file `name`, cached for the digest that will be requested later."""
        if (self.path / name).is_file():
            self.digest(name)
        return self / name

    def with_files(self, names: Iterable[str]) -> "Folder | None":
        """Return a copy that contains only the files `names` and works on another machine; None if not all are
        cached.
        """
        folder = Folder(Path())
        for name in names:
            if name not in self._files:
                return None
            folder._files[name], folder._digests[name] = self._files[name], self._digests[name]
        return folder

    def digest(self, name: str) -> str:
        """Return the digest of the file `name`, or of all files in the folder `name` and their names."""
        if name not in self._digests:
            path = self.path / name
            self._digests[name] = self._of_folder(path) if path.is_dir() else self._of_file(path, name)
        return self._digests[name]

    def _of_file(self, path: Path, name: str | None = None) -> str:
        with open_file(path, again=True) as file:
            content = file.read(LARGEST + 1)
            # Files inside a folder have no name of their own in the scenario.
            if name is not None and len(content) <= LARGEST:
                self._files[name] = ReadFile(path, content)
            sha256 = hashlib.sha256(content)
            while content := file.read(LARGEST):
                sha256.update(content)
        return sha256.hexdigest()

    def _of_folder(self, path: Path) -> str:
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return digest([[str(file.relative_to(path)), self._of_file(file)] for file in files])
