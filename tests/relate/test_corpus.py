"""The index of a corpus: what it counts, what it reads, what it refuses, and that it is there whole or not at all."""

import gzip
import hashlib
import json
import lzma
import sqlite3
import sys
from contextlib import closing
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import spearmanr

import naive_corpus as naive
from conftest import ROOT
from decloak.data.document_counter import Query, unordered_pair
from decloak.data.formats import unpacked
from decloak.data.text import documents
from decloak.data.text.documents import Documents, TextOptions
from decloak.errors import DecloakError
from decloak.relate import corpus_index as corpora
from decloak.relate import counting as kernel
from decloak.relate.corpus_index import Corpus, build
from decloak.relate.counting import CachedCounts, joint_counts
from decloak.relate.ngd import distances

CASES = ["gem and jewel", "Gems; a jewel!", "a gem-like stone", "stones of the jeweller", "gem jewel", "nothing"]


def read(path: Path, **options) -> list[str]:
    return list(Documents(path, TextOptions(**options)))


def made(folder: Path, texts, **options) -> Path:
    """An index of texts."""
    source, out = folder / "texts.jsonl", folder / "texts.index"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    out.unlink(missing_ok=True)
    build([Documents(source, TextOptions("text"))], out, **options)
    return out


def single(corpus: Corpus, *queries: Query) -> list[int | None]:
    found = {query: count for batch in corpus.single(queries) for query, count in batch.items()}
    return [found[query] for query in queries]


def joint(corpus: Corpus, *pairs) -> list[int | None]:
    found = {pair: count for batch in corpus.joint(pairs) for pair, count in batch.items()}
    return [found[pair] for pair in pairs]


# Counting

pieces = st.sampled_from(
    [*"abAB12 \n\0-_'*^:()+{,…的", '"', "ab", "é", "Ü", "E\u0301", "  ", " AND ", "NEAR(", "text:"]
)
texts = st.lists(pieces, max_size=12).map("".join)


@settings(max_examples=80)
@given(
    st.lists(texts, max_size=8),
    st.lists(st.builds(Query, texts, st.booleans()), max_size=6),
    st.sampled_from([1, 3, 1000]),
)
def test_counts_are_those_of_going_through_every_document(tmp_path_factory, found, queries, postings):
    held = ["ab", *found]
    path = made(tmp_path_factory.mktemp("corpus"), held, stem=False)
    pairs = [unordered_pair(a, b) for a, b in combinations_with_replacement(queries, 2)]
    with pytest.MonkeyPatch.context() as patch, Corpus.open(path) as corpus:
        patch.setattr(corpora, "POSTINGS", postings)
        assert corpus.n == sum(bool(text.strip()) for text in held)
        assert single(corpus, *queries) == [naive.count(held, query) for query in queries]
        assert joint(corpus, *pairs) == [naive.count(held, *pair) for pair in pairs]


