"""Counts by asking a counter: phrase, then words, then nothing; each question once ever; counts files in JSON."""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import combinations, combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.data.document_counter import Query, QueryPair
from decloak.errors import DecloakError
from decloak.relate.counting import CachedCounts, MemoryCache
from decloak.relate.counts_file import CountsFile
from decloak.relate.ngd import distances
from decloak.store.counts import StoredCounts
from decloak.store.opening import open_store


class Stopped(Exception):
    """What stops a counter in the middle."""


class Texts:
    """A counter over texts that answers `batch` questions at a time, and stops after `most` answers."""

    def __init__(self, texts: Sequence[str], *, batch: int = 1, most: int | None = None, name: str = "texts") -> None:
        self.texts = texts
        self.batch = batch
        self.left = most
        self.asked: list[Query | QueryPair] = []
        self.origin = name

    @property
    def n(self) -> int:
        return len(self.texts)

    def single(self, queries: Sequence[Query]) -> Iterator[Mapping[Query, int | None]]:
        return self._batches([(query, (query,)) for query in queries])

    def joint(self, pairs: Sequence[QueryPair]) -> Iterator[Mapping[QueryPair, int | None]]:
        return self._batches([(pair, pair) for pair in pairs])

    def _batches(self, questions):
        for at in range(0, len(questions), self.batch):
            some = questions[at : at + self.batch]
            if self.left is not None:
                self.left -= len(some)
                if self.left < 0:
                    raise Stopped
            self.asked += [key for key, _ in some]
            yield {key: sum(all(held(text, query) for query in terms) for text in self.texts) for key, terms in some}


def held(text: str, query: Query) -> bool:
    if query.words:
        return set(query.text.split()) <= set(text.split())
    return f" {query.text} " in f" {text} "


def naive(texts: Sequence[str], s: str, t: str) -> tuple[int, int, int | None]:
    """f(s), f(t) and f(s,t) as they are defined."""

    def found(term: str) -> set[int]:
        phrase = {at for at, text in enumerate(texts) if f" {term} " in f" {text} "}
        return phrase or {
            at for at, text in enumerate(texts) if all(f" {word} " in f" {text} " for word in term.split())
        }

    a, b = found(s), found(t)
    return len(a), len(b), len(a & b) if a and b else len(a) if s == t else None


@pytest.fixture(params=["memory", "store"])
def cache(request, tmp_path):
    if request.param == "memory":
        yield MemoryCache()
    else:
        with open_store(tmp_path / "store.db") as store:
            yield StoredCounts(store)


WORDS = st.sampled_from("abcd")
TEXT = st.lists(WORDS, max_size=6).map(" ".join)
TERM = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


@settings(max_examples=150)
@given(
    st.lists(TEXT, min_size=1, max_size=6),
    st.lists(st.tuples(TERM, TERM), max_size=8),
    st.integers(1, 5),
    st.lists(st.integers(0, 12), max_size=3),
)
def test_counts_are_what_is_defined_however_often_the_counting_was_stopped(texts, pairs, batch, stops):
    cache, answered = MemoryCache(), []
    for most in [*stops, None]:
        counter = Texts(texts, batch=batch, most=most)
        source = CachedCounts(counter, cache)
        try:
            counts = source.counts([term for pair in pairs for term in pair])
            joint = source.joint(pairs)
        except Stopped:
            pass
        answered += counter.asked
    assert len(answered) == len(set(answered)), "asked twice"
    for s, t in pairs:
        assert (counts[s], counts[t], joint[s, t]) == naive(texts, s, t)
    for question in answered:
        if isinstance(question[0], Query):
            assert question[0] < question[1]
            assert all(sum(held(text, query) for text in texts) for query in question), "a pair with nothing in it"


def test_a_term_is_a_phrase_then_its_words_then_nothing():
    source = CachedCounts(Texts(["heart attack", "attack of the heart", "heart disease", "a disease of the skin"]))
    terms = ["heart attack", "skin disease", "heart surgery", "skin", "cancer"]
    assert source.counts(terms) == {
        "heart attack": 1,
        "skin disease": 1,
        "heart surgery": 0,
        "skin": 1,
        "cancer": 0,
    }
    assert source.joint([("skin", "skin disease"), ("skin disease", "cancer")]) == {
        ("skin", "skin disease"): 1,
        ("skin disease", "cancer"): None,
    }
    assert source.notes == [
        "of 5 terms 2 were found as a phrase, 1 by their words, 2 not at all: 'heart surgery', 'cancer'"
    ]


