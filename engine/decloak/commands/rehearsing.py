"""`run --dry-run`: what a run would do."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from decloak.errors import shown
from decloak.report.duration import duration
from decloak.report.table import emit, emit_json

if TYPE_CHECKING:
    from decloak.runs.consent import Sending
    from decloak.runs.rehearsal import Estimate, Rehearsal

__all__ = ["print_rehearsal"]

FIRST = 3
"""Words of those that would be sent that are shown."""


def print_rehearsal(
    scenario: Path, store: Path, overrides: Sequence[str], allow_send: Sequence[str], only: str | None, form: str
) -> None:
    """Print what would run, be read and be sent."""
    from decloak.runs.rehearsal import rehearse

    plan = rehearse(scenario, store=store, overrides=overrides, allow_send=allow_send, only=only)
    if form == "json":
        emit_json({
            "runs": plan.runs,
            "time": plan.estimate._asdict(),
            "stages": [stage._asdict() for stage in plan.stages],
            "files": [file._asdict() for file in plan.files],
            "sendings": [
                sending._asdict() | {"words": len(sending.words), "first": sending.words[:FIRST],
                                     "allowed": sending.host in plan.allowed}
                for sending in plan.sendings
            ],
        })  # fmt: skip
        return
    emit(("what", "name", "state"), list(_rows(plan)), form)


def _rows(plan: "Rehearsal") -> Iterator[tuple[str, str, str]]:
    for stage in plan.stages:
        counts = ((stage.to_run, "to run"), (stage.kept, "there already"))
        yield "stage", stage.stage, ", ".join(f"{count:,} {state}" for count, state in counts if count)
    yield "time", "one process", _time(plan.estimate)
    for file in plan.files:
        yield "file", file.name, f"outside the folder: {file.outside}" if file.outside else "in the folder"
    for sending in plan.sendings:
        yield "sent to", sending.address, _sent(sending, sending.host in plan.allowed)


def _time(estimate: "Estimate") -> str:
    unknown = ", ".join(shown(name)[1:-1] for name in estimate.unknown)
    if estimate.seconds is None:
        takes = "takes" if len(estimate.unknown) == 1 else "take"
        return f"not known: nothing in this store tells how long {unknown} {takes}"
    text = "nothing to make" if not estimate.seconds else f"{duration(estimate.seconds)} for releases and attacks"
    return f"{text}; not known of {unknown}" if unknown else text


def _sent(sending: "Sending", allowed: bool) -> str:
    words = ", ".join(map(shown, sending.words[:FIRST])) + (", …" if len(sending.words) > FIRST else "")
    consent = "allowed" if allowed else f"not allowed yet: --allow-send {sending.host}"
    return f"{len(sending.words):,} words: {words}; {consent}"
