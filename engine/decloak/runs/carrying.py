"""Carry out the plans of a run: here one after the other, and in processes beside this one once that pays.

A cell is a variant, or one attack of it where there are few variants. Processes read the store and hand in what they
made; who writes is this process alone, and in the same order however many there are.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from decloak.cells.mapping import can_fork, map_cells
from decloak.cells.memory import resident_bytes, size_of
from decloak.cells.shapes import Ask, Processes
from decloak.errors import DecloakError, NoRelease
from decloak.relate.relatedness import Relatedness
from decloak.runs.desk import Claim, Desk, Node, Offer, Question, lanes_of, nodes_of
from decloak.runs.executing import execute, execute_attack, execution_of
from decloak.runs.plan import Plan
from decloak.runs.progress import Teller
from decloak.runs.session import Session
from decloak.store import inserting
from decloak.store.sandbox_guard import forget_processes

if TYPE_CHECKING:
    from decloak.cells.cluster import DaskCluster

__all__ = ["Cell", "Team", "carried_out"]

TRIAL = 0.15
"""Seconds that are worked before processes are started: what is done by then needs none."""
LARGE = 20_000
"""Transactions from which on nobody tries whether it is done soon."""
PROCESS, OCCURRENCE = 60 << 20, 120
"""Bytes of memory that a process takes, and what it takes for each occurrence of an item: see `bench_whole`."""


class Cell(NamedTuple):
    """A variant by its place, and of it one attack by its place, or with None all of it."""

    plan: int
    attack: int | None = None


class Team(NamedTuple):
    """How many processes may work at a time, and how much memory they may take together, None for any."""

    jobs: int = 1
    memory: int | None = None


class _Enough(Exception):
    """It takes so long that processes pay."""


def carried_out(
    plans: Sequence[Plan], session: Session, team: Team, teller: Teller
) -> Iterator[tuple[int, bool] | NoRelease]:
    """The number of the run of each plan, in order, and whether anything had to be done for it; or why there can be
    none.
    """
    if team.memory is not None:
        _check_bounded(session)
    done = 0
    while done < len(plans):
        try:
            for ended in _carried_out(plans[done:], session, team, teller):
                yield ended
                done += 1
        except NoRelease as error:  # of the plan whose turn it is: all before it were done
            yield error
            done += 1
            while done < len(plans) and (same := _impossible(plans[done], session)):
                yield same  # mostly a repetition, for which nobody need begin anew
                done += 1


def _impossible(plan: Plan, session: Session) -> NoRelease | None:
    """Why a method cannot do what a plan asks for, where that shows before it begins."""
    try:
        session.check(plan)
    except NoRelease as error:
        return error
    return None


def _carried_out(plans: Sequence[Plan], session: Session, team: Team, teller: Teller) -> Iterator[tuple[int, bool]]:
    """The same, up to the first that there can be no release of."""
    done = 0
    if session.cluster is not None:
        yield from _by_cluster(plans, session, session.cluster, teller)
        return
    left = [place for place, plan in enumerate(plans) if inserting.find(session.store, "run", plan.run) is None]
    if left and (team.jobs > 1 or team.memory is not None) and can_fork():
        for number in _tried(plans, session, team, teller):
            yield number
            done += 1
        if done < len(plans):
            yield from _together(plans[done:], session, team, teller)
        return
    desk = Desk(session.store, lambda cell, text: teller.tell(plans[cell], text))
    yield from map_cells(partial(_whole, session), plans, desk)


def _check_bounded(session: Session) -> None:
    """Refuse a bound of memory that nobody would keep."""
    if session.cluster is not None:
        hint = "leave it out, and start workers with --memory-limit"
        raise DecloakError("the workers of a cluster bound their memory themselves", "--memory", hint)
    if not can_fork():
        message = "memory is bounded on Linux alone, in a program without threads"
        raise DecloakError(message, "--memory", "leave it out")


def _whole(session: Session, plan: Plan, ask: Ask) -> tuple[int, bool]:
    session.ask = ask
    return execute(plan, session)


def _tried(plans: Sequence[Plan], session: Session, team: Team, teller: Teller) -> Iterator[tuple[int, bool]]:
    """What is done here before it becomes worth its while to start processes."""
    if team.memory is not None or (len(plans) > 1 and _is_large(plans[0], session)):
        return
    desk = Desk(session.store, lambda cell, text: teller.tell(plans[cell], text))
    limit = time.monotonic() + TRIAL

    def work(plan: Plan, ask: Ask) -> tuple[int, bool]:
        def asking(question: Question) -> Any:
            if (
                isinstance(question, Claim | Offer)
                and time.monotonic() > limit
                and _pays(question.node, plans, session)
            ):
                raise _Enough
            return ask(question)

        return _whole(session, plan, asking)

    try:
        yield from map_cells(work, plans, desk)
    except _Enough:
        return


def _pays(node: Node, plans: Sequence[Plan], session: Session) -> bool:
    """Whether there is enough left for several to do, where a stage is to be made."""
    if inserting.find(session.store, *node) is not None:
        return False
    several = [plan for plan in plans if inserting.find(session.store, "run", plan.run) is None]
    attacks = {planned.digest for plan in several for planned in plan.attacks}
    missing = [key for key in attacks if inserting.find(session.store, "attack", key) is None]
    return len(missing) > 1 and (len(several) > 1 or node.kind == "attack")


def _is_large(plan: Plan, session: Session) -> bool:
    data = plan.scenario.data
    return not data.quick or (data.collected and len(session.inputs.original(data).rows) > LARGE)


def _together(plans: Sequence[Plan], session: Session, team: Team, teller: Teller) -> Iterator[tuple[int, bool]]:
    """The same by processes."""
    cells = _cells(plans, session, len(plans) < 2 * team.jobs)
    home, work = os.getpid(), partial(_work, plans, session)
    processes = _processes(plans, session, team)
    yield from _in_order(plans, cells, session, teller, partial(_beside, home, session, work), processes)


def _by_cluster(
    plans: Sequence[Plan], session: Session, cluster: "DaskCluster", teller: Teller
) -> Iterator[tuple[int, bool]]:
    """The same by threads that let a cluster do the heavy pieces."""
    left = [plan for plan in plans if inserting.find(session.store, "run", plan.run) is None]
    if len(left) == 1:  # what its attacks have in common is made first, and kept in memory
        desk = Desk(session.store, lambda _, text: teller.tell(left[0], text))
        with suppress(NoRelease):  # it is told when its turn comes
            for _ in map_cells(partial(_prepared, session), left, desk):
                pass
    threads = threading.local()

    def work(cell: Cell, ask: Ask) -> tuple[int, bool] | None:
        if not hasattr(threads, "session"):
            threads.session = session.in_thread()
        if session.executing is not None and threads.session.executing is None:
            plan, execution = session.executing
            threads.session.executing = plan, execution.in_session(threads.session)
        return _work(plans, threads.session, cell, ask)

    processes = Processes(cluster.threads + 1, threads=True)
    yield from _in_order(plans, _cells(plans, session, len(left) == 1), session, teller, work, processes)


def _prepared(session: Session, plan: Plan, ask: Ask) -> None:
    session.ask = ask
    session.check(plan)
    _ = execution_of(plan, session).scope


def _in_order(
    plans: Sequence[Plan],
    cells: Sequence[Cell],
    session: Session,
    teller: Teller,
    work: Callable[[Cell, Ask], tuple[int, bool] | None],
    processes: Processes,
) -> Iterator[tuple[int, bool]]:
    """What comes of cells that several work on, written in the order in which one would."""
    nodes = [(number, node) for number, cell in enumerate(cells) for node in _nodes(plans[cell.plan], cell)]
    missing = [(number, node) for number, node in nodes if inserting.find(session.store, *node) is None]
    owners: dict[Node, int] = {}
    for number, node in missing:
        owners.setdefault(node, number)
    ordered = [node for plan in plans for node in nodes_of(plan) if node in owners]
    lanes = lanes_of(ordered, counting=any(_counts(plan) for plan in plans))
    desk = Desk(
        session.store, lambda number, text: teller.tell(plans[cells[number].plan], text), lanes, owners, teller.tick
    )
    results = map_cells(work, cells, desk, processes)
    yield from (result for result in results if result is not None)


def _cells(plans: Sequence[Plan], session: Session, apart: bool) -> list[Cell]:
    """Variants, and before each its attacks where these are apart."""
    cells = []
    for place, plan in enumerate(plans):
        if apart and inserting.find(session.store, "run", plan.run) is None:
            cells += [Cell(place, attack) for attack in range(len(plan.attacks))]
        cells.append(Cell(place))
    return cells


def _nodes(plan: Plan, cell: Cell) -> Iterator[Node]:
    """The stages that a cell makes, if nobody has made them."""
    planned = None if cell.attack is None else plan.attacks[cell.attack]
    of_attack = None if planned is None else {planned.digest, *(key for _, key, _ in planned.measures)}
    for node in nodes_of(plan):
        if of_attack is None or node.kind not in ("attack", "measurement", "run") or node.key in of_attack:
            yield node


def _counts(plan: Plan) -> bool:
    """Whether a method goes by relatedness."""
    method = plan.scenario.anonymise
    return method is not None and any(isinstance(part, Relatedness) for part in method.nested())


def _beside(home: int, session: Session, work: Callable[[Cell, Ask], Any], cell: Cell, ask: Ask) -> Any:
    """Work on a cell in a process beside its home, which has everything that the home had."""
    if os.getpid() != home and session.is_home:
        forget_processes()
        session.beside()
    return work(cell, ask)


def _work(plans: Sequence[Plan], session: Session, cell: Cell, ask: Ask) -> tuple[int, bool] | None:
    session.ask = ask
    plan = plans[cell.plan]
    if cell.attack is None:
        return execute(plan, session)
    execute_attack(plan, plan.attacks[cell.attack], session)
    return None


def _processes(plans: Sequence[Plan], session: Session, team: Team) -> Processes:
    """How many processes there may be, and what they and their home both have."""
    rules = [planned.rule for plan in plans for planned in plan.attacks]
    families = [family for plan in plans for planned in plan.attacks for family, *_ in planned.measures]
    shared = [*rules, *families, *session.inputs.held()]
    jobs, most = team.jobs, None
    if team.memory is not None:
        side_by_side = sum(len(plan.attacks) for plan in plans) if len(plans) < 2 * team.jobs else len(plans)
        jobs, most = _within(team.memory, min(team.jobs, side_by_side), session)
    return Processes(jobs, shared, session.apart, most, spare=0 if most else None)


def _within(memory: int, jobs: int, session: Session) -> tuple[int, int]:
    """How many processes fit into the memory beside this one, and what each of them may add to what it has."""
    room = memory - resident_bytes()
    piece = PROCESS + OCCURRENCE * session.inputs.occurrences()
    if room < piece:
        message = (
            f"a part of this run takes about {size_of(memory - room + piece)} of memory, {size_of(memory)} are allowed"
        )
        raise DecloakError(message, "--memory", f"allow more, such as --memory {size_of(2 * (memory - room + piece))}")
    jobs = min(jobs, room // piece)
    return jobs, room // jobs
