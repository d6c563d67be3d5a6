"""Word vectors: their files, their cache, how terms are found among them, and the cosine."""

import gzip
import importlib.util
import os
import stat
import struct
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from decloak.data.pairs import ScoredPairs
from decloak.errors import DecloakError
from decloak.relate import vectors_file
from decloak.relate.similar import Similar, similarities, similarity_to_distance
from decloak.relate.vectors_file import blocks, is_vectors_file
from decloak.relate.word_vectors import Embedding, FileVectors, PackagedVectors, cache_folder, vectors_of
from naive_embedding import naive_cosine, naive_vector

VECTORS = {
    "flu": (1.0, 0.0, 0.0),
    "cough": (0.6, 0.8, 0.0),
    "heart": (0.0, 1.0, 0.0),
    "attack": (0.0, 0.0, 1.0),
    "new_york": (0.0, 1.0, 1.0),
    "low-fat": (1.0, 1.0, 0.0),
    "type": (0.5, 0.5, 0.5),
    "nought": (0.0, 0.0, 0.0),
    "Paris": (-1.0, 0.0, 0.0),
}


def glove(vectors) -> bytes:
    return "".join(f"{word} {' '.join(map(repr, map(float, vector)))}\n" for word, vector in vectors.items()).encode()


def word2vec(vectors) -> bytes:
    dim = len(next(iter(vectors.values())))
    return f"{len(vectors)} {dim}\n".encode() + glove(vectors)


def binary(vectors, end: bytes = b"\n") -> bytes:
    dim = len(next(iter(vectors.values())))
    rows = [word.encode() + b" " + struct.pack(f"<{dim}f", *vector) + end for word, vector in vectors.items()]
    return f"{len(vectors)} {dim}\n".encode() + b"".join(rows)


def written(folder: Path, content: bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def read_all(path: Path) -> tuple[list[bytes], np.ndarray]:
    found = list(blocks(path))
    return [word for block in found for word in block.words], np.concatenate([block.vectors for block in found])


@pytest.fixture
def embedding(tmp_path: Path) -> Embedding:
    return Embedding(FileVectors.read(written(tmp_path, glove(VECTORS)), tmp_path / "cache"))


def score(embedding: Embedding, a: str, b: str) -> float | None:
    return embedding.scores([(a, b)]).scores[a, b]


# Files


words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=8)
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=60)
@given(st.data(), st.integers(2, 5), st.sampled_from([64, 100, 1 << 24]))
def test_every_form_of_a_file_gives_the_same_words_and_vectors(data, dim, size):
    vectors = data.draw(st.dictionaries(words, st.tuples(*[numbers] * dim), min_size=1, max_size=12))
    forms = [glove(vectors), word2vec(vectors), binary(vectors), binary(vectors, b"")]
    with tempfile.TemporaryDirectory() as folder, patch.object(vectors_file, "BYTES", size):
        for form in [*forms, *map(gzip.compress, forms)]:
            names, found = read_all(written(Path(folder), form))
            assert names == [word.encode() for word in vectors]
            assert found.tolist() == [list(vector) for vector in vectors.values()]


def test_words_with_blanks_tabs_and_line_ends_of_windows_are_read(tmp_path):
    path = written(tmp_path, b"\xef\xbb\xbfa 1 2 \r\n. . . 3 4\r\nb\t5\t6\r\n7 7 8\r\n\xff 9 9\r\n\r\n")
    names, found = read_all(path)
    assert names == [b"a", b". . .", b"b", b"7", b"\xff"]
    assert found.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 9]]


