"""One question over HTTP: how fast, how long, how much and how often again.

A question is put again after a failure that may pass: no connection, no answer in time, an answer cut short, 429,
500, 502, 503, 504. Before the i-th time again the wait is 2^(i-1) seconds, or what the service asks for when that
is longer. Any other failure ends the run with one line, and so does a redirect: a key goes to the address it was
given for and nowhere else. Nothing goes to a host that nobody has allowed (`sending`).
"""

import io
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected, responses
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.error import URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import (
    AbstractHTTPHandler,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    getproxies,
)

from decloak.errors import DecloakError, shown
from decloak.relate.provider_asking import CLOCK, Clock, Passing
from decloak.relate.sending import check_allowed, check_resolved, connected
from decloak.version import __version__

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["LARGEST_ANSWER", "LONGEST_WAIT", "Client", "retry_after", "site"]

LARGEST_ANSWER = 1_000_000
"""Bytes an answer may have."""

LONGEST_WAIT = 300
"""Seconds a service may ask to wait; when it asks for more, the run ends."""

PASSING = {429, 500, 502, 503, 504}
PIECE = 65_536
RESUME = "run it again: what was counted is kept"
MENDS = {
    400: "the service does not understand what it is asked; check the url and the name",
    401: "check the header with the key, and what the service allows",
    403: "check the header with the key, and what the service allows",
    404: "check the url",
}

Answer = TypeVar("Answer")


class Client:
    """Asks one service, `rate` questions a second at most."""

    def __init__(
        self, headers: Mapping[str, str], *, rate: float, timeout: float, retries: int, clock: Clock = CLOCK
    ) -> None:
        self._headers = {"User-Agent": f"decloak/{__version__}", "Accept": "application/json", **headers}
        self._keys = _keys(headers.values())
        self._interval = 1 / rate
        self._timeout = timeout
        self._retries = retries
        self._clock = clock
        self._free = clock.now()
        self._opener = OpenerDirector()  # with no handler of redirects, of error codes, of other schemes
        for handler in (ProxyHandler(), _Plain(), _Secure()):
            self._opener.add_handler(handler)

    def ask(self, url: str, body: bytes | None, read: Callable[[bytes], Answer]) -> Answer:
        """What `read` makes of the answer; with a body the question is a POST of JSON.

        `read` raises Passing for an answer that is no answer yet, and DecloakError for one that never will be.
        """
        check_allowed(urlsplit(url).netloc)
        tries = 0
        while True:
            tries += 1
            try:
                return read(self._body(url, body))
            except Passing as failure:
                what = self._hidden(failure.what)
                wait = max(failure.wait, 2.0 ** (tries - 1))
                if failure.wait > LONGEST_WAIT:
                    asks = f"{what} and asks to wait {failure.wait:.0f} s"
                    raise DecloakError(asks, site(url), f"after that time {RESUME}") from None
                if tries > self._retries:
                    after = "1 try" if tries == 1 else f"{tries} tries"
                    raise DecloakError(f"{what}, after {after}", site(url), RESUME) from None
            except DecloakError as error:
                raise DecloakError(self._hidden(error.message), site(url), error.hint) from None
            self._clock.sleep(wait)

    def _hidden(self, text: str) -> str:
        """What is said of an answer, without the keys: a service may repeat them."""
        return self._keys.sub("…", text)

    def _body(self, url: str, body: bytes | None) -> bytes:
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        request = Request(url, data=body, headers=headers)
        self._pace()
        if urlsplit(url).scheme in getproxies():  # the proxy resolves the name once more, where nobody can look
            check_resolved(urlsplit(url).hostname or "")
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                self._check(url, response)
                return self._all_of(response)
        except (OSError, HTTPException) as error:
            raise self._failure(error) from None
        except ValueError:  # url and headers were checked: what is left is what the environment says of proxies
            raise DecloakError("cannot be asked through the proxy", hint="check http_proxy and https_proxy") from None

    def _pace(self) -> None:
        wait = self._free - self._clock.now()
        if wait > 0:
            self._clock.sleep(wait)
        self._free = self._clock.now() + self._interval

    def _check(self, url: str, response: HTTPResponse) -> None:
        status = response.status
        message = f"answered {status} {responses.get(status, '')}".rstrip()
        if status in PASSING:
            raise Passing(message, retry_after(response.headers.get("Retry-After"), self._clock.today()))
        if 300 <= status < 400:
            where = _without_query(url, response.headers.get("Location", ""))
            raise DecloakError(f"{message}, a redirect to {shown(where, 200)}", hint="write that url if you trust it")
        if status != 200:
            raise DecloakError(message, hint=MENDS.get(status, RESUME))

    def _all_of(self, response: HTTPResponse) -> bytes:
        """The body; read in pieces, so that a long one is not waited for."""
        body = bytearray()
        while piece := response.read1(PIECE):
            body += piece
            if len(body) > LARGEST_ANSWER:
                raise DecloakError(f"answered more than {LARGEST_ANSWER:,} bytes", hint="ask it for the count alone")
        length = response.headers.get("Content-Length", "")
        if length.isdecimal() and len(body) < float(length) and not response.chunked:
            raise IncompleteRead(bytes(body))
        return bytes(body)

    def _failure(self, error: Exception) -> Exception:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            return DecloakError("has a certificate that is not trusted", hint="name its authority in SSL_CERT_FILE")
        if isinstance(reason, TimeoutError):
            return Passing(f"no answer within {self._timeout:g} s")
        for kind, what in _FAILURES.items():
            if isinstance(reason, kind):
                return Passing(what)
        return Passing(f"the connection failed ({type(reason).__name__})")


