"""Calls of functions on a Dask cluster: a function and its arguments go there, and the result returns.

Dask repeats a call whose worker was lost on another worker. If the scheduler is lost, the run ends with an error in one
line. Dask sends pickles: a scheduler can make this process run anything. So the cluster is on this machine, or
`--allow-send` names its host.
"""

import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_address
from platform import python_version
from typing import TYPE_CHECKING, Any

from decloak.errors import DecloakError, quote
from decloak.extras import install
from decloak.fingerprints import whole_fingerprint
from decloak.parallel import Cluster, ClusterError, Result
from decloak.plugins import installed
from decloak.relate.sending import check_resolved_addresses, is_host_allowed
from decloak.version import __version__

if TYPE_CHECKING:
    from concurrent.futures import Future

PATIENCE = 10
"""Seconds to wait for a scheduler, and for its first worker."""
SAME = ("numpy", "scipy")
"""Packages that need the same version everywhere, so that floats are equal to the bit."""
_GOES_ON = "what was finished is kept: start the cluster again, and run it again to go on"
_LOGGERS = ("distributed", "distributed.client", "distributed.core", "tornado.application", "asyncio")


def _versions() -> dict[str, str]:
    """Return what must be the same everywhere: other sources of decloak would give the results of other code."""
    versions = {
        "decloak": f"{__version__} ({whole_fingerprint()[:8]})",
        "Python": ".".join(python_version().split(".")[:2]),
    }
    for package in SAME:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions | {plugin.package: plugin.version for plugin in installed()}


def call_here(versions: dict[str, str], content: bytes) -> bytes:
    """Call a pickled function with its arguments on a worker; return its pickled result or error."""
    # Versions come first: with other sources, even to unpickle the call may fail or mislead.
    own = _versions()
    for package, required in versions.items():
        if own.get(package) != required:
            message = f"a worker of the cluster has {package} {own.get(package, 'not at all')}, this is {required}"
            raise ClusterError(message, "--dask", "install the same versions everywhere")
    function, arguments = pickle.loads(content)
    try:
        return pickle.dumps((True, function(*arguments)), protocol=5)
    except Exception as error:  # an error of the function, not of Dask
        return pickle.dumps((False, error), protocol=5)


class DaskCluster:
    """A connection to the scheduler of a cluster; several threads may use it."""

    def __init__(self, address: str) -> None:
        import logging

        try:
            self._dask = import_module("distributed")
        except ImportError:
            raise ClusterError("a cluster needs dask.distributed", "--dask", install("dask")) from None
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # every fault is reported once, as an error
        self.address = address
        # Certificates are read from Dask's own settings.
        security = self._dask.Security() if address.startswith("tls://") else None
        try:
            self._client = self._dask.Client(address, timeout=PATIENCE, security=security, set_as_default=False)
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            if getattr(self, "_client", None) is not None:
                self.close()
                raise ClusterError(f"no worker at {address}", "--dask", f"start some: dask worker {address}") from None
            message = f"no scheduler of Dask answers at {quote(address, 200)[1:-1]}: {quote(error, 200)[1:-1]}"
            raise ClusterError(message, "--dask", "start one with `dask scheduler`, or name another") from None
        self._executor = self._client.get_executor(pure=False)
        self._closed = False
        # Records and distances are large. Dask would print a warning with advice for its own collections.
        warnings.filterwarnings("ignore", message="Sending large graph")

    @property
    def threads(self) -> int:
        """Return how many calls the cluster works on at a time."""
        return max(1, int(sum(self._client.nthreads().values())))

    def call(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Return what `function` returns for `arguments` on some worker."""
        return next(self.results(function, [arguments]))

    def results(self, function: Callable[..., Result], tasks: Sequence[tuple[object, ...]]) -> Iterator[Result]:
        """Yield what `function` returns for the arguments of each task, in their order; none is kept here."""
        cloudpickle = import_module("cloudpickle")  # formulas of rules are functions without a name
        versions = _versions()
        calls = [
            self._executor.submit(call_here, versions, cloudpickle.dumps((function, arguments), protocol=5))
            for arguments in tasks
        ]
        while calls:
            yield self._result(calls.pop(0))

    def _result(self, call: "Future[bytes]") -> Any:
        from concurrent.futures import CancelledError

        try:
            succeeded, value = pickle.loads(self._poll(call))
        except self._dask.KilledWorker:
            hint = "use workers with more memory, or more workers, and run it again to continue"
            raise ClusterError("a piece of this run ended every worker that took it", "--dask", hint) from None
        except (ModuleNotFoundError, AttributeError) as error:
            message = f"the workers of the cluster have no decloak {__version__}: {quote(error, 200)[1:-1]}"
            raise ClusterError(message, "--dask", "install the same version everywhere") from None
        except (CancelledError, OSError, TimeoutError):
            self._check()
            raise ClusterError("the cluster has lost a piece of this run", "--dask", _GOES_ON) from None
        if not succeeded:
            raise value
        return value

    def _poll(self, call: "Future[bytes]") -> bytes:
        """Return the result of a call; look every second whether the scheduler is still there."""
        while True:
            try:
                return call.result(timeout=1)
            except TimeoutError:
                if call.done():
                    raise
                self._check()

    def _check(self) -> None:
        """Raise an error if the scheduler is gone, or this connection was closed."""
        if self._closed or self._client.status != "running":
            raise ClusterError(f"the scheduler at {self.address} is gone", "--dask", _GOES_ON)

    def close(self) -> None:
        """End the connection, and leave the cluster as it was."""
        self._closed = True
        with suppress(Exception):  # the scheduler may be gone
            self._client.close(timeout=2)


_ADDRESS = re.compile(
    r"(?:(?P<scheme>tcp|tls)://)?(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):(?P<port>[0-9]{1,5})"
)


def check_address(address: str, allow_send: Sequence[str]) -> str:
    """Return the address of a scheduler as Dask reads it; raise an error without permission to send records there.

    Dask sends pickles both ways, and the sender of a pickle can run any code there. So it must use TLS or be
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
    """Connect to a cluster; yield None if none is named."""
    if address is None:
        yield None
        return

    cluster = DaskCluster(check_address(address, allow_send))
    try:
        yield cluster
    finally:
        cluster.close()
