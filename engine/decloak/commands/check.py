"""`check`: verify what a release promises, or a guarantee of a data file."""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decloak.attacker.written_order import order_notes
from decloak.commands.ci import ci_options, write_ci
from decloak.commands.options import EXIT_EXPECTATION, form_option, listed_choices
from decloak.commands.reading import HEADED, plain_options, read_plain, reading_of, reading_options
from decloak.data.formats.lines import FilePath, location
from decloak.data.formats.plain_files import FORMATS
from decloak.data.formats.record import Options
from decloak.data.forms import FormName
from decloak.data.generalised import Generalised
from decloak.data.repeats import RepeatedRecords, check_written_once
from decloak.errors import DecloakError, at_location
from decloak.report.ci import Expected
from decloak.report.table import emit
from decloak.report.terminal import say
from decloak.store.opening import is_store

if TYPE_CHECKING:
    from decloak.counting.guarantees import FirstViolations, Guarantee
    from decloak.data.disassociated import Disassociated
    from decloak.data.generalised import Generalised

    AnyRelease = Disassociated | Generalised


__all__ = ["check_command"]


STORE_KIND = "store"
RELEASES = ("release", STORE_KIND, *HEADED)
"""The kinds of files that say themselves how they are written."""


def read_any_release(file: FilePath, kind: str, options: Options, *, as_said: bool) -> "AnyRelease":
    """Read the file as a release: a plain item is a label of its own, and so is a set in brackets."""
    if kind == STORE_KIND:
        return _read_store(file)
    if options.separator is not None and kind in (*RELEASES, "published"):
        raise DecloakError("a release has no separator to choose", hint="leave --separator out")
    if kind in RELEASES:
        return _read_release(file, options)
    return _read_published(file, options, as_said) if kind == "published" else _read_plain(file, kind, options, as_said)


def _read_release(file: FilePath, options: Options) -> "AnyRelease":
    from decloak.data.release_files import read_release

    if options.ids:
        raise DecloakError("a release file has no ids", hint="leave --ids out")
    try:
        return read_release(file)
    except DecloakError as error:
        if re.search(r":1(:\d+)?$", error.place or ""):  # no header: likelier another kind of file than a broken one
            raise DecloakError(error.message, error.place, f"{error.hint}, or say with --input what it is") from None
        raise


def _read_store(file: FilePath) -> "AnyRelease":
    from decloak.data.generalised import Generalised
    from decloak.data.published import Published
    from decloak.releases.public_store import read_store

    release = read_store(file)
    return Generalised.of(release, *release.guarantee_bounds) if isinstance(release, Published) else release


def _read_published(file: FilePath, options: Options, as_said: bool) -> "AnyRelease":
    from decloak.data.formats.look_check import check_enough_items, check_ids
    from decloak.data.generalised import Generalised
    from decloak.data.published import read_published

    release = read_published(file, ids=options.ids, repeats=options.repeats)
    if not as_said:
        check_ids(file, release.transactions, options.ids)
    check_enough_items(file, release.transactions, as_said=as_said)
    for warning in order_notes(release):  # the order of members is lost below
        say(warning, err=True)
    rows = tuple(tuple(map(_sorted, row)) for row in release.transactions)
    return Generalised.of(replace(release, transactions=rows))


def _read_plain(file: FilePath, kind: str, options: Options, as_said: bool) -> "AnyRelease":
    from decloak.data.formats.look_check import check_enough_items
    from decloak.data.generalised import Generalised

    data = read_plain(file, kind, options, as_said=as_said)
    check_enough_items(file, data.transactions, as_said=as_said)
    return Generalised(data.transactions, {item: (item,) for item in data.items}, data.labels)


