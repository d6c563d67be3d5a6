"""Files the engine writes are there whole or not at all, and what stood there before stays until they are."""

import re
import resource
from contextlib import contextmanager
from pathlib import Path

import pytest

import decloak
from conftest import ROOT
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.data.formats.hierarchy_file import write_hierarchy
from decloak.data.formats.plain_files import write
from decloak.data.formats.writing import atomic_paths, write_text
from decloak.data.published import Published
from decloak.data.text.documents import Documents, TextOptions
from decloak.errors import DecloakError
from decloak.relate.corpus_index import build
from decloak.relate.word_vectors import FileVectors

ROOM = 20_000
ITEMS = [f"item {number:05d}" for number in range(4_000)]
ROWS = [ITEMS[number : number + 4] for number in range(0, len(ITEMS), 4)]
DATA = Dataset.of(ROWS)
TREE = decloak.Hierarchy.balanced(ITEMS, 5)
SETS = Published(tuple((("a", "b"), *row) for row in ROWS), DATA.labels)
CHUNKS = Disassociated((Cluster(1_000, (Chunk(tuple(ITEMS), tuple(map(tuple, ROWS))),), ()),), k=1, m=1)

WRITERS = {
    "jsonl": lambda path: write(DATA, path, "jsonl"),
    "long": lambda path: write(DATA, path, "long"),
    "basket": lambda path: write(DATA, path, "basket"),
    "set-generalised": SETS.write,
    "labels": lambda path: SETS.write(f"{path}.jsonl"),
    "generalised": decloak.anonymise(ROWS, "cut", k=1, m=1, hierarchy=TREE).write,
    "disassociated": CHUNKS.write,
    "hierarchy": lambda path: write_hierarchy(TREE.parents(), path),
    "text": lambda path: write_text("".join(ITEMS), path),
}


WRITES = re.compile(r"\.write_(text|bytes)\(|copyfile\(|copytree\(|open\([^)]*[\"'][wx]")


def test_nothing_is_written_in_another_way():
    """A module that writes files does it inside atomic_paths, unless it adds to what there is.

    Fingerprints are kept by a module that imports nothing of decloak, and that puts the file in place whole itself.
    What is served in the browser is written to a temporary folder, before anybody can read it.
    """
    for module in (ROOT / "engine").rglob("*.py"):
        text = module.read_text()
        excepted = module.name in {"fingerprints.py", "serve.py"}
        assert excepted or not WRITES.search(text) or "atomic_paths(" in text or "O_APPEND" in text, module


@contextmanager
def full_disk():
    """Inside, no file grows beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_a_full_disk_leaves_nothing_where_there_was_nothing(folder, writer):
    with full_disk(), pytest.raises(DecloakError) as told:
        writer(folder / "file")
    assert "cannot write the file: File too large; nothing was written, make room" in str(told.value)
    assert list(folder.iterdir()) == []
    writer(folder / "file")
    [file] = folder.iterdir()
    assert file.stat().st_size > ROOM


def test_a_full_disk_leaves_what_there_was(folder):
    (folder / "file").write_text("what there was")
    with full_disk(), pytest.raises(DecloakError):
        write(DATA, folder / "file", "jsonl")
    assert [file.read_text() for file in folder.iterdir()] == ["what there was"]


def test_a_full_disk_leaves_no_part_of_an_index(folder, tmp_path):
    (tmp_path / "texts").write_text("\n".join(f"{item} of a text" for item in ITEMS))
    with full_disk(), pytest.raises(DecloakError, match="make room"):
        build([Documents(tmp_path / "texts", TextOptions(lines=True))], folder / "index")
    assert list(folder.iterdir()) == []


def test_a_full_disk_leaves_no_part_of_a_cache_and_takes_memory_instead(folder, tmp_path):
    (tmp_path / "vectors").write_text("".join(f"{item.replace(' ', '_')} 1.5 2.5\n" for item in ITEMS))
    with full_disk():
        table = FileVectors.read(tmp_path / "vectors", folder)
    assert table.row(b"item_00007") == 7
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("arguments", [("init", "begun/s.yaml"), ("graph", "-o", "graph.xml"),
    ("hierarchy", "data.txt", "--input", "basket", "--as-said", "--write", "tree.csv", "--k", 1, "--m", 1)],
    ids=lambda arguments: arguments[0])  # fmt: skip
def test_a_command_that_fills_the_disk_leaves_no_file(folder, store, call, monkeypatch, arguments):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DECLOAK_STORE", str(store))
    write(DATA, "data.txt", "basket")
    with full_disk():
        said = call(*arguments)
    assert said.code == 2
    assert len(said.err.splitlines()) == 1, said.err
    assert "cannot write the file: File too large" in said.err
    assert [file.name for file in folder.rglob("*") if not file.is_dir()] == ["data.txt"]
    assert call(*arguments).code == 0


def write_each(*paths: Path) -> None:
    with atomic_paths(*paths) as parts:
        for part in parts:
            part.write_text("made")


def test_files_are_written_together_or_not_at_all(folder, monkeypatch):
    names = [folder / name for name in ("first", "second", "third")]
    steps = []
    replace = Path.replace

    def second_fails(self, goal):
        steps.append(goal)
        if len(steps) == 2:
            raise KeyboardInterrupt
        return replace(self, goal)

    monkeypatch.setattr(Path, "replace", second_fails)
    with pytest.raises(KeyboardInterrupt):
        write_each(*names)
    assert steps == names[:2]
    assert list(folder.iterdir()) == []


def test_a_folder_is_written_whole_as_well(folder):
    def write_tree(fault: Exception | None) -> None:
        with atomic_paths(folder / "tree") as (part,):
            (part / "deep").mkdir(parents=True)
            (part / "deep" / "file").write_text("made")
            if fault is not None:
                raise fault

    with pytest.raises(KeyError):
        write_tree(KeyError())
    assert list(folder.iterdir()) == []
    write_tree(None)
    assert (folder / "tree" / "deep" / "file").read_text() == "made"


def test_what_is_written_over_keeps_its_mode_and_a_link_stays_one(folder):
    (folder / "file").write_text("before")
    (folder / "file").chmod(0o640)
    (folder / "link").symlink_to("file")
    write_text("after", folder / "link")
    assert (folder / "link").is_symlink()
    assert (folder / "file").read_text() == "after"
    assert (folder / "file").stat().st_mode & 0o777 == 0o640


def test_what_is_new_has_the_mode_the_user_gives_files(folder):
    write_text("made", folder / "file")
    (folder / "other").touch()
    assert (folder / "file").stat().st_mode == (folder / "other").stat().st_mode


def test_what_may_not_be_written_to_is_not_replaced_either(folder, monkeypatch):
    (folder / "file").write_text("before")
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(DecloakError, match="cannot write the file: Permission denied"):
        write_text("after", folder / "file")
    assert [file.read_text() for file in folder.iterdir()] == ["before"]


def test_a_device_is_written_to_and_stays_one():
    write_text("gone", "/dev/null")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(("name", "message"), [("no\0ne", "a zero character in the name"), (".", "Is a directory"),
    ("none/file", "No such file"), ("x" * 300, "too long")], ids=repr)  # fmt: skip
def test_a_name_that_cannot_be_is_one_line(folder, name, message):
    with pytest.raises(DecloakError, match=message) as told:
        write_text("text", folder / name)
    assert "\n" not in str(told.value)
    assert list(folder.iterdir()) == []
