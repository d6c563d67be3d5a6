"""`serve`: the store in a browser, as a copy without original data, served by Datasette behind a gate."""

import hmac
import json
import os
import socket
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import closing, suppress
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs

import click

from decloak import ending
from decloak.commands.options import store_option
from decloak.errors import DecloakError, quote
from decloak.extras import install
from decloak.report.terminal import say
from decloak.store.documentation import questions, schema_tables
from decloak.store.inserting import quoted
from decloak.store.opening import connect_readonly
from decloak.store.results import chosen_runs, last_requests

NAME = "store"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
TIME_LIMIT = 5_000
"""Milliseconds of a query."""
SHORTEST_TOKEN = 16
"""Least number of characters of a token."""
LABELS = {
    "dataset": "origin", "item": "name", "release": "method", "generalised": "label", "rule": "name", "run": "variant",
    "concept": "label", "figure": "title", "hierarchy": "origin", "relatedness": "measure", "attacker": "model",
}  # fmt: skip
"""The column that stands for a row where another table refers to it."""
VIEWS = ("named_result", "exposed_record", "exposed_item", "named_finding", "run_change")
"""The views that the first page links."""
FACETS = {
    "named_result": ["variant", "attack", "unit"], "result": ["variant", "attack"], "figure": ["unit", "direction"],
    "run": ["scenario", "variant"], "measurement": ["family"], "chunk": ["kind"],
}  # fmt: skip
TRUTH = """\
delete from knowledge;
delete from dataset where kind = 'original';
delete from item where id not in (select item from published_item union select item from published_itemset_item);
delete from generalised where id not in (select generalised from published_as);
delete from concept where id not in (select concept from published_concept);
delete from scored_item where item not in (select id from item);
update scored_item set scores = (
  select json_group_object(key, value) from json_each(scores) where CAST(key AS INTEGER) in (select id from item));
delete from unit where exists (select 1 from json_each(items) where value not in (select name from item));
delete from counted where term not in (select name from item);
delete from counted_pair where a not in (select id from counted) or b not in (select id from counted);
update dataset set note = null;
update release set notes = '[]';
update relatedness set warnings = '[]';
update attacker set note = null;
update measurement set note = null;
update attack set parameters = json_remove(parameters, '$.notes');
delete from stage_time;
delete from seal;
"""
"""Statements that delete what was not published: records, itemsets of people, names, and notes that may have names."""

Scope = Mapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


