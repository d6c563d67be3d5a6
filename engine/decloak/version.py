"""The version of decloak."""

__version__ = "0.2.0"
