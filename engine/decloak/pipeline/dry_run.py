"""Dry runs: the stages that a run would compute, the files it would read, and the words it would send."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from math import fsum
from pathlib import Path
from typing import NamedTuple

from decloak.pipeline.inputs import Inputs
from decloak.pipeline.permission import IsStored, NamedFile, OutgoingRequest, named_files, outgoing_requests
from decloak.pipeline.plan import Plan, StageKey
from decloak.pipeline.validate import plans, selected
from decloak.relate.sending import is_host_allowed
from decloak.scenario.document import load
from decloak.store.counts import kept_counts
from decloak.store.inserting import find
from decloak.store.opening import connect_readonly
from decloak.store.timing import KnownTimes, dataset_number

_LONG = {"release", "relatedness", "attack", "measurement"}
"""The kinds of stages that can take long."""
Expected = Callable[[str, str, Plan], float | None]
"""A function that estimates the seconds of a stage of a plan, given its kind and name."""


class StageCount(NamedTuple):
    """The stages of one name: the number that would be computed, and the number that the store has."""

    stage: str
    to_run: int
    kept: int


class Estimate(NamedTuple):
    """The seconds that the missing stages take one process, estimated from the stages in the store.

    `seconds` is None if the store has none of them. `unknown` are the methods, rules and measures without an estimate.
    """

    seconds: float | None
    unknown: tuple[str, ...]


class DryRun(NamedTuple):
    """The work of a run; `allowed` are the hosts that words may be sent to."""

    runs: int
    estimate: Estimate
    stages: tuple[StageCount, ...]
    files: tuple[NamedFile, ...]
    requests: tuple[OutgoingRequest, ...]
    allowed: frozenset[str]


def dry_run(
    scenario: str | Path,
    *,
    store: str | Path = "store.db",
    overrides: Sequence[str] = (),
    allow_send: Sequence[str] = (),
    only: str | None = None,
) -> DryRun:
    """Plan a run of `scenario` with `overrides`, and return the work that `store` lacks; write and send nothing.

    `only` selects variants by name. `allow_send` names hosts that words may be sent to.
    """
    document = load(scenario, overrides)
    offline = any(case.scenario.offline for case in document.cases)
    # Offline, answers in the store are part of a key: more of them give other scores.
    inputs = Inputs(document.folder, kept_counts(store) if offline else 0)
    planned = selected(plans(document, inputs), only)
    with _open_if_there(store) as (kept, expected):
        stages = tuple(_count_stages(planned, kept))
        estimate = _estimate(planned, kept, expected)
        requests = tuple(outgoing_requests(planned, inputs, kept))
    return DryRun(
        len(planned), estimate, stages, named_files((plan.scenario for plan in planned), document.folder.path),
        requests,
        frozenset(host for host, *_ in requests if is_host_allowed(host, allow_send)),
    )  # fmt: skip


@contextmanager
def _open_if_there(store: str | Path) -> Iterator[tuple[IsStored, Expected]]:
    """Give functions that look up stages in `store`, and their expected times; both find nothing without a store."""
    if not Path(store).exists():
        yield lambda stage: False, lambda kind, name, plan: None
        return
    with closing(connect_readonly(store)) as connection:
        times = KnownTimes(connection)

        def expected(kind: str, name: str, plan: Plan) -> float | None:
            return times.expected(kind, name, dataset_number(connection, plan.original, plan.release))

        yield lambda stage: find(connection, *stage) is not None, expected


def _estimate(planned: Sequence[Plan], kept: IsStored, expected: Expected) -> Estimate:
    """Estimate the time of the missing stages, of the kinds that can take long; a published file is only read."""
    missing = {
        stage: (plan, plan.titles[stage][1])
        for plan in planned
        if not kept(StageKey("run", plan.run))
        for stage in plan.stages
        if stage.kind in _LONG and not (stage.kind == "release" and plan.scenario.anonymise is None) and not kept(stage)
    }
    found = {stage: (name, expected(stage.kind, name, plan)) for stage, (plan, name) in missing.items()}
    known = [seconds for _, seconds in found.values() if seconds is not None]
    unknown = dict.fromkeys(name for name, seconds in found.values() if seconds is None)
    # An estimate of 0 would promise that stages of unknown length take no time.
    return Estimate(fsum(known) if known or not missing else None, tuple(unknown))


def _count_stages(planned: Sequence[Plan], kept: IsStored) -> Iterator[StageCount]:
    """Return the stages by name, in the order of the first variant that has them; shared stages count once."""
    keys: dict[str, dict[StageKey, bool]] = {}
    for plan in planned:
        # A run that the store has computes no stage again.
        done = kept(StageKey("run", plan.run))
        for name, stage in _stages(plan):
            of_name = keys.setdefault(name, {})
            of_name[stage] = of_name.get(stage) or done or kept(stage)
    for name, of_name in keys.items():
        there = sum(of_name.values())
        yield StageCount(name, len(of_name) - there, there)


def _stages(plan: Plan) -> Iterator[tuple[str, StageKey]]:
    """Yield the title of each stage, and the stage."""
    single = (
        ("original", "dataset", plan.original), ("release", "release", plan.release),
        ("relatedness", "relatedness", plan.relatedness), ("scoring", "scoring", plan.scoring),
        ("attacker", "attacker", plan.attacker),
    )  # fmt: skip
    yield from ((name, StageKey(table, key)) for name, table, key in single if key is not None)
    for planned in plan.attacks:
        label = planned.label or planned.rule.name
        attack, *measured = planned.stages
        yield f"attack {label}", attack
        for (family, *_), stage in zip(planned.measures, measured, strict=True):
            yield f"{family.name} of {label}", stage
