"""Data that were written twice: never a guarantee over them, always a warning; equal records alone are no fault."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
from decloak.data.formats.look import look
from decloak.data.repeats import find_copies
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError

ITEMS = ("milk", "bread", "tea", "salt", "rice", "oil", "soap", "eggs")
RNG = random.Random(1)
RECORDS = [RNG.sample(ITEMS, RNG.randint(2, 4)) for _ in range(60)]
WITH_IDS = [",".join([f"p{number:02}", *items]) for number, items in enumerate(RECORDS)]
WITHOUT = [",".join(items) for items in RECORDS]


def file_of(folder, lines):
    path = folder / "data.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def shuffled(lines):
    return random.Random(2).sample(lines, len(lines))


DOUBLED = {
    "ids twice": WITH_IDS * 2,
    "ids three times": WITH_IDS * 3,
    "ids in any order": shuffled(WITH_IDS * 2),
    "one id again": [*WITH_IDS, WITH_IDS[7]],
    "another record of an id": [*WITH_IDS, "p07,milk"],
    "half of the ids again": WITH_IDS + WITH_IDS[:30],
    "no ids": WITHOUT * 2,
    "no ids, in any order": shuffled(WITHOUT * 2),
    "with a header between": [*WITHOUT, "one,two", *WITHOUT],
}
HONEST = {
    "one record many times": ["milk,bread"] * 40,
    "two records many times": ["milk,bread", "tea,salt"] * 20,
    "a few records k times each": [line for line in WITHOUT[:9] for _ in range(3)],
    "records that repeat": [WITHOUT[number % 7 * (number % 5)] for number in range(60)],
    "records of 60 people": WITHOUT,
}


@pytest.mark.parametrize("lines", DOUBLED.values(), ids=DOUBLED)
@pytest.mark.parametrize("options", [(), ("--input", "basket"), ("--input", "basket", "--as-said")])
def test_a_guarantee_over_data_that_were_written_twice_fails(tmp_path, call, lines, options):
    if "--as-said" in options and len(set(lines)) > len(lines) / 2 + 1:
        pytest.skip("ids are items by the word of the user, and no evidence is left in the records")
    path = file_of(tmp_path, lines)
    done = call("check", path, *options, "--k", 2, "--m", 2, "--junit", tmp_path / "j.xml")
    assert done.code == 3
    assert "the guarantee fails" in done.err
    assert "<failure" in (tmp_path / "j.xml").read_text()
    assert any("written" in warning or "the id" in warning for warning in look(path).warnings)


@pytest.mark.parametrize("lines", HONEST.values(), ids=HONEST)
def test_equal_records_of_different_people_are_no_fault(tmp_path, call, lines):
    path = file_of(tmp_path, lines)
    assert call("check", path, "--input", "basket", "--k", 2, "--m", 1).code == 0
    assert look(path).warnings == ()


def test_groups_of_equal_records_keep_the_promise_of_whole_records(tmp_path, call):
    different = list(dict.fromkeys(WITHOUT))
    path = file_of(tmp_path, [line for line in different for _ in range(3)])
    assert call("check", path, "--input", "basket", "--k", 3, "--whole").code == 0
    assert call("check", path, "--input", "basket", "--k", 3, "--m", 2).code == 3
    assert call("check", path, "--input", "basket", "--k", 3, "--m", 2, "--repeats").code == 0


@pytest.mark.parametrize("lines", [WITH_IDS * 2, [*WITH_IDS, "p07,milk"]])
def test_repeats_that_are_meant_are_records_of_their_own(tmp_path, call, lines):
    path = file_of(tmp_path, lines)
    with pytest.raises(DecloakError, match="ids must be unique") as told:
        decloak.read(path, format="basket", ids=True)
    assert told.value.place == f"{path}:61"
    data = decloak.read(path, format="basket", ids=True, repeats=True)
    assert len(data.transactions) == len(lines)
    assert data.labels[:2] == ("1", "2")
    done = call("check", path, "--input", "basket", "--ids", "--repeats", "--k", 1, "--m", 2)
    assert (done.code, "WARNING" in done.err) == (0, False)


def test_what_the_warning_tells_to_do_works(tmp_path, call):
    path = file_of(tmp_path, WITHOUT * 2)
    warned = call("check", path, "--input", "basket", "--k", 2, "--m", 1)
    assert "records 61 to 120 repeat records 1 to 60; keep the first 60 records alone" in warned.err
    assert call("check", file_of(tmp_path, WITHOUT), "--input", "basket", "--k", 2, "--m", 1).code == 0


@pytest.mark.parametrize(("repeats", "warned"), [("false", True), ("true", False)])
def test_a_run_over_doubled_data_warns_and_meets_no_guarantee(tmp_path, call, repeats, warned):
    file_of(tmp_path, WITHOUT * 2)
    (tmp_path / "s.yaml").write_text(
        f"scenario: doubled\ndata: {{file: data.csv, format: basket, repeats: {repeats}}}\n"
        "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 20}\nattack: [random]\n"
    )
    for flag in ((), ("--brief",)):
        done = call("run", tmp_path / "s.yaml", *flag, "--store", tmp_path / "s.db")
        assert done.code == 0
        assert done.err.count("WARNING: data.csv: the data seem to be written 2 times") == warned
        assert ("violates its guarantee" in done.out) is (warned and not flag)
    told = call("show", "last", "--store", tmp_path / "s.db")
    assert ("violates its guarantee" in told.out) is warned
    assert ("the data seem to be written 2 times" in told.out + told.err) is warned
    # The other reading of the same file is another release.
    text = (tmp_path / "s.yaml").read_text()
    (tmp_path / "s.yaml").write_text(text.replace(f"repeats: {repeats}", f"repeats: {str(warned).lower()}"))
    done = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db")
    assert ("violates its guarantee" in done.out) is not warned


def test_a_run_over_a_doubled_release_warns(tmp_path, call):
    lines = [line.replace("milk", "(milk, cream)") for line in WITHOUT] * 2
    (tmp_path / "p.txt").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "s.yaml").write_text("scenario: doubled\ndata: {published: p.txt}\nattack: [rba]\n"
                                     "relate: {measure: ngd, source: release}\n")  # fmt: skip
    done = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db")
    assert "WARNING: p.txt: the data seem" in done.err
    assert "violates its guarantee" not in done.out  # it states none
    done = call("check", tmp_path / "p.txt", "--input", "published", "--k", 1, "--m", 1)
    assert (done.code, "the guarantee fails" in done.err) == (3, True)
    assert call("check", tmp_path / "p.txt", "--input", "published", "--repeats", "--k", 1, "--m", 1).code == 0


def written_twice(rows) -> bool:
    """Some shorter block, told from chance, makes up all rows; or 20 kinds all occur a multiple of times."""
    rows = [frozenset(row) for row in rows]
    blocks = [size for size in range(1, len(rows)) if len(rows) % size == 0 and rows[size:] == rows[:-size]]
    half = len(rows) // 2
    if len(rows) % 2 and half and rows[:half] == rows[half + 1 :]:
        blocks = [half]
    counts = Counter(rows)
    return any(chance(rows[: min(blocks)]) for _ in blocks[:1]) or (
        len(counts) >= 20 and any(all(count % times == 0 for count in counts.values()) for times in range(2, 9))
    )


def chance(block) -> bool:
    """Whether drawing from a block gives it again with a chance of less than one in a million or so."""
    again = 1.0
    for row in block:
        again *= block.count(row) / len(block)
    return again <= 2.0**-20


@given(
    st.lists(st.sets(st.sampled_from("abcde"), max_size=3), min_size=1, max_size=12), st.integers(1, 4), st.booleans()
)
def test_copies_are_found_as_by_their_definition(rows, times, between):
    rows = rows * times if not between else [*rows, {"z"}, *rows]
    assert (find_copies(CodedRows.of(map(sorted, rows))) is not None) == written_twice(rows)


def test_kinds_in_any_order_are_found_as_by_their_definition():
    rng = random.Random(3)
    for kinds in (19, 20, 21, 30):
        for times in (1, 2, 3, 4):
            rows = [(f"i{number}",) for number in range(kinds) for _ in range(times * (1 + number % 3))]
            rng.shuffle(rows)
            assert (find_copies(CodedRows.of(rows)) is not None) == written_twice(rows)
            assert find_copies(CodedRows.of(rows), ordered=True) is None


LONG = [f"{items},p{number:02}" for number, row in enumerate(RECORDS) for items in row]


def test_exchanged_columns_of_a_long_table_are_noticed_and_the_remedy_works(tmp_path, call):
    path = file_of(tmp_path, ["tid,item", *LONG])
    (warning,) = look(path).warnings
    assert "--transaction item --item tid" in warning
    asked = ("check", path, "--input", "long", "--k", 1, "--m", 1)
    refused = call(*asked, "--junit", tmp_path / "j.xml")
    assert (refused.code, refused.out) == (2, "")  # a build that reads no warning stops too
    assert "the columns 'tid' and 'item' seem exchanged" in refused.err.splitlines()[-1]
    assert "--transaction item --item tid" in refused.err
    assert "--as-said" in refused.err
    assert "seem exchanged" in (tmp_path / "j.xml").read_text()
    meant = call(*asked, "--as-said")
    assert meant.code == 0
    assert "WARNING: the columns 'tid' and 'item' seem exchanged" in meant.err
    (tmp_path / "s.yaml").write_text(
        f"scenario: exchanged\ndata: {{file: {path.name}, format: long}}\n"
        "anonymise: {method: disassociation, k: 2, m: 1, max_cluster: 5}\nattack: [random]\n"
    )
    assert call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").code == 2
    right = call("check", path, "--input", "long", "--transaction", "item", "--item", "tid", "--k", 1, "--m", 1)
    assert "WARNING" not in right.err
    path = file_of(tmp_path, ["patient,product", *LONG])
    right = call("check", path, "--input", "long", "--transaction", "product", "--item", "patient", "--k", 1, "--m", 1)
    assert "WARNING" not in right.err


def test_one_letter_in_two_unicode_forms_is_warned_about(tmp_path, call):
    path = file_of(tmp_path, ["cafe\u0301,tea", "caf\u00e9,tea", "tea,milk"])
    assert any("several Unicode forms" in warning for warning in look(path).warnings)
    assert "several Unicode forms" in call("check", path, "--input", "basket", "--k", 1, "--m", 1).err
    (tmp_path / "s.yaml").write_text(
        "scenario: forms\ndata: {file: data.csv, format: basket}\n"
        "anonymise: {method: disassociation, k: 2, m: 1, max_cluster: 5}\nattack: [random]\n"
    )
    assert (
        "WARNING: data.csv: 1 name has several Unicode forms"
        in call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").err
    )


def test_dates_of_a_sheet_are_no_silent_items(tmp_path, call):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    from datetime import datetime

    book = openpyxl.Workbook()
    for number, items in enumerate(RECORDS):
        book.active.append([datetime(2024, 1, 1 + number % 9), *items])
    book.save(tmp_path / "d.xlsx")
    said = call("check", tmp_path / "d.xlsx", "--input", "xlsx", "--k", 1, "--m", 1).err
    assert "WARNING: 9 items are dates: '2024-01-01', '2024-01-02'" in said


def test_an_item_that_is_spelt_otherwise_in_the_release_is_warned_about(tmp_path, call):
    (tmp_path / "o.txt").write_text("".join(f"p{n},bread,mlk\n" for n in range(5)) + "p9,tea\n")
    (tmp_path / "p.txt").write_text("".join(f"p{n},(bread, milk)\n" for n in range(5)) + "p9,tea\n")
    (tmp_path / "s.yaml").write_text(
        "scenario: misspelt\ndata: {file: o.txt, format: basket, ids: true, published: {file: p.txt, ids: true}}\n"
        "relate: {measure: ngd, source: release}\nattack: [rba]\n"
    )
    warning = (
        "WARNING: the release lacks 'mlk' of o.txt, and no record has its 'milk'. Remedy: write the same name in both"
    )
    assert warning in call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").err
    (tmp_path / "o.txt").write_text((tmp_path / "o.txt").read_text().replace("mlk", "milk"))
    assert "nothing shows" not in call("run", tmp_path / "s.yaml", "--store", tmp_path / "t.db").err


def test_an_expectation_that_no_variant_can_judge_fails(tmp_path, call):
    """Precision is undefined where nothing is eliminated."""
    (tmp_path / "p.txt").write_text("bread,tea\ntea\nbread\n" * 3)
    (tmp_path / "s.yaml").write_text(
        "scenario: nothing to judge\ndata: {published: p.txt}\nrelate: {measure: ngd, source: release}\n"
        "attack: [rba]\nmeasure: [recovery]\nexpect: ['precision(rba) < 0.5', 'exposed_3 <= 99%']\n"
    )
    done = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db", "--junit", tmp_path / "j.xml")
    assert done.code == 3
    assert "UNDEFINED: precision(rba) = undefined < 0.5" in done.err
    assert 'errors="2"' in (tmp_path / "j.xml").read_text()
    (tmp_path / "s.yaml").write_text((tmp_path / "s.yaml").read_text().replace("0.5", "50"))
    place = tmp_path / "s.yaml"
    done = call("validate", place)
    assert done.code == 2
    assert done.err.startswith(f"decloak: {place}:6:10: 'precision(rba) < 50' can never fail: precision(rba) is from 0")
