"""What a run would do, without doing any of it: stages, files, and words that would be sent."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from decloak.relate.sending import is_allowed
from decloak.runs.checking import plans, selected
from decloak.runs.consent import Kept, Sending, asker_of, remembered_hosts, sendings
from decloak.runs.inputs import Inputs
from decloak.runs.named_files import NamedFile, named_files
from decloak.runs.plan import Plan
from decloak.scenario.model import load
from decloak.store.counts import kept_counts
from decloak.store.inserting import finished
from decloak.store.opening import connect_readonly

__all__ = ["Rehearsal", "Rehearsed", "rehearse"]


class Rehearsed(NamedTuple):
    """Stages of one name: how many of them would run, and how many the store has."""

    stage: str
    to_run: int
    kept: int


class Rehearsal(NamedTuple):
    """What a run would come to; `allowed` are the hosts that words may be sent to."""

    runs: int
    stages: tuple[Rehearsed, ...]
    files: tuple[NamedFile, ...]
    sendings: tuple[Sending, ...]
    allowed: frozenset[str]


def rehearse(
    scenario: str | Path,
    *,
    store: str | Path = "store.db",
    overrides: Sequence[str] = (),
    allow_send: Sequence[str] = (),
    only: str | None = None,
) -> Rehearsal:
    """Read what a run would read to plan it, and see what the store has; nothing is written or sent."""
    document = load(scenario, overrides)
    offline = any(case.scenario.offline for case in document.cases)
    inputs = Inputs(document.folder, kept_counts(store) if offline else 0)
    planned = selected(plans(document, inputs), only)
    with _looking(store) as kept:
        stages = tuple(_rehearsed(planned, kept))
        would = tuple(sendings(planned, inputs, kept))
    allowed = {*allow_send, *remembered_hosts(asker_of(document, inputs))} if would else set()
    return Rehearsal(
        len(planned), stages, named_files((plan.scenario for plan in planned), document.folder.path), would,
        frozenset(host for host, *_ in would if is_allowed(host, allowed)),
    )  # fmt: skip


@contextmanager
def _looking(store: str | Path) -> Iterator[Kept]:
    """What a store has, which is nothing where there is none."""
    if not Path(store).exists():
        yield lambda stage, key: False
        return
    with closing(connect_readonly(store)) as connection:
        yield lambda stage, key: finished(connection, stage, key) is not None


def _rehearsed(planned: Sequence[Plan], kept: Kept) -> Iterator[Rehearsed]:
    """The stages by name, in the order of the first variant that has them; those that variants share count once."""
    keys: dict[str, dict[tuple[str, str], bool]] = {}
    for plan in planned:
        done = kept("run", plan.run)
        for name, table, key in _stages(plan):
            of_name = keys.setdefault(name, {})
            of_name[table, key] = of_name.get((table, key)) or done or kept(table, key)
    for name, of_name in keys.items():
        there = sum(of_name.values())
        yield Rehearsed(name, len(of_name) - there, there)


def _stages(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """What each stage is called, the table of the store that has it, and its key."""
    single = (
        ("original", "dataset", plan.original), ("release", "release", plan.release),
        ("relatedness", "relatedness", plan.relatedness), ("scoring", "scoring", plan.scoring),
        ("attacker", "attacker", plan.attacker),
    )  # fmt: skip
    yield from ((name, table, key) for name, table, key in single if key is not None)
    for planned in plan.attacks:
        label = planned.label or planned.rule.name
        yield f"attack {label}", "attack", planned.digest
        yield from ((f"{family.name} of {label}", "measurement", key) for family, key, _ in planned.measures)
