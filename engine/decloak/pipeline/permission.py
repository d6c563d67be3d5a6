"""Permission to send words of a scenario to a service, and the files that a scenario names.

The user names each host with --allow-send, for one run. A file outside the folder of the scenario gives a note.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from decloak.errors import DecloakError, quote
from decloak.pipeline.inputs import Inputs
from decloak.pipeline.plan import Plan, StageKey
from decloak.relate.relatedness import Relatedness
from decloak.relate.sending import is_host_allowed
from decloak.rules.model import is_path
from decloak.scenario.model import Scenario


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
    # A symbolic link in the folder may lead out of it.
    home, path = os.path.realpath(folder), os.path.realpath(folder / name)
    return None if os.path.commonpath([home, path]) == home else path


def outside_notes(files: Iterable[NamedFile]) -> list[str]:
    """Return a line for each file from outside the scenario's folder, because another author may hide it there."""
    return [
        f"{quote(file.name, 200)} was read from outside the scenario's folder: {quote(file.outside, 300)}"
        for file in files
        if file.outside is not None
    ]


IsStored = Callable[[StageKey], bool]
"""Tests whether a store has a stage."""


class OutgoingRequest(NamedTuple):
    """A host, its address, and the words that decloak would send to it, at most."""

    host: str
    address: str
    words: tuple[str, ...]


def outgoing_requests(plans: Iterable[Plan], inputs: Inputs, kept: IsStored) -> Iterator[OutgoingRequest]:
    """Yield the requests of stages in `plans` that the store has not `kept`, each host once for the same words.

    `inputs` give the words.
    """
    seen: set[OutgoingRequest] = set()
    for plan in plans:
        for part in _unfinished_measures(plan, kept):
            for host in part.sends_to:
                request = OutgoingRequest(host, part.origin, _words(plan.scenario, inputs))
                if request not in seen:
                    seen.add(request)
                    yield request


def _unfinished_measures(plan: Plan, kept: IsStored) -> Iterator[Relatedness]:
    """Yield the measures of a plan that ask a service and have no result in the store."""
    scenario = plan.scenario
    stages = ((scenario.anonymise, "release", plan.release), (scenario.relate, "relatedness", plan.relatedness))
    for part, stage, key in stages:
        asking = [inner for inner in part.nested() if isinstance(inner, Relatedness) and inner.sends_to] if part else []
        if asking and key is not None and not kept(StageKey(stage, key)) and not kept(StageKey("run", plan.run)):
            yield from asking


def _words(scenario: Scenario, inputs: Inputs) -> tuple[str, ...]:
    """Return the names that may be sent: all published items, or all items of the data if decloak makes the release."""
    if scenario.anonymise is None:
        return tuple(sorted(inputs.release(scenario).release.items))
    return tuple(sorted(scenario.anonymise.publishable_names(inputs.original(scenario.data), inputs.folder)))


def allowed_hosts(location: str, requests: Sequence[OutgoingRequest], allow: Sequence[str]) -> set[str]:
    """Return the hosts of `requests`; raise an error at `location` if `allow` does not name one of them.

    decloak remembers nothing: a user who runs the scenario of another author decides again in every run.
    """
    for host, _, words in requests:
        if not is_host_allowed(host, allow):
            # The author of the scenario chose the host: it may hold what controls a terminal.
            name, count = quote(host, 300)[1:-1], len(words)
            message = f"would send {count:,} {'word' if count == 1 else 'words'} to {name}"
            hint = f"--allow-send {name} allows it, `decloak run --dry-run` shows what they are"
            raise DecloakError(message, location, hint)
    return {host for host, *_ in requests}
