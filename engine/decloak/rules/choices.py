"""Checks that the strategies of all rule forms share: one word of a list, and its location."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from decloak.errors import DecloakError, quote, suggest

__all__ = ["check_choice", "with_location"]


@contextmanager
def with_location(place: str | None) -> Iterator[None]:
    """Add `place` to errors inside the context that have no location."""
    try:
        yield
    except DecloakError as error:
        raise DecloakError(error.message, error.place or place, error.hint) from None


def check_choice(text: str, choices: tuple[Any, ...], place: str | None = None) -> Any:
    """Return `text` if it is one of `choices`; raise an error at `place` otherwise."""
    if text not in choices:
        hint = suggest(str(text), choices) or f"choices are {', '.join(choices)}"
        raise DecloakError(f"unknown choice {quote(text)}", place, hint)
    return text
