"""The shape of a measured figure."""

__all__ = ["POOLED", "Figure"]

POOLED = -1
"""The scope of a figure that pools all tables."""

Figure = tuple[int, str, float | None, float | None, float | None]
"""Scope, name, value, and the counts above and below the line of a ratio."""
