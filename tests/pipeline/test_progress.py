"""How far a run is: lines and a screen that tell it on stderr, what --dry-run knows of time, and completion."""

import io
import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import decloak
from decloak import compiled
from decloak.anonymisers.method import Stopwatch
from decloak.cli import _code
from decloak.pipeline.progress import Progress, RunVariant, duration
from decloak.report import progress
from decloak.report.progress import ProgressLines, Screen, result_line, time_left
from decloak.store.inserting import insert
from decloak.store.opening import open_store
from decloak.store.results import PooledFigure
from decloak.store.timing import NEAR, KnownTimes
from slowly import slow_but

SWEEP = """\
scenario: sets of items
data: {generate: clinic, transactions: 60, seed: 7}
anonymise: {method: sets, size: 4}
relate: {measure: ngd, source: clinic-counts}
attack: [ra, mda]
measure: [recovery]
vary: {anonymise.size: [4, 6, 8]}
"""
HOSTILE = "\x1b[2J[red]x[/red]\u202e"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Drawn:
    """Stands for the terminal's picture."""

    def __init__(self) -> None:
        self.pictures: list[str] = []

    def update(self, text, refresh: bool) -> None:
        assert refresh
        self.pictures.append(text.plain)


def ran(figures: dict[tuple[str, str], PooledFigure] | None = None, fresh: bool = True) -> RunVariant:
    return RunVariant(1, "base", 1, 7, fresh, figures or {}, ())


RIGHT = {
    ("precision", "mda"): PooledFigure(0.9, 9, 10),
    ("baseline", "mda"): PooledFigure(0.5, 5, 10),
    ("precision", "rba"): PooledFigure(0.7, 70, 100),
    ("baseline", "rba"): PooledFigure(0.5, 50, 100),
    ("precision", "idle"): PooledFigure(None, 0, 0),
    ("baseline", "idle"): PooledFigure(None, 0, 0),
    ("tkd", "aba"): PooledFigure(0.9, None, None),
}


def test_the_last_result_is_the_attack_with_the_most_right_beyond_chance():
    assert result_line(RIGHT) == "rba precision 70.0% (100 eliminated), baseline 50.0%"


def test_what_is_not_compared_with_chance_is_no_result():
    assert result_line({("precision", "x"): PooledFigure(0.9, 9, 10)}) is None
    assert (
        result_line({("accuracy", "x"): PooledFigure(None, 0, 0), ("baseline", "x"): PooledFigure(None, 0, 0)}) is None
    )


def test_what_is_left_is_told_by_what_was_done():
    assert time_left(10, 5, 20) == "about 40 s left"
    assert time_left(100, 1, 40) == "about 67 min left"
    assert time_left(100, 1, 200) == "about 6 h left"
    assert time_left(0.001, 1, 1) == "about 1 s left"
    assert time_left(10, 0, 20) is None
    assert time_left(10, 5, 0) is None


@pytest.mark.parametrize("seconds", [0.0, 89.4, 91, 5000, 1e6])
def test_a_duration_is_told_in_a_unit_that_fits(seconds):
    number, unit = re.fullmatch(r"about (\d+) (s|min|h)", duration(seconds)).groups()
    size = {"s": 1, "min": 60, "h": 3600}[unit]
    assert abs(int(number) * size - max(1.0, seconds)) <= size / 2


def test_a_short_run_and_a_single_one_tell_nothing(capsys):
    clock = Clock()
    lines = ProgressLines(clock)
    lines.done("k=3", 1, 2, ran())
    assert capsys.readouterr() == ("", "")
    single = ProgressLines(clock)
    clock.now = 100
    single.done("base", 1, 1, ran())
    assert capsys.readouterr() == ("", "")


def test_a_long_run_of_several_tells_a_line_for_each_that_is_done(capsys):
    clock = Clock()
    lines = ProgressLines(clock)
    lines.done("k=3", 1, 4, ran())
    clock.now = progress.SOON
    lines.done("k=4", 2, 4, ran(RIGHT))
    lines.done("k=5", 3, 4, ran(fresh=False))
    lines.done(HOSTILE, 4, 4, ran())
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "[1/4] k=3",
        "[2/4] k=4: rba precision 70.0% (100 eliminated), baseline 50.0%",
        "[4/4] \\x1b[2J[red]x[/red]\\u202e",
    ]


