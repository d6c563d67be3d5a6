"""HTTP client for one service, with limits on rate, time and size, and with repeated attempts.

A request is repeated after a failure that may be temporary: no connection, no answer in time, an answer cut short, 429,
500, 502, 503, 504. Before attempt i the client waits 2^(i-1) seconds, or longer if the service asks for it. Any other
failure ends the run with one line, and so does a redirect: a key goes only to the address it was given for. Nothing
goes to a host that is not allowed (`sending`).
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

from decloak.errors import DecloakError, quote
from decloak.relate.sending import (
    CLOCK,
    Clock,
    TemporaryFailure,
    check_host_allowed,
    check_resolved_addresses,
    open_connection,
)
from decloak.version import __version__

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


LARGEST_ANSWER = 1_000_000
"""Bytes of an answer, at most."""

LONGEST_WAIT = 300
"""Seconds that a service may ask to wait; the run ends if it asks for more."""

TEMPORARY_STATUS = {429, 500, 502, 503, 504}
PIECE = 65_536
RESUME_HINT = "run it again: what was counted is kept"
REMEDIES = {
    400: "the service does not understand what it is asked; check the url and the name",
    401: "check the key in the header and your permissions",
    403: "check the key in the header and your permissions",
    404: "check the url",
}

Answer = TypeVar("Answer")


class Client:
    """A client of one service that sends at most `rate` questions per second."""

    def __init__(
        self, headers: Mapping[str, str], *, rate: float, timeout: float, retries: int, clock: Clock = CLOCK
    ) -> None:
        self._headers = {"User-Agent": f"decloak/{__version__}", "Accept": "application/json", **headers}
        self._key_pattern = _key_pattern(headers.values())
        self._interval = 1 / rate
        self._timeout = timeout
        self._retries = retries
        self._clock = clock
        self._free = clock.now()
        # The standard opener follows redirects and reads other schemes: a key would go where nobody allowed it.
        self._opener = OpenerDirector()
        for handler in (ProxyHandler(), _GuardedHTTP(), _GuardedHTTPS()):
            self._opener.add_handler(handler)

    def send_question(self, url: str, body: bytes | None, read: Callable[[bytes], Answer]) -> Answer:
        """Send a question to `url` and return what `read` makes of the answer; with a `body` it is a POST of JSON.

        `read` raises TemporaryFailure for an answer that is not ready, and DecloakError for one that will never be
        usable.
        """
        check_host_allowed(urlsplit(url).netloc)
        tries = 0
        while True:
            tries += 1
            try:
                return read(self._send(url, body))
            except TemporaryFailure as failure:
                what = self._without_keys(failure.what)
                wait = max(failure.wait, 2.0 ** (tries - 1))
                # A service that asks for hours would block the run: the user decides when to continue.
                if failure.wait > LONGEST_WAIT:
                    asks = f"{what} and asks to wait {failure.wait:.0f} s"
                    raise DecloakError(asks, site_of(url), f"after that time {RESUME_HINT}") from None
                if tries > self._retries:
                    after = "1 try" if tries == 1 else f"{tries} tries"
                    raise DecloakError(f"{what}, after {after}", site_of(url), RESUME_HINT) from None
            except DecloakError as error:
                raise DecloakError(self._without_keys(error.message), site_of(url), error.hint) from None
            self._clock.sleep(wait)

    def _without_keys(self, text: str) -> str:
        """Return a text about an answer without the keys, which a service may repeat."""
        return self._key_pattern.sub("…", text)

    def _send(self, url: str, body: bytes | None) -> bytes:
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        request = Request(url, data=body, headers=headers)
        self._limit_rate()
        # A proxy resolves the name once more, where decloak cannot check the address.
        if urlsplit(url).scheme in getproxies():
            check_resolved_addresses(urlsplit(url).hostname or "")
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                self._check(url, response)
                return self._read_body(response)
        except (OSError, HTTPException) as error:
            raise self._failure(error) from None
        except ValueError:  # url and headers were checked: what is left is what the environment says of proxies
            raise DecloakError("cannot be asked through the proxy", hint="check http_proxy and https_proxy") from None

    def _limit_rate(self) -> None:
        wait = self._free - self._clock.now()
        if wait > 0:
            self._clock.sleep(wait)
        self._free = self._clock.now() + self._interval

    def _check(self, url: str, response: HTTPResponse) -> None:
        status = response.status
        message = f"answered {status} {responses.get(status, '')}".rstrip()
        if status in TEMPORARY_STATUS:
            raise TemporaryFailure(message, retry_after(response.headers.get("Retry-After"), self._clock.today()))
        if 300 <= status < 400:
            where = _without_query(url, response.headers.get("Location", ""))
            raise DecloakError(f"{message}, a redirect to {quote(where, 200)}", hint="write that url if you trust it")
        if status != 200:
            raise DecloakError(message, hint=REMEDIES.get(status, RESUME_HINT))

    def _read_body(self, response: HTTPResponse) -> bytes:
        """Return the body, read in pieces, so that the client does not wait for one that is too long."""
        body = bytearray()
        while piece := response.read1(PIECE):
            body += piece
            # A count is short. A long answer is a wrong address or an attack on memory.
            if len(body) > LARGEST_ANSWER:
                raise DecloakError(f"answered more than {LARGEST_ANSWER:,} bytes", hint="ask it for the count alone")
        # `read1` does not notice that a body is cut short.
        length = response.headers.get("Content-Length", "")
        if length.isdecimal() and len(body) < float(length) and not response.chunked:
            raise IncompleteRead(bytes(body))
        return bytes(body)

    def _failure(self, error: Exception) -> Exception:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            return DecloakError("has a certificate that is not trusted", hint="name its authority in SSL_CERT_FILE")
        if isinstance(reason, TimeoutError):
            return TemporaryFailure(f"no answer within {self._timeout:g} s")
        for kind, what in _FAILURES.items():
            if isinstance(reason, kind):
                return TemporaryFailure(what)
        return TemporaryFailure(f"the connection failed ({type(reason).__name__})")


class _DeadlineStream(io.RawIOBase):
    """The bytes of a socket, all of which have to arrive within its timeout: a header can be as slow as a body."""

    def __init__(self, stream: io.RawIOBase, open_connection: socket.socket) -> None:
        self._stream, self._socket = stream, open_connection
        self._deadline = time.monotonic() + (open_connection.gettimeout() or 0.0)

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


class _DeadlineResponse(HTTPResponse):
    def __init__(self, sock: socket.socket, *rest: Any, **named: Any) -> None:
        super().__init__(sock, *rest, **named)
        self.fp: io.BufferedReader = io.BufferedReader(_DeadlineStream(self.fp.detach(), sock))


class _GuardedHandler(AbstractHTTPHandler):
    def do_open(self, http_class: Callable[..., HTTPConnection], *rest: Any, **named: Any) -> HTTPResponse:
        def connection(*to: Any, **how: Any) -> HTTPConnection:
            opened = http_class(*to, **how)
            opened.response_class = _DeadlineResponse
            opened._create_connection = open_connection  # type: ignore[attr-defined]  # of all that http.client opens
            return opened

        return super().do_open(connection, *rest, **named)


class _GuardedHTTP(_GuardedHandler, HTTPHandler):
    pass


class _GuardedHTTPS(_GuardedHandler, HTTPSHandler):
    pass


_FAILURES: dict[type[Exception], str] = {
    IncompleteRead: "an answer cut short",
    RemoteDisconnected: "closed the connection without an answer",
    HTTPException: "an answer that is not HTTP",
    ConnectionRefusedError: "refused the connection",
    socket.gaierror: "no host of this name was found",
}
"""Descriptions of temporary failures, by the kind of error."""


def retry_after(value: str | None, today: float) -> float:
    """Return the seconds that the Retry-After header `value` asks for, a number or a date; 0 if it is unreadable.

    `today` is the current time, for dates.

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


def _key_pattern(values: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for the keys in a text: a whole key, or its beginning where the rest is cut off or encoded."""
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


def site_of(url: str) -> str:
    """Return the part of `url` that an error may show: scheme, host and port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
