"""To whom words may be sent: to hosts that somebody allowed, and never to where machines keep what is theirs alone.

Clouds hand out keys at link-local addresses to whatever program asks. So no question goes there, however the address is
written (in decimal, hexadecimal, octal, as IPv6), and whatever name leads there: addresses are looked at after a name
was resolved, and the connection is made to the very address that was looked at.
"""

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from decloak.errors import DecloakError, shown

__all__ = ["allowing", "check_allowed", "check_host", "check_resolved", "connected", "is_allowed"]

Address = IPv4Address | IPv6Address

_NEVER = tuple(map(ip_network, (
    "169.254.0.0/16", "fe80::/10",  # link-local: there clouds answer with keys
    "fd00:ec2::/32", "fd20:ce::/32",  # the same of Amazon and of Google
    "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",  # of Alibaba, of Azure and of Oracle
)))  # fmt: skip
_NEVER_NAMES = frozenset(
    ("metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal")
)
_HOLDING = tuple(map(IPv6Network, ("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/48")))
"""IPv6 whose last four bytes are an address of IPv4."""
_WHY = "there machines keep what is theirs alone, such as keys"
_HINT = "name another service: nothing is ever sent there"

_ALLOWED: ContextVar[frozenset[str]] = ContextVar("allowed", default=frozenset())


@contextmanager
def allowing(hosts: Iterable[str]) -> Iterator[None]:
    """Inside, words may be sent to these hosts: one with a port to that port, one without to any."""
    token = _ALLOWED.set(_ALLOWED.get() | {host.lower() for host in hosts})
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def is_allowed(host: str, hosts: Iterable[str] = ()) -> bool:
    """Whether a host, perhaps with a port, is among these or among those that are allowed here.

    >>> is_allowed("example.org:9200", ["example.org"]), is_allowed("example.org", ["example.org:9200"])
    (True, False)
    """
    allowed = {*map(str.lower, hosts), *_ALLOWED.get()}
    return host.lower() in allowed or (urlsplit(f"//{host}").hostname or "") in allowed


def check_allowed(host: str) -> None:
    """Refuse to send to a host that nobody allowed."""
    if not is_allowed(host):
        message = f"nobody has allowed that words are sent to {shown(host, 300)[1:-1]}"
        raise DecloakError(message, hint=f"allow it with --allow-send {shown(host, 300)[1:-1]}")


def check_host(host: str) -> None:
    """Refuse a host that is never sent to, by its name or by an address in whatever spelling."""
    name = host.lower().rstrip(".")
    if name in _NEVER_NAMES:
        raise _never(host)
    with suppress(OSError, ValueError):
        _check(IPv4Address(socket.inet_aton(name)), host)  # takes 2852039166, 0xa9fea9fe and 169.254.43518
    with suppress(ValueError):
        _check(ip_address(name.strip("[]")), host)


def check_resolved(host: str) -> None:
    """The same of the addresses a name has here; what cannot be resolved is left to who can."""
    check_host(host)
    with suppress(OSError, UnicodeError):
        for *_, where in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM):
            _check(ip_address(str(where[0])), host)


def connected(
    address: tuple[str, int], timeout: float | None = None, source: tuple[str, int] | None = None
) -> socket.socket:
    """A connection to a host and port, in place of `socket.create_connection`; its address was looked at."""
    host, port = address
    check_host(host)
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_, where in addresses:
        _check(ip_address(str(where[0])), host)
    failure: OSError = OSError("no address")
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
    for inner in _meanings(address):
        if any(inner.version == net.version and inner in net for net in _NEVER):
            raise _never(host)


def _meanings(address: Address) -> Iterator[Address]:
    """An address, and those of IPv4 that an address of IPv6 stands for."""
    yield address
    if isinstance(address, IPv6Address):
        if any(address in net for net in _HOLDING):
            yield IPv4Address(address.packed[-4:])
        yield from filter(None, (address.sixtofour, *(address.teredo or ())))


def _never(host: str) -> DecloakError:
    return DecloakError(f"{shown(host, 300)[1:-1]} is never sent to: {_WHY}", hint=_HINT)
