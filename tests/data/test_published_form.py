"""Set-generalised transactions in a file, whether they go with an original, and distance tables in a file."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import join
from decloak.data.formats.published import format_element
from decloak.data.pairs import DistanceTable
from decloak.data.published import Published, check_alignment, read_published
from decloak.errors import DecloakError
from decloak.releases.distances import DistanceFile, read_distances
from decloak.releases.file_formats import read_release

names = st.text(st.sampled_from(list(" ,;\t\"'()[]*0aé日\u2028\x85\ufeff\u0301")), min_size=1, max_size=6).filter(
    str.strip
)


@st.composite
def published(draw) -> Published:
    """Any published data that the form can carry."""
    transactions = []
    for _ in range(draw(st.integers(1, 4))):
        items = draw(st.lists(names, max_size=8, unique=True))
        elements = []
        while items:
            size = draw(st.integers(0, 3))
            elements.append(tuple(items[:size]) if size else items[0])
            items = items[max(size, 1) :]
        transactions.append(tuple(elements))
    ids = draw(st.lists(names, min_size=len(transactions), max_size=len(transactions), unique=True))
    return Published(tuple(transactions), tuple(ids))


def read_text(folder, text: str, **options: bool) -> Published:
    (folder / "data").write_text(text, newline="")
    return read_published(folder / "data", **options)


def test_the_printed_example_is_read_as_it_is_printed(tmp_path):
    data = read_text(
        tmp_path,
        "heart disease, (blood pressure, icd, limbs, injury), weakness\n"
        'anesthesia,(blood pressure,icd,limbs,injury), "pain, acute"\r\n'
        '  (icd) ,"(x)", " a "" b "\n',
    )
    ours = ("blood pressure", "icd", "limbs", "injury")
    assert data.transactions == (
        ("heart disease", ours, "weakness"),
        ("anesthesia", ours, "pain, acute"),
        (("icd",), "(x)", ' a " b '),
    )
    assert data.labels == ("1", "2", "3")
    assert read_text(tmp_path, "knee, knee, (icd)", ids=True).labels == ("knee",)


@settings(max_examples=150)
@given(original=published(), ids=st.booleans())
def test_reading_gives_back_what_was_written(tmp_path_factory, original, ids):
    file = tmp_path_factory.getbasetemp() / "published"
    if not ids:
        numbers = map(str, range(1, len(original.labels) + 1))
        original = Published(original.transactions, tuple(numbers))
    original.write(file, ids=ids)
    back = read_published(file, ids=ids)
    assert (back.transactions, back.labels) == (original.transactions, original.labels)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("knee, (icd, (limbs), a)", ":1:13: a bracket inside a bracket; put a name that holds"),
        ("knee, (icd, limbs", ":1:18: a bracket that is never closed"),
        ("a\nknee, icd), limbs", ":2:10: a closing bracket that none opened"),
        ("knee, ()", ":1:8: an empty bracket"),
        ("knee, ( , a)", ":1:9: an empty name"),
        ("knee, (a, )", ":1:11: an empty name"),
        ("knee,, a", ":1:6: an empty name"),
        (", a", ":1:1: an empty name"),
        ("knee, ", ":1:6: an empty name"),
        ('knee, " "', ":1:7: an empty name"),
        ("milk (whole)", ":1:6: no comma before this"),
        ("(a, b) c", ":1:8: no comma before this"),
        ("(a)(b)", ":1:4: no comma before this"),
        ('a "b" c', ":1:3: no comma before this"),
        ('knee, "a', ":1:7: a quote that is never closed"),
        ('knee, a"', ":1:8: a quote that is never closed"),
        ("knee, icd, knee", ":1:12: 'knee' is there already, at column 1; an item stands once"),
        ("(icd, limbs), (a, icd)", ":1:19: 'icd' is there already, at column 2"),
        ("a\n\nb", ":2: a record without items; remove the line, or write () for an empty one"),
    ],
)
def test_a_line_out_of_form_is_refused_with_its_column(tmp_path, text, expected):
    with pytest.raises(DecloakError) as caught:
        read_text(tmp_path, text)
    assert str(caught.value).removeprefix(str(tmp_path / "data")).startswith(expected)


def test_ids_that_are_missing_or_repeated_are_refused(tmp_path):
    for text, expected in [
        ("(a, b), c", ":1:1: expected an id, then a comma"),
        ("p1, a\np1, b", ":2: the id 'p1' occurs in line 1"),
        ("p1, a\np2", ":2: a record without items"),
    ]:
        with pytest.raises(DecloakError, match=expected):
            read_text(tmp_path, text, ids=True)


@pytest.mark.parametrize(
    ("transaction", "label", "expected"),
    [
        (("a", ()), "1", "is empty"),
        (((),), "1", "is empty"),
        (("a", ("b", "a")), "1", "twice"),
        (("a", ("b\n", "c")), "1", "line end"),
        ((" ",), "1", "an empty name"),
    ],
)
def test_what_could_not_be_read_is_not_written(tmp_path, transaction, label, expected):
    with pytest.raises(DecloakError, match=expected):
        Published((transaction,), (label,)).write(tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_ids_are_written_only_when_asked_for(tmp_path):
    release = Published((("a",), (("b", "c"),)), ("mrs smith", "mr jones"))
    release.write(tmp_path / "without")
    assert (tmp_path / "without").read_text() == "a\n(b, c)\n"
    release.write(tmp_path / "with", ids=True)
    assert (tmp_path / "with").read_text() == "mrs smith, a\nmr jones, (b, c)\n"


@pytest.mark.slow
def test_a_set_of_very_many_items_goes_by_how_many_they_are(tmp_path):
    """Every line that shows it would hold all of them else."""
    first, second = (tuple(f"{name} {number}" for number in range(200_000)) for name in "ab")
    release = Published((("x", first), (first, second), (second,)), ("1", "2", "3"))
    release.write(tmp_path / "release.jsonl")
    lines = (tmp_path / "release.jsonl").read_text().splitlines()[-3:]
    assert lines[0] == '["(a 0, and 199999 more)", "x"]'
    again = read_release(tmp_path / "release.jsonl").published
    assert [set(row) for row in again.transactions] == [{"x", first}, {first, second}, {second}]
    with pytest.raises(DecloakError, match=r"at most 1,000,000: write a release file, to a name that ends in \.jsonl"):
        release.write(tmp_path / "release.txt")


def test_one_element_can_be_shown_whatever_its_names():
    assert format_element(("a, b", "c\nd", 'e"')) == '("a, b", "c\nd", "e""")'
    assert format_element("(x") == '"(x"'


