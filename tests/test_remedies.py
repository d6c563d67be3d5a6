"""The remedies of the corpus of mistakes: a text is changed as the message says, and the command succeeds."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from test_bad_input import CASES, QUERY

SUGGESTED = re.compile(r"'([^']+)'[^']*; did you mean '([^']+)'\?$")
TEXT = """\
heart disease, blood pressure, icd, weakness, dizziness
anesthesia, icd, pain, diabetes
gangrene, limbs, injury
knee, injury
"""


def text_file(name: str, text: str) -> Callable[[Path], None]:
    """A remedy by hand: write the file again, with text in the right format."""
    return lambda folder: (folder / name).write_text(text)


def in_scenario(old: str, new: str) -> Callable[[Path], None]:
    """A remedy by hand: change the scenario."""

    def change(folder: Path) -> None:
        path = folder / "scenario.yaml"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return change


def as_suggested(folder: Path, said: str) -> bool:
    """Replace the misspelt word of the message by the suggested one, at its place."""
    found = SUGGESTED.search(said)
    place = re.match(r"decloak: (.+?):(\d+):(\d+): ", said)
    if not found or not place:
        return False
    path, line = Path(place[1]), int(place[2]) - 1
    lines = path.read_text().splitlines()
    assert re.search(rf"(?<!\w){re.escape(found[1])}(?!\w)", lines[line]), said
    lines[line] = re.sub(rf"(?<!\w){re.escape(found[1])}(?!\w)", found[2], lines[line], count=1)
    path.write_text("\n".join([*lines, ""]))
    return True


def in_file(name: str, old: str, new: str) -> Callable[[Path], None]:
    """A remedy by hand: change a file."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


def written(name: str) -> Callable[[Path], None]:
    """A remedy by hand: write the file again as it was, whatever its format."""
    return lambda folder: (folder / name).write_bytes((folder.parent / "right" / name).read_bytes())


