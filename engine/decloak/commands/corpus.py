"""`corpus`: build an index of documents, and count terms in it."""

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import form_option
from decloak.data.formats.lines import location
from decloak.errors import DecloakError, quote
from decloak.report.table import emit, emit_json
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.relate.corpus_index import BuildProgress, Corpus

index_argument = click.argument("index", type=click.Path(path_type=Path))


@click.group("corpus", no_args_is_help=False)
def corpus_command() -> None:
    """Build a text index and count terms in it."""


def _exclusions(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, str]]:
    for value in values:
        if "=" not in value:
            raise DecloakError(f"{quote(value)} is not FIELD=VALUE", "--without", "such as source=mtsamples")
    return [(name, excluded) for name, _, excluded in (value.partition("=") for value in values)]


@corpus_command.command("build")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|FOLDER...")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="File of the new index.")
@click.option("--field", help="Column (CSV, TSV) or key (JSON Lines) of the text.")
@click.option("--lines", is_flag=True, help="Read each line as a document.")
@click.option(
    "--stem/--no-stem", default=True, show_default=True, help="Count a word with all its endings (Porter stemmer)."
)
@click.option(
    "--without",
    multiple=True,
    metavar="FIELD=VALUE",
    callback=_exclusions,
    help="Exclude documents whose field has this value. Repeatable.",
)
def build_command(
    sources: tuple[Path, ...], out: Path, field: str | None, lines: bool, stem: bool, without: list[tuple[str, str]]
) -> None:
    """Index documents, to count terms in them.

    A text file is one document. A folder contains one document per file. With --lines, every line is one document. In
    .csv, .tsv and .jsonl files, every record is one document with its text in --field. If a table has no header, a
    field is the number of its column, from 1. decloak unpacks .gz and .xz files. Text is UTF-8.

    Exclude the documents that contain the attacked data, for example --without source=mtsamples.
    """
    from decloak.data.text.documents import Documents, TextOptions
    from decloak.relate.corpus_index import build

    inputs = [Documents(path, TextOptions(field, lines, tuple(without))) for path in sources]
    with _progress() as progress:
        facts = build(inputs, out, stem=stem, progress=progress)
    left_out = f" ({sum(part.left_out for part in facts.parts)} left out)" if without else ""
    say(f"{facts.n} documents{left_out} in {location(out)}, {out.stat().st_size / 1e6:.1f} MB")
    for condition in without:
        if not any(documents.left_out[condition] for documents in inputs):
            say(f"note: {quote('='.join(condition))} left nothing out", err=True)


@corpus_command.command("info")
@index_argument
@form_option
def info_command(index: Path, form: str) -> None:
    """Show the contents and the sources of an index."""
    from decloak.relate.corpus_index import Corpus

    with Corpus.open(index) as corpus:
        facts, name = corpus.facts, corpus.origin
    about = {"documents": facts.n, "stemming": "porter" if facts.stem else "none", "origin": name,
             "made": facts.made, "decloak": facts.decloak}  # fmt: skip
    if form == "json":
        emit_json(about | {"sources": [part._asdict() for part in facts.parts]})
        return
    emit(("what", "value"), [(key, str(value)) for key, value in about.items()], form)
    say("")
    emit(("source", "read as", "documents", "left out", "sha256"), facts.parts, form)


@corpus_command.command("count")
@index_argument
@click.argument("terms", nargs=-1, required=True, metavar="TERM...")
@form_option
def count_command(index: Path, terms: tuple[str, ...], form: str) -> None:
    """Count the documents that contain each term and each pair of terms.

    decloak prints the Google distance of each pair. If a term never occurs as a phrase, decloak counts the documents
    that contain all of its words.
    """
    from decloak.relate.corpus_index import Corpus

    with Corpus.open(index) as corpus:
        # A term that is named twice would be paired with itself.
        emit(("a", "b", "found by", "count", "NGD"), _counted(corpus, list(dict.fromkeys(terms))), form)


def _counted(corpus: "Corpus", terms: Sequence[str]) -> list[tuple[object, ...]]:
    """Return a row for every term and for every pair, as a run would count them."""
    from decloak.data.document_counter import Query
    from decloak.relate.counting import CachedCounts
    from decloak.relate.ngd import ngd

    source, pairs = CachedCounts(corpus), list(combinations(terms, 2))
    f, joint = source.counts(terms), source.joint(pairs)
    phrases = {
        query.text for batch in corpus.single([Query(term) for term in terms]) for query in batch if batch[query]
    }
    form = {term: "none" if not f[term] else "phrase" if term in phrases else "words" for term in terms}
    # The formula works on arrays, in which an absent count is not a number.
    x, y, xy = (
        [math.nan if count is None else count for count in column]
        for column in ([f[a] for a, _ in pairs], [f[b] for _, b in pairs], [joint[pair] for pair in pairs])
    )
    distances = [None if math.isnan(distance) else distance for distance in ngd(x, y, xy, corpus.n).tolist()]
    return [(term, None, form[term], f[term], None) for term in terms] + [
        (a, b, ", ".join(dict.fromkeys((form[a], form[b]))), joint[a, b], distance)
        for (a, b), distance in zip(pairs, distances, strict=True)
    ]


@contextmanager
def _progress() -> Iterator["BuildProgress"]:
    """Show the number of documents on a terminal."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda count: status.update(f"{count:,} documents")