FAULTS = {
    "empty": (b"", "vectors.txt: the file is empty"),
    "blank": (b" \n\n", "vectors.txt: the file is empty"),
    "ragged": (b"a 1 2\nb 1\n", "vectors.txt:2: 1 numbers; expected a word and 2"),
    "ragged, even in all": (b"a 1 2\nb 1\nc 1 2 3\n", "vectors.txt:2: 1 numbers; expected a word and 2"),
    "too many": (b"a 1 2\nb 1 2 3\n", "vectors.txt:2: 3 numbers; expected a word and 2"),
    "header with other numbers": (b"1 3\na 1 2\n", "vectors.txt:2: 2 numbers; expected a word and 3, as line 1 says"),
    "no word": (b"a 1 2\n 1 2\n", "vectors.txt:2: 2 numbers; expected a word and 2"),
    "only a word": (b"cat\n", "vectors.txt:1: 1 values"),
    "blank line": (b"a 1 2\n\nb 1 2\n", "vectors.txt:2: 0 numbers"),
    "text": (b"a 1 2\nb 1 x\x07\n", "vectors.txt:2: 'x\\x07' is not a finite number"),
    "glued": (b"a 1 2\nb 1-2 3\n", "vectors.txt:2: '1-2' is not a finite number"),
    "underscore": (b"a 1 2\nb 1_0 3\n", "vectors.txt:2: '1_0' is not a finite number"),
    "nan": (b"a 1 2\nb 1 nan\n", "vectors.txt:2: 'nan' is not a finite number"),
    "inf": (b"a 1 2\nb 1 -inf\n", "vectors.txt:2: '-inf' is not a finite number"),
    "too large": (b"a 1 2\nb 1 1e39\n", "vectors.txt:2: '1e39' is not a finite number"),
    "csv": (b"flu,1,2\n", "vectors.txt:1: 1 values"),
    "zero bytes": (b"\0" * 5000, "vectors.txt:1: 1 values"),
    "no words": (b"0 3\n", "vectors.txt:1: the header says 0 words of 3 numbers"),
    "no numbers": (b"3 0\na\n", "vectors.txt:1: the header says 3 words of 0 numbers"),
    "absurd width": (b"3 99999999999\na 1\n", "vectors.txt:1: the header says 3 words of 99,999,999,999 numbers"),
    "absurd length": (b"9999999999999 2\na 1 2\n", "says 9,999,999,999,999 words of 2 numbers, the file has 1"),
    "text cut off": (b"3 2\na 1 2\nb 1 2\n", "the header says 3 words of 2 numbers, the file has 2"),
    "text goes on": (b"1 2\na 1 2\nb 1 2\n", "the header says 1 words of 2 numbers, the file has 2"),
    "binary cut off": (binary(VECTORS)[:-20], "the header says 9 words of 3 numbers, the file has 8"),
    "binary, absurd length": (b"99999999999 2\na " + bytes(8), "says 99,999,999,999 words of 2 numbers, the file has"),
    "binary goes on": (binary(VECTORS) + b"x", "the file goes on after the 9 words its header says"),
    "binary nan": (binary({"a": (0, 0), "b": (0, float("nan"))}), "word 2, 'b', has a number that is not finite"),
    "binary without words": (b"2 2\n " + bytes(8) + b"x" * 99, "the header says 2 words of 2 numbers, the file has 1"),
    "gzip cut off": (gzip.compress(glove(VECTORS), mtime=0)[:-9], "vectors.txt: damaged gzip"),
    "gzip broken": (b"\x1f\x8bx" * 9, "vectors.txt: damaged gzip"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_file_is_refused_in_one_line_with_the_place(tmp_path, content, expected):
    with pytest.raises(DecloakError) as caught:
        FileVectors.read(written(tmp_path, content), tmp_path / "cache")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("cache/*"))


def test_a_line_without_end_is_refused(tmp_path):
    path = written(tmp_path, b"a 1 2\n" + b"b" * 2_000_000)
    with pytest.raises(DecloakError, match=r"vectors\.txt:2: line of more than 1,000,000 bytes"):
        list(blocks(path))


def test_a_name_that_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    said = {
        tmp_path: "this is a folder; name a file in it",
        tmp_path / "none.txt": "no such file; check the name and the folder",
        "a\0b": "no file can have this name",
        tmp_path / "pipe": "a pipe or a device, not a file; name a file",
        "/dev/zero": "a pipe or a device, not a file; name a file",
    }
    for path, message in said.items():
        with pytest.raises(DecloakError, match=message):
            FileVectors.read(path)


def test_a_pipe_in_place_of_a_cache_is_replaced(tmp_path):
    path = written(tmp_path, b"flu 1 2\n")
    FileVectors.read(path, tmp_path / "cache")
    (cache,) = (tmp_path / "cache").iterdir()
    cache.unlink()
    os.mkfifo(cache)
    assert FileVectors.read(path, tmp_path / "cache").row(b"flu") == 0
    assert cache.is_file()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"flu 1 2\n", True),
        (b"3 2\nflu 1 2\n", True),
        (gzip.compress(b"flu 1 2\n", mtime=0), True),
        (binary(VECTORS), True),
        (b"flu,1,2\n", False),
        (b"flu, 1\n", False),
        (b"heart attack, 1, 2\n", False),
        (b"", False),
    ],
)
def test_word_vectors_are_told_from_a_csv_file(tmp_path, content, expected):
    assert is_vectors_file(written(tmp_path, content)) is expected


