"""One JSON value from one line, with every fault placed."""

import json
from typing import Any

from decloak.data.lines import Line
from decloak.errors import DecloakError, shown

__all__ = ["json_value"]


def json_value(line: Line, shape: str) -> Any:
    """The value a line holds; `shape` says what was expected. A key written twice is an error."""
    if not line.text.strip():
        raise line.wrong("an empty line", "remove it")
    try:
        return json.loads(line.text, object_pairs_hook=_without_twins)
    except json.JSONDecodeError as error:
        raise line.wrong(f"not JSON: {error.msg}", shape, error.colno) from None
    except DecloakError as error:
        raise line.wrong(error.message, error.hint) from None
    except (ValueError, RecursionError):
        raise line.wrong("not JSON: nested too deeply, or a number too large", shape) from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DecloakError(f"the key {shown(key)} is there twice", hint="write each key once")
        found[key] = value
    return found
