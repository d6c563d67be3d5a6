"""Configurations, and the digest of everything that is keyed by one: SHA-256 of canonical JSON."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

Config = Mapping[str, Any]
"""Settings by key, of any depth, as YAML and JSON have them."""
JsonObject = dict[str, Any]
"""A JSON object, of any depth."""


def digest(value: object) -> str:
    """Return the SHA-256 of `value` as JSON, independent of the order of keys.

    >>> digest({"k": 3, "m": 2}) == digest({"m": 2, "k": 3})
    True
    """
    # NaN is not JSON: another program could not make the same digest.
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
