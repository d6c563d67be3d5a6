"""Search services as counters of documents: real HTTP to servers on this machine, and all the ways it can fail."""

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from email.utils import formatdate
from itertools import combinations
from pathlib import Path
from queue import Queue
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

import loopback
from decloak.data.document_counter import Query, unordered_pair
from decloak.errors import DecloakError, Faults
from decloak.relate.counting import CachedCounts
from decloak.relate.http_client import retry_after
from decloak.relate.ngd import distances
from decloak.relate.provider import MediaWiki, Provider, ProviderSource
from decloak.relate.registry import Relate
from decloak.relate.sending import Clock, allow_hosts
from decloak.store.counts import StoredCounts
from decloak.store.opening import open_store
from decloak.yaml.source import Source, check
from loopback import Loopback, body, dripping, dripping_head, fine, raw, serving, slow, status, truncated

KINDS = {
    "mediawiki": {"url": "/wiki/api.php"},
    "elasticsearch": {"url": "/texts/_count", "field": "text"},
    "searxng": {"url": "/search"},
    "json": {"url": "/json?lang=en&q={query}", "path": "hits.0.total.value"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
FLU = [Query("flu")]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serving() as server:
        yield server


class Watch:
    """A clock that a wait moves on at once, and that remembers every wait."""

    def __init__(self, today: float = 0.0) -> None:
        self.time = 1000.0
        self.waits: list[float] = []
        self.clock = Clock(lambda: self.time, self.wait, lambda: today)

    def wait(self, seconds: float) -> None:
        assert seconds > 0
        self.waits.append(seconds)
        self.time += seconds


def source_of(service: str, url: str, **options) -> ProviderSource:
    return ProviderSource(measure="ngd", source="provider", service=service, url=url, **options)


def settings_of(server: Loopback, kind: str = "mediawiki", **changes) -> ProviderSource:
    own = {**KINDS[kind], "url": server.url + KINDS[kind]["url"], "rate": 1000.0, "timeout": 5.0}
    return source_of(kind, **{**own, **changes})


def replace(source: ProviderSource, **changes) -> ProviderSource:
    return source.model_copy(update=changes)


def counts(settings: ProviderSource, queries=FLU, watch: Watch | None = None) -> list[int | None]:
    provider = Provider(settings, clock=(watch or Watch()).clock)
    return [count for batch in provider.single(queries) for count in batch.values()]


def failure(settings: ProviderSource, watch: Watch | None = None) -> str:
    with allow_hosts([urlsplit(settings.url).netloc]), pytest.raises(DecloakError) as caught:
        counts(settings, watch=watch)
    message = str(caught.value)
    assert "\n" not in message
    place = settings.url.partition("//")[2].partition("/")[0]
    assert message.startswith(f"http://{place}: "), message
    return message.removeprefix(f"http://{place}: ")


# What is asked, and what the answers are.


@every_kind
def test_a_service_counts_phrases_words_and_pairs(server, kind):
    provider = Provider(settings_of(server, kind))
    phrase, words, cough = Query("heart disease"), Query("heart disease", words=True), Query("cough")
    single = [phrase, words, cough, Query("influenza")]
    assert [dict(batch) for batch in provider.single(single)] == [
        {phrase: 1},
        {words: 2},
        {cough: 3},
        {Query("influenza"): 0},
    ]
    pairs = [unordered_pair(phrase, cough), unordered_pair(words, cough), unordered_pair(words, Query("x-ray"))]
    assert [count for batch in provider.joint(pairs) for count in batch.values()] == [1, 2, 0]


@pytest.mark.parametrize(("kind", "n"), [("mediawiki", 5), ("elasticsearch", 5), ("searxng", None), ("json", None)])
def test_n_is_asked_for_where_the_service_can_tell_it(server, kind, n):
    assert Provider(settings_of(server, kind)).n == n
    assert server.queries == ([] if n is None else ["*"])


def clause(term: str, words: bool = False) -> dict:
    return {"match": {"text": {"query": term, "operator": "and"}}} if words else {"match_phrase": {"text": term}}


def must(*clauses: dict) -> str:
    return json.dumps({"bool": {"must": clauses}}, sort_keys=True)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("mediawiki", ['"heart disease"', "x-ray not a", '"flu" heart disease']),
        ("searxng", ['"heart disease"', "x-ray not a", '"flu" heart disease']),
        ("json", ['"heart disease"', "x-ray AND not AND a", '"flu" AND heart AND disease']),
        (
            "elasticsearch",
            [
                must(clause("heart disease")),
                must(clause("x-ray not a", True)),
                must(clause("flu"), clause("heart disease", True)),
            ],
        ),
    ],
)
def test_what_a_service_is_asked(server, kind, expected):
    provider = Provider(settings_of(server, kind))
    list(provider.single([Query(" heart  disease"), Query("-X-ray NOT a*", words=True)]))
    list(provider.joint([(Query("flu"), Query("heart disease", words=True))]))
    assert server.queries == expected
    assert all(one.headers["User-Agent"].startswith("decloak/") for one in server.asked)


