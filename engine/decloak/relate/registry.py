"""Every source of relatedness; another one is a module like theirs, and a line here."""

from typing import TYPE_CHECKING, Annotated, Union

from pydantic import Discriminator

from decloak.relate.clinic import ClinicSource
from decloak.relate.corpus import CorpusSource
from decloak.relate.counts import CountsSource
from decloak.relate.embedding import EmbeddingSource
from decloak.relate.provider import ProviderSource
from decloak.relate.relatedness import Relatedness
from decloak.relate.release import ReleaseSource
from decloak.relate.scores import ScoresSource
from decloak.relate.wordnet import WordnetSource

__all__ = ["NGD", "SIMILARITIES", "Relate"]

NGD = (CountsSource, CorpusSource, ClinicSource, ReleaseSource, ProviderSource, ScoresSource)
"""The sources of normalised Google distances, told apart by `source`."""
SIMILARITIES = (EmbeddingSource, WordnetSource)
"""The sources that are a measure of their own."""

if TYPE_CHECKING:
    Relate = Relatedness
else:
    Relate = Annotated[
        Union[(Annotated[Union[NGD], Discriminator("source")], *SIMILARITIES)],  # noqa: UP007
        Discriminator("measure"),
    ]
"""What a scenario says under relate: any of them."""
