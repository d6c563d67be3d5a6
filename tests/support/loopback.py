"""Search services on this machine, over real HTTP: a few texts behind the faces of four kinds, and their failures.

The path chooses the face: /wiki/api.php is a MediaWiki, /texts/_count an Elasticsearch, /search a SearXNG, /json any
other. Each request takes the next of `faults`, if there is one, which answers in its place or lets it pass.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from decloak.relate.sending import allow_hosts

TEXTS = (
    "The flu: fever and cough.",
    "A cough, a cold, no fever; no heart disease.",
    "Disease of the heart, with a cough",
    "An X-ray of the chest shows the heart.",
    "NOT a word about it, and nothing more",
)


class Asked(NamedTuple):
    """A request: its path, what was searched for ("*" for everything), its headers."""

    path: str
    query: str
    headers: Message


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Loopback"

    def do_GET(self) -> None:
        self.handle_asked(b"")

    def do_POST(self) -> None:
        self.handle_asked(self.rfile.read(int(self.headers["Content-Length"])))

    def handle_asked(self, body: bytes) -> None:
        face = next((one for path, one in FACES.items() if self.path.startswith(path)), None)
        query, answer = (lambda _, __: ("?", None))(self, body) if face is None else face(self, body)
        asked = Asked(self.path, query, self.headers)
        with self.server.lock:
            self.server.asked.append(asked)
            fault = self.server.faults.pop(0) if self.server.faults else None
        if fault is not None and fault(self) is not PASS:
            return
        with self.server.lock:
            self.server.answered.append(query)
        self.answer(200 if answer is not None else 404, json.dumps(answer).encode())

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(body), **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


PASS = object()
Fault = Callable[[Handler], object]


class Loopback(ThreadingHTTPServer):
    """The server: what it was asked, what it answered, and which faults come next."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.asked: list[Asked] = []
        self.answered: list[str] = []
        self.faults: list[Fault] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def queries(self) -> list[str]:
        return [one.query for one in self.asked]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what half of the tests are about."""


@contextmanager
def serving(*, allowed: bool = True) -> Iterator[Loopback]:
    """A server that runs until the block ends, whatever its handlers wait for; `allowed` lets words be sent to it."""
    with Loopback() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.002})
        thread.start()
        try:
            with allow_hosts([urlsplit(server.url).netloc] if allowed else []):
                yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def holds(text: str, phrase: str) -> bool:
    return f" {' '.join(tokens(phrase))} " in f" {' '.join(tokens(text))} "


def hits(query: str) -> int:
    """How many texts hold every phrase in quotes and every word beside them; AND is no word."""
    parts = [phrase or word for phrase, word in re.findall(r'"([^"]*)"|(\S+)', query) if word != "AND"]
    return sum(all(holds(text, part) for part in parts) for text in TEXTS)


def mediawiki(handler: Handler, _: bytes) -> tuple[str, object]:
    asked = {name: value for name, (value,) in parse_qs(urlsplit(handler.path).query).items()}
    assert (asked["action"], asked["format"]) == ("query", "json")
    if asked.get("meta") == "siteinfo":
        return "*", {"query": {"statistics": {"pages": 77, "articles": len(TEXTS)}}}
    found = hits(asked["srsearch"])
    return asked["srsearch"], {"batchcomplete": "", "query": {"searchinfo": {"totalhits": found}, "search": []}}


def elasticsearch(handler: Handler, body: bytes) -> tuple[str, object]:
    assert handler.headers["Content-Type"] == "application/json"
    query = json.loads(body)["query"]
    found = sum(all(matches(clause, text) for clause in query.get("bool", {}).get("must", ())) for text in TEXTS)
    answer = {"count": found, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}}
    return "*" if "match_all" in query else json.dumps(query, sort_keys=True), answer


def matches(clause: dict, text: str) -> bool:
    if "match_phrase" in clause:
        return holds(text, clause["match_phrase"]["text"])
    assert clause["match"]["text"]["operator"] == "and"
    return all(holds(text, word) for word in clause["match"]["text"]["query"].split())


def searxng(handler: Handler, _: bytes) -> tuple[str, object]:
    asked = parse_qs(urlsplit(handler.path).query)
    assert asked["format"] == ["json"]
    (query,) = asked["q"]
    return query, {"query": query, "number_of_results": hits(query), "results": [], "unresponsive_engines": []}


def other(handler: Handler, _: bytes) -> tuple[str, object]:
    (query,) = parse_qs(urlsplit(handler.path).query)["q"]
    return query, {"hits": [{"total": {"value": hits(query)}}]}


def model(handler: Handler, body: bytes) -> tuple[str, object]:
    """Vectors that have a place for every letter: terms of the same letters are near each other."""
    asked = json.loads(body)
    vectors = [
        [float(term.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for term in asked["input"]
    ]
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return ", ".join(asked["input"]), {"object": "list", "model": asked["model"], "data": data[::-1]}


FACES = {
    "/v1/embeddings": model,
    "/wiki/api.php?": mediawiki,
    "/texts/_count": elasticsearch,
    "/search?": searxng,
    "/json?": other,
}


def status(code: int, **headers: str) -> Fault:
    """Answer with this status; Retry_After="3" is the header Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.answer(code, b"{}", named)


def body(content: bytes, **headers: str) -> Fault:
    """Answer 200 with this body."""
    return lambda handler: handler.answer(200, content, headers)


def raw(content: bytes) -> Fault:
    """Write these bytes in place of an HTTP answer, and close."""

    def write(handler: Handler) -> None:
        handler.wfile.write(content)
        handler.close_connection = True

    return write


def truncated(handler: Handler) -> None:
    """Guarantee a thousand bytes, send a few, and close."""
    raw(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"query": {"searchinfo"')(handler)


def slow(handler: Handler) -> None:
    """Do not answer as long as the server runs."""
    handler.server.closing.wait()


def dripping(handler: Handler) -> None:
    """Answer a byte at a time, soon enough that no single wait is long."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b" ")


def dripping_head(handler: Handler) -> None:
    """Never come to the end of the first header."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b"x")


def fine(_: Handler) -> object:
    """No fault at this request."""
    return PASS
