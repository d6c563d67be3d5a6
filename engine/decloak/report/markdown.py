"""Text and tables in Markdown, whatever names may hold."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from decloak.errors import escape_control

__all__ = ["markdown_text", "table_lines"]


def markdown_text(text: str) -> str:
    """Text that Markdown and HTML take as text.

    >>> markdown_text("a | b")
    'a \\\\| b'
    """
    return re.sub(r"([\\`*_{}\[\]()#+|~<>&!-])", r"\\\1", escape_control(" ".join(text.split())))


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Return a Markdown table with columns of numbers to the right; an absent value is an empty cell."""
    held = [list(row) for row in rows]
    numeric = [
        bool(held) and all(isinstance(row[place], int | float | None) for row in held) for place in range(len(columns))
    ]
    yield _line(map(markdown_text, columns))
    yield _line("---:" if right else "---" for right in numeric)
    yield from (_line(map(_cell, row)) for row in held)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int | float) else markdown_text(str(value))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
