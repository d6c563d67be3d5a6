"""`decloak compile` compiles all that runs would compile, and says where it cannot."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import decloak
from conftest import ROOT
from decloak import compiled
from decloak.anonymisers.kernels import counting
from decloak.compiled import compile_seconds
from decloak.rules.eliminate import separable

SETS = """\
scenario: sets
data: {generate: clinic, transactions: 120, seed: 7}
anonymise: {method: sets, size: 4}
relate: {measure: ngd, source: clinic-counts}
attack: [mda, tba, wba, gba, rba]
"""
CUT = """\
scenario: cut
data: {generate: clinic, transactions: 120, seed: 7}
anonymise: {method: cut, k: 5, m: 2, hierarchy: {by: random, fanout: 4}}
attack: [km_violation]
vary: {anonymise.m: [2, 3]}
"""
FILES = """\
scenario: files
data: {file: s.txt, format: basket, separator: " ", parts: true}
vary:
  anonymise:
    - {method: cut, k: 5, m: 2, hierarchy: {by: names, fanout: 4}}
    - {method: disassociation, k: 5, m: 2, max_cluster: 20}
"""


def loaded() -> dict[str, int]:
    """Return the number of combinations of types that each loop was compiled for, or was loaded for from the cache."""
    from decloak.anonymisers.kernels import counting_numba, horpart_numba
    from decloak.counting import block_loops
    from decloak.measure.kernels import accuracy_loops
    from decloak.rules.eliminate.loops import blocks, by_lines, table
    from decloak.rules.reassociate import cluster_loops

    of_files = (block_loops, accuracy_loops, cluster_loops)
    entries = {
        f"{module.__name__}.{name}": kernel
        for module in (*of_files, counting_numba, horpart_numba, blocks, by_lines, table)
        for name, kernel in vars(module).items()
        if hasattr(kernel, "signatures") and kernel.targetoptions.get("no_cpython_wrapper") is None
    }
    return {name: len(kernel.signatures) for name, kernel in entries.items()}


@pytest.mark.parametrize("text", [SETS, CUT, FILES], ids=["eliminations", "cuts", "files"])
def test_no_run_compiles_after_the_command(call, tmp_path, monkeypatch, text):
    pytest.importorskip("numba", reason="numba is not installed")
    monkeypatch.setattr(separable, "LARGE", 0)  # loops for the smallest tables
    monkeypatch.setattr(separable, "SMALL", 0)
    monkeypatch.setattr(counting, "LARGE", 0)
    assert call("compile").code == 0
    assert call("compile").code == 0
    before = compile_seconds(), loaded()
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "s.txt").write_text("".join(f"{number % 7} {number % 11 + 20}\n" for number in range(200)))
    decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert (compile_seconds(), loaded()) == before


def test_without_numba_there_is_nothing_to_compile():
    script = "import sys; sys.modules['numba'] = None; from decloak.cli import main; main(['compile'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("nothing to compile: numba cannot be used here")


def test_loops_that_cannot_be_kept_are_an_error_with_a_remedy(call, monkeypatch):
    pytest.importorskip("numba", reason="numba is not installed")
    monkeypatch.setattr(compiled._WATCH, "kept", False)
    monkeypatch.setattr(compiled._WATCH, "cpu", 1.0)
    said = call("compile")
    assert said.code == 2
    assert said.err == (
        "decloak: the compiled loops cannot be kept: no folder for them can be written; "
        "set NUMBA_CACHE_DIR to a folder that only you can write\n"
    )


LOOP = """\
from decloak.compiled import compiled

@compiled
def add(a, b):
    return a + b
"""
ADD = """\
import sys
sys.path.insert(0, sys.argv[1])
from decloak import compiled
if sys.argv[2:]:
    compiled.keep_in_package()
