"""What several test files start from: the worked example as files, a store made by the quickstart, the command line."""

import gc
import importlib
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak import cli
from tries import SECONDS, pytest_sessionfinish, pytest_terminal_summary, tries

cli.configure_process()  # before numpy: its threads spin while they wait, which took most of the time of the tests
# No run in this process forks workers because a clock says so: tests of workers start them in processes of their own.
importlib.import_module("decloak.pipeline.scheduler").TRIAL = math.inf

# The machines are noisy, so no example has a deadline; `.ci/run` draws the same examples each time, others new ones.
settings.register_profile("fifth", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("all", settings.get_profile("fifth"))
settings.load_profile("fifth")
FEWEST = 5

__all__ = ["pytest_sessionfinish", "pytest_terminal_summary", "tries"]

ROOT = Path(__file__).parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"
MEMBERS = ("blood pressure", "icd", "limbs", "injury")
DISTANCES = {
    "heart disease": (0.56, 0.78, 1.57, 2.19),
    "anesthesia": (1.75, 0.58, 1.74, 1.53),
    "gangrene": (2.60, 2.93, 1.78, 1.49),
    "knee": (1.60, 1.51, 1.89, 1.03),
}
ORIGINALS = {
    "heart disease": ("blood pressure", "icd"),
    "anesthesia": ("icd",),
    "gangrene": ("limbs", "injury"),
    "knee": ("injury",),
}
SCENARIO = """\
scenario: the worked example
data: {file: original.txt, format: basket, published: published.txt}
relate: {measure: ngd, source: scores, file: scores.csv, cap: none}
attacker: {context: 1}
attack: [mda, tba, wba, gba, rba]
measure: [recovery, {coverage: {least: 0.2}}]
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw a fifth of the examples that a test asks for; `make test-all` and `make trust` draw all of them.

    A profile alone cannot say so: Hypothesis takes what a test asks for before it takes what a profile does.
    """
    if SECONDS or config.getoption("--hypothesis-profile") == "all":
        return
    for test in {item.obj for item in items if isinstance(item, pytest.Function)}:
        asked = getattr(test, "_hypothesis_internal_use_settings", None)
        if isinstance(asked, settings):
            fewer = max(min(asked.max_examples, FEWEST), asked.max_examples // 5)
            test._hypothesis_internal_use_settings = settings(asked, max_examples=fewer)


@given(st.none())
def _draw_nothing(_: None) -> None:
    """Let Hypothesis register its random numbers: older versions ask for their owner, whom freezing would hide."""


def pytest_collection_finish() -> None:
    """Keep what the collection made out of garbage collections: advice and forked processes begin with one each."""
    _draw_nothing()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, which is not part of the project: tests that need it are skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("no real data beside the checkout (../shared/data)")
    return SHARED_DATA


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A folder with the worked example."""
    return write_example(tmp_path / "example")


def write_example(folder: Path) -> Path:
    """Make a folder with the worked example of the paper: scenario.yaml and the files it names."""
    folder.mkdir()
    lines = {
        "original.txt": [", ".join((context, *items)) for context, items in ORIGINALS.items()],
        "published.txt": [f"{context}, ({', '.join(MEMBERS)})" for context in DISTANCES],
        "scores.csv": ["a,b,ngd"]
        + [f"{a},{b},{d}" for a, row in DISTANCES.items() for b, d in zip(MEMBERS, row, strict=True)],
        "table.csv": ["," + ",".join(MEMBERS)]
        + [
            ",".join([a, *(f"{d}{'*' * (b in ORIGINALS[a])}" for b, d in zip(MEMBERS, row, strict=True))])
            for a, row in DISTANCES.items()
        ],
    }
    for name, content in lines.items():
        (folder / name).write_text("".join(f"{line}\n" for line in content))
    (folder / "scenario.yaml").write_text(SCENARIO)
    return folder


@pytest.fixture(scope="session")
def example_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds a run of the worked example, to be read and copied."""
    folder = write_example(tmp_path_factory.mktemp("worked") / "example")
    decloak.run(folder / "scenario.yaml", store=folder / "s.db")
    return folder / "s.db"


@pytest.fixture
def example_store(example_run: Path, tmp_path: Path) -> Path:
    """A store of one's own that holds a run of the worked example."""
    return Path(shutil.copy(example_run, tmp_path / "s.db"))


@pytest.fixture(scope="session")
def _quickstart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("quickstart") / "store.db"
    decloak.run(ROOT / "scenarios" / "quickstart.yaml", store=path)
    return path


@pytest.fixture
def store(_quickstart: Path, tmp_path: Path) -> Path:
    """A store of one's own that holds a run of the quickstart."""
    return Path(shutil.copy(_quickstart, tmp_path / "quickstart.db"))


class Said(NamedTuple):
    """What a command left: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """The command line, in this process: call("run", path) → Said."""

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        code = cli._code([str(one) for one in arguments])
        return Said(code, *capsys.readouterr())

    return run
