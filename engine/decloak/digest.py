"""One digest for everything that is keyed by its configuration: sha256 of canonical JSON."""

import hashlib
import json

__all__ = ["digest"]


def digest(value: object) -> str:
    """The sha256 of a JSON value, whatever the order of its keys.

    >>> digest({"k": 3, "m": 2}) == digest({"m": 2, "k": 3})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
