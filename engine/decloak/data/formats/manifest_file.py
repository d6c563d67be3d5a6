"""The manifest beside a published file: how the release was made as far as that may be told, what is in the file and
what is not, and the digests of the files that belong together.

Nothing in it depends on where or when it was written, what the files are called, or on the original data.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from decloak.data.formats.jsonvalue import json_text, json_value
from decloak.data.formats.lines import FilePath, Line, decoded, opened, place
from decloak.errors import DecloakError

__all__ = ["Manifest", "digest_of_file", "manifest_path", "read_manifest"]

VERSION = 1
_NOT_ONE = "expected what `decloak publish` writes beside a release"

Plain = str | int | float | bool


@dataclass(frozen=True)
class Manifest:
    """What is told of a published release beside it."""

    form: str
    carrier: str
    """How the file is written."""
    method: str
    parameters: Mapping[str, Plain]
    order: str
    """Sorted by what is shown, or as it was recorded."""
    ids: str
    """None, or original."""
    counts: Mapping[str, int]
    contains: tuple[str, ...]
    leaves_out: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)
    """The digest of each file, by what it holds."""

    @property
    def text(self) -> str:
        value = {"decloak": "manifest", "version": VERSION, **asdict(self)}
        return json_text(value, indent=2) + "\n"


def manifest_path(file: FilePath) -> Path:
    """Where the manifest of a file is: beside it.

    >>> manifest_path("out/release.txt").as_posix()
    'out/release.txt.manifest.json'
    """
    path = Path(file)
    return path.with_name(f"{path.name}.manifest.json")


def digest_of_file(file: FilePath) -> str:
    with opened(file, again=True) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def read_manifest(file: FilePath) -> Manifest | None:
    """The manifest of a published file, None where there is none; an error where it is of another file."""
    path = manifest_path(file)
    if not path.is_file():
        return None
    with opened(path) as content:
        data = content.read()
    text = decoded(data, path, 1, "save it as UTF-8")
    manifest = _manifest(json_value(Line(str(path), 1, text), _NOT_ONE), path)
    if manifest.sha256.get("release") != digest_of_file(file):
        hint = "take the two that belong together, or take the manifest away"
        raise DecloakError("the manifest beside it is of another file", place(file), hint)
    return manifest


def _manifest(value: Any, path: Path) -> Manifest:
    fields = Manifest.__dataclass_fields__
    if not isinstance(value, dict) or value.get("decloak") != "manifest" or value.get("version") != VERSION:
        raise DecloakError(f"no manifest of version {VERSION}", place(path), _NOT_ONE)
    said = {key: inner for key, inner in value.items() if key not in ("decloak", "version")}
    if said.keys() != fields.keys() or not all(isinstance(said[key], dict) for key in ("parameters", "sha256")):
        raise DecloakError("a manifest with other keys", place(path), _NOT_ONE)
    return Manifest(**said)