@pytest.mark.parametrize(
    "url", ["https://host/w/api.php", "http://host:81/w/api.php?uselang=de", "https://[::1]/w/api.php"]
)
@given(st.lists(st.tuples(st.text(min_size=1), st.booleans()), min_size=1, max_size=2))
def test_no_name_of_an_item_is_more_than_a_term(url, terms):
    queries = [Query(text, words) for text, words in terms]
    asked = MediaWiki(url, "").question(queries).url
    assert re.fullmatch(r"[\x21-\x7e]+", asked)
    assert asked.startswith(url)
    (search,) = parse_qs(urlsplit(asked).query, strict_parsing=True, keep_blank_values=True)["srsearch"]
    assert search.count('"') == 2 * sum(not words for _, words in terms)
    bare = re.sub(r'"[^"]*"', "", search)
    assert re.fullmatch(r"(\w+(['’.-]\w+)*| )*", bare)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\\*]", search)
    assert bare == bare.lower() or any(char.isupper() for char in bare.lower())


HOSTILE = [
    'a" OR "b',
    "a\r\nX-Evil: 1",
    "a&srlimit=500#x",
    "a%22+{query}",
    "\x00a\x1b[31m\ud800\u2028b",
    "日本 🤒 ﷽",
    "zz\\",
    "../../b?c",
]


def test_the_words_of_a_name_with_underscores_are_those_between_them(server):
    assert counts(settings_of(server), [Query("disease_heart"), Query("disease_heart", words=True)]) == [0, 2]


def test_a_path_leads_into_lists_by_any_number(server):
    server.faults = [body(b'{"hits": [{"total": [7]}]}')] * 2
    settings = settings_of(server, "json")
    assert counts(replace(settings, path="hits.0.total.0")) == [7]
    assert "the answer has no 'hits.999" in failure(replace(settings, path="hits." + "9" * 5000))


@every_kind
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("words", [False, True])
def test_a_hostile_name_reaches_the_service_as_a_term(server, kind, name, words):
    assert counts(settings_of(server, kind), [Query(name, words)]) == [0]
    (asked,) = server.asked
    assert "X-Evil" not in asked.headers
    assert sorted(asked.headers) == sorted(
        ["Accept-Encoding", "Host", "User-Agent", "Accept", "Connection"]
        + (["Content-Length", "Content-Type"] if kind == "elasticsearch" else [])
    )


@every_kind
@pytest.mark.parametrize("name", ["", " ", '"', "\x00", "***", "\ud800", "-", "__", "flu " * 80])
@pytest.mark.parametrize("words", [False, True])
def test_what_has_no_word_in_it_or_too_many_is_not_asked_for_and_has_no_count(server, kind, name, words):
    query = Query(name, words)
    provider = Provider(settings_of(server, kind))
    assert [*provider.single([query]), *provider.joint([(query, Query("flu"))])] == [
        {query: None},
        {(query, Query("flu")): None},
    ]
    assert server.asked == []


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ({"number_of_results": 0, "results": [{"url": "x"}]}, None),
        ({"number_of_results": 0, "results": []}, 0),
        ({"number_of_results": 7, "results": [{"url": "x"}], "unresponsive_engines": [["a", "timeout"]]}, 7),
    ],
)
def test_searxng_counts_when_an_engine_of_it_tells(server, answer, count):
    server.faults = [body(json.dumps(answer).encode())]
    assert counts(settings_of(server, "searxng")) == [count]