@given(st.data(), st.integers(1, 6), st.integers(1, 9), st.floats(0, 1), st.sampled_from([1, 5, 1000]))
def test_together_is_the_sum_over_documents(data, terms, size, density, cells):
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    holds = (rng.random((terms, size)) < density).astype(np.int32)
    row = st.integers(0, terms - 1)
    pairs = data.draw(st.lists(st.tuples(row, row), min_size=1, max_size=20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "CELLS", cells)
        patch.setattr(kernel, "SLAB", 4)
        found = joint_counts(sparse.csr_array(holds), *np.array(pairs).T)
    assert found.tolist() == [sum(int(a) & int(b) for a, b in zip(holds[x], holds[y], strict=True)) for x, y in pairs]


@pytest.mark.parametrize(
    ("stem", "text", "count"),
    [
        (True, "gem", 4), (False, "gem", 3),
        (True, "jewels", 4), (False, "jewels", 0), (False, "jewel", 3),
        (True, "gem jewel", 1), (True, "jewel gem", 0),
        (True, "GÉM", 4), (False, "gem like", 1), (False, "gem-like", 1), (False, "gem_like", 1),
        (True, "like stones", 1), (False, "like stones", 0),
    ],
)  # fmt: skip
def test_a_phrase_counts_with_its_endings_only_when_words_are_stemmed(tmp_path, stem, text, count):
    with Corpus.open(made(tmp_path, CASES, stem=stem)) as corpus:
        assert single(corpus, Query(text)) == [count]


@pytest.mark.parametrize("word", ["relational", "generalizations", "conditionally", "operators", "abbess", "ponies"])
def test_a_word_is_found_by_itself_however_often_its_stem_could_be_stemmed(tmp_path, word):
    with Corpus.open(made(tmp_path, [f"one {word}", "none"])) as corpus:
        assert single(corpus, Query(word), Query(f"{word} one", words=True)) == [1, 1]


WORDLESS = ["", " ", "--", '"', "'", "\0", "*", "^", ":", "\ud800", "gem " * 65]
HOSTILE = {
    "NEAR(gem jewel)": (0, 0), "(gem AND": (1, 1), '"gem" OR "jewel"': (0, 0), "gem NOT jewel": (0, 0),
    "text:gem": (0, 0), "{documents text}: gem": (0, 0), "je*": (0, 0), "gem*": (4, 4), "^gem": (4, 4), "-gem": (4, 4),
    "gem\0jewel": (1, 3), "gem + jewel": (1, 3), '"gem"': (4, 4), "x" * 100_000: (0, 0), "gem " * 64: (0, 4),
}  # fmt: skip
"""What looks like a search expression, and how many documents hold it as a phrase and by its words."""


def test_no_term_is_read_as_an_operator(tmp_path):
    with Corpus.open(made(tmp_path, CASES)) as corpus:
        for text, counts in HOSTILE.items():
            assert single(corpus, Query(text), Query(text, words=True)) == list(counts), text
        assert single(corpus, *map(Query, WORDLESS)) == [None] * len(WORDLESS)
        pairs = [unordered_pair(Query(text), Query("gem")) for text in ("gem*", "--", "zebra")]
        assert joint(corpus, *pairs) == [4, None, 0]


def test_words_may_stand_anywhere_and_a_pair_may_be_of_one_query_twice(tmp_path):
    with Corpus.open(made(tmp_path, CASES)) as corpus:
        scattered, gem = Query("jewel gem", words=True), Query("gem")
        assert single(corpus, scattered, scattered) == [3, 3]
        assert joint(
            corpus, unordered_pair(scattered, Query("a")), unordered_pair(gem, gem), unordered_pair(scattered, gem)
        ) == [1, 4, 3]
        assert not list(corpus.single([]))
        assert not list(corpus.joint([]))


def test_answers_come_once_each_and_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "QUERIES", 2)
    monkeypatch.setattr(corpora, "PAIRS", 2)
    queries = [Query(text) for text in ("gem", "jewel", "a", "gem", "zebra", "stone")]
    with Corpus.open(made(tmp_path, CASES)) as corpus:
        assert [len(batch) for batch in corpus.single(queries)] == [2, 2, 1]
        assert [len(batch) for batch in corpus.joint([unordered_pair(queries[0], one) for one in queries])] == [2, 2, 1]


# The index


def test_an_index_says_what_it_holds_and_where_from(tmp_path):
    path = made(tmp_path, CASES)
    with Corpus.open(path) as corpus:
        facts, part = corpus.facts, corpus.facts.parts[0]
    source = tmp_path / "texts.jsonl"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    assert (facts.n, facts.stem) == (len(CASES), True)
    assert part == (str(source), "field text", len(CASES), 0, digest)


def test_the_origin_of_counts_changes_with_what_is_counted_and_with_nothing_else(tmp_path):
    def origin(name, found, **options):
        folder = tmp_path / name
        folder.mkdir()
        with Corpus.open(made(folder, found, **options)) as corpus:
            return corpus.origin

    first = origin("first", CASES)
    assert first.startswith("corpus:")
    assert origin("again", CASES) == first
    others = [origin("plain", CASES, stem=False), origin("less", CASES[1:]), origin("split", ["gem and", " jewel"])]
    assert len({first, *others}) == 4


def test_several_stores_may_attach_an_index_that_nobody_can_write(tmp_path):
    path = made(tmp_path, CASES)
    path.chmod(0o444)
    with Corpus.open(path), closing(sqlite3.connect(tmp_path / "store.db")) as store:
        store.execute("attach ? as corpus", (str(path),))
        query = "select count(*) from corpus.documents where documents match 'gem'"
        assert store.execute(query).fetchone() == (4,)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["store.db", "texts.index", "texts.jsonl"]


