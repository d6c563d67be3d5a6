"""What a question over HTTP needs before HTTP is loaded: a clock, a failure that may pass, a URL that will do."""

import re
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from decloak.errors import DecloakError, placed, shown
from decloak.relate.sending import check_host

__all__ = ["CLOCK", "Clock", "Passing", "check_url"]


class Clock(NamedTuple):
    """What time it is, for waits and for dates, and how to wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    today: Callable[[], float] = time.time


CLOCK = Clock()
"""The real one."""


class Passing(Exception):
    """A failure that may pass, and for how many seconds the service asks to be left alone."""

    def __init__(self, what: str, wait: float = 0.0) -> None:
        super().__init__(what)
        self.what = what
        self.wait = wait


def check_url(url: str) -> None:
    """Refuse a URL that cannot be asked, or that carries a secret, which would be kept and printed with it."""
    hint = "write it as https://host/path"
    if not re.fullmatch(r"[\x21-\x7e]+", url):
        what, mend = "a blank, a control character or a letter beyond ASCII in the url", "write it as %20"
        raise DecloakError(what, "url", f"{mend}, and a host beyond ASCII as xn--")
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise DecloakError("not a url", "url", hint) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.fragment:
        raise DecloakError("not the url of a web service", "url", hint)
    with placed("url"):
        check_host(parts.hostname)
    if "@" in parts.netloc:
        raise DecloakError("a user name or a password in the url", "url", _HEADER)
    for name, _ in parse_qsl(parts.query):
        if re.search(_SECRET, re.sub("[^a-z]", "", name.lower())):
            raise DecloakError(f"the url seems to hold a secret, the parameter {shown(name)}", "url", _HEADER)


_SECRET = (
    "((^|api|access|auth|client|private|secret|subscription)key|token|secret|password|passwd|pwd|auth|authorization|"
    "signature|credentials?|^sig|^appid)$"
)
_HEADER = "send it in a header, which takes it from an environment variable"
