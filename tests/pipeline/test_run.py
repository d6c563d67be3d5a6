"""A run, end to end: what it finds, what it does not do twice, and what is left of it when it is killed."""

import csv
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import decloak
from conftest import DISTANCES, MEMBERS, ORIGINALS, ROOT
from decloak.errors import DecloakError
from decloak.measure.registry import metrics_by_key
from decloak.pipeline.progress import Progress
from decloak.report import attack_table
from decloak.store.documentation import schema_tables
from decloak.store.opening import connect_readonly
from processes import PATIENCE
from slowly import slow_but

ATTACKS = ("mda", "tba", "wba", "gba", "rba")


class Stages(Progress):
    """Keeps the stages a run told of, and fails at the one of a number."""

    def __init__(self, fatal: int | None = None) -> None:
        self.told: list[str] = []
        self.variants: list[str] = []
        self.fatal = fatal

    def begin(self, variant: str, number: int, of: int) -> None:
        self.variants.append(f"{number}/{of} {variant}")

    def stage(self, name: str) -> None:
        if len(self.told) == self.fatal:
            raise KeyboardInterrupt
        self.told.append(name.split()[0])


def stages(*arguments, **settings) -> list[str]:
    progress = Stages()
    decloak.run(*arguments, progress=progress, **settings)
    return progress.told


def rows(store: Path) -> dict[str, int]:
    with closing(connect_readonly(store)) as connection:
        names = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
        return {name: connection.execute(f'select count(*) from "{name}"').fetchone()[0] for (name,) in names}


def content(store: Path) -> dict[str, list]:
    """Every row of every table, without when runs were and what attacks took."""
    timed = {"parameters": "json_remove(parameters, '$.took')"}
    with closing(connect_readonly(store)) as connection:
        found = {}
        for table in schema_tables():
            if table.kind == "table":
                timed_columns = (
                    "started",
                    "checksum",
                    "cpu_seconds",
                    "seconds",
                )  # a seal is of the time that an attack took as well
                names = [column.name for column in table.columns if column.name not in timed_columns]
                columns = ", ".join(timed.get(name, f'"{name}"') for name in names)
                growing = " where kind not in ('item', 'number')" if table.name == "seal" else ""
                found[table.name] = sorted(
                    connection.execute(f"select {columns} from {table.name}{growing}").fetchall(), key=repr
                )
        return found


def query(store: Path, sql: str, *values) -> list[tuple]:
    with closing(connect_readonly(store)) as connection:
        return connection.execute(sql, values).fetchall()


def figures(run) -> dict[tuple[str, str], float | None]:
    return {(one.measure, one.attack): one.value for one in run.measures}


def edited(folder: Path, old: str, new: str) -> Path:
    path = folder / "scenario.yaml"
    text = path.read_text()
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new))
    return path


def test_the_quickstart_runs_and_holds(store):
    run = decloak.run(ROOT / "scenarios" / "quickstart.yaml", store=store)
    assert run.ok
    assert len(run.verdicts) == 2
    assert [variant.fresh for variant in run.variants] == [False]
    measured = figures(run)
    assert set(run.variants[0].measures) == set(measured)
    for attack in ("ra", *ATTACKS):
        precision, chance = measured["precision", attack], measured["baseline", attack]
        advantage = pytest.approx((precision - chance) / (1 - chance))
        assert measured["normalised_advantage", attack] == advantage
        assert 0 <= measured["recall", attack] <= 1


def test_the_whole_way_gives_what_the_attack_alone_gives(example, tmp_path):
    run = decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    assert run.ok
    table = list(DISTANCES.values())
    original = np.array([[member in ORIGINALS[name] for member in MEMBERS] for name in DISTANCES])
    for attack in ATTACKS:
        done = decloak.eliminate(table, rule=attack)
        eliminated = query(
            tmp_path / "s.db",
            "select x.round, o.name, x.item, x.group_kind, x.suspicion, x.threshold from named_eliminated x "
            "join (select c.txn as id, i.name from contains c join item i on i.id = c.item) o "
            "on o.id = (select r.txn from eliminated s join distance_row r on r.distance_table = s.distance_table "
            "and r.row = s.row where s.finding = x.finding) where x.attack = ? order by x.finding",
            attack,
        )
        expected = [
            (step.round, list(DISTANCES)[step.row], MEMBERS[step.column], step.group.replace("col", "column"),
             pytest.approx(step.suspicion), pytest.approx(done.threshold) if done.threshold is not None else None)
            for step in done.steps
        ]  # fmt: skip
        assert eliminated == expected
        measured = figures(run)
        count, correct = (~done.kept).sum(), (~done.kept & ~original).sum()
        assert measured["eliminated", attack] == count
        assert measured["precision", attack] == pytest.approx(correct / count)
        assert measured["recall", attack] == pytest.approx(correct / 10)
        assert measured["baseline", attack] == pytest.approx(10 / 16)