# The cache


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file that goes on well after what is read of it to tell whether it has changed."""
    return written(tmp_path, b"".join(b"word%d %d 1\n" % (n, n) for n in range(10_000)))


def test_the_second_start_reads_the_cache_and_not_the_file(tmp_path, large):
    first = FileVectors.read(large, tmp_path / "cache")
    before = large.stat()
    large.write_bytes(large.read_bytes().replace(b"word9999 9999 1", b"word9999 1111 1"))
    os.utime(large, ns=(before.st_atime_ns, before.st_mtime_ns))
    second = FileVectors.read(large, tmp_path / "cache")
    assert first.vectors[first.row(b"word9999")].tolist() == [9999, 1]
    assert second.vectors[second.row(b"word9999")].tolist() == [9999, 1]


def test_a_file_that_has_changed_is_read_again_and_leaves_one_cache(tmp_path, large):
    FileVectors.read(large, tmp_path / "cache")
    time = large.stat().st_mtime_ns
    large.write_bytes(large.read_bytes().replace(b"word9999 9999 1", b"word9999 1111 1"))
    os.utime(large, ns=(time, time + 1_000_000))
    table = FileVectors.read(large, tmp_path / "cache")
    assert table.vectors[table.row(b"word9999")].tolist() == [1111, 1]
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_cache_is_for_its_owner_only(tmp_path, large):
    FileVectors.read(large, tmp_path / "deep" / "cache")
    (cache,) = (tmp_path / "deep" / "cache").iterdir()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.parent.stat().st_mode) == 0o700


DAMAGE = {
    "empty": lambda data: b"",
    "short": lambda data: data[:50],
    "cut off": lambda data: data[:-1],
    "longer": lambda data: data + b"x",
    "not ours": lambda data: b"x" * len(data),
    "another version": lambda data: data[:15] + b"0" + data[16:],
    "another source": lambda data: data[:20] + bytes(8) + data[28:],
    "wrong count": lambda data: data[:48] + struct.pack("<q", -1) + data[56:],
    "absurd count": lambda data: data[:48] + struct.pack("<q", 2**62) + data[56:],
    "wrong word": lambda data: data[:-1] + b"x",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_cache_is_made_anew_without_a_word(tmp_path, large, damage):
    FileVectors.read(large, tmp_path / "cache")
    (cache,) = (tmp_path / "cache").iterdir()
    whole = cache.read_bytes()
    cache.write_bytes(damage(whole))
    table = FileVectors.read(large, tmp_path / "cache")
    assert table.vectors[table.row(b"word77")].tolist() == [77, 1]
    assert cache.read_bytes() == whole


def test_where_no_cache_can_be_written_the_file_is_read_all_the_same(tmp_path, large):
    table = FileVectors.read(large, written(tmp_path, b"", "a file") / "cache")
    assert table.vectors[table.row(b"word77")].tolist() == [77, 1]


def test_the_cache_is_where_the_user_keeps_caches(tmp_path, large, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    FileVectors.read(large)
    assert len(list((tmp_path / "mine" / "decloak").iterdir())) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "decloak"


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=3).filter(lambda word: not set(word) & set(b" \n\r")), min_size=1, max_size=30))
def test_every_word_has_its_first_vector_and_no_other_word_any(names):
    content = b"".join(name + b" " + struct.pack("<f", at) for at, name in enumerate(names))
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), b"%d 1\n" % len(names) + content)
        with patch.object(vectors_file, "_is_binary", return_value=True):
            table = FileVectors.read(path, Path(folder))
    for name in names:
        assert table.vectors[table.row(name), 0] == names.index(name)
    assert all(table.row(name + end) is None for name in names for end in (b"\xff?", b"\0?") if name + end not in names)


# Terms and cosines


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("flu", "cough", 0.6),
        ("Flu", "FLU", 1.0),
        ("paris", "flu", None),
        ("Paris", "flu", -1.0),
        ("heart attack", "attack", 0.5**0.5),
        ("heart_attack", "heart attack", 1.0),
        ("New York", "attack", 0.5**0.5),
        ("low fat", "flu", 0.5**0.5),
        ("low-fat", "flu", 0.5**0.5),
        ("low-fat flu", "flu", 2 / 5**0.5),
        ("Heart's", "heart", 1.0),
        ("flu’s cough", "flu cough", 1.0),
        ("heart-attack", "heart attack", 1.0),
        ("flu (unknown)", "flu", 1.0),
        ("nought", "flu", None),
        ("unknown", "flu", None),
        ("!?", "flu", None),
        ("", "flu", None),
        ("\ud800", "flu", None),
    ],
)
def test_a_term_is_found_whole_or_by_its_words(embedding, a, b, expected):
    found = score(embedding, a, b)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-7))


def test_how_the_terms_were_found_is_told_in_a_line_a_kind(tmp_path):
    path = written(tmp_path, glove(VECTORS) + b"flu 9 9 9\n")
    pairs = [("flu", "heart attack"), ("heart xyz", "flu"), ("qq", "rr"), ("flu", "nought")]
    assert Embedding(FileVectors.read(path, tmp_path / "cache")).scores(pairs).warnings == [
        "2 of 6 terms (33 %) found whole among the word vectors",
        "1 of 6 terms (17 %) as the mean of their words: 'heart attack'",
        "1 of 6 terms (17 %) as the mean of their words, some of which are unknown: 'heart xyz'",
        "2 of 6 terms (33 %) missing (without a score): 'qq', 'rr'",
        "1 of 6 terms (17 %) with a vector of zeros, so no score: 'nought'",
        "the word vectors have 1 words again: the first vector counts",
    ]


def test_no_pairs_have_no_scores(embedding):
    assert embedding.scores([]) == Similar({}, [])


pieces = st.sampled_from(
    ["flu", "Flu", "heart", "new", "york", "low-fat", "low", "zz", "x-y", "x's-y", "flu's", "Paris"]
)
terms = st.lists(pieces, min_size=1, max_size=3).flatmap(
    lambda some: st.sampled_from([" ", "_", " ! ", "-"]).map(lambda mark: mark.join(some))
)


@settings(max_examples=80)
@given(st.data())
def test_scores_are_those_of_the_naive_reading(data):
    vocabulary = st.sampled_from(["flu", "heart", "new_york", "low-fat", "low", "fat", "x", "Paris", "york", "x's"])
    small = st.integers(-3, 3).map(float)
    vectors = data.draw(st.dictionaries(vocabulary, st.tuples(small, small, small), min_size=1))
    pairs = data.draw(st.lists(st.tuples(terms, terms), min_size=1, max_size=8))
    with tempfile.TemporaryDirectory() as folder:
        found = Embedding(FileVectors.read(written(Path(folder), glove(vectors)), Path(folder))).scores(pairs).scores
    for a, b in pairs:
        u, v = naive_vector(a, vectors), naive_vector(b, vectors)
        expected = None if u is None or v is None else naive_cosine(u, v)
        assert found[a, b] == (None if expected is None else pytest.approx(expected, abs=1e-9))


@settings(max_examples=80)
@given(st.lists(st.tuples(*[st.sampled_from("abcdefg?")] * 2)), st.integers(0, 9))
def test_pairs_are_picked_out_of_blocks_of_any_size(pairs, block):
    number = {name: at for at, name in enumerate("gfedcba")}
    everything = np.random.default_rng(1).random((7, 7))
    asked: list[int] = []

    def matrix(some: np.ndarray) -> np.ndarray:
        assert len(some) <= max(1, block)
        asked.extend(some)
        return everything[some]

    found = similarities(pairs, number, block, matrix)
    # Rounding may leave a matrix uneven: a pair has one score, whichever way round it is asked for.
    assert found == {
        (a, b): everything[*sorted((number[a], number[b]))] if a in number and b in number else None for a, b in pairs
    }
    assert len(asked) == len(set(asked))


def test_distances_are_one_less_the_similarity():
    found = similarity_to_distance(
        Similar(ScoredPairs.of({("a", "b"): 0.25, ("a", "c"): -1.0, ("b", "c"): None, ("c", "d"): 1.0}), ["line"])
    )
    assert found.distances == {("a", "b"): 0.75, ("a", "c"): 2.0, ("b", "c"): None, ("c", "d"): 0.0}
    assert found.warnings == ["line"]


def test_items_have_the_vectors_of_a_file_where_it_has_any(tmp_path):
    path = written(tmp_path, glove(VECTORS))
    found = vectors_of(path, ["flu", "heart attack", "zz", "flu"], tmp_path / "cache")
    assert {item: vector.tolist() for item, vector in found.items()} == {
        "flu": [1, 0, 0],
        "heart attack": [0, 0.5, 0.5],
    }


# The package, and real vectors


INSTALLED = importlib.util.find_spec("wordllama") is not None


@pytest.mark.skipif(INSTALLED, reason="wordllama is installed")
def test_without_the_package_the_extra_is_named():
    with pytest.raises(DecloakError, match=r"no word vectors installed.*pip install 'wordllama"):
        PackagedVectors.load()


@pytest.mark.skipif(not INSTALLED, reason="wordllama is not installed")
def test_the_package_scores_every_term_with_a_letter():
    found = Embedding(PackagedVectors.load()).scores(
        [("car", "automobile"), ("car", "zzqx"), ("", "car"), ("\ud800", "car")]
    )
    assert found.scores["car", "automobile"] > 0.6
    assert found.scores["", "car"] is None
    assert found.warnings == [
        "4 of 5 terms as the mean of the pieces wordllama cuts them into",
        "1 of 5 terms (20 %) missing (without a score): ''",
    ]


def correlations(embedding: Embedding, path: Path) -> tuple[float, float]:
    rows = [(a.lower(), b.lower(), float(human)) for a, b, human in map(str.split, path.read_text().splitlines())]
    scores = embedding.scores([(a, b) for a, b, _ in rows]).scores
    both = [scores[a, b] for a, b, _ in rows], [human for _, _, human in rows]
    return spearmanr(*both).statistic, pearsonr(*both).statistic


@pytest.mark.slow
def test_real_vectors_agree_with_human_judgements_as_published(tmp_path, shared_data):
    with np.load(shared_data / "glove100_i8_150k.npz") as arrays:
        vectors = arrays["q"].astype(np.float32) * arrays["scale"].astype(np.float32)[:, None]
    with gzip.open(shared_data / "glove100_vocab_150k.txt.gz", "rt", encoding="utf-8") as lines:
        rows = [
            f"{word.rstrip()} {' '.join(f'{x:.9g}' for x in v)}\n"
            for word, v in zip(lines, vectors.tolist(), strict=True)
        ]
    path = written(tmp_path, "".join(rows).encode())
    embedding = Embedding(FileVectors.read(path, tmp_path / "cache"))
    rubenstein = correlations(embedding, shared_data / "wordsim" / "EN-RG-65.txt")
    assert rubenstein == (pytest.approx(0.690, abs=0.001), pytest.approx(0.681, abs=0.001))
    assert correlations(embedding, shared_data / "wordsim" / "EN-WS-353-ALL.txt")[0] == pytest.approx(0.533, abs=0.001)
    assert correlations(embedding, shared_data / "wordsim" / "EN-MEN-TR-3k.txt")[0] == pytest.approx(0.681, abs=0.001)


@pytest.mark.parametrize("damage", [np.nan, np.inf])
def test_a_vector_that_was_damaged_on_disk_gives_no_score(tmp_path, damage):
    path, folder = written(tmp_path, glove({"a": [1, 0], "b": [3, 4]})), tmp_path / "cache"
    FileVectors.read(path, folder)
    (cache,) = folder.iterdir()
    data = cache.read_bytes()
    cache.write_bytes(data.replace(np.array([3, 4], "<f4").tobytes(), np.array([damage, 4], "<f4").tobytes()))
    assert cache.read_bytes() != data
    assert Embedding(FileVectors.read(path, folder)).scores([("a", "b"), ("a", "a")]).scores == {
        ("a", "b"): None,
        ("a", "a"): 1.0,
    }
