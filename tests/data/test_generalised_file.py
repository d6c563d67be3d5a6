"""Releases of labels as files: what is written is read again, every fault is told with its line."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.data.formats.generalised_file import write_generalised
from decloak.data.generalised import Generalised, read_generalised
from decloak.errors import DecloakError

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"

HEADER = '{"decloak": "release", "version": 1, "method": "generalisation", "k": 5, "m": 2}'
LABELS = '{"label": "infection", "items": ["flu", "cold"]}\n{"label": "knee", "items": ["knee"]}'
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
    str.strip
)


@st.composite
def releases(draw):
    labels = draw(st.lists(NAMES, unique=True, max_size=5))
    members = {label: tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))) for label in labels}
    row = st.lists(st.sampled_from(labels), unique=True).map(tuple) if labels else st.just(())
    rows = tuple(draw(st.lists(row, min_size=1, max_size=5)))
    ids = tuple(draw(st.lists(NAMES, min_size=len(rows), max_size=len(rows), unique=True)))
    promised = st.none() | st.integers(1, 10**9)
    return Generalised(rows, members, ids, "cut", draw(promised), draw(promised))


@settings(max_examples=120)
@given(releases(), st.booleans())
def test_a_written_release_reads_as_the_same(tmp_path_factory, release, ids):
    path = tmp_path_factory.mktemp("release") / "release.jsonl"
    release.write(path, ids=ids)
    again = read_generalised(path)
    assert again.transactions == release.transactions
    shown = {label for row in release.transactions for label in row}
    assert again.members == {label: items for label, items in release.members.items() if label in shown}
    assert (again.k, again.m, again.method) == (release.k, release.m, "generalisation")
    assert again.ids == (release.ids if ids else tuple(str(number) for number in range(1, len(release.ids) + 1)))
    assert again.ncp is None
    assert again.origin == str(path)


def test_a_label_that_no_transaction_shows_is_not_published(tmp_path):
    release = Generalised((("A",), ("b",)), {"A": ("a1", "a2"), "b": ("b",), "C": ("c1", "c2")}, ("1", "2"))
    release.write(tmp_path / "release.jsonl")
    assert "c1" not in (tmp_path / "release.jsonl").read_text()
    assert '"C"' not in (tmp_path / "release.jsonl").read_text()


def test_all_that_a_label_means_may_be_far_more_than_a_line_of_text(tmp_path):
    items = tuple(f"item {number}" for number in range(200_000))
    Generalised((("A",),) * 2, {"A": items}, ("1", "2")).write(tmp_path / "release.jsonl")
    assert read_generalised(tmp_path / "release.jsonl").members == {"A": items}


def test_ids_and_the_loss_are_not_published_unless_asked_for(tmp_path):
    release = Generalised((("A",),), {"A": ("a1", "a2")}, ("mrs smith",), ncp=None)
    write_generalised(release, tmp_path / "release.jsonl")
    assert "smith" not in (tmp_path / "release.jsonl").read_text()
    assert "ncp" not in (tmp_path / "release.jsonl").read_text()


def write(folder, *lines):
    path = folder / "release.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


def test_what_the_description_shows_is_read(tmp_path):
    release = read_generalised(write(tmp_path, HEADER, LABELS, '["infection", "knee"]', "[]"))
    assert release.transactions == (("infection", "knee"), ())
    assert release.members == {"infection": ("flu", "cold"), "knee": ("knee",)}
    assert (release.ids, release.k, release.m) == (("1", "2"), 5, 2)
    named = read_generalised(write(tmp_path, HEADER, LABELS, '{"id": "p1", "items": []}', '{"items": [], "id": 7}'))
    assert named.ids == ("p1", "7")


@pytest.mark.parametrize(
    ("lines", "number", "message"),
    [
        (["[]"], 1, "the first line is not the header of a release"),
        ([HEADER.replace("generalisation", "disassociation"), LABELS, "[]"], 1, "a release by disassociation"),
        ([HEADER.replace("generalisation", "generalization"), LABELS, "[]"], 1, "; did you mean 'generalisation'"),
        ([HEADER.replace("5", "0"), LABELS, "[]"], 1, "k is '0'; write a whole number from 1"),
        ([HEADER.replace('"version": 1', '"version": 2'), LABELS, "[]"], 1, "unknown version '2'"),
        ([HEADER], 1, "a release without transactions"),
        ([HEADER, LABELS], 3, "a release without transactions"),
        ([HEADER, LABELS, "", "[]"], 4, "an empty line; remove it"),
        ([HEADER, LABELS, "[oops]"], "4:2", "not JSON: "),
        ([HEADER, LABELS, "[" * 100_000], 4, "not JSON: nested too deeply"),
        ([HEADER, LABELS, '"knee"'], 4, "expected a list of strings, found"),
        ([HEADER, LABELS, "[1]"], 4, "expected a list of strings, found"),
        ([HEADER, LABELS, '["infektion"]'], 4, "no label 'infektion' is above; did you mean 'infection'"),
        ([HEADER, '["knee"]'], 2, "no label 'knee' is above; first write {\"label\""),
        ([HEADER, LABELS, '["knee", "knee"]'], 4, "a label is written twice; a label stands once"),
        ([HEADER, LABELS, "[]", '{"label": "x", "items": ["x"]}'], 5, "a label after a record; write all labels"),
        ([HEADER, '{"label": "x"}', "[]"], 2, "a label has the keys label and items; write"),
        ([HEADER, '{"label": "x", "items": ["x"], "id": "1"}', "[]"], 2, "a label has the keys label and items"),
        ([HEADER, '{"label": "x", "items": []}', "[]"], 2, "a label needs a list of names; write"),
        ([HEADER, '{"label": "x", "items": "x"}', "[]"], 2, "a label needs a list of names"),
        ([HEADER, '{"label": 1, "items": ["x"]}', "[]"], 2, "a label needs a list of names"),
        ([HEADER, '{"label": "x", "items": ["x", "x"]}', "[]"], 2, "'x' or one of its items is written twice"),
        ([HEADER, LABELS, '{"label": "knee", "items": ["x"]}', "[]"], 4, "'knee' or one of its items is written twice"),
        ([HEADER, '{"label": "x", "label": "y", "items": ["x"]}', "[]"], 2, "the key 'label' is there twice"),
        ([HEADER, '{"label": "", "items": ["x"]}', "[]"], 2, "an empty name"),
        ([HEADER, '{"label": "x", "items": ["a\\u0000"]}', "[]"], 2, "a zero character in the name"),
        ([HEADER, '{"label": "x", "items": ["\\ud800"]}', "[]"], 2, "half a surrogate pair in the name"),
        ([HEADER, LABELS, '{"id": "", "items": []}'], 4, "the id of the record: an empty name"),
        ([HEADER, LABELS, *['{"id": "p", "items": []}'] * 2], 5, "the id 'p' occurs in line 4 too; ids must be unique"),
        ([HEADER, LABELS, '{"id": "p", "items": []}', "[]"], 5, "some transactions have an id and this one has none"),
        ([HEADER, LABELS, "[]", '{"id": "p", "items": []}'], 5, "this transaction has an id and the ones before"),
        ([HEADER, LABELS, '{"id": "p", "item": []}'], 4, "unknown key 'item'; did you mean 'items'"),
    ],
)
def test_faults_are_told_with_their_line(tmp_path, lines, number, message):
    path = write(tmp_path, *lines)
    with pytest.raises(DecloakError) as told:
        read_generalised(path)
    line = str(told.value)
    assert line.startswith(f"{path}:{number}: ")
    assert message in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "text", [b"", b"\n\n", b"\xff\xfe\x00", b"a\rb", b"x" * 1_000_001, HEADER.encode() + b"\n\x00"]
)
def test_weird_files_are_refused_in_one_line(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(DecloakError, match=f"^{path}(:[12](:[0-9]+)?)?: ") as told:
        read_generalised(path)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 1000


@pytest.mark.parametrize(
    ("release", "ids", "message"),
    [
        (Generalised((), {}, ()), False, "a release without transactions"),
        (Generalised((("A",),), {}, ("1",)), False, "the label 'A' has no members; add it to the members"),
        (Generalised(((),), {"A": ("",)}, ("1",)), False, "an empty name"),
        (Generalised(((),), {"\ud800": ("a",)}, ("1",)), False, "half a surrogate pair"),
        (Generalised(((), ()), {}, ("1", "1")), True, "two records have the same label"),
        (Generalised((("A",),), {"A": ("a" * 50_000_000,)}, ("1",)), False, "line 2 would have 5000"),
    ],
)
def test_what_the_reader_would_refuse_is_not_written(tmp_path, release, ids, message):
    path = tmp_path / "release.jsonl"
    with pytest.raises(DecloakError) as told:
        write_generalised(release, path, ids=ids)
    assert str(told.value).startswith(f"{path}: {message}")
    assert not path.exists()


def test_lines_are_json_and_say_what_is_promised(tmp_path):
    path = tmp_path / "release.jsonl"
    write_generalised(Generalised((("é",),), {"é": ("flu", "cold")}, ("1",), "cut", 3, None), path)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"decloak": "release", "version": 1, "method": "generalisation", "k": 3},
        {"label": "é", "items": ["flu", "cold"]},
        ["é"],
    ]


def test_the_schema_names_the_keys_that_are_read(tmp_path):
    by_title = {
        one["title"]: one for one in json.loads((REFERENCE / "generalised-release.schema.json").read_text())["oneOf"]
    }
    release = Generalised((("A",), ()), {"A": ("a", "b")}, ("p", "q"), k=2, m=1)
    write_generalised(release, tmp_path / "release.jsonl", ids=True)
    header, label, named, _ = map(json.loads, (tmp_path / "release.jsonl").read_text().splitlines())
    for title, line in (("header", header), ("label", label), ("transaction with an id", named)):
        assert set(by_title[title]["properties"]) == set(line)
    assert by_title["header"]["required"] == ["decloak", "version", "method"]
