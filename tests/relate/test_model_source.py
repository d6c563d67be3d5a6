"""A language model as a source of relatedness: real HTTP to a server on this machine, its failures, what is kept."""

import math
import re
from contextlib import closing

import pytest
from pydantic import TypeAdapter

import decloak
from decloak.data.formats.folder import Folder
from decloak.errors import DecloakError
from decloak.relate.counting import MemoryCache
from decloak.relate.registry import Relate
from decloak.relate.relatedness import Supplies
from decloak.relate.sending import allow_hosts
from decloak.store.opening import connect_readonly
from loopback import body, fine, raw, serving, slow, status, truncated

PAIRS = [("knee", "keen"), ("knee", "flu"), ("flu", "knee"), ("flu", "flu"), ("flu", "12")]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def source(url, **settings):
    said = {"measure": "model", "url": f"{url}/v1/embeddings", "model": "m", "rate": 1000.0, "retries": 1, **settings}
    return TypeAdapter(Relate).validate_python(said)


def supplies(cache=None):
    return Supplies(Folder("."), cache=cache or MemoryCache())


def cosine(a, b):
    letters = "abcdefghijklmnopqrstuvwxyz"
    x, y = ([term.count(letter) for letter in letters] for term in (a, b))
    return sum(p * q for p, q in zip(x, y, strict=True)) / math.hypot(*x) / math.hypot(*y)


def test_distances_are_one_minus_the_cosine_of_its_vectors():
    with serving() as server:
        scored = source(server.url).scored(PAIRS, supplies())
    assert scored.distances["knee", "keen"] == pytest.approx(0, abs=1e-6)
    assert scored.distances["knee", "flu"] == pytest.approx(1 - cosine("knee", "flu"), abs=1e-6)
    assert scored.distances["flu", "knee"] == scored.distances["knee", "flu"]
    assert scored.distances["flu", "flu"] == 0
    assert scored.distances["flu", "12"] is None  # a vector of noughts points nowhere
    assert "1 of 5 terms (20 %) were not asked for" not in scored.warnings


def test_each_term_is_asked_for_once_and_a_pair_never_again():
    memory = MemoryCache()
    with serving() as server:
        many = [(f"a{'b' * n}", f"c{'d' * n}") for n in range(20)]
        first = source(server.url).scored(many, supplies(memory))
        asked = ", ".join(server.queries).split(", ")
        assert sorted(asked) == sorted({term for pair in many for term in pair})
        assert len(server.queries) == 5  # eight at once
        again = source(server.url).scored(many, supplies(memory))
        assert len(server.queries) == 5
        assert again.distances == first.distances
        offline = source(server.url, offline=True).scored([*many, ("new", "one")], supplies(memory))
        assert len(server.queries) == 5
        assert offline.distances[many[3]] == first.distances[many[3]]
        assert offline.distances["new", "one"] is None


FAULTS = {
    "busy": ([status(503), status(503)], "answered 503 Service Unavailable, after 2 tries"),
    "no key": ([status(401)], "answered 401 Unauthorized; check the key in the header"),
    "redirect": ([status(302, Location="http://elsewhere/")], "a redirect to"),
    "no JSON": ([body(b"hello")], "answered what are no embeddings; use the url of the embeddings"),
    "no data": ([body(b'{"error": "x"}')], "answered what are no embeddings"),
    "a list": ([body(b"[1, 2]")], "answered what are no embeddings"),
    "words": ([body(b'{"data": [{"embedding": ["a"]}, {"embedding": ["b"]}]}')], "answered what are no embeddings"),
    "too few": ([body(b'{"data": [{"embedding": [1.0]}]}')], "answered 1 embeddings for 2 terms"),
    "ragged": ([body(b'{"data": [{"embedding": [[1], [1, 2]]}]}')], "answered what are no embeddings"),
    "not finite": ([body(b'{"data": [{"embedding": [NaN]}, {"embedding": [1]}]}')], "embeddings that are no numbers"),
    "too much": ([body(b" " * 1_000_001)], "answered more than 1,000,000 bytes"),
    "cut short": ([truncated, truncated], "an answer cut short, after 2 tries"),
    "no HTTP": ([raw(b"hello"), raw(b"hello")], "after 2 tries"),
}


@pytest.mark.parametrize(("faults", "message"), FAULTS.values(), ids=FAULTS)
def test_a_failure_is_one_line_and_nothing_of_it_is_kept(faults, message, monkeypatch):
    monkeypatch.setattr("decloak.relate.sending.time.sleep", lambda seconds: None)
    memory = MemoryCache()
    with serving() as server:
        server.faults = list(faults)
        with pytest.raises(DecloakError) as raised:
            source(server.url).scored(PAIRS[:1], supplies(memory))
    assert message in str(raised.value)
    assert server.url in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not memory._joint


