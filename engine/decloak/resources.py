"""Where the rule files and scenarios that come with decloak are."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

__all__ = ["bundled"]


def bundled(kind: str) -> Traversable:
    """The folder `rules` or `scenarios`, in an installed wheel as in a checkout."""
    packaged = files("decloak") / f"_{kind}"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / kind
