"""Cleaning of data on the way in: items that are one item, items that should not be there, tables with more columns."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
from decloak.cli import main
from decloak.data.dataset import Dataset
from decloak.data.formats.cleaning import cleaned, folded, read_synonyms
from decloak.data.formats.look import look
from decloak.errors import DecloakError

LONG = (
    "tid,item,Sex,Age\n1,Milk,f,34\n1,bread,f,34\n2,milk,m,51\n2,beer,m,51\n3,bread,f,29\n3,milk,f,29\n4,bread,m,60\n"
)
LISTS = "id,Sex,Age,diagnoses\np1,f,34,flu|cough\np2,m,51,flu|fever|cough\np3,f,29,flu\np4,m,,gout|fever\n"


def rows(data: Dataset) -> list[tuple[str, ...]]:
    return list(data.transactions)


def ran(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    assert ended.value.code == 0


def test_every_step_changes_what_it_says():
    data = Dataset.of([["Milk", "bread"], ["milk", "Bröt"], ["milk", "rare"], ["id 7"]])
    done = cleaned(data, fold_case=True, synonyms={"BRÖT": "bread"}, drop=["ID 7"], min_support=2)
    assert rows(done) == [("milk", "bread"), ("milk", "bread"), ("milk",), ()]
    assert done.warnings == (
        "cleaned: 2 names merged, 1 name dropped, 1 item in fewer than 2 records left out, 1 more record without items",
    )
    assert done.labels == data.labels
    assert cleaned(data) == data


def test_a_synonym_leaves_one_spelling_of_its_name():
    data = Dataset.of([["Bread", "milk"], ["Bread", "loaf"], ["BREAD", "loaf"]])
    done = cleaned(data, fold_case=True, synonyms={"loaf": "bread"})
    assert rows(done) == [("bread", "milk"), ("bread",), ("bread",)]
    assert done.warnings == ("cleaned: 2 names merged",)
    assert rows(cleaned(data, synonyms={"loaf": "bread"})) == [
        ("Bread", "milk"),
        ("Bread", "bread"),
        ("BREAD", "bread"),
    ]


NAMES = st.sampled_from(["a", "A", "a ", "b", "B", "c", "d"])


@given(st.lists(st.lists(NAMES, unique=True), min_size=1, max_size=12), st.booleans(), st.integers(1, 3),
       st.sets(NAMES, max_size=2))  # fmt: skip
def test_equals_its_naive_twin(records, fold, least, drop):
    done = cleaned(Dataset.of(records), fold_case=fold, drop=drop, min_support=least)
    key = folded if fold else str
    gone = set(map(key, drop))
    left = [{key(name) for name in record} - gone for record in records]
    frequent = {name for record in left for name in record if sum(name in other for other in left) >= least}
    assert [set(map(key, row)) for row in done.transactions] == [record & frequent for record in left]
    counts = {name: sum(name in record for record in records) for record in records for name in record}
    for name in {name for row in done.transactions for name in row}:
        same = [other for other in counts if key(other) == key(name)]
        assert name == min(same, key=lambda other: (-counts[other], other))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a,b\n", "s.csv:1: the first line is not item,name; write it above the synonyms"),
        ("item,name\na\n", "s.csv:2: 1 values where the header has 2; put names that hold a separator in quotes"),
        ("item,name\na,\n", "s.csv:2: an empty name; write an item, and the name that replaces it"),
        ("item,name\na,b\na,c\n", "s.csv:3: 'a' has two names; give every item one name"),
        ("item,name\na,b\nb,c\n", "s.csv: 'b' is a name, and has another name itself; write 'c' for both"),
    ],
)
def test_bad_synonyms_are_refused_in_one_line(tmp_path, text, answer):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(DecloakError) as caught:
        read_synonyms(tmp_path / "s.csv")
    assert str(caught.value).replace(f"{tmp_path}/", "") == answer


def test_columns_header_rows_and_gaps_are_read(tmp_path):
    (tmp_path / "long.csv").write_text(LONG)
    read = decloak.read(tmp_path / "long.csv", "long", columns=["Sex", "Age"])
    assert rows(read)[0] == ("Sex=f", "Age=34", "Milk", "bread")
    (tmp_path / "title.csv").write_text(f"Sales,,,\n\n{LONG}")
    assert rows(decloak.read(tmp_path / "title.csv", "long", header_row=3))[0] == ("Milk", "bread")
    (tmp_path / "gaps.csv").write_text("tid,item\n1,milk\n,bread\n2,milk\n")
    assert rows(decloak.read(tmp_path / "gaps.csv", "long", fill_down=True)) == [("milk", "bread"), ("milk",)]
    (tmp_path / "lists.csv").write_text(LISTS)
    options = {"ids": True, "header": True, "within": "|", "columns": ["Sex", "Age"]}
    assert rows(decloak.read(tmp_path / "lists.csv", "basket", item="diagnoses", **options))[3] == (
        "gout", "fever", "Sex=m",
    )  # fmt: skip


def test_a_sheet_is_read_with_the_same_options(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Sales"], [], ["tid", "item", "Sex"], [1, "milk", "f"], [None, "bread", "f"], [2, "milk", "m"]):
        book.active.append(row)
    book.save(tmp_path / "s.xlsx")
    read = decloak.read(tmp_path / "s.xlsx", "xlsx", header_row=3, fill_down=True, columns=["Sex"])
    assert rows(read) == [("milk", "Sex=f", "bread"), ("milk", "Sex=m")]


@pytest.mark.parametrize(
    ("text", "options", "answer"),
    [
        (LONG, {"columns": ["Sexx"]},
         "d.csv:1: no column 'Sexx'; the header has 'tid', 'item', 'Sex', 'Age'; did you mean 'Sex'?"),
        (LONG, {"header_row": 99}, "d.csv: there is no line 99; correct header_row"),
        ("tid,item\n,milk\n", {"fill_down": True},
         "d.csv:2: no id, and none above; write the id into the first row of each transaction"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused_in_one_line(tmp_path, text, options, answer):
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(DecloakError) as caught:
        decloak.read(tmp_path / "d.csv", "long", **options)
    assert str(caught.value).replace(f"{tmp_path}/", "") == answer


def test_a_look_names_left_out_columns_and_proposes_cleaning(tmp_path, capsys):
    many = "".join(f"{100 + n},bread,f,{20 + n}\n{100 + n},x{n // 9},f,{20 + n}\n" for n in range(60))
    (tmp_path / "long.csv").write_text(LONG + many)
    seen = look(tmp_path / "long.csv")
    assert seen.left_out == ("Sex", "Age")
    assert [setting for setting, _ in seen.proposals] == ["fold_case: true", "min_support: 3"]
    ran("look", tmp_path / "long.csv")
    printed = capsys.readouterr().out
    assert "left out  columns 'Sex', 'Age': they can identify people" in printed
    assert "add       clean: {fold_case: true}  # 1 item has several spellings" in printed
    (tmp_path / "lists.csv").write_text(LISTS)
    assert look(tmp_path / "lists.csv").reading.settings == {
        "ids": True, "item": "diagnoses", "within": "|", "header": True,
    }  # fmt: skip
    (tmp_path / "title.csv").write_text(f"Sales of 2024,,,\n,,,\n{LONG}")
    assert look(tmp_path / "title.csv").reading.settings == {"header_row": 3}
    (tmp_path / "gaps.csv").write_text("tid,item\n1,milk\n,bread\n2,milk\n,beer\n3,bread\n")
    seen = look(tmp_path / "gaps.csv")
    assert seen.reading.settings == {"fill_down": True}
    assert seen.unsure == ("some rows have no id, and seem to belong to the id above",)


def test_a_scenario_cleans_its_data(tmp_path):
    (tmp_path / "long.csv").write_text(LONG)
    (tmp_path / "gone.txt").write_text("beer\n")
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: long.csv, format: long, columns: [Sex], clean: {fold_case: true, drop: gone.txt}}\n"
        "anonymise: {method: disassociation, k: 2, m: 2}\nattack: [km_violation]\n"
    )
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert any("cleaned: 1 name merged, 1 name dropped" in note for note in done.variants[0].notes)
    again = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db", overrides=['data.clean={"drop": ["beer"]}'])
    other = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db", overrides=['data.clean={"drop": ["bread"]}'])
    assert again.variants[0].run != other.variants[0].run


def test_what_init_writes_has_the_proposals_as_comments(tmp_path, capsys):
    (tmp_path / "long.csv").write_text(LONG)
    ran("init", tmp_path / "my.yaml", "--from", tmp_path / "long.csv")
    assert "  # clean: {fold_case: true}  # 1 item has several spellings" in (tmp_path / "my.yaml").read_text()
    capsys.readouterr()
    ran("look", "--json", tmp_path / "long.csv")
    assert json.loads(capsys.readouterr().out)["left_out"] == ["Sex", "Age"]
