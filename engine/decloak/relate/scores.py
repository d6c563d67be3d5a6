"""Finished scores from a file, as a source of relatedness."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from decloak.data.formats.folder import Folder
from decloak.errors import DecloakError
from decloak.relate.relatedness import Distance, NgdSource, Supplies
from decloak.yaml.part import File, Found

if TYPE_CHECKING:
    from decloak.data.tables import Pair
    from decloak.relate.ngd import Scored

__all__ = ["ScoresSource"]


class ScoresSource(NgdSource):
    """Finished scores."""

    FILES: ClassVar = ("file",)

    source: Literal["scores"]
    """Scores somebody worked out."""
    file: File
    """The path of the file: CSV, a,b,ngd."""
    unseen: Distance = 1.0
    """What an infinite distance becomes: a distance, or no score."""
    closer: Literal["smaller", "larger"] = "smaller"
    """Whether smaller scores are of closer items, as distances are, or larger ones (disassociated data)."""

    def mistakes(self) -> Found:
        """What would not take effect."""
        if self.closer == "larger":
            for key in sorted({"unseen", "cap"} & self.model_fields_set):
                yield (key,), DecloakError(f"'{key}' is about distances", hint="delete it, or closer: larger")
        yield from super().mistakes()

    def check(self, folder: Folder) -> None:
        """Read the file."""
        from decloak.relate.sources import ScoresFile

        ScoresFile.read(folder / self.file)

    def scored(self, pairs: "Sequence[Pair]", supplies: Supplies) -> "Scored":
        """The scores of the file: distances bounded as those worked out here are, others as they are."""
        from decloak.relate.ngd import Scored, settled
        from decloak.relate.sources import ScoresFile

        scores = ScoresFile.read(supplies.folder / self.file).distances(pairs)
        if self.closer == "smaller":
            return settled(scores, unseen=self.unseen, cap=self.cap)
        finite = {pair: score if score is not None and math.isfinite(score) else None for pair, score in scores.items()}
        return Scored(finite, [])
