"""A look finds what a file is or says what it is unsure of; what was said and does not fit is refused."""

import gzip
import json
import lzma
import random
from itertools import product
from pathlib import Path

import pytest
import yaml

import decloak
from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import join
from decloak.data.formats.look import look
from decloak.data.formats.plain_files import FORMATS, read
from decloak.errors import DecloakError

ITEMS = ("whole milk", "bread", "tea", "salt, coarse", "rice", "oil", "soap")
BASKETS = [
    [item for at, item in enumerate(ITEMS) if (number * 5 + at * at) % 7 < 3] or ["bread"] for number in range(24)
]
IDS = [f"p{number:02}" for number in range(1, 25)]
NUMBERS = [[str(100 + ITEMS.index(item)) for item in items] for items in BASKETS]


def separated(rows: list[list[str]], separator: str, quoting: bool) -> list[str]:
    if quoting:
        return [separator.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    return [join(row, separator) for row in rows]


def shapes():
    """Files as they are in the wild: a name, the lines, and the transactions and ids they hold."""
    data, plain = (BASKETS, IDS), (BASKETS, [str(number) for number in range(1, 25)])
    for separator, quoting, header in product("\t;|,", (False, True), (False, True)):
        with_ids = [[label, *items] for label, items in zip(IDS, BASKETS, strict=True)]
        title = [["id", "items"]] if header else []
        yield f"basket{separator!r}{quoting}{header}", separated(title + with_ids, separator, quoting), data
        title = [["items"]] if header else []
        yield f"lists{separator!r}{quoting}{header}", separated(title + BASKETS, separator, quoting), plain
        pairs = [[label, item] for label, items in zip(IDS, BASKETS, strict=True) for item in items]
        if header:
            yield (
                f"long{separator!r}{quoting}",
                separated([["customer_id", "product"], *pairs], separator, quoting),
                data,
            )
        flags = [[label, *("1" if item in items else "0" for item in ITEMS)]
                 for label, items in zip(IDS, BASKETS, strict=True)]  # fmt: skip
        if header:
            yield f"onehot{separator!r}{quoting}", separated([["id", *ITEMS], *flags], separator, quoting), data
        elif not quoting:
            yield f"flags{separator!r}", separated([list(ITEMS), *(row[1:] for row in flags)], separator, False), plain
    for outer, inner, header in product("\t;,", "|;", (False, True)):
        if outer != inner:
            inside = [[label, join(items, inner)] for label, items in zip(IDS, BASKETS, strict=True)]
            title = [["tid", "items"]] if header else []
            yield f"nested{outer!r}{inner!r}{header}", separated(title + inside, outer, False), data
    numbered = (NUMBERS, plain[1])
    yield "spmf", [" ".join(items) for items in NUMBERS], numbered
    yield "sequences", [" -1 ".join(items) + " -1 -2" for items in NUMBERS], numbered
    yield "numbers", [",".join(items) for items in NUMBERS], numbered
    yield "jsonl", [json.dumps(items) for items in BASKETS], plain
    yield "objects", [json.dumps({"id": label, "items": items}) for label, items in zip(*data[::-1], strict=True)], data


def written(path: Path, lines: list[str], bom: bool, ends: str) -> Path:
    path.write_bytes(b"\xef\xbb\xbf" * bom + "".join(line + ends for line in lines).encode())
    return path


SHAPES = [(f"{name} {ends!r} {bom}", lines, data, bom, ends)
          for name, lines, data in shapes() for bom, ends in product((False, True), ("\n", "\r\n"))]  # fmt: skip


def holds(data: Dataset) -> tuple[list[list[str]], list[str]]:
    return [sorted(items) for items in data.transactions], list(data.labels)


@pytest.mark.parametrize(("lines", "data", "bom", "ends"), [one[1:] for one in SHAPES], ids=[one[0] for one in SHAPES])
def test_none_of_the_shapes_in_the_wild_is_misread_silently(tmp_path, lines, data, bom, ends):
    path = written(tmp_path / "data", lines, bom, ends)
    seen = look(path)
    assert seen.problem is None
    readings = [seen.reading, *seen.alternatives]
    right = ([sorted(items) for items in data[0]], data[1])
    read_as = [holds(read(path, one.format, **one.options._asdict())) for one in readings if one.format in FORMATS]
    assert read_as[0] == right if seen.is_certain else right in read_as, (seen.reading, seen.unsure, seen.alternatives)
    assert seen.encoding.endswith("mark") is bom
    assert seen.line_ends == ("CRLF" if "\r" in ends else "LF")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
def test_none_of_the_shapes_is_misread_when_it_is_packed(tmp_path, pack):
    for _, lines, data, bom, ends in SHAPES[::7]:
        path = written(tmp_path / "data", lines, bom, ends)
        plain = look(path)
        path.write_bytes(pack(path.read_bytes()))
        seen = look(path)
        assert (seen.reading, seen.unsure, seen.first) == (plain.reading, plain.unsure, plain.first)
        if seen.is_certain:
            assert holds(read(path, seen.format, **seen.reading.options._asdict())) == (
                [*map(sorted, data[0])],
                data[1],
            )


def test_none_of_the_shapes_is_misread_as_a_sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    long = [["tid", "item"], *([label, item] for label, items in zip(IDS, BASKETS, strict=True) for item in items)]
    inside = [[label, "|".join(items)] for label, items in zip(IDS, BASKETS, strict=True)]
    with_ids = [[label, *items] for label, items in zip(IDS, BASKETS, strict=True)]
    plain = [str(number) for number in range(1, 25)]
    for rows, ids in (
        (BASKETS, plain), ([["items"], *BASKETS], plain), (with_ids, IDS), ([["id", "items"], *with_ids], IDS),
        (inside, IDS), ([["id", "items"], *inside], IDS), (long, IDS),
    ):  # fmt: skip
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(tmp_path / "data.xlsx")
        seen = look(tmp_path / "data.xlsx")
        readings = [seen.reading] if seen.is_certain else [seen.reading, *seen.alternatives]
        right = ([*map(sorted, BASKETS)], ids)
        assert right in [
            holds(read(tmp_path / "data.xlsx", one.format, **one.options._asdict())) for one in readings
        ], (rows[:2], seen.reading, seen.unsure)


def test_there_are_more_than_sixty_shapes_and_most_leave_no_doubt(tmp_path):
    sure = [look(written(tmp_path / "data", lines, bom, ends)).is_certain for _, lines, _, bom, ends in SHAPES]
    assert len(sure) > 60
    assert sum(sure) >= 0.9 * len(sure)


def test_what_is_published_is_told_from_data(tmp_path):
    lines = [
        f"{label}, {items[0].replace(', ', ' ')}, (icd, injury, limbs)"
        for label, items in zip(IDS, BASKETS, strict=True)
    ]
    path = written(tmp_path / "data", lines, False, "\n")
    assert str(look(path).reading) == "published, ids"
    release = decloak.anonymise(BASKETS, "disassociation", k=3, m=2, max_cluster=10)
    release.write(tmp_path / "r.jsonl")
    assert look(tmp_path / "r.jsonl").format == "disassociated"
    tree = decloak.Hierarchy.balanced(sorted(ITEMS), fanout=3)
    decloak.anonymise(BASKETS, "cut", k=3, m=2, hierarchy=tree).write(tmp_path / "g.jsonl")
    assert look(tmp_path / "g.jsonl").format == "generalised"
    (tmp_path / "log").write_text("AnonID\tQuery\tQueryTime\n1\tcar hire\t2006-03-01\n")
    assert look(tmp_path / "log").format == "searchlog"
    (tmp_path / "notes.txt").write_text("The patient was seen today. She complains of pain in the knee.\n" * 5)
    assert look(tmp_path / "notes.txt").format == "text"
    assert look(tmp_path).format == "text"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("p1,thé\np2,lait\n".encode("latin-1"), "Latin-1 by a guess: save it as UTF-8"),
        ("p1,thé\np2,lait\n".encode("utf-16"), "UTF-16: save it as UTF-8"),
        ("p1,thé\np2,lait\n".encode("utf-16-be"), "UTF-16: save it as UTF-8"),
        (b"a,b\rc,d\r", "carriage return alone"),
        (b"[\n[1]\n]\n", "JSON value over several lines"),
        (b"id,a,b\n1,TRUE,FALSE\n2,FALSE,TRUE\n3,TRUE,TRUE\n", "write 0 and 1 instead"),
        (b"id;a;b\n1;1,0;0,0\n2;0,0;1,0\n3;1,0;1,0\n", "a column an item, with '0,0', '1,0': write 0 and 1 instead"),
        (b"1,a\n1,b\n2,a\n2,c\n3,b\n3,d\n4,a\n4,b\n5,c\n", "without a header"),
        (b'{"user": "x", "tags": ["a"]}\n', "JSON objects with the keys 'user', 'tags'"),
        (b'a,b "c" d\n', "quotes stand where none may"),
    ],
)
def test_what_cannot_be_read_as_it_is_comes_with_the_remedy(tmp_path, call, content, problem):
    (tmp_path / "data").write_bytes(content)
    seen = look(tmp_path / "data")
    assert problem in str(seen.problem)
    assert not seen.is_certain
    assert problem in call("look", tmp_path / "data").out
    refused = call("check", tmp_path / "data", "--k", 2, "--m", 2)
    assert refused.code == 2
    assert problem in refused.err


