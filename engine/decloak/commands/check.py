"""`check`: verify the guarantee of a release, or of a data file."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.attacker.written_order import order_notes
from decloak.commands.ci import ci_options, write_ci
from decloak.commands.options import (
    EXIT_EXPECTATION,
    form_option,
    listed_choices,
    plain_options,
    reading_of,
    reading_options,
)
from decloak.counting.guarantees import ZEROS
from decloak.data.formats.lines import location
from decloak.data.formats.plain_files import FORMATS
from decloak.data.generalised import Generalised
from decloak.data.repeats import RepeatedRecords, check_written_once
from decloak.errors import DecloakError
from decloak.report.ci import Expected
from decloak.report.table import emit
from decloak.report.terminal import say
from decloak.store.opening import is_store

if TYPE_CHECKING:
    from decloak.counting.guarantees import AnyGuarantee, FirstViolations, Row
    from decloak.releases.file_formats import ReleaseOfFile

KINDS = ("release (a release file)", "store (that publish wrote)", "published", *FORMATS)


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--input",
    "kind",
    help=f"Format: {listed_choices(KINDS)}.  [default: detected]",
)
@reading_options
@click.option("--transaction", help="Column of the record id (long).  [default: tid]")
@click.option("--item", help="Column of the item (long).  [default: item]")
@click.option("--k", type=int, help="Minimum support of an itemset.  [default: from the release]")
@click.option("--m", type=int, help="Maximum number of known items.  [default: from the release]")
@click.option("--parts", is_flag=True, help="Read the records in blocks, for files larger than memory: m up to 2.")
@click.option("--whole", is_flag=True, help="Check complete records. Each record must equal k - 1 others.")
@click.option(
    "--constraints",
    type=click.Path(path_type=Path),
    help="Scenario, or its anonymise section: check the guarantee of its method.",
)
@click.option(
    "--zeros",
    type=click.Choice(ZEROS),
    help="Empty cells of an itemset table.  [default: from the release, else refuse]",
)
@click.option("--links", is_flag=True, help="List the pairs of items that find a record with a probability above 1/k.")
@click.option("--negative", is_flag=True, help="Include items that the attacker knows to be absent.")
@click.option(
    "--most", type=click.IntRange(min=1), default=20, show_default=True, help="Maximum number of violations to print."
)
@ci_options
@form_option
def check_command(
    file: Path,
    kind: str | None,
    k: int | None,
    m: int | None,
    parts: bool,
    whole: bool,
    constraints: Path | None,
    zeros: str | None,
    links: bool,
    negative: bool,
    most: int,
    junit: Path | None,
    sarif: Path | None,
    form: str,
    as_said: bool,
    **reading: object,
) -> int:
    """Check the guarantee of a release or a data file.

    In a data file, every itemset of up to M items must be in no record or in at least K records. A generalised item, or
    a label of a generalised release, is one item. A disassociated release needs K sub-records in each chunk and in the
    possible records of a cluster. In an itemset table, no difference of supports may be below K. With
    --zeros allow it may be 0.

    --links lists the pairs of items that find a record too surely. --negative includes absent items. --constraints
    checks the guarantee of another method, for example:

    \b
    {k: 5, privacy: [[a, b], [c]], utility: [[a, d], [b, c]]}              COAT
    {method: diversity, l: 3, m: 2, sensitive: [a], hierarchy: ...}        diversity
    {method: sets, sets: [[a, b]]}                                         sets
    {guarantee: uncertainty, rho: 0.5, known: 2, sensitive: [a]}           rho-uncertainty
    {guarantee: coherence, h: 0.5, k: 5, p: 2, sensitive: [a]}             (h,k,p)-coherence

    An empty check is an error: the release must contain protected items.

    Exit codes: 0 the guarantee is met; 2 invalid input; 3 the guarantee is violated.
    """
    from decloak.library.checking import check_parts, fitting_guarantee, needs_look, read_any_release

    chosen = [name for name, given in (("whole", whole), ("links", links), ("negative", negative)) if given]
    if len(chosen) + (constraints is not None) > 1:
        raise DecloakError("--constraints, --whole, --links and --negative are checks of their own", hint="give one")
    if whole and m is not None:
        raise DecloakError("--whole is about whole transactions, whatever m", hint="leave --m out")
    check = chosen[0] if chosen else None
    if parts:
        alone, options = check is None and constraints is None and zeros is None, plain_options(reading)
        if kind is None and needs_look(file):
            _, kind, options = reading_of(file, None, options, "--input")
        parted, first = check_parts(file, kind or "parquet", options, k, m, most, alone=alone)
        rows = _print_verdict(parted, first, _listed(None), form)
        said = "no violation" if not rows else _counted(first)
        judged = [Expected(parted.statement, not rows, said, file.as_posix())]
        write_ci(file.name, [], judged, junit, sarif)
        return EXIT_EXPECTATION if rows else 0
    if kind is None and is_store(file):
        kind = "store"
    source, kind, options = reading_of(file, kind, plain_options(reading), "--input")
    checked = "the guarantee"
    try:
        release = read_any_release(source, kind, options, partial(say, err=True), as_said=as_said)
        guarantee = fitting_guarantee(release, source, check, constraints, zeros=zeros, k=k, m=m)
        checked = guarantee.statement
        for note in guarantee.notes(release):
            say(f"note: {note}", err=True)
        for warning in order_notes(release):
            say(warning, err=True)
        if isinstance(release, Generalised) and not options.repeats:
            # A guarantee about whole records is a guarantee about groups of equal records, which releases consist of.
            check_written_once(release.rows, location(source), ordered=whole or kind not in FORMATS)
        rows = _print_verdict(guarantee, guarantee.first(release, most), _listed(release), form)
        judged = list(_judged(guarantee, release, rows, most, file))
    except RepeatedRecords as error:
        verdict = f"the guarantee fails: {error}"
        say(verdict, err=True)
        judged = [Expected(checked, False, verdict, file.as_posix())]
    write_ci(file.name, [], judged, junit, sarif)
    return 0 if all(entry.holds for entry in judged) else EXIT_EXPECTATION


def _print_verdict(
    guarantee: "AnyGuarantee", first: "FirstViolations", listed: Callable[[object], object], form: str
) -> "list[Row]":
    """Print the `first` violations, with `listed` for each cell, and the verdict on stderr; return these violations."""
    if first.rows or form != "table":
        emit(guarantee.columns, [tuple(map(listed, row)) for row in first.rows], form)
        sys.stdout.flush()  # counting all of them takes longer than finding these
    say(_counted(first) if first.rows else f"the guarantee is met: {guarantee.statement}", err=True)
    return first.rows


def _judged(
    guarantee: "AnyGuarantee", release: "ReleaseOfFile", rows: "list[Row]", most: int, file: Path
) -> Iterator[Expected]:
    """Yield an expectation for each class of violations: no violation in `rows`, the first `most`, belongs to it."""
    listed = _listed(release)
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(guarantee.class_of(row), []).append(row)
    for name in dict.fromkeys((*guarantee.classes(release), *found)):
        holds: bool | None = True
        said = "no violation"
        if name in found:
            cells = zip(guarantee.columns, map(listed, found[name][0]), strict=True)
            example = ", ".join(f"{column}: {cell}" for column, cell in cells if cell is not None)
            count = len(found[name])
            holds, said = False, f"{count} violation{'s' * (count > 1)} listed, the first: {example}"
        elif len(rows) == most:
            holds, said = None, f"unknown: the first {most} violations are of other classes; add --most {10 * most}"
        yield Expected(f"{guarantee.statement}: {name}", holds, said, file.as_posix())


def _counted(first: "FirstViolations") -> str:
    """Return the number of violations, and the number of those that were listed."""
    count = first.total()
    if count is None:
        return f"{len(first.rows)} or more violations"
    rest = f", {len(first.rows):,} of them listed" if count > len(first.rows) else ""
    return f"{count:,} violation{'s' * (count != 1)}{rest}"


def _listed(release: "ReleaseOfFile | None") -> Callable[[object], object]:
    """How a cell is printed: items and labels with commas between, in quotes where they would be misread in a list."""
    from decloak.data.formats.published import format_element

    sets = release.members if isinstance(release, Generalised) else {}

    def name(label: str) -> str:
        return label if label in sets and label == format_element(sets[label]) else format_element(label)

    return lambda cell: ", ".join(map(name, cell)) if isinstance(cell, tuple) else cell
