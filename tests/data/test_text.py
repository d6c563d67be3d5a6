"""Documents become transactions of nouns and noun phrases; the figures of the thesis are what is aimed at."""

import importlib.util
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.data.dataset import Dataset
from decloak.data.ordering import sorted_warning
from decloak.data.text.notes import LONGEST_HEADER, read_text, without_headers
from decloak.data.text.phrases import (
    IRREGULAR,
    STOP_WORDS,
    UNCHANGED,
    Tagged,
    english,
    outermost,
    phrases,
    sentences,
    singular,
)
from decloak.errors import DecloakError

HANTA = importlib.util.find_spec("HanTa") is not None
tagging = pytest.mark.skipif(not HANTA, reason="the extra text is not installed")
KINDS = {"n": "noun", "a": "adjective", "-": "other"}


def tagged(text: str) -> list[Tagged]:
    """A sentence that is tagged already, as 'severe/a chest/n pains/n'; what has no tag is of another kind."""
    pairs = (word.partition("/") for word in text.split())
    return [Tagged(word, KINDS[kind or "-"]) for word, _, kind in pairs]


def by_adjectives(sentence) -> list[Tagged]:
    """A tagger for tests without the extra: these are adjectives, every other word is a noun."""
    some = {"severe", "long", "left"}
    return [Tagged(word, "adjective" if word in some else "noun" if word.isalpha() else "other") for word in sentence]


def fault(*arguments, **options) -> str:
    with pytest.raises(DecloakError) as caught:
        read_text(*arguments, tagger=by_adjectives, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Phrases.


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("peripheral/a vascular/a disease/n", ["vascular disease"]),
        ("superior/a femoral/a artery/n anterior/a tibial/a bypass/n graft/n",
         ["femoral artery", "tibial bypass", "graft"]),
        ("important/a prostate/n cancer/n symptoms/n", ["important prostate", "cancer symptom"]),
        ("close/a male/a relative/n", ["male relative"]),
        ("different/a risk/n levels/n", ["different risk", "level"]),
        ("other/a complications/n", ["complication"]),
        ("4/n pound/n weights/n", ["pound weight"]),
        ("X/n chest/n", ["chest"]),
        ("pain/n and chest/n", ["pain", "chest"]),
        ("vital/a", []),
        ("63-year-old/a Woman/n", ["63-year-old woman"]),
    ],
)  # fmt: skip
def test_a_sentence_is_read_from_left_to_right_in_pairs(sentence, expected):
    assert list(phrases(tagged(sentence))) == expected


def naive_phrases(sentence: list[Tagged]) -> list[str]:
    """The patterns of thesis 5.1 as a regular expression over one letter a word."""
    letters = ""
    for word, kind in sentence:
        dropped = word.lower() in STOP_WORDS or len(word) == 1 or not re.search(r"[^\W\d_]", word)
        letters += "-" if dropped else kind[0]
    found = [sentence[match.start() : match.end()] for match in re.finditer("nn|an|n", letters)]
    spelt = [[one.word.lower() for one in some] for some in found]
    return [" ".join([*some[:-1], singular(some[-1])]) for some in spelt]


vocabulary = st.sampled_from(["chest", "Pains", "the", "other", "x", "7", "long-standing", "b12", "masses", "--"])
sentence = st.lists(st.builds(Tagged, vocabulary, st.sampled_from(list(KINDS.values()))), max_size=12)


@given(sentence)
def test_phrases_are_those_of_the_pattern(found):
    assert list(phrases(found)) == naive_phrases(found)


def naive_distinct(items: list[str]) -> list[str]:
    """Every item against every other, as text between blanks."""

    def plain(item):
        return " " + " ".join(singular(word) for word in item.split()) + " "

    once = [item for at, item in enumerate(items) if all(plain(item) != plain(other) for other in items[:at])]
    return [item for item in once if not any(plain(item) != plain(other) and plain(item) in plain(other)
                                             for other in once)]  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(["knee", "knees", "pain", "joint"]), min_size=1, max_size=4), max_size=8))
def test_what_a_longer_item_holds_and_what_is_repeated_is_dropped(some):
    items = [" ".join(one) for one in some]
    assert list(outermost(items)) == naive_distinct(items)


def test_a_word_is_no_part_of_a_longer_word():
    assert outermost(["pain", "painful joint", "long history", "history"]) == ("pain", "painful joint", "long history")