def _sorted(element: str | tuple[str, ...]) -> str | tuple[str, ...]:
    return element if isinstance(element, str) else tuple(sorted(element))


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
@click.option("--whole", is_flag=True, help="Check complete records. Each record must equal k - 1 others.")
@click.option(
    "--constraints",
    type=click.Path(path_type=Path),
    help="Scenario, or its anonymise section: check the guarantee of its method.",
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
    """Check the guarantee of a release or a data file.

    In a data file, every itemset of up to M items must be in no record or in at least K records. A generalised item, or
    a label of a generalised release, is one item. A disassociated release needs K sub-records in each chunk and in the
    possible records of a cluster.

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
    chosen = {"whole": whole, "links": links, "negative": negative}
    _refuse_several(chosen, constraints, m)
    if kind is None and is_store(file):
        kind = STORE_KIND
    source, kind, options = reading_of(file, kind, plain_options(reading), "--input")
    checked = "the guarantee"
    try:
        release = read_any_release(source, kind, options, as_said=as_said)
        guarantee = _promise(release, source, kind, chosen, constraints, k=k, m=m)
        checked = guarantee.statement
        with at_location(location(source)):
            guarantee.check_fits(release)
        for note in guarantee.notes(release):
            say(f"note: {note}", err=True)
        for warning in order_notes(release):
            say(warning, err=True)
        if isinstance(release, Generalised) and not options.repeats:
            # Groups of equal records are what is promised of whole records, and what releases are made of.
            check_written_once(release.rows, location(source), ordered=whole or kind not in FORMATS)
        verdict, holds = _print_verdict(guarantee, release, most, form)
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


def _print_verdict(guarantee: "Guarantee[Any]", release: "AnyRelease", most: int, form: str) -> tuple[str, bool]:
    """Print the first violations, and the verdict on stderr; what it says, and whether the guarantee holds."""
    listed = _listed(release)
    first = guarantee.first(release, most)
    if first.rows or form != "table":
        emit(guarantee.columns, [tuple(map(listed, row)) for row in first.rows], form)
        sys.stdout.flush()  # counting all of them takes longer than finding these
    verdict = _counted(first) if first.rows else f"it holds: {guarantee.statement}"
    say(verdict, err=True)
    return verdict, not first.rows


def _counted(first: "FirstViolations") -> str:
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
) -> "Guarantee[Any]":
    """Return the guarantee to check: from constraints, the command line, the release, or the manifest."""
    from decloak.anonymisers.registry import guarantee_of
    from decloak.counting import guarantees
    from decloak.data.formats.manifest_file import manifest_path, read_manifest
    from decloak.measure.pair_links import PairLinks
    from decloak.scenario.guarantee_file import guarantee_in

    if constraints is not None:
        return guarantee_in(constraints, **bounds)
    stated = {name: getattr(release, name) if bound is None else bound for name, bound in bounds.items()}
    if not any(chosen.values()) and None in stated.values() and (manifest := read_manifest(file)) is not None:
        with at_location(location(manifest_path(file))):
            said = {name: bound for name, bound in bounds.items() if bound is not None}
            return guarantee_of(manifest.method, {**manifest.parameters, **said})
    _require_bounds(stated, release, kind, chosen["whole"])
    if chosen["whole"]:
        return guarantees.KAnonymity(stated["k"])
    disassociated = release.form == FormName.DISASSOCIATED
    if chosen["links"] or (disassociated and not chosen["negative"]):
        return (PairLinks if chosen["links"] else guarantees.Disassociation)(**stated)
    return (guarantees.NegativeKnowledge if chosen["negative"] else guarantees.KmAnonymity)(**stated)


def _require_bounds(stated: Mapping[str, int | None], release: "AnyRelease", kind: str, whole: bool) -> None:
    if stated["k"] is None or (stated["m"] is None and not whole):
        where, what = (release.origin, "the release") if kind in RELEASES else (None, "a data file")
        words = ("k", "--k") if whole else ("k and m", "--k and --m")
        raise DecloakError(f"{what} does not say its {words[0]}", where, f"give {words[1]}")


def _listed(release: "AnyRelease") -> Callable[[Any], Any]:
    """How a cell is printed: items and labels with commas between, in quotes where they would be misread in a list."""
    from decloak.data.formats.published import format_element

    sets = release.members if isinstance(release, Generalised) else {}

    def name(label: str) -> str:
        return label if label in sets and label == format_element(sets[label]) else format_element(label)

    return lambda cell: ", ".join(map(name, cell)) if isinstance(cell, tuple) else cell
