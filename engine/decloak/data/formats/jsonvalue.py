"""JSON values from one line or from a text of several, with the best location for each error; and values as JSON
text.
"""

import json
import re
from collections.abc import Callable

from decloak.data.formats.lines import Line, location
from decloak.errors import MARKS, DecloakError, quote

__all__ = ["json_text", "json_value"]


def json_text(value: object, *, indent: int | None = None, default: Callable[[object], object] | None = None) -> str:
    """Return `value` as JSON that reads back as the same, without characters that control a terminal.

    `indent` puts it on several lines. `default` converts values that JSON does not have.

    >>> print(json_text(["caf\u00e9", chr(0x9b) + "31m"]))
    ["caf\u00e9", "\\u009b31m"]
    """
    return MARKS.sub(_escape, json.dumps(value, ensure_ascii=False, indent=indent, default=default))


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def json_value(line: Line, shape: str) -> object:
    """Return the JSON value in `line`; `shape` describes the expected one. A repeated key is an error.

    The text may extend over several lines. Then only a syntax error has a line; other errors have the file.
    """
    if not line.text.strip():
        raise line.error("an empty line", "remove it")
    try:
        return json.loads(line.text, object_pairs_hook=_without_twins)
    except json.JSONDecodeError as error:
        fault = line._replace(number=line.number + error.lineno - 1)
        raise fault.error(f"not JSON: {error.msg}", shape, error.colno) from None
    except DecloakError as error:
        raise _error_at(line, error.message, error.hint) from None
    # Python refuses integers of thousands of digits with a ValueError.
    except (ValueError, RecursionError):
        raise _error_at(line, "not JSON: nested too deeply, or a number too large", shape) from None


def _error_at(line: Line, message: str, hint: str | None) -> DecloakError:
    return DecloakError(message, location(line.path, None if "\n" in line.text else line.number), hint)


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise DecloakError(f"the key {quote(key)} is there twice", hint="write each key once")
        values[key] = value
    return values
