"""What the strategies of all operators check alike: a word out of a few, and where it is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from decloak.errors import DecloakError, nearest, shown

__all__ = ["at", "one_of"]


@contextmanager
def at(place: str | None) -> Iterator[None]:
    """Give the errors raised inside a place when they have none."""
    try:
        yield
    except DecloakError as error:
        raise DecloakError(error.message, error.place or place, error.hint) from None


def one_of(text: str, choices: tuple[Any, ...], place: str | None = None) -> Any:
    if text not in choices:
        hint = nearest(str(text), choices) or f"choices are {', '.join(choices)}"
        raise DecloakError(f"unknown choice {shown(text)}", place, hint)
    return text
