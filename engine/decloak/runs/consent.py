"""Whether the words of a scenario may be sent: somebody says so once, for the scenario and the files it names.

What was allowed is kept in `decloak/allowed.jsonl` in the user's folder of settings, a line each: whoever hands over a
scenario or a store cannot say it for others.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from decloak.data.formats.lines import place
from decloak.digest import digest
from decloak.errors import DecloakError, shown
from decloak.relate.relatedness import Relatedness
from decloak.relate.sending import is_allowed
from decloak.runs.inputs import Inputs
from decloak.runs.plan import Plan
from decloak.scenario.document import Document
from decloak.scenario.model import Scenario

__all__ = [
    "Asker", "IsKept", "Sending", "allowed_hosts", "asker_of", "remembered_hosts", "sendings", "settings_file",
]  # fmt: skip

IsKept = Callable[[str, str], bool]
"""Whether a store has a stage, by its name and its key."""
LONGEST_FILE = 10_000_000
"""Bytes of what was allowed that are read: more there is in no honest file."""


class Sending(NamedTuple):
    """A host that would be asked, at an address, and the words that it would be asked about: these at most."""

    host: str
    address: str
    words: tuple[str, ...]


def sendings(plans: Iterable[Plan], inputs: Inputs, kept: IsKept) -> Iterator[Sending]:
    """What the stages that a store has not got would send, each host once for the same words."""
    seen: set[Sending] = set()
    for plan in plans:
        for part in _asking(plan, kept):
            for host in part.sends_to:
                sending = Sending(host, part.origin, _words(plan.scenario, inputs))
                if sending not in seen:
                    seen.add(sending)
                    yield sending


def _asking(plan: Plan, kept: IsKept) -> Iterator[Relatedness]:
    """The measures that ask somebody and are yet to be worked out."""
    scenario = plan.scenario
    stages = ((scenario.anonymise, "release", plan.release), (scenario.relate, "relatedness", plan.relatedness))
    for part, stage, key in stages:
        asking = [inner for inner in part.nested() if isinstance(inner, Relatedness) and inner.sends_to] if part else []
        if asking and key is not None and not kept(stage, key) and not kept("run", plan.run):
            yield from asking


def _words(scenario: Scenario, inputs: Inputs) -> tuple[str, ...]:
    """The names that may be sent: all items of what is published, which are those of the data where it is made here."""
    if scenario.anonymise is None:
        return tuple(sorted(inputs.release(scenario).release.items))
    return tuple(sorted(scenario.anonymise.words(inputs.original(scenario.data), inputs.folder)))


class Asker(NamedTuple):
    """Who asks: where it is written, what it is called, and what it says with all that the files hold it names."""

    place: str
    title: str
    key: Callable[[], str]
    """Worked out only where something would be sent."""


def asker_of(document: Document, inputs: Inputs) -> Asker:
    """A scenario as one who asks: another as soon as a word of it changes, or a file."""
    parts = [
        (case.scenario.data, case.scenario.anonymise, case.scenario.relate, case.scenario.attacker)
        for case in document.cases
    ]

    def key() -> str:
        return digest(["sending", document.raw, [[inputs.identity(part) for part in of_case] for of_case in parts]])

    return Asker(place(document.path), document.scenario.scenario, key)


def allowed_hosts(asker: Asker, would: Sequence[Sending], allow: Sequence[str]) -> set[str]:
    """The hosts that words may go to, which are all there are; an error names one that nobody has allowed.

    What is allowed now is remembered for the one who asks.
    """
    if not would:
        return set()
    remembered = remembered_hosts(asker)
    for host, _, words in would:
        if not is_allowed(host, {*allow, *remembered}):
            name, count = shown(host, 300)[1:-1], len(words)
            message = f"would send {count:,} {'word' if count == 1 else 'words'} to {name}"
            hint = f"--allow-send {name} allows it from now on, `decloak run --dry-run` shows what they are"
            raise DecloakError(message, asker.place, hint)
    fresh = {host for host, *_ in would if is_allowed(host, allow)} - remembered
    _remember(asker, sorted(fresh))
    return {host for host, *_ in would}


def remembered_hosts(asker: Asker) -> set[str]:
    return set(_remembered(asker.key()))


def settings_file() -> Path | None:
    """Where it is kept what was allowed, None where the user has no home."""
    named = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        home = named if named.is_absolute() else Path.home() / ".config"
    except RuntimeError:
        return None
    return home / "decloak" / "allowed.jsonl"


def _remembered(key: str) -> Iterator[str]:
    file = settings_file()
    if file is None or not file.is_file() or file.stat().st_size > LONGEST_FILE:
        return
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            said = json.loads(line)
            if said["scenario"] == key:
                yield str(said["host"])


def _remember(asker: Asker, hosts: Sequence[str]) -> None:
    """Keep it; where nothing can be kept it has to be said again."""
    file = settings_file()
    if file is None or not hosts:
        return
    day = datetime.now(UTC).date().isoformat()
    said = {"scenario": asker.key(), "title": asker.title, "date": day}
    lines = ["\n" + json.dumps({**said, "host": host}) for host in hosts]  # not behind what is left of a line
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as opened:
            opened.write("".join(lines))
