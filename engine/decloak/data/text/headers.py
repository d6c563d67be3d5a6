"""Removal of the lines that every document repeats, by patterns of the user.

A regular expression may take extremely long, and Python cannot interrupt it. So another process does the matching,
which can be ended. It gets every line that is short enough for a header once, and a time limit.
"""

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence

from decloak.errors import DecloakError, quote

__all__ = ["LONGEST_HEADER", "check_pattern", "without_headers"]

LONGEST_HEADER = 500
"""Largest number of characters of a header. A longer line is never removed."""

LONGEST_PATTERN = 1_000
SECONDS = 10.0
PER_SECOND = 50_000
"""Least number of lines that are matched per second, in addition to the fixed SECONDS."""

_MATCH = """
import json, re, sys
patterns, lines = json.load(sys.stdin)
found = set()
for number, pattern in enumerate(patterns):
    print(number, file=sys.stderr, flush=True)
    search = re.compile(pattern).search
    found.update(at for at, line in enumerate(lines) if search(line))
json.dump(sorted(found), sys.stdout)
"""
"""The program of the process. It prints the number of the pattern before it tries it, for the error."""


def without_headers(texts: Sequence[str], patterns: Sequence[str], *, seconds: float = SECONDS) -> list[str]:
    """Return `texts` without the lines that match one of the regular expressions `patterns`, within `seconds`.

    >>> without_headers(["DISCHARGE REPORT 7\\nno pain"], [r"^DISCHARGE REPORT \\d+$"])
    ['no pain']
    """
    if not patterns:
        return list(texts)
    for pattern in patterns:
        check_pattern(pattern)
    headers = _headers(texts, patterns, seconds)
    return ["\n".join(line for line in text.splitlines() if line not in headers) for text in texts]


def _headers(texts: Sequence[str], patterns: Sequence[str], seconds: float) -> set[str]:
    short = {line: None for text in texts for line in text.splitlines() if len(line) <= LONGEST_HEADER}
    lines = list(short)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-Wignore", "-c", _MATCH],
            input=json.dumps([list(patterns), lines]),
            capture_output=True,
            text=True,
            timeout=seconds + len(lines) * len(patterns) / PER_SECOND,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        slow = quote(patterns[int((error.stderr or b"0").split()[-1])])
        message = f"too slow for {len(lines):,} lines: {slow}"
        raise DecloakError(message, hint="leave out repeats inside repeats, such as (a+)+") from None
    except (OSError, subprocess.CalledProcessError):
        raise DecloakError("the process that matches header patterns failed", hint="leave the patterns out") from None
    return {lines[number] for number in json.loads(done.stdout)}


def check_pattern(pattern: str) -> None:
    """Raise an error if `pattern` is not a regular expression."""
    if len(pattern) > LONGEST_PATTERN:
        raise DecloakError(f"a pattern of {len(pattern):,} characters", hint=f"at most {LONGEST_PATTERN:,}")
    try:
        with warnings.catch_warnings(action="ignore"):  # of what a later Python may read otherwise
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        hint = "write . ( ) [ * + ? with a backslash where they stand for themselves"
        raise DecloakError(f"{quote(pattern)} is no regular expression: {quote(error)[1:-1]}", hint=hint) from None
