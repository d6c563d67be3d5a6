"""How long something takes, in words that claim no more than is known."""

__all__ = ["duration"]


def duration(seconds: float) -> str:
    """Seconds in a round number of the unit that fits.

    >>> duration(0.2), duration(42.1), duration(150), duration(9000)
    ('about 1 s', 'about 42 s', 'about 2 min', 'about 2 h')
    """
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {max(1.0, seconds):.0f} s"
