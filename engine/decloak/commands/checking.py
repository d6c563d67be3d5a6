"""`check`: verify what a release promises, or a guarantee of a data file."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decloak.attack.written_order import order_notes
from decloak.commands.ci import ci_options, write_ci
from decloak.commands.options import EXIT_EXPECTATION, form_option, listed_choices
from decloak.commands.reading import plain_options, reading_of, reading_options
from decloak.commands.release_reading import RELEASES, STORE_KIND, read_any_release
from decloak.data.formats.lines import FilePath, place
from decloak.data.formats.readers import FORMATS
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.repeats import RepeatedRecords, check_written_once
from decloak.errors import DecloakError, placed
from decloak.report.ci import Expected
from decloak.report.table import emit
from decloak.report.terminal import say
from decloak.store.opening import is_store

if TYPE_CHECKING:
    from decloak.commands.release_reading import AnyRelease
    from decloak.counting.promises import First, Promise

__all__ = ["check_command"]

KINDS = ("release (a release file)", "store (that publish wrote)", "published", *FORMATS)


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--input",
    "kind",
    help=f"What the file is: {listed_choices(KINDS)}; by itself what it seems.",
)
@reading_options
@click.option("--transaction", help="The column of the transaction's id (long; default tid).")
@click.option("--item", help="The column of the item (long; default item).")
@click.option("--k", type=int, help="How many must hold an itemset that occurs; a release may say it itself.")
@click.option("--m", type=int, help="How many items somebody may know of a person; likewise.")
@click.option("--whole", is_flag=True, help="Whole transactions instead: each must be like k - 1 others.")
@click.option(
    "--constraints",
    type=click.Path(path_type=Path),
    help="A scenario, or what stands under its anonymise: check what that method promises.",
)
@click.option(
    "--links", is_flag=True, help="List the pairs of items that link to a record more surely than 1/k instead."
)
@click.option(
    "--negative", is_flag=True, help="Count what somebody knows not to be in a transaction as well; not disassociated."
)
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, help="Violations to print.")
@ci_options
@form_option
def check_command(
    file: Path,
    kind: str | None,
    k: int | None,
    m: int | None,
    whole: bool,
    constraints: Path | None,
    links: bool,
    negative: bool,
    most: int,
    junit: Path | None,
    sarif: Path | None,
    form: str,
    as_said: bool,
    **reading: Any,
) -> int:
    """Check that a release keeps its promise, or that a data file is k^m-anonymous.

    A disassociated release is checked chunk by chunk and by what its clusters may have been, small ones by going
    through all of it. With --links the pairs of items are listed by which somebody who knows them finds a record too
    surely.
    In a data file every itemset of up to M items must occur in no transaction or in at least K; a generalised item of
    a published file, or a label of a generalised release, counts as one item. With --negative everything that some
    transactions have in common, for somebody who knows of up to M items whether they are there, must be true of K.
    What other methods promise is checked by --constraints: {k: 5, privacy: [[a, b], [c]], utility: [[a, d], [b, c]]} of
    COAT, {method: diversity, l: 3, m: 2, sensitive: [a], hierarchy: ...}, {method: sets, sets: [[a, b]]}, and so on. A
    release that has nothing in it of what is promised is an error. Exit code 3: something violates it.
    """
    chosen = {"whole": whole, "links": links, "negative": negative}
    _refuse_several(chosen, constraints, m)
    if kind is None and is_store(file):
        kind = STORE_KIND
    source, kind, options = reading_of(file, kind, plain_options(reading), "--input")
    checked = "the guarantee"
    try:
        release = read_any_release(source, kind, options, as_said=as_said)
        promise = _promise(release, source, kind, chosen, constraints, k=k, m=m)
        checked = promise.words
        with placed(place(source)):
            promise.check_fits(release)
        for note in promise.notes(release):
            say(f"note: {note}", err=True)
        for warning in order_notes(release):
            say(warning, err=True)
        if isinstance(release, Generalised) and not options.repeats:
            # Groups of equal records are what is promised of whole records, and what releases are made of.
            check_written_once(release.rows, place(source), ordered=whole or kind not in FORMATS)
        verdict, holds = _print_verdict(promise, release, most, form)
    except RepeatedRecords as error:
        verdict, holds = f"the guarantee fails: {error}", False
        say(verdict, err=True)
    write_ci(file.name, [], [Expected(checked, holds, verdict, file.as_posix())], junit, sarif)
    return 0 if holds else EXIT_EXPECTATION


def _refuse_several(chosen: Mapping[str, bool], constraints: Path | None, m: int | None) -> None:
    if (constraints is not None) + sum(chosen.values()) > 1:
        raise DecloakError("--constraints, --whole, --links and --negative are checks of their own", hint="give one")
    if chosen["whole"] and m is not None:
        raise DecloakError("--whole is about whole transactions, whatever m", hint="leave --m out")


def _print_verdict(promise: "Promise[Any]", release: "AnyRelease", most: int, form: str) -> tuple[str, bool]:
    """Print the first violations, and the verdict on stderr; what it says, and whether the promise holds."""
    listed = _listed(release)
    first = promise.first(release, most)
    if first.rows or form != "table":
        emit(promise.columns, [tuple(map(listed, row)) for row in first.rows], form)
        sys.stdout.flush()  # counting all of them takes longer than finding these
    verdict = _counted(first) if first.rows else f"it holds: {promise.words}"
    say(verdict, err=True)
    return verdict, not first.rows


def _counted(first: "First") -> str:
    """How many violations there are, and how many of them were not printed."""
    count = first.total()
    if count is None:
        return f"{len(first.rows)} or more violations"
    rest = f", {count - len(first.rows)} more not shown" if count > len(first.rows) else ""
    return f"{count} violation{'s' * (count != 1)}{rest}"


def _promise(
    release: "AnyRelease",
    file: FilePath,
    kind: str,
    chosen: Mapping[str, bool],
    constraints: Path | None,
    **bounds: int | None,
) -> "Promise[Any]":
    """What is to be checked: by a file of constraints, by k and m of the command line or else of the release, or by the
    manifest beside it.
    """
    from decloak.anonymisers.registry import promise_of
    from decloak.counting import promises
    from decloak.data.formats.manifest_file import manifest_path, read_manifest
    from decloak.measure.pair_links import PairLinks
    from decloak.scenario.promised import promise_in

    if constraints is not None:
        return promise_in(constraints, **bounds)
    stated = {name: getattr(release, name) if bound is None else bound for name, bound in bounds.items()}
    if not any(chosen.values()) and None in stated.values() and (manifest := read_manifest(file)) is not None:
        with placed(place(manifest_path(file))):
            said = {name: bound for name, bound in bounds.items() if bound is not None}
            return promise_of(manifest.method, {**manifest.parameters, **said})
    _require_bounds(stated, release, kind, chosen["whole"])
    if chosen["whole"]:
        return promises.AlikeRecords(stated["k"])
    disassociated = release.form == FormName.DISASSOCIATED
    if chosen["links"] or (disassociated and not chosen["negative"]):
        return (PairLinks if chosen["links"] else promises.Disassociation)(**stated)
    return (promises.NegativeKnowledge if chosen["negative"] else promises.Frequent)(**stated)


def _require_bounds(stated: Mapping[str, int | None], release: "AnyRelease", kind: str, whole: bool) -> None:
    if stated["k"] is None or (stated["m"] is None and not whole):
        where, what = (release.origin, "the release") if kind in RELEASES else (None, "a data file")
        words = ("k", "--k") if whole else ("k and m", "--k and --m")
        raise DecloakError(f"{what} does not say its {words[0]}", where, f"give {words[1]}")


def _listed(release: "AnyRelease") -> Callable[[Any], Any]:
    """How a cell is printed: items and labels with commas between, in quotes where they would be misread in a list."""
    from decloak.data.formats.published import written

    sets = release.members if isinstance(release, Generalised) else {}

    def name(label: str) -> str:
        return label if label in sets and label == written(sets[label]) else written(label)

    return lambda cell: ", ".join(map(name, cell)) if isinstance(cell, tuple) else cell
