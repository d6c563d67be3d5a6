"""The digest of everything that is keyed by its configuration: SHA-256 of canonical JSON."""

import hashlib
import json

__all__ = ["digest"]


def digest(value: object) -> str:
    """Return the SHA-256 of `value` as JSON, independent of the order of keys.

    >>> digest({"k": 3, "m": 2}) == digest({"m": 2, "k": 3})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
