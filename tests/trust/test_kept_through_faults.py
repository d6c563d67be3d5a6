"""Whatever ends a run, at whatever moment: nothing half-done is seen, and the next run goes on to the same store."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from conftest import ROOT
from processes import PATIENCE
from slowly import slow_but
from studies import SIGNALS, STUDIES, command, content, finished, whole, written
from tries import SECONDS, drawn


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[dict[str, list[str]], float]]:
    """What a store of a form holds when nothing went wrong, and how long that took."""

    @cache
    def made(form: str) -> tuple[dict[str, list[str]], float]:
        folder = tmp_path_factory.mktemp(form)
        start = time.monotonic()
        code, _, err = finished("run", written(folder, form), "--store", folder / "s.db")
        assert code == 0, err
        return content(folder / "s.db"), time.monotonic() - start

    return made


def goes_on(folder: Path, expected: dict[str, list[str]]) -> None:
    """A second run comes to what an undisturbed one does."""
    code, _, err = finished("run", folder / "s.yaml", "--store", folder / "s.db")
    assert code == 0, err
    assert content(folder / "s.db") == expected
    assert whole(folder / "s.db")


@pytest.mark.parametrize("form", slow_but(["disassociation"], STUDIES))
def test_a_run_ended_by_a_signal_at_a_random_moment_loses_nothing(tmp_path, tries, undisturbed, form):
    expected, seconds = undisturbed(form)
    for number in tries(1):
        rng = drawn(form, number)
        folder = tmp_path / str(number)
        with command("run", written(folder, form), "--store", folder / "s.db") as process:
            time.sleep(rng.uniform(0, seconds))
            process.send_signal(sent := rng.choice(SIGNALS))
            _, err = process.communicate(timeout=PATIENCE)
        if "Traceback" not in err or "decloak" in err:  # otherwise Python was interrupted before it ran decloak
            assert process.returncode in (0, 130, -sent), err
            assert "Traceback" not in err
        if (folder / "s.db").exists() and (folder / "s.db").stat().st_size:
            assert whole(folder / "s.db")
        goes_on(folder, expected)


@pytest.mark.parametrize("form", slow_but(["cut"], STUDIES))
def test_a_run_on_a_disk_that_is_full_says_so_and_goes_on_later(tmp_path, tries, undisturbed, form):
    expected, _ = undisturbed(form)
    for number in tries(1):
        rng = drawn(form, number)
        folder, room = tmp_path / str(number), rng.randrange(1, 400) * 1024
        written(folder, form)

        def bounded(room: int = room) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

        code, _, err = finished("run", folder / "s.yaml", "--store", folder / "s.db", preexec_fn=bounded)
        assert code in (0, 2), (room, err)
        said = [line for line in err.splitlines() if line.startswith("decloak:")]
        assert len(said) == (code == 2), err
        assert "fault inside" not in err
        if (folder / "s.db").exists() and (folder / "s.db").stat().st_size:
            assert whole(folder / "s.db")
        goes_on(folder, expected)


AT_ONCE = "import decloak.pipeline.scheduler as c, sys; c.TRIAL = -1; from decloak.cli import main; main(sys.argv[1:])"
"""Processes from the beginning, where one would find that there is too little to do."""
ROUNDS = 50 if SECONDS else 2


@pytest.mark.slow
def test_two_runs_and_readers_of_one_store_do_not_disturb_each_other(tmp_path, tries, undisturbed):
    for number in tries(ROUNDS):
        form = list(STUDIES)[number % len(STUDIES)]
        folder = tmp_path / str(number)
        path = written(folder, form)
        program = ["-c", AT_ONCE] if number // len(STUDIES) % 2 else ["-m", "decloak"]
        runs = [command("run", path, "--store", folder / "s.db", program=program) for _ in range(2)]
        reads = []
        while any(run.poll() is None for run in runs):
            if (folder / "s.db").exists():
                reads.append(finished("sql", "select count(*) from result", "--store", folder / "s.db"))
        for run in runs:
            _, err = run.communicate()
            assert run.returncode == 0, err
        assert {code for code, *_ in reads} <= {0}, [err for code, _, err in reads if code]
        assert content(folder / "s.db") == undisturbed(form)[0]
        assert whole(folder / "s.db")
        assert not list(folder.glob(".*"))  # nothing of the making of the store is left


def test_a_store_can_be_made_opened_and_read_by_several_at_once(tmp_path, tries):
    """Nobody sees half of a new store, and nobody is refused while another opens or closes it."""
    for number in tries(1):
        writers = [subprocess.Popen([sys.executable, "-c", OPENING, str(tmp_path / str(number)), str(rank)],
                                    env={**os.environ, "PYTHONPATH": str(ROOT / "engine")}, stderr=subprocess.PIPE)
                   for rank in range(4)]  # fmt: skip
        for writer in writers:
            _, err = writer.communicate(timeout=PATIENCE)
            assert writer.returncode == 0, err.decode()[-300:]


OPENING = """
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from decloak.store.opening import connect_readonly, open_store
for number in range(60):
    path = Path(f"{sys.argv[1]}-{number // 20}.db")
    if sys.argv[2] != "0":
        with open_store(path) as store, store.stage() as connection:
            values = (int(sys.argv[2]) * 100 + number, f"{sys.argv[2]} {number}")
            connection.execute("insert into item (id, name) values (?, ?)", values)
    elif path.exists():
        connection = connect_readonly(path)
        connection.execute("select count(*) from item").fetchone()
        connection.close()
"""