from loop import add
print(add(1, 2), compiled.compile_seconds()[0] > 0)
"""


def added(folder: Path, *arguments: str) -> str:
    """Add numbers in a new process by the decloak in `folder`; return the sum, and whether it was compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder.parent / "cache")}
    command = [sys.executable, "-c", ADD, str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()


def test_installed_machine_code_is_used_where_it_fits_and_never_written(tmp_path):
    pytest.importorskip("numba", reason="numba is not installed")
    built, installed = tmp_path / "built", tmp_path / "installed"
    shutil.copytree(Path(decloak.__file__).parent, built / "decloak", ignore=shutil.ignore_patterns("__pycache__"))
    (built / "loop.py").write_text(LOOP, encoding="utf-8")
    assert added(built, "build") == "3 True"
    built.rename(installed)
    files = {path: path.read_bytes() for path in (installed / "decloak/_compiled/loop").iterdir()}
    assert len(files) == 2
    assert added(installed) == "3 False"
    (installed / "loop.py").write_text(LOOP.replace("a + b", "a + b + 1"), encoding="utf-8")  # other sources
    assert added(installed) == "4 True"
    assert added(installed) == "4 False"  # kept where the user can write
    (installed / "loop.py").write_text(LOOP, encoding="utf-8")
    assert files == {path: path.read_bytes() for path in files}
    for path in files:
        path.write_bytes(b"damaged")
    assert added(installed) == "3 True"
    assert {path.read_bytes() for path in files} == {b"damaged"}


@pytest.mark.parametrize(
    ("path", "text", "disabled"),
    [
        ("numba.py", "raise ImportError('broken')", ""),
        pytest.param(
            "sitecustomize.py",
            "from numba.core import caching; del caching.CompileResultCacheImpl",
            "",
            marks=pytest.mark.slow,
        ),
        pytest.param("none.py", "", "1", marks=pytest.mark.slow),
    ],
    ids=["broken", "changed", "switched off"],
)
def test_a_build_goes_on_without_a_numba_that_works(tmp_path, path, text, disabled):
    pytest.importorskip("hatchling")
    pytest.importorskip("numba", reason="numba is not installed")
    (tmp_path / path).write_text(text, encoding="utf-8")
    numba = {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": disabled or "0"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **numba, "DECLOAK_COMPILE": "1"},
    )
    assert "the loops are not compiled" in done.stderr
    assert [wheel.name.endswith("-py3-none-any.whl") for wheel in tmp_path.glob("*.whl")] == [True]


def test_large_tables_need_no_loops_where_numba_is_switched_off(tmp_path):
    pytest.importorskip("numba", reason="numba is not installed")
    script = (
        "import numpy as np\n"
        "from decloak.rules.eliminate.kernel import eliminate\n"
        "from decloak.rules.load import Catalogue\n"
        "table = np.random.default_rng(1).random((4000, 2))\n"
        "(done,) = eliminate([table], Catalogue().rule('gba').compiled, rounds=3)\n"
        "print(len(done.steps[0]))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**os.environ, **world}
        ).stdout
        for world in ({}, {"NUMBA_DISABLE_JIT": "1"})
    ]
    assert said == ["3\n", "3\n"]


@pytest.mark.slow
@pytest.mark.parametrize("compiles", [False, True])
def test_a_wheel_has_machine_code_and_a_platform_only_where_it_is_installed(tmp_path, monkeypatch, compiles):
    pytest.importorskip("hatchling")
    pytest.importorskip("numba", reason="numba is not installed")
    monkeypatch.delenv("PIP_BUILD_TRACKER", raising=False)
    monkeypatch.delenv("DECLOAK_COMPILE", raising=False)
    if compiles:
        monkeypatch.setenv("PIP_BUILD_TRACKER", str(tmp_path))  # as pip does
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl") is not compiles
    with zipfile.ZipFile(wheel) as file:
        indexes = [name for name in file.namelist() if name.startswith("decloak/_compiled/") and name.endswith(".nbi")]
    assert bool(indexes) is compiles
    assert not compiles or len(indexes) == len(loaded())
