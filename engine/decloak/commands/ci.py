"""Results for build servers: JUnit, SARIF, summaries and annotations."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

import click

from decloak.errors import DecloakError
from decloak.report.ci import Expected, annotation, junit, markdown, sarif
from decloak.report.terminal import say

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable that names the file which a build server shows as the summary of a step."""

FORGE = "GITHUB_ACTIONS"
"""The variable that is "true" where a forge turns lines such as `::error file=…::` into annotations."""
JUDGED = "decloak.judged"
"""The key of the judged expectations in the context of a command."""

# Lazy, so that "f:3:4" is line 3 and column 4. A name of a file may have a line end.
_PLACE = re.compile(r"(.+?):(\d{1,9})(?::(\d{1,9}))?", re.DOTALL)
"""A file, a line and a column, as errors name their place."""


def ci_options(command: Callable[..., int]) -> Callable[..., int]:
    """`--junit FILE` and `--sarif FILE`, which are also written when the command fails: no older file may stay."""

    @wraps(command)
    def reported(*arguments: Any, junit: Path | None, sarif: Path | None, **further: Any) -> int:
        with _annotated():
            try:
                return command(*arguments, junit=junit, sarif=sarif, **further)
            except (Exception, KeyboardInterrupt) as error:
                subject = Path(further.get("scenario") or further["file"])
                # The error of the command matters more than one of writing about it.
                with suppress(DecloakError, OSError):
                    write_ci(subject.name, [], [_failure(subject, error)], junit, sarif)
                raise

    kind = click.Path(path_type=Path)
    option = click.option("--sarif", type=kind, help="Write failed expectations as SARIF.")
    return click.option("--junit", type=kind, help="Write the expectations as JUnit XML.")(option(reported))


@contextmanager
def _annotated() -> Iterator[None]:
    """On a forge, print an annotation for each expectation that failed; take no other line as a command of the forge.

    Names of items are hostile. The forge ignores all commands until it sees the random token again.
    """
    if os.environ.get(FORGE) != "true":
        yield
        return
    import secrets

    token, judged = secrets.token_hex(16), list[Expected]()
    click.get_current_context().meta[JUDGED] = judged
    say(f"::stop-commands::{token}", err=True)
    try:
        yield
    finally:
        # Both streams end in one log, where no output may come after the token.
        sys.stdout.flush()
        say("\n".join([f"::{token}::", *(annotation(entry) for entry in judged if entry.holds is not True)]), err=True)


def _failure(subject: Path, error: BaseException) -> Expected:
    """Return the failure of a command as an expectation, at the place that the error names."""
    said = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__
    found = _PLACE.fullmatch(getattr(error, "place", None) or "")
    file, line, column = (found[1], int(found[2]), int(found[3] or 1)) if found else (subject.as_posix(), 1, 1)
    return Expected(f"decloak on {subject.name}", None, said, file, line, column, failed=True)


def write_ci(
    title: str, sentences: Sequence[str], judged: Sequence[Expected], junit_file: Path | None, sarif_file: Path | None
) -> None:
    """Write the results in `judged` to the given files, and annotate them. Add them to the summary of a step."""
    from decloak.data.formats.writing import report_write_errors, write_text

    click.get_current_context().meta.get(JUDGED, []).extend(judged)
    if junit_file is not None:
        write_text(junit(title, judged), junit_file)
    if sarif_file is not None:
        write_text(sarif(judged), sarif_file)
    if summary := os.environ.get(SUMMARY):
        # Appended: the other commands of a step write to the same file.
        with report_write_errors(summary), Path(summary).open("a", encoding="utf-8") as file:
            file.write(markdown(title, sentences, judged))
