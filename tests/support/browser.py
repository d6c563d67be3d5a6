"""Chromium over its own pipe: a page is opened, scripts are asked, and all that it logs or requests is kept."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import F_DUPFD, fcntl
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Browser", "browser"]

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
)  # fmt: skip


class Browser:
    """One tab; `events` are the protocol's events since the last page was opened."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._rest, self._last = write, read, b"", 0
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a command of the protocol."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._last:
            self.events.append(answer)
        assert "error" not in answer, answer
        return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            block = os.read(self._read, 1 << 20)
            assert block, "the browser is gone"
            self._rest += block
        text, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(text))

    def open(self, file: Path, width: int, height: int = 900, dark: bool = False) -> None:
        """Open a file in a window of a size, in light or dark, and wait until it is there."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=file.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def ask(self, script: str) -> Any:
        """What an expression of JavaScript comes to in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    @property
    def complaints(self) -> list[str]:
        """Everything that went to the console, and what the policy of a page refused."""
        named = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event) for event in self.events if event.get("method") in named]

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for, beside the page itself."""
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent if params["request"]["url"] != params["documentURL"]]


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with a profile in `folder`; a test that needs one is skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine: pages are not looked at in a browser")
    (there, write), (read, back) = os.pipe(), os.pipe()

    def pipes() -> None:
        # The protocol is spoken on 3 and 4; both are moved out of the way of each other first.
        ends = [fcntl(end, F_DUPFD, 100) for end in (there, back)]
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    command = [program, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, preexec_fn=pipes, close_fds=False, **quiet)
    os.close(there)
    os.close(back)
    try:
        yield Browser(write, read)
    finally:
        process.kill()
        process.wait()
        os.close(write)
        os.close(read)
