"""A run from Python needs no file: mappings and data go in; verdict, tables, frames and pages come out."""

import copy
import inspect
import pickle
import re

import pandas as pd
import polars as pl
import pytest

import decloak
from decloak.cli import _code
from decloak.data.generators.clinic import generate
from decloak.errors import DecloakError
from decloak.library.scenario import _Section
from decloak.scenario.model import Scenario as Model
from test_advise import SCREENS

CLINIC = decloak.Dataset.of(list(generate(120, 3).transactions))
DISASSOCIATED = {"method": "disassociation", "k": 3, "m": 2}
SWEEP = {
    "scenario": "How safe is it?",
    "anonymise": DISASSOCIATED,
    "attacker": {"knows": ["release"]},
    "attack": ["random", "aba"],
    "measure": ["accuracy", "exposure"],
    "vary": {"anonymise.k": [2, 3]},
    "repeat": {"times": 2},
    "expect": ["accuracy(aba) < 0.9"],
}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    return decloak.run(SWEEP, data=CLINIC, store=tmp_path_factory.mktemp("sweep") / "store.db")


def long(data) -> list[tuple[str, str]]:
    pairs = zip(data.labels, data.transactions, strict=True)
    return [(label, item) for label, items in pairs for item in items]


def test_a_path_and_a_mapping_files_and_data_in_memory_give_the_same_figures(tmp_path, monkeypatch, sweep):
    decloak.write(CLINIC, tmp_path / "clinic.jsonl", "jsonl")
    decloak.Scenario(**SWEEP, data={"file": "clinic.jsonl", "format": "jsonl"}).write(tmp_path / "s.yaml")
    of_file = decloak.run(tmp_path / "s.yaml", store=tmp_path / "a.db")
    monkeypatch.chdir(tmp_path)
    of_mapping = decloak.run(decloak.Scenario.read("s.yaml"), store="b.db")
    assert of_file.measures == of_mapping.measures == sweep.measures


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_frame_with_further_columns_is_read_as_the_scenario_says(tmp_path, make):
    ids, symptoms = zip(*long(CLINIC), strict=True)
    frame = make({"doctor": ["x"] * len(ids), "symptom": list(symptoms), "id": list(ids)})
    named = SWEEP | {"data": {"format": "long", "transaction": "id", "item": "symptom"}, "vary": {}}
    done = decloak.run(named, data=frame, store=tmp_path / "s.db")
    assert done.measures == decloak.run(SWEEP | {"vary": {}}, data=CLINIC, store=tmp_path / "t.db").measures


def test_lists_are_data_and_a_temporary_store_lasts_as_long_as_the_results():
    rows = [list(row) for row in CLINIC.transactions]
    done = decloak.run({"scenario": "s", "anonymise": DISASSOCIATED, "attack": ["random"]}, data=rows, store=None)
    store = done.store
    assert decloak.explain(done, most=1).rows
    del done
    assert not store.exists()


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (
            SWEEP | {"data": {"generate": "clinic"}},
            "scenario.data.generate: 'generate' names other data than those given",
        ),
        (SWEEP | {"anonymise": {**DISASSOCIATED, "m": "x"}}, "scenario.anonymise.m: expected a whole number"),
        (SWEEP | {"attack": ["randm"]}, "scenario.attack[0]: "),
        (SWEEP | {"attak": 1}, "scenario.attak: unknown key 'attak'; did you mean 'attack'?"),
        (SWEEP | {3: 4}, "scenario: the key '3' is no text; put it in quotes"),
        (SWEEP | {"report": object()}, "scenario.report: '<object object"),
        (SWEEP | {"repeat": {"times": float("nan")}}, "scenario.repeat.times: 'nan' is not a finite number"),
        (SWEEP | {"vary": {"data.file": ["a", "b"]}}, "scenario: 'data.file' names other data than those given"),
        (SWEEP | {"vary": None, "data": None, "scenario": "a\0b"}, "scenario.scenario: 'a\\x00b' holds a character"),
        (7, "the scenario is '7', not a path; give a path, a mapping or a decloak.Scenario"),
    ],
)
def test_a_mistake_is_one_line_with_the_dotted_key(tmp_path, scenario, message):
    with pytest.raises(DecloakError) as error:
        decloak.run(scenario, data=CLINIC, store=tmp_path / "s.db")
    assert str(error.value).splitlines()[0].startswith(message)
    assert error.value._render_traceback_() == str(error.value).splitlines()
    assert not (tmp_path / "s.db").exists()


def test_data_must_be_given_once(tmp_path):
    with pytest.raises(DecloakError, match=r"scenario: missing key 'data'; add it"):
        decloak.run(SWEEP, store=tmp_path / "s.db")


def test_the_verdict_is_that_of_the_command_line(sweep, capsys):
    _code(["show", sweep.variants[0].name, "--store", str(sweep.store)])
    printed = capsys.readouterr().out
    assert str(sweep.verdict) in printed
    assert sweep.verdict.outcome in list(type(sweep.verdict.outcome))
    assert sweep.verdict.headline in repr(sweep.verdict)
    assert sweep.ok


