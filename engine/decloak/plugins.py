"""Plugins: installed packages that add formats, methods, sources, measures, operators and folders of rules.

A package lists its additions as entry points, in a group for each registry, such as `decloak.methods`. A plugin is code
that the user installed: decloak imports it with all rights of the user, when it imports the registry.
"""

import shlex
import sys
from collections.abc import Callable, Iterable
from functools import cache
from inspect import isclass
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from decloak.errors import DecloakError, quote

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PREFIX = "decloak."
"""The start of the groups of entry points. The rest is the name of a registry."""

T = TypeVar("T")


class Plugin(NamedTuple):
    """One addition of an installed package."""

    package: str
    version: str
    entry: "EntryPoint"

    @property
    def kind(self) -> str:
        """The registry that it is for."""
        return self.entry.group.removeprefix(PREFIX)

    @property
    def module(self) -> str:
        """The package of Python that it is in."""
        return self.entry.module.partition(".")[0]

    def load(self, kind: type[object]) -> object:
        """Import the addition and return it, an object or a subclass of `kind`; raise an error that names the
        package.
        """
        try:
            found: object = self.entry.load()
        except DecloakError:
            raise
        # A module may also try to end the program when it is imported.
        except (Exception, SystemExit) as error:
            raise self.unusable(f"{type(error).__name__}: {quote(error, 200)[1:-1]}") from None
        if not (issubclass(found, kind) if isclass(found) else isinstance(found, kind)):
            raise self.unusable(f"{quote(self.entry.value)} is no {kind.__name__}")
        return found

    def unusable(self, reason: str) -> DecloakError:
        """Return the error that decloak cannot use the addition for this `reason`."""
        message = f"cannot use {self.kind} of the plugin {self.package} {self.version}: {reason}"
        return DecloakError(message, hint=f"update it, or run `pip uninstall {shlex.quote(self.package)}`")


@cache
def installed() -> tuple[Plugin, ...]:
    """Return the additions of all installed packages, in the order of their names. Nothing is imported."""
    found: dict[str, list[Plugin]] = {}
    if not any(map(_has_plugins, sys.path)):
        return ()
    from importlib.metadata import distributions  # it reads e-mail too, a tenth of a start

    for package in distributions():
        # To parse the entry points of every installed package would take longer than a start may.
        if f"[{PREFIX}" in (package.read_text("entry_points.txt") or ""):
            name, version = package.metadata["Name"], package.version
            entries = [entry for entry in package.entry_points if entry.group.startswith(PREFIX)]
            found.setdefault(name, [Plugin(name, version, entry) for entry in entries])
    return tuple(plugin for name in sorted(found) for plugin in found[name])


def _has_plugins(place: str) -> bool:
    """Return False if `place`, an entry of the path of Python, has no package that lists an addition."""
    folder = Path(place)
    try:
        if not folder.is_dir():
            return folder.exists()  # packed: importlib looks into it
        listed = folder.glob("*-[iI][nN][fF][oO]/entry_points.txt")
        return any(f"[{PREFIX}".encode() in path.read_bytes() for path in listed)
    except OSError:  # one that may not be read
        return True


def with_plugins(
    group: str, kind: type[object], included: Iterable[T], names_of: Callable[[T], Iterable[str]]
) -> tuple[T, ...]:
    """Return the entries of a registry: the `included` ones, then the entries that plugins add to this `group`.

    `kind` is the class of the entries. `names_of` returns the names of an entry, which no other one may have.
    """
    entries = list(included)
    taken = {name for entry in entries for name in names_of(entry)}
    for plugin in installed():
        if plugin.kind != group:
            continue
        entry: T = plugin.load(kind)  # type: ignore[assignment]
        try:
            names = list(names_of(entry))
        except (AttributeError, KeyError, TypeError) as error:
            raise plugin.unusable(f"{quote(plugin.entry.value)} has no name: {error}") from None
        if not names:
            raise plugin.unusable(f"{quote(plugin.entry.value)} has no name")
        for name in names:
            if name in taken:
                raise plugin.unusable(f"{quote(name)} exists already")
        taken.update(names)
        entries.append(entry)
    return tuple(entries)


def plugin_at_fault(error: BaseException) -> Plugin | None:
    """Return the plugin whose code raised `error`, or called what raised it; None if no plugin did."""
    modules = {plugin.module: plugin for plugin in installed()}
    names = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame, _ in walk_tb(error.__traceback__)]
    # Reversed: the frame that raised the error is the last.
    return next((modules[name] for name in reversed(names) if name in modules), None)
