"""`decloak serve` shows a copy of the store in which no original data are, on this machine or with a token."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

import pytest

import decloak
from decloak.commands.serve import TIME_LIMIT, VIEWS, listen, metadata, published_copy
from decloak.data.generators.clinic import generate
from decloak.errors import DecloakError
from decloak.store.documentation import questions, schema_tables

CANARY = "secret canary"
TOKEN = "abcdefgh12345678"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store of two runs; the canary is in the original data and suppressed in the release."""
    rows = [list(row) for row in generate(80, 3).transactions]
    path = tmp_path_factory.mktemp("serve") / "store.db"
    rows[0].append(CANARY)
    common = {"attack": ["random"], "attacker": {"knows": ["release"]}, "measure": ["accuracy", "exposure"]}
    chunks = {"scenario": "chunks", "anonymise": {"method": "disassociation", "k": 3, "m": 2}, **common}
    decloak.run(chunks, data=[row for row in rows if CANARY not in row], store=path)
    suppressed = {"method": "coat", "k": 5, "privacy": [[CANARY]], "utility": [rows[0][:2]]}
    tables = {"scenario": "sets", "anonymise": suppressed, "measure": ["exposure"], "attack": ["selftrained_sure"]}
    decloak.run({**tables, "attacker": {"knows": ["release"]}}, data=rows, store=path)
    return path


def test_the_copy_has_no_truth_no_originals_and_no_hidden_name(store, tmp_path):
    assert CANARY.encode() in store.read_bytes()
    published_copy(store, tmp_path / "copy.db")
    assert CANARY.encode() not in (tmp_path / "copy.db").read_bytes()
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    copy = sqlite3.connect(tmp_path / "copy.db")
    names = [name for (name,) in copy.execute("select name from sqlite_master")]
    assert not [name for name in names if name.startswith("truth_")]
    assert copy.execute("select count(*) from dataset where kind <> 'published'").fetchone() == (0,)
    of_releases = "select count(*) from record where dataset not in (select dataset from release)"
    assert copy.execute(of_releases).fetchone() == (0,)
    assert copy.execute("select count(*) from knowledge").fetchone() == (0,)
    for name, kind in copy.execute("select name, type from sqlite_master where type in ('table', 'view')").fetchall():
        assert copy.execute(f"select count(*) from {name}").fetchone(), kind
    config = json.loads(copy.execute("select config from run where scenario = 'sets'").fetchone()[0])
    assert config["anonymise"]["privacy"] == 1
    copy.close()


def test_every_question_and_description_of_the_site_is_from_the_store_itself():
    tables = [table.name for table in schema_tables()]
    database = metadata(tables, report=True)["databases"]["store"]
    assert database["tables"].keys() == set(tables)
    assert set(VIEWS) <= set(tables)
    assert len(database["queries"]) == len(questions()) - 2
    for described in database["tables"].values():
        for facet in described.get("facets", ()):
            assert facet in described["columns"]
        assert described.get("label_column", next(iter(described["columns"]))) in described["columns"]


@contextmanager
def served(store, *options):
    """The address of a running server."""
    command = [sys.executable, "-m", "decloak", "serve", "--store", str(store), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1)
    try:
        line = process.stdout.readline()
        yield urlsplit(re.match(r"(\S+)", line)[1])
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        process.stdout.close()


def get(address, path, method="GET", **headers):
    """The status, the headers and the text of an answer."""
    connection = HTTPConnection("127.0.0.1", address.port, timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return found


def test_pages_are_served_and_truth_is_refused(store):
    with served(store) as address:
        status, _, home = get(address, "/")
        assert status == 200
        assert "/report/index.html" in home
        status, _, report = get(address, "/report/index.html")
        assert status == 200
        assert "<title>" in report
        assert CANARY not in report
        for view in VIEWS:
            status, _, page = get(address, f"/store/{view}")
            assert status == 200
            assert "SQL Interrupted" not in page
        asked = {"run": 1, "record": "0.0", "first": 1, "second": 2, "measure": "accuracy"}
        for question in questions():
            status, _, page = get(address, f"/store/{question.name}.json?{urlencode(asked)}")
            assert status == (403 if question.name.startswith("truth_") else 200), page
        for path in ("truth_origin", "truth_origin.json", "truth_origin/1", "TRUTH_origin", "%74ruth_finding?_size=1"):
            status, _, text = get(address, f"/store/{path}")
            assert (status, text) == (403, "tables truth_* are not served"), path
        for sql in (
            "select * from truth_origin",
            "attach 'store.db' as a",
            "delete from run",
            "select * from truth_finding",
        ):
            assert get(address, f"/store.json?{urlencode({'sql': sql})}")[0] == 400
        everything = "select group_concat(name) from item"
        assert CANARY not in get(address, f"/store.json?{urlencode({'sql': everything})}")[2]
        assert get(address, "/store.db")[0] == 403
        assert get(address, "/", method="POST")[0] == 405
        assert get(address, "/", Host="attacker.example")[0] == 421
        slow = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
        assert "interrupted" in get(address, f"/store.json?{urlencode({'sql': slow})}&_timelimit=200")[2].lower()


def test_visitors_from_elsewhere_need_the_token(store):
    with served(store, "--host", "0.0.0.0", "--token", TOKEN) as address:
        assert get(address, "/")[0] == 401
        assert get(address, "/report/index.html")[0] == 401
        assert get(address, "/?token=wrong")[0] == 401
        status, headers, _ = get(address, f"/?token={TOKEN}")
        assert status == 303
        cookie = headers["set-cookie"].partition(";")[0]
        assert "HttpOnly" in headers["set-cookie"]
        assert get(address, "/store", Cookie=cookie)[0] == 200
        assert get(address, "/store", Cookie="decloak_token=wrong; \xff")[0] == 401


@pytest.mark.parametrize(
    ("host", "token", "message"),
    [
        ("0.0.0.0", None, "--host: '0.0.0.0' is not this machine; add --token TOKEN for visitors"),
        ("0.0.0.0", "short", "--token: not a token; use 16 letters and digits or more"),
        ("127.0.0.1", "with blanks and $igns", "--token: not a token; use 16 letters and digits or more"),
        ("203.0.113.1", TOKEN, "203.0.113.1:1: cannot listen: "),
    ],
)
def test_no_address_is_open_by_mistake(host, token, message):
    with pytest.raises(DecloakError) as error:
        listen(host, 1, token)
    assert str(error.value).startswith(message)


def test_a_port_in_use_is_named():
    with listen("127.0.0.1", 0, None) as first:
        port = first.getsockname()[1]
        with pytest.raises(DecloakError, match=rf"127\.0\.0\.1:{port}: cannot listen: .*; choose another --port"):
            listen("127.0.0.1", port, None)
    assert TIME_LIMIT >= 1_000
