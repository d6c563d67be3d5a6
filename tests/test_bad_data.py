"""Files that are wrong: one line with the place, what is wrong and the remedy, never a traceback."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.data.formats.plain_files import FORMATS, read
from decloak.data.published import read_published
from decloak.errors import DecloakError
from decloak.relate.counts_file import CountsFile, ScoresFile
from decloak.releases.distances import read_distances

READERS = {
    **{name: lambda path, name=name: read(path, name) for name, entry in FORMATS.items() if entry.parse},
    "published": read_published,
    "distances": read_distances,
    "counts": CountsFile.read,
    "scores": ScoresFile.read,
}
every_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())


def fault(reader, path: Path) -> str:
    with pytest.raises(DecloakError) as caught:
        reader(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path))


@every_reader
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", r": the file is empty"),
        (b"\xef\xbb\xbf\r\n \n", r": the file is empty"),
        (b"a,b,c\n1,2\0,3", r":2: not UTF-8 text: byte 0x00; .*save it as UTF-8"),
        ("a,b".encode("utf-16"), r":1: not UTF-8 text: byte 0x00"),
        (b"a,b\n\nb\xe9,c\n", r":3: not UTF-8 text: byte 0xe9"),
        (b"\xed\xa0\x80", r":1: not UTF-8 text"),
        (b"a,b\rc,d\r", r":1: a carriage return inside the line; end lines with LF or CRLF"),
        (b"x,y\n" + b"a" * 10_485_760, r":2: line of 10485760 characters; at most 1,000,000"),
    ],
    ids=["empty", "blank", "zero", "utf16", "latin1", "surrogate", "mac", "long"],
)
def test_what_is_no_text_file_is_refused_with_its_line(tmp_path, reader, content, expected):
    (tmp_path / "data").write_bytes(content)
    assert re.match(expected, fault(reader, tmp_path / "data"))


@every_reader
def test_what_is_no_file_is_refused(tmp_path, reader):
    (tmp_path / "visits.csv").touch()
    assert fault(reader, tmp_path / "visit.csv") == ": no such file; did you mean 'visits.csv'?"
    assert fault(reader, tmp_path / "none" / "x").startswith(": no such file; there is no folder")
    assert fault(reader, tmp_path) == ": this is a folder; name a file in it"
    assert "cannot read the file" in fault(reader, tmp_path / ("x" * 300))
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        assert fault(reader, path) == ": a pipe or a device, not a file; name a file"
    with pytest.raises(DecloakError, match="no file can have this name"):
        reader("a\0b")


def test_what_a_shell_hands_over_is_read():
    begin, end = os.pipe()
    try:
        os.write(end, b"milk, tea\n")
        os.close(end)
        assert read(f"/dev/fd/{begin}", "basket").transactions == (("milk", "tea"),)
    finally:
        os.close(begin)


@pytest.mark.parametrize(
    ("format", "options", "text", "expected"),
    [
        ("basket", {}, "milk\n\nrice", ":2: an empty line; remove it; an empty transaction is an id alone"),
        ("basket", {}, "milk,,rice", ":1: an empty name; write a name, or remove the extra separator"),
        ("basket", {}, 'milk,"  "', ":1: an empty name"),
        ("basket", {"ids": True}, ",milk", ":1: the id of the record: an empty name"),
        ("basket", {"ids": True}, "p1,a\np2,b\np1,c", ":3: the id 'p1' occurs in line 1 too; ids must be unique"),
        ("basket", {}, 'rice\nmilk, "bread', ":2:7: a quote that is never closed"),
        ("basket", {}, 'milk, bread"', ":1:12: a quote inside a name; put the whole name in quotes"),
        ("basket", {}, '"milk" x,rice', ":1:8: text after a closing quote"),
        ("basket", {"separator": " "}, '  milk "bread', ":1:8: a quote that is never closed"),
        ("basket", {}, "knee, (icd, limbs)", ":1:7: an opening bracket before 'icd'; set-generalised"),
        ("long", {}, "id,item\n1,milk", ":1: no column 'tid'; the header has 'id', 'item'; did you mean 'id'?"),
        ("long", {}, "a,b\n1,2", ":1: no column 'tid'; the header has 'a', 'b'; name the columns with"),
        ("long", {}, "tid,item,item\n1,a,b", ":1: columns 2 and 3 are both 'item'; rename one"),
        ("long", {}, "tid,item\n1,a\n2,a,b", ":3: 3 values where the header has 2; put names"),
        ("long", {}, "tid,item\n1,a\n\n2,a", ":3: an empty line; remove it"),
        ("long", {}, "tid,item\n1,a\n1,", ":3: an empty item; write its name, or remove the row"),
        ("long", {}, "tid,item\n1,a\n,b", ":3: the id of the record: an empty name"),
        ("long", {}, 'tid,item\n1,"a\n2,b\n3,c', ":2: a quote that is never closed"),
        ("long", {}, "tid,item", ": no transactions in the file; expected the format long"),
        ("onehot", {}, "a,b\n1,0\n1", ":3: 1 values where the header has 2"),
        ("onehot", {}, "a,b,a\n1,0,1", ":1: columns 1 and 3 are both 'a'; rename one"),
        ("onehot", {}, "id,a,b\np1,0,1", ":2: 'p1' under 'id'; write 0 or 1; an id column needs the option ids"),
        ("onehot", {}, ",a\n1,0", ":1: expected the name of an item over every column"),
        ("onehot", {"ids": True}, "id\np1", ":1: expected the name of an item over every column"),
        ("jsonl", {}, '["a"]\nmilk', ":2:1: not JSON: Expecting value; write "),
        ("jsonl", {}, '["a"]\n\n["b"]', ":2: an empty line; remove it"),
        ("jsonl", {}, '"milk"', ":1: expected a list of strings, found '\"milk\"'"),
        ("jsonl", {}, '["a", 7]', ":1: expected a list of strings"),
        ("jsonl", {}, '{"id": "x"}', ":1: expected a list of strings"),
        ("jsonl", {}, '{"item": ["a"]}', ":1: unknown key 'item'; did you mean 'items'?"),
        ("jsonl", {}, '{"id": 1, "id": 2, "items": ["a"]}', ":1: the key 'id' is there twice"),
        ("jsonl", {}, '{"id": 1.5, "items": ["a"]}', ":1: the id of "),
        ("jsonl", {}, '{"id": true, "items": ["a"]}', ":1: the id of "),
        ("jsonl", {}, '{"id": 1, "items": ["a"]}\n["b"]', ":2: some transactions have an id and this one has none"),
        ("jsonl", {}, '["b"]\n{"id": 1, "items": ["a"]}', ":2: this transaction has an id and the ones before"),
        ("jsonl", {"ids": True}, '["b"]', ":1: some transactions have an id and this one has none"),
        ("jsonl", {}, "[" * 100_000, ":1: not JSON"),
        ("jsonl", {}, '{"id": ' + "9" * 5000 + ', "items": ["a"]}', ":1: not JSON"),
        ("jsonl", {}, r'["\ud800"]', r":1: half a surrogate pair in the name '\ud800'"),
        ("jsonl", {}, r'["a\u0000b"]', r":1: a zero character in the name 'a\x00b'"),
        ("spmf", {}, "1 2\n1 milk", ":2:3: 'milk' is not the number of an item; spmf holds whole numbers"),
        ("spmf", {}, "1 -3", ":1:3: '-3' is not the number of an item"),
        ("spmf", {}, "1 -2 2", ":1:3: '-2' is not the number of an item"),
        ("spmf", {}, "1 ²", ":1:3: '²' is not the number of an item"),
        ("spmf", {}, "9" * 5000, ":1:1: '999"),
        ("spmf", {}, "1 -2\n\n2", ":2: an empty line; remove it; an empty transaction is -2"),
        ("spmf", {}, "@ITEM=milk\n1", ":1: not the name of an item; write @ITEM=12=bread"),
        ("spmf", {}, "@ITEM=1=a\n@ITEM=2=a\n1 2", ":2: the number 2 or the name 'a' is taken"),
        ("spmf", {}, "@ITEM=1=2\n1 2", ":2: item 2 has no name, and 2 is the name of another"),
        ("spmf", {}, "% nothing\n# here", ": no transactions in the file; expected the format spmf"),
    ],
)  # fmt: skip
def test_a_file_of_another_shape_than_its_format_is_refused(tmp_path, format, options, text, expected):  # noqa: A002
    (tmp_path / "data").write_text(text, newline="")
    message = fault(lambda path: read(path, format, **options), tmp_path / "data")
    assert message.startswith(expected), message


@pytest.mark.parametrize(
    ("format", "options", "expected"),
    [
        ("baskte", {}, "unknown format 'baskte'; did you mean 'basket'? known formats: basket, jsonl, long,"),
        ("csv", {}, "unknown format 'csv'; long has one item per row, onehot one column per item, basket a list"),
        ("published", {}, "published records are set-generalised, not plain ones; known formats"),
        ("spmf", {"separator": ","}, "the format spmf has no option separator; remove it"),
        ("long", {"ids": True}, "the format long has no option ids; remove it"),
        ("basket", {"transaction": "who"}, "the format basket has no option transaction; remove it"),
        ("basket", {"separator": ", "}, "', ' cannot separate names; use one character"),
        ("basket", {"separator": '"'}, "'\"' cannot separate names"),
        ("long", {"transaction": "x", "item": "x"}, "'x' cannot hold both the record and the item"),
    ],
)
def test_a_format_or_option_that_does_not_exist_is_refused_before_reading(format, options, expected):  # noqa: A002
    with pytest.raises(DecloakError) as caught:
        read("no such file", format, **options)
    assert str(caught.value).startswith(expected)


def test_a_place_is_one_line_even_when_the_file_name_is_not(tmp_path):
    (tmp_path / "a\nb").write_bytes(b"milk,,rice")
    with pytest.raises(DecloakError, match=r"a\\x0ab:1: an empty name"):
        read(tmp_path / "a\nb", "basket")


fragments = st.sampled_from(
    [b"a", b"b", b"1", b"0", b",", b",,", b'"', b'""', b"(", b")", b"\n", b"\r\n", b" ", b"*", b"[", b"]", b"{", b"}",
     b":", b'"id"', b'"items"', b"tid,item\n", b"a,b,count\n", b"a,b,ngd\n", b",,9\n", b"@ITEM=", b"=", b"-1", b"-2",
     b"\xff", b"\0", b"\xe2\x80\xa8", b"nan", b"1e999", b".5", b"\\ud800", b"\\"]
)  # fmt: skip


@every_reader
@settings(max_examples=150)
@given(parts=st.lists(fragments, max_size=14))
def test_whatever_the_bytes_a_reader_reads_or_says_where_it_stopped(tmp_path_factory, reader, parts):
    file = tmp_path_factory.getbasetemp() / "fuzz"
    file.write_bytes(b"".join(parts))
    try:
        reader(file)
        message = str(file)
    except DecloakError as error:
        message = str(error)
    assert message.startswith(str(file))
    assert "\n" not in message