def both(*remedies: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda folder: [remedy(folder) for remedy in remedies][-1]


ROWS = [line.split(", ") for line in TEXT.splitlines()]
LONG_TABLE = "tid,item\n" + "".join(f"{number},{item}\n" for number, row in enumerate(ROWS, 1) for item in row)


def lines_of(line: Callable[[int, list[str]], object]) -> Callable[[Path], None]:
    """A remedy by hand: write the originals as lines of JSON."""
    text = "".join(json.dumps(line(number, row)) + "\n" for number, row in enumerate(ROWS, 1))
    return text_file("original.txt", text)


def one_hot(folder: Path) -> None:
    """A remedy by hand: write the originals as a table of 0 and 1."""
    items = sorted({item for row in ROWS for item in row})
    lines = [",".join(items), *(",".join(str(int(item in row)) for item in items) for row in ROWS)]
    (folder / "original.txt").write_text("\n".join([*lines, ""]))


BY_HAND: dict[str, tuple[str, Callable[[Path], None]]] = {
    "number as text": ("write it without quotes", in_scenario("context: '1'", "context: 1")),
    "out of range": ("at least 1", in_scenario("context: 0", "context: 1")),
    "wrong type": ("whole number", in_scenario("context: [1]", "context: 1")),
    "missing key": ("missing key 'scenario'; add it", lambda folder: (folder / "scenario.yaml").write_text(
        "scenario: the worked example\n" + (folder / "scenario.yaml").read_text())),
    "no scenario": ("check the spelling of the path", lambda folder: None),
    "empty original": ("is empty", text_file("original.txt", TEXT)),
    "binary original": ("save it as UTF-8", text_file("original.txt", TEXT)),
    "rule that is no sql": ("syntax error", lambda folder: (folder / "mine.yaml").write_text(
        (folder / "mine.yaml").read_text().replace("selec 1", "select txn, n from held"))),
    "rule that writes": ("a rule is one SELECT", lambda folder: (folder / "mine.yaml").write_text(
        (folder / "mine.yaml").read_text().replace("delete from item", "select txn, n from held"))),
    "no rule": ("no such file", in_scenario("./none.yaml,", "gba,")),
    "not a number": ("write a number below 1e308", in_scenario("cap: .nan", "cap: none")),
    "duplicate key": ("delete one of the two", in_scenario("data: {}\n", "")),
    "bad yaml": ("check indentation, brackets", in_scenario("{context: 1", "{context: 1}")),
    "tab": ("indent with spaces instead of tabs", in_scenario("\tattack:", "attack:")),
    "empty scenario": ("write keys and values", written("scenario.yaml")),
    "binary scenario": ("save the file as UTF-8", written("scenario.yaml")),
    "latin scenario": ("save the file as UTF-8", written("scenario.yaml")),
    "scenario of a 10 MB line": ("keep bulk data in files of their own", written("scenario.yaml")),
    "alias bomb": ("keep bulk data in files", written("scenario.yaml")),
    "deep nesting": ("write it flatter", written("scenario.yaml")),
    "alias of itself": ("write the value out", written("scenario.yaml")),
    "tag": ("is not allowed; delete it", written("scenario.yaml")),
    "a list": ("expected a mapping with scenario and data", written("scenario.yaml")),
    "two documents": ("keep one document a file", written("scenario.yaml")),
    "code expected": ("use numbers, names, calls", in_scenario("__import__(\"os\")", "recall(rba) > 0.1")),
    "no original": ("check the name and the folder", written("original.txt")),
    "no published": ("check the name and the folder", written("published.txt")),
    "no scores": ("check the name and the folder", written("scores.csv")),
    "empty published": ("expected at least one line", written("published.txt")),
    "empty scores": ("expected at least one line", written("scores.csv")),
    "binary published": ("save it as UTF-8", written("published.txt")),
    "binary scores": ("save it as UTF-8", written("scores.csv")),
    "10 MB line of originals": ("at most 1,000,000", written("original.txt")),
    "10 MB line published": ("at most 1,000,000", written("published.txt")),
    "10 MB line of scores": ("at most 1,000,000", written("scores.csv")),
    "score that is no number": ("write 0.5, or leave the cell empty", in_file("scores.csv", "icd,far", "icd,0.5")),
    "ragged scores": ("2 values where the header has 3", in_file("scores.csv", "knee,icd", "knee,icd,0.5")),
    "scores without a head": ("expected a header such as a,b,ngd", in_file("scores.csv", "knee,", "a,b,ngd\nknee,")),
    "score given twice": ("keep one of them", in_file("scores.csv", "icd,knee,0.6\nknee,icd,0.7\n", "")),
    "open bracket": ("a bracket that is never closed", written("published.txt")),
    "id that is a number": (
        "write a string or a whole number", lines_of(lambda number, row: {"id": number, "items": row})),
    "bad json": ('write ["milk", "bread"]', lines_of(lambda number, row: row)),
    "ragged one-hot": ("1 values where the header has 2", one_hot),
    "one-hot of 2": ("write 0 or 1", one_hot),
    "long without its columns": ("name the columns with the options transaction and item", both(
        text_file("original.txt", LONG_TABLE.replace("tid,item", "a,b")),
        in_scenario("format: long", "format: long, transaction: a, item: b"))),
    "ragged long": ("1 values where the header has 2", text_file("original.txt", LONG_TABLE)),
    "no whole number": ("for names use the format basket", both(
        text_file("original.txt", TEXT), in_scenario("format: spmf", "format: basket"))),
    "a pair that does not fit": ("give both the same ids, or neither any", written("original.txt")),
    "ragged table": ("leave a value empty when there is no score", in_file("table.csv", "y,1\n", "y,1,\n")),
    "table of words": ("or leave the cell empty", in_file("table.csv", "far", "0.5")),
    "empty table": ("expected at least one line", text_file("table.csv", ",a,b\nx,1,2\ny,1,3\n")),
    "binary table": ("save it as UTF-8", text_file("table.csv", ",a,b\nx,1,2\ny,1,3\n")),
    "10 MB line of a table": ("at most 1,000,000", text_file("table.csv", ",a,b\nx,1,2\ny,1,3\n")),
    "rule that reads the truth": ("a rule is one SELECT over its relations", text_file("mine.yaml", QUERY)),
    "rule that never ends": ("let it come to an end", text_file("mine.yaml", QUERY)),
    "rule with a wrong key": ("did you mean 'eliminate'", in_file("mine.yaml", "eliminat: heav", "eliminate: heav")),
    "rule with a wrong formula": ("names are d, w", in_file("mine.yaml", "max(v)", "max(w)")),
    "rule with a wrong sentence": ("did you mean 'item'", in_file("mine.yaml", "{itm}", "{item}")),
    "rules in a circle": ("let one rule derive both", both(
        text_file("one.yaml", QUERY), in_scenario("two.yaml, ", ""))),
    "binary rule": ("save the file as text", text_file("mine.yaml", QUERY)),
    "rule that is an alias bomb": ("keep bulk data in files", text_file("mine.yaml", QUERY)),
}  # fmt: skip
"""Remedies that need a sentence's understanding: the words of the message, and the change that they ask for."""
SUGGESTIONS = [name for name, (_, expected) in CASES.items() if "did you mean" in expected]


@pytest.mark.parametrize("name", SUGGESTIONS)
def test_a_suggested_word_makes_the_command_succeed(example, call, name):
    edit, _ = CASES[name]
    edit(example)
    said = call("validate", example / "scenario.yaml")
    assert said.code == 2
    assert as_suggested(example, said.err.strip()), said.err
    assert call("validate", example / "scenario.yaml").code == 0


@pytest.mark.parametrize("name", [name for name in BY_HAND if name != "no scenario"])
def test_a_remedy_makes_the_command_succeed(example, example_store, call, tmp_path, name):
    edit, _ = CASES[name]
    words, remedy = BY_HAND[name]
    shutil.copytree(example, tmp_path / "right")
    edit(example)
    said = call("run", example / "scenario.yaml", "--store", example_store)
    assert said.code == 2
    assert words in said.err, said.err
    remedy(example)
    assert call("run", example / "scenario.yaml", "--store", example_store).code == 0


def test_the_remedies_of_all_mistakes_are_tried():
    assert sorted(CASES) == sorted([*SUGGESTIONS, *BY_HAND])


@pytest.fixture
def scenario(example) -> Path:
    return example / "scenario.yaml"


def edited(path: Path, old: str, new: str) -> Path:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return path


def test_a_misspelt_required_key_names_the_misspelling(call, scenario):
    said = call("validate", edited(scenario, "scenario: the", "scenari: the"))
    assert said.err.count("\n") == 1
    assert "unknown key 'scenari'; did you mean 'scenario'?" in said.err
    assert as_suggested(scenario.parent, said.err.strip())
    assert call("validate", scenario).code == 0


def test_an_expectation_names_the_attack_that_it_needs_and_the_attacks_that_run(call, scenario):
    expected = ["recall(rba) > recall(mda)"]
    written = yaml.safe_load(scenario.read_text()) | {"attack": ["mda"], "expect": expected}
    scenario.write_text(yaml.safe_dump(written))
    said = call("validate", scenario)
    assert said.code == 2
    assert "needs the attack 'rba', but the scenario runs only: mda; " in said.err
    assert "add rba under attack" in said.err
    scenario.write_text(yaml.safe_dump(written | {"attack": ["mda", "rba"]}))
    assert call("validate", scenario).code == 0


def test_an_expectation_names_the_measure_that_it_needs(call, scenario):
    written = yaml.safe_load(scenario.read_text()) | {"measure": ["time"], "expect": ["precision(rba) > 0.1"]}
    scenario.write_text(yaml.safe_dump(written))
    said = call("validate", scenario)
    assert "add recovery under measure" in said.err
    scenario.write_text(yaml.safe_dump(written | {"measure": ["time", "recovery"]}))
    assert call("validate", scenario).code == 0


def test_an_incomplete_expectation_is_called_incomplete(call, scenario):
    scenario.write_text(scenario.read_text() + 'expect: ["precision(rba) >"]\n')
    said = call("validate", scenario)
    assert "incomplete expression 'precision(rba) >'; add a value after '>', for example 0.5" in said.err
    scenario.write_text(scenario.read_text().replace("(rba) >", "(rba) > 0.5"))
    assert call("validate", scenario).code == 0


def test_an_empty_scenario_is_created_by_the_command_that_the_message_names(call, tmp_path):
    (tmp_path / "e.yaml").touch()
    said = call("run", tmp_path / "e.yaml")
    assert "the file is empty; write keys and values; `decloak init` writes an example" in said.err
    assert call("init", tmp_path / "example.yaml").code == 0
    (tmp_path / "example.yaml").replace(tmp_path / "e.yaml")
    assert call("validate", tmp_path / "e.yaml").code == 0


def test_the_right_separator_is_the_one_that_the_message_names(call, tmp_path):
    (tmp_path / "d.csv").write_text("".join(f"p{n};milk;tea\n" for n in range(9)))
    arguments = ["check", tmp_path / "d.csv", "--input", "basket", "--ids", "--k", "2", "--m", "1"]
    said = call(*arguments)
    assert "--separator ';'" in said.err
    assert call(*arguments, "--separator", ";").code == 0


def test_the_extension_of_a_release_is_one_that_the_message_names(call, store, tmp_path):
    said = call("publish", "last", tmp_path / "out.xlsx", "--store", store)
    assert "cannot write .xlsx" in said.err
    for extension in re.findall(r"\.(txt|jsonl|db)\b", said.err):
        assert call("publish", "last", tmp_path / f"out.{extension}", "--store", store).code == 0


NEWCOMERS = {
    "attack: ra, tba": ("found 'ra, tba'; write [ra, tba]", "attack: [ra, tba]"),
    "attack: [TBA]": ("no rule named 'TBA'; did you mean 'tba'?", "attack: [tba]"),
    "repeat: 2": ("found 2; write {times: ...}; the keys are times, seed", "repeat: {times: 2}"),
    "vary: {anonymise.k: 3}": ("found 3; write [3]", "vary: {anonymise.k: [3]}"),
    "expect: [precision(tba) = 0]": ("cannot read the expectation 'precision(tba) = 0'; write == for equal", None),
    "expect: [precision of tba below 50%]": (
        "cannot read the expectation 'precision of tba below 50%'; write such as precision(rba) <= 50%",
        "expect: [precision(tba) <= 100% or precision(tba) >= 0.5]",
    ),
}
"""Lines that a newcomer writes: the problem with its remedy, and the line after it."""


@pytest.mark.parametrize("line", NEWCOMERS)
def test_a_mistake_of_a_newcomer_has_a_remedy_that_works(call, tmp_path, line):
    said, repaired = NEWCOMERS[line]
    head = "scenario: s\ndata: {generate: clinic, transactions: 30, seed: 7}\n"
    head += "anonymise: {method: sets, size: 3, share: 0.5}\n"
    if line.startswith("vary"):
        head = head.replace(
            "{method: sets, size: 3, share: 0.5}", "{method: coat, k: 2, privacy: {count: 3, sizes: [2]}}"
        )
    head += "relate: {measure: ngd, source: clinic-counts}\n" + ("" if "attack" in line else "attack: [tba]\n")
    (tmp_path / "s.yaml").write_text(f"{head}{line}\n")
    refused = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert re.match(r"decloak: \S+s\.yaml:\d+:\d+: ", refused.err)
    assert said in refused.err
    if repaired is not None:
        (tmp_path / "s.yaml").write_text(f"{head}{repaired}\n")
        assert call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").code in (0, 3)


def test_a_report_is_refused_as_anything_but_a_page(call, store, tmp_path):
    refused = call("report", "last", "--store", store, "-o", tmp_path / "p.pdf")
    assert (refused.code, "the report is an HTML page; use .html" in refused.err) == (2, True)
    assert call("report", "last", "--store", store, "-o", tmp_path / "p.html").code == 0