def test_packed_files_are_read_by_their_content_and_bounded(tmp_path):
    text = "".join(f"{label},{join(items, '|')}\n" for label, items in zip(IDS, BASKETS, strict=True)).encode()
    right = read(written(tmp_path / "plain", text.decode().splitlines(), False, "\n"), "basket", ids=True, within="|")
    for name, packed, packing in (("a", gzip.compress(text), ".gz"), ("b.csv", lzma.compress(text), ".xz")):
        (tmp_path / name).write_bytes(packed)
        assert look(tmp_path / name).packing == packing
        assert read(tmp_path / name, "basket", ids=True, within="|").transactions == right.transactions
        (tmp_path / name).write_bytes(packed[:-9])
        with pytest.raises(DecloakError, match="cut short"):
            read(tmp_path / name, "basket")
    (tmp_path / "bomb").write_bytes(gzip.compress(b"a,b\n" * 60_000_000, 1))
    with pytest.raises(DecloakError, match="unpacks to more than"):
        read(tmp_path / "bomb", "basket")


def test_what_is_odd_is_told(tmp_path):
    path = tmp_path / "data"
    path.write_text("p1,Milk,2024-01-31,a@b.org\np2,milk,tea\np3\np4,t ea,tea\np5,tea\n")
    assert look(path).odd == (
        "1 of 5 records without items",
        "items that look like dates: '2024-01-31'",
        "items that look like ids: 'a@b.org'",
        "names that differ in case or blanks only: 'Milk' and 'milk'; 't ea' and 'tea'",
    )
    path.write_text("a\nb\nc\n")
    assert "every record has one item" in look(path).odd


