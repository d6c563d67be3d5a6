"""What a store has about runs, from Python: published files, comparisons and explanations."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from decloak.data.representation import Table
from decloak.errors import DecloakError, quote
from decloak.library.results import Run
from decloak.releases.form import Publishing
from decloak.releases.publishing import PublishedFiles, publish_release
from decloak.report.advice import advice
from decloak.report.compare.runs import RunComparison, compared_runs
from decloak.report.risk_card import exposure_cards
from decloak.report.study import Study
from decloak.rules.explain import explain as explain_item
from decloak.rules.explain import graph_of_finding, list_findings
from decloak.store import results
from decloak.store.opening import connect_readonly
from decloak.store.records import require_records

if TYPE_CHECKING:
    from decloak.store.graph import Graph

Stored = Run | str | Path
"""The results of a run, or the path of a store."""


def _store_of(run: Stored) -> str | Path:
    return run.store if isinstance(run, Run) else run


@contextmanager
def _found(run: Stored, variant: str | int | None) -> Iterator[tuple[sqlite3.Connection, int]]:
    """Open the store of `run`; yield it and the number of the run of `variant`, the last one of a whole store."""
    with closing(connect_readonly(_store_of(run))) as connection:
        if isinstance(run, Run):
            yield connection, run.number(variant)
        else:
            yield connection, results.find_run(connection, "last" if variant is None else str(variant))


def publish(
    run: Stored,
    file: str | Path,
    *,
    variant: str | int | None = None,
    original_ids: bool = False,
    text: bool = False,
    cut: str | Path | None = None,
) -> PublishedFiles:
    """Write the release of `run` to `file`, and its manifest, and return the files and warnings.

    - `variant`: the name of one of several.
    - `original_ids`: write the original id before each record. This re-identifies people.
    - `text`: write a disassociated release as tables for people.
    - `cut`: a file for the items of every label.

    Before the file appears, decloak reads it back and compares it with the original data. If the file leads to them,
    decloak writes nothing.
    """
    wish = Publishing(original_ids, text, None if cut is None else Path(cut))
    with _found(run, variant) as (connection, number):
        return publish_release(connection, results.release_of(connection, number), Path(file), wish)


def compare(run: Stored, *variants: str | int) -> Table:
    """Compare the figures of two or more variants, and return them with the changes from the first to the second.

    `run` are results, or a store. Without `variants`, all variants of the results are compared. A change has a 95%
    interval over the repetitions with equal seeds.
    """
    names = [str(name) for name in variants]
    if not names and isinstance(run, Run):
        names = list(dict.fromkeys(ran.name for ran in run.variants))
    if len(names) < 2:
        raise DecloakError("one run is nothing to compare", hint="name two or more variants")
    with closing(connect_readonly(_store_of(run))) as connection:
        numbers = [results.find_run(connection, name) for name in names]
        study = Study.of(connection, compared_runs(connection, list(zip(names, names, numbers, strict=True))))
        comparison, cards = RunComparison(study), exposure_cards(connection, study)
        measured = {family for number in numbers for family in results.measured_families(connection, number)}
        changes = comparison.changes(measured, cards)
    two = len(names) == 2
    rows = [
        (one.family, one.attack, one.figure, *one.values, *(tuple(one.change or (None,) * 4)[:4] if two else ()))
        for one in changes
    ]
    columns = ("family", "attack", "figure", *names, *(("change", "low", "high", "pairs") if two else ()))
    return Table(advice(cards) or f"{len(rows)} figures differ", columns, tuple(rows))


def explain(
    run: Stored,
    record: str | None = None,
    item: str | None = None,
    *,
    variant: str | int | None = None,
    attack: str | None = None,
    most: int = 10,
) -> Table:
    """Explain why attacks eliminated `item` from `record`, or list the first `most` findings of each attack.

    `run` are results, or a store. `variant` and `attack` select one of several.
    """
    if (record is None) != (item is None):
        raise DecloakError("a record and an item belong together", hint="give both, or neither")
    with _found(run, variant) as (connection, number):
        # Records in files have no rows in the store: the result would be empty.
        require_records(connection, results.release_of(connection, number))
        if record is None or item is None:
            rows = [tuple(found) for found in list_findings(connection, number, attack, most)]
            return Table(f"Findings of run {number}", ("attack", "finding", "because"), tuple(rows))
        explained = explain_item(connection, number, record, item, attack)
    columns = ("attack", "finding", "because", "distance", "weight")
    found = [(one.attack, one.finding, one.sentence, one.d, one.weight) for one in explained]
    return Table(f"{quote(item)} in record {quote(record)}, run {number}", columns, tuple(found))


def graph(
    run: Stored,
    *,
    cluster: int | None = None,
    finding: int | None = None,
    knows: Mapping[str, Collection[str]] | None = None,
    originals: bool = False,
    variant: str | int | None = None,
) -> "Graph":
    """Return the published data and the findings of a store as a networkx graph, or one part of them.

    `run` are results, or a store. `variant` selects one of several. The parts are:

    - `cluster`: a cluster of a disassociated release by its number, with edges from each record to the sub-records and
      terms that it may have.
    - `finding`: the evidence of a finding by its number.
    - `knows`: people by name, each with the items that an attacker knows, and edges to the records that fit.

    Without a part, the graph has everything that is published. With `originals` it also has the original data.
    """
    # networkx is slow to import, and nothing else here needs it.
    from decloak.store import graph as graphs

    parts = [part for part in (cluster, finding, knows) if part is not None]
    if len(parts) > 1 or (parts and originals):
        message = "a graph shows one part, or everything, with or without the originals"
        raise DecloakError(message, hint="give one of cluster, finding, knows and originals")
    if not parts and variant is None:
        with closing(connect_readonly(_store_of(run))) as connection:
            return graphs.make_writable(graphs.whole(connection, originals))
    with _found(run, variant) as (connection, number):
        if not parts:
            return graphs.make_writable(graphs.whole(connection, originals))
        release = results.release_of(connection, number)
        require_records(connection, release)
        if finding is not None:
            return graphs.make_writable(graph_of_finding(connection, number, finding))
        if cluster is not None:
            return graphs.make_writable(graphs.cluster(connection, release, cluster))
        return graphs.make_writable(graphs.candidates(connection, release, knows or {}))
