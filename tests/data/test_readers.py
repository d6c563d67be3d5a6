"""Formats of plain transactions: what each reads, and that writing and reading give the same back."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import cells, join, records, split
from decloak.data.formats.lines import LONGEST_LINE, Line, ReadFile
from decloak.data.formats.plain_files import FORMATS, read, write
from decloak.data.generalised import Generalised
from decloak.data.published import Published
from decloak.errors import DecloakError

HOSTILE = list(" ,;|\t\n\r\"'()[]{}*=@#%\\-0 1aé日\u2028\x85\x1c\ufeff\u0301🦠")
names = st.text(st.sampled_from(HOSTILE), min_size=1, max_size=6).filter(str.strip)
baskets = st.lists(st.lists(names, max_size=5, unique=True), min_size=1, max_size=5)


def made(transactions: list[list[str]], labels: list[str] | None = None) -> Dataset:
    numbers = [str(number) for number in range(1, len(transactions) + 1)]
    return Dataset(tuple(map(tuple, transactions)), tuple(labels or numbers))


def read_text(folder: Path, text: str, format: str, **options: object) -> Dataset:  # noqa: A002
    file = folder / "data"
    file.write_bytes(text.encode())
    return read(file, format, **options)


@pytest.mark.parametrize(
    ("format", "options", "text"),
    [
        ("basket", {}, "milk, bread\nmilk,rice, milk\n"),
        ("basket", {}, "\ufeffmilk,bread\r\nmilk,rice\r\n\r\n"),
        ("basket", {"separator": " "}, " milk  bread \nmilk rice"),
        ("basket", {"separator": "\t"}, "milk\tbread\nmilk\trice"),
        ("basket", {"ids": True, "separator": ";"}, "1;milk;bread\n2;milk;rice"),
        ("basket", {}, '"milk", "bread"\nmilk , "rice" '),
        ("long", {}, "tid,item\n1,milk\n2,milk\n1,bread\n2,rice\n2,milk\n"),
        ("long", {"transaction": "who", "item": "what"}, "when,what,who\nx,milk,1\n,bread,1\n,milk,2\n,rice,2"),
        ("onehot", {}, "milk,bread,rice\n1,1,0\n1,0,1"),
        ("onehot", {"ids": True}, ",milk,bread,rice\n1,1,1,0\n2,1,0,1"),
        ("jsonl", {}, '["milk", "bread"]\n["milk", "rice", "milk"]\n'),
        ("jsonl", {}, '{"id": 1, "items": ["milk", "bread"]}\n{"items": ["milk", "rice"], "id": "2"}'),
        ("spmf", {}, "@CONVERTED_FROM_TEXT\n@ITEM=1=milk\n@ITEM=2=bread\n@ITEM=3=rice\n@ITEM=-1=|\n1 2 \n% x\n1 3"),
        ("spmf", {}, "@ITEM=1=milk\n@ITEM=2=bread\n@ITEM=3=rice\n1 -1 2 -1 -2\n1 3 -1 -2"),
    ],
)  # fmt: skip
def test_every_format_reads_the_same_two_baskets(tmp_path, format, options, text):  # noqa: A002
    data = read_text(tmp_path, text, format, **options)
    assert data.transactions == (("milk", "bread"), ("milk", "rice"))
    assert data.labels == ("1", "2")
    assert data.origin == str(tmp_path / "data")


@pytest.mark.parametrize(
    ("format", "options", "text"),
    [
        ("basket", {"ids": True}, "1,milk\n2\n3,rice"),
        ("onehot", {}, "milk,rice\n1,0\n0,0\n0,1"),
        ("jsonl", {}, '["milk"]\n[]\n["rice"]'),
        ("jsonl", {}, '{"id": 1, "items": ["milk"]}\n{"id": 2, "items": []}\n{"id": 3, "items": ["rice"]}'),
        ("spmf", {}, "@ITEM=1=milk\n@ITEM=2=rice\n1 -1 -2\n-2\n2 -1 -2"),
    ],
)  # fmt: skip
def test_an_empty_transaction_is_one_where_a_format_can_say_so(tmp_path, format, options, text):  # noqa: A002
    data = read_text(tmp_path, text, format, **options)
    assert data.transactions == (("milk",), (), ("rice",))
    assert data.labels == ("1", "2", "3")


def test_blanks_are_part_of_a_name_only_in_quotes_and_nothing_is_normalised(tmp_path):
    data = read_text(tmp_path, ' a b ," a ", "say ""cheese""",e\u0301,\u00e9,milk (whole),"(x"', "basket")
    assert data.transactions == (("a b", " a ", 'say "cheese"', "e\u0301", "\u00e9", "milk (whole)", "(x"),)


def test_ids_become_labels_in_the_order_of_first_appearance(tmp_path):
    assert read_text(tmp_path, "p9,milk\np1,milk,rice", "basket", ids=True).labels == ("p9", "p1")
    assert read_text(tmp_path, "tid,item\np9,milk\np1,rice\np9,rice", "long").labels == ("p9", "p1")


