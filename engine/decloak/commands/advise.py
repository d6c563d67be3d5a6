"""The command `advise`: try ways to publish a data set, and say which meets the criteria at the lowest error."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.advice.candidates import READERS
from decloak.commands.options import EXIT_EXPECTATION, warn_if_store_has_originals
from decloak.errors import DecloakError, quote
from decloak.report.terminal import say, say_data

if TYPE_CHECKING:
    from decloak.advice.candidates import Candidate
    from decloak.advice.screen import Advice

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


@click.command("advise")
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--accept",
    multiple=True,
    default=["public"],
    show_default=True,
    metavar="CRITERIA",
    help="public, controlled, ontario, cms, tre, nhs, a file.yaml, or such as 'exposed_3 <= 1%'. Repeatable.",
)
@click.option(
    "--hierarchy",
    "hierarchies",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A hierarchy (paths). Repeatable.",
)
@click.option("--constraints", type=click.Path(path_type=Path), help="Privacy constraints of COAT: a set a line.")
@click.option("--sensitive", type=click.Path(path_type=Path), help="Sensitive items for diversity: an item a line.")
@click.option("--control", type=click.Path(path_type=Path), help="Records of people who are not in the data.")
@click.option(
    "--readers",
    type=click.Choice(READERS),
    default=READERS[0],
    show_default=True,
    help="Readers need records, or only count.",
)
@click.option("--workload", type=click.Path(path_type=Path), help="Itemsets that readers count: a set a line.")
@click.option("--budget", default="10m", show_default=True, help="CPU time to spend, such as 60s, 10m or 1h.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Number of processes.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all draws.")
@click.option("--write", "scenario", type=click.Path(path_type=Path), help="Write a scenario that repeats the figures.")
@click.option("--front", is_flag=True, help="With --write: write all candidates that no other one dominates.")
@click.option("--all", "every", is_flag=True, help="List all candidates after the screen.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--store", type=click.Path(path_type=Path), help="Keep the results in this store.")
def advise_command(
    data: Path,
    accept: tuple[str, ...],
    hierarchies: tuple[Path, ...],
    constraints: Path | None,
    sensitive: Path | None,
    control: Path | None,
    readers: str,
    workload: Path | None,
    budget: str,
    jobs: int,
    seed: int,
    scenario: Path | None,
    front: bool,
    every: bool,
    as_json: bool,
    store: Path | None,
) -> int:
    """Try ways to publish DATA, and lead with the one that meets the criteria at the lowest error of counts.

    DATA is a file of original records, or a scenario about one. All candidates are measured on the same people, items
    and counts. The upper end of an interval has to be within the limit. The leading candidate is attacked by all
    attacks that can run, and the worst figure decides. Ctrl-C prints what there is so far.

    Exit code 3: no candidate meets the criteria. The advice is no proof of safety.
    """
    from contextlib import nullcontext

    from decloak.advice.advising import advise
    from decloak.advice.screen import listing
    from decloak.data.formats.writing import check_new

    if front and scenario is None:
        raise DecloakError("--front has no file to write", hint="add --write front.yaml")
    # Before the search, which takes minutes.
    if scenario is not None:
        check_new(scenario)
    with nullcontext() if store is None else warn_if_store_has_originals(store):
        advice = advise(
            data, accept=accept, hierarchies=hierarchies, constraints=constraints, sensitive=sensitive or (),
            control=control, readers=readers, workload=workload, budget=_seconds(budget), jobs=jobs, seed=seed,
            store=store, progress=_print_progress,
        )  # fmt: skip
    if as_json:
        say_data(advice.json)
    else:
        say(str(advice))
        if every:
            say("\n".join(listing(advice)))
    if scenario is not None:
        _write(advice, scenario, front=front)
    # A release for readers who only count may be the only one that meets the criteria.
    return 0 if advice.passes or advice.counts_pass else EXIT_EXPECTATION


def _write(advice: "Advice", path: Path, *, front: bool) -> None:
    """Write the scenario of the leading candidate, or of the whole front, to `path`."""
    if advice.written is None:
        say(f"note: {path} was not written, because no candidate shows anything", err=True)
        return
    advice.write(path, front=front)
    then = (
        f"`decloak run {path}` and `decloak report last` plot exposure and error"
        if front
        else f"`decloak run {path}` repeats every figure, and fails when one no longer holds"
    )
    say(f"wrote {path}; {then}", err=True)


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d*)?)([smh]?)", text.strip())
    if found is None:
        raise DecloakError(f"{quote(text)} is no time", "--budget", "write such as 60s, 10m or 1h")
    return float(found[1]) * UNITS[found[2]]


def _print_progress(number: int, of: int, candidate: "Candidate") -> None:
    if sys.stderr.isatty():
        say(f"trying {number + 1} of {of}: {candidate.name}", err=True)