class _Timely(io.RawIOBase):
    """The bytes of a socket, all of which have to come within its timeout: a head can drip as well as a body."""

    def __init__(self, stream: io.RawIOBase, connected: socket.socket) -> None:
        self._stream, self._socket = stream, connected
        self._deadline = time.monotonic() + (connected.gettimeout() or 0.0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        self._socket.settimeout(remaining)
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Answer(HTTPResponse):
    def __init__(self, sock: socket.socket, *rest: Any, **named: Any) -> None:
        super().__init__(sock, *rest, **named)
        self.fp: io.BufferedReader = io.BufferedReader(_Timely(self.fp.detach(), sock))


class _Limited(AbstractHTTPHandler):
    def do_open(self, http_class: Callable[..., HTTPConnection], *rest: Any, **named: Any) -> HTTPResponse:
        def connection(*to: Any, **how: Any) -> HTTPConnection:
            opened = http_class(*to, **how)
            opened.response_class = _Answer
            opened._create_connection = connected  # type: ignore[attr-defined]  # of all that http.client opens
            return opened

        return super().do_open(connection, *rest, **named)


class _Plain(_Limited, HTTPHandler):
    pass


class _Secure(_Limited, HTTPSHandler):
    pass


_FAILURES: dict[type[Exception], str] = {
    IncompleteRead: "an answer cut short",
    RemoteDisconnected: "closed the connection without an answer",
    HTTPException: "an answer that is not HTTP",
    ConnectionRefusedError: "refused the connection",
    socket.gaierror: "no host of this name was found",
}


def retry_after(value: str | None, today: float) -> float:
    """The seconds a Retry-After header asks for, as a number or as a date; 0 when it says nothing readable.

    >>> retry_after("120", 0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 15), retry_after("soon", 0)
    (120.0, 45.0, 0.0)
    """
    value = (value or "").strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - today)
    except (ValueError, OverflowError):
        return 0.0


def _keys(values: Iterable[str]) -> re.Pattern[str]:
    """What a key in a text looks like: all of it, or its beginning where the rest is cut off or written otherwise."""
    text = " ".join(values)
    whole = [rf"(?<!\w){re.escape(word)}(?!\w)" for word in text.split()]
    begun = [rf"{letters[:6]}[^\s'\"]*" for letters in re.findall("[A-Za-z0-9]{6,}", text)]
    return re.compile("|".join([*whole, *begun]) or "(?!)", re.IGNORECASE)


def _without_query(url: str, location: str) -> str:
    try:
        target = urlsplit(urljoin(url, location))
    except ValueError:
        return "nowhere"
    return f"{target.scheme}://{target.netloc.rpartition('@')[2]}{target.path}"


def site(url: str) -> str:
    """The part of a URL that an error may show: scheme, host and port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
