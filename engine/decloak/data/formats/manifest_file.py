"""Manifests of published files: the public facts about the method, the content of the file, its limits, and the digests
of the files that belong together.

A manifest does not depend on when or where it was written, on names of files, or on the original data.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from decloak.data.formats.lines import FilePath, Line, decode_text, json_text, json_value, location, open_file
from decloak.errors import DecloakError

VERSION = 1
_NOT_ONE = "expected a manifest that `decloak publish` wrote"

Plain = str | int | float | bool


@dataclass(frozen=True)
class Manifest:
    """The public description of a published release, in a file next to it."""

    form: str
    carrier: str
    """The format of the file."""
    method: str
    parameters: Mapping[str, Plain]
    order: str
    """The order of the rows: sorted by content, or as recorded."""
    ids: str
    """The ids of the rows: none, or original."""
    counts: Mapping[str, int]
    contains: tuple[str, ...]
    leaves_out: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)
    """The digest of each file, by its content."""

    @property
    def text(self) -> str:
        """The manifest as JSON."""
        value = {"decloak": "manifest", "version": VERSION, **asdict(self)}
        return json_text(value, indent=2) + "\n"


def manifest_path(file: FilePath) -> Path:
    """Return the path of the manifest of `file`: next to it.

    >>> manifest_path("out/release.txt").as_posix()
    'out/release.txt.manifest.json'
    """
    path = Path(file)
    return path.with_name(f"{path.name}.manifest.json")


def digest_of_file(file: FilePath) -> str:
    """Return the SHA-256 digest of `file`."""
    with open_file(file, again=True) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def read_manifest(file: FilePath) -> Manifest | None:
    """Return the manifest of the published `file`, None if there is none; raise an error if it belongs to another
    file.
    """
    path = manifest_path(file)
    if not path.is_file():
        return None
    with open_file(path) as content:
        data = content.read()
    text = decode_text(data, path, 1, "save it as UTF-8")
    manifest = _manifest(json_value(Line(str(path), 1, text), _NOT_ONE), path)
    if manifest.sha256.get("release") != digest_of_file(file):
        hint = "take the two that belong together, or take the manifest away"
        raise DecloakError("the manifest belongs to another file", location(file), hint)
    return manifest


def _manifest(value: object, path: Path) -> Manifest:
    fields = Manifest.__dataclass_fields__
    if not isinstance(value, dict) or value.get("decloak") != "manifest" or value.get("version") != VERSION:
        raise DecloakError(f"no manifest of version {VERSION}", location(path), _NOT_ONE)
    values = {key: inner for key, inner in value.items() if key not in ("decloak", "version")}
    if values.keys() != fields.keys() or not all(isinstance(values[key], dict) for key in ("parameters", "sha256")):
        raise DecloakError("a manifest with other keys", location(path), _NOT_ONE)
    return Manifest(**values)