@pytest.mark.parametrize(
    ("attack", "precision", "recall"),
    [("mda", 1, 0.1), ("tba", 0.875, 0.7), ("wba", 1, 0.4), ("gba", 1, 0.5), ("rba", 1, 1)],
)
def test_the_printed_figures_of_the_paper(example, example_store, attack, precision, recall):
    measured = figures(decloak.run(example / "scenario.yaml", store=example_store))
    assert measured["precision", attack] == pytest.approx(precision)
    assert measured["recall", attack] == pytest.approx(recall)
    assert measured["density", attack] == pytest.approx(0.375)


def test_an_unchanged_scenario_does_no_work(example, tmp_path):
    path, store = example / "scenario.yaml", tmp_path / "s.db"
    first = decloak.run(path, store=store)
    before = content(store)
    progress = Stages()
    second = decloak.run(path, store=store, progress=progress)
    assert progress.told == []
    assert [variant.fresh for variant in (*first.variants, *second.variants)] == [True, False]
    assert second.measures == first.measures
    assert content(store) == before


def test_the_folder_a_scenario_is_in_is_no_change(example, tmp_path):
    decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    example.rename(tmp_path / "moved")
    assert stages(tmp_path / "moved" / "scenario.yaml", store=tmp_path / "s.db") == []


def test_order_and_comments_of_the_file_are_no_change(example, tmp_path):
    path = example / "scenario.yaml"
    decloak.run(path, store=tmp_path / "s.db")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("# comment\n" + "".join(reversed(lines)))
    assert stages(path, store=tmp_path / "s.db") == []


MEASURED = ["attack", *["measurement"] * 6]
AUDITED = ["attack", *MEASURED]
"""What the audit by order adds to the stages of a run: `same_line`, which it reads, and itself with its measures."""


@pytest.mark.parametrize(
    ("old", "new", "redone"),
    [
        ("gba, rba]", "gba, {rule: rba, ratio: 0.5}]", ["attack", *["measurement"] * 6]),
        ("gba, rba]", "gba, {rule: rba, threshold: 0.1}]", ["attack", *["measurement"] * 6]),
        ("gba, rba]", "rba, gba]", []),
        ("gba, rba]", "gba]", []),
        ("gba, rba]", "gba, {rule: rba, as: other}]", []),
        ("[recovery, {coverage: {least: 0.2}}]", "[recovery, {coverage: {least: 0.3}}]", ["measurement"] * 6),
        ("[recovery, {coverage: {least: 0.2}}]", "[{coverage: {least: 0.2}}]", []),
        ("cap: none", "cap: 2.5", ["relatedness", "scoring", *MEASURED * 3, *AUDITED, *MEASURED * 2]),
        ("scenario: the worked example", "scenario: another question", []),
        ("measure: [recovery", "expect: ['precision(rba) > 0.5']\nmeasure: [recovery", []),
    ],
)
def test_a_change_redoes_only_what_depends_on_it(example, example_store, old, new, redone):
    store = example_store
    before = content(store)
    path = edited(example, old, new)
    assert stages(path, store=store) == redone
    after = content(store)
    for table, lines in before.items():
        assert not Counter(lines) - Counter(after[table]), f"{table}: what was there has changed"
    assert len(after["run"]) == 2
    assert (after["dataset"], after["release"]) == (before["dataset"], before["release"])


def test_a_changed_ratio_leaves_the_other_attacks_as_they_are(example, tmp_path):
    store = tmp_path / "s.db"
    decloak.run(example / "scenario.yaml", store=store)
    decloak.run(edited(example, "gba, rba]", "gba, {rule: rba, ratio: 0.5}]"), store=store)
    attacks = query(store, "select run, label, attack from run_attack order by position")
    first, second = ({label: attack for run, label, attack in attacks if run == number} for number in (1, 2))
    assert {label for label in first if first[label] != second[label]} == {"rba"}