def test_building_tells_how_far_it_is_and_leaves_nothing_when_it_is_interrupted(tmp_path):
    told = []
    source = tmp_path / "many.txt"
    source.write_text("a line\n" * 2500)
    build([Documents(source, TextOptions(lines=True))], tmp_path / "whole", progress=told.append)
    assert told == [1000, 2000, 2500]

    def interrupt(count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build([Documents(source, TextOptions(lines=True))], tmp_path / "half", progress=interrupt)
    source.write_bytes(b"a line\n" * 2500 + b"\xff")
    with pytest.raises(DecloakError, match=r"many\.txt:2501: not UTF-8"):
        build([Documents(source, TextOptions(lines=True))], tmp_path / "half")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["many.txt", "whole"]


def test_an_index_may_lie_in_the_folder_it_is_of(tmp_path):
    (tmp_path / "a.txt").write_text("gem")
    assert build([Documents(tmp_path, TextOptions())], tmp_path / "index").n == 1


def changed(change):
    """An index with something changed by SQL."""

    def make(folder: Path) -> Path:
        path = made(folder, CASES)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(change)
        return path

    return make


def damaged(folder: Path) -> Path:
    path = made(folder, CASES * 100)
    data = path.read_bytes()
    path.write_bytes(data[:8192] + b"\xaa" * (len(data) - 8192))
    return path


def cut_short(folder: Path) -> Path:
    """Without the end of the last page, which SQLite would read as zeros."""
    path = made(folder, CASES * 100)
    path.write_bytes(path.read_bytes()[:-2000])
    return path


def misspelt(folder: Path) -> Path:
    """With a byte in the schema that is no text."""
    path = made(folder, CASES)
    path.write_bytes(path.read_bytes().replace(b"name text", b"name tex\xe9"))
    return path


def text(folder: Path) -> Path:
    (folder / "x.txt").write_text("no index, though as long as the head of one would be\n" * 10)
    return folder / "x.txt"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder / "none", "no index there"),
        (lambda folder: folder / "no\0ne", "no index there"),
        (lambda folder: folder, "a folder, not an index"),
        (text, "not an index of documents, or a damaged one"),
        (damaged, "not an index of documents, or a damaged one"),
        (cut_short, "not an index of documents, or a damaged one"),
        (misspelt, "not an index of documents, or a damaged one"),
        (changed("pragma application_id = 7"), "a SQLite database, but no index"),
        (changed("pragma user_version = 2"), "an index of version 2; this decloak reads version 1; build it again"),
        (changed("drop table about"), "SQLite says 'no such table: about'"),
        (changed("delete from about"), "or a damaged one"),
        (changed("drop table documents"), "SQLite says 'no such table: documents'"),
    ],
)
def test_what_is_no_index_is_refused(tmp_path, make, message):
    path = make(tmp_path)
    with pytest.raises(DecloakError) as error, Corpus.open(path) as corpus:
        single(corpus, Query("gem"))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# Reading documents


def test_a_file_is_a_document_and_a_folder_all_it_holds_in_order(tmp_path):
    for name, content in {
        "b.txt": "two\nlines",
        "a/z.md": "first",
        "a/.hidden": "x",
        ".git/x": "x",
        "c": " \n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    assert read(tmp_path) == ["two\nlines", "first"]
    assert read(tmp_path / "b.txt") == ["two\nlines"]
    assert read(tmp_path, lines=True) == ["two", "lines", "first"]


PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}
GIVEN = {
    ".txt": ("\ufeffa b\r\n\n \nc d\n", {"lines": True}),
    ".csv": ('\ufefftext,source\r\n"a\n\nb",x\r\n\r\nc  d,y\r\n"",x\r\n', {"field": "text"}),
    ".tsv": ('source\ttext\nx\ta "b\ny\tc d\n', {"field": "text"}),
    ".jsonl": ('{"text": "a\\u0000b"}\n\n{"n": 1, "text": "c d"}\n{"text": null}\n', {"field": "text"}),
}


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("kind", GIVEN)
def test_every_kind_of_file_is_read_packed_or_not(tmp_path, kind, packing):
    content, options = GIVEN[kind]
    path = tmp_path / f"x{kind}{packing}"
    path.write_bytes(PACK[packing](content.encode()))
    found = Documents(path, TextOptions(**options))
    assert [naive.words(one) for one in found] == [["a", "b"], ["c", "d"]]
    assert (found.count, found.sha256.hexdigest()) == (2, hashlib.sha256(path.read_bytes()).hexdigest())


def test_a_packed_file_may_have_several_parts(tmp_path):
    for suffix, pack in list(PACK.items())[1:]:
        path = tmp_path / f"x{suffix}"
        path.write_bytes(pack(b"one\n") + pack(b"two\n"))
        assert read(path, lines=True) == ["one", "two"]


def test_columns_are_counted_where_there_is_no_header_and_documents_left_out_by_a_field(tmp_path):
    table, records = tmp_path / "x.tsv", tmp_path / "x.jsonl"
    table.write_text("mine\ta\nyours\tb\nmine\tc\n")
    records.write_text('{"s": 1, "t": "a"}\n{"s": 2, "t": "b"}\n{"t": "c"}\n')
    found = Documents(table, TextOptions("2", without=(("1", "mine"), ("1", "his"))))
    assert list(found) == ["b"]
    assert found.left_out == {("1", "mine"): 2}
    assert read(records, field="t", without=(("s", "1"),)) == ["b", "c"]


