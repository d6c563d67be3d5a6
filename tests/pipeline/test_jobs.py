"""Runs in several processes: the same results to the row, errors as ever, and nothing left behind."""

import json
import os
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

import decloak
from decloak.data.document_counter import Query, unordered_pair
from decloak.data.formats.folder import Folder
from decloak.data.text.documents import Documents, TextOptions
from decloak.errors import DecloakError, NoRelease
from decloak.pipeline import scheduler
from decloak.pipeline.inputs import Inputs
from decloak.pipeline.plan import Plan
from decloak.pipeline.scheduler import Schedule, Task, TaskResult
from decloak.pipeline.validate import plans
from decloak.pipeline.workspace import BufferedCounts, StageResult, Workspace
from decloak.relate.corpus_index import build
from decloak.scenario.document import load
from decloak.store import inserting
from decloak.store.counts import StoredCounts
from decloak.store.opening import Store, open_store
from processes import PATIENCE, children_of, is_running, wait_until
from slowly import slow_but

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")

COAT = """\
scenario: sets of items
data: {generate: clinic, transactions: 60, seed: 7}
anonymise:
  method: coat
  k: 3
  privacy: {count: 6, sizes: [2]}
  utility: {relate: {measure: ngd, source: clinic-counts}, within: 0.9}
relate: {measure: ngd, source: clinic-counts}
attack: [ra, mda, rba]
measure: [recovery]
vary: {anonymise.k: [3, 4, 6]}
repeat: {times: 2, seed: 1}
"""
CHUNKS = """\
scenario: chunks
data: {generate: clinic, transactions: 80, seed: 7}
anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 20}
relate: {measure: ngd, source: release}
attacker: {model: moderate, share: 0.5}
attack: [random, aba, cover, {rule: assignment}]
measure: [accuracy]
vary: {anonymise.k: [2, 3], data.transactions: [60, 80]}
"""
CUT = """\
scenario: labels
data: {generate: baskets, transactions: 300, items: 40, length: 4}
anonymise: {method: cut, k: 3, m: 2, hierarchy: {by: names}}
attack: [km_violation]
measure: [loss]
vary: {anonymise.method: [cut, aa, da]}
"""
ONE = COAT.replace("vary: {anonymise.k: [3, 4, 6]}\n", "").replace("repeat: {times: 2, seed: 1}\n", "")
"""A scenario of a single variant, whose attacks are worked on apart."""
ONE_OF_CHUNKS = CHUNKS[: CHUNKS.index("vary:")].replace("[accuracy]", "[accuracy, utility]")
"""The same of clusters, with a measure that is equal for all attacks."""
CORPUS = """\
scenario: counts of documents
data: {generate: clinic, transactions: 40, seed: 7}
anonymise: {method: sets, size: 3}
relate: {measure: ngd, source: corpus, file: index}
attack: [mda]
measure: [recovery]
vary: {anonymise.size: [3, 4]}
"""
AT_ONCE = "import decloak.pipeline.scheduler as c, sys; c.TRIAL = -1; from decloak.cli import main; main(sys.argv[1:])"
"""Processes from the beginning, where one would find that there is too little to do."""


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", AT_ONCE, *map(str, arguments)]


def run(path: Path, store: Path, jobs: int, *further: object) -> subprocess.CompletedProcess[str]:
    arguments = command("run", path.name, "--store", store.name, "--jobs", jobs, *further)
    return subprocess.run(arguments, cwd=path.parent, capture_output=True, text=True, timeout=PATIENCE, check=False)


def written(folder: Path, text: str) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


CLOCKS = {
    ("run", "started"), ("release", "loss"), ("counted", "date"), ("count_source", "date"), ("seal", "checksum"),
    ("stage_time", "cpu_seconds"), ("stage_time", "seconds"),
}  # fmt: skip
"""What tells the time."""
TIMED = {("attack", "parameters"): "json_remove(parameters, '$.took')"}
"""What tells it among other things, and the others."""
WITH_NUMBERS = ("related", "cell", "kept", "eliminated", "probability", "assigned")
"""Views of the table `number`. Stages of several kinds write to it, so their places in it depend on their order."""


