"""Permission to use a Dask cluster: one of this machine, or one that `--allow-send` names."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address

from decloak.errors import DecloakError, quote
from decloak.parallel import Cluster
from decloak.relate.sending import check_resolved_addresses, is_host_allowed

__all__ = ["check_address", "cluster_at"]

_ADDRESS = re.compile(
    r"(?:(?P<scheme>tcp|tls)://)?(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):(?P<port>[0-9]{1,5})"
)


def check_address(address: str, allow_send: Sequence[str]) -> str:
    """Return the address of a scheduler as Dask reads it; raise an error without permission to send records there.

    Dask sends pickles both ways, and whoever sends one can have the other run what he likes. So it must use TLS or be
    on this machine, or be allowed together with its scheme.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 65536:
        message = f"{quote(address)} is no address of a scheduler"
        raise DecloakError(message, "--dask", "write tls://HOST:PORT, or tcp://127.0.0.1:8786 on this machine")
    scheme, host, port = match["scheme"] or "tcp", match["host"], int(match["port"])
    check_resolved_addresses(host.strip("[]"))
    whole = f"{scheme}://{host}:{port}"
    if _is_loopback(host) or whole in allow_send:
        return whole
    if scheme == "tcp":
        message = f"would send records unencrypted to {host}:{port}"
        raise DecloakError(message, "--dask", f"use tls://, or accept the risk with --allow-send {whole}")
    if not is_host_allowed(f"{host}:{port}", allow_send):
        message = f"would send records to {host}:{port}"
        raise DecloakError(message, "--dask", f"--allow-send {host}:{port} allows it")
    return whole


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@contextmanager
def cluster_at(address: str | None, allow_send: Sequence[str]) -> Iterator[Cluster | None]:
    """A cluster to work with, None where none is named."""
    if address is None:
        yield None
        return
    from decloak.dask_cluster import DaskCluster  # most runs have none

    cluster = DaskCluster(check_address(address, allow_send))
    try:
        yield cluster
    finally:
        cluster.close()