LONG = b"x" * (documents.LONGEST + 1)


@pytest.mark.parametrize(
    ("name", "data", "options", "message"),
    [
        ("x.txt", b"a\nb\xff", {}, "x.txt:2: not UTF-8 text: byte 0xff"),
        ("x.txt", b"a\nb\0", {"lines": True}, "x.txt:2: not UTF-8 text: byte 0x00"),
        ("x.txt", gzip.compress(b"a", mtime=0), {}, "what is packed must end in .gz or .xz"),
        ("x.txt", LONG, {}, "x.txt: a document that is too long; at most 16,000,000 bytes; with --lines"),
        ("x.txt", b"a\n" + LONG, {"lines": True}, "x.txt:2: a line that is too long"),
        ("x.txt", b"a", {"field": "text"}, "x.txt: plain text has no fields"),
        ("x.csv", b"text\na", {}, "x.csv: nothing says which field holds the text; give --field NAME, or --lines"),
        ("x.csv", b"txet,b\na,b", {"field": "text"}, "x.csv:1: no column 'text'; the header has 'txet', 'b'; did you"),
        ("x.csv", b"text,text\na,b", {"field": "text"}, "x.csv:1: 2 columns 'text'; give each another name"),
        ("x.csv", b"text\na", {"field": "text", "without": (("s", "x"),)}, "x.csv:1: no column 's'"),
        ("x.csv", b"text,s\na,b\nc,d,e", {"field": "text"}, "x.csv:3: 3 values where the header has 2"),
        ("x.csv", b'text\n"a', {"field": "text"}, "x.csv:2: a quote that is never closed"),
        ("x.tsv", b"a\tb\nc", {"field": "2"}, "x.tsv:2: no field '2'; there are 1"),
        ("x.tsv", b"a\tb", {"field": "0"}, "x.tsv:1: no field '0'"),
        ("x.jsonl", b'{"text": "a"}\n{"txet": "b"}', {"field": "text"}, "x.jsonl:2: no field 'text'; did you mean"),
        ("x.jsonl", b'{"text": 7}', {"field": "text"}, "x.jsonl:1: the field 'text' is not text"),
        ("x.jsonl", b"[1]", {"field": "text"}, "x.jsonl:1: expected an object, found '[1]'"),
        ("x.jsonl", b"\n\n{", {"field": "text"}, "x.jsonl:3:2: not JSON"),
        ("x.jsonl", b'{"text": "\\ud800"}', {"field": "text"}, "x.jsonl:1: half a surrogate pair"),
        ("x.gz", b"plain", {}, "x.gz: not gz data, or cut short"),
        ("x.xz", b"plain", {}, "x.xz: not xz data, or cut short"),
        ("x.gz", gzip.compress(b"a" * 1000, mtime=0)[:-9], {}, "x.gz: not gz data, or cut short"),
        ("x.xz", lzma.compress(b"a" * 1000)[:-9], {}, "x.xz: not xz data, or cut short"),
        ("x.txt", b"a", {"field": "text", "lines": True}, "lines have no fields"),
        ("x.txt", b"a", {"without": (("s", "x"),)}, "--without needs --field"),
        ("x.txt", b"", {}, "x.txt: no documents"),
        ("x.txt", b" \n\n\t", {"lines": True}, "x.txt: no documents"),
        ("x.csv", b"", {"field": "text"}, "x.csv: no documents"),
    ],
)
def test_every_fault_of_a_source_has_its_place(tmp_path, name, data, options, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DecloakError) as error:
        build([Documents(tmp_path / name, TextOptions(**options))], tmp_path / "index")
    assert message in str(error.value)
    assert str(error.value).isprintable()
    assert [one.name for one in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["none.txt", "no\0ne", "empty"])
def test_a_source_that_is_not_there_or_holds_nothing_is_told(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DecloakError) as error:
        build([Documents(tmp_path / name, TextOptions())], tmp_path / "index")
    assert str(error.value).isprintable()


@pytest.mark.parametrize(("suffix", "pack"), list(PACK.items())[1:])
def test_what_unpacks_without_end_is_refused(tmp_path, monkeypatch, suffix, pack):
    monkeypatch.setattr(unpacked, "FREE", 100_000)
    (tmp_path / f"x{suffix}").write_bytes(pack(b"a\n" * 1_000_000))
    with pytest.raises(DecloakError, match="unpacks to more than 100 times its size"):
        read(tmp_path / f"x{suffix}", lines=True)