def test_the_frame_has_every_figure_with_counts_interval_and_baseline(sweep):
    frame = sweep.frame()
    columns = "variant anonymise.k attack knows figure title unit value low high n part of baseline"
    assert list(frame.columns) == columns.split()
    assert len(frame) == len(sweep.measures)
    row = sweep.frame("accuracy", "aba").iloc[1]
    measure = next(
        one for one in sweep.measures if (one.variant, one.measure, one.attack) == (row.variant, "accuracy", "aba")
    )
    assert (row.value, row.part, row.of, row.n) == (measure.value, measure.part, measure.of, 2)
    baseline = sweep.frame("baseline", "aba").iloc[1]
    assert row.baseline == baseline.value > 0
    assert row["anonymise.k"] == 3
    repeated = sweep.frame(repetitions=True, library="polars")
    assert {"run", "repetition", "seed"} <= set(repeated.columns)
    assert len(repeated) == sum(len(variant.figures) for variant in sweep.variants)


def test_the_exposure_has_a_row_for_each_figure_of_each_variant(sweep):
    rows = sweep.exposure.to_frame()
    assert set(rows.variant) == {"anonymise.k=2", "anonymise.k=3"}
    one = rows[(rows.variant == "anonymise.k=2") & (rows.figure == "singled_out_3")].iloc[0]
    assert one.of == 120
    assert one.release == sweep.frame("singled_out_3_release", "aba").iloc[0].value


def test_figures_are_plotted_and_the_page_is_written(sweep, tmp_path):
    plot = sweep.plot("accuracy")
    assert plot._repr_svg_().startswith("<svg")
    assert plot.write(tmp_path / "accuracy.svg").stat().st_size > 1_000
    assert repr(sweep.plot("accuracy", x="attack", by=["anonymise.k"])) == "<Plot of accuracy along attack>"
    page = sweep.report(tmp_path / "page.html").read_text()
    assert sweep.verdict.headline in page
    with pytest.raises(DecloakError, match=r"page\.html"):
        sweep.report(tmp_path / "page.html")
    with pytest.raises(DecloakError, match=r"^no figure 'acuracy' was measured; did you mean 'accuracy'"):
        sweep.plot("acuracy")
    with pytest.raises(DecloakError, match=r"no kind of picture '.gif'"):
        plot.write(tmp_path / "a.gif")


def test_comparing_publishing_checking_and_explaining_need_no_command_line(sweep, tmp_path):
    changes = decloak.compare(sweep)
    assert changes.columns[-4:] == ("change", "low", "high", "pairs")
    assert "expose" in changes.line
    with pytest.raises(DecloakError, match=r"which variant is not said; variant= one of anonymise.k=2, anonymise.k=3"):
        decloak.publish(sweep, tmp_path / "release.jsonl")
    files, warnings = decloak.publish(sweep, tmp_path / "release.jsonl", variant="anonymise.k=3")
    assert [file.name for file in files] == ["release.jsonl", "release.jsonl.manifest.json"]
    assert not warnings
    assert decloak.check(tmp_path / "release.jsonl")
    findings = decloak.explain(sweep, variant="anonymise.k=3", attack="aba", most=3)
    assert len(findings) == 3
    assert decloak.explain(sweep.store, variant=sweep.number("anonymise.k=3"), attack="aba", most=3) == findings
    assert decloak.explain(sweep.store).columns == ("attack", "finding", "because")


def test_an_item_is_explained_as_on_the_command_line(example, tmp_path):
    done = decloak.run(example / "scenario.yaml", store=tmp_path / "s.db")
    finding = decloak.explain(done, most=1).rows[0][2]
    item, record = re.match(r"(.*?) was eliminated from record (.*?):", finding).groups()
    explained = decloak.explain(done, record, item)
    assert finding in [row[2] for row in explained.rows]
    assert explained.columns == ("attack", "finding", "because", "distance", "weight")
    with pytest.raises(DecloakError, match="a record and an item belong together; give both, or neither"):
        decloak.explain(done, "1")


def test_a_release_is_attacked_without_a_file():
    release = decloak.anonymise(CLINIC, "disassociation", k=3, m=2)
    attacked = decloak.attack(release, "aba")
    assert attacked.variants[0].knows["aba"] == "release"
    assert "was assigned to record" in decloak.explain(attacked, most=1).rows[0][2]
    sets = decloak.anonymise(CLINIC, "sets", sets=[CLINIC.items[:3]])
    assert decloak.attack(sets, "selftrained_sure", seed=2).variants[0].knows["selftrained_sure"] == "release"
    with pytest.raises(DecloakError, match=r"the rule mda needs relatedness"):
        decloak.attack(sets, "mda")
    with pytest.raises(DecloakError, match=r"a list is no release; make one by decloak.anonymise"):
        decloak.attack([["a"]])
    with pytest.raises(DecloakError, match=r"a list is no release; make one by decloak.anonymise"):
        decloak.evaluate([["a"]], [["a"]], [0])
    for place in ("0", 0.0, 2, -1, None):
        with pytest.raises(DecloakError, match=rf"rows: there is no record '{place}'; name 0 to 1"):
            decloak.evaluate(sets, [["a"], ["b"]], [place] * len(sets.ids))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda scenario: pickle.loads(pickle.dumps(scenario))])
