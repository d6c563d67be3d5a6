"""Every source of relatedness; another one is a class like theirs, and a line here."""

from typing import TYPE_CHECKING, Annotated, Union

from pydantic import Discriminator

from decloak.relate.clinic import ClinicSource
from decloak.relate.clusters import ClustersSource
from decloak.relate.ngd_sources import CorpusSource, CountsSource, ReleaseSource, ScoresSource
from decloak.relate.provider import ProviderSource
from decloak.relate.relatedness import Relatedness
from decloak.relate.similarity_sources import EmbeddingSource, WordnetSource

__all__ = ["NGD", "SIMILARITIES", "Relate"]

NGD = (CountsSource, CorpusSource, ClinicSource, ReleaseSource, ProviderSource, ScoresSource)
"""The sources of normalised Google distances, told apart by `source`."""
SIMILARITIES = (EmbeddingSource, WordnetSource, ClustersSource)
"""The sources that are a measure of their own."""

if TYPE_CHECKING:
    Relate = Relatedness
else:
    Relate = Annotated[
        Union[(Annotated[Union[NGD], Discriminator("source")], *SIMILARITIES)],  # noqa: UP007
        Discriminator("measure"),
    ]
"""What a scenario says under relate: any of them."""