def test_a_table_of_numbers_is_not_taken_for_baskets(tmp_path):
    (tmp_path / "scores.csv").write_text("a,b,distance\n" + "".join(f"x{n},y{n},0.{n}\n" for n in range(9)))
    seen = look(tmp_path / "scores.csv")
    assert not seen.is_certain
    assert "perhaps the columns of a table" in " ".join(seen.unsure)


def test_whatever_the_bytes_a_look_tells_or_says_why_not(tmp_path):
    rng = random.Random(1)
    parts = [b"a", b"1", b"0", b",", b";", b"\t", b"|", b'"', b"(", b")", b"\n", b"\r", b" ", b"[", b"{", b"}", b":",
             b'"id"', b"id\titems\n", b"tid,item\n", b"@ITEM=", b"-2", b"\xff", b"\0", b"PK\x03\x04", b"PAR1",
             b"\x1f\x8b", b"ARROW1", b"\xff\xfe"]  # fmt: skip
    for _ in range(600):
        (tmp_path / "data").write_bytes(b"".join(rng.choices(parts, k=rng.randint(1, 20))))
        told = ""
        try:
            json.dumps(look(tmp_path / "data").value)
        except DecloakError as error:
            told = str(error)
        assert "\n" not in told
        assert not told or told.startswith(str(tmp_path))


# The guards: each line was a result once.