ORIGINAL = Dataset((("knee", "icd", "pain"), ("anesthesia", "limbs")), ("p1", "p2"), "original.csv")


def test_items_that_a_published_transaction_lost_are_suppressed():
    release = Published((("anesthesia", ("icd",)), (("icd", "limbs"), "knee")), ("p2", "p1"))
    assert check_alignment(ORIGINAL, release) == [("p1", "pain"), ("p2", "limbs")]


def test_a_plain_item_that_the_original_does_not_hold_is_refused():
    release = Published((("knee", "icd", "limbs"), ("pain", "gangrene")), ("p1", "p2"), "release.txt")
    with pytest.raises(DecloakError) as caught:
        check_alignment(ORIGINAL, release)
    assert str(caught.value).startswith(
        "release.txt: transaction 'p1' publishes 'limbs', which its original does not hold, and 2 more like it"
    )


def test_labels_that_do_not_match_are_refused_by_name():
    many = Dataset((("a",),) * 6, tuple("123456"), "original.csv")
    release = Published((("a",), ("a",)), ("1", "7"), "release.txt")
    with pytest.raises(DecloakError, match=r"^release.txt: no transaction '2', '3', '4', 2 more, though original.csv"):
        check_alignment(many, release)
    with pytest.raises(DecloakError, match=r"^original.csv: no transaction '7', though release.txt"):
        check_alignment(Dataset((("a",),), ("1",), "original.csv"), release)
    with pytest.raises(DecloakError, match="same label"):
        check_alignment(Dataset((("a",), ("b",)), ("1", "1")), release)


HOSPITAL = """\
,blood pressure,icd,limbs,injury
heart disease,.56*,.78*,1.57,2.19
gangrene,2.60,,-1,"1.49*"

"second, smaller",a
b,inf
c,*

"""


