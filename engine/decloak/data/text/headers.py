"""Remove what every document repeats: the lines that match a pattern of the user's.

A regular expression can take longer than anybody waits, and Python cannot be told to give up. So the matching is done
by another process, which can be ended: it gets the lines that are short enough for a header, each once, and so
many seconds.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence

from decloak.errors import DecloakError, shown

__all__ = ["LONGEST_HEADER", "without_headers"]

LONGEST_HEADER = 500
"""Characters of a line that may be a header; a longer one is never removed."""

LONGEST_PATTERN = 1_000
SECONDS = 10.0
PER_SECOND = 50_000
"""Lines that are matched in a second at the least, on top of the SECONDS that are always given."""

_MATCH = """
import json, re, sys
patterns, lines = json.load(sys.stdin)
patterns = [re.compile(pattern) for pattern in patterns]
json.dump([any(pattern.search(line) for pattern in patterns) for line in lines], sys.stdout)
"""


def without_headers(texts: Sequence[str], patterns: Sequence[str], *, seconds: float = SECONDS) -> list[str]:
    """The texts without the lines in which one of the regular expressions is found.

    >>> without_headers(["DISCHARGE REPORT 7\\nno pain"], [r"^DISCHARGE REPORT \\d+$"])
    ['no pain']
    """
    if not patterns:
        return list(texts)
    for pattern in patterns:
        _check(pattern)
    headers = _headers(texts, patterns, seconds)
    return ["\n".join(line for line in text.splitlines() if line not in headers) for text in texts]


def _headers(texts: Sequence[str], patterns: Sequence[str], seconds: float) -> set[str]:
    short = {line: None for text in texts for line in text.splitlines() if len(line) <= LONGEST_HEADER}
    lines = list(short)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _MATCH],
            input=json.dumps([list(patterns), lines]),
            capture_output=True,
            text=True,
            timeout=seconds + len(lines) * len(patterns) / PER_SECOND,
            check=True,
        )
    except subprocess.TimeoutExpired:
        listed = ", ".join(map(shown, patterns))
        message = f"too slow for {len(lines):,} lines: {listed}"
        raise DecloakError(message, hint="leave out repeats inside repeats, such as (a+)+") from None
    except (OSError, subprocess.CalledProcessError):
        raise DecloakError("the process that matches header patterns failed", hint="leave the patterns out") from None
    return {line for line, found in zip(lines, json.loads(done.stdout), strict=True) if found}


def _check(pattern: str) -> None:
    if len(pattern) > LONGEST_PATTERN:
        raise DecloakError(f"a pattern of {len(pattern):,} characters", hint=f"at most {LONGEST_PATTERN:,}")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        hint = "write . ( ) [ * + ? with a backslash where they stand for themselves"
        raise DecloakError(f"{shown(pattern)} is no regular expression: {shown(error)[1:-1]}", hint=hint) from None
