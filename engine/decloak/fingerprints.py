"""Fingerprints of source code, so that stored results of older code are never reused.

    source   a module of decloak: a digest of its text and of the data files it names, and the modules it imports
    closure  the modules that some modules import, directly or not; imports inside functions count

Equal sources have equal fingerprints in a checkout and in a wheel. Reading all sources takes some 40 ms, so the result
is cached: in `_sources.json`, which the build writes into the wheel, else next to the compiled modules. The cache is
used only as long as the sources have not changed. This module imports nothing of decloak, because the build runs it.
"""

import json
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["BUILT", "Source", "Sources", "built_text", "fingerprint", "imports_of", "whole_fingerprint"]

PACKAGE = "decloak"
BUILT = "_sources.json"
"""The file that a build writes into the package."""
SETTLED = 2.0
"""Seconds after the last change of a source before anything is cached: within one clock tick it may change again."""

_IMPORT = re.compile(rb"^[ \t]*(?:from (decloak[\w.]*) import (\([^)]*\)|[^\n]*)|import (decloak[\w.]*))", re.MULTILINE)
_FOR_TYPES = re.compile(rb"^if TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)+", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*")
_NAME = re.compile(rb"\w+")


class Source(NamedTuple):
    """A module: the digest of its text and data files, and the modules of decloak that it imports."""

    digest: str
    imports: tuple[str, ...]


Sources = Mapping[str, Source]
"""All modules by name."""


def fingerprint(modules: Iterable[str], unfollowed: Collection[str] = ()) -> str:
    """Return the fingerprint of the closure of `modules`.

    A module in one of `unfollowed` counts only with its own text. A module outside decloak counts with all files of its
    package, and with all sources of decloak, because its imports are not followed.
    """
    return _fingerprint(frozenset(modules), frozenset(unfollowed))


@cache
def _fingerprint(modules: frozenset[str], unfollowed: frozenset[str]) -> str:
    sources = _sources()
    ours = {name for name in modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")}
    lines = [f"{name} {sources[name].digest}" for name in sorted(closure(sources, ours, unfollowed))]
    if others := {name.partition(".")[0] for name in modules - ours}:
        lines += [whole_fingerprint(), *(f"{name} {_digest_of_other(name)}" for name in sorted(others))]
    return _digest("\n".join(lines).encode())


def closure(sources: Sources, modules: Iterable[str], unfollowed: Collection[str] = ()) -> set[str]:
    """Return `modules` and all modules that they import, directly or not, according to `sources`; imports of
    `unfollowed` are not followed.
    """
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
    """Return the modules of decloak that `module` imports itself."""
    return _sources()[module].imports


def whole_fingerprint() -> str:
    """Return the fingerprint of all sources together."""
    return fingerprint(_sources())


def _digest_of_other(package: str) -> str:
    """Return the digest of the files of a `package` outside decloak, or of the module with this name."""
    try:
        found = find_spec(package)
    except ValueError:  # a module that is run, or typed in
        found = None
    if found is None or not (places := found.submodule_search_locations or [found.origin or ""]):
        return ""
    # Sorted: a folder lists its files in any order.
    files = sorted(path for place in map(Path, places) for path in (place, *place.rglob("*")) if path.is_file())
    # Compiled files hold the time of their source, which installing changes.
    return _digest(b"".join(_digest_bytes(_normal(file.read_bytes())) for file in files if file.suffix != ".pyc"))


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _normal(content: bytes) -> bytes:
    """Return the content with uniform line ends."""
    return content.replace(b"\r\n", b"\n")


@cache
def _sources() -> Sources:
    """Return the sources of the running package, from the cache or read."""
    root = Path(__file__).parent
    if not root.is_dir():
        return _of_archive()
    files = list(_files(root))
    if not any(file.name.endswith(".py") for file in files):
        # No source is there that could differ from the stamp.
        return _cached_sources(_text(root / BUILT), None) or _without_sources(root)
    # An installation changes times, so the file of a build knows sizes alone.
    sizes, times = (_stamp(files, with_times=with_times) for with_times in (False, True))
    last, kept = max(file.changed for file in files), Path(cache_from_source(str(root / BUILT))).with_suffix(".json")
    with suppress(OSError):
        if last <= (root / BUILT).stat().st_mtime_ns and (found := _cached_sources(_text(root / BUILT), sizes)):
            return found
    sources = _cached_sources(_text(kept), times)
    if sources is None:
        sources = read_sources(root)
        if last < time.time_ns() - SETTLED * 1e9:
            _write_cache(kept, _written(sources, times))
    return sources


class _File(NamedTuple):
    name: str
    size: int
    changed: int


def _files(folder: Path) -> Iterator[_File]:
    """Yield the files of the package. Folders of rules, scenarios and compiled modules begin with _."""
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
    """Return the text that a build writes into the package: the sources below `root`, identified by the sizes of their
    files.
    """
    return _written(read_sources(root), _stamp(list(_files(root)), with_times=False))


def _written(sources: Sources, stamp: str) -> str:
    places = {name: place for place, name in enumerate(sources)}
    modules = [[name, digest, [places[each] for each in imports]] for name, (digest, imports) in sources.items()]
    return json.dumps({"stamp": stamp, "modules": modules}, separators=(",", ":"))


def _cached_sources(text: str | None, stamp: str | None) -> Sources | None:
    """Return the cached sources; None if they do not belong to the files with this stamp."""
    try:
        content: Any = None if text is None else json.loads(text)
        if content is None or (stamp is not None and content["stamp"] != stamp):
            return None
        modules = content["modules"]
        names = [name for name, _, _ in modules]
        return {name: Source(digest, tuple(names[place] for place in imports)) for name, digest, imports in modules}
    except (ValueError, KeyError, TypeError, IndexError):  # cut off, or from another program
        return None


def _text(path: "Path | Traversable") -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, KeyError, UnicodeDecodeError):
        return None


def _write_cache(path: Path, text: str) -> None:
    """Write a file atomically. If that fails, the sources are read again next time."""
    # A name for each process: several may start at once.
    other = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        other.write_text(text, encoding="utf-8")
        other.replace(path)
    with suppress(OSError):
        other.unlink(missing_ok=True)


def _of_archive() -> Sources:
    """Return the sources of a package that is imported from a zip file."""
    from importlib.resources import files

    root = files(PACKAGE)
    return _cached_sources(_text(root / BUILT), None) or read_sources(root) or _without_sources(root)


def _without_sources(root: "Path | Traversable") -> Sources:
    """Return compiled modules without their sources: their imports are unknown, so each counts as all of them."""
    compiled = {name: content for name, content in _contents(root, "") if name.endswith(".pyc")}
    whole = _digest(b"".join(name.encode() + content for name, content in sorted(compiled.items())))
    return {_module(name): Source(whole, ()) for name in compiled}


def read_sources(root: "Path | Traversable") -> Sources:
    """Read the sources below the folder `root` and return them."""
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
    """Return the modules in the folder of a data file that name it; all of them if none does."""
    folder, _, name = file.rpartition("/")
    beside = [module for module, path in modules.items() if path.rpartition("/")[0] == folder]
    return [module for module in beside if name.encode() in contents[modules[module]]] or beside


def _imported(content: bytes, modules: Mapping[str, str], packages: set[str]) -> set[str]:
    """Return the modules that a text imports: all of a package if the package itself is imported."""
    found = set[str]()
    # Imports for type checkers never run.
    for source, names, module in _IMPORT.findall(_FOR_TYPES.sub(b"", content)):
        where = (source or module).decode()
        below = [f"{where}.{name.decode()}" for name in _NAME.findall(_COMMENT.sub(b"", names))] if source else []
        named = [where, *(name for name in below if name in modules)]
        # Of a package of which modules are named, only these count.
        for name in packages.intersection(named[1:] or named):
            found.update(each for each in modules if each.startswith(f"{name}."))
        found.update(named)
        # An import runs the `__init__` of each package above.
        found.update(parent for name in named for parent in _parents(name))
    return found.intersection(modules) - {PACKAGE}


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name