@pytest.mark.parametrize(("value", "count"), [("12", 12), ("null", None), ('"0123"', 123), ("-1", -1)])
def test_a_count_is_a_whole_number_a_numeral_or_nothing(server, value, count):
    server.faults = [body(b'{"hits": [{"total": {"value": ' + value.encode() + b"}}]}")]
    assert counts(settings_of(server, "json")) == [count]


# Failures that may pass.


def busy(info: bytes = b"too busy") -> loopback.Fault:
    return body(b'{"error": {"code": "cirrussearch-too-busy-error", "info": "' + info + b'"}}')


PASSING = {
    "429": (status(429), "answered 429 Too Many Requests"),
    "500": (status(500), "answered 500 Internal Server Error"),
    "502": (status(502), "answered 502 Bad Gateway"),
    "503": (status(503), "answered 503 Service Unavailable"),
    "504": (status(504), "answered 504 Gateway Timeout"),
    "truncated": (truncated, "an answer cut short"),
    "truncated chunks": (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}"), "an answer cut short"),
    "endless": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n{}"), "an answer cut short"),
    "slow": (slow, "no answer within 0.1 s"),
    "dripping": (dripping, "no answer within 0.1 s"),
    "dripping head": (dripping_head, "no answer within 0.1 s"),
    "closed": (raw(b""), "closed the connection without an answer"),
    "not HTTP": (raw(b"220 smtp.example.org ESMTP\r\n"), "an answer that is not HTTP"),
    "busy": (busy(), "answered 'cirrussearch-too-busy-error': 'too busy'"),
}


def timeout_of(name: str) -> float:
    return 0.1 if name in ("slow", "dripping", "dripping head") else 5


@pytest.mark.parametrize("name", PASSING)
def test_a_question_is_put_again_after_what_may_pass(server, name):
    fault, _ = PASSING[name]
    server.faults = [fault, fault]
    watch = Watch()
    provider = Provider(settings_of(server, timeout=timeout_of(name)), clock=watch.clock)
    assert [*provider.single(FLU)] == [{Query("flu"): 1}]
    assert server.queries == ['"flu"'] * 3
    assert [wait for wait in watch.waits if wait >= 1] == [1, 2]


@pytest.mark.parametrize("name", PASSING)
def test_what_does_not_pass_ends_the_run_in_one_line(server, name):
    fault, said = PASSING[name]
    server.faults = [fault] * 2
    provider = Provider(settings_of(server, retries=1, timeout=timeout_of(name)), clock=Watch().clock)
    with pytest.raises(DecloakError) as caught:
        list(provider.single(FLU))
    assert str(caught.value) == (
        f"{server.url}: {said}, after 2 tries (asked for 'flu'); run it again: what was counted is kept"
    )
    assert len(server.asked) == 2


def test_a_refused_connection_is_tried_again_and_then_told():
    with closing(socket.socket()) as bound:  # bound, not listening: nobody answers there, and nobody else can
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/api.php"
        watch = Watch()
        said = failure(source_of("mediawiki", url), watch)
    assert said.startswith("refused the connection, after 5 tries (asked for 'flu'); run it again")
    assert watch.waits == [1, 2, 4, 8]


def test_a_host_that_is_not_there_is_told():
    said = failure(source_of("mediawiki", "http://nowhere.invalid/api.php", retries=0))
    assert said.startswith("no host of this name was found, after 1 try")


def test_a_service_that_does_not_speak_tls_is_told(server):
    settings = settings_of(server, retries=0, url=server.url.replace("http:", "https:") + "/wiki/api.php")
    with pytest.raises(DecloakError, match=r"the connection failed \(SSLError\), after 1 try"):
        counts(settings)


def test_shards_and_engines_that_did_not_answer_are_asked_again(server):
    server.faults = [body(b'{"count": 0, "_shards": {"total": 3, "successful": 1, "failed": 2}}')]
    assert counts(settings_of(server, "elasticsearch")) == [1]
    server.faults = [body(b'{"number_of_results": 0, "results": [], "unresponsive_engines": [["x", "CAPTCHA"]]}')]
    assert counts(settings_of(server, "searxng")) == [1]
    assert len(server.asked) == 4


