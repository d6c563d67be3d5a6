"""The version of decloak."""

__all__ = ["__version__"]

__version__ = "0.2.0"