STUDY = "id1;milk;bread\nid2;milk;tea\nid3;rare;tea\n"
NESTED = "".join(f"{label}\t{join(items, '|')}\n" for label, items in zip(IDS, BASKETS, strict=True))
LISTS = "".join(f"{label},{join(items)}\n" for label, items in zip(IDS, BASKETS, strict=True))
SCENARIO = """\
scenario: guarded
data: {{file: data, format: basket{options}}}
anonymise: {{method: disassociation, k: 2, m: 2, max_cluster: 10}}
relate: {{measure: ngd, source: release}}
attack: [aba]
"""


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (STUDY, ["--ids"], "the separator seems to be ';', not ','; use --separator ';'"),
        ("a\tb\nc\td\n", [], "the separator seems to be a tab, not ','"),
        ("a\tb\nc\td\n", ["--ids"], "a tab, not ','; use --separator tab"),
        ("1 2 3\n4 5\n", [], "use --separator blank"),
        (NESTED, ["--separator", "|", "--ids"], "holds a tab: an id, then a list; give the separator a tab"),
        (NESTED, ["--separator", "|"], "holds a tab: an id, then a list"),
        (NESTED, ["--separator", "\t", "--ids"], "with '|' in it: a list; say so: within '|'"),
        ("id,items\n" + LISTS, ["--ids"], "the first line is unlike all others: a header"),
        ("tid,item\n1,a\n1,b\n2,a\n2,c\n", [], "the first line is a header, and the ids below it come again"),
        ("id,a,b\nx1,0,1\nx2,1,1\nx3,1,0\n", [], "the first line is a header above 0 and 1"),
        (LISTS, [], "the first name of every line looks like an id, and was read as an item"),
        ("milk,tea\ntea,salt\nsalt,milk\n", ["--ids"], "most ids are items elsewhere"),
        ("".join(f"{n // 2},item{chr(65 + n)}\n" for n in range(20)), [], "a row for every item"),
        ('["a", "b"]\n["b", "c"]\n', [], "every line is a JSON value"),
    ],
)
def test_what_was_said_and_does_not_fit_is_an_error_with_the_remedy(call, tmp_path, text, options, message):
    (tmp_path / "data").write_text(text)
    for command in (
        ["check", tmp_path / "data", "--input", "basket", "--k", 50, "--m", 2],
        ["import", tmp_path / "data", "--format", "basket", "--store", tmp_path / "s.db"],
        ["hierarchy", tmp_path / "data", "--input", "basket"],
    ):
        said = call(*command, *options)
        assert (said.code, said.out) == (2, "")
        assert message in said.err
        assert "as_said: true (--as-said)" in said.err
    assert "guarantee" not in said.err
    keys = ", ids: true" * ("--ids" in options)
    keys += f", separator: {json.dumps(options[options.index('--separator') + 1])}" if "--separator" in options else ""
    (tmp_path / "s.yaml").write_text(SCENARIO.format(options=keys))
    said = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db")
    assert said.code == 2
    assert message in said.err
    if "[" not in text:  # the library reads what it is told
        assert read(tmp_path / "data", "basket", ids="--ids" in options).transactions


def test_who_knows_better_says_so(call, tmp_path):
    (tmp_path / "data").write_text(LISTS)
    check = ["check", tmp_path / "data", "--input", "basket", "--k", 1, "--m", 1]
    assert call(*check).code == 2
    note = "note: k = 1 asks for nothing: whatever occurs is in one record or more\n"
    assert call(*check, "--as-said") == (0, "", f"{note}the guarantee is met: k = 1, m = 1\n")
    (tmp_path / "s.yaml").write_text(SCENARIO.format(options=", as_said: true"))
    assert call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").code == 0


def test_published_ids_are_no_items(call, tmp_path):
    (tmp_path / "p.txt").write_text("".join(f"{label}, milk, (a, b)\n" for label in IDS))
    check = ["check", tmp_path / "p.txt", "--input", "published", "--k", 1, "--m", 1]
    assert "looks like an id, and was read as an item" in call(*check).err
    assert call(*check, "--ids").code == 0
    refused = call("import", tmp_path / "p.txt", "--format", "published", "--store", tmp_path / "s.db")
    assert refused.code == 2
    (tmp_path / "s.yaml").write_text(
        "scenario: guarded\ndata: {published: p.txt}\nrelate: {measure: ngd, source: release}\nattack: [mda]\n"
    )
    assert "looks like an id" in call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").err
    (tmp_path / "s.yaml").write_text((tmp_path / "s.yaml").read_text().replace("p.txt", "{file: p.txt, ids: true}"))
    assert call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").code == 0


