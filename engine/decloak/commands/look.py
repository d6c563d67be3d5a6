"""`look`: what a file seems to be."""

import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import HEADED, flags
from decloak.data.formats.lines import json_text
from decloak.errors import DecloakError, quote
from decloak.report.terminal import say, say_data

if TYPE_CHECKING:
    from decloak.data.formats.look import Look

LONGEST = 8
"""Items of a record that are shown."""
WORDS = ("text", "searchlog")
ORDERED = ("published", "disassociated")
"""The formats of releases in which an order may depend on the records."""


@click.command("look")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def look_command(file: Path, as_json: bool) -> None:
    """Show how decloak reads a data file: format, separators, header, ids, and its certainty.

    decloak detects the format from the beginning of the file. It prints the first records, counts and warnings. The
    last lines are the commands to run next. decloak writes nothing.
    """
    from decloak.data.formats.look import look

    seen = look(file)
    # A file of an uncertain format cannot be read as a whole.
    if seen.is_certain and seen.format in ORDERED:
        seen = replace(seen, warnings=(*seen.warnings, *_of_orders(file, seen)))
    if as_json:
        say_data(json_text(seen.value))
        return
    rows = list(_rows(seen))
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        say(f"{name:<{width}}  {text}")


def _of_orders(file: Path, seen: "Look") -> Iterator[str]:
    """Warn of orders inside a release that may depend on the records."""
    from decloak.attacker.written_order import order_notes
    from decloak.data.published import read_published
    from decloak.releases.file_formats import read_release

    # A file that cannot be read has its error from `look`.
    with suppress(DecloakError):
        whole = (
            read_release(file) if seen.format in HEADED else read_published(file, ids="ids" in seen.reading.settings)
        )
        for warning in order_notes(whole):
            yield warning.removeprefix("WARNING: ")


def _rows(seen: "Look") -> Iterator[tuple[str, str]]:
    yield "seems", str(seen.reading)
    if seen.encoding:
        yield "text", f"{seen.encoding}, {seen.line_ends}{', quotes' if seen.quoting else ''}"
    if seen.packing:
        yield "packed", seen.packing[1:]
    for label, items in seen.first:
        more = f", … {len(items):,} items" if len(items) > LONGEST else ""
        yield "record", f"{quote(label)}: {', '.join(map(quote, items[:LONGEST])) or 'nothing'}{more}"
    if seen.counts is not None:
        count = seen.counts
        part = "" if count.whole else "; of the beginning of the file alone"
        nouns = zip(("record", "item", "occurrence"), (count.records, count.items, count.occurrences), strict=True)
        counted = ", ".join(f"{number:,} {noun}{'s' * (number != 1)}" for noun, number in nouns)
        yield "holds", f"{counted}; {count.mean:.2f} in a record, {count.longest:,} in the longest{part}"
    yield from (("WARNING", text) for text in seen.warnings)
    if seen.left_out:
        names = ", ".join(map(quote, seen.left_out))
        yield "left out", f"columns {names}: they can identify people, so publish them with no release"
        yield "add", f"columns: [{', '.join(map(json_text, seen.left_out))}]  # their values as items: sex=f"
    yield from (("odd", text) for text in seen.odd)
    yield from (("add", f"clean: {{{setting}}}  # {reason}") for setting, reason in seen.proposals)
    yield from (("unsure", text) for text in seen.unsure)
    yield from (("perhaps", str(reading)) for reading in seen.alternatives)
    yield from _next(seen)


def _next(seen: "Look") -> Iterator[tuple[str, str]]:
    # The name goes into commands that people copy to a shell.
    file = shlex.quote(quote(seen.path, 4096)[1:-1])
    if seen.problem is not None:
        yield "fix", seen.problem
        return
    if seen.format in HEADED:
        yield "next", f"decloak check {file}"
    for reading in (seen.reading, *seen.alternatives):
        if reading.format not in (*WORDS, *HEADED):
            yield "next", f"decloak check {file} {flags(reading)} --k 3 --m 2"
    if seen.is_certain:
        yield "next", f"decloak init my.yaml --from {file}"
