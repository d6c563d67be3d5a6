"""Files for build servers, beside what a command prints."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from decloak.report.ci import Expected, junit, markdown, sarif

__all__ = ["ci_options", "write_ci"]

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable that names the file which a build server shows as the summary of a step."""


def ci_options(command: click.decorators.FC) -> click.decorators.FC:
    """`--junit FILE` and `--sarif FILE`."""
    kind = click.Path(path_type=Path)
    command = click.option("--sarif", type=kind, help="Write what does not hold as SARIF, at its place.")(command)
    return click.option("--junit", type=kind, help="Write what was expected as JUnit's XML.")(command)


def write_ci(
    title: str, sentences: Sequence[str], judged: Sequence[Expected], junit_file: Path | None, sarif_file: Path | None
) -> None:
    """Write what was asked for; these files are made anew each time. The summary of a step is added to."""
    from decloak.data.formats.writing import told_unwritable, write_text

    if junit_file is not None:
        write_text(junit(title, judged), junit_file)
    if sarif_file is not None:
        write_text(sarif(judged), sarif_file)
    if summary := os.environ.get(SUMMARY):
        with told_unwritable(summary), Path(summary).open("a", encoding="utf-8") as file:
            file.write(markdown(title, sentences, judged))