TODAY = 1_700_000_000


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("3", 3),
        (formatdate(TODAY + 7, usegmt=True), 7),
        (formatdate(TODAY - 7, usegmt=True), 1),
        ("0", 1),
        ("soon", 1),
        ("", 1),
        ("-5", 1),
        ("300", 300),
    ],
)
@pytest.mark.parametrize("code", [429, 503])
def test_a_service_is_left_alone_as_long_as_it_asks(server, header, wait, code):
    server.faults = [status(code, Retry_After=header)]
    watch = Watch(TODAY)
    assert counts(settings_of(server), watch=watch) == [1]
    assert watch.waits == [wait]


@pytest.mark.parametrize(("header", "waits"), [("1", [1, 2, 4]), ("3", [3, 3, 4]), ("5", [5, 5, 5])])
def test_a_service_that_asks_for_less_than_the_usual_wait_is_left_alone_as_long_as_usual(server, header, waits):
    server.faults = [status(503, Retry_After=header)] * 3
    watch = Watch(TODAY)
    assert counts(settings_of(server, retries=3), watch=watch) == [1]
    assert watch.waits == waits


@pytest.mark.parametrize("header", ["301", "9" * 400, formatdate(TODAY + 86_400, usegmt=True)])
def test_a_service_that_asks_for_too_long_a_wait_ends_the_run(server, header):
    server.faults = [status(429, Retry_After=header)]
    watch = Watch(TODAY)
    said = failure(settings_of(server), watch)
    assert re.match(r"answered 429 Too Many Requests and asks to wait (301|inf|86400) s .*; after that time run", said)
    assert (watch.waits, len(server.asked)) == ([], 1)


@given(st.text() | st.from_regex(r"(Mon, )?\d+ [JF]an \d+ \d+:\d+(:\d+)? [-+A-Z]\d*", fullmatch=True))
def test_any_retry_after_is_a_wait_or_none(header):
    assert retry_after(header, TODAY) >= 0


# Failures that do not pass.

FINAL = {
    "400": (status(400), "answered 400 Bad Request (asked for 'flu'); the service does not understand"),
    "401": (status(401), "answered 401 Unauthorized (asked for 'flu'); check the key in the header"),
    "403": (status(403), "answered 403 Forbidden (asked for 'flu'); check the key in the header"),
    "404": (status(404), "answered 404 Not Found (asked for 'flu'); check the url"),
    "418": (status(418), "answered 418 I'm a Teapot (asked for 'flu')"),
    "204": (status(204), "answered 204 No Content"),
    "unheard of": (raw(b"HTTP/1.1 799 \x1b[31mEvil\r\n\r\n"), "answered 799 (asked for 'flu')"),
    "not JSON": (body(b"<html>hello</html>"), "answered what is not JSON (asked for 'flu'); check service and url"),
    "short length": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}"), "answered what is not JSON"),
    "empty": (body(b""), "answered what is not JSON"),
    "not text": (body(b"\xff\xfe\x00\xd8"), "answered what is not JSON"),
    "deep": (body(b"[" * 100_000), "answered what is not JSON"),
    "a number too large": (body(b"9" * 5000), "answered what is not JSON"),
    "huge": (body(b'"' + b"x" * 2_000_000 + b'"'), "answered more than 1,000,000 bytes"),
    "no count": (body(b'{"query": {"pages": 1}}'), "the answer has no 'query.searchinfo.totalhits'; it has 'pages'"),
    "a list": (body(b"[]"), "the answer has no 'query.searchinfo.totalhits' (asked"),
    "a word": (body(b'{"query": {"searchinfo": {"totalhits": "many"}}}'), "'query.searchinfo.totalhits' of the answer"),
    "true": (body(b'{"query": {"searchinfo": {"totalhits": true}}}'), "'query.searchinfo.totalhits' of the answer"),
    "half": (body(b'{"query": {"searchinfo": {"totalhits": 0.5}}}'), "'query.searchinfo.totalhits' of the answer"),
    "too many": (
        body(b'{"query": {"searchinfo": {"totalhits": 1' + b"0" * 18 + b"}}}"),
        "'query.searchinfo.totalhits'",
    ),
    "an error": (
        body(b'{"error": {"code": "badvalue", "info": "a\\n\\u001b b"}}'),
        "answered 'badvalue': 'a\\x0a\\x1b b'",
    ),
}