def test_stars_mark_original_members_and_what_has_no_score_is_nan(tmp_path):
    (tmp_path / "data").write_text(HOSPITAL)
    tables, originals = read_distances(tmp_path / "data")
    assert [table.name for table in tables] == ["", "second, smaller"]
    assert tables[0].rows == ("heart disease", "gangrene")
    assert tables[0].columns == ("blood pressure", "icd", "limbs", "injury")
    np.testing.assert_array_equal(tables[0].d, [[0.56, 0.78, 1.57, 2.19], [2.6, np.nan, np.nan, 1.49]])
    assert np.isnan(tables[1].d).all()
    assert originals is not None
    assert [stars.tolist() for stars in originals] == [
        [[True, True, False, False], [False, False, False, True]], [[False], [True]],
    ]  # fmt: skip


def test_without_any_star_nothing_is_known_about_originals(tmp_path):
    (tmp_path / "data").write_text("x,a\nb,1\n")
    assert read_distances(tmp_path / "data").originals is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x,a,b\nr,1", ":2: 1 values where the header has 2 columns"),
        ("x,a,b\nr,1,2\n\ny,c\ns,.1,.2", ":5: 2 values where the header has 1 columns"),
        ("x,a\nr,1\nr,2", ":3: the row 'r' is there twice; rename one"),
        ("x,a,a\nr,1,2", ":1: the column 'a' is there twice; rename one"),
        ("x,a,\nr,1,2", ":1: a column without a name"),
        ("x,a\n,1", ":2: a row without a name"),
        ("x\nr", ":1: a table without columns or rows"),
        ("x,a,b", ":1: a table without columns or rows"),
        ("x,a,b\nr,1, .5x", ":2:6: '.5x' is not a number; write 0.5, or 0.5* for an original member"),
        ('x,a,b\n"r, s", 1_000,1', ":2:9: '1_000' is not a number"),
        ("x,a\nr,١", ":2:3: '١' is not a number"),
        ("x,a\nr,1**", ":2:3: '1**' is not a number"),
        ("x,a\nr,1\ny,b", ":3:3: 'b' is not a number"),
    ],
)
def test_a_table_out_of_form_is_refused_with_its_place(tmp_path, text, expected):
    (tmp_path / "data").write_text(text)
    with pytest.raises(DecloakError) as caught:
        read_distances(tmp_path / "data")
    assert str(caught.value).removeprefix(str(tmp_path / "data")).startswith(expected)


@st.composite
def distances(draw) -> DistanceFile:
    """Any tables that the file can carry, with stars or without."""
    tables, stars = [], []
    for _ in range(draw(st.integers(1, 3))):
        rows, columns = (tuple(draw(st.lists(names, min_size=1, max_size=3, unique=True))) for _ in "rc")
        size = len(rows) * len(columns)
        values = draw(st.lists(st.none() | st.floats(0, allow_infinity=False), min_size=size, max_size=size))
        d = np.array(values, dtype=float).reshape(len(rows), len(columns))
        tables.append(DistanceTable(draw(names | st.just("")), rows, columns, d))
        bits = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        stars.append(np.array(bits).reshape(d.shape))
    return DistanceFile(tuple(tables), tuple(stars) if np.concatenate([s.ravel() for s in stars]).any() else None)


def lines_of_tables(file: DistanceFile) -> str:
    """The tables as the form says that they are written, with nothing where there is no score."""
    blocks = []
    for number, table in enumerate(file.tables):
        stars = file.originals[number] if file.originals else np.zeros(table.d.shape, bool)
        cells = np.where(np.isnan(table.d), "", table.d.astype(object).astype(str))
        rows = [[name, *(cells[i] + np.where(stars[i], "*", ""))] for i, name in enumerate(table.rows)]
        blocks.append("".join(join(row) + "\n" for row in [[table.name, *table.columns], *rows]))
    return "\n".join(blocks)


@settings(max_examples=100)
@given(original=distances())
def test_tables_read_back_as_they_were_written(tmp_path_factory, original):
    file = tmp_path_factory.getbasetemp() / "distances"
    file.write_text(lines_of_tables(original), newline="")
    back = read_distances(file)
    for table, again in zip(original.tables, back.tables, strict=True):
        assert (table.name, table.rows, table.columns) == (again.name, again.rows, again.columns)
        np.testing.assert_array_equal(table.d, again.d)
    assert (back.originals is None) == (original.originals is None)
    for stars, again in zip(original.originals or (), back.originals or (), strict=True):
        np.testing.assert_array_equal(stars, again)
