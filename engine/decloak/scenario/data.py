"""The data of a scenario, of any kind."""

from difflib import get_close_matches
from typing import Annotated

from pydantic import Discriminator, Tag

from decloak.scenario.originals import Generated, Notes, Original, Searchlog
from decloak.scenario.published import DistancesData, EvaluatedData, PairData, PublishedData, ReleaseData

__all__ = ["Data"]


def _shape(data: object) -> str | None:
    """Return the kind of the data by their keys, including misspelt ones."""
    keys = data if isinstance(data, dict) else getattr(data, "model_fields_set", ())
    kinds = ("file", "format", "published", "distances", "release", "generate", "text", "searchlog")
    options = PairData.model_fields.keys() - set(kinds)  # repeats is no misspelt release
    words = {word for key in keys if key not in options for word in get_close_matches(str(key), kinds, 1)}
    if "release" in words and {"original", "rows"} & set(keys):
        return "evaluated"
    for alone in ("distances", "release", "generate", "text", "searchlog"):
        if alone in words:
            return alone
    if "published" in words:
        return "pair" if words & {"file", "format"} else "published"
    return "original" if words else None


Data = Annotated[
    Annotated[Original, Tag("original")]
    | Annotated[PairData, Tag("pair")]
    | Annotated[PublishedData, Tag("published")]
    | Annotated[DistancesData, Tag("distances")]
    | Annotated[ReleaseData, Tag("release")]
    | Annotated[EvaluatedData, Tag("evaluated")]
    | Annotated[Generated, Tag("generate")]
    | Annotated[Notes, Tag("text")]
    | Annotated[Searchlog, Tag("searchlog")],
    Discriminator(_shape),
]
