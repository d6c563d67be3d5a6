"""`run --dry-run`: what a run would do."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from decloak.errors import quote
from decloak.report.duration import duration
from decloak.report.table import emit, emit_json

if TYPE_CHECKING:
    from decloak.pipeline.dry_run import DryRun, Estimate
    from decloak.pipeline.permission import OutgoingRequest

__all__ = ["print_dry_run"]

FIRST = 3
"""The number of words to send that a preview shows."""


def print_dry_run(
    scenario: Path, store: Path, overrides: Sequence[str], allow_send: Sequence[str], only: str | None, form: str
) -> None:
    """Print what would run, be read and be sent."""
    from decloak.pipeline.dry_run import dry_run

    plan = dry_run(scenario, store=store, overrides=overrides, allow_send=allow_send, only=only)
    if form == "json":
        emit_json({
            "runs": plan.runs,
            "time": plan.estimate._asdict(),
            "stages": [stage._asdict() for stage in plan.stages],
            "files": [file._asdict() for file in plan.files],
            "sendings": [
                request._asdict() | {"words": len(request.words), "first": request.words[:FIRST],
                                     "allowed": request.host in plan.allowed}
                for request in plan.requests
            ],
        })  # fmt: skip
        return
    emit(("what", "name", "state"), list(_rows(plan)), form)


def _rows(plan: "DryRun") -> Iterator[tuple[str, str, str]]:
    for stage in plan.stages:
        counts = ((stage.to_run, "to run"), (stage.kept, "there already"))
        yield "stage", stage.stage, ", ".join(f"{count:,} {state}" for count, state in counts if count)
    yield "time", "one process", _time(plan.estimate)
    for file in plan.files:
        yield "file", file.name, f"outside the folder: {file.outside}" if file.outside else "in the folder"
    for request in plan.requests:
        yield "sent to", request.address, _permission(request, request.host in plan.allowed)


def _time(estimate: "Estimate") -> str:
    unknown = ", ".join(quote(name)[1:-1] for name in estimate.unknown)
    if estimate.seconds is None:
        takes = "takes" if len(estimate.unknown) == 1 else "take"
        return f"not known: this store has no times of {unknown} {takes}"
    text = "nothing to make" if not estimate.seconds else f"{duration(estimate.seconds)} for releases and attacks"
    return f"{text}; not known of {unknown}" if unknown else text


def _permission(request: "OutgoingRequest", allowed: bool) -> str:
    words = ", ".join(map(quote, request.words[:FIRST])) + (", …" if len(request.words) > FIRST else "")
    consent = "allowed" if allowed else f"not allowed: --allow-send {request.host}"
    return f"{len(request.words):,} words: {words}; {consent}"