@pytest.mark.parametrize(
    ("file", "old", "new", "kept"),
    [
        ("scores.csv", "2.93", "2.94", {"dataset", "release"}),
        ("published.txt", "knee, (blood pressure, icd,", "knee, (icd, blood pressure,", {"dataset"}),
        ("original.txt", "blood pressure, icd", "icd, blood pressure", set()),
    ],
)
def test_a_changed_file_redoes_what_was_read_from_it(example, tmp_path, file, old, new, kept):
    store, path = tmp_path / "s.db", example / "scenario.yaml"
    decloak.run(path, store=store)
    text = (example / file).read_text()
    assert old in text
    (example / file).write_text(text.replace(old, new))
    told = stages(path, store=store)
    assert {"dataset", "release"} - set(told) == kept
    assert {"relatedness", "scoring", "attack", "measurement"} <= set(told)


def killed_at_each_stage(path: Path, folder: Path) -> int:
    whole = folder / "whole.db"
    all_stages = stages(path, store=whole)
    expected = content(whole)
    for number in range(len(all_stages)):
        store = folder / f"killed{number}.db"
        with pytest.raises(KeyboardInterrupt):
            decloak.run(path, store=store, progress=Stages(number))
        assert rows(store)["run"] < len(expected["run"])
        assert stages(path, store=store) == all_stages[number:]
        assert content(store) == expected
    return len(all_stages)


@pytest.mark.parametrize(
    ("attacks", "count"), slow_but([("ra", 1)], [("ra", 1), ("ra, {rule: gba, ratio: 0.8}", 2)], several=True)
)
def test_a_run_killed_at_any_stage_goes_on_to_the_same_store(example, tmp_path, attacks, count):
    path = edited(example, "[mda, tba, wba, gba, rba]", f"[{attacks}]")
    assert killed_at_each_stage(path, tmp_path) == 4 + count * (1 + 6) + len(AUDITED)


@pytest.mark.slow
def test_a_run_with_variants_killed_at_any_stage_goes_on(example, tmp_path):
    path = edited(example, "[mda, tba, wba, gba, rba]", "[ra]")
    path.write_text(path.read_text() + "vary: {attacker.context: [1, all]}\nrepeat: {times: 2}\n")
    assert killed_at_each_stage(path, tmp_path) > 10


def test_a_process_that_is_killed_leaves_a_store_that_goes_on(example, tmp_path):
    script = (
        "import os, sys, decloak\nfrom decloak.pipeline.progress import Progress\n"
        "class Fatal(Progress):\n    def stage(self, name):\n        if name.startswith('measurement'): os._exit(9)\n"
        "decloak.run(sys.argv[1], store=sys.argv[2], progress=Fatal())\n"
    )
    store = tmp_path / "s.db"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    done = subprocess.run(
        [sys.executable, "-c", script, example / "scenario.yaml", store], env=environment, timeout=PATIENCE
    )
    assert done.returncode == 9
    assert query(store, "select count(*) from attack") == [(1,)]
    decloak.run(example / "scenario.yaml", store=store)
    decloak.run(example / "scenario.yaml", store=tmp_path / "whole.db")
    assert content(store) == content(tmp_path / "whole.db")


@pytest.mark.slow
def test_two_processes_may_run_one_scenario_into_one_store(example, tmp_path):
    store = tmp_path / "s.db"
    script = "import sys, decloak; decloak.run(sys.argv[1], store=sys.argv[2])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    command = [sys.executable, "-W", "error", "-c", script, example / "scenario.yaml", store]
    both = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(3)]
    said = [one.communicate(timeout=PATIENCE)[1] for one in both]
    assert said == [b"", b"", b""]
    decloak.run(example / "scenario.yaml", store=tmp_path / "whole.db")
    assert content(store) == content(tmp_path / "whole.db")


class Overtaken(Progress):
    """Lets another run do all the work when the first is about to begin a stage: both find that it is not there."""

    def __init__(self, stage: str, path: Path, store: Path) -> None:
        self.name, self.path, self.store = stage, path, store

    def stage(self, name: str) -> None:
        if name.split()[0] == self.name:
            self.name = ""
            decloak.run(self.path, store=self.store)


@pytest.mark.parametrize("stage", ["dataset", "release", "relatedness", "scoring", "attack", "measurement"])
def test_a_run_that_another_overtakes_at_a_stage_takes_what_that_one_wrote(example, example_run, tmp_path, stage):
    path, store = example / "scenario.yaml", tmp_path / "s.db"
    overtaken = Overtaken(stage, path, store)
    done = decloak.run(path, store=store, progress=overtaken)
    assert overtaken.name == "", "nobody overtook"
    assert [one.fresh for one in done.variants] == [False]
    assert content(store) == content(example_run)


