"""`check`: verify a guarantee of a data file or of a release."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from decloak.commands.options import EXIT_EXPECTATION, form_option, listed_choices
from decloak.commands.reading import HEADED, found_reading, plain_options, read_plain, reading_options
from decloak.data.formats.lines import FilePath, place
from decloak.data.formats.readers import FORMATS
from decloak.data.formats.record import Options
from decloak.errors import DecloakError
from decloak.report.table import emit

if TYPE_CHECKING:
    from decloak.data.disassociated import Disassociated

__all__ = ["check_command"]

KINDS = ("release (a release file)", "published", *FORMATS)
ITEMSETS = ("itemset", "support")


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
@click.option(
    "--links", is_flag=True, help="List the pairs of items that link to a record more surely than 1/k instead."
)
@click.option(
    "--negative", is_flag=True, help="Count what somebody knows not to be in a transaction as well; not disassociated."
)
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, help="Violations to print.")
@form_option
def check_command(
    file: Path,
    kind: str | None,
    k: int | None,
    m: int | None,
    links: bool,
    negative: bool,
    most: int,
    form: str,
    as_said: bool,
    **reading: Any,
) -> int:
    """Check that a release keeps its guarantee, or that a data file is k^m-anonymous.

    A disassociated release is checked chunk by chunk and by what its clusters may have been, small ones by going
    through all of it. With --links the pairs of items are listed by which somebody who knows them finds a record too
    surely.
    In a data file every itemset of up to M items must occur in no transaction or in at least K; a generalised item of
    a published file, or a label of a generalised release, counts as one item. With --negative everything that some
    transactions have in common, for somebody who knows of up to M items whether they are there, must be true of K.
    Exit code 3: something violates it.
    """
    options = plain_options(reading)
    source: FilePath = file
    if kind is None:
        source, (kind, options) = found_reading(file, options, "--input")
    if options.separator is not None and kind in ("release", "published"):
        raise DecloakError("a release has no separator to choose", hint="leave --separator out")
    of_release = kind in ("release", *HEADED)
    release = _read(source, options.ids, k, m) if of_release else _plain(source, kind, options, k, m, as_said)
    if isinstance(release, _Plain):
        if links:
            raise DecloakError("links are of disassociated releases", hint="leave --links out")
        columns, rows = _negative(release, most) if negative else (ITEMSETS, _rare(release))
    elif negative:
        raise DecloakError("a disassociated release tells nobody what a record lacks", hint="leave --negative out")
    else:
        columns, rows = _links(release) if links else _broken(release)
    if rows or form != "table":
        emit(columns, rows[:most], form)
    rest = f", {len(rows) - most} more not shown" if len(rows) > most else ""
    cut_off = " or more" if negative and len(rows) == most else ""
    noun = "violation" if len(rows) == 1 and not cut_off else "violations"
    holds = f"it holds: k = {release.k}" + ("" if links else f", m = {release.m}")
    click.echo(f"{len(rows)}{cut_off} {noun}{rest}" if rows else holds, err=True)
    return EXIT_EXPECTATION if rows else 0


class _Plain(NamedTuple):
    """Records of items or labels, all that records could hold, and what is asked of them."""

    records: Sequence[Sequence[str]]
    domain: Sequence[str]
    k: int
    m: int
    named: bool = True
    """Whether they go by their names, which are put in quotes where they would be misread in a list."""

    def listed(self, itemset: Iterable[str]) -> str:
        """Items or labels as one line."""
        from decloak.data.formats.published import written

        return ", ".join(map(written, itemset) if self.named else itemset)


def _read(file: FilePath, ids: bool, k: int | None, m: int | None) -> "Disassociated | _Plain":
    """A release file; k and m given on the command line replace its own."""
    from decloak.checks import check_km
    from decloak.data.formats.look_fit import check_enough_items
    from decloak.data.generalised import Generalised
    from decloak.data.release_files import read_release

    if ids:
        raise DecloakError("a release file has no ids", hint="leave --ids out")
    try:
        release = read_release(file)
    except DecloakError as error:
        if re.search(r":1(:\d+)?$", error.place or ""):  # no header: likelier another kind of file than a broken one
            raise DecloakError(error.message, error.place, f"{error.hint}, or say with --input what it is") from None
        raise
    k, m = release.k if k is None else k, release.m if m is None else m
    if k is None or m is None:
        raise DecloakError("the release does not say its k and m", place(file), "give --k and --m")
    check_km(k, m)
    if isinstance(release, Generalised):
        check_enough_items(file, release.transactions, as_said=True)
        return _Plain(release.transactions, release.cut, k, m)
    return replace(release, k=k, m=m)


def _plain(file: FilePath, kind: str, options: Options, k: int | None, m: int | None, as_said: bool) -> _Plain:
    """A data file, or published transactions whose generalised items are one item each."""
    from decloak.data.formats.look_fit import check_enough_items, check_ids
    from decloak.data.formats.published import written
    from decloak.data.published import read_published

    if k is None or m is None:
        raise DecloakError("a data file does not say its k and m", hint="give --k and --m")
    if kind != "published":
        data = read_plain(file, kind, options, as_said=as_said)
        check_enough_items(file, data.transactions, as_said=as_said)
        return _Plain(data.transactions, data.items, k, m)
    release = read_published(file, ids=options.ids)
    if not as_said:
        check_ids(file, release.transactions, options.ids)
    check_enough_items(file, release.transactions, as_said=as_said)
    rows = [tuple(written(_sorted(element)) for element in row) for row in release.transactions]
    return _Plain(rows, (), k, m, False)


def _broken(release: "Disassociated") -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    from decloak.counting.disassociation_guarantee import check_release
    from decloak.measure.kernels.inverse import enumerated

    rows = [
        (fault.kind, fault.cluster, fault.chunk, ", ".join(fault.itemset), fault.support, fault.message)
        for fault in (*check_release(release), *enumerated(release))
    ]
    return ("kind", "cluster", "chunk", "itemset", "support", "what is wrong"), rows


def _links(release: "Disassociated") -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    from decloak.measure.kernels.link_probability import above

    rows = [
        (number, ", ".join(link.itemset), link.release, link.algorithm, link.error) for number, link in above(release)
    ]
    rows.sort(key=lambda row: (-max(row[2] or 0, row[3] or 0), row[0], row[1]))
    return ("cluster", "itemset", "by the release", "knowing the algorithm", "standard error"), rows


def _rare(plain: _Plain) -> list[tuple[Any, ...]]:
    from decloak.counting.guarantees import violations

    rare = violations(plain.records, k=plain.k, m=plain.m)
    return [(plain.listed(sorted(itemset)), support) for itemset, support in rare]


def _negative(plain: _Plain, most: int) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    """The first of what may be very many."""
    from decloak.counting.generalisation_guarantee import negative_violations

    broken = islice(negative_violations(plain.records, plain.domain, plain.k, plain.m), most)
    rows = [(plain.listed(fault.present), plain.listed(fault.absent), fault.support) for fault in broken]
    return ("has", "has not", "support"), rows


def _sorted(element: str | tuple[str, ...]) -> str | tuple[str, ...]:
    return element if isinstance(element, str) else tuple(sorted(element))
