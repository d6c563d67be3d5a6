"""Estimates of how many people have all of some items, as far as a release shows: one module for each kind of form."""

__all__: list[str] = []
