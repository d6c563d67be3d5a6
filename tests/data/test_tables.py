"""Tables: frames of pandas and polars, Parquet, Arrow and Excel hold the transactions that text would."""

import importlib
from io import BytesIO

import pytest

import decloak
from decloak.data.dataset import Dataset
from decloak.data.formats import tables_extra
from decloak.data.formats.look import look
from decloak.data.formats.plain_files import read
from decloak.errors import DecloakError

LONG = {"tid": ["p1", "p1", "p2", "p3"], "item": ["milk", "tea", "milk", "salt"]}
FLAGS = {"id": ["p1", "p2", "p3"], "milk": [1, 1, 0], "salt": [0, 0, 1], "tea": [1, 0, 0]}
LISTS = {"id": ["p1", "p2", "p3"], "items": [["milk", "tea"], ["milk"], ["salt"]]}
RIGHT = (("p1", "p2", "p3"), (("milk", "tea"), ("milk",), ("salt",)))
MAKERS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


@pytest.fixture(params=MAKERS)
def frame_of(request):
    """Makes a frame of each kind from columns."""
    module = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    return getattr(module, MAKERS[request.param])


def held(data: Dataset) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    return data.labels, data.transactions


@pytest.mark.parametrize("columns", [LONG, FLAGS, LISTS], ids=["long", "onehot", "lists"])
def test_a_frame_of_each_shape_is_the_same_data_set(frame_of, columns):
    frame = frame_of(columns)
    assert held(Dataset.of(frame)) == RIGHT
    assert decloak.violations(frame, k=2, m=1) == decloak.violations(RIGHT[1], k=2, m=1)
    assert decloak.anonymise(frame, "disassociation", k=2, m=1, max_cluster=5).k == 2


def test_columns_may_have_other_names_and_no_ids(frame_of):
    assert held(Dataset.of(frame_of({"who": [7, 7, 8], "what": ["a", "b", "a"]}))) == (("7", "8"), (("a", "b"), ("a",)))
    assert held(Dataset.of(frame_of({"x": [True, False], "y": [True, True]}))) == (("1", "2"), (("x", "y"), ("y",)))
    assert held(Dataset.of(frame_of({"items": [["a"], None]}))) == (("1", "2"), (("a",), ()))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"tid": ["a", None], "item": ["x", "y"]}, "row 2 has no id; fill it"),
        ({"tid": ["a", "b"], "item": ["x", None]}, "row 2 has no item; fill it"),
        ({"tid": ["a", "b"], "item": [0.5, 1.0]}, "the item of row 1 is '0.5', not a name"),
        ({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"]}, "no column 'tid' among 'a', 'b', 'c'"),
        ({"id": ["a", "a"], "items": [["x"], ["y"]]}, "two rows of the frame have the id 'a'"),
        ({"a": [["x"]], "b": [["y"]]}, "the columns 'a', 'b' all hold lists"),
        ({"a": ["1"], "b": ["2"], "items": [["y"]]}, "which of 'a', 'b' holds the ids is not said"),
    ],
)
def test_a_frame_that_is_not_clear_is_refused(frame_of, columns, message):
    with pytest.raises(DecloakError) as told:
        Dataset.of(frame_of(columns))
    assert str(told.value).startswith(message)


def test_an_index_that_was_set_is_kept_as_the_ids():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    ids = ["p1", "p2", "p3"]
    flags = pandas.DataFrame({name: FLAGS[name] for name in ("milk", "salt", "tea")}, index=ids)
    assert held(Dataset.of(flags)) == RIGHT
    assert held(Dataset.of(pandas.DataFrame({"items": LISTS["items"]}, index=ids))) == RIGHT
    assert held(Dataset.of(pandas.DataFrame(LONG).set_index("tid"))) == RIGHT
    assert Dataset.of(pandas.DataFrame({"items": LISTS["items"]})).labels == ("1", "2", "3")


@pytest.mark.parametrize("columns", [LONG, FLAGS, LISTS], ids=["long", "onehot", "lists"])
@pytest.mark.parametrize("format", ["parquet", "feather", "arrow", "stream"])
def test_parquet_and_arrow_files_of_each_shape(tmp_path, format, columns):  # noqa: A002
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path, table = tmp_path / "data", arrow.table(columns)
    if format == "parquet":
        importlib.import_module("pyarrow.parquet").write_table(table, path)
    elif format == "feather":
        importlib.import_module("pyarrow.feather").write_feather(table, str(path))
    else:
        ipc = importlib.import_module("pyarrow.ipc")
        with (ipc.new_stream if format == "stream" else ipc.new_file)(str(path), table.schema) as writer:
            writer.write_table(table)
    name = "parquet" if format == "parquet" else "arrow"
    assert held(read(path, name)) == RIGHT
    seen = look(path)
    assert seen.format == name
    assert seen.is_certain
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DecloakError, match=r"not Parquet|not Arrow"):
        read(path, name)


def sheet(path, rows, *more):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for other in more:
        book.create_sheet().append(other)
    content = BytesIO()
    book.save(content)
    path.write_bytes(content.getvalue())
    return path


def test_excel_sheets_as_rows_and_as_lists(tmp_path):
    long = sheet(tmp_path / "l.xlsx", [list(LONG), *zip(*LONG.values(), strict=True)])
    assert held(read(long, "xlsx")) == RIGHT
    named = sheet(tmp_path / "n.xlsx", [("who", "what"), *zip(*LONG.values(), strict=True)])
    assert held(read(named, "xlsx", transaction="who", item="what")) == RIGHT
    lists = sheet(tmp_path / "b.xlsx", [["p1", "milk", "tea"], ["p2", "milk"], ["p3", "salt"]])
    assert held(read(lists, "xlsx", ids=True)) == RIGHT
    inside = sheet(tmp_path / "i.xlsx", [["id", "items"], ["p1", "milk|tea"], ["p2", "milk"], ["p3", "salt"]])
    assert held(read(inside, "xlsx", ids=True, header=True, within="|")) == RIGHT
    assert str(look(named).reading) == "xlsx, transaction 'who', item 'what'"
    with pytest.raises(DecloakError, match="no columns 'who' and 'what'; the first row has 'tid', 'item'"):
        read(long, "xlsx", transaction="who", item="what")
    with pytest.raises(DecloakError, match="2 sheets with cells"):
        read(sheet(tmp_path / "m.xlsx", [["a", "b"]], ["c"]), "xlsx")
    with pytest.raises(DecloakError, match="a sheet without cells"):
        read(sheet(tmp_path / "e.xlsx", []), "xlsx")
    (tmp_path / "x.xlsx").write_bytes(b"PK\x03\x04nothing")
    with pytest.raises(DecloakError, match="not an Excel file"):
        read(tmp_path / "x.xlsx", "xlsx")


def test_a_package_that_is_missing_is_named_with_the_way_to_get_it(tmp_path, monkeypatch):
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(tables_extra, "import_module", missing)
    (tmp_path / "data").write_bytes(b"PAR1")
    for name, package in (("parquet", "pyarrow"), ("arrow", "pyarrow"), ("xlsx", "openpyxl")):
        with pytest.raises(DecloakError) as told:
            read(tmp_path / "data", name)
        assert f"needs {package}; pip install 'pyarrow>=" in str(told.value)
        assert "'openpyxl>=" in str(told.value)
