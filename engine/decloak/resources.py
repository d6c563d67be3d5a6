"""The folders of bundled rule files and scenarios."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

__all__ = ["bundled"]


def bundled(kind: str) -> Traversable:
    """Return the folder `kind`, `rules` or `scenarios`, of an installed wheel or of a checkout."""
    packaged = files("decloak") / f"_{kind}"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / kind