def test_a_passing_failure_passes():
    with serving() as server:
        server.faults = [status(429)]
        assert source(server.url).scored(PAIRS, supplies()).distances["knee", "keen"] == pytest.approx(0, abs=1e-6)


def test_no_answer_in_time_is_told():
    with serving() as server:
        server.faults = [slow, slow]
        with pytest.raises(DecloakError, match=r"no answer within 0\.2 s, after 1 try"):
            source(server.url, timeout=0.2, retries=0).scored(PAIRS, supplies())


def test_what_was_answered_before_a_failure_is_kept():
    memory = MemoryCache()
    many = [(f"a{'b' * n}", f"c{'d' * n}") for n in range(8)]
    with serving() as server:
        server.faults = [fine, status(400)]
        with pytest.raises(DecloakError, match="400"):
            source(server.url).scored(many, supplies(memory))
        kept = source(server.url, offline=True).scored(many, supplies(memory))
    assert sum(score is not None for score in kept.distances.values()) == 4


def test_more_than_the_budget_is_not_asked():
    with serving() as server:
        with pytest.raises(DecloakError, match="would ask m for 4 terms, more than the budget of 2; write budget: 4"):
            source(server.url, budget=2).scored(PAIRS, supplies())
        assert not server.queries


def test_nothing_is_sent_to_a_host_that_nobody_allowed():
    with serving(allowed=False) as server, pytest.raises(DecloakError, match="is not allowed"):
        source(server.url).scored(PAIRS, supplies())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("url: 'ftp://x/y', model: m", "not the url of a web service"),
        ("url: 'http://169.254.169.254/v1/embeddings', model: m", "is never sent to"),
        ("url: 'http://u:p@host/', model: m", "a user name or a password in the url"),
        ("url: 'http://localhost/', model: m, headers: {A: HOME}", "is not a variable for decloak"),
        ("url: 'http://localhost/'", "missing key 'model'"),
    ],
)
def test_what_it_cannot_be_asked_by_is_told_at_its_place(tmp_path, call, settings, message):
    said = call("run", scenario(tmp_path, settings), "--store", tmp_path / "s.db")
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert re.search(r"s\.yaml:4:\d+: ", said.err)
    assert message in said.err


def scenario(folder, settings):
    (folder / "r.txt").write_text("heart, flu, fever, cough\ncough, cold\nheart, cough, chest\n")
    (folder / "s.yaml").write_text(
        "scenario: What does a model say?\n"
        "data: {file: r.txt, format: basket}\n"
        "anonymise: {method: sets, sets: [[fever, cold], [flu, chest]]}\n"
        f"relate: {{measure: model, {settings}}}\n"
        "attack: [rba]\n"
    )
    return folder / "s.yaml"


def test_a_run_lists_what_it_would_send_asks_once_and_says_who_attacks(tmp_path, call, monkeypatch):
    monkeypatch.setenv("DECLOAK_KEY", "Bearer very-secret")
    with serving(allowed=False) as server:
        host = server.url.removeprefix("http://")
        path = scenario(
            tmp_path,
            f"url: '{server.url}/v1/embeddings', model: m, rate: 1000, headers: {{Authorization: DECLOAK_KEY}}",
        )
        listed = call("run", path, "--store", tmp_path / "s.db", "--dry-run").out
        assert host in listed
        assert "cough" in listed
        assert not server.queries
        refused = call("run", path, "--store", tmp_path / "s.db")
        assert refused.code == 2
        assert f"words to {host}" in refused.err
        assert not server.queries
        said = call("run", path, "--store", tmp_path / "s.db", "--allow-send", host)
        assert said.code == 0
        assert call("report", "last", "--store", tmp_path / "s.db", "-o", tmp_path / "page.html").code == 0
        assert "asks a language model for the relatedness of terms" in " ".join(
            (tmp_path / "page.html").read_text().split()
        )
        count = len(server.queries)
        assert {asked.headers["Authorization"] for asked in server.asked} == {"Bearer very-secret"}
        with allow_hosts([host]):
            decloak.run(path, store=tmp_path / "s.db", overrides=["relate.timeout=61"])
        assert len(server.queries) == count
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        assert connection.execute("select count(*) from counted_pair").fetchone() > (0,)
    assert b"very-secret" not in (tmp_path / "s.db").read_bytes()