def test_a_fault_in_any_file_is_found_before_anything_is_written(example, example_store, tmp_path):
    store = tmp_path / "new.db"
    before = content(example_store)
    (example / "scores.csv").write_text("a,b,ngd\nknee,icd,far\n")
    for path in (store, example_store):
        with pytest.raises(DecloakError, match=r"scores\.csv:2"):
            decloak.run(example / "scenario.yaml", store=path)
    assert not store.exists()
    assert content(example_store) == before


# Repetitions and variants.

DRAWN = """\
scenario: drawn
data: {file: original.txt, format: basket}
anonymise: {method: sets, size: 2, share: 1.0}
relate: {measure: ngd, source: scores, file: scores.csv, cap: none}
attack: [ra, rba]
repeat: {times: 3, seed: 1}
"""


def test_the_table_shows_an_interval_where_repetitions_differ_and_the_value_where_they_do_not(
    example, tmp_path, monkeypatch
):
    path = edited(example, "attack: [mda, tba, wba, gba, rba]", "attack: [ra, rba]\nrepeat: {times: 6, seed: 1}")
    path.write_text(path.read_text().replace("measure: [recovery, {coverage: {least: 0.2}}]", "measure: [recovery]"))
    run = decloak.run(path, store=tmp_path / "s.db")
    monkeypatch.setattr(attack_table, "WIDTH", 200)  # the interval is left out where a line has no room
    ((head, lines),) = attack_table.attack_tables(run).tables
    cells = {line[0]: dict(zip(head, line, strict=True)) for line in lines}
    assert re.fullmatch(r"0\.\d{3} \(-?[\d.]+(–| to )[01]\.\d\d\)", cells["ra"]["normalised advantage"])
    assert not any("(" in str(cell) for cell in cells["rba"].values())
    assert cells["rba"]["correct"] == "10"
    values = {(one.measure, one.attack): one for one in run.measures}
    for measure in ("correct", "recall"):
        assert values[measure, "ra"].low < values[measure, "ra"].value < values[measure, "ra"].high
        assert values[measure, "ra"].n == values[measure, "rba"].n == 6
        assert values[measure, "rba"].low in (None, values[measure, "rba"].value)


def test_csv_and_json_have_every_number_in_a_column_of_its_own(example, tmp_path, call):
    path = edited(example, "attack: [mda, tba, wba, gba, rba]", "attack: [ra, rba]\nrepeat: {times: 6, seed: 1}")
    said = call("run", path, "--store", tmp_path / "s.db", "--format", "csv")
    measured = list(csv.DictReader(said.out.splitlines()))
    assert list(measured[0]) == ["variant", "attack", "measure", "value", "low", "high", "n", "part", "of", "knows"]
    for row in measured:
        for name in ("value", "low", "high", "n", "part", "of"):
            assert row[name] == "" or math.isfinite(float(row[name]))
    cells = {(row["attack"], row["measure"]): row for row in measured}
    assert float(cells["ra", "recall"]["low"]) < float(cells["ra", "recall"]["value"])
    assert float(cells["rba", "correct"]["of"]) == float(cells["rba", "eliminated"]["value"])
    assert cells["rba", "people"]["value"] == "4.0"
    as_json = json.loads(call("run", path, "--store", tmp_path / "s.db", "--json").out)["measures"]
    assert [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in as_json] == measured


@pytest.mark.slow
def test_intervals_stay_within_what_can_be(example, tmp_path):
    run = decloak.run(ROOT / "scenarios" / "gallery" / "clinic-coat.yaml", store=tmp_path / "s.db")
    titles = metrics_by_key()
    between = [one for one in run.measures if one.low is not None]
    assert len(between) > 100
    for one in between:
        assert one.low < one.value < one.high
        low, high = titles[one.measure].bounds_of(one.of if one.of == 800 else None)
        assert low is None or one.low > low
        assert high is None or one.high < high