def test_no_guarantee_holds_over_nothing(call, tmp_path):
    (tmp_path / "none").write_text("p1\np2\np3\n")
    (tmp_path / "one").write_text("milk\nmilk\nmilk\n")
    bounds = ["--k", 2, "--m", 2]
    said = call("check", tmp_path / "none", "--input", "basket", "--ids", *bounds, "--as-said")
    assert said.code == 2
    assert "no record has any item: nothing to check" in said.err
    said = call("check", tmp_path / "one", "--input", "basket", *bounds)
    assert said.code == 2
    assert "no record has more than one item" in said.err
    assert call("check", tmp_path / "one", "--input", "basket", *bounds, "--as-said").code == 0
    (tmp_path / "p").write_text("()\n()\n")
    assert "no record has any item" in call("check", tmp_path / "p", "--input", "published", *bounds, "--as-said").err
    (tmp_path / "g.jsonl").write_text(
        '{"decloak": "release", "version": 1, "method": "generalisation", "k": 2, "m": 2}\n'
        '{"label": "milk", "items": ["milk"]}\n[]\n[]\n'
    )
    assert "no record has any item" in call("check", tmp_path / "g.jsonl").err
    said = call("import", tmp_path / "none", "--format", "basket", "--ids", "--store", tmp_path / "s.db")
    assert said.code == 2
    assert "no transaction has any item" in said.err
    assert decloak.violations([[], []], k=2, m=2) == []


# Commands that go by the look.


def test_a_command_that_is_told_no_format_goes_by_the_look_and_says_so(call, tmp_path):
    (tmp_path / "data").write_text(NESTED)
    note = "note: read as basket, ids, separator a tab, within '|' (detected)\n"
    said = call("check", tmp_path / "data", "--k", 2, "--m", 1)
    assert said.err == note + "the guarantee is met: k = 2, m = 1\n"
    assert call("import", tmp_path / "data", "--store", tmp_path / "s.db").err.startswith(note)
    assert call("hierarchy", tmp_path / "data").err.startswith(note)
    (tmp_path / "data").write_text(STUDY)
    said = call("check", tmp_path / "data", "--k", 2, "--m", 2)
    assert said.code == 2
    assert "choose by --input" in said.err
    assert "basket, ids, separator ';' or basket, separator ';'" in said.err
    assert call("check", tmp_path / "data", "--ids", "--k", 2, "--m", 2).code == 3
    assert "not what the options say" in call("check", tmp_path / "data", "--separator", "tab", "--k", 2, "--m", 2).err