def test_a_log_hears_of_a_long_run_while_nothing_is_done(capsys):
    clock = Clock()
    lines = ProgressLines(clock)
    lines.begin("k=3", 2, 4)
    lines.stage("release")
    clock.now = progress.HEARTBEAT
    lines.stage("attack")
    lines.stage("measurement")
    clock.now += progress.HEARTBEAT
    lines.begin("k=4", 1, 1)
    lines.stage(HOSTILE)
    lines.tick()
    clock.now += progress.HEARTBEAT
    lines.tick()
    assert capsys.readouterr().err.splitlines() == [
        "after about 30 s: attack of k=3 [2/4]",
        "after about 60 s: \\x1b[2J[red]x[/red]\\u202e",
        "after about 2 min: still \\x1b[2J[red]x[/red]\\u202e",
    ]


def test_a_screen_shows_what_is_done_at_work_and_left(monkeypatch):
    clock, drawn = Clock(), Drawn()
    screen = Screen(drawn, clock)
    clock.now = 10
    screen.begin("k=3", 1, 4)
    screen.begin("k=4", 2, 4)
    screen.stage("release")
    screen.turn(1)
    clock.now = 20
    screen.stage("attack")
    assert drawn.pictures[-1].splitlines() == ["0 of 4 done · 20 s", "  1 k=3: attack", "  2 k=4: release"]
    clock.now = 30
    screen.done("k=3", 1, 4, ran(RIGHT))
    assert drawn.pictures[-1].splitlines() == [
        "1 of 4 done · about 2 min left · 30 s",
        "  2 k=4: release",
        "last: k=3: rba precision 70.0% (100 eliminated), baseline 50.0%",
    ]


def test_a_screen_is_not_drawn_more_often_than_anybody_sees_and_shows_few():
    clock, drawn = Clock(), Drawn()
    screen = Screen(drawn, clock)
    clock.now = 1
    for number in range(1, 12):
        screen.begin(f"v{number}", number, 11)
        screen.stage("release")
    assert len(drawn.pictures) == 1
    clock.now = 2
    screen.tick()
    assert len(drawn.pictures) == 2
    assert drawn.pictures[-1].splitlines()[-1] == "  and 5 more"


def test_hostile_names_neither_steer_a_terminal_nor_are_markup():
    from rich.console import Console
    from rich.live import Live

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    clock = Clock()
    with Live(console=console, auto_refresh=False, transient=True) as live:
        screen = Screen(live, clock)
        clock.now = 1
        screen.begin(HOSTILE, 1, 2)
        screen.stage(f"attack of {HOSTILE}")
        clock.now = 2
        screen.done(HOSTILE, 1, 2, ran({(name, HOSTILE): figure for (name, attack), figure in RIGHT.items()}))
    assert "\x1b[2J" not in out.getvalue()
    assert "\u202e" not in out.getvalue()
    assert "[red]x[/red]" in out.getvalue()


class Listener(Progress):
    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def done(self, variant, number, of, ran):
        self.told.append((variant, number, of, ran.fresh))


def test_every_variant_is_told_once_it_is_done_in_order(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SWEEP, encoding="utf-8")
    listener = Listener()
    run = decloak.run(path, store=tmp_path / "s.db", progress=listener)
    assert listener.told == [(variant.name, number, 3, True) for number, variant in enumerate(run.variants, 1)]


def on_a_terminal(*arguments: object) -> tuple[bytes, bytes]:
    """Standard output, and what a terminal gets on standard error."""
    home, far = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    script = "import sys; from decloak.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with tempfile.TemporaryFile() as printed:  # a pipe takes 64 kB, and nobody reads it while the terminal is read
        with subprocess.Popen(command, stdout=printed, stderr=far, env=environment) as process:
            os.close(far)
            told = b""
            while True:
                try:
                    part = os.read(home, 1 << 16)
                except OSError:  # nobody writes any more
                    break
                told += part
        os.close(home)
        assert process.returncode == 0, told
        printed.seek(0)
        return printed.read(), told


def test_a_terminal_sees_how_far_a_run_is_and_standard_output_does_not(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SWEEP, encoding="utf-8")
    out, told = on_a_terminal("run", path, "--store", tmp_path / "s.db", "--json")
    assert json.loads(out)["ok"]
    assert re.search(rb"[0-3] of 3 done", told)
    assert b"anonymise.size=4: " in told
    items = {name for (name,) in decloak_items(tmp_path / "s.db")}
    assert not [item for item in items if item.encode() in told]


def decloak_items(store: Path) -> list[tuple[str]]:
    with open_store(store) as opened:
        return opened.connection.execute("select name from item").fetchall()


def time_of(capsys, *arguments: object) -> str:
    assert _code(["run", *map(str, arguments), "--dry-run"]) == 0
    return next(line for line in capsys.readouterr().out.splitlines() if line.startswith("time"))