def test_the_same_seed_gives_the_same_result_and_another_another(example, tmp_path):
    path = edited(example, "attack: [mda, tba, wba, gba, rba]", "attack: [ra, rba]\nrepeat: {times: 4, seed: 1}")
    one, other = (decloak.run(path, store=tmp_path / name) for name in ("1.db", "2.db"))
    assert one.measures == other.measures
    assert content(tmp_path / "1.db") == content(tmp_path / "2.db")
    assert len({variant.seed for variant in one.variants}) == 4
    third = decloak.run(path, store=tmp_path / "3.db", overrides=["repeat.seed=2"])
    assert {variant.seed for variant in third.variants}.isdisjoint(variant.seed for variant in one.variants)
    attacks = query(tmp_path / "1.db", "select attack from run_attack where label = 'ra'")
    eliminated = "select row, col from eliminated where attack = ? order by 1, 2"
    masks = {tuple(query(tmp_path / "1.db", eliminated, attack)) for (attack,) in attacks}
    assert len(masks) > 1


def test_what_has_no_chance_in_it_is_not_repeated(example, tmp_path):
    path = edited(example, "attack: [mda, tba, wba, gba, rba]", "attack: [ra, rba]\nrepeat: {times: 4}")
    run = decloak.run(path, store=tmp_path / "s.db")
    found = query(
        tmp_path / "s.db", "select label, count(distinct attack), count(*) from run_attack group by label order by 1"
    )
    assert found == [("order", 1, 4), ("ra", 4, 4), ("rba", 1, 4)]
    assert rows(tmp_path / "s.db")["release"] == 1
    measured = {(one.measure, one.attack): one for one in run.measures}
    precision = measured["precision", "rba"]
    assert (precision.low, precision.value, precision.high, precision.n) == (None, 1.0, None, 4)
    assert measured["recall", "ra"].n == 4
    assert measured["recall", "ra"].low < measured["recall", "ra"].value < measured["recall", "ra"].high


def test_a_release_that_is_drawn_is_drawn_anew_in_each_repetition(example, tmp_path):
    (example / "scenario.yaml").write_text(DRAWN)
    decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    assert rows(tmp_path / "s.db")["release"] == 3
    assert query(tmp_path / "s.db", "select count(*) from dataset where kind = 'original'") == [(1,)]
    drawn = query(tmp_path / "s.db", "select release, group_concat(label) from generalised group by release")
    assert len({labels for _, labels in drawn}) > 1


def test_one_more_repetition_does_the_work_of_one(example, tmp_path):
    path = edited(example, "attack: [mda, tba, wba, gba, rba]", "attack: [ra]\nrepeat: {times: 2}")
    decloak.run(path, store=tmp_path / "s.db")
    assert stages(path, store=tmp_path / "s.db", overrides=["repeat.times=3"]) == ["attack", *["measurement"] * 6]


def test_every_combination_is_a_variant_in_the_order_of_the_file(example, tmp_path):
    path = edited(example, "attack: [mda, tba, wba, gba, rba]", "attack: [{rule: rba, ratio: 1}]")
    path.write_text(
        path.read_text()
        + "vary: {attacker.context: [1, all], attack.0.ratio: [0.5, 2]}\nexpect: ['eliminated(rba) > 8']\n"
    )
    progress = Stages()
    run = decloak.run(path, store=tmp_path / "s.db", progress=progress)
    names = [variant.name for variant in run.variants]
    assert names == [f"attacker.context={c}, attack.0.ratio={r}" for c in ("1", "all") for r in (0.5, 2)]
    assert progress.variants == [f"{n}/4 {name}" for n, name in enumerate(names, 1)]
    assert [verdict.variant for verdict in run.verdicts] == names
    assert rows(tmp_path / "s.db")["run"] == 4
    assert rows(tmp_path / "s.db")["release"] == 1
    assert [verdict.holds for verdict in run.verdicts] == [True, False, True, False]
    assert not run.ok


# What a scenario can start from.


def unordered(notes):
    """Notes but for what the audit by order tells."""
    return [
        note
        for note in notes
        if not note.startswith(("rule order:", "WARNING: the rows are not sorted", "WARNING: the release contains ids"))
    ]


def test_only_what_was_published(example, tmp_path):
    path = edited(example, "file: original.txt, format: basket, ", "")
    run = decloak.run(path, store=tmp_path / "s.db")
    measures = {one.measure for one in run.measures}
    assert "eliminated" in measures
    assert not measures & {"correct", "precision", "recall", "f1", "density", "baseline", "auc"}
    assert measures >= {"singled_out_2", "singled_out_2_release"}
    assert not measures & {"hidden", "inferred_own", "inferred_own_release", "singled_out_2_original"}
    assert unordered(run.variants[0].notes) == ["recovery cannot be measured: the original records are not known"]
    assert rows(tmp_path / "s.db")["truth_origin"] == 0


