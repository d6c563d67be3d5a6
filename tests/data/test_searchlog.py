"""Search logs become transactions: what one person looked for."""

import gzip
import importlib.util
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.data.text.phrases import Tagged
from decloak.data.text.searchlog import read_searchlog
from decloak.errors import DecloakError

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"


def log(*entries: tuple[str, str], header: bool = True) -> str:
    return HEADER * header + "".join(f"{user}\t{query}\t2006-03-01 07:17:12\t\t\n" for user, query in entries)


def all_nouns(sentence) -> list[Tagged]:
    """A tagger for tests without the extra."""
    return [Tagged(word, "noun" if word[0].isalpha() else "other") for word in sentence]


def transactions(data) -> dict[str, tuple[str, ...]]:
    return dict(zip(data.labels, data.transactions, strict=True))


def items(tmp_path, *queries: str, **options) -> tuple[str, ...]:
    path = tmp_path / "log.txt"
    path.write_text(log(*(("7", query) for query in queries)), encoding="utf-8")
    return transactions(read_searchlog(path, tagger=all_nouns, **options))["7"]


def test_every_person_is_one_transaction_wherever_the_queries_are(tmp_path):
    (tmp_path / "a.txt").write_text(log(("7", "good wine"), ("8", "fever"), ("7", "knees")), encoding="utf-8")
    with gzip.open(tmp_path / "b.txt.gz", "wt", encoding="utf-8") as file:
        file.write(log(("9", "-"), ("8", "Fever"), ("8", "chest  pain"), header=False))
    data = read_searchlog([tmp_path / "a.txt", tmp_path / "b.txt.gz"], tagger=all_nouns)
    assert transactions(data) == {"7": ("good wine", "knee"), "8": ("fever", "chest pain")}
    assert data.origin == f"{tmp_path / 'a.txt'}, {tmp_path / 'b.txt.gz'}"


def test_short_queries_stay_whole_and_long_ones_become_phrases(tmp_path):
    assert items(tmp_path, "accent marks", "in love", "body mass index tables") == (
        "accent mark", "in love", "body mass", "index table",
    )  # fmt: skip
    assert items(tmp_path, "accent marks", short=1) == ("accent mark",)
    assert items(tmp_path, "in love", short=1) == ("love",)
    assert items(tmp_path, "body mass index tables", short=4) == ("body mass index table",)


def test_quotation_marks_are_no_part_of_an_item(tmp_path):
    assert items(tmp_path, '"knee pains"', '"cancer.org"', '"torn', 'best "hip joint" surgeon', '"') == (
        "knee pain", "cancer.org", "torn", "best", "hip joint", "surgeon",
    )  # fmt: skip
    assert items(tmp_path, '"knee pain"', "knee pain") == ("knee pain",)


def test_what_says_nothing_is_left_out_and_what_a_longer_item_holds(tmp_path):
    assert items(tmp_path, "-", "", "the", "how to", "2006", "x", "pain", "chest pain", "pains") == ("chest pain",)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("cancer.org", ("cancer.org",)),
        ("www.cancer.org", ("cancer.org",)),
        ("http://www.Cancer.org/", ("cancer.org",)),
        ("https://cancer.org/tests?x=1", ("cancer.org/tests?x=1",)),
        ("www.yahoo.com mail", ("yahoo.com", "mail")),
        ("fever tests at www.webmd.com page", ("fever test", "webmd.com", "page")),
        ("cars.com", ("cars.com",)),
        ("b.i.d.", ("b.i.d.",)),
    ],
)
def test_an_address_is_an_item_of_its_own(tmp_path, query, expected):
    assert items(tmp_path, query) == expected


def test_lines_without_a_click_may_lack_its_columns(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(b"\xef\xbb\xbf7\tfever\t2006-03-01\r\n\r\n7\tcough\t2006-03-01\t1\thttp://www.webmd.com\r\n")
    assert transactions(read_searchlog(path, tagger=all_nouns)) == {"7": ("fever", "cough")}


def test_what_is_not_utf_8_is_latin_1(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes("7\tcafé\tx\n".encode("latin-1") + "7\tnaïve\tx\n".encode())
    assert transactions(read_searchlog(path, tagger=all_nouns)) == {"7": ("café", "naïve")}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"7\tfever\tx\n7,fever,x\n", r":2: 1 column between tabs; expected AnonID, Query, QueryTime, ItemRank, Click"),
        (b"7\tfever\tx\n7\tfe\tver\tx\n", r":2: 4 columns between tabs; expected AnonID, Query"),
        (b"7\tfever\tx\n \tfever\tx\n", r":2: no AnonID; write who posed the query"),
        (b"7\tfe\0ver\tx\n", r":1: a zero byte"),
        (b"\x1f\x8b\x08\0\0", r":1: a zero byte; .* must end in \.gz"),
        (b"7\tx\tx\n" + b"a" * 10_485_760, r":2: a line that is too long; at most 1,000,000 bytes"),
        (b"", r": no queries that make an item; expected a log"),
        (HEADER.encode(), r": no queries that make an item"),
        (b"Query\tAnonID\tQueryTime\nfever\t7\tx\n", r":1: a header of other columns; expected AnonID, Query, Quer"),
        (b"AnonID\tQuery\tClickURL\n7\tfever\tx\n", r":1: a header of other columns; expected AnonID"),
    ],
)
def test_what_is_no_log_is_refused_with_its_line(tmp_path, content, expected):
    path = tmp_path / "log.txt"
    path.write_bytes(content)
    with pytest.raises(DecloakError) as caught:
        read_searchlog(path, tagger=all_nouns)
    assert re.match(expected, str(caught.value).removeprefix(str(path)))
    assert "\n" not in str(caught.value)


