"""Permission and safety checks for outgoing requests: only to allowed hosts, and never to cloud metadata services.

Cloud machines give out keys at link-local addresses to any program that asks. So no request goes there, for every
notation of the address (decimal, hexadecimal, octal, IPv6) and every name of it. decloak resolves the name, checks the
addresses, and connects to the very address that it checked.
"""

import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from decloak.errors import DecloakError, at_location, quote

Address = IPv4Address | IPv6Address

_FORBIDDEN_NETWORKS = tuple(map(ip_network, (
    "169.254.0.0/16", "fe80::/10",  # link-local: there clouds answer with keys
    "fd00:ec2::/32", "fd20:ce::/32",  # the addresses of Amazon and Google
    "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",  # of Alibaba, of Azure and of Oracle
)))  # fmt: skip
_FORBIDDEN_NAMES = frozenset(
    ("metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal")
)
_EMBEDDING_NETWORKS = tuple(
    map(IPv6Network, ("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/48"))
)
"""IPv6 networks whose last four bytes are an IPv4 address."""
_WHY = "there machines keep what is theirs alone, such as keys"
_HINT = "name another service: nothing is ever sent there"

_ALLOWED: ContextVar[frozenset[str]] = ContextVar("allowed", default=frozenset())


@contextmanager
def allow_hosts(hosts: Iterable[str]) -> Iterator[None]:
    """Allow requests to `hosts` inside the context: one with a port to that port, one without to any port."""
    token = _ALLOWED.set(_ALLOWED.get() | {host.lower() for host in hosts})
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def is_host_allowed(host: str, hosts: Iterable[str] = ()) -> bool:
    """Return True if `host`, perhaps with a port, is among `hosts` or allowed by the context.

    >>> is_host_allowed("example.org:9200", ["example.org"]), is_host_allowed("example.org", ["example.org:9200"])
    (True, False)
    """
    allowed = {*map(str.lower, hosts), *_ALLOWED.get()}
    return host.lower() in allowed or (urlsplit(f"//{host}").hostname or "") in allowed


def check_host_allowed(host: str) -> None:
    """Raise an error for a `host` that is not allowed."""
    if not is_host_allowed(host):
        message = f"sending words to {quote(host, 300)[1:-1]} is not allowed"
        raise DecloakError(message, hint=f"allow it with --allow-send {quote(host, 300)[1:-1]}")


def check_host_safe(host: str) -> None:
    """Raise an error for a `host` that requests may never go to, by its name or by an address in any spelling."""
    name = host.lower().rstrip(".")
    if name in _FORBIDDEN_NAMES:
        raise _forbidden_host(host)
    with suppress(OSError, ValueError):
        _check(IPv4Address(socket.inet_aton(name)), host)  # takes 2852039166, 0xa9fea9fe and 169.254.43518
    with suppress(ValueError):
        _check(ip_address(name.strip("[]")), host)


def check_resolved_addresses(host: str) -> None:
    """Raise an error if `host` resolves to a forbidden address; a name that cannot be resolved here is left to the
    proxy.
    """
    check_host_safe(host)
    with suppress(OSError, UnicodeError):
        for *_, where in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM):
            _check(ip_address(str(where[0])), host)


def open_connection(
    address: tuple[str, int], timeout: float | None = None, source: tuple[str, int] | None = None
) -> socket.socket:
    """Connect to the host and port in `address` after a check of its addresses; return the socket.

    It replaces `socket.create_connection`, with the same `timeout` and `source` address.
    """
    host, port = address
    check_host_safe(host)
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_, where in addresses:
        _check(ip_address(str(where[0])), host)
    failure: OSError = OSError("no address")
    # The connection goes to the very addresses that were checked, so that a second answer of DNS changes nothing.
    for family, kind, protocol, _, where in addresses:
        opened = socket.socket(family, kind, protocol)
        try:
            opened.settimeout(timeout)
            if source:
                opened.bind(source)
            opened.connect(where)
            return opened
        except BaseException as error:
            opened.close()
            if not isinstance(error, OSError):
                raise
            failure = error
    raise failure


def _check(address: Address, host: str) -> None:
    for inner in _embedded_addresses(address):
        if any(inner.version == net.version and inner in net for net in _FORBIDDEN_NETWORKS):
            raise _forbidden_host(host)


def _embedded_addresses(address: Address) -> Iterator[Address]:
    """Yield an address, and the IPv4 addresses inside an IPv6 address."""
    yield address
    if isinstance(address, IPv6Address):
        if any(address in net for net in _EMBEDDING_NETWORKS):
            yield IPv4Address(address.packed[-4:])
        yield from filter(None, (address.sixtofour, *(address.teredo or ())))


def _forbidden_host(host: str) -> DecloakError:
    return DecloakError(f"{quote(host, 300)[1:-1]} is never sent to: {_WHY}", hint=_HINT)


class Clock(NamedTuple):
    """Current time for waits and for dates, and a way to wait; tests replace it."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    today: Callable[[], float] = time.time


CLOCK = Clock()
"""The real clock."""


class TemporaryFailure(Exception):
    """A failure that may be temporary, and the seconds that the service asks to wait."""

    def __init__(self, what: str, wait: float = 0.0) -> None:
        super().__init__(what)
        self.what = what
        self.wait = wait


def check_url(url: str) -> None:
    """Raise an error for a `url` that is no web address, or that has a secret in it, which would
    be stored and printed.
    """
    hint = "write it as https://host/path"
    if not re.fullmatch(r"[\x21-\x7e]+", url):
        what, remedy = "a blank, a control character or a letter beyond ASCII in the url", "write it as %20"
        raise DecloakError(what, "url", f"{remedy}, and a host beyond ASCII as xn--")
    try:
        parts = urlsplit(url)
        port = parts.port
        # A host that cannot be encoded would fail only when it is asked.
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise DecloakError("not a url", "url", hint) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.fragment:
        raise DecloakError("not the url of a web service", "url", hint)
    with at_location("url"):
        check_host_safe(parts.hostname)
    # The address is stored and printed, and so would be a password in it.
    if "@" in parts.netloc:
        raise DecloakError("a user name or a password in the url", "url", _HEADER)
    for name, _ in parse_qsl(parts.query):
        if re.search(_SECRET, re.sub("[^a-z]", "", name.lower())):
            raise DecloakError(f"the url seems to hold a secret, the parameter {quote(name)}", "url", _HEADER)


_SECRET = (
    "((^|api|access|auth|client|private|secret|subscription)key|token|secret|password|passwd|pwd|auth|authorization|"
    "signature|credentials?|^sig|^appid)$"
)
_HEADER = "send it in a header, which takes it from an environment variable"