# Plurals.


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("symptoms", "symptom"), ("biopsies", "biopsy"), ("masses", "mass"), ("headaches", "headache"),
        ("coughs", "cough"), ("women", "woman"), ("feet", "foot"), ("diagnoses", "diagnosis"), ("doses", "dose"),
        ("diseases", "disease"), ("viruses", "virus"), ("potatoes", "potato"), ("toes", "toe"), ("boxes", "box"),
        ("x-rays", "x-ray"), ("cameras", "camera"), ("valves", "valve"), ("penknives", "penknife"),
        ("clinics", "clinic"), ("analyses", "analysis"), ("movies", "movie"),
        ("keratoses", "keratosis"), ("mucopolysaccharidoses", "mucopolysaccharidosis"), ("fibroses", "fibrosis"),
        ("purposes", "purpose"), ("overdoses", "overdose"), ("noses", "nose"), ("loses", "lose"), ("closes", "close"),
        ("bioprostheses", "bioprosthesis"), ("amniocenteses", "amniocentesis"), ("cheeses", "cheese"),
        ("telangiectases", "telangiectasis"), ("metastases", "metastasis"), ("candidiases", "candidiasis"),
        ("databases", "database"), ("aliases", "alias"), ("retroviruses", "retrovirus"), ("focuses", "focus"),
        ("houses", "house"), ("helices", "helix"), ("phalanges", "phalanx"), ("pneumothoraces", "pneumothorax"),
        ("streptococci", "streptococcus"), ("microvilli", "microvillus"), ("calculi", "calculus"), ("atria", "atrium"),
        ("sequelae", "sequela"), ("salesmen", "salesman"),
    ],
)  # fmt: skip
def test_plurals_become_singular(plural, expected):
    assert singular(plural) == expected


STAYING = """diabetes illness pancreas virus diagnosis abscess pelvis gas bus series species forceps ascites physics
genetics measles news texas states aids scissors distress bias semen abdomen specimen regimen chaos pros mass
prediabetes hydrops hypospadias polyhydramnios stapes psoas menses pneumoniae pylori subspecies netherlands"""


@pytest.mark.parametrize("word", STAYING.split())
def test_what_only_looks_like_a_plural_stays(word):
    assert singular(word) == word


@given(st.one_of(st.text("aeiosuxychn's-", max_size=9), st.sampled_from([*IRREGULAR, *UNCHANGED])))
def test_a_singular_has_no_singular(word):
    assert singular(singular(word)) == singular(word)


# Sentences.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ms. Smith's knee.", ["Ms. Smith 's knee ."]),
        ("seen b.i.d. at cancer.org today", ["seen b.i.d. at cancer.org today"]),
        ("He didn't. 3.5 mg!", ["He did n't .", "3.5 mg !"]),
        ("wrapped\nprose goes on\nA new line begins", ["wrapped prose goes on", "A new line begins"]),
        ("insulin-\ndependent African-\nAmericans", ["insulin-dependent African-Americans"]),
        ("- one\n- two -\n\nthree", ["- one", "- two -", "three"]),
        ("one\r\n\r\ntwo", ["one", "two"]),
        ("", []),
    ],
)
def test_text_is_cut_into_sentences(text, expected):
    assert [" ".join(one) for one in sentences(text)] == expected


@given(st.text(st.sampled_from("aB.'-’n t\n:?7_\0\ud800"), max_size=60))
def test_no_sign_but_blanks_is_lost_in_cutting(text):
    assert "".join("".join(one) for one in sentences(text)) == "".join(text.split())


def test_a_text_of_one_endless_word_is_cut_in_time():
    start = time.perf_counter()
    for mark in ("n", "a.", "a-", "'", "n't", ". "):
        list(sentences(mark * 200_000))
    assert time.perf_counter() - start < 10


# Headers.


def test_lines_that_match_are_removed():
    texts = ["RECORD #7\nno pain\n[report end]", "fever\nRECORD #8"]
    assert without_headers(texts, [r"^RECORD #\d+$", r"\[report end\]"]) == ["no pain", "fever"]
    assert without_headers(texts, []) == texts


def test_a_long_line_is_no_header():
    texts = ["x" * LONGEST_HEADER, "x" * (LONGEST_HEADER + 1)]
    assert without_headers(texts, ["x"]) == ["", texts[1]]


