"""Draw a finding: known items on the left, alternatives on the right, and a thicker line for a closer relation.

Eliminated members are crossed out; the subject of the finding is bold. A layout of a graph would show its shape, where
the question is a comparison.
"""

from html import escape

from decloak.store.evidence import Comparison, Rival

__all__ = ["comparison_svg"]

ROW, LEFT, RIGHT, NOTE, WIDTH = 24, 200, 320, 590, 760
"""The height of a line of text; where lines between the sides begin and end, where notes begin, and the width."""
LONGEST = {"start": 38, "end": 28}
"""Characters of a name that there is room for, right and left."""
MOST = 40
"""The most known items, and the most alternatives, that a picture shows."""


def comparison_svg(comparison: Comparison) -> str:
    """Return the picture as SVG in the colour of the surrounding text, with all names escaped."""
    known, rivals = comparison.known[:MOST], comparison.rivals[:MOST]
    height = ROW * (max(len(known), len(rivals)) + 2.5)
    shift = max(0, len(rivals) - len(known)) / 2
    heights = [ROW * (place + 2.5 + shift) for place in range(len(known))]
    places = [ROW * (place + 2.5) for place in range(len(rivals))]
    lines = [
        _line(heights[a], places[b], closeness)
        for (a, b), closeness in sorted(comparison.closeness.items())
        if a < len(known) and b < len(rivals) and closeness > 0
    ]
    left = [_text(LEFT - 10, y, name, anchor="end") for y, name in zip(heights, known, strict=True)]
    right = [part for y, rival in zip(places, rivals, strict=True) for part in _rival(y, rival)]
    heads = [
        _text(LEFT - 10, ROW, "known", 'opacity=".7"', anchor="end"),
        _text(RIGHT + 12, ROW, "possible members", 'opacity=".7"'),
        _text(NOTE, ROW, comparison.about, 'opacity=".7"'),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="currentColor" '
        f'aria-label="{escape(comparison_in_words(comparison))}">'
        f"{''.join([*heads, *lines, *left, *right])}</svg>"
    )


def comparison_in_words(comparison: Comparison) -> str:
    """Describe the picture in words, for readers who cannot see it."""
    rivals = "; ".join(f"{rival.name}: {rival.note}" for rival in comparison.rivals[:MOST])
    return f"Known: {', '.join(comparison.known[:MOST])}. The members of {comparison.about}: {rivals}."


def _line(y: float, end: float, closeness: float) -> str:
    middle = (LEFT + RIGHT) / 2
    return (
        f'<path d="M{LEFT},{y:g}C{middle:g},{y:g} {middle:g},{end:g} {RIGHT},{end:g}" fill="none" stroke="#0072B2" '
        f'stroke-width="{0.5 + 6 * closeness:.1f}" stroke-opacity=".55"/>'
    )


def _rival(y: float, rival: Rival) -> tuple[str, str, str]:
    style = 'font-weight="bold"' if rival.subject else ""
    if rival.eliminated:
        style += ' text-decoration="line-through"'
    dot = "none" if rival.eliminated else "currentColor"
    circle = f'<circle cx="{RIGHT}" cy="{y:g}" r="4" fill="{dot}" stroke="currentColor"/>'
    note = _text(NOTE, y, rival.note, 'opacity=".7" font-size="11"')
    return circle, _text(RIGHT + 12, y, rival.name, style), note


def _text(x: float, y: float, text: str, style: str = "", *, anchor: str = "start") -> str:
    longest = LONGEST[anchor]
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    title = "" if short == text else f"<title>{escape(text)}</title>"
    return f'<text x="{x:g}" y="{y + 4:g}" text-anchor="{anchor}" {style}>{title}{escape(short)}</text>'