def test_a_header_is_one_wherever_logs_were_put_together(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(log(("7", "fever")) + log(("8", "cough")) + "anonid\tQUERY\tQueryTime\n", encoding="utf-8")
    assert transactions(read_searchlog(path, tagger=all_nouns)) == {"7": ("fever",), "8": ("cough",)}


def test_what_only_begins_as_a_header_is_none(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(log(("AnonID", "fever"), ("Query", "cough")), encoding="utf-8")
    assert transactions(read_searchlog(path, tagger=all_nouns)) == {"AnonID": ("fever",), "Query": ("cough",)}


def test_missing_files_and_options_that_mean_nothing_are_refused(tmp_path):
    with pytest.raises(DecloakError, match=r"none\.txt: no such file; check the name and the folder"):
        read_searchlog(tmp_path / "none.txt")
    with pytest.raises(DecloakError, match=r"at most -1 words; write 0 to 20"):
        read_searchlog(tmp_path / "none.txt", short=-1)
    with pytest.raises(DecloakError, match="no queries that make an item"):
        read_searchlog([])


def test_progress_goes_from_the_first_byte_to_the_last(tmp_path):
    path, told = tmp_path / "log.txt", []
    path.write_text(log(*(("7", f"fever {number}") for number in range(5_000))), encoding="utf-8")
    read_searchlog(path, progress=lambda done, of: told.append((done, of)), tagger=all_nouns)
    size = path.stat().st_size
    assert len(told) > 2
    assert told == sorted(told)
    assert told[-1] == (size, size)


@given(st.lists(st.tuples(st.sampled_from("789"), st.sampled_from(["fever", "chest pain", "pain", "-"]))))
@settings(max_examples=50)
def test_a_person_s_items_do_not_depend_on_the_others(tmp_path_factory, entries):
    entries.append(("1", "fever"))
    path = tmp_path_factory.mktemp("log") / "log.txt"
    path.write_text(log(*entries), encoding="utf-8")
    found = transactions(read_searchlog(path, tagger=all_nouns))
    for user in {user for user, _ in entries}:
        path.write_text(log(*(one for one in entries if one[0] == user), ("1", "fever")), encoding="utf-8")
        assert transactions(read_searchlog(path, tagger=all_nouns)).get(user) == found.get(user)


@pytest.mark.skipif(importlib.util.find_spec("HanTa") is None, reason="the extra text is not installed")
def test_figure_5_3_of_the_thesis_differs_as_documented(tmp_path):
    queries = (
        *["good wine", "accent marks", "accent marks", "body mass index", "por que te vas", "sudden weight loss"],
        *["not enough sleep", "cancer.org", "chemotherapy and fertility", "methotrexate", "when you are in love"],
        *["eid al fitr", "eid al fitr 2003"],
    )
    path = tmp_path / "log.txt"
    path.write_text(log(*(("13508", query) for query in queries)), encoding="utf-8")
    found = transactions(read_searchlog(path))["13508"]
    expected = (
        *["good wine", "accent mark", "body mass", "index", "por que", "te va", "sudden weight", "loss", "cancer.org"],
        *["chemotherapy", "fertility", "methotrexate", "love", "eid al", "fitr", "al fitr", "crush"],
    )
    assert [item for item in found if item in expected] == [
        *["good wine", "accent mark", "body mass", "index", "sudden weight", "loss", "cancer.org", "chemotherapy"],
        *["fertility", "methotrexate", "love", "eid al"],
    ]
    assert [item for item in found if item not in expected] == ["que te", "vas"]


@pytest.mark.skipif(importlib.util.find_spec("HanTa") is None, reason="needs the extra text")
def test_no_query_is_kept_whole_when_none_may_be(tmp_path, call):
    (tmp_path / "log.txt").write_text(log(("7", "treat knee")))
    for short in (0, 2):
        store = tmp_path / f"{short}.db"
        assert (
            call("import", tmp_path / "log.txt", "--format", "searchlog", "--short", short, "--store", store).code == 0
        )
    found = [call("sql", "select name from item", "--store", tmp_path / f"{short}.db").out for short in (0, 2)]
    assert "treat knee" in found[1]
    assert "treat" not in found[0]
