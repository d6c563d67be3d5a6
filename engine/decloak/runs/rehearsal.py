"""What a run would do, without doing any of it: stages, files, and words that would be sent."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from math import fsum
from pathlib import Path
from typing import NamedTuple

from decloak.relate.sending import is_allowed
from decloak.runs.checking import plans, selected
from decloak.runs.consent import IsKept, Sending, asker_of, remembered_hosts, sendings
from decloak.runs.inputs import Inputs
from decloak.runs.named_files import NamedFile, named_files
from decloak.runs.plan import Plan
from decloak.scenario.document import load
from decloak.store.counts import kept_counts
from decloak.store.inserting import finished
from decloak.store.opening import connect_readonly
from decloak.store.times import Took, times_taken

__all__ = ["Estimate", "Rehearsal", "Rehearsed", "rehearse"]


class Rehearsed(NamedTuple):
    """Stages of one name: how many of them would run, and how many the store has."""

    stage: str
    to_run: int
    kept: int


class Estimate(NamedTuple):
    """How long the releases and attacks that would be made take one process, as others did that the store has.

    None where none of them has been made in it; `unknown` are the methods and rules of those that have not.
    """

    seconds: float | None
    unknown: tuple[str, ...]


class Rehearsal(NamedTuple):
    """What a run would come to; `allowed` are the hosts that words may be sent to."""

    runs: int
    estimate: Estimate
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
    with _looking(store) as (kept, times):
        stages = tuple(_rehearsed(planned, kept))
        estimate = _estimate(planned, kept, times)
        would = tuple(sendings(planned, inputs, kept))
    allowed = {*allow_send, *remembered_hosts(asker_of(document, inputs))} if would else set()
    return Rehearsal(
        len(planned), estimate, stages, named_files((plan.scenario for plan in planned), document.folder.path), would,
        frozenset(host for host, *_ in would if is_allowed(host, allowed)),
    )  # fmt: skip


@contextmanager
def _looking(store: str | Path) -> Iterator[tuple[IsKept, Mapping[Took, float]]]:
    """What a store has, and how long it took, which is nothing where there is none."""
    if not Path(store).exists():
        yield lambda stage, key: False, {}
        return
    with closing(connect_readonly(store)) as connection:
        yield lambda stage, key: finished(connection, stage, key) is not None, times_taken(connection)


def _estimate(planned: Sequence[Plan], kept: IsKept, times: Mapping[Took, float]) -> Estimate:
    """How long what is missing takes; what somebody has published is only read."""
    missing: dict[tuple[str, str], Took] = {}
    for plan in planned:
        if kept("run", plan.run):
            continue
        method = plan.scenario.anonymise
        stages = [] if method is None else [("release", plan.release, method.method)]
        stages += [("attack", attack.digest, attack.rule.name) for attack in plan.attacks]
        missing |= {
            (stage, key): Took(stage, name, plan.original) for stage, key, name in stages if not kept(stage, key)
        }
    taken = {took: times.get(took, times.get(took._replace(data=None))) for took in missing.values()}
    seconds_each = [seconds for took in missing.values() if (seconds := taken[took]) is not None]
    unknown = dict.fromkeys(took.name for took, seconds in taken.items() if seconds is None)
    return Estimate(fsum(seconds_each) if seconds_each or not missing else None, tuple(unknown))


def _rehearsed(planned: Sequence[Plan], kept: IsKept) -> Iterator[Rehearsed]:
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
