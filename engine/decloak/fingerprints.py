"""Fingerprints of the source code that computes something, so that a result of older code is never used again.

    source   a module of decloak: a digest of its text and of the data files it names, and the modules it imports
    closure  the modules that some modules import, directly or not; imports inside functions count

The same sources have the same fingerprint in a checkout and in a wheel. Reading all sources takes some 40 ms, so the
result is kept: in `_sources.json`, which the build writes into the wheel, else beside the compiled modules. What was
kept is used only as long as the sources have not changed. This module imports nothing of decloak: the build runs it.
"""

import json
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["BUILT", "Source", "Sources", "built_text", "fingerprint", "imports_of", "of_everything"]

PACKAGE = "decloak"
BUILT = "_sources.json"
"""The file that a build writes into the package."""
SETTLED = 2.0
"""Seconds after the last change of a source before anything is kept: until then it may change within one tick."""

_IMPORT = re.compile(rb"^[ \t]*(?:from (decloak[\w.]*) import (\([^)]*\)|[^\n]*)|import (decloak[\w.]*))", re.MULTILINE)
_FOR_TYPES = re.compile(rb"^if TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)+", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*")
_NAME = re.compile(rb"\w+")


class Source(NamedTuple):
    """One module: the digest of its text and of its data files, and the modules of decloak that it imports."""

    digest: str
    imports: tuple[str, ...]


Sources = Mapping[str, Source]
"""All modules by name."""


def fingerprint(modules: Iterable[str], unfollowed: Collection[str] = ()) -> str:
    """The fingerprint of the closure of some modules.

    A module that is, or lies in, one of `unfollowed` counts with its own text alone. A module that is not of decloak
    counts with the text of its file.
    """
    return _fingerprint(frozenset(modules), frozenset(unfollowed))


@cache
def _fingerprint(modules: frozenset[str], unfollowed: frozenset[str]) -> str:
    sources = _sources()
    ours = {name for name in modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")}
    lines = [f"{name} {sources[name].digest}" for name in sorted(closure(sources, ours, unfollowed))]
    lines += [f"{name} {_digest_of_other(name)}" for name in sorted(modules - ours)]
    return _digest("\n".join(lines).encode())


def closure(sources: Sources, modules: Iterable[str], unfollowed: Collection[str] = ()) -> set[str]:
    """The modules that some modules import, directly or not, and these themselves."""
    found, waiting, below = set[str](), list(modules), tuple(f"{each}." for each in unfollowed)
    while waiting:
        name = waiting.pop()
        if name in found or name not in sources:
            continue
        found.add(name)
        if name not in unfollowed and not name.startswith(below):
            waiting += sources[name].imports
    return found


def imports_of(module: str) -> tuple[str, ...]:
    """The modules of decloak that a module imports itself."""
    return _sources()[module].imports


def of_everything() -> str:
    """The fingerprint of all sources together."""
    return fingerprint(_sources())


def _digest_of_other(name: str) -> str:
    import sys

    file = getattr(sys.modules.get(name), "__file__", None)
    with suppress(OSError, TypeError):
        return _digest(_normal(Path(file).read_bytes()))  # type: ignore[arg-type]
    return ""


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _normal(content: bytes) -> bytes:
    """Content whose lines end alike, wherever it was checked out."""
    return content.replace(b"\r\n", b"\n")


@cache
def _sources() -> Sources:
    """The sources of the package that runs: as they were kept, or read."""
    root = Path(__file__).parent
    if not root.is_dir():
        return _of_archive()
    files = list(_files(root))
    if not any(file.name.endswith(".py") for file in files):
        return _kept(_text(root / BUILT), None) or _without_sources(root)
    sizes, times = (_stamp(files, with_times=with_times) for with_times in (False, True))
    last, kept = max(file.changed for file in files), Path(cache_from_source(str(root / BUILT))).with_suffix(".json")
    with suppress(OSError):
        if last <= (root / BUILT).stat().st_mtime_ns and (found := _kept(_text(root / BUILT), sizes)):
            return found
    sources = _kept(_text(kept), times)
    if sources is None:
        sources = read_sources(root)
        if last < time.time_ns() - SETTLED * 1e9:
            _keep(kept, _written(sources, times))
    return sources


class _File(NamedTuple):
    name: str
    size: int
    changed: int


def _files(folder: Path) -> Iterator[_File]:
    """The files of the package; folders of rules, scenarios and compiled modules have names that begin with _."""
    waiting, start = [str(folder)], len(str(folder)) + 1
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if _is_read(entry.name):
                        waiting.append(entry.path)
                elif _is_read(entry.name):
                    status = entry.stat()
                    yield _File(entry.path[start:].replace(os.sep, "/"), status.st_size, status.st_mtime_ns)


def _is_read(name: str) -> bool:
    return not name.startswith((".", "_")) or name in ("__init__.py", "__main__.py")


def _stamp(files: Sequence[_File], *, with_times: bool) -> str:
    lines = (f"{file.name} {file.size} {file.changed if with_times else 0}" for file in sorted(files))
    return _digest("\n".join(lines).encode())


def built_text(root: Path) -> str:
    """What a build writes into the package: the sources below `root`, known again by the sizes of their files."""
    return _written(read_sources(root), _stamp(list(_files(root)), with_times=False))


def _written(sources: Sources, stamp: str) -> str:
    places = {name: place for place, name in enumerate(sources)}
    modules = [[name, digest, [places[each] for each in imports]] for name, (digest, imports) in sources.items()]
    return json.dumps({"stamp": stamp, "modules": modules}, separators=(",", ":"))


def _kept(text: str | None, stamp: str | None) -> Sources | None:
    """The sources as they were written down; None where that is not of the files that bear this stamp."""
    try:
        content: Any = None if text is None else json.loads(text)
        if content is None or (stamp is not None and content["stamp"] != stamp):
            return None
        modules = content["modules"]
        names = [name for name, _, _ in modules]
        return {name: Source(digest, tuple(names[place] for place in imports)) for name, digest, imports in modules}
    except (ValueError, KeyError, TypeError, IndexError):  # cut off, or somebody else's
        return None


def _text(path: "Path | Traversable") -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, KeyError, UnicodeDecodeError):
        return None


def _keep(path: Path, text: str) -> None:
    """Write a file whole or not at all; where nothing can be written, the sources are read again next time."""
    other = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        other.write_text(text, encoding="utf-8")
        other.replace(path)
    with suppress(OSError):
        other.unlink(missing_ok=True)


def _of_archive() -> Sources:
    """The sources of a package that is imported from a zip file."""
    from importlib.resources import files

    root = files(PACKAGE)
    return _kept(_text(root / BUILT), None) or read_sources(root) or _without_sources(root)


def _without_sources(root: "Path | Traversable") -> Sources:
    """Compiled modules without their sources: nobody knows what they import, so each counts as all of them."""
    compiled = {name: content for name, content in _contents(root, "") if name.endswith(".pyc")}
    whole = _digest(b"".join(name.encode() + content for name, content in sorted(compiled.items())))
    return {_module(name): Source(whole, ()) for name in compiled}


def read_sources(root: "Path | Traversable") -> Sources:
    """Read the sources below a folder."""
    contents = {name: _normal(content) for name, content in _contents(root, "")}
    modules = {_module(name): name for name in sorted(contents) if name.endswith(".py")}
    packages = {module for module, name in modules.items() if name.endswith("__init__.py")}
    digests = {module: [contents[name]] for module, name in modules.items()}
    for name in sorted(contents):
        if not name.endswith((".py", ".pyc")):
            for module in _naming(name, contents, modules):
                digests[module].append(contents[name])
    return {
        module: Source(
            _digest(b"\0".join(map(_digest_bytes, digests[module]))),
            tuple(sorted(_imported(contents[name], modules, packages) - {module})),
        )
        for module, name in modules.items()
    }


def _digest_bytes(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


def _contents(folder: "Path | Traversable", above: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if _is_read(entry.name):
            if entry.is_dir():
                yield from _contents(entry, f"{above}{entry.name}/")
            elif entry.is_file():
                yield above + entry.name, entry.read_bytes()


def _module(file: str) -> str:
    return ".".join([PACKAGE, *file.removesuffix(".pyc").removesuffix(".py").split("/")]).removesuffix(".__init__")


def _naming(file: str, contents: Mapping[str, bytes], modules: Mapping[str, str]) -> list[str]:
    """The modules in the folder of a data file that name it; all of them where none does."""
    folder, _, name = file.rpartition("/")
    beside = [module for module, path in modules.items() if path.rpartition("/")[0] == folder]
    return [module for module in beside if name.encode() in contents[modules[module]]] or beside


def _imported(content: bytes, modules: Mapping[str, str], packages: set[str]) -> set[str]:
    """The modules that a text imports: all of a package where the package itself is imported."""
    found = set[str]()
    for source, names, module in _IMPORT.findall(_FOR_TYPES.sub(b"", content)):
        where = (source or module).decode()
        below = [f"{where}.{name.decode()}" for name in _NAME.findall(_COMMENT.sub(b"", names))] if source else []
        named = [where, *(name for name in below if name in modules)]
        for name in packages.intersection(named[1:] or named):
            found.update(each for each in modules if each.startswith(f"{name}."))
        found.update(named)
        found.update(parent for name in named for parent in _parents(name))
    return found.intersection(modules) - {PACKAGE}


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name
