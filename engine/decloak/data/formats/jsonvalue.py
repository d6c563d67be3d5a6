"""One JSON value from one line, or from a text of several, with every fault placed as well as can be; and as text."""

import json
import re
from collections.abc import Callable
from typing import Any

from decloak.data.formats.lines import Line, place
from decloak.errors import MARKS, DecloakError, shown

__all__ = ["json_text", "json_value"]


def json_text(value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    """A value as JSON that reads back as the same, and that no terminal is steered by.

    `default` makes what JSON has not got a value that it has.

    >>> print(json_text(["caf\u00e9", chr(0x9b) + "31m"]))
    ["caf\u00e9", "\\u009b31m"]
    """
    return MARKS.sub(_escape, json.dumps(value, ensure_ascii=False, indent=indent, default=default))


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def json_value(line: Line, shape: str) -> Any:
    """The value a line holds; `shape` says what was expected. A key written twice is an error.

    The text may go over several lines: only a fault of syntax then has a line, any other the file.
    """
    if not line.text.strip():
        raise line.wrong("an empty line", "remove it")
    try:
        return json.loads(line.text, object_pairs_hook=_without_twins)
    except json.JSONDecodeError as error:
        fault = line._replace(number=line.number + error.lineno - 1)
        raise fault.wrong(f"not JSON: {error.msg}", shape, error.colno) from None
    except DecloakError as error:
        raise _wrong(line, error.message, error.hint) from None
    except (ValueError, RecursionError):
        raise _wrong(line, "not JSON: nested too deeply, or a number too large", shape) from None


def _wrong(line: Line, message: str, hint: str | None) -> DecloakError:
    return DecloakError(message, place(line.path, None if "\n" in line.text else line.number), hint)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise DecloakError(f"the key {shown(key)} is there twice", hint="write each key once")
        values[key] = value
    return values