def test_a_dry_run_tells_how_long_it_takes_by_what_earlier_stages_took(tmp_path, capsys):
    path, store = tmp_path / "s.yaml", tmp_path / "s.db"
    path.write_text(SWEEP, encoding="utf-8")
    told = time_of(capsys, path, "--store", store)
    assert "not known: this store has no times of sets, ngd clinic-counts, mda, " in told
    assert not told.rstrip().endswith((" take", " takes"))
    decloak.run(path, store=store, overrides=["vary={anonymise.size: [4]}"])
    with open_store(store) as opened, opened.stage() as connection:
        connection.execute(
            "update stage_time set seconds = case kind when 'release' then 60 when 'attack' then 30 else 0 end"
        )
    # Two releases of 60 seconds and four attacks of 30.
    assert time_of(capsys, path, "--store", store).endswith("about 4 min")
    told = time_of(capsys, path, "--store", store, "--set", "attack=[ra, wba]")
    assert told.endswith("about 3 min; not known of wba")
    with open_store(store) as opened, opened.stage() as connection:
        connection.execute("delete from stage_time where kind = 'release'")
    assert time_of(capsys, path, "--store", store).endswith("about 2 min; not known of sets")
    decloak.run(path, store=store)
    assert "nothing to make" in time_of(capsys, path, "--store", store)


def sized(connection: sqlite3.Connection, number: int, records: int) -> None:
    """Write a data set of so many records with two items each, without its records after the first."""
    insert(connection, "dataset", id=number, digest=f"data {number}", kind="original", origin="", format="",
           first=1000 * number, records=records)  # fmt: skip
    connection.execute("insert into record values (?, ?, null, null, '[1, 2]')", (1000 * number, number))


@pytest.mark.parametrize("power", [0, 1, 1.5, 2])
@pytest.mark.parametrize("ratio", [1, 1.5, 3, 0.4])
def test_the_time_of_a_stage_is_estimated_by_one_of_a_similar_size(tmp_path, power, ratio):
    size, other = 2000, round(2000 * ratio)
    with open_store(tmp_path / "s.db") as opened, opened.stage() as connection:
        sized(connection, 1, size)
        sized(connection, 2, other)
        connection.execute("insert into stage_time values ('attack', 1, 'rba', 1, 60, 60)")
        estimate = KnownTimes(connection).expected("attack", "rba", 2)
        took = 60 * (other / size) ** power
        assert took / NEAR <= estimate <= took * NEAR


@pytest.mark.parametrize(
    ("rows", "data"),
    [
        ([("attack", 1, "rba", 1, 60)], None),
        ([("attack", 1, "rba", 1, 60)], 3),  # ten times as large
        ([("attack", 1, "gba", 1, 60)], 1),
        ([("release", 1, "rba", 1, 60)], 1),
        ([("attack", 1, "rba", 1, 60), ("attack", 2, "rba", 1, 200)], 1),  # with settings that change its time
        ([("attack", 1, "rba", 4, 60)], 1),  # of nothing
        ([], 1),
    ],
)
def test_nothing_is_said_of_the_time_of_a_stage_that_nothing_similar_shows(tmp_path, rows, data):
    with open_store(tmp_path / "s.db") as opened, opened.stage() as connection:
        for number, records in ((1, 100), (2, 100), (3, 1000), (4, 0)):
            sized(connection, number, records)
        connection.executemany("insert into stage_time values (?, ?, ?, ?, ?, ?)", [(*row, row[-1]) for row in rows])
        assert KnownTimes(connection).expected("attack", "rba", data) is None


class Texts(Progress):
    def __init__(self) -> None:
        self.told: list[str] = []

    def stage(self, name):
        self.told.append(name)


def test_a_long_stage_is_announced_with_the_time_that_it_took_before(tmp_path, capsys):
    path, store, texts = tmp_path / "s.yaml", tmp_path / "s.db", Texts()
    path.write_text(SWEEP, encoding="utf-8")
    decloak.run(path, store=store, overrides=["vary={anonymise.size: [4]}"])
    with open_store(store) as opened, opened.stage() as connection:
        times = "when 'mda' then 200 when 'ngd clinic-counts' then 29 when 'recovery' then 31 else 0 end"
        connection.execute(f"update stage_time set seconds = case name {times}")
    decloak.run(path, store=store, overrides=["vary={anonymise.size: [6]}"], progress=texts)
    assert texts.told[:5] == ["release", "relatedness", "scoring", "attack mda, expected to take about 3 min",
                              "measurement of findings"]  # fmt: skip
    # The first of this run took no time, so nothing is known of the second.
    assert texts.told.count("measurement of recovery, expected to take about 31 s") == 1
    assert "measurement of recovery" in texts.told
    lines = ProgressLines(Clock())
    for text in (*texts.told, "attack mda, expected to take about 3 min"):
        lines.stage(text)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "after about 1 s: attack mda, expected to take about 3 min"
    assert len(said) == 3