def test_many_terms_that_are_not_found_are_told_by_the_first_few():
    source = CachedCounts(Texts(["nothing"]))
    source.counts(list("abcdef"))
    assert source.notes == [
        "of 6 terms 0 were found as a phrase, 0 by their words, 6 not at all: 'a', 'b', 'c' and 3 more"
    ]


def test_only_a_term_of_several_words_is_looked_for_by_them():
    counter = Texts(["a b"])
    CachedCounts(counter).counts(["x", "x y"])
    assert counter.asked == [Query("x"), Query("x y"), Query("x y", words=True)]


def test_words_are_told_apart_by_any_mark_between_them():
    counter = Texts(["a b"])
    CachedCounts(counter).counts(["x-y", "x_y", "x/y", "-x-"])
    assert [one.text for one in counter.asked if one.words] == ["x-y", "x_y", "x/y"]


def test_a_pair_is_asked_for_once_in_either_order_and_a_term_with_itself_never():
    counter = Texts(["a b", "b"])
    assert CachedCounts(counter).joint([("a", "b"), ("b", "a"), ("b", "b")]) == {
        ("a", "b"): 1,
        ("b", "a"): 1,
        ("b", "b"): 2,
    }
    assert counter.asked == [Query("a"), Query("b"), (Query("a"), Query("b"))]


def test_what_is_kept_is_not_asked_for_again(cache):
    texts, terms = ["a b c", "b a", "c", "c b"], ["a", "b c", "c b", "b a c", "z z"]
    pairs = list(combinations_with_replacement(terms, 2))
    first, again = Texts(texts, batch=3), Texts(texts)
    scored = distances(CachedCounts(first, cache), pairs)
    assert distances(CachedCounts(again, cache), pairs) == scored
    assert first.asked
    assert again.asked == []
    assert distances(CachedCounts(Texts(texts)), pairs) == scored


def test_counts_of_one_origin_are_not_taken_for_those_of_another(cache):
    CachedCounts(Texts(["a", "b", "a b"], name="one"), cache).joint([("a", "b")])
    other = CachedCounts(Texts(["a b", "a b"], name="other"), cache)
    assert (other.n, other.counts(["a"]), other.joint([("a", "b")])) == (2, {"a": 2}, {("a", "b"): 2})


@pytest.mark.parametrize("stop", range(7))
def test_what_was_answered_before_a_stop_is_kept(cache, stop):
    texts, pairs = ["a b", "b c", "c a"], list(combinations("abc", 2))
    stopped, rest = Texts(texts, most=stop), Texts(texts)
    source = CachedCounts(stopped, cache)
    if stop < 6:
        with pytest.raises(Stopped):
            source.joint(pairs)
    else:
        source.joint(pairs)
    assert CachedCounts(rest, cache).joint(pairs) == dict.fromkeys(pairs, 1)
    assert len(stopped.asked) == stop
    assert sorted(map(repr, stopped.asked + rest.asked)) == sorted(
        map(repr, Texts(texts).asked + all_asked(texts, pairs))
    )


def all_asked(texts, pairs):
    counter = Texts(texts)
    CachedCounts(counter).joint(pairs)
    return counter.asked


class Sometimes(Texts):
    """A counter that cannot tell some counts, and leaves some out."""

    def __init__(self, texts: Sequence[str], *, unknown=(), out=(), **options) -> None:
        super().__init__(texts, **options)
        self.unknown, self.out = set(unknown), set(out)

    def _batches(self, questions):
        questions = [(key, terms) for key, terms in questions if key not in self.out]
        for batch in super()._batches(questions):
            yield {key: None if key in self.unknown else count for key, count in batch.items()}