@pytest.mark.parametrize("stars", [True, False])
def test_a_distance_table_file(example, tmp_path, stars):
    if not stars:
        (example / "table.csv").write_text((example / "table.csv").read_text().replace("*", ""))
    path = example / "scenario.yaml"
    path.write_text("scenario: s\ndata: {distances: table.csv}\nattack: [mda, tba, wba, gba, rba]\n")
    run = decloak.run(path, store=tmp_path / "s.db")
    measured = figures(run)
    assert {measured["eliminated", attack] for attack in ATTACKS} == {1, 8, 4, 5, 10}
    if stars:
        assert measured["recall", "rba"] == measured["precision", "rba"] == 1
        assert run.variants[0].notes == ()
    else:
        assert ("recall", "rba") not in measured
        assert "recovery cannot be measured" in run.variants[0].notes[0]


def test_unmarked_data(example, tmp_path):
    (example / "unmarked.txt").write_text("".join(f"{name}, {', '.join(MEMBERS)}\n" for name in DISTANCES))
    text = (example / "scenario.yaml").read_text()
    text = text.replace("published: published.txt", "published: {file: unmarked.txt, marked: false}").replace(
        "{context: 1}", "{context: 1, k: 2}"
    )
    (example / "scenario.yaml").write_text(text)
    measured = figures(decloak.run(example / "scenario.yaml", store=tmp_path / "s.db"))
    assert measured["recall", "rba"] == measured["precision", "rba"] == 1


def test_an_attack_with_nothing_to_score_has_no_figures_and_says_why(example, tmp_path, call):
    (example / "scores.csv").write_text("a,b,ngd\nsome,thing,0.5\n")
    text = (example / "scenario.yaml").read_text().replace("cap: none", "cap: none, unseen: none")
    (example / "scenario.yaml").write_text(text)
    run = decloak.run(example / "scenario.yaml", store=tmp_path / "s.db", overrides=["expect=['precision(rba) > 0']"])
    measured = figures(run)
    undefined = {measure for (measure, attack), value in measured.items() if attack == "rba" and value is None}
    published = {key for key, metric in metrics_by_key().items() if metric.of_release}
    assert "precision" in undefined
    assert ("singled_out_2", "rba") not in measured
    assert undefined == {name for name, attack in measured if attack == "rba"} - published
    assert measured["singled_out_2_release", "rba"] == 4
    said = call("show", "last", "--store", tmp_path / "s.db")
    assert "note: no cell has a score, so the attack eliminates nothing\n" in said.err
    printed = call("run", example / "scenario.yaml", "--store", tmp_path / "s.db", "--set", "expect=[]").out
    row = r"^singled out with up to 2 +no attack had anything to\nitems +4 +4 +– +– +compare$"
    assert re.search(row, printed, re.M)
    assert [verdict.holds for verdict in run.verdicts] == [None]
    assert not run.ok


def test_attacks_come_in_the_order_of_the_scenario(example, tmp_path):
    path = edited(example, "[mda, tba, wba, gba, rba]", "[rba, {rule: mda, as: zzz}, gba, {rule: mda, as: aaa}]")
    run = decloak.run(path, store=tmp_path / "s.db")
    assert list(dict.fromkeys(one.attack for one in run.measures)) == ["rba", "zzz", "gba", "aaa"]


@pytest.mark.parametrize(
    ("expect", "holds"),
    [
        ("recall(rba) == 1", True),
        ("recall(mda) > 0.5", False),
        ("findings(rba) == 10 and singled_out_1(rba) >= 0", True),
        ("not recall(rba) < recall(gba)", True),
    ],
)
def test_what_is_expected_is_judged(example, example_store, expect, holds):
    run = decloak.run(example / "scenario.yaml", store=example_store, overrides=[f"expect=['{expect}']"])
    assert [verdict.holds for verdict in run.verdicts] == [holds]
    assert run.ok is holds


def test_what_is_expected_of_rules_that_eliminate_nothing_is_judged_too(example, tmp_path):
    path = edited(example, "[mda, tba, wba, gba, rba]", "[cover, mda]")
    run = decloak.run(path, store=tmp_path / "s.db", overrides=["expect=['findings(cover) > 0']"])
    assert [verdict.holds for verdict in run.verdicts] == [None]  # there are no chunks whose items could cover others
    assert not run.ok


