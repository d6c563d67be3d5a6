"""Rule packs: a folder of rules and tests with a manifest, which has a digest of each file.

decloak refuses a rule of a pack whose files differ from the manifest, or that was packed by another version.
"""

import hashlib
from functools import lru_cache
from pathlib import Path

from decloak.data.formats.lines import Line, json_text, json_value, location
from decloak.data.formats.writing import write_text
from decloak.errors import DecloakError, quote
from decloak.version import __version__
from decloak.yaml.source import source_text

MANIFEST = "pack.json"
"""The name of the manifest in the folder of a pack."""
DEEPEST = 3
"""Folders above a rule in which its manifest may be."""
FITTING = ".".join(__version__.split(".")[:2])
"""The part of the version in which rules have the same meaning."""


def write_manifest(folder: Path) -> int:
    """Write the manifest of the rules in `folder`; return the number of files."""
    files = {path.relative_to(folder).as_posix(): _digest(path) for path in _files(folder)}
    manifest = {"pack": folder.resolve().name, "decloak": FITTING, "files": files}
    write_text(f"{json_text(manifest, indent=1)}\n", folder / MANIFEST)
    return len(files)


def check_packed(rule: Path) -> None:
    """Raise an error if the file `rule` belongs to a pack that does not fit. A file outside of a pack passes."""
    # A manifest further up is no part of a pack with this rule.
    for folder in list(rule.parents)[:DEEPEST]:
        if (folder / MANIFEST).is_file():
            _check(folder, source_text(folder / MANIFEST), tuple((path, _digest(path)) for path in _files(folder)))


@lru_cache(100)
def _check(folder: Path, text: str, found: tuple[tuple[Path, str], ...]) -> None:
    """Compare the manifest `text` of `folder` with the digests that were `found`."""
    name = location(folder / MANIFEST)
    manifest = json_value(Line(str(folder / MANIFEST), 1, text), "write it with `decloak rules pack FOLDER`")
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(manifest, dict) or not isinstance(files, dict):
        raise DecloakError("not the manifest of a pack", name, "write it with `decloak rules pack FOLDER`")
    if manifest.get("decloak") != FITTING:
        message = f"the pack is for decloak {quote(manifest.get('decloak'))[1:-1]}, and this is {__version__}"
        raise DecloakError(message, name, "run its tests, then `decloak rules pack FOLDER`")
    digests = {path.relative_to(folder).as_posix(): digest for path, digest in found}
    for file in sorted(digests.keys() | files.keys()):
        if digests.get(file) != files.get(file):
            state = "is missing" if file not in digests else "is not in it" if file not in files else "was changed"
            remedy = "take the pack from its source again, or `decloak rules pack FOLDER`"
            raise DecloakError(f"the file {quote(file)} of the pack {state}", name, remedy)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml"))


def _digest(path: Path) -> str:
    return hashlib.sha256(source_text(path).encode()).hexdigest()