@pytest.mark.parametrize("name", FINAL)
def test_what_will_not_pass_ends_the_run_at_once(server, name):
    fault, said = FINAL[name]
    server.faults = [fault]
    watch = Watch()
    message = failure(settings_of(server), watch)
    assert message.startswith(said), message
    assert ";" in message
    assert message.isprintable()
    assert (watch.waits, len(server.asked)) == ([], 1)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed_and_no_key_goes_elsewhere(server, monkeypatch, code):
    monkeypatch.setenv("DECLOAK_WIKI_KEY", "s3cret-value")
    with serving() as elsewhere:
        server.faults = [status(code, Location=f"{elsewhere.url}/w/api.php?token=s3cret-value")]
        message = failure(settings_of(server, headers={"Authorization": "DECLOAK_WIKI_KEY"}))
        assert f"a redirect to '{elsewhere.url}/w/api.php' (asked for 'flu'); write that url" in message
        assert "s3cret" not in message
        assert elsewhere.asked == []
    assert len(server.asked) == 1


@pytest.mark.parametrize("location", ["http://[", "", "file:///etc/passwd", "//x\x7f/y"])
def test_an_odd_redirect_is_told(server, location):
    server.faults = [status(302, Location=location)]
    assert "answered 302 Found, a redirect to " in failure(settings_of(server))


def test_a_proxy_that_cannot_be_used_is_told(server, monkeypatch):
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("http_proxy", "http:/proxy")
    assert failure(settings_of(server)).startswith("cannot be asked through the proxy")


# Keys.


def test_a_header_takes_its_value_from_the_environment_and_shows_it_to_nobody_else(server, monkeypatch, tmp_path):
    monkeypatch.setenv("DECLOAK_WIKI_KEY", "Bearer s3cret-value ")
    told = []
    settings = settings_of(server, headers={"Authorization": "DECLOAK_WIKI_KEY"}, retries=0)
    for faults in [[], *([fault] for fault, _ in [*FINAL.values(), PASSING["500"], PASSING["truncated"]])]:
        server.faults = faults
        with open_store(tmp_path / "store.db") as store:
            provider = Provider(settings)
            try:
                CachedCounts(provider, StoredCounts(store), n=9).counts([f"term {len(server.asked)}"])
            except DecloakError as error:
                told += [repr(error), str(error), repr(error.__cause__)]
            told += [provider.origin, repr(provider), repr(settings), repr(vars(settings))]
    assert len(server.asked) > len(FINAL)
    assert {one.headers["Authorization"] for one in server.asked} == {"Bearer s3cret-value"}
    assert not any("s3cret" in one for one in told)
    assert b"s3cret" not in (tmp_path / "store.db").read_bytes()