@pytest.mark.parametrize(
    ("attack", "expected"),
    [
        ("{rule: gba, k: 3}", "the rule gba takes no k; delete it"),
        ("{rule: gba, m: 2}", "the rule gba takes no m; delete it"),
        ("{rule: ra, threshold: 1.0}", "the rule ra takes no threshold; delete it"),
        ("{rule: mda, ratio: 1.0}", "the rule mda takes no ratio; delete it"),
        ("{rule: cover, ratio: 1.0}", "the rule cover takes no ratio; delete it"),
        ("gbaa", "no rule named 'gbaa'; did you mean 'gba'?"),
        ("./none.yaml", "no such file; check the spelling of the path"),
    ],
)
def test_a_setting_that_a_rule_would_not_heed_is_an_error(example, tmp_path, attack, expected):
    path = edited(
        example, "[mda, tba, wba, gba, rba]", f"[mda, {attack}]" if "mda" not in attack else f"[tba, {attack}]"
    )
    with pytest.raises(DecloakError) as caught:
        decloak.run(path, store=tmp_path / "s.db")
    assert str(caught.value).endswith(expected)
    assert caught.value.place in (f"{path}:5:15", str(example / "none.yaml"))
    assert not (tmp_path / "s.db").exists()


def test_what_several_attacks_lack_is_told_once(example, tmp_path):
    text = (example / "scenario.yaml").read_text()
    relate = next(line for line in text.splitlines(keepends=True) if line.startswith("relate:"))
    with pytest.raises(DecloakError, match="needs relatedness") as caught:
        decloak.run(edited(example, relate, ""), store=tmp_path / "s.db")
    assert len(str(caught.value).splitlines()) == 1


def test_what_is_wrong_with_a_rule_is_told_at_its_place_in_its_own_file(example, tmp_path):
    rule = (
        "rule: own\nform: query\nabout: x\nbecause: x\nderives: own(item)\nfacts: select nothing from item\n"
        "reference: ours\nwrong_when: never\n"
    )
    (example / "own.yaml").write_text(rule)
    with pytest.raises(DecloakError) as caught:
        decloak.run(edited(example, "[mda, tba, wba, gba, rba]", "[mda, own.yaml]"), store=tmp_path / "s.db")
    assert caught.value.place == f"{example / 'own.yaml'}:6:8"


def test_data_that_can_be_read_but_once_are_refused(example, tmp_path):
    """They are read for their digest first."""
    begin, end = os.pipe()
    try:
        os.write(end, (example / "published.txt").read_bytes())
        os.close(end)
        path = edited(example, "published: published.txt", f"published: /dev/fd/{begin}")
        with pytest.raises(DecloakError, match="a pipe or a device, not a file"):
            decloak.run(path, store=tmp_path / "s.db")
    finally:
        os.close(begin)


def test_an_attack_on_another_kind_of_release_says_what_it_needs(example, tmp_path):
    path = edited(example, "[mda, tba, wba, gba, rba]", "[gba, aba]")
    with pytest.raises(DecloakError) as caught:
        decloak.run(path, store=tmp_path / "s.db")
    assert str(caught.value).startswith(f"{path}:5:15: ")
    assert "disassociated" in str(caught.value)
    assert caught.value.hint
    assert not (tmp_path / "s.db").exists()


def test_the_configuration_of_a_run_is_kept_whole(example, tmp_path):
    decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    ((config, seed),) = query(tmp_path / "s.db", "select config, seed from run")
    found = json.loads(config)
    assert found["data"]["file"] == "original.txt"
    assert found["relate"]["cap"] == "none"
    assert -(2**63) <= seed < 2**63


def test_hostile_names_go_through_a_whole_run(tmp_path):
    names = [
        "\x1b[31m",
        "a\nb",
        "[red]",
        "=1+1",
        "\u202eabc",
        "a,b",
        "(c)",
        'd"e',
        "{f}",
        "%s",
        "'; drop table item; --",
    ]
    quoted = [json.dumps(name) for name in names]
    (tmp_path / "original.jsonl").write_text(
        "".join(f'{{"id": "t\\n{n}", "items": [{one}, "x"]}}\n' for n, one in enumerate(quoted))
    )
    sets = json.dumps([names[:5], names[5:]])
    (tmp_path / "s.csv").write_text("a,b,ngd\n" + "x,[red],0.5\nx,=1+1,0.1\nx,{f},0.9\n")
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: original.jsonl, format: jsonl, ids: true}\n"
        f"anonymise: {{method: sets, sets: {sets}}}\n"
        "relate: {measure: ngd, source: scores, file: s.csv}\nattack: [gba, rba, tba]\nmeasure: [recovery]\n"
    )
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert run.ok
    kept = {name for (name,) in query(tmp_path / "s.db", "select name from item")}
    assert kept == {*names, "x"}


