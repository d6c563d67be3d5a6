"""The memory of a process, and its limits: sizes as people write them."""

import re
from pathlib import Path

from decloak.errors import DecloakError, quote

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
LEAST = 64 << 20
"""Less than this nothing can be done with."""


def read_size(text: str, place: str = "--memory") -> int:
    """Return the number of bytes of a text such as 4G, 800M or 1.5G.

    >>> read_size("1.5G")
    1610612736
    """
    # 15 digits, because a float holds these exactly.
    match = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE | re.ASCII)
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size < LEAST:
        hint = "write a size from 64M on, such as 800M or 4G"
        raise DecloakError(f"{quote(text)} is no size of memory to work in", place, hint)
    return size


def size_of(count: int) -> str:
    """Bytes as `read_size` reads them, rounded up.

    >>> size_of(1610612736)
    '1.5G'
    """
    unit, bytes_of = ("G", 1 << 30) if count >= 1 << 30 else ("M", 1 << 20)
    # Rounded up, so that a size that an error proposes is enough.
    tenths = -(-count * 10 // bytes_of)
    return f"{tenths / 10:g}{unit}" if unit == "G" else f"{-(-count // bytes_of)}{unit}"


def data_bytes() -> int:
    """Return the memory that the process may write to, in bytes."""
    return _status("VmData")


def resident_bytes() -> int:
    """Return the memory of the process that is in RAM, in bytes; 0 if the system does not report it."""
    return _status("VmRSS")


def _status(name: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:")), 0)
