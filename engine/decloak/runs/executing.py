"""Carry out a plan, or one attack of it.

An unchanged variant does nothing, a changed one redoes what depends on the change, and a killed run goes on behind
the last stage that was committed.
"""

import json
from functools import partial

from decloak.runs.attacking import Execution
from decloak.runs.desk import Node, Offer, Write
from decloak.runs.plan import Plan, Planned
from decloak.runs.session import Session
from decloak.store import inserting, writing

__all__ = ["execute", "execute_attack", "execution_of"]


def execute_attack(plan: Plan, planned: Planned, session: Session) -> None:
    """Make one attack of a plan, and measure it."""
    session.check(plan)
    execution = execution_of(plan, session)
    execution.attack(planned, _by_rule(plan))
    execution.measure(planned)


def _by_rule(plan: Plan) -> dict[str, Planned]:
    """The attacks of a plan by their rules, the first of each."""
    return {planned.rule.name: planned for planned in reversed(plan.attacks)}


def execution_of(plan: Plan, session: Session) -> Execution:
    """A plan being carried out; the last one is kept, with what it has in memory."""
    if session.executing is None or session.executing[0] is not plan:
        session.executing = plan, Execution(plan, session)
    execution: Execution = session.executing[1]
    return execution


def execute(plan: Plan, session: Session) -> tuple[int, bool]:
    """Carry out a plan; return the number of its run, and whether anything had to be done."""
    number = inserting.find(session.store, "run", plan.run)
    if number is not None:
        return number, False
    session.check(plan)
    execution = execution_of(plan, session)
    earlier = _by_rule(plan)
    for planned in plan.attacks:
        execution.attack(planned, earlier)
        if session.is_home:
            execution.measure(planned)
    # Elsewhere attacks are written when their turn comes: nobody waits for it as long as there are others to make.
    for planned in () if session.is_home else plan.attacks:
        execution.measure(planned)
    write = _written_run(execution)
    first = execution.ask(Offer(Node("run", plan.run)))  # or else another run has been faster
    return execution.stage("run", plan.run, lambda: write), first


def _written_run(execution: Execution) -> Write:
    """What writes the run, once all of its attacks and measurements are there."""
    plan, variant = execution.plan, execution.plan.variant
    attacks = {planned.label: execution.number("attack", planned.digest) for planned in plan.attacks}
    measurements = [
        execution.number("measurement", key)
        for planned in plan.attacks
        if not planned.audit or execution.attacked(planned).idle is None  # if it is, its note says so
        for _, key, _ in planned.measures
    ]
    return partial(
        writing.write_run,
        digest=plan.run,
        scenario=variant.scenario.scenario,
        variant=variant.name,
        repetition=variant.repetition,
        seed=variant.seed,
        config=json.dumps(variant.scenario.model_dump(mode="json", by_alias=True) | dict(variant.whole)),
        release=execution.release,
        attacks=[(attack.name, attacks[attack.name]) for attack in variant.scenario.attacks],
        measurements=measurements,
    )