def test_a_pattern_that_would_never_end_is_given_up():
    slow = "(a+)+[[c]"  # of which Python warns as well
    with pytest.raises(DecloakError) as caught:
        without_headers(["a" * 60 + "b"], ["x", slow, "b"], seconds=0.5)
    assert str(caught.value).startswith(f"too slow for 1 lines: '{slow}'; leave out repeats inside repeats")


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{99999999999}", "(" * 900])
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(DecloakError, match="is no regular expression"):
        without_headers(["a"], [pattern])


def test_a_pattern_that_a_later_python_may_read_otherwise_is_a_pattern():
    assert without_headers(["a\n[b"], ["[[x]"]) == ["a"]


def test_a_pattern_of_any_length_is_refused():
    with pytest.raises(DecloakError, match="a pattern of 1,001 characters; at most 1,000"):
        without_headers(["a"], ["a" * 1_001])


# Order.


@pytest.mark.parametrize(
    ("transactions", "warned"),
    [
        ([("a", "b", "c"), ("c", "a", "b")], False),
        ([("a", "b", "c"), ("d", "e", "f"), ("c", "a", "b")], True),
        ([("a", "B", "c")], True),
        ([("B", "a", "c")], True),
        ([("a", "b"), ("c", "d")], False),
        ([], False),
    ],
)
def test_sorted_transactions_are_told_of(transactions, warned):
    message = sorted_warning(Dataset(tuple(transactions), tuple(map(str, range(len(transactions))))))
    assert (message is not None) is warned
    assert message is None or "near in spelling" in message


# Documents.


def test_a_folder_is_a_transaction_a_file(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.txt").write_text("long history\n", encoding="utf-8")
    (tmp_path / "one.txt").write_text("HEADER 1\nsevere pain, knees\nHistory\n", encoding="utf-8")
    (tmp_path / "three.txt").write_text("HEADER 2\n7", encoding="utf-8")
    told = []
    data = read_text(
        tmp_path, headers=["^HEADER"], progress=lambda done, of: told.append((done, of)), tagger=by_adjectives
    )
    assert dict(zip(data.labels, data.transactions, strict=True)) == {
        "one.txt": ("severe pain", "knee", "history"),
        "b/two.txt": ("long history",),
    }
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_records_of_a_file_are_transactions(tmp_path):
    table = tmp_path / "notes.csv"
    table.write_text('id,note\np7,"severe pain, knees"\np8,7\np9,fever\n', encoding="utf-8")
    data = read_text(table, field="note", ids="id", tagger=by_adjectives)
    assert (data.labels, data.transactions) == (("p7", "p9"), (("severe pain", "knee"), ("fever",)))
    assert read_text(table, field="note", tagger=by_adjectives).labels == ("1", "3")
    lines = tmp_path / "notes.jsonl"
    lines.write_text('{"id": 7, "note": "fever"}\n{"id": 8, "note": null}\n', encoding="utf-8")
    data = read_text(lines, field="note", ids="id", tagger=by_adjectives)
    assert (data.labels, data.transactions) == (("7",), (("fever",),))
    data = read_text(tmp_path, field="note", tagger=by_adjectives)
    assert (data.labels, data.transactions[2:]) == (("1", "3", "4"), (("fever",),))


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        ("a.csv", "id\nx\n", {}, r"a\.csv: nothing says which field holds the text; name it as field: NAME in "),
        ("a.csv", "id,note\n", {"field": "note"}, r"a\.csv: no document found; expected a text file a document, or"),
        ("a.csv", "id,note\n1,x\n", {"field": "nota"}, r"a\.csv:1: no column 'nota'.*did you mean 'note'\?"),
        ("a.csv", "id,note\n1,fever\n", {"field": "note", "ids": "ids"}, r"a\.csv:2: no field 'ids'; did you mean"),
        ("a.csv", "id,note\n1,knee\n1,hip\n", {"field": "note", "ids": "id"}, r"a\.csv:3: the id '1' occurs in line 2"),
        ("a.csv", "id,note\n,hip\n", {"field": "note", "ids": "id"}, r"a\.csv:2: the id of the record: an empty"),
        ("a.jsonl", '{"note": "hip", "id": [1]}', {"field": "note", "ids": "id"}, r"a\.jsonl:1: the id of the doc"),
        ("a.jsonl", '{"note": 7}', {"field": "note"}, r"a\.jsonl:1: the field 'note' is not text"),
        ("a.txt", "fever", {"field": "note"}, r"a\.txt: plain text has no fields"),
        ("a.txt", "7 8", {}, r"a\.txt: no nouns \(documents: 1\); expected English text"),
        ("a.txt", "fever\0", {}, r"a\.txt:1: not UTF-8 text"),
        ("a.txt", "fever\n", {"headers": ["("]}, r"'\(' is no regular expression"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_in_one_line(tmp_path, name, content, options, expected):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert re.match(expected, fault(tmp_path / name, **options).removeprefix(f"{tmp_path}/"))


def test_a_missing_file_is_told_of(tmp_path):
    assert fault(tmp_path / "none.txt").endswith("none.txt: no such file; check the name and the folder")
    (tmp_path / "notes.txt").touch()
    assert fault(tmp_path / "note.txt") == f"{tmp_path}/note.txt: no such file; did you mean 'notes.txt'?"


def test_a_folder_without_documents_says_what_is_looked_for(tmp_path):
    (tmp_path / ".hidden.txt").write_text("fever")
    said = "no document found; expected a text file a document, or .csv, .tsv or .jsonl with one a record; hidden "
    assert fault(tmp_path) == f"{tmp_path}: {said}files are left out"


@given(st.text(max_size=80))
@settings(max_examples=40)
def test_any_text_becomes_clean_items(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("notes") / "notes.jsonl"
    path.write_text(json.dumps({"note": text.encode("utf-8", "ignore").decode() + " fever"}) + "\n", encoding="utf-8")
    (items,) = read_text(path, field="note", tagger=by_adjectives).transactions
    assert all(item == item.strip() and "\n" not in item and re.search(r"[^\W\d_]", item) for item in items)
    assert list(outermost(items)) == list(items)


# With the tagger.


@pytest.mark.skipif(HANTA, reason="the extra text is installed")
def test_without_the_extra_the_error_says_what_to_install():
    with pytest.raises(DecloakError, match=r"needs the extra text; pip install 'hanta"):
        english()


@tagging
def test_endless_and_odd_words_are_tagged_in_time():
    start = time.perf_counter()
    odd = ["x" * 1_000_000, "\0", "'s", "\U0001f600", "\ud800", "knee"]
    assert [one.word for one in english()(odd)] == odd
    assert english()(odd)[0].kind == "other"
    assert english()([]) == []
    assert len(english()(["%"] * 60_000)) == 60_000
    assert time.perf_counter() - start < 20


@tagging
@given(st.lists(st.one_of(st.text(min_size=1, max_size=5), st.sampled_from(["a", "the", "is", ".", "Knees"]))))
def test_whatever_the_words_are_each_is_tagged(sentence):
    assert [one.word for one in english()(sentence)] == sentence


@tagging
def test_a_note_becomes_what_it_is_about(tmp_path):
    (tmp_path / "note.txt").write_text(
        "DISCHARGE SUMMARY 12\nHISTORY: Mrs. Jones is a 71-year-old woman with a long history of chronic lung "
        "disease.\nShe underwent a left hip replacement, and takes several tablets for her diabetes. "
        "No other complaints.\n",
        encoding="utf-8",
    )
    data = read_text(tmp_path, headers=[r"^DISCHARGE SUMMARY \d+$"])
    assert data.transactions == (
        ("mrs. jones", "71-year-old woman", "long history", "chronic lung", "disease", "left hip", "replacement",
         "tablet", "diabetes", "complaint"),
    )  # fmt: skip


FIGURES = {  # items of the figure that are not found, and found ones that are not in it
    "5.2": (
        """amputation, pound, right femorla, saphenous vein, transmetatarsal, weight, largrine medical, center,
        other complication, physical theparist, by pass graft, medical history, insulin-dependent diabete,
        coronary artery, hypertension, cataract, mrsa, toe wound, september, surgical history, debridement,
        toe amputation, largrine medical center""",
        """transmetatarsal amputation, distal saphenous, vein bypass, year, pound weight, physical therapist, largrine,
        medical center, complication""",
    ),
    "5.4": (
        """male, detection, symptom, bone, difficulty, seman, action, health, problem, several factor, risk, close male,
        relative, least""",
        """control, cancerous cell, wery, look, nighttime difficulty, semen, health problem, age, increased risk,
        male relative, american, east, early action""",
    ),
}
EXCERPTS = {
    "5.2": ("HISTORY: Ms. Pizzo", "pain or any other", "ms. pizzo, 63", "debridement, toe"),
    "5.4": ("As prostate cancer involves", "save your live.", "prostate cancer, reproductive", "scan, extent"),
}


@pytest.fixture(scope="session")
def thesis(shared_data) -> list[str]:
    path: Path = shared_data.parent / "papers" / "set-generalisation-attacks-thesis-2015.txt"
    if not path.is_file():
        pytest.skip("the thesis is not beside the real data")
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def excerpt(lines: list[str], first: str, last: str) -> str:
    start = next(at for at, line in enumerate(lines) if line.startswith(first))
    end = next(at for at in range(start, len(lines)) if lines[at].startswith(last))
    return "\n".join(lines[start : end + 1])


def listed(text: str) -> set[str]:
    """Items between commas; a hyphen at the end of a line was put in by the typesetter (but in a compound)."""
    whole = text.replace("insulin-dependent diabe-\n", "insulin-dependent diabe").replace("-\n", "")
    return {" ".join(item.split()).rstrip(".") for item in whole.split(",")} - {""}


@tagging
@pytest.mark.parametrize("figure", FIGURES)
def test_the_figures_of_the_thesis_differ_as_documented(thesis, tmp_path, figure):
    first, last, first_item, last_item = EXCERPTS[figure]
    (tmp_path / "note.txt").write_text(excerpt(thesis, first, last), encoding="utf-8")
    (found,) = read_text(tmp_path).transactions
    expected = listed(excerpt(thesis, first_item, last_item))
    missing, extra = map(listed, FIGURES[figure])
    assert expected - set(found) == missing
    assert set(found) - expected == extra