def test_a_copy_of_a_scenario_is_independent(copied):
    scenario = decloak.Scenario("s", anonymise=DISASSOCIATED, attack=["random"])
    other, before = copied(scenario), scenario.value
    assert other.value == before
    assert copied(scenario.anonymise).k == scenario.anonymise.k
    other.anonymise.k, other.scenario = 99, "another"
    other.attack.append("aba")
    assert (other.anonymise.k, other.value["scenario"], other.attack) == (99, "another", ["random", "aba"])
    assert scenario.value == before != other.value
    assert repr(other) != repr(scenario)


def test_a_scenario_completes_its_keys():
    scenario = decloak.Scenario("s")
    assert {"anonymise", "attack", "data", "measure"} <= set(dir(scenario))
    assert {"hierarchy", "max_cluster", "sets"} <= set(dir(scenario.anonymise))
    scenario.anonymise.method = "disassociation"
    assert {"k", "m", "max_cluster"} <= set(dir(scenario.anonymise))
    assert "hierarchy" not in dir(scenario.anonymise)
    scenario.anonymise.k, scenario.anonymise.m = 3, 2
    scenario.data.generate, scenario.data.transactions = "clinic", 40
    scenario.attack = ["random"]
    assert isinstance(scenario.attacker, _Section)
    assert scenario.value == {
        "scenario": "s",
        "anonymise": {"method": "disassociation", "k": 3, "m": 2},
        "data": {"generate": "clinic", "transactions": 40},
        "attack": ["random"],
    }
    assert scenario.check() == 1
    assert decloak.run(scenario, store=None).ok
    with pytest.raises(AttributeError, match=r"scenario.anonymise: unknown key 'kk'; did you mean 'k'"):
        scenario.anonymise.kk = 3
    with pytest.raises(AttributeError, match=r"scenario: unknown key 'anonymize'; did you mean 'anonymise'"):
        scenario.anonymize  # noqa: B018
    del scenario.attack
    assert "attack" not in scenario.value


def test_the_arguments_of_a_scenario_are_its_keys():
    keys = list(inspect.signature(decloak.Scenario).parameters)
    assert sorted(keys) == sorted(Model.model_fields)


def test_a_scenario_is_written_for_the_command_line(tmp_path):
    decloak.Scenario("s", data={"generate": "clinic", "transactions": 40}, anonymise=DISASSOCIATED).write(
        tmp_path / "s.yaml"
    )
    assert _code(["validate", str(tmp_path / "s.yaml")]) == 0
    assert decloak.Scenario.read(tmp_path / "s.yaml").value["anonymise"] == DISASSOCIATED
    with pytest.raises(DecloakError, match=r"s.yaml"):
        decloak.Scenario("s").write(tmp_path / "s.yaml")


HOSTILE = "<script>alert(1)</script>\x1b[31m"


def test_results_print_shortly_and_their_html_runs_and_fetches_nothing(tmp_path):
    rows = [[*row, HOSTILE] for row in CLINIC.transactions]
    hostile = SWEEP | {"scenario": HOSTILE, "vary": {}}
    done = decloak.run(hostile, data=rows, store=tmp_path / "s.db")
    values = [done, done.verdict, done.exposure, decloak.explain(done, most=2), decloak.check(rows, k=200, m=1)]
    values += [decloak.compare(done.store, "last", "last"), decloak.Scenario(**hostile)]
    for value in values:
        assert len(repr(value)) <= 500
        assert "\x1b" not in repr(value)
        html = value._repr_html_()
        assert "<script" not in html
        assert "\x1b" not in html
        assert not re.search(r"(?:src|href)=|url\(|@import", html)
    assert "RESULT" in done._repr_html_()
    done.store.unlink()
    assert "Run of" in done._repr_html_()


def test_advice_prints_shortly_with_a_table_of_all_candidates():
    advice = SCREENS["passes"]
    assert repr(advice).startswith("<Advice on ")
    assert len(repr(advice)) <= 500
    html = advice._repr_html_()
    assert html.count("<tr>") == len(advice.tried) + 1
    assert "Result" in html
    assert advice.table.to_frame().leads.sum() == 1


def test_an_error_about_data_in_memory_names_no_file():
    with pytest.raises(DecloakError, match=r"^60 records are too few to advise; add records"):
        decloak.advise([["a", "b"], ["c"]] * 30)
