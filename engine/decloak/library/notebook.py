"""Progress in a notebook: one line that is replaced."""

import sys
from typing import TYPE_CHECKING, Any

from decloak.pipeline.progress import Progress, RunVariant
from decloak.report.progress import Screen

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["notebook_progress"]


class _Cell:
    """The output of a cell, which takes the place of a terminal."""

    def __init__(self, display: Any) -> None:
        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def update(self, renderable: "Text", *, refresh: bool) -> None:
        """Show `renderable` in place of the last text."""
        self._handle.update({"text/plain": renderable.plain}, raw=True)


class _NotebookScreen(Screen):
    """The lines of a terminal, of which the last ones stay in the notebook."""

    def done(self, variant: str, number: int, of: int, ran: RunVariant) -> None:
        self._drawn = 0.0
        super().done(variant, number, of, ran)


def notebook_progress() -> Progress:
    """Return a progress for the running notebook, or one that shows nothing elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return Progress()
    from IPython.display import display

    return _NotebookScreen(_Cell(display))