def rows(store: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table under its number, without what tells the time; numbers in the views that have them."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        content = {"": connection.execute("select type, name, sql from sqlite_master order by 1, 2").fetchall()}
        for (table,) in connection.execute("select name from sqlite_master where type = 'table'").fetchall():
            columns = [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
            kept = [column for column in columns if (table, column) not in CLOCKS and column != "numbers"]
            chosen = ", ".join(TIMED.get((table, column), f'"{column}"') for column in kept)
            try:
                content[table] = connection.execute(f'select rowid, {chosen} from "{table}" order by rowid').fetchall()
            except sqlite3.OperationalError:  # a table without numbers of rows stands in the order of its key
                content[table] = connection.execute(f'select {chosen} from "{table}"').fetchall()
        content["number"] = connection.execute("select value from number order by 1").fetchall()
        content |= {view: connection.execute(f"select * from {view}").fetchall() for view in WITH_NUMBERS}
    return content


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Callable[[str], tuple[str, dict[str, list[tuple[object, ...]]]]]:
    """Return what one process prints of a scenario, and every row of its store; each runs once."""

    @cache
    def ran(text: str) -> tuple[str, dict[str, list[tuple[object, ...]]]]:
        path = written(tmp_path_factory.mktemp("alone"), text)
        done = run(path, path.parent / "one.db", 1, "--json")
        assert done.returncode == 0, done.stderr
        return done.stdout, rows(path.parent / "one.db")

    return ran


@pytest.mark.parametrize(
    "text", slow_but([COAT, ONE_OF_CHUNKS], [COAT, CHUNKS, CUT, ONE, ONE_OF_CHUNKS]),
    ids=["sets", "chunks", "labels", "attacks", "attacks-on-chunks"],
)  # fmt: skip
@pytest.mark.parametrize("jobs", slow_but([3], (2, 3, 5)))
def test_any_number_of_jobs_gives_the_same_store_and_the_same_output(text, jobs, alone, tmp_path):
    first, content = alone(text)
    other = run(written(tmp_path, text), tmp_path / "several.db", jobs, "--json")
    assert other.stdout.replace("several.db", "one.db") == first
    assert rows(tmp_path / "several.db") == content


NOTED = """
import sys
import decloak.anonymisers.method as method
import decloak.measure.exposure_chunks as chunks, decloak.measure.utility as utility
import decloak.pipeline.scheduler as scheduler, decloak.rules.reassociate.posterior as probabilities
from decloak.cli import main
clock = [0]
method._clocks = lambda: (clock[0], clock[0])
def note_calls(module, name):
    function = getattr(module, name)
    def noted(*arguments, **named):
        clock[0] += 1
        with open("calls", "a") as calls:
            calls.write(f"{name}\\n")
        return function(*arguments, **named)
    setattr(module, name, noted)
note_calls(chunks, "implied_in_chunks")
note_calls(probabilities, "posterior")
note_calls(utility, "tkd_chunks")
scheduler.TRIAL = -1
main(sys.argv[1:])
"""
"""A run in processes that notes calls which take long on large data. On its clock each takes a second."""


def test_what_attacks_on_one_release_share_is_computed_once_for_all_processes(tmp_path):
    path = written(tmp_path, ONE_OF_CHUNKS)
    arguments = [sys.executable, "-c", NOTED, "run", path.name, "--store", "s.db", "--jobs", "2"]
    subprocess.run(arguments, cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=True)
    calls = (tmp_path / "calls").read_text(encoding="utf-8").split()
    assert sorted(calls) == ["implied_in_chunks", "posterior", "tkd_chunks"]
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        took = connection.execute(
            "select kind, name, count(*), sum(seconds) from stage_time where seconds > 0 group by 1, 2"
        )
        assert took.fetchall() == [
            ("attack", "aba", 1, 1), ("measurement", "exposure", 1, 1), ("measurement", "utility", 1, 1)
        ]  # fmt: skip


KILLED = """
import os, signal, sys
import decloak.pipeline.scheduler as scheduler
from decloak.cli import main
compute = scheduler.compute_value
def compute_and_end(attacks, place):
    if place < 2:
        return compute(attacks, place)
    os.kill(os.getpid(), signal.SIGKILL)
compute_and_end.__qualname__, compute_and_end.__module__ = "compute_value", scheduler.__name__
scheduler.TRIAL, scheduler.compute_value = -1, compute_and_end
main(sys.argv[1:])
"""
"""A run whose process for shared values is killed after the first of them."""


def test_a_run_goes_on_when_the_process_for_shared_values_is_killed(alone, tmp_path):
    path, (first, content) = written(tmp_path, ONE_OF_CHUNKS), alone(ONE_OF_CHUNKS)
    arguments = [sys.executable, "-c", KILLED, "run", path.name, "--store", "several.db", "--jobs", "2", "--json"]
    other = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert other.stdout.replace("several.db", "one.db") == first
    assert rows(tmp_path / "several.db") == content


@pytest.mark.slow
def test_counts_of_documents_that_workers_made_are_in_the_store(tmp_path):
    (tmp_path / "texts.txt").write_text("cough and asthma\ncough and fever\n", encoding="utf-8")
    build([Documents(tmp_path / "texts.txt", TextOptions(lines=True))], tmp_path / "index")
    path = written(tmp_path, CORPUS)
    for name, jobs in (("one.db", 1), ("several.db", 2)):
        done = run(path, tmp_path / name, jobs, "--brief")
        assert done.returncode == 0, done.stderr
    content = rows(tmp_path / "one.db")
    assert content["counted"]
    assert rows(tmp_path / "several.db") == content


def test_counts_of_a_worker_reach_the_store_when_its_results_are_written(tmp_path):
    a, b = Query("cough"), Query("sore throat", words=True)
    with open_store(tmp_path / "store.db") as store:
        counts = BufferedCounts(StoredCounts(store))
        counts.keep_n("index", 9)
        counts.keep_counts("index", {a: 4, b: None})
        counts.keep_pairs("index", {unordered_pair(a, b): 1})
        calls, stored = pickle.loads(pickle.dumps(counts.drain())), StoredCounts(store)
        assert (stored.known_n("index"), counts.drain()) == (None, [])
        for keep in calls:
            keep(stored)
        assert stored.known_n("index") == 9
        assert stored.known("index", [a, b]) == {a: 4, b: None}
        assert stored.known_pairs("index", [unordered_pair(a, b)]) == {unordered_pair(a, b): 1}


WITHOUT = COAT.replace("[3, 4, 6]", "[61, 3, 62, 63, 4]") + "expect: ['recall(ra) >= 0']\n"
"""There are 60 people: of the first and two in the middle there can be no release."""
LATE = """\
scenario: too few kinds of answers
data: {file: visits.txt, format: basket}
anonymise: {method: diversity, m: 2, sensitive: [s], hierarchy: {by: names, fanout: 2}}
attack: [{rule: km_violation, k: 2, m: 1}]
measure: [loss]
vary: {anonymise.l: [1, 4, 2]}
"""
"""That an l cannot be reached shows when the release is made."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code", "missing", "count"),
    [
        (WITHOUT, 3, {"anonymise.k=61", "anonymise.k=62", "anonymise.k=63"}, 4),
        (LATE, 2, {"anonymise.l=4"}, 2),
    ],
    ids=["at once", "late"],
)
def test_a_sweep_goes_on_behind_what_there_is_no_release_of(text, code, missing, count, tmp_path):
    path = written(tmp_path, text)
    (tmp_path / "visits.txt").write_text("a, s\na, b\na, s\na, b\nb, s\nb\n", encoding="utf-8")
    first = run(path, tmp_path / "one.db", 1, "--json")
    assert first.returncode == code, first.stderr
    done = json.loads(first.stdout)
    assert {entry["variant"] for entry in done["missing"]} == missing
    assert len(done["runs"]) == len(rows(tmp_path / "one.db")["run"]) == count
    assert missing.isdisjoint(entry["variant"] for entry in done["runs"])
    assert len(rows(tmp_path / "one.db")["release"]) == count  # nothing of the others is there
    judged = {entry["variant"]: entry["holds"] for entry in done["expect"]}
    assert judged == ({f"anonymise.k={k}": True if k < 60 else None for k in (61, 3, 62, 63, 4)} if code == 3 else {})
    assert first.stderr.count("no release: ") == len(missing)  # one line for all repetitions
    several = run(path, tmp_path / "several.db", 3, "--json")
    assert several.stdout.replace("several.db", "one.db") == first.stdout
    assert rows(tmp_path / "several.db") == rows(tmp_path / "one.db")


def test_of_a_sweep_without_any_release_nothing_is_left(tmp_path):
    path = written(tmp_path, COAT.replace("[3, 4, 6]", "[61, 62]"))
    done = run(path, tmp_path / "s.db", 2)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("decloak: anonymise.k=61 #1: k = 61 is impossible with 60 non-empty records; ")
    assert not (tmp_path / "s.db").exists()


@pytest.mark.slow
def test_what_one_run_has_done_is_not_done_again_by_several(tmp_path):
    path = written(tmp_path, COAT)
    assert run(path, tmp_path / "s.db", 1, "-k", "k=4").returncode == 0
    before = rows(tmp_path / "s.db")["run"]
    again = json.loads(run(path, tmp_path / "s.db", 3, "--json").stdout)
    assert [variant["fresh"] for variant in again["runs"]] == [True, True, False, False, True, True]
    assert rows(tmp_path / "s.db")["run"][: len(before)] == before


@pytest.mark.slow
def test_what_goes_wrong_in_a_process_is_told_as_ever(tmp_path):
    rule = (
        "rule: broken\nform: query\nabout: It divides.\nderives: broken(item)\n"
        'facts: select cast(item as text) || zeroblob(2000000000) as item from item\nbecause: "{item}"\n'
        "reference: ours\nwrong_when: never\n"
    )
    (tmp_path / "broken.yaml").write_text(rule, encoding="utf-8")
    path = written(tmp_path, COAT.replace("[ra, mda, rba]", "[ra, ./broken.yaml]"))
    one, several = (run(path, tmp_path / f"{jobs}.db", jobs) for jobs in (1, 3))
    assert one.returncode == several.returncode == 2
    assert several.stderr.splitlines()[1:] == one.stderr.splitlines()[1:]
    assert len(several.stderr.splitlines()) == 2  # the first says that the store holds the original data
    assert "broken.yaml:5:" in several.stderr
    assert "Traceback" not in several.stderr


def test_a_program_of_several_threads_runs_one_after_the_other(tmp_path):
    import threading

    event = threading.Event()
    thread = threading.Thread(target=event.wait, name="a pool of another package")
    thread.start()
    try:
        done = decloak.run(written(tmp_path, ONE), store=tmp_path / "s.db", jobs=4)
        with pytest.raises(DecloakError, match="one thread, and here runs 'a pool of another package' as well; leave"):
            decloak.run(written(tmp_path, ONE), store=tmp_path / "t.db", memory=1 << 30)
    finally:
        event.set()
        thread.join()
    assert len(done.variants) == 1
    assert not children_of(os.getpid())


SIZES = """\
scenario: no stage in common
data: {generate: clinic, transactions: 60, seed: 7}
anonymise: {method: sets, size: 4}
relate: {measure: ngd, source: release}
attack: [ra, mda]
measure: [recovery]
vary: {data.transactions: [60, 61, 62]}
"""


def test_a_run_that_takes_long_goes_on_in_processes(alone, tmp_path, monkeypatch):
    """The trial ends within the second of three plans, by a clock that counts the stages."""
    given, work, clock = [], scheduler.run_in_workers, count()
    monkeypatch.setattr(
        scheduler, "run_in_workers", lambda plans, *more: given.append(len(plans)) or work(plans, *more)
    )
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(scheduler, "TRIAL", 27)
    decloak.run(written(tmp_path, SIZES), store=tmp_path / "s.db", jobs=2)
    assert given == [2]
    assert rows(tmp_path / "s.db") == alone(SIZES)[1]


def results_of(task: Task) -> TaskResult:
    """Return what a worker hands over that was asked for the original data and the release."""
    stages = sorted(stage for stage in task.stages if stage.kind in ("dataset", "release"))
    return TaskResult([StageResult(stage, partial(write_stage, stage=stage)) for stage in stages], None)


def write_stage(connection, stage):
    about = {"kind": "original", "origin": "", "format": "basket"}
    if stage.kind == "release":
        published = inserting.insert(connection, "dataset", digest=f"of {stage.key}", **about)
        about = {"dataset": published, "method": "coat", "parameters": "{}", "loss": "{}"}
    return inserting.insert(connection, stage.kind, digest=stage.key, **about)


@pytest.fixture
def schedule(tmp_path) -> Iterator[tuple[Schedule, Store, list[Plan]]]:
    planned = plans(load(written(tmp_path, SIZES), ()))
    with open_store(tmp_path / "s.db") as store:
        yield Schedule(planned, Workspace(store, Inputs(Folder(tmp_path))), split=False), store, planned


def has_release(store: Store, plan: Plan) -> bool:
    return inserting.find(store.connection, "release", plan.release) is not None


def test_a_result_waits_for_its_turn(schedule):
    schedule, store, (first, second, _) = schedule
    one, two, three = schedule.next_task(), schedule.next_task(), schedule.next_task()
    assert [task.plan for task in (one, two, three)] == [0, 1, 2]
    schedule.finish(two, results_of(two))
    assert not has_release(store, second)
    assert schedule.next_task() is None  # nobody computes it again meanwhile
    schedule.finish(one, results_of(one))
    assert has_release(store, first)
    assert has_release(store, second)
    assert [schedule.next_task().plan, schedule.next_task().plan, schedule.next_task()] == [0, 1, None]


def test_a_result_is_written_when_another_run_has_written_the_one_before_it(schedule, tmp_path):
    schedule, store, (_, second, _) = schedule
    one, two = schedule.next_task(), schedule.next_task()
    schedule.finish(two, results_of(two))
    with open_store(tmp_path / "s.db") as other, other.stage() as connection:
        for result in results_of(one).results:
            result.write(connection)
    schedule.finish(one, TaskResult([], None))  # the worker found in the store what it was to compute
    assert has_release(store, second)


def test_a_plan_without_a_release_keeps_no_other_waiting(schedule):
    schedule, store, (first, second, _) = schedule
    one, two = schedule.next_task(), schedule.next_task()
    schedule.finish(two, results_of(two))
    schedule.finish(one, TaskResult([], NoRelease("none")))
    assert schedule.is_finished(0)
    assert isinstance(schedule.refusal(0), NoRelease)
    assert not has_release(store, first)
    assert has_release(store, second)


def test_of_several_errors_that_of_the_first_plan_ends_the_run(schedule):
    schedule, *_ = schedule
    one, two = schedule.next_task(), schedule.next_task()
    schedule.finish(two, TaskResult([], ValueError("second")))
    assert not schedule.is_finished(0)
    assert schedule.next_task() is None
    schedule.finish(one, TaskResult([], ValueError("first")))
    with pytest.raises(ValueError, match="first"):
        schedule.refusal(0)


def test_a_worker_that_computes_nothing_is_a_fault_and_no_endless_loop(schedule):
    schedule, *_ = schedule
    task = schedule.next_task()
    with pytest.raises(RuntimeError, match="computed none of"):
        schedule.finish(task, TaskResult([], None))


HELD = """
import sys, time
import decloak.pipeline.scheduler
import decloak.pipeline.scheduler as scheduler
from decloak.cli import main
compute = scheduler.compute_stages
def held(task):
    while task.plan:
        time.sleep(0.01)
    return compute(task)
decloak.pipeline.scheduler.TRIAL, scheduler.compute_stages = -1, held
main(sys.argv[1:])
"""
"""Processes that finish the first plan alone: such a run is begun and never ends by itself."""


@contextmanager
def begun(path: Path, store: Path) -> Iterator[subprocess.Popen]:
    """A run in processes that has written the first of its plans, and will write no other."""
    with subprocess.Popen(
        [sys.executable, "-c", HELD, "run", path.name, "--store", store.name, "--jobs", "2"],
        cwd=path.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert wait_until(lambda: process.poll() is not None or runs_of(store))
            yield process
        finally:
            process.kill()


def runs_of(store: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30)) as connection:
            return int(connection.execute("select count(*) from run").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0


@pytest.mark.parametrize("by", slow_but([signal.SIGINT], [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]))
def test_a_run_that_is_ended_leaves_no_process_and_goes_on_to_the_same_store(by, alone, tmp_path):
    path = written(tmp_path, COAT)
    with begun(path, tmp_path / "ended.db") as process:
        children = children_of(process.pid)
        if by == signal.SIGINT:
            os.killpg(process.pid, by)  # as a terminal does: to all of them
        else:
            process.send_signal(by)
        _, stderr = process.communicate(timeout=PATIENCE)
    assert len(children) >= 2
    assert wait_until(lambda: not any(map(is_running, children)))
    if by != signal.SIGKILL:
        assert process.returncode == 130
        assert stderr.splitlines()[-1] == b"decloak: interrupted; finished stages are kept, run it again to continue"
    assert runs_of(tmp_path / "ended.db") == 1
    assert run(path, tmp_path / "ended.db", 2).returncode == 0
    assert rows(tmp_path / "ended.db") == alone(COAT)[1]


@pytest.mark.slow
def test_a_process_that_is_killed_is_told_in_a_line_and_loses_nothing_written(tmp_path):
    path = written(tmp_path, COAT)
    with begun(path, tmp_path / "s.db") as process:
        os.kill(children_of(process.pid)[0], signal.SIGKILL)
        _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert b"was ended (SIGKILL); what was finished is kept: run it again" in stderr
    assert len(stderr.splitlines()) == 2  # the first says that the store holds the original data
    assert run(path, tmp_path / "s.db", 1).returncode == 0


@pytest.mark.slow
def test_memory_bounds_how_many_work_at_a_time_and_what_they_take(tmp_path):
    path = written(tmp_path, COAT)
    little = run(path, tmp_path / "s.db", 2, "--memory", "70M")
    assert little.returncode == 2
    assert little.stderr.startswith("decloak: --memory: a part of this run takes about ")
    enough = run(path, tmp_path / "s.db", 2, "--memory", "2G")
    assert enough.returncode == 0, enough.stderr


@pytest.mark.slow
def test_a_process_that_takes_more_than_its_share_ends_in_a_line(tmp_path):
    large = CUT.replace("transactions: 300, items: 40", "transactions: 60000, items: 400").split("vary:")[0]
    path = written(tmp_path, large)
    said = run(path, tmp_path / "s.db", 2, "--memory", "64M")
    needed = re.search(r"takes about (\d+)M of memory", said.stderr)
    assert needed, said.stderr
    script = "import sys; import decloak.pipeline.scheduler as c; c.PROCESS, c.OCCURRENCE = 1 << 20, 1; "
    script += "from decloak.cli import main; main(sys.argv[1:])"
    arguments = ["run", str(path), "--store", str(tmp_path / "s.db"), "--memory", f"{int(needed[1]) // 2}M"]
    command = [sys.executable, "-c", script, *arguments]
    low = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert low.returncode == 2
    assert "its share of the memory that is allowed; allow more" in low.stderr
    assert "Traceback" not in low.stderr


@pytest.mark.parametrize("size", ["", "4", "4X", "-1G", "1e9G", "G", "63M", "٤G", "4G\x1b[31m"])
def test_what_is_no_size_of_memory_is_told_at_its_place(size, tmp_path, call):
    said = call("run", written(tmp_path, ONE), "--store", tmp_path / "s.db", "--memory", size)
    assert said.code == 2
    assert said.err.startswith("decloak: --memory: ")
    assert "thread" not in said.err  # the size is refused, and not that this process has some
    assert "\x1b" not in said.err


def test_faults_of_a_file_come_whole_from_a_process():
    import pickle

    from decloak.errors import Faults

    faults = Faults([DecloakError("a", "b:1", "c"), DecloakError("d", "b:2")])
    assert str(pickle.loads(pickle.dumps(faults))) == str(faults)
