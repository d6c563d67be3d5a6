"""The version of decloak, which every stage's digest includes: another version may compute otherwise."""

__all__ = ["__version__"]

__version__ = "0.1.0"