def test_look_tells_all_and_what_to_type_next(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data").write_text(NESTED)
    said = call("look", "data")
    assert said.code == 0
    assert said.out.splitlines()[0].split(maxsplit=1) == ["seems", "basket, ids, separator a tab, within '|'"]
    assert said.out.splitlines()[-1].split(maxsplit=1)[1] == "decloak init my.yaml --from data"
    (check,) = (line.split()[2:] for line in said.out.splitlines() if "decloak check" in line)
    assert call(*(word.strip("'") for word in check)).code in (0, 3)
    told = json.loads(call("look", "data", "--json").out)
    assert told["sure"]
    assert told["reading"] == {"format": "basket", "ids": True, "separator": "\t", "within": "|"}
    assert told["counts"]["records"] == 24
    assert len(told["first"]) == 3


@pytest.mark.parametrize("shape", ["nested", "published", "disassociated", "generalised", "long"])
def test_init_from_a_file_writes_what_runs_right_away(call, tmp_path, shape):
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "file"
    if shape == "nested":
        path.write_text(NESTED)
    elif shape == "long":
        rows = [f"{label},{join([item])}\n" for label, items in zip(IDS, BASKETS, strict=True) for item in items]
        path.write_text("who,item\n" + "".join(rows))
    elif shape == "published":
        path.write_text("".join(f"{label}, tea, milk, (a, b)\n" for label in IDS))
    elif shape == "disassociated":
        decloak.anonymise(BASKETS, "disassociation", k=3, m=2, max_cluster=10).write(path)
    else:
        tree = decloak.Hierarchy.balanced(sorted(ITEMS), fanout=3)
        decloak.anonymise(BASKETS, "cut", k=3, m=2, hierarchy=tree).write(path)
    (tmp_path / "mine").mkdir()
    mine = tmp_path / "mine" / "my.yaml"
    said = call("init", mine, "--from", path)
    assert said.code == 0, said.err
    assert "../data/file" in str(yaml.safe_load(mine.read_text())["data"])
    said = call("run", mine, "--store", tmp_path / "s.db")
    assert said.code == 0, said.err
    assert "there is something already" in call("init", mine, "--from", path).err


def test_init_from_an_unsure_file_names_the_choices(call, tmp_path):
    (tmp_path / "data").write_text(STUDY)
    said = call("init", tmp_path / "my.yaml", "--from", tmp_path / "data")
    assert said.code == 2
    assert "basket, ids, separator ';' or basket, separator ';'" in said.err
    assert not (tmp_path / "my.yaml").exists()


def exported() -> list[list[str]]:
    """A row for every item, with columns that say of a person what is no item."""
    return [["PatientNr", "Name", "Aufnahme", "Diagnose"]] + [
        [str(7000 + 7 * number), f"Doe, {number}", f"2023-01-{1 + number:02}", item]
        for number, items in enumerate(BASKETS)
        for item in items
    ]


def test_the_items_of_a_table_are_what_differs_within_a_person(tmp_path):
    ids = [str(7000 + 7 * number) for number in range(24)]
    for heading in ("Diagnose", "Befund"):
        rows = exported()
        rows[0][3] = heading
        seen = look(written(tmp_path / "export.csv", separated(rows, ";", False), True, "\r\n"))
        assert (seen.format, seen.reading.options.transaction, seen.reading.options.item) == (
            "long",
            "PatientNr",
            heading,
        )
        assert seen.is_certain, seen.unsure
        assert holds(read(seen.path, "long", **seen.reading.options._asdict())) == ([sorted(b) for b in BASKETS], ids)


def test_a_header_is_known_by_the_numbers_below_it_whatever_its_words(tmp_path):
    for first, second in (("PatientNr", "Diagnose"), ("Fall", "Befund")):
        rows = [[first, second], *([row[0], row[3]] for row in exported()[1:])]
        seen = look(written(tmp_path / "two.csv", separated(rows, ";", False), False, "\n"))
        assert (seen.format, seen.reading.options.transaction, seen.reading.options.item) == ("long", first, second)


@pytest.mark.parametrize("titles", [["diag1", "diag2", "diag3", "diag4"], ["ICD 1", "ICD 2", "ICD 3", "ICD 4"]])
def test_rows_that_are_filled_up_with_empty_cells_are_lists(call, tmp_path, titles):
    rows = [[str(70 + number), *(items + [""] * 4)[:4]] for number, items in enumerate(BASKETS)]
    path = written(tmp_path / "wide.csv", separated([["id", *titles], *rows], ",", False), False, "\r\n")
    seen = look(path)
    assert (seen.format, seen.reading.settings, seen.is_certain) == ("basket", {"ids": True, "header": True}, True)
    data = read(path, "basket", ids=True, header=True)
    assert holds(data) == ([sorted(filter(None, row[1:])) for row in rows], [row[0] for row in rows])
    code, _, err = call("check", str(path), "--k", "1", "--m", "1")
    assert (code, "the guarantee is met" in err or "read as basket, ids, header" in err) == (0, True)


def test_an_empty_cell_without_a_header_is_still_an_error(tmp_path):
    path = written(tmp_path / "b.csv", ["milk,,bread", "tea,bread"], False, "\n")
    with pytest.raises(DecloakError, match="an empty name"):
        read(path, "basket")


def test_a_row_for_every_person_of_a_table_of_other_things_is_doubted(tmp_path):
    rows = [["id", "age", "sex", "ward"], *([str(n), str(30 + n % 3), "mf"[n % 2], "ABC"[n % 3]] for n in range(9))]
    seen = look(written(tmp_path / "people.csv", separated(rows, ",", False), False, "\n"))
    assert not seen.is_certain
    assert "perhaps the columns of a table, not a list" in seen.unsure[0]
