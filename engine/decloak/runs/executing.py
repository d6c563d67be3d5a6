"""Carry out a plan, or one attack of it.

An unchanged variant does nothing, a changed one redoes what depends on the change, and a killed run goes on behind
the last stage that was committed.
"""

from collections.abc import Mapping
from functools import partial

from decloak.runs.desk import Claim, Made, Node
from decloak.runs.plan import Plan, Planned
from decloak.runs.session import Session
from decloak.runs.stages import Execution
from decloak.store import inserting, writing

__all__ = ["execute", "execute_attack", "execution_of"]


def execute_attack(execution: Execution, planned: Planned, earlier: Mapping[str, tuple[Planned, int]]) -> list[int]:
    """Make one attack, and measure it; return its number, and those of what was measured."""
    number = execution.attack(planned, earlier)
    attacked = execution.attacked(planned, number)
    return [number, *(execution.measure(*measure, attacked) for measure in planned.measures)]


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
    earlier: dict[str, tuple[Planned, int]] = {}
    attacks: dict[str, int] = {}
    measurements: list[int] = []
    for planned in plan.attacks:
        number, *measured = execute_attack(execution, planned, earlier)
        earlier.setdefault(planned.rule.name, (planned, number))
        if planned.label is not None:
            attacks[planned.label] = number
        measurements += measured
    variant = plan.variant
    write = partial(
        writing.write_run,
        digest=plan.run,
        scenario=variant.scenario.scenario,
        variant=variant.name,
        repetition=variant.repetition,
        seed=variant.seed,
        config=variant.scenario.model_dump_json(by_alias=True),
        release=execution.release,
        attacks=[(attack.name, attacks[attack.name]) for attack in variant.scenario.attacks],
        measurements=measurements,
    )
    node = Node("run", plan.run)
    overtaken = execution.ask(Claim(node))  # another run may have been faster
    return int(execution.ask(Made(node, write)) if overtaken is None else overtaken), overtaken is None
