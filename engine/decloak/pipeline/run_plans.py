"""Run plans: in this process at first, and in workers once that is faster."""

import threading
import time
from collections.abc import Iterator, Sequence

from decloak.errors import DecloakError, NoRelease, quote
from decloak.parallel import can_fork
from decloak.pipeline.pipeline import Pipeline, RunResult
from decloak.pipeline.plan import Plan
from decloak.pipeline.progress import ProgressReporter
from decloak.pipeline.workspace import Workspace
from decloak.store.inserting import find

__all__ = ["TRIAL", "run_plans"]

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
    if memory is not None or workspace.cluster is not None:
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
        from decloak.pipeline.scheduler import run_in_workers  # most runs are too short for workers

        yield from run_in_workers(plans[done:], workspace, reporter, jobs, memory)


def _run(plan: Plan, workspace: Workspace) -> RunResult | NoRelease:
    try:
        return Pipeline.of(plan, workspace).run()
    except NoRelease as error:
        return error


def _unfinished(plans: Sequence[Plan], workspace: Workspace) -> list[Plan]:
    """Return the plans whose runs the store does not have."""
    return [plan for plan in plans if find(workspace.store, "run", plan.run) is None]


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

    def _can_be_shared(self, kind: str) -> bool:
        """Tell whether several plans are left, or several attacks of one plan whose other stages are there."""
        left = _unfinished(self._plans, self._workspace)
        attacks = {planned.digest for plan in left for planned in plan.attacks}
        missing = [key for key in attacks if find(self._workspace.store, "attack", key) is None]
        return len(missing) > 1 and (len(left) > 1 or kind == "attack")
