"""A scheduler: workers compute the stages of plans, and this process writes their results.

A worker is a forked process, or a thread that waits for a cluster. A task is a plan, or one attack of it where there
are few plans. The worker computes the stages of its task until one needs the number of a stage that is not written. It
hands its results over, and the task goes on after this process has written them. So a plan mostly stays with one
worker, which has its release in memory. The row of each run is written last, in the order of the plans.

Run plans: in this process at first, and in workers once that is faster.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

from decloak import ending
from decloak.anonymisers.method import Stopwatch
from decloak.errors import DecloakError, NoRelease, quote
from decloak.memory import resident_bytes, size_of
from decloak.parallel import can_fork, cluster_threads
from decloak.pipeline.pipeline import Pipeline, RunResult
from decloak.pipeline.plan import Plan, StageKey, is_related
from decloak.pipeline.progress import ProgressReporter
from decloak.pipeline.workspace import NotWritten, StageResult, WorkerWorkspace, Workspace
from decloak.store.sandbox_guard import forget_processes

OFTEN = 0.1
"""Seconds between two looks at the progress of workers, and at requests to end."""
PROCESS, OCCURRENCE = 60 << 20, 120
"""Bytes of memory that a process takes, and that it takes for each occurrence of an item: see `bench_whole`."""


_LANES = (("dataset", "release"), ("relatedness",), ("scoring",), ("attacker",), ("attack",), ("measurement",))
"""Kinds of stages that write to the same tables."""
_COUNTING_LANES = (("dataset", "release", "relatedness"), *_LANES[2:])
"""The same where making a release writes counts as well."""


class Task(NamedTuple):
    """Work for one worker: a plan and its attacks, by their indices; and the stages that the worker may compute."""

    plan: int
    attacks: tuple[int, ...]
    stages: frozenset[StageKey]


class TaskResult(NamedTuple):
    """The results of a task, and the error that ended it."""

    results: Sequence[StageResult]
    error: Exception | None


if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from multiprocessing.queues import SimpleQueue

    Messages = SimpleQueue[tuple[int, str]]
    """A queue of progress: the index of a plan, and a text."""


def run_in_workers(
    plans: Sequence[Plan], workspace: Workspace, reporter: ProgressReporter, jobs: int, memory: int | None
) -> Iterator[RunResult | NoRelease]:
    """Run plans as `run_plans` does, with up to `jobs` processes or with the threads of a cluster."""
    most = None
    if workspace.cluster is not None:
        jobs = workspace.cluster.threads + 1
    elif memory is not None:
        tasks = sum(len(plan.attacks) for plan in plans) if len(plans) < 2 * jobs else len(plans)
        jobs, most = _share_memory(memory, min(jobs, tasks), workspace)
    first = _unfinished(plans, workspace)[0]
    with suppress(NoRelease):  # its worker meets the error again, at its turn
        if len(plans) == 1 and memory is None:
            _prepare_attacks(plans, workspace, jobs)
        else:
            workspace.check(first)
            Pipeline.of(first, workspace).original()
    schedule = Schedule(plans, workspace, split=len(plans) < 2 * jobs)
    from concurrent.futures import FIRST_COMPLETED, wait  # takes time to import, and nothing may be left to do

    with ExitStack() as stack:
        pool, messages, check = _start_workers(stack, plans, workspace, jobs, most)
        running: dict[Future[TaskResult], Task] = {}
        for index, plan in enumerate(plans):
            while True:
                while len(running) < jobs and (task := schedule.next_task()):
                    running[pool.submit(compute_stages, task)] = task
                if schedule.is_finished(index):
                    break
                done, _ = wait(running, OFTEN, FIRST_COMPLETED)
                check()
                _report_messages(messages, plans, reporter)
                # Of results that came together, the error of the first plan decides.
                for future in sorted(done, key=lambda future: running[future][:2]):
                    schedule.finish(running.pop(future), _result(future, most))
            yield schedule.refusal(index) or Pipeline.of(plan, workspace).run()


def _prepare_attacks(plans: Sequence[Plan], workspace: Workspace, jobs: int) -> None:
    """Compute what the attacks of a plan share, so that workers forked later have it in memory.

    Processes compute the slow values meanwhile.
    """
    pipeline = Pipeline.of(plans[0], workspace)
    pipeline.prepare()
    attacks = pipeline.plan.attacks
    missing = [number for number, planned in enumerate(attacks) if not workspace.has(planned.stages[0])]
    if workspace.cluster is not None or len(missing) < 2:
        return
    from concurrent.futures import wait

    pipeline.material.report("values that several attacks need")
    with suppress(DecloakError), ExitStack() as stack:  # a worker meets the error again, at its turn
        slow = pipeline.slow_values([attacks[number] for number in missing])
        processes = min(jobs - 1, max(1, len(slow)))
        pool, _, check = _start_workers(stack, plans, workspace, processes, None)
        found = [pool.submit(compute_value, missing, place) for place in range(len(slow))]
        pipeline.prepare_attacks([attacks[number] for number in missing])
        while wait(found, OFTEN).not_done:
            check()
        for (stage, value), future in zip(slow, found, strict=True):
            value.kept[value.key], took = future.result()
            pipeline.prepared[stage] = {clock: took[clock] + spent for clock, spent in pipeline.prepared[stage].items()}


def compute_value(attacks: Sequence[int], place: int) -> tuple[object, dict[str, float]]:
    """Compute one of the slow values of `attacks` of the only plan, in a worker; return it and its time."""
    pipeline, clock = Pipeline.of(_here.plans[0], _here.workspace), Stopwatch()
    _, value = pipeline.slow_values([pipeline.plan.attacks[number] for number in attacks])[place]
    return value.compute(), clock.seconds


def _start_workers(
    stack: ExitStack, plans: Sequence[Plan], workspace: Workspace, jobs: int, memory: int | None
) -> tuple[Executor, Messages, Callable[[], None]]:
    from multiprocessing import get_context  # takes time to import, and most runs are too short for workers

    from decloak.processes import forked_processes

    messages: Messages = get_context("fork").SimpleQueue()
    if workspace.cluster is not None:
        threads = cluster_threads(workspace.cluster, _begin_worker, plans, workspace, messages, False)
        return stack.enter_context(threads), messages, ending.check
    processes = forked_processes(jobs, _begin_worker, plans, workspace, messages, True, memory=memory)
    with workspace.closed():
        pool = stack.enter_context(processes)
    return pool, messages, pool.check


def _share_memory(memory: int, jobs: int, workspace: Workspace) -> tuple[int, int]:
    """Return how many processes fit into `memory` next to this one, and the bytes that each may add to what it has."""
    room = memory - resident_bytes()
    needed = PROCESS + OCCURRENCE * workspace.inputs.occurrences()
    if room < needed:
        total = size_of(memory - room + needed)
        message = f"a part of this run takes about {total} of memory, {size_of(memory)} are allowed"
        raise DecloakError(message, "--memory", f"allow more, such as --memory {size_of(2 * (memory - room + needed))}")
    jobs = min(jobs, room // needed)
    return jobs, room // jobs


def _report_messages(messages: Messages, plans: Sequence[Plan], reporter: ProgressReporter) -> None:
    while not messages.empty():
        index, text = messages.get()
        reporter.report(plans[index], text)
    reporter.tick()


def _result(future: Future[TaskResult], memory: int | None) -> TaskResult:
    """Return the result of a task; a worker without memory has an error that names the option."""
    try:
        result = future.result()
    except MemoryError as error:
        result = TaskResult((), error)
    if isinstance(result.error, MemoryError) and memory is not None:
        message = f"a part of this run takes over {size_of(memory)}, its share of the memory that is allowed"
        hint = "allow more, or use fewer --jobs; what was finished is kept"
        return TaskResult(result.results, DecloakError(message, "--memory", hint))
    return result


class Schedule:
    """The stages that are missing, the order in which they are written, and the errors of plans.

    If `split`, each attack of a plan is a task of its own after the stages before it. Rows are numbered as they are
    written. So a result waits until all stages before it in its lane are written, and the numbers are the same for any
    number of workers. A lane has the stages that write to the same tables, except the table `number`, whose places may
    differ: one lane for all its writers would make workers wait for each other.
    """

    def __init__(self, plans: Sequence[Plan], workspace: Workspace, *, split: bool) -> None:
        self._plans, self._workspace, self._split = plans, workspace, split
        of_plans = [[] if workspace.has(StageKey("run", plan.run)) else plan.stages for plan in plans]
        self._missing = [{stage for stage in stages if not workspace.has(stage)} for stages in of_plans]
        ordered = dict.fromkeys(stage for stages in of_plans for stage in stages)
        lanes = _COUNTING_LANES if any(is_related(plan.scenario.anonymise) for plan in plans) else _LANES
        self._lanes = [deque(stage for stage in ordered if stage.kind in lane) for lane in lanes]
        self._waiting: dict[StageKey, StageResult] = {}
        self._running: list[Task] = []
        self._errors: dict[tuple[int, tuple[int, ...]], Exception] = {}

    def next_task(self) -> Task | None:
        """Return a task for a worker, None if all that is left depends on tasks that run."""
        taken = {stage for task in self._running for stage in task.stages}.union(self._waiting)
        failed = {plan for plan, _ in self._errors}
        for index in range(len(self._plans)):
            if index in failed and not isinstance(self._error(index), NoRelease):
                return None  # the run ends with this error
            for task in self._tasks(index) if index not in failed else ():
                # Plans share stages, so another worker may compute one of them already.
                if task.stages.isdisjoint(taken):
                    self._running.append(task)
                    return task
        return None

    def _tasks(self, index: int) -> Iterator[Task]:
        plan, missing = self._plans[index], self._missing[index]
        shared = missing.intersection(plan.shared_stages)
        if not self._split and missing:
            yield Task(index, tuple(range(len(plan.attacks))), frozenset(missing))
        elif shared:
            yield Task(index, (), frozenset(shared))
        else:
            by_rule = plan.by_rule()
            for number, planned in enumerate(plan.attacks):
                stages = missing.intersection(planned.stages)
                if stages and not any(by_rule[name].stages[0] in missing for name in planned.needs):
                    yield Task(index, (number,), frozenset(stages))

    def finish(self, task: Task, result: TaskResult) -> None:
        """Write the results of a task, as far as it is their turn."""
        self._running.remove(task)
        self._waiting.update({one.stage: one for one in result.results})
        if result.error is not None:
            self._errors[task.plan, task.attacks] = result.error
        self._write_in_order()
        there = set(filter(self._workspace.has, task.stages))  # another run may have written some
        for missing in self._missing:
            missing -= there
        if not (result.results or result.error or there):
            raise RuntimeError(f"a worker computed none of {sorted(task.stages)}")

    def _write_in_order(self) -> None:
        for lane in self._lanes:
            while lane and (lane[0] in self._waiting or not self._is_awaited(lane[0])):
                stage = lane.popleft()
                if stage in self._waiting:
                    self._workspace.write(self._waiting.pop(stage))
                for missing in self._missing:
                    missing.discard(stage)

    def _is_awaited(self, stage: StageKey) -> bool:
        """Return whether the store lacks a stage and a plan without an error needs it."""
        failed = {plan for plan, _ in self._errors}
        needed = any(stage in missing for index, missing in enumerate(self._missing) if index not in failed)
        return needed and not self._workspace.has(stage)

    def is_finished(self, index: int) -> bool:
        """Return whether nothing is left to do of a plan, or an error ends it that no running task comes before."""
        failed = [attacks for plan, attacks in self._errors if plan == index]
        if failed:
            return not any(task.plan == index and task.attacks < min(failed) for task in self._running)
        return not self._missing[index]

    def _error(self, index: int) -> Exception:
        """Return the error of the first task of a plan that has one."""
        return self._errors[min(key for key in self._errors if key[0] == index)]

    def refusal(self, index: int) -> NoRelease | None:
        """Return the reason why there is no release for a plan, None if there is one; raise every other error."""
        if all(plan != index for plan, _ in self._errors):
            return None
        error = self._error(index)
        if isinstance(error, NoRelease):
            return error
        raise error


_here = threading.local()
"""The plans and the workspace of this worker."""


def _begin_worker(plans: Sequence[Plan], home: Workspace, messages: Messages, forked: bool) -> None:
    """Make a worker of this process or thread."""
    numbers = {id(plan): number for number, plan in enumerate(plans)}
    if forked:
        forget_processes()
    _here.plans = plans
    _here.workspace = WorkerWorkspace(home, lambda plan, text: messages.put((numbers[id(plan)], text)), forked=forked)


def compute_stages(task: Task) -> TaskResult:
    """Compute the stages of a task, in a worker, until one needs a stage that is not written."""
    workspace: WorkerWorkspace = _here.workspace
    workspace.claimed, error = task.stages, None
    pipeline = Pipeline.of(_here.plans[task.plan], workspace)
    attacks = [pipeline.plan.attacks[number] for number in task.attacks]
    try:
        pipeline.prepare()
        for planned in attacks:
            pipeline.attack(planned)
        # Measures need the number of an attack, which it gets when the other process writes it.
        for planned in attacks:
            pipeline.measurement(planned)
    except NotWritten:
        pass
    except Exception as raised:
        error = raised
        if not isinstance(error, DecloakError):
            # Errors are sent as pickles, which have no traceback.
            error.add_note(traceback.format_exc())
    return TaskResult(workspace.take_results(), error)


TRIAL = 0.15
"""Seconds of work in this process before processes are forked: a short run needs none."""
LARGE = 20_000
"""Transactions from which on there is no such trial."""


def run_plans(
    plans: Sequence[Plan], workspace: Workspace, reporter: ProgressReporter, jobs: int = 1, memory: int | None = None
) -> Iterator[RunResult | NoRelease]:
    """Run every plan, and yield its run in order, or the reason why its method can make no release.

    Forks up to `jobs` processes once `TRIAL` seconds have passed and several attacks are left. They may take `memory`
    bytes together with this process. The threads of a cluster work instead, if `workspace` has one.
    """
    if memory is not None:
        _check_bounded(workspace)
    done, alone, workspace.report = 0, True, reporter.report
    if any(plan.scenario.data.in_parts for plan in plans):
        alone = True  # its tasks take the workers
    elif memory is not None or workspace.cluster is not None:
        alone = not _unfinished(plans, workspace)
    elif jobs > 1 and can_fork():
        workspace.report = _Trial(plans, workspace, reporter).report
    try:
        for plan in plans if alone else ():
            yield _run(plan, workspace)
            done += 1
    except _TrialOver:
        alone, workspace.report = False, reporter.report
    if not alone:
        yield from run_in_workers(plans[done:], workspace, reporter, jobs, memory)


def _run(plan: Plan, workspace: Workspace) -> RunResult | NoRelease:
    try:
        return Pipeline.of(plan, workspace).run()
    except NoRelease as error:
        return error


def _unfinished(plans: Sequence[Plan], workspace: Workspace) -> list[Plan]:
    """Return the plans whose runs the store does not have."""
    return [plan for plan in plans if not workspace.has(StageKey("run", plan.run))]


def _check_bounded(workspace: Workspace) -> None:
    """Refuse a bound of memory that no process would keep."""
    if workspace.cluster is not None:
        hint = "leave it out, and start workers with --memory-limit"
        raise DecloakError("the workers of a cluster bound their memory themselves", "--memory", hint)
    if not can_fork():
        threads = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
        message = "memory is limited only on Linux, in a process with one thread"
        message += f", and here runs {quote(threads[0].name)} as well" if threads else ""
        raise DecloakError(message, "--memory", "leave it out, or start a new process")


class _TrialOver(Exception):
    """The run takes so long that several processes are faster."""


class _Trial:
    """The time in which this process works alone, though it may fork others."""

    def __init__(self, plans: Sequence[Plan], workspace: Workspace, reporter: ProgressReporter) -> None:
        self._plans, self._workspace, self._reporter = plans, workspace, reporter
        is_large = len(plans) > 1 and self._is_large(plans[0])
        self._end = time.monotonic() + (0 if is_large else TRIAL)

    def _is_large(self, plan: Plan) -> bool:
        data = plan.scenario.data
        return not data.reads_early or (data.has_original and len(self._workspace.inputs.original(data).rows) > LARGE)

    def report(self, plan: Plan, text: str) -> None:
        """Report the stage that begins; raise `_TrialOver` instead if others could share the work that is left."""
        if time.monotonic() > self._end and self._can_be_shared(text):
            raise _TrialOver
        self._reporter.report(plan, text)

    def _can_be_shared(self, title: str) -> bool:
        """Return whether several plans are left, or several attacks of one plan whose other stages are there."""
        left = _unfinished(self._plans, self._workspace)
        attacks = {planned.stages[0] for plan in left for planned in plan.attacks}
        missing = [stage for stage in attacks if not self._workspace.has(stage)]
        return len(missing) > 1 and (len(left) > 1 or title.startswith("attack "))
