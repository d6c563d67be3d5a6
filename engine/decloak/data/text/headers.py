"""Remove what every document repeats: the lines that match a pattern of the user's.

A regular expression can take longer than anybody waits, and Python cannot be told to give up. So the matching is done
by another process, which can be ended: it gets the lines that are short enough for a header, each once, and so
many seconds.
"""

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence

from decloak.errors import DecloakError, shown

__all__ = ["LONGEST_HEADER", "check_pattern", "without_headers"]

LONGEST_HEADER = 500
"""Characters of a line that may be a header; a longer one is never removed."""

LONGEST_PATTERN = 1_000
SECONDS = 10.0
PER_SECOND = 50_000
"""Lines that are matched in a second at the least, on top of the SECONDS that are always given."""

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
"""Says which pattern it is at, as that may be where it ends."""


def without_headers(texts: Sequence[str], patterns: Sequence[str], *, seconds: float = SECONDS) -> list[str]:
    """The texts without the lines in which one of the regular expressions is found.

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
        slow = shown(patterns[int((error.stderr or b"0").split()[-1])])
        message = f"too slow for {len(lines):,} lines: {slow}"
        raise DecloakError(message, hint="leave out repeats inside repeats, such as (a+)+") from None
    except (OSError, subprocess.CalledProcessError):
        raise DecloakError("the process that matches header patterns failed", hint="leave the patterns out") from None
    return {lines[number] for number in json.loads(done.stdout)}


def check_pattern(pattern: str) -> None:
    """An error when the pattern is no regular expression."""
    if len(pattern) > LONGEST_PATTERN:
        raise DecloakError(f"a pattern of {len(pattern):,} characters", hint=f"at most {LONGEST_PATTERN:,}")
    try:
        with warnings.catch_warnings(action="ignore"):  # of what a later Python may read otherwise
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        hint = "write . ( ) [ * + ? with a backslash where they stand for themselves"
        raise DecloakError(f"{shown(pattern)} is no regular expression: {shown(error)[1:-1]}", hint=hint) from None