def test_an_answer_that_nobody_can_tell_is_kept_and_one_that_is_left_out_is_asked_for_again(cache):
    texts, a, b, c = ["a b c"], Query("a"), Query("b"), Query("c")
    source = CachedCounts(Sometimes(texts, unknown=[a], out=[b]), cache)
    assert source.counts(["a", "b", "c"]) == {"a": None, "b": None, "c": 1}
    assert source.notes == [
        "of 3 terms 1 were found as a phrase, 0 by their words, 0 not at all; 2 have no count: 'a', 'b'",
        "counts that are missing because of offline: true: 1",
    ]
    again = Texts(texts)
    assert CachedCounts(again, cache).joint([("a", "b"), ("c", "b")]) == {("a", "b"): None, ("c", "b"): 1}
    assert again.asked == [b, (b, c)]


def test_a_joint_count_that_nobody_can_tell_is_no_score(cache):
    pair = (Query("a"), Query("b"))
    for _ in range(2):
        counter = Sometimes(["a b", "b", "c"], unknown=[pair])
        scored = distances(CachedCounts(counter, cache), [("a", "b")])
        assert scored.distances == {("a", "b"): None}
        assert scored.warnings == ["no score, because the joint count is missing or negative, for 'a' with 'b'"]
    assert counter.asked == []


class Uncounted(Texts):
    """A counter that does not know how many texts it has."""

    n = None


def test_who_cannot_know_n_is_told_before_any_question():
    counter = Uncounted(["a"])
    with pytest.raises(DecloakError, match=r"^texts: the number of documents N is missing; give it, such as pages"):
        distances(CachedCounts(counter), [("a", "b")])
    assert counter.asked == []
    assert CachedCounts(counter, n=10).n == 10


@pytest.mark.parametrize("n", [0, -1])
def test_an_n_that_is_no_number_of_documents_is_told_and_not_kept(cache, n):
    counter = Uncounted(["a"])
    counter.n = n
    with pytest.raises(DecloakError, match=f"the number of documents N is {n}; give it"):
        CachedCounts(counter, cache).counts(["a"])
    assert cache.known_n(counter.origin) is None


def test_a_given_n_goes_before_what_the_counter_tells_and_is_not_kept(cache):
    assert CachedCounts(Texts(["a"]), cache, n=10).n == 10
    assert CachedCounts(Uncounted(["a"]), cache, n=12).n == 12
    assert CachedCounts(Texts(["a"]), cache).n == 1
    assert CachedCounts(Uncounted(["a"]), cache).n == 1  # kept by now


@pytest.mark.parametrize("n", [0, -1, float("nan")])
def test_a_given_n_is_a_number_of_documents(n):
    with pytest.raises(DecloakError, match="is not a number of documents"):
        CachedCounts(Texts(["a"]), n=n)


def test_progress_is_told_after_every_batch_that_was_asked_for():
    told = []
    source = CachedCounts(Texts(["a b c d"], batch=2), progress=lambda done, of: told.append((done, of)))
    source.counts(["a", "b", "c"])
    source.joint([("a", "b")])
    assert told == [(2, 3), (3, 3), (1, 1)]


def test_what_the_store_keeps_can_be_read_and_deleted(tmp_path):
    path = tmp_path / "store.db"
    with open_store(path) as store:
        CachedCounts(Texts(["a b", "b x a"]), StoredCounts(store)).joint([("b a", "b"), ("a", "b")])
    with closing(sqlite3.connect(path)) as connection:
        day = connection.execute("select date('now')").fetchone()[0]
        assert connection.execute("select origin, n, date from count_source").fetchall() == [("texts", 2, day)]
        single = "select term, form, documents from counted order by term, form"
        assert connection.execute(single).fetchall() == [
            ("a", "phrase", 2),
            ("b", "phrase", 2),
            ("b a", "phrase", 0),
            ("b a", "words", 2),
        ]
        pairs = (
            "select min(a.term, b.term), max(a.term, b.term), p.documents from counted_pair p "
            "join counted a on a.id = p.a join counted b on b.id = p.b order by 1, 2"
        )
        assert connection.execute(pairs).fetchall() == [("a", "b", 2), ("b", "b a", 2)]
        connection.execute("pragma foreign_keys = on")
        connection.execute("delete from count_source")
        assert (
            connection.execute(
                "select (select count(*) from counted) + (select count(*) from counted_pair)"
            ).fetchone()[0]
            == 0
        )


