"""Pieces of work on a Dask cluster: a function and what it is given go there, what it gives comes back.

Arrays go in chunks, each once however many pieces need it. A piece whose worker was lost goes to another; where the
scheduler is lost the run ends in a line. Whoever can answer in the scheduler's place can have this process run what he
likes, as Dask sends pickles: `relate.sending` and `runs.clusters` see to it who that may be.
"""

import hashlib
import logging
import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any

from decloak.cells.shapes import ClusterError
from decloak.errors import shown
from decloak.extras import install
from decloak.fingerprints import of_everything
from decloak.version import __version__

__all__ = ["DaskCluster"]

CHUNK = 1 << 24
"""Bytes of a chunk."""
TRIES = 5
"""How often a piece is sent whose chunks were lost with a worker."""
PATIENCE = 10
"""Seconds to wait for a scheduler, and for the first of its workers."""
SAME = ("numpy", "scipy")
"""What has to be of one version everywhere, so that floats come out the same to the bit."""
_GOES_ON = "what was finished is kept: start the cluster again, and run it again to go on"


def _versions() -> dict[str, str]:
    """What has to be the same everywhere; workers with other sources of decloak would give results of other code."""
    versions = {
        "decloak": f"{__version__} ({of_everything()[:8]})",
        "Python": ".".join(python_version().split(".")[:2]),
    }
    for package in SAME:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def piece(versions: dict[str, str], parts: Sequence[int], content: bytes, *chunks: bytes) -> bytes:
    """Run a piece on a worker: `content` is pickled, with arrays that are joined of so many chunks each."""
    own = _versions()
    for package, required in versions.items():
        if own.get(package) != required:
            message = f"a worker of the cluster has {package} {own.get(package, 'not at all')}, this is {required}"
            raise ClusterError(message, "--dask", "install the same versions everywhere")
    each = iter(chunks)
    buffers = [bytearray().join(next(each) for _ in range(count)) for count in parts]
    function, arguments = pickle.loads(content, buffers=buffers)
    try:
        return pickle.dumps((True, function(*arguments)), protocol=5)
    except Exception as error:  # it is the piece's own: what Dask itself raises is another matter
        return pickle.dumps((False, error), protocol=5)


class DaskCluster:
    """A connection to the scheduler of a cluster; many threads may use it."""

    def __init__(self, address: str) -> None:
        try:
            self._dask: Any = import_module("distributed")
        except ImportError:
            raise ClusterError("a cluster needs dask.distributed", "--dask", install("dask")) from None
        for name in ("distributed", "distributed.client", "distributed.core", "tornado.application", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # what goes wrong is told once, by us
        self.address = address
        security = (
            self._dask.Security() if address.startswith("tls://") else None
        )  # certificates as Dask's own settings say
        try:
            self._client: Any = self._dask.Client(address, timeout=PATIENCE, security=security, set_as_default=False)
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            if getattr(self, "_client", None) is not None:
                self.close()
                raise ClusterError(f"no worker at {address}", "--dask", f"start some: dask worker {address}") from None
            message = f"no scheduler of Dask answers at {shown(address, 200)[1:-1]}: {shown(error, 200)[1:-1]}"
            raise ClusterError(message, "--dask", "start one with `dask scheduler`, or name another") from None
        self._chunks: dict[bytes, Any] = {}
        self._lock = threading.Lock()
        self._closed = False

    @property
    def threads(self) -> int:
        """How many pieces are worked on at a time."""
        return max(1, int(sum(self._client.nthreads().values())))

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function gives on some worker."""
        return self.map(function, [arguments])[0]

    def map(self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What it gives for the arguments of each task, in their order."""
        packed = [_packed(function, arguments) for arguments in tasks]
        futures: list[Any] = [None] * len(tasks)
        return [self._result(futures, packed, place) for place in range(len(tasks))]

    def _result(self, futures: list[Any], packed: Sequence[tuple[bytes, list[list[bytes]]]], place: int) -> Any:
        for _ in range(TRIES):
            try:
                for later in range(place, len(futures)):
                    futures[later] = futures[later] or self._sent(*packed[later])
                content = self._waited(futures[place])
                break
            except self._dask.KilledWorker:
                hint = "give the workers more memory, or more of them; what was finished is kept: run it again to go on"
                raise ClusterError("a piece of this run ended every worker that took it", "--dask", hint) from None
            except (ModuleNotFoundError, AttributeError) as error:
                message = f"the workers of the cluster have no decloak {__version__}: {shown(error, 200)[1:-1]}"
                raise ClusterError(message, "--dask", "install the same version everywhere") from None
            except (CancelledError, OSError, TimeoutError):
                self._check()
                with self._lock:  # the chunks may have been lost with a worker
                    self._chunks.clear()
                futures[place:] = [None] * (len(futures) - place)
        else:
            raise ClusterError("the cluster loses its workers again and again", "--dask", _GOES_ON)
        futures[place] = None
        done, value = pickle.loads(content)
        if not done:
            raise value
        return value

    def _sent(self, content: bytes, buffers: Sequence[Sequence[bytes]]) -> Any:
        chunks = [self._chunk(chunk) for buffer in buffers for chunk in buffer]
        parts = [len(buffer) for buffer in buffers]
        return self._client.submit(piece, _versions(), parts, content, *chunks, pure=False)

    def _chunk(self, content: bytes) -> Any:
        key = hashlib.sha256(content).digest()
        with self._lock:
            if key not in self._chunks:
                self._chunks[key] = self._client.scatter(content, hash=False)
            return self._chunks[key]

    def _waited(self, future: Any) -> bytes:
        while True:
            try:
                content: bytes = future.result(timeout=1)
                return content
            except TimeoutError:
                if future.done():
                    raise
                self._check()

    def _check(self) -> None:
        """Raise what there is to say where the scheduler is gone, or nobody waits any more."""
        if self._closed or self._client.status != "running":
            raise ClusterError(f"the scheduler at {self.address} is gone", "--dask", _GOES_ON)

    def close(self) -> None:
        """Leave the cluster as it is, without what was sent there."""
        self._closed = True
        with suppress(Exception):  # there may be nobody left to say it to
            self._client.close(timeout=2)


def _packed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bytes, list[list[bytes]]]:
    """A function and what it is given: pickled, and of each array its chunks."""
    cloudpickle: Any = import_module("cloudpickle")  # formulas of rules are functions without a name
    buffers: list[pickle.PickleBuffer] = []
    content: bytes = cloudpickle.dumps((function, arguments), protocol=5, buffer_callback=buffers.append)
    return content, [_chunks(buffer.raw()) for buffer in buffers]


def _chunks(raw: memoryview) -> list[bytes]:
    return [bytes(raw[begin : begin + CHUNK]) for begin in range(0, len(raw), CHUNK)]