@pytest.mark.parametrize("key", ["Bearer s3cret-value", "s3cret/" + "value+" * 40, "s3c"])
@pytest.mark.parametrize(
    "answer",
    [
        lambda key: body(json.dumps({key: 1}).encode()),
        lambda key: body(json.dumps({"error": {"code": key, "info": f"no such key: {key}, {key}"}}).encode()),
        lambda key: body(json.dumps({"error": {"code": "maxlag", "info": [key]}}).encode()),
        lambda key: body(json.dumps({"error": {"code": 1, "info": "x" * 190 + " " + key}}).encode()),
        lambda key: body(json.dumps({"error": {"code": 1, "info": key.swapcase()}}).encode()),
        lambda key: status(302, Location=f"/w/{quote(key, safe='')}/api.php"),
        lambda key: status(302, Location=f"https://{key.split()[-1].replace('/', '')}.example.org/"),
    ],
)
def test_a_key_that_the_service_repeats_is_not_told(server, monkeypatch, key, answer):
    monkeypatch.setenv("DECLOAK_WIKI_KEY", key)
    server.faults = [answer(key)]
    message = failure(settings_of(server, headers={"Authorization": "DECLOAK_WIKI_KEY"}, retries=0))
    assert "s3c" not in message.lower()
    assert "…" in message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "headers: the environment variable DECLOAK_WIKI_KEY is not set"),
        (" ", "headers: the environment variable DECLOAK_WIKI_KEY is not set"),
        ("s3cret\r\nX-Evil: 1", "headers: no header can hold what is in the environment variable DECLOAK_WIKI_KEY"),
        ("s3crét", "headers: no header can hold what is in the environment variable DECLOAK_WIKI_KEY"),
    ],
)
def test_a_key_that_no_header_can_hold_is_refused_unseen(server, monkeypatch, value, expected):
    monkeypatch.delenv("DECLOAK_WIKI_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("DECLOAK_WIKI_KEY", value)
    with pytest.raises(DecloakError) as caught:
        Provider(settings_of(server, headers={"X-Api-Key": "DECLOAK_WIKI_KEY"}))
    assert str(caught.value).startswith(expected)
    assert "s3cr" not in repr(caught.value)


# Settings.

WRONG = {
    "kind": (
        {"service": "mediawikki"},
        "service: expected 'mediawiki', 'elasticsearch', 'searxng' or 'json', found 'mediawikki'; did you mean",
    ),
    "no kind": ({"service": "?"}, "service: expected 'mediawiki', 'elasticsearch', 'searxng' or 'json', found '?'"),
    "file": ({"url": "file:///etc/passwd"}, "url: not the url of a web service; write it as https://host/path"),
    "ftp": ({"url": "ftp://host/x"}, "url: not the url of a web service"),
    "no host": ({"url": "https:///x"}, "url: not the url of a web service"),
    "relative": ({"url": "api.php"}, "url: not the url of a web service"),
    "empty": ({"url": ""}, "url: "),
    "fragment": ({"url": "http://host/#x"}, "url: not the url of a web service"),
    "port": ({"url": "http://host:99999/x"}, "url: not a url"),
    "port 0": ({"url": "http://host:0/x"}, "url: not the url of a web service"),
    "bracket": ({"url": "http://[::1/x"}, "url: not a url"),
    "dots": ({"url": "http://a..b/x"}, "url: not a url"),
    "line end": ({"url": "http://host/x\r\nX-Evil: 1"}, "url: a blank, a control character or a letter beyond ASCII"),
    "letters": (
        {"url": "http://höst/x"},
        "url: a blank, a control character or a letter beyond ASCII in the url; write it as %20, and a host",
    ),
    "credentials": (
        {"url": "http://me:s3cret@host/x"},
        "url: a user name or a password in the url; send it in a header",
    ),
    "user": ({"url": "http://s3cret@host/x"}, "url: a user name or a password in the url"),
    "key": (
        {"url": "http://host/x?a=1&API_KEY=s3cret"},
        "url: the url seems to hold a secret, the parameter 'API_KEY'",
    ),
    "hidden key": ({"url": "http://host/x?api%5Fkey=s3cret"}, "url: the url seems to hold a secret"),
    "client": ({"url": "http://host/x?client_secret=s3cret"}, "url: the url seems to hold a secret"),
    "private": ({"url": "http://host/x?private_token=s3cret"}, "url: the url seems to hold a secret"),
    "x-api-key": ({"url": "http://host/x?X-API-Key=s3cret"}, "url: the url seems to hold a secret"),
    "no field": (
        {"service": "elasticsearch", "url": "http://host/i/_count"},
        "field: elasticsearch needs a field; add",
    ),
    "_search": ({"service": "elasticsearch", "field": "text"}, "url: the url does not end in /_count; write http"),
    "field": ({"field": "text"}, "field: mediawiki has no field; delete it"),
    "no path": ({"service": "json", "url": "http://host/?q={query}"}, "path: json needs a path; add"),
    "no query": ({"service": "json", "path": "hits"}, "url: the url has no {query}; write it where the query goes"),
    "host": (
        {"service": "json", "path": "hits", "url": "http://x{query}.com/"},
        "url: a {query} in the host of the url",
    ),
    "query port": (
        {"service": "json", "path": "hits", "url": "http://host:{query}/?q={query}"},
        "url: a {query} in the host of the url; write it in the path",
    ),
    "header": ({"headers": {"X Evil": "DECLOAK_KEY"}}, "headers: 'X Evil' is not the name of a header"),
    "header end": ({"headers": {"X\r\nY": "DECLOAK_KEY"}}, "headers: 'X\\x0d\\x0aY' is not the name of a header"),
    "value": (
        {"headers": {"X-Key": "s3cret-value"}},
        "headers: this is not a variable for decloak; give the secret to one such as DECLOAK_KEY",
    ),
    "rate": ({"rate": 0}, "rate: expected a number, above 0, found 0"),
    "never": ({"rate": 1e-300}, "rate: '1e-300' is no rate"),
    "rate nan": ({"rate": float("nan")}, "rate: '.nan' is not a finite number"),
    "timeout": ({"timeout": -1}, "timeout: expected a number, above 0, found -1"),
    "forever": ({"timeout": float("inf")}, "timeout: '.inf' is not a finite number"),
    "retries": ({"retries": 21}, "retries: expected a whole number from 0 to 20, found 21"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_in_the_settings_is_told_with_the_setting(name):
    changes, expected = WRONG[name]
    written = {"measure": "ngd", "source": "provider", "service": "mediawiki", "url": "http://host/api.php", **changes}
    text = "".join(f"{key}: {json.dumps(value, allow_nan=True).replace('NaN', '.nan').replace('Infinity', '.inf')}\n"
                   for key, value in written.items())  # fmt: skip
    with pytest.raises(DecloakError) as caught:
        check(Source.parse(text, "s.yaml"), ProviderSource)
    (message,) = map(str, caught.value.faults if isinstance(caught.value, Faults) else [caught.value])
    place, _, rest = expected.partition(": ")
    line = 1 + list(written).index(place) if place in written else 1
    assert message.startswith(f"s.yaml:{line}:"), message
    assert message.split(": ", 1)[1].startswith(rest), message
    assert "s3cret" not in message
    assert message.isprintable()


def test_counts_of_other_services_fields_and_paths_have_other_origins(server):
    json_settings = settings_of(server, "json")
    every = [settings_of(server, kind) for kind in KINDS]
    every += [settings_of(server, "elasticsearch", field="title"), replace(json_settings, path="hits.1.total.value")]
    every += [replace(json_settings, url=f"{server.url}/json?lang=de&q={{query}}")]
    origins = [Provider(one).origin for one in every]
    assert len(set(origins)) == len(every)
    how = {"rate": 2.0, "timeout": 1.0, "retries": 0, "offline": True}
    assert [Provider(replace(one, **how)).origin for one in every] == origins


# How fast.


@pytest.mark.parametrize("rate", [0.5, 1, 4])
def test_questions_keep_to_the_rate(server, rate):
    watch = Watch()
    queries = [Query("flu"), Query("cough"), Query("snow"), Query("ice")]
    assert counts(settings_of(server, rate=rate), queries, watch) == [1, 3, 0, 0]
    assert watch.waits == [1 / rate] * 3


def test_time_that_went_by_otherwise_is_not_waited_for_again(server):
    watch = Watch()
    for batch in Provider(settings_of(server, rate=0.1), clock=watch.clock).single([Query("flu"), Query("cough")]):
        assert batch
        watch.time += 7
    assert watch.waits == [3]


def test_a_try_again_keeps_to_the_rate_too(server):
    server.faults = [status(500), status(500)]
    watch = Watch()
    assert counts(settings_of(server, rate=0.25), watch=watch) == [1]
    assert watch.waits == [1, 3, 2, 2]


# Offline, and on again after a stop.

TERMS = ("flu", "heart disease", "cough fever", "x-ray", "cough", "snow", "nothing more")
PAIRS = list(combinations(TERMS, 2))


def test_offline_nobody_is_asked_and_what_is_not_known_has_no_score(server, tmp_path, monkeypatch):
    settings = settings_of(server, headers={"X-Key": "DECLOAK_WIKI_KEY"})
    offline = replace(settings, offline=True)
    monkeypatch.setenv("DECLOAK_WIKI_KEY", "x")
    with open_store(tmp_path / "store.db") as store:
        cache = StoredCounts(store)
        with pytest.raises(DecloakError, match="documents N is missing"):
            distances(CachedCounts(Provider(offline), cache), PAIRS)
        known = distances(CachedCounts(Provider(settings), cache), [("flu", "cough")])
        asked = len(server.asked)
        monkeypatch.delenv("DECLOAK_WIKI_KEY")
        source = CachedCounts(Provider(offline), cache)
        scored = distances(source, [("flu", "cough"), ("flu", "x-ray")])
        assert scored.distances == {**known.distances, ("flu", "x-ray"): None}
        assert source.notes == [
            "of 3 terms 2 were found as a phrase, 0 by their words, 0 not at all; 1 have no count: 'x-ray'",
            "counts that are missing because of offline: true: 1",
        ]
    assert len(server.asked) == asked == 4


def test_what_failed_is_asked_for_again(server, tmp_path):
    server.faults = [fine, fine, fine, status(404)]
    with open_store(tmp_path / "store.db") as store:
        cache = StoredCounts(store)
        with pytest.raises(DecloakError):
            distances(CachedCounts(Provider(settings_of(server)), cache), PAIRS)
        assert len(server.answered) == 3
        assert distances(CachedCounts(Provider(settings_of(server)), cache), PAIRS).distances == undisturbed(server)
    assert len(set(server.answered)) == len(server.answered)
    assert set(server.queries) == set(server.answered)


def undisturbed(server: Loopback) -> dict[tuple[str, str], float | None]:
    """The distances that a run without a stop finds, at a server of its own."""
    kind = "mediawiki"
    with serving() as other:
        return distances(CachedCounts(Provider(settings_of(other, kind))), PAIRS).distances


SCORE = """
import json, sys
from decloak.relate.counting import CachedCounts
from decloak.relate.ngd import distances
from decloak.relate.provider import Provider, ProviderSource
from decloak.relate.sending import allow_hosts
from decloak.store.counts import StoredCounts
from decloak.store.opening import open_store
path, settings, pairs = sys.argv[1], json.loads(sys.argv[2]), [tuple(pair) for pair in json.loads(sys.argv[3])]
with open_store(path) as store, allow_hosts(["127.0.0.1"]):
    scored = distances(CachedCounts(Provider(ProviderSource(**settings)), StoredCounts(store)), pairs)
print(json.dumps([[*pair, d] for pair, d in scored.distances.items()]))
"""


def test_a_run_that_is_killed_goes_on_where_it_was_and_asks_nothing_twice(server, tmp_path):
    """The server kills the run at its first, fourth, seventh and tenth request, in place of an answer."""
    processes: Queue[subprocess.Popen] = Queue()

    def kill(_) -> None:
        process = processes.get()
        process.send_signal(signal.SIGKILL)
        process.wait()

    settings = {"measure": "ngd", "source": "provider", "service": "mediawiki", "url": server.url + "/wiki/api.php",
                "rate": 1000.0, "retries": 0}  # fmt: skip
    command = [sys.executable, "-c", SCORE, str(tmp_path / "store.db"), json.dumps(settings), json.dumps(PAIRS)]
    for answers in (0, 3, 6, 9):
        server.faults = [fine] * answers + [kill]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            processes.put(process)
            assert process.communicate() == ("", "")
        assert process.returncode == -signal.SIGKILL
    assert len(server.answered) == 18
    whole = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {(a, b): d for a, b, d in json.loads(whole.stdout)} == undisturbed(server)
    assert len(set(server.answered)) == len(server.answered)
    with serving() as other:
        CachedCounts(Provider(settings_of(other))).joint(PAIRS)
        assert sorted(other.answered) == sorted(server.answered)


def test_the_store_may_be_scored_from_with_the_service_gone(server, tmp_path):
    path = tmp_path / "store.db"
    with open_store(path) as store:
        before = distances(CachedCounts(Provider(settings_of(server)), StoredCounts(store)), PAIRS)
    gone = settings_of(server)
    server.faults = [status(404)] * 100
    with open_store(path) as store:
        assert distances(CachedCounts(Provider(gone), StoredCounts(store)), PAIRS) == before
    assert Path(path).stat().st_size > 0


PARTS = [
    ({"measure": "ngd", "source": "provider", "service": "mediawiki", "url": "https://wiki.example:8443/api.php"},
     ("wiki.example:8443",)),
    ({"measure": "ngd", "source": "provider", "service": "mediawiki", "url": "https://wiki.example/", "offline": True},
     ()),
    ({"measure": "ngd", "source": "counts", "file": "counts.csv"}, ()),
    ({"measure": "ngd", "source": "release"}, ()),
    ({"measure": "embedding", "package": "wordllama"}, ()),
    ({"measure": "wordnet"}, ()),
]  # fmt: skip


@pytest.mark.parametrize(("said", "addresses"), PARTS)
def test_words_are_sent_to_a_service_that_is_asked_and_to_nobody_else(said, addresses):
    assert TypeAdapter(Relate).validate_python(said).sends_to == addresses
