"""Errors that a user can fix: location, problem and remedy in one line."""

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

_MARKS = (
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\ud800-\uf8ff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\U000f0000-\U000ffffd\U00100000-\U0010fffd"
)
MARKS = re.compile(f"[{_MARKS}]")
"""Control characters that JSON and XML allow, characters of private use, and characters that reorder or hide text."""


def escape_control(text: object, keep: str = "") -> str:
    """Return `text` as a terminal may print it: characters that control, reorder or hide text are escaped, except
    `keep`.

    >>> print(escape_control("a\\x1b[31m\\u202eb"))
    a\\x1b[31m\\u202eb
    """
    plain = str(text)
    if plain.isprintable() and MARKS.search(plain) is None:  # nearly every text, and fast
        return plain
    # Python calls some characters printable that have no width.
    visible = {char for char in set(plain) if char in keep or (char.isprintable() and MARKS.match(char) is None)}
    return "".join(char if char in visible else _escape(ord(char)) for char in plain)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote(text: object, most: int = 60) -> str:
    """Return `text` quoted for a one-line message: control characters escaped, at most `most` characters."""
    # Cut first: a hostile name may have millions of characters to escape.
    plain = escape_control(str(text)[: most + 1])
    return f"'{plain[:most]}…'" if len(plain) > most else f"'{plain}'"


def quote_some(names: Iterable[object], most: int = 3) -> str:
    """Return the first `most` of `names`, quoted, in a list for a one-line message."""
    listed = list(map(quote, islice(names, most + 1)))  # of millions of names a message needs few
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")


_RENAMED = {
    "strike": "eliminate", "coin": "random", "table": "item_group", "transaction": "record", "group": "group_kind",
}  # fmt: skip
"""Old keys, values and columns of rule files, and their replacements."""


LONGEST_COMPARED = 200
"""Largest number of letters of a word whose spelling is compared with others."""


def suggest(word: str, words: Iterable[str]) -> str | None:
    """Return the remedy "did you mean 'x'?" for the misspelt `word`, or None if none of `words` is similar.

    An old name of one of `words` has the remedy "write x".
    """
    words = list(words)
    if _RENAMED.get(word) in words:
        return f"write {_RENAMED[word]}"
    if same := [one for one in words if one.casefold() == word.casefold()]:
        return f"did you mean {quote(same[0], 200)}?"
    # Time grows with the square of the letters, and a hostile name may have a million.
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6) if len(word) <= LONGEST_COMPARED else []
    return f"did you mean {quote(close[0], 200)}?" if close else None


class DecloakError(Exception):
    """An error that a user can fix.

    >>> print(DecloakError("not a number: 'x'", "scores.csv:3", "write 0.5, or leave it empty"))
    scores.csv:3: not a number: 'x'; write 0.5, or leave it empty
    """

    def __init__(self, message: str, place: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, place, hint)
        self.message = message
        self.place = place
        self.hint = hint

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython prints in place of a traceback."""
        return str(self).splitlines()

    def __str__(self) -> str:
        line = f"{self.place}: {self.message}" if self.place else self.message
        return escape_control(f"{line}; {self.hint}" if self.hint else line)


@contextmanager
def at_location(place: str) -> Iterator[None]:
    """Add the location `place` to errors inside the context, for example of checks that know no location."""
    try:
        yield
    except DecloakError as error:
        raise DecloakError(error.message, place, error.hint) from None


class NoRelease(DecloakError):
    """An error of a method with given data. Its location is a variant; other variants may succeed."""


@contextmanager
def no_release(place: str) -> Iterator[None]:
    """Convert errors without a location inside the context into `NoRelease` of the variant `place`. Faults of files
    have a location and stay.
    """
    try:
        yield
    except DecloakError as error:
        if error.place is not None:
            raise
        raise NoRelease(error.message, place, error.hint) from None


class Faults(DecloakError):
    """Several faults of one file, all found together. Printed one per line, the first MOST of them."""

    MOST = 50

    def __init__(self, faults: Iterable[DecloakError]) -> None:
        self.faults = tuple(faults)
        first = self.faults[0]
        super().__init__(first.message, first.place, first.hint)

    # Pickle would call the class with the arguments of its base class, which are of one fault.
    def __reduce__(self) -> tuple[type["Faults"], tuple[tuple[DecloakError, ...]]]:
        return Faults, (self.faults,)

    def __str__(self) -> str:
        lines = [str(fault) for fault in self.faults[: self.MOST]]
        rest = len(self.faults) - self.MOST
        return "\n".join([*lines, f"and {rest} more errors; correct these first"] if rest > 0 else lines)