@pytest.mark.parametrize(
    ("out", "message"),
    [("there", "something already"), ("gone", "something already"), (".", "something already"),
     ("none/index", "no such folder"), ("no\0ne/index", "no such folder"), ("no\0ne", "a zero character"),
     ("x" * 300, "cannot write the file: File name too long")],
)  # fmt: skip
def test_an_index_is_written_only_where_nothing_is(tmp_path, out, message):
    (tmp_path / "there").write_text("a letter")
    (tmp_path / "gone").symlink_to("elsewhere")
    with pytest.raises(DecloakError, match=message):
        build([Documents(tmp_path / "there", TextOptions())], tmp_path / out)
    assert (tmp_path / "there").read_text() == "a letter"


def test_an_index_does_not_take_the_place_of_what_came_there_in_the_meantime(tmp_path):
    (tmp_path / "text").write_text("a letter")
    out = tmp_path / "index"
    with pytest.raises(DecloakError, match="there is something already"):
        build([Documents(tmp_path / "text", TextOptions())], out, progress=lambda count: out.touch())
    assert sorted(one.name for one in tmp_path.iterdir()) == ["index", "text"]
    assert out.read_bytes() == b""


# The command line


@pytest.fixture
def index(tmp_path, call):
    source = tmp_path / "x.tsv"
    source.write_text("".join(f"s{number % 2}\t{text}\n" for number, text in enumerate(CASES)))
    out = tmp_path / "x.index"
    said = call("corpus", "build", source, "--field", 2, "--without", "1=s1", "--without", "1=s7", "--out", out)
    assert (said.code, said.err) == (0, "note: '1=s7' left nothing out\n")
    assert said.out.startswith(f"3 documents (3 left out) in {out}, ")
    return out


def test_the_command_line_tells_what_an_index_holds(index, call):
    said = json.loads(call("corpus", "info", index, "--json").out)
    assert (said["documents"], said["stemming"]) == (3, "porter")
    assert said["sources"][0]["left_out"] == 3
    assert said["sources"][0]["reading"] == "field 2 without 1=s1, 1=s7"
    assert said["origin"] in call("corpus", "info", index).out


def test_the_command_line_counts_terms_and_pairs_as_a_run_does(index, call):
    said = call("corpus", "count", index, "gem", "stones", "jewel gem", "gem zebra", "?", "gem", "--format", "csv")
    rows = [line.split(",") for line in said.out.splitlines()[1:]]
    assert [row[:1] + row[-3:] for row in rows[:5]] == [
        ["gem", "phrase", "3", ""], ["stones", "phrase", "1", ""], ["jewel gem", "words", "2", ""],
        ["gem zebra", "none", "0", ""], ["?", "none", "", ""],
    ]  # fmt: skip
    assert said.code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["corpus"], "Missing command"),
        (["corpus", "biuld"], "No such command 'biuld'"),
        (["corpus", "count", "none", "x"], "none: no index there; build one with `decloak corpus build`"),
        (["corpus", "info", "none"], "none: no index there"),
        (["corpus", "build", "none", "--out", "x"], "none: no such file; check the name and the folder"),
        (["corpus", "build", "none", "--out", "x", "--without", "a"], "--without: 'a' is not FIELD=VALUE"),
    ],
)
def test_the_command_line_answers_mistakes_in_a_line(call, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    said = call(*arguments)
    assert said.code == 2
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


# The reference corpus


def judged(path: Path) -> list[tuple[tuple[str, str], float]]:
    """Judgements; WordSim-353 has two pairs twice."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [((a, b), float(score)) for a, b, score in rows]


@pytest.mark.slow
def test_distances_in_the_reference_corpus_agree_with_human_judgement(tmp_path, shared_data):
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from build_reference_corpus import build_reference

    assert build_reference(shared_data, tmp_path / "index").n == 469_501
    with Corpus.open(tmp_path / "index") as corpus:
        source = CachedCounts(corpus)
        for name, least in {"EN-RG-65": 0.77, "EN-WS-353-ALL": 0.73, "EN-MEN-TR-3k": 0.73}.items():
            pairs, human = zip(*judged(shared_data / "wordsim" / f"{name}.txt"), strict=True)
            for settings in ({}, {"unseen": 2.0, "cap": "none"}):
                scored = distances(source, pairs, **settings).distances
                assert None not in scored.values()
                assert spearmanr([scored[pair] for pair in pairs], human).statistic <= -least, (name, settings)