def test_quoted_line_ends_are_carried_by_csv_with_a_header(tmp_path):
    data = read_text(tmp_path, 'tid,item\n1,"a\r\nb"\n1,"""c\n"\n', "long")
    assert data.transactions == (("a\nb", '"c\n'),)


def test_spmf_numbers_without_a_name_are_their_own_names(tmp_path):
    assert read_text(tmp_path, "@ITEM=7=x\n7 007 12", "spmf").transactions == (("x", "12"),)
    with pytest.raises(DecloakError, match=r":2: the number 7 or the name 'x' is taken; name every item once, above"):
        read_text(tmp_path, "7 12\n@ITEM=7=x\n7", "spmf")
    assert read_text(tmp_path, "@ITEM=7=1\n@ITEM=1=x\n7 1", "spmf").transactions == (("1", "x"),)


NUMBERS = st.lists(st.sampled_from([*"0123456789", " ", " ", "\n", "\r\n", "-1", "-2", "%", "9" * 17]), max_size=30)


@settings(max_examples=300)
@given(NUMBERS.map("".join), st.sampled_from([1, 8, 1 << 20]))
@example("1 2 \n3 01 1\n\n", 1)
@example("1\n\n2\n", 1 << 20)
def test_numbers_read_as_arrays_are_those_read_line_by_line(text, block):
    def rows(**changed):
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("decloak.data.formats.plain.spmf.BLOCK", block)
                patch.setitem(FORMATS, "spmf", FORMATS["spmf"]._replace(**changed))
                data = read(ReadFile("data", text.encode()), "spmf")
        except DecloakError as error:
            return str(error)
        return data, data.rows.names, data.rows.codes.tolist()

    assert rows() == rows(rows=None)


def test_a_file_of_numbers_alone_is_read_as_arrays():
    assert list(FORMATS["spmf"].rows(b"3 1 3 \n12 01\n\n")) == [("3", "1"), ("12", "1")]


carried = {
    "basket": lambda name: not set(name) & set("\n\r"),
    "long": lambda name: "\r" not in name,
    "onehot": lambda name: "\r" not in name,
    "jsonl": lambda name: True,
    "spmf": lambda name: name == name.strip() and not set(name) & set("\n\r"),
}


@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("basket", {}),
        ("basket", {"ids": True, "separator": " "}),
        ("basket", {"separator": "\t"}),
        ("long", {"transaction": 'the "who"'}),
        ("long", {"separator": ";"}),
        ("onehot", {}),
        ("onehot", {"ids": True, "separator": " "}),
        ("jsonl", {}),
        ("jsonl", {"ids": True}),
        ("spmf", {}),
    ],
)
@settings(max_examples=60)
@given(transactions=baskets, ids=st.lists(names, min_size=5, max_size=5, unique=True))
@example(transactions=[["\ufeffmilk"], ["007", "7"]], ids=list("abcde"))
@example(transactions=[["2"], ["1", "(2"]], ids=["2", "1", "c", "d", "e"])
def test_what_is_written_is_read_back_or_refused(tmp_path_factory, format, options, transactions, ids):  # noqa: A002
    labelled = options.get("ids") or format == "long"
    original = made(transactions, ids[: len(transactions)] if labelled else None)
    file = tmp_path_factory.getbasetemp() / "round"
    speechless = format == "long" or (format == "basket" and not labelled)
    empty = (speechless and not all(original.transactions)) or (format == "onehot" and not original.items)
    if empty or not all(map(carried[format], original.items + original.labels)):
        with pytest.raises(DecloakError, match="carry"):
            write(original, file, format, **options)
        return
    write(original, file, format, **options)
    back = read(file, format, **options)
    assert back.labels == original.labels
    if format == "onehot":  # its columns have one order for all
        assert [set(items) for items in back.transactions] == [set(items) for items in transactions]
    else:
        assert back.transactions == original.transactions


def test_every_format_takes_part_in_the_round_trip():
    assert set(carried) == {name for name, entry in FORMATS.items() if entry.render}


def test_writing_loses_nothing_silently(tmp_path):
    for format, data in [  # noqa: A001
        ("basket", made([["a"]], ["p1"])),
        ("spmf", made([["a"]], ["p1"])),
        ("long", made([["a"], ["b"]], ["p1", "p1"])),
        ("basket", made([["a"], []])),
        ("long", made([["a"], []])),
        ("jsonl", made([["a\0"]])),
        ("jsonl", made([["\ud800"]])),
        ("jsonl", made([])),
        ("basket", made([["a" * 1_000_001]])),
    ]:
        with pytest.raises(DecloakError, match="data"):
            write(data, tmp_path / "data", format)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            Generalised((("A",),), {"A": ("a", "b")}, ("1",)),
            "a Generalised is not a Dataset; it writes itself: release",
        ),
        (
            Published((("a",),), ("1",)),
            "a Published is not a Dataset; it writes itself: release.write(path)",
        ),
        ([["a"]], "a list is not a Dataset; make one by decloak.Dataset.of"),
    ],
)
def test_what_is_no_plain_data_set_is_refused_with_the_way_to_write_it(tmp_path, given, message):
    with pytest.raises(DecloakError) as told:
        write(given, tmp_path / "data", "jsonl")
    assert str(told.value).startswith(f"{tmp_path}/data: {message}")