def published_copy(store: Path, target: Path) -> None:
    """Write a copy of `store` to `target` without tables truth_*, original records and hidden names."""
    # Made here with these rights: SQLite would let other users read the file.
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(connect_readonly(store)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        # Parents go before the rows that refer to them.
        copy.execute("pragma foreign_keys = off")
        names = copy.execute("select name, type from sqlite_master where type in ('table', 'view')").fetchall()
        for name, kind in names:
            if kind == "view" and name.startswith("truth_"):
                copy.execute(f"drop view {quoted(name)}")
        for name, kind in names:
            if kind == "table" and name.startswith("truth_"):
                copy.execute(f"drop table {quoted(name)}")
        copy.execute("create temp table original as select id from dataset where kind = 'original'")
        copy.executescript(f"delete from record where dataset in original;\n{TRUTH}")
        copy.execute("delete from knows where knowledge not in (select id from knowledge)")
        for number, config in copy.execute("select id, config from run").fetchall():
            copy.execute("update run set config = ? where id = ?", (json.dumps(_counted(json.loads(config))), number))
        copy.commit()
        # Datasette opens the file as immutable, without the log beside it.
        copy.execute("pragma journal_mode = delete")
        # Deleted rows would stay readable in free pages.
        copy.execute("vacuum")


def _counted(config: Any) -> Any:
    """Return `config` with the length of each list in its place: a list may have names of hidden items."""
    if isinstance(config, dict):
        return {key: _counted(value) for key, value in config.items()}
    return len(config) if isinstance(config, list) else config


def metadata(tables: Iterable[str], report: bool) -> dict[str, Any]:
    """Return the settings of Datasette for these `tables`: descriptions, labels, facets and queries.

    With `report`, the first page links the report.
    """
    there = set(tables)
    described = {
        table.name: {
            "description": table.meaning,
            "columns": {column.name: column.meaning for column in table.columns},
            **({"label_column": LABELS[table.name]} if table.name in LABELS else {}),
            **({"facets": FACETS[table.name]} if table.name in FACETS else {}),
        }
        for table in schema_tables()
        if table.name in there
    }
    asked = {
        question.name: {"sql": question.sql, "title": question.title}
        for question in questions()
        if not question.name.startswith("truth_")
    }
    report_link = '<p><a href="/report/index.html">Report of the last run</a></p>' if report else ""
    links = ", ".join(f'<a href="/{NAME}/{view}">{view}</a>' for view in VIEWS)
    note = f"<p>A copy of the store without original data, from the start of the server. Views for people: {links}.</p>"
    return {
        "title": "decloak",
        "description_html": f'{report_link}<p><a href="/{NAME}">Questions, tables and views</a></p>{note}',
        "databases": {NAME: {"tables": described, "queries": asked, "description_html": note}},
    }


class Gate:
    """An ASGI application that asks for a `token`, and refuses tables truth_* and names of hosts that are not its own.

    A page of another site could otherwise read the store through a host name that it controls. Without a token, only
    names of this machine are served.
    """

    def __init__(self, app: App, token: str | None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        # A page of another site can make its own name lead to this machine.
        if self.token is None and _host(headers.get(b"host", "")) not in LOOPBACK:
            await _answer(send, 421, b"wrong host name", {})
        elif scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, b"this server is read-only", {})
        elif self.token is not None and given and self._is_token(given):
            # The token leaves the address, which browsers keep in their history.
            cookie = f"decloak_token={self.token}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, b"", {b"location": b"/", b"set-cookie": cookie.encode()})
        elif self.token is not None and not self._is_token(_cookie(headers.get(b"cookie", ""))):
            await _answer(send, 401, b"open the address with ?token=", {})
        elif any(name.startswith("truth_") for name in scope["path"].lower().split("/")[1:3]):
            # The copy has no such table, so that no query reads one. The answer says that this is no mistake.
            await _answer(send, 403, b"tables truth_* are not served", {})
        else:
            await self.app(scope, receive, send)

    def _is_token(self, token: str) -> bool:
        # Takes equally long for every guess, so that time does not reveal a part of the token.
        return hmac.compare_digest(token.encode(), str(self.token).encode())


def _host(value: str) -> str:
    """Return the name in a header Host, without its port and brackets."""
    return value.rpartition("]")[0].lstrip("[") if value.startswith("[") else value.partition(":")[0].lower()


def _cookie(value: str) -> str:
    with suppress(CookieError, KeyError):
        return SimpleCookie(value)["decloak_token"].value
    return ""


async def _answer(send: Any, status: int, text: bytes, headers: Mapping[bytes, bytes]) -> None:
    shown = [(b"content-type", b"text/plain; charset=utf-8"), *headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": shown})
    await send({"type": "http.response.body", "body": text})


def site(store: Path, folder: Path, token: str | None) -> Gate:
    """Return the site of `store`, with its copy and the report of its last run in `folder`, behind a gate."""
    try:
        datasette = import_module("datasette.app").Datasette
        # With rich, Datasette prints every mistake of a visitor with all local variables to the terminal.
        vars(import_module("datasette.handle_exception"))["rich"] = None
    except ImportError:
        raise DecloakError("a store in the browser needs datasette", hint=install("web")) from None
    # Datasette makes sqlite3 print what a callback raises, in the whole process. Ctrl-C in a query is no such fault.
    sqlite3.enable_callback_tracebacks(False)
    copy = folder / f"{NAME}.db"
    published_copy(store, copy)
    page = _page_of_last_run(store)
    pages = folder / "report"
    pages.mkdir()
    if page is not None:
        (pages / "index.html").write_text(page, encoding="utf-8")
    with closing(sqlite3.connect(copy)) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master")]
    served = datasette(
        immutables=[str(copy)],
        metadata=metadata(tables, page is not None),
        settings={"sql_time_limit_ms": TIME_LIMIT, "allow_download": False, "default_page_size": 50},
        static_mounts=[("report", str(pages))],
    )
    return Gate(served.app(), token)


def listen(host: str, port: int, token: str | None) -> socket.socket:
    """Return a socket at `host` and `port`; 0 is any free port. Another host than this machine needs a `token`."""
    if host not in LOOPBACK and token is None:
        raise DecloakError(f"{quote(host)} is not this machine", "--host", "add --token TOKEN for visitors")
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isalnum()):
        raise DecloakError("not a token", "--token", f"use {SHORTEST_TOKEN} letters and digits or more")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family)
    try:
        # Otherwise a port stays taken for a while after its server stopped.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen()
    except OSError as error:
        opened.close()
        where = f"{host}:{port}"
        raise DecloakError(f"cannot listen: {error.strerror or error}", where, "choose another --port") from None
    return opened


def _page_of_last_run(store: Path) -> str | None:
    """Return the page about the last run of `store` and its variants as HTML; None without a run, or without jinja2."""
    from decloak.report.assemble import page_of
    from decloak.report.page import rendered

    with closing(connect_readonly(store)) as connection:
        if not last_requests(connection, 1):
            return None
        try:
            return rendered(
                page_of(connection, store, chosen_runs(connection, ["last"]), evidence=False, originals=False)
            )
        except DecloakError:
            # The extra report is not installed, and the store can be served without the page.
            return None


@click.command("serve")
@store_option
@click.option("--port", type=click.IntRange(0, 65_535), default=8001, show_default=True, help="Port. 0: any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at. Others need --token.")
@click.option("--token", envvar="DECLOAK_TOKEN", help="16 letters and digits or more, which a visitor must give.")
def serve_command(store: Path, port: int, host: str, token: str | None) -> None:
    """Show the store in a browser, read-only, with Datasette.

    decloak serves a copy without the original data: no table truth_*, no original records, no names that were not
    published. SQL reads this copy alone. The copy is made at the start. It contains no later runs.

    The first page links the report of the last run. The database page lists queries for common questions.
    """
    with listen(host, port, token) as opened, TemporaryDirectory(prefix="decloak-") as folder:
        app = site(store, Path(folder), token)
        name = f"[{host}]" if ":" in host else host
        say(f"http://{name}:{opened.getsockname()[1]}/ (stop with Ctrl-C)")
        try:
            uvicorn = import_module("uvicorn")
            # An access log would contain the token of the first visit.
            config = uvicorn.Config(app, log_level="error", lifespan="off", access_log=False)
            uvicorn.Server(config).run(sockets=[opened])
        except KeyboardInterrupt:
            # Ctrl-C is the way to stop the server, and no failure.
            ending.forget()