def test_a_run_notes_only_what_its_own_scores_could_not_use(example, tmp_path):
    store = tmp_path / "s.db"
    capped = decloak.run(example / "scenario.yaml", store=store, overrides=["relate.cap=2"])
    assert unordered(capped.variants[0].notes)
    assert unordered(decloak.run(example / "scenario.yaml", store=store).variants[0].notes) == []


def test_the_same_data_under_another_path_and_in_another_format_are_the_same_study(example, tmp_path, monkeypatch):
    """Neither seeds nor stages go by paths, names of files, the order of keys or formats."""
    monkeypatch.chdir(tmp_path)
    scenario = (example / "scenario.yaml").read_text().replace("[mda, tba, wba, gba, rba]", "[ra, rba]")
    (example / "s.yaml").write_text(scenario)
    first = decloak.run(example / "s.yaml", store="store.db")
    other = tmp_path / "elsewhere"
    (other / "below").mkdir(parents=True)
    original = decloak.read(example / "original.txt", "basket")
    decloak.write(original, other / "below" / "people.jsonl", "jsonl")
    (other / "shown.txt").write_text((example / "published.txt").read_text())
    (other / "below" / "near.csv").write_text((example / "scores.csv").read_text())
    moved = scenario.replace(
        "data: {file: original.txt, format: basket, published: published.txt}",
        "data: {published: {file: ./shown.txt}, format: jsonl, file: below/../below/people.jsonl}",
    ).replace("scores.csv", "below/near.csv")
    (other / "s.yaml").write_text(moved)
    again = decloak.run(other / "s.yaml", store="store.db")
    assert [run.seed for run in again.variants] == [run.seed for run in first.variants]
    assert not again.variants[0].fresh
    assert again.measures == first.measures


def test_other_content_under_the_same_path_is_another_study(example, tmp_path):
    first = decloak.run(example / "scenario.yaml", store=tmp_path / "store.db")
    lines = (example / "original.txt").read_text().splitlines()
    (example / "original.txt").write_text("\n".join([*lines[1:], lines[0]]) + "\n")
    lines = (example / "published.txt").read_text().splitlines()
    (example / "published.txt").write_text("\n".join([*lines[1:], lines[0]]) + "\n")
    again = decloak.run(example / "scenario.yaml", store=tmp_path / "store.db")
    assert again.variants[0].fresh
    assert again.variants[0].seed != first.variants[0].seed


@pytest.mark.slow  # the tests of data sets notice what is not summed up
def test_variants_that_differ_in_their_data_set_alone_are_summed_up_over_those(tmp_path, call):
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {generate: clinic, transactions: 60, seed: 7}\n"
        "anonymise: {method: sets, size: 2, share: 0.5}\nrelate: {measure: ngd, source: clinic-counts}\n"
        "attack: [tba]\nvary: {data.seed: [1, 2, 3], anonymise.size: [2, 3]}\n"
    )
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    values = {(one.variant, one.measure): one for one in run.measures if one.attack == "tba"}
    for size in (2, 3):
        each = [values[f"data.seed={seed}, anonymise.size={size}", "precision"].value for seed in (1, 2, 3)]
        pooled = values[f"anonymise.size={size}, over 3 data sets", "precision"]
        assert pooled.value == pytest.approx(sum(each) / 3)
        assert pooled.n == 3
        assert pooled.low < pooled.value < pooled.high
    assert {variant.name for variant in run.variants} == {
        f"data.seed={seed}, anonymise.size={size}" for seed in (1, 2, 3) for size in (2, 3)
    }
    said = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").out
    for size in (2, 3):
        assert re.search(rf"^size={size} +tba +language ", said, re.M)
    assert "These releases are of different people" not in said  # those over the same data sets are compared
    assert "The releases do not differ measurably" in " ".join(said.split())
    assert "– (95% intervals, all attacks considered, 3 data sets of one kind)" in said
    sizes = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db", overrides=["vary={data.transactions: [50, 60]}"])
    assert not any("over" in one.variant for one in sizes.measures)  # sizes are not of one kind
