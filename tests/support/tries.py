"""The trials of guarantees: their number, their time and their table.

`make test` tries each a few times, `make trust` for DECLOAK_TRUST_SECONDS each, and writes how often into
docs/explanation/trust.md.
"""

import os
import platform
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

SECONDS = float(os.environ.get("DECLOAK_TRUST_SECONDS", "0"))
SEED = int(os.environ.get("DECLOAK_SEED") or (18 if "CI" in os.environ else random.SystemRandom().randrange(1 << 30)))
"""What random choices go by: another number each time, unless one is given or `.ci/run` compares commits."""
os.environ["DECLOAK_SEED"] = str(SEED)  # workers of one run have one seed
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "trust.md"
FIGURES = re.compile(r"(<!-- figures -->\n).*?(<!-- end of figures -->)", re.S)
_TRIED: dict[str, int] = {}


def drawn(*names: object) -> random.Random:
    """Return random choices that go by the seed of the session and by `names`, such as the number of a try."""
    return random.Random(" ".join(map(str, (SEED, *names))))


@pytest.fixture
def tries(request: pytest.FixtureRequest) -> Callable[[int], Iterator[int]]:
    """Yield numbers for the trials of a guarantee, from 0, until their time is over, and count them.

    The cases of a guarantee share its time.
    """
    name = request.node.originalname.removeprefix("test_").replace("_", " ")
    cases = [item for item in request.session.items if getattr(item, "originalname", "") == request.node.originalname]

    def numbers(least: int) -> Iterator[int]:
        end, number = time.monotonic() + SECONDS / len(cases), 0
        while number < least or time.monotonic() < end:
            yield number
            number += 1
            _TRIED[name] = _TRIED.get(name, 0) + 1

    return numbers


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter", exitstatus: int) -> None:
    """Say after a failure how to make the same random choices again."""
    if exitstatus:
        terminalreporter.write_line(f"random choices go by DECLOAK_SEED={SEED}")


def _commit() -> str:
    """Return the commit that is tried, with a plus sign where files differ from it."""
    command = ("git", "describe", "--always", "--dirty=+", "--exclude=*")
    done = subprocess.run(command, cwd=PAGE.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the number of trials of each guarantee, after a run of the whole folder without a failure."""
    options = session.config.option
    whole = [Path(argument).resolve() for argument in session.config.args] == [PAGE.parents[2] / "tests" / "trust"]
    if not SECONDS or exitstatus or not whole or options.keyword or not PAGE.exists():
        return
    rows = "".join(f"| {name} | {count:,} |\n" for name, count in sorted(_TRIED.items()))
    of = f"Commit {_commit()}, {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, seed {SEED}"
    said = f"{of}, {SECONDS:g} seconds for each; every try succeeded.\n\n"
    table = f"{said}| guarantee | tries |\n|---|---|\n{rows}"
    text = FIGURES.sub(lambda match: f"{match[1]}{table}{match[2]}", PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")
