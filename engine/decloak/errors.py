"""The one error decloak raises for what a user can mend: what is wrong, where, and the remedy."""

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = ["MARKS", "DecloakError", "Faults", "NoRelease", "harmless", "nearest", "no_release", "placed", "shown"]

_MARKS = (
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
MARKS = re.compile(f"[{_MARKS}]")
"""The control characters that JSON and XML let stand, and the invisible ones that reorder or hide what is printed."""
_UNPRINTABLE = re.compile(f"[\x00-\x1f{_MARKS}]")


def harmless(text: object, keep: str = "") -> str:
    """Text as a terminal may print it: characters that steer it, reorder or hide are written as escapes, save some.

    >>> print(harmless("a\\x1b[31m\\u202eb"))
    a\\x1b[31m\\u202eb
    """
    return _UNPRINTABLE.sub(lambda match: match[0] if match[0] in keep else _escape(ord(match[0])), str(text))


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(text: object, most: int = 60) -> str:
    """Quote hostile text for a one-line message: control characters escaped, length bounded."""
    plain = harmless(str(text)[: most + 1])
    return f"'{plain[:most]}…'" if len(plain) > most else f"'{plain}'"


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the remedy "did you mean 'x'?" for a misspelt word, or None when nothing is near."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.6)
    return f"did you mean {shown(close[0], 200)}?" if close else None


class DecloakError(Exception):
    """Something a user can mend.

    >>> print(DecloakError("not a number: 'x'", "scores.csv:3", "write 0.5, or leave it empty"))
    scores.csv:3: not a number: 'x'; write 0.5, or leave it empty
    """

    def __init__(self, message: str, place: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, place, hint)
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        line = f"{self.place}: {self.message}" if self.place else self.message
        return harmless(f"{line}; {self.hint}" if self.hint else line)


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Give what goes wrong inside its place; names, say, are checked where nobody knows where they stand."""
    try:
        yield
    except DecloakError as error:
        raise DecloakError(error.message, place, error.hint) from None


class NoRelease(DecloakError):
    """What a method cannot do with the data, of a variant that is its place: other variants may well be made."""


@contextmanager
def no_release(place: str) -> Iterator[None]:
    """Tell what a method cannot do inside as something that this variant alone lacks; not what is wrong with a file."""
    try:
        yield
    except DecloakError as error:
        if error.place is not None:
            raise
        raise NoRelease(error.message, place, error.hint) from None


class Faults(DecloakError):
    """Several faults of one file, all found at once; printed one a line, the first MOST of them."""

    MOST = 50

    def __init__(self, faults: Iterable[DecloakError]) -> None:
        self.faults = tuple(faults)
        first = self.faults[0]
        super().__init__(first.message, first.place, first.hint)

    def __reduce__(self) -> tuple[type["Faults"], tuple[tuple[DecloakError, ...]]]:
        return Faults, (self.faults,)

    def __str__(self) -> str:
        lines = [str(fault) for fault in self.faults[: self.MOST]]
        rest = len(self.faults) - self.MOST
        return "\n".join([*lines, f"and {rest} more; mend these first"] if rest > 0 else lines)
