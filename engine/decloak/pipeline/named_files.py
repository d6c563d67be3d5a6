"""The files that a scenario names, and which of them lie outside its folder."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from decloak.errors import quote
from decloak.rules.model import is_path
from decloak.scenario.model import Scenario

__all__ = ["NamedFile", "named_files", "outside_notes"]


class NamedFile(NamedTuple):
    """A file as a scenario calls it, and where it lies when that is outside the scenario's folder."""

    name: str
    outside: str | None


def named_files(scenarios: Iterable[Scenario], folder: Path) -> tuple[NamedFile, ...]:
    """Every file once, in the order in which they are named."""
    names = dict.fromkeys(name for scenario in scenarios for name in _names(scenario))
    return tuple(NamedFile(name, _outside(folder, name)) for name in names)


def _names(scenario: Scenario) -> Iterator[str]:
    for part in (scenario.data, scenario.anonymise, scenario.relate, scenario.attacker):
        if part is not None:
            yield from part.file_names()
    yield from (attack.rule for attack in scenario.attacks if is_path(attack.rule))
    for name in scenario.families if scenario.measure else ():
        if (settings := scenario.settings_part(name)) is not None:
            yield from settings.file_names()


def _outside(folder: Path, name: str) -> str | None:
    """Return the real path of the file `name`, None if it is inside `folder`."""
    home, path = os.path.realpath(folder), os.path.realpath(folder / name)
    return None if os.path.commonpath([home, path]) == home else path


def outside_notes(files: Iterable[NamedFile]) -> list[str]:
    """A line for each file that was read from elsewhere: who did not write the scenario may not expect it."""
    return [
        f"{quote(file.name, 200)} was read from outside the scenario's folder: {quote(file.outside, 300)}"
        for file in files
        if file.outside is not None
    ]