# Counts files in JSON.

GOOD = {
    "n": 50,
    "terms": {"flu": 5, "cough": None},
    "pairs": [["flu", "cough", 2], ["cough", "flu", 2], ["a", "b", None]],
}


def test_a_counts_file_in_json_reads_as_the_same_in_csv(tmp_path):
    (tmp_path / "counts.json").write_text(json.dumps(GOOD, indent=1))
    (tmp_path / "counts.csv").write_text("a,b,count\n,,50\nflu,,5\ncough,,\nflu,cough,2\nb,a,\n")
    assert CountsFile.read(tmp_path / "counts.json") == CountsFile.read(tmp_path / "counts.csv")


def test_a_counts_file_in_json_may_be_one_long_line(tmp_path):
    pairs = [[f"term {a}", f"term {b}", a] for a, b in combinations(range(400), 2)]
    (tmp_path / "counts.json").write_text(json.dumps({"n": 500, "pairs": pairs}))
    assert (tmp_path / "counts.json").stat().st_size > 1_000_000
    assert CountsFile.read(tmp_path / "counts.json").joint([("term 7", "term 3")]) == {("term 7", "term 3"): 3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"n": 5,\n "terms": {"flu": x}}', r":2:19: not JSON: Expecting value; write \{"),
        ('{"n": 5,\n "n": 6}', r": the key 'n' is there twice; write each key once"),
        ('{"n": 5, "n": 6}', r":1: the key 'n' is there twice"),
        ("[" * 100_000, r":1: not JSON: nested too deeply"),
        ('{"n": ' + "9" * 5000 + "}", r":1: not JSON: .* a number too large"),
        ("[]", r": expected one object; write \{"),
        ('{"n": 5, "term": {}}', r": unknown key 'term'; did you mean 'terms'\?"),
        ('{"n": 5, "source": 1}', r": unknown key 'source'; the keys are n, terms, pairs"),
        ("{}", r": N, the number of pages, is missing or below 1; add"),
        ('{"n": 0}', r": N, the number of pages, is missing or below 1"),
        ('{"n": true}', r": n: 'True' is not a count"),
        ('{"n": 5.5}', r": n: '5.5' is not a count"),
        ('{"n": -5}', r": N, the number of pages, is missing or below 1"),
        ('{"n": false}', r": n: 'False' is not a count"),
        ('{"n": 5, "terms": []}', r": terms is not an object"),
        ('{"n": 5, "terms": {"flu": "7"}}', r": terms, 'flu': '7' is not a count; write a whole number, or null"),
        ('{"n": 5, "terms": {" ": 7}}', r": terms: ' ' is not a name"),
        ('{"n": 5, "pairs": {}}', r": pairs is not a list"),
        ('{"n": 5, "pairs": [["a", "b"]]}', r": pair 1 is not two names and a count"),
        ('{"n": 5, "pairs": [["a", "b", 1], ["a", 2, 1]]}', r": pair 2: '2' is not a name"),
        ('{"n": 5, "pairs": [["a", "b", 1000000000000000000]]}', r": pair 1: '1000000000000000000' is not a count"),
        ('{"n": 5, "pairs": [["a", "b", 1], ["b", "a", 2]]}', r": pair 2 has another value for the same two"),
        ('{"n": 5, "terms": {"\\u001b\\u0000": 0.5}}', r": terms, '\\x1b\\x00': '0.5' is not a count"),
        ("", r": the file is empty"),
        ("\0", r":1: not UTF-8 text"),
    ],
)
def test_what_is_wrong_in_a_counts_file_in_json_has_its_place(tmp_path, text, expected):
    path = tmp_path / "counts.json"
    path.write_text(text)
    with pytest.raises(DecloakError) as caught:
        CountsFile.read(path)
    message = str(caught.value)
    assert "\n" not in message
    assert re.match(re.escape(str(path)) + expected, message), message


@settings(max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["n", "terms", "pairs", "x"]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_any_json_is_a_counts_file_or_an_error(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("json") / "counts.json"
    path.write_text(json.dumps(value))
    told = str(path)
    try:
        assert CountsFile.read(path).n > 0
    except DecloakError as error:
        told = str(error)
    assert told.startswith(str(path))