def test_the_store_has_the_time_of_every_stage(tmp_path):
    path, store = tmp_path / "s.yaml", tmp_path / "s.db"
    path.write_text(SWEEP, encoding="utf-8")
    run = decloak.run(path, store=store)
    timed = "select count(*) from {0} s left join stage_time t on t.kind = '{0}' and t.id = s.id where {1}"
    with open_store(store) as opened:
        for kind in ("release", "relatedness", "scoring", "attack", "measurement"):
            assert opened.connection.execute(timed.format(kind, "t.seconds > 0 and t.dataset = 1")).fetchone()[0] > 0
            assert opened.connection.execute(timed.format(kind, "t.id is null")).fetchone() == (0,)
        named = "select count(*) from measurement m join stage_time t on t.kind = 'measurement' and t.id = m.id"
        assert opened.connection.execute(f"{named} where t.name <> m.family").fetchone() == (0,)
        (total,) = opened.connection.execute("select sum(seconds) from stage_time").fetchone()
    took = [seconds for variant in run.variants for times in variant.took.values() for seconds in times]
    assert sum(took) == pytest.approx(total)
    assert not any(variant.took for variant in decloak.run(path, store=store).variants)


def test_a_log_with_times_hears_of_a_long_run_too(capsys):
    clock = Clock()
    lines = progress.StageTimes(clock)
    lines.begin("k=3", 1, 2)
    lines.stage("attack rba")
    clock.now = progress.HEARTBEAT
    lines.tick()
    lines.done("k=3", 1, 2, RunVariant(1, "base", 1, 7, True, {}, (), took={"attack rba": [30.0, 0.25], HOSTILE: [1]}))
    assert capsys.readouterr().err.splitlines() == [
        "after about 30 s: still attack rba of k=3 [1/2]",
        "k=3: attack rba 30.25 s (2), \\x1b[2J[red]x[/red]\\u202e 1.00 s",
    ]


@pytest.mark.parametrize("shell", slow_but(["bash"], ["bash", "zsh", "fish"]))
def test_completion_is_there_for_the_shells_that_the_reference_names(shell, tmp_path):
    reference = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
    assert f"decloak completion {shell}" in reference.read_text(encoding="utf-8")
    script = "from decloak.cli import main; main()"
    environment = {**os.environ, "_DECLOAK_COMPLETE": f"{shell}_complete", "COMP_WORDS": "decloak run --jo"}
    environment["COMP_CWORD"] = "--jo" if shell == "fish" else "2"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert "--jobs" in done.stdout


def test_who_waits_for_loops_to_be_compiled_is_told_and_it_is_none_of_what_an_attack_takes(capsys):
    watch, stopwatch = compiled._Watch(), Stopwatch()
    texts, others = [], []

    def elsewhere():
        with compiled.reporting(others.append):
            begun.set()
            ended.wait(10)

    begun, ended = threading.Event(), threading.Event()
    thread = threading.Thread(target=elsewhere)
    thread.start()
    begun.wait(10)
    with compiled.reporting(texts.append):
        for start in (True, True, False, False):
            watch.notify(SimpleNamespace(is_start=start))
            time.sleep(0.01)
    ended.set()
    thread.join()
    assert (texts, others) == ([True, False], [])
    assert watch.wall >= 0.02
    before = stopwatch.seconds["seconds"]
    compiled._WATCH.wall += 1000
    try:
        assert stopwatch.seconds["seconds"] - before < -900
    finally:
        compiled._WATCH.wall -= 1000
    lines = ProgressLines()
    for stage in ("attack", *[f"attack: {compiled.compiling_message()}"] * 2, "attack"):
        lines.stage(stage)
    line = "attack: compiling loops, once for all runs to come, as `decloak compile` does before a run; it takes up to "
    assert capsys.readouterr().err == f"{line}half a minute\n"


def test_a_negative_control_is_not_the_best_attack():
    assert (
        result_line(RIGHT, {"rba": "control", "mda": "language"})
        == "mda precision 90.0% (10 eliminated), baseline 50.0%"
    )
    assert result_line(RIGHT, {"rba": "control", "mda": "control"}) is None
