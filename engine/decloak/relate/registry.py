"""The registry of sources of relatedness: a new one is a class in a module here and an entry below, or a plugin."""

from typing import TYPE_CHECKING, Annotated, Union, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field

from decloak.plugins import with_plugins
from decloak.relate.clinic import ClinicSource
from decloak.relate.clusters import ClustersSource
from decloak.relate.combined import CombinedBase
from decloak.relate.model import ModelSource
from decloak.relate.ngd_sources import CorpusSource, CountsSource, ReleaseSource, SampleSource, ScoresSource
from decloak.relate.provider import ProviderSource
from decloak.relate.relatedness import NgdSource, Relatedness
from decloak.relate.word_vectors import EmbeddingSource
from decloak.relate.wordnet_similarity import WordnetSource

_INCLUDED: tuple[type[Relatedness], ...] = (
    CountsSource, CorpusSource, ClinicSource, SampleSource, ReleaseSource, ProviderSource, ScoresSource,
    EmbeddingSource, WordnetSource, ClustersSource, ModelSource,
)  # fmt: skip


def _names(source: type[Relatedness]) -> tuple[str, ...]:
    return get_args(source.model_fields["source" if issubclass(source, NgdSource) else "measure"].annotation)


SOURCES = with_plugins("sources", Relatedness, _INCLUDED, _names)
NGD = tuple(source for source in SOURCES if issubclass(source, NgdSource))
"""Sources of normalised Google distances, distinguished by `source`."""
SIMILARITIES = tuple(source for source in SOURCES if source not in NGD)
"""Sources that are a measure of their own."""


def _list_to_combined(value: object) -> object:
    frozen = _to_tuples(value)
    return {"measure": "combined", "of": frozen} if isinstance(frozen, tuple) else frozen


def _unwrap_single(part: object) -> object:
    """Return the only measure of a combination of one; return any other part unchanged."""
    return part.of[0] if isinstance(part, CombinedBase) and len(part.of) == 1 else part


def _to_tuples(value: object) -> object:
    """Return lists as tuples, which strict models require of everything except JSON."""
    if isinstance(value, dict):
        return {key: _to_tuples(entry) for key, entry in value.items()}
    return tuple(map(_to_tuples, value)) if isinstance(value, list | tuple) else value


# The unions are made at run time, because plugins add to them: no type checker can follow.
if TYPE_CHECKING:
    Relate = Relatedness
else:
    # All sources of NGD have the measure ngd, so `source` tells them apart inside of it.
    Single = Annotated[
        Union[(Annotated[Union[NGD], Discriminator("source")], *SIMILARITIES)],  # noqa: UP007
        Discriminator("measure"),
    ]

    class CombinedSource(CombinedBase):
        """Several measures, standardised and taken together."""

        of: Annotated[tuple[Single, ...], Field(min_length=1)]
        """The measures, each as it would be written alone."""

    Relate = Annotated[
        Union[(Annotated[Union[NGD], Discriminator("source")], *SIMILARITIES, CombinedSource)],  # noqa: UP007
        Discriminator("measure"),
        BeforeValidator(_list_to_combined, json_schema_input_type=Union[Single, CombinedSource, list[Single]]),  # noqa: UP007
        AfterValidator(_unwrap_single),
    ]
"""What a scenario says under relate: any of them, or a list of several."""
