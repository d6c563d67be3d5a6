"""Guarantees about sensitive items: equal to plain enumeration, and what the command says of them."""

from fractions import Fraction
from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.counting.sensitive_guarantees import Coherence, Uncertainty
from decloak.data.generalised import Generalised
from decloak.data.published import Published
from decloak.errors import DecloakError

ITEMS = "abcdst"
SENSITIVE = ("s", "t")
ROWS = st.lists(st.lists(st.sampled_from(ITEMS), unique=True, max_size=5), min_size=1, max_size=8)
SHARES = st.sampled_from([0.1, 0.25, 0.3, 0.5, 0.6, 0.75, 0.9])
DATA = "a, s\na, s\na, t\nb, t\nb\nb\na, b\n"


def release_of(rows):
    return Generalised.of(Published(tuple(tuple(sorted(row)) for row in rows), labels=()))


def known_sets(items, size):
    return chain.from_iterable(combinations(sorted(items), n) for n in range(1, size + 1))


def supports(rows, known):
    return [set(row) for row in rows if set(known) <= set(row)]


@settings(max_examples=1000)
@given(ROWS, SHARES, st.integers(1, 3))
def test_uncertainty_is_violated_where_enumeration_says_so(rows, rho, known):
    naive = set()
    for item in SENSITIVE:
        for q in known_sets(set(ITEMS) - {item}, known):
            holders = supports(rows, q)
            having = sum(item in row for row in holders)
            if holders and Fraction(having, len(holders)) > Fraction(str(rho)):
                naive.add((q, item, having, len(holders)))
    assert set(Uncertainty(SENSITIVE, rho, known).violations(release_of(rows))) == naive


@settings(max_examples=1000)
@given(ROWS, SHARES, st.integers(1, 4), st.integers(1, 3))
def test_coherence_is_violated_where_enumeration_says_so(rows, h, k, p):
    naive = set()
    for q in known_sets(set(ITEMS) - set(SENSITIVE), p):
        holders = supports(rows, q)
        if 0 < len(holders) < k:
            naive.add(("support", q, None, None, len(holders)))
        for item in SENSITIVE:
            having = sum(item in row for row in holders)
            if holders and Fraction(having, len(holders)) > Fraction(str(h)):
                naive.add(("confidence", q, item, having, len(holders)))
    assert set(Coherence(SENSITIVE, h, k, p).violations(release_of(rows))) == naive


def test_a_label_that_hides_a_sensitive_item_is_a_violation():
    release = Generalised.of(Published((("a", ("b", "s")), ("a",)), labels=()))
    assert [row[1] for row in Uncertainty(("s",), 0.5, 1).violations(release)] == ["s"]
    assert [row[0] for row in Coherence(("s",), 0.5, 1, 1).violations(release)] == ["disguised"]


@pytest.mark.parametrize("share", [0, 1, -0.5, float("nan")])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(DecloakError, match="rho"):
        Uncertainty(SENSITIVE, share, 1)
    with pytest.raises(DecloakError, match="h is"):
        Coherence(SENSITIVE, share, 1, 1)


@pytest.fixture
def check(tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text(DATA)

    def run(stated, *more):
        (tmp_path / "stated.yaml").write_text(stated)
        return call("check", "data.txt", "--input", "published", "--constraints", "stated.yaml", *more)

    return run


def test_the_command_lists_the_rules_that_are_too_confident(check):
    said = check("{guarantee: uncertainty, rho: 0.4, known: 1, sensitive: [s, t]}")
    assert said.code == 3
    assert [line.split() for line in said.out.splitlines()[2:]] == [["a", "s", "2", "4"]]
    met = check("{guarantee: uncertainty, rho: 0.5, known: 1, sensitive: [s, t]}")
    assert met.code == 0
    assert "rho = 0.5, known = 1, 2 sensitive items" in met.err


def test_the_command_checks_coherence_and_takes_k(check):
    stated = "{guarantee: coherence, h: 0.5, k: 1, p: 2, sensitive: [s, t]}"
    assert check(stated).code == 0
    said = check(stated, "--k", "2")
    assert said.code == 3
    assert "support" in said.out


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ("{guarantee: uncertain, rho: 0.5, known: 1, sensitive: [s]}", "did you mean 'uncertainty'"),
        ("{guarantee: uncertainty, rho: 2, known: 1, sensitive: [s]}", "above 0 and below 1"),
        ("{guarantee: uncertainty, rho: 0.5, known: 0, sensitive: [s]}", "at least 1"),
        ("{guarantee: uncertainty, rho: 0.5, known: 1, sensitive: [x]}", "none of the sensitive items"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(check, stated, words):
    said = check(stated)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert said.err.count("\n") == 1