def test_writing_into_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(DecloakError, match="cannot write"):
        write(made([["a"]]), tmp_path / "none" / "data", "basket")


def naive_cells(text: str, separator: str) -> list[str] | None:
    """The dialect, a character at a time; None for what it refuses. No blank separator here."""
    values, value, state = [], "", "before"
    for char in [*text, separator + "end"]:
        if state == "quoted":
            if char == separator + "end":
                return None
            value, state = (value, "quote") if char == '"' else (value + char, "quoted")
        elif state == "quote" and char == '"':
            value, state = value + '"', "quoted"
        elif char[0] == separator:
            values.append(value if state in ("quote", "after") else value.strip())
            value, state = "", "before"
        elif char == '"':
            if state != "before" or value.strip():
                return None
            value, state = "", "quoted"
        elif state in ("quote", "after"):
            if char.strip():
                return None
            state = "after"
        else:
            value += char
    return values


@given(st.text(st.sampled_from('a," ;\t('), max_size=12), st.sampled_from(",;\t"))
def test_cells_follow_the_dialect_character_by_character(text, separator):
    line, expected = Line("x", 1, text), naive_cells(text, separator)
    if expected is None:
        with pytest.raises(DecloakError, match="quote"):
            cells(line, separator)
        return
    assert [cell.text for cell in cells(line, separator)] == expected == split(line, separator)
    for cell in cells(line, separator):
        assert text[cell.column - 1 :].startswith('"' if cell.quoted else cell.text)


@given(st.lists(names.filter(lambda name: not set(name) & set("\n\r")), min_size=1), st.sampled_from(", ;\t|0"))
def test_joined_values_split_again_with_and_without_the_fast_way(values, separator):
    line = Line("x", 1, join(values, separator))
    assert split(line, separator) == values == [cell.text for cell in cells(line, separator)]


@given(st.lists(st.lists(names.filter(lambda name: "\r" not in name), min_size=1, max_size=3), max_size=4))
def test_records_over_several_lines_begin_where_they_begin(rows):
    texts = [join(row, multiline=True) for row in rows]
    lines = [Line("x", number, text) for number, text in enumerate("\n".join(texts).split("\n"), 1)] if rows else []
    begins = [1 + sum(text.count("\n") + 1 for text in texts[:row]) for row in range(len(rows))]
    assert [(line.number, row) for line, row in records(lines)] == list(zip(begins, rows, strict=True))


NEW_FORMAT = """
from decloak.data.formats.record import Format, Record


def _parse(lines, options):
    return (Record(line, None, line.text.split("|")) for line in lines)


def _render(dataset, options):
    return ("|".join(items) for items in dataset.transactions)


FORMAT = Format("bars", "names between bars: milk|bread", _parse, _render)
"""
NEW_USER = """
import sys
from decloak.data.formats import plain
plain.__path__.append(sys.argv[1])
import decloak
from decloak.data.formats.plain_files import FORMATS
from decloak.scenario.model import scenario_schema
from decloak.cli import cli
assert list(FORMATS) == ["basket", "long", "onehot", "bars", "jsonl", "spmf", "arrow", "parquet", "xlsx"]
assert '"bars"' in __import__("json").dumps(scenario_schema())
data = decloak.Dataset.of([["milk", "bread"]])
decloak.write(data, sys.argv[2], "bars")
assert decloak.read(sys.argv[2], "bars").transactions == data.transactions
cli(["import", "--help"])
"""


def test_a_format_is_one_module_of_its_folder_and_nothing_else(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "bars.py").write_text(NEW_FORMAT)
    command = [sys.executable, "-c", NEW_USER, tmp_path / "more", tmp_path / "data"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "  bars       names between bars: milk|bread\n" in done.stdout
    assert "basket, long, onehot, bars, jsonl, spmf" in " ".join(done.stdout.split())


def test_a_record_over_several_lines_is_bounded_as_a_line_is(tmp_path):
    def csv(characters: int) -> str:
        name = ("x" * 999 + "\n") * (characters // 1000) + "x" * (characters % 1000)
        return f'tid,item\n1,"{name[4:]}"\n2,milk\n'

    assert read_text(tmp_path, csv(LONGEST_LINE - 1), "long").labels == ("1", "2")
    with pytest.raises(DecloakError, match=r":2: a quote that is never closed"):
        read_text(tmp_path, csv(LONGEST_LINE + 1), "long")
