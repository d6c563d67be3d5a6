"""A pipe, a device, a socket or a folder in the place of a file is one line at once, wherever a file is named."""

import os
import signal
import socket
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")

DATA = "data: {file: data, format: basket}\n"
SETS = "anonymise: {method: sets, size: 2}\n"
RELATED = "relate: {measure: ngd, source: release}\n"
ATTACK = "attack: [mda]\n"
CUT = "anonymise: {{method: cut, k: 2, m: 2, hierarchy: {{file: X, format: {}}}}}\n"
TORN = "anonymise: {method: disassociation, k: 2, m: 2, max_cluster: 4}\n"
SCENARIOS = {
    "data": "data: {file: X, format: basket}\n" + SETS + RELATED + ATTACK,
    "packed data": "data: {file: X, format: parquet}\n" + SETS + RELATED + ATTACK,
    "notes": "data: {text: X, field: note}\n" + SETS + RELATED + ATTACK,
    "search log": "data: {searchlog: X}\n" + SETS + RELATED + ATTACK,
    "published": "data: {file: data, format: basket, published: X}\n" + RELATED + ATTACK,
    "published alone": "data: {published: X}\n" + RELATED + ATTACK,
    "release": "data: {release: X}\n" + RELATED + "attack: [aba]\n",
    "distances": "data: {distances: X}\n" + ATTACK,
    "rule": DATA + SETS + RELATED + "attack: [./X]\n",
    **{f"hierarchy {form}": DATA + CUT.format(form) + RELATED + ATTACK
       for form in ("parents", "indented", "paths", "nested")},
    "counts": DATA + SETS + "relate: {measure: ngd, source: counts, file: X}\n" + ATTACK,
    "counts in JSON": DATA + SETS + "relate: {measure: ngd, source: counts, file: X.json}\n" + ATTACK,
    "corpus": DATA + SETS + "relate: {measure: ngd, source: corpus, file: X}\n" + ATTACK,
    "scores": DATA + SETS + "relate: {measure: ngd, source: scores, file: X}\n" + ATTACK,
    "vectors": DATA + SETS + "relate: {measure: embedding, file: X}\n" + ATTACK,
    "WordNet": DATA + SETS + "relate: {measure: wordnet, folder: wordnet}\n" + ATTACK,
    "knowledge": DATA + TORN + RELATED + "attacker: {knowledge: X}\nattack: [aba]\n",
    "foreign": DATA + TORN + RELATED + "attacker: {model: weak, foreign: X}\nattack: [aba]\n",
    "vectors of a measure": DATA + TORN + RELATED + "attack: [aba]\nmeasure: [{wmd: {vectors: X}}]\n",
}  # fmt: skip
COMMANDS = {
    "run": ["run", "X"], "validate": ["validate", "X"], "rule": ["rules", "./X"],
    "rule tested": ["rules", "test", "X"], "look": ["look", "X"], "import": ["import", "X"],
    "import as said": ["import", "X", "--format", "jsonl"], "import text": ["import", "X", "--format", "text"],
    "import log": ["import", "X", "--format", "searchlog"], "begin": ["init", "n.yaml", "--from", "X"],
    "check": ["check", "X", "--k", "2", "--m", "2"], "check release": ["check", "X", "--input", "release"],
    "check published": ["check", "X", "--input", "published", "--k", "2", "--m", "2"],
    "hierarchy": ["hierarchy", "X"], "corpus": ["corpus", "build", "X", "--out", "i.db"],
    "corpus info": ["corpus", "info", "X"], "corpus count": ["corpus", "count", "X", "a"],
    "store": ["runs", "--store", "X"], "store asked": ["sql", "select 1", "--store", "X"],
    "store drawn": ["graph", "--store", "X"], "store written": ["import", "data", "--format", "basket", "--store", "X"],
    "judgements": ["relate", "benchmark", "--pairs", "X", "--counts", "data"],
    "relatedness of a scenario": ["relate", "benchmark", "--scenario", "X"],
}  # fmt: skip
KINDS = ("pipe", "/dev/zero", "/dev/full", "socket", "folder", "link to a pipe", "/dev/shm")


def put(path: Path, kind: str) -> None:
    """Something that is no file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to a pipe":
        os.mkfifo(path.with_name("pipe"))
        path.symlink_to("pipe")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(kind)


@contextmanager
def no_longer_than(seconds: int):
    """A hang is a failure, and not the end of all tests."""

    def over(*_: object) -> None:
        raise AssertionError(f"still waiting after {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def told_in_a_line(said, kind: str) -> bool:
    """One line that says what stands there; of a folder it may say that something is not in it."""
    lines = [line for line in said.err.splitlines() if " contains the original data" not in line]
    one_line = len(lines) == 1 and lines[0].startswith("decloak: ") and "fault inside" not in said.err
    words = ("a pipe or a device, not a file", "no index there", "no WordNet database")
    return one_line and (kind in ("folder", "/dev/shm") or any(word in said.err for word in words))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("a,b\nb,c\na,c\na,b,c\n")
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_scenario_names(call, folder, kind):
    (folder / "wordnet").mkdir()
    for name in ("X", "X.json", "wordnet/data.noun"):
        (folder / name.partition("/")[0]).mkdir(exist_ok=True) if "/" in name else None
        sub = folder / name
        if kind == "link to a pipe" and sub.with_name("pipe").exists():
            sub.symlink_to("pipe")
        elif kind == "socket":
            (folder / name).symlink_to(folder / "X") if name != "X" else put(sub, kind)
        else:
            put(sub, kind)
    for name in ("index.noun", "noun.exc"):
        (folder / "wordnet" / name).write_text("")
    for name, text in SCENARIOS.items():
        (folder / "s.yaml").write_text("scenario: s\n" + text)
        for command in (["validate", "s.yaml"], ["run", "s.yaml", "--store", "s.db"]):
            with no_longer_than(60):
                said = call(*command)
            if command[0] == "validate" and said.code == 0:  # which opens only what is read for a plan
                continue
            assert said.code == 2, (name, command, said)
            assert told_in_a_line(said, kind), (name, said)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COMMANDS)
def test_whatever_a_command_names(call, folder, name, kind):
    put(folder / "X", kind)
    with no_longer_than(60):
        said = call(*COMMANDS[name])
    assert "fault inside" not in said.err
    if kind in ("folder", "/dev/shm"):
        return  # of which some commands make something
    assert said.code == 2, said
    assert told_in_a_line(said, kind)
