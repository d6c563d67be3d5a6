"""Every source of relatedness; another one is a class like theirs, and a line here."""

from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field

from decloak.relate.clinic import ClinicSource
from decloak.relate.clusters import ClustersSource
from decloak.relate.combined import CombinedBase
from decloak.relate.model_source import ModelSource
from decloak.relate.ngd_sources import CorpusSource, CountsSource, ReleaseSource, SampleSource, ScoresSource
from decloak.relate.provider import ProviderSource
from decloak.relate.relatedness import Relatedness
from decloak.relate.similarity_sources import EmbeddingSource, WordnetSource

__all__ = ["NGD", "SIMILARITIES", "Relate"]

NGD = (CountsSource, CorpusSource, ClinicSource, SampleSource, ReleaseSource, ProviderSource, ScoresSource)
"""The sources of normalised Google distances, told apart by `source`."""
SIMILARITIES = (EmbeddingSource, WordnetSource, ClustersSource, ModelSource)
"""The sources that are a measure of their own."""


def _listed(value: Any) -> Any:
    frozen = _frozen(value)
    return {"measure": "combined", "of": frozen} if isinstance(frozen, tuple) else frozen


def _alone(part: Any) -> Any:
    """The only measure of a combination of one, any other part as it is."""
    return part.of[0] if isinstance(part, CombinedBase) and len(part.of) == 1 else part


def _frozen(value: Any) -> Any:
    """Lists as tuples, which strict models ask for of anything but JSON."""
    if isinstance(value, dict):
        return {key: _frozen(entry) for key, entry in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


if TYPE_CHECKING:
    Relate = Relatedness
else:
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
        BeforeValidator(_listed, json_schema_input_type=Union[Single, CombinedSource, list[Single]]),  # noqa: UP007
        AfterValidator(_alone),
    ]
"""What a scenario says under relate: any of them, or a list of several."""
