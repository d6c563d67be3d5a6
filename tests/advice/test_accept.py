"""`accept` in a scenario: the same criteria and states as `decloak advise`, in all that a run prints and writes."""

import random
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import decloak
from decloak.data.forms import FormName
from decloak.errors import DecloakError
from decloak.scenario.criteria import PRESETS, Ranged, accepted, judged_criteria, worst_figures
from decloak.scenario.expect import Expectation
from decloak.store.results import PooledFigure

SCENARIO = """\
scenario: Does this release meet the criteria?
data: {file: visits.txt, format: basket}
anonymise: {method: disassociation, k: 5, m: 2, max_cluster: 100}
attack: [random, cover]
measure: [{exposure: {control: held_out}}, utility]
"""


def records(count):
    chance = random.Random(1)
    for _ in range(count):
        group = chance.choice("abc")
        own = [f"{group}{chance.randrange(6)}" for _ in range(chance.randrange(1, 4))]
        yield sorted({*own, *(f"x{chance.randrange(9)}" for _ in range(chance.randrange(1, 4)))})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("accept")
    (made / "visits.txt").write_text("\n".join(map(", ".join, records(1_100))))
    return made


@pytest.fixture
def run(folder, monkeypatch, call):
    monkeypatch.chdir(folder)

    def ran(lines, *options):
        Path("a.yaml").write_text(SCENARIO + lines)
        return call("run", "a.yaml", "--store", "s.db", *options)

    return ran


def test_a_preset_is_judged_and_shown_in_the_result_the_page_and_junit(run, call):
    pytest.importorskip("jinja2")
    said = run("accept: public\n", "--junit", "j.xml")
    assert said.code == 3
    assert 'Criteria "public" not met: exposure, inference' in " ".join(said.out.split())
    lines = " ".join(said.err.split())
    assert "FAILED: exposed_3_release <= 1%: " in lines
    assert "source of the limit: probability 1/11: EMA Policy 0070" in lines
    assert "passed: guarantee_violations <= 0: 0;" in lines
    cases = ElementTree.parse("j.xml").getroot()
    assert len(cases) == len(PRESETS["public"])
    assert {case.get("line") for case in cases} == {"6"}
    failed = [case.get("name") for case in cases if case.find("failure") is not None]
    assert "base: exposed_3 <= 1%" in failed
    assert "base: guarantee_violations <= 0" not in failed
    assert call("report", "last", "-o", "page.html", "--store", "s.db").code == 0
    page = Path("page.html").read_text()
    assert "Criteria &#34;public&#34; not met: exposure" in page
    assert "FAILED: exposed_3_release &lt;= 1%" in page


def test_limits_of_ones_own_are_judged_by_the_upper_end_of_the_interval(run):
    assert run("accept: [exposed_3 <= 90%, guarantee_violations <= 0]\n", "--brief").code == 0
    low, high = (
        float(re.search(pattern, run("accept: [inference_advantage <= 0]\n", "--brief").err)[1])
        for pattern in (r"<= 0: ([\d.]+)", r"at most ([\d.]+) \(95% interval\)")
    )
    codes = [run(f"accept: [inference_advantage <= {limit}]\n", "--brief").code for limit in (low, high + 0.001)]
    assert (low < high, codes) == (True, [3, 0])


def test_a_file_of_criteria_and_entries_with_a_reason_are_read(run, call):
    Path("own.yaml").write_text("- {figure: exposed_3, limit: 0.9, reason: readers sign a contract}\n")
    for lines in (
        "accept: own.yaml\n",
        "accept: [{figure: exposed_3, limit: 90%, reason: readers sign a contract}]\n",
    ):
        said = run(lines, "--brief")
        assert said.code == 0
        assert "source of the limit: readers sign a contract" in " ".join(said.err.split())
    Path("own.yaml").unlink()  # a page is made of the store alone
    assert call("show", "last", "--store", "s.db").code == 0


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("accept: [public]\n", "a.yaml:6:10: 'public' has several criteria; name it alone, or list each criterion"),
        ("accept: publik\n", "a.yaml:6:9: 'publik' is no criterion; did you mean 'public'?"),
        ("accept: [exposd_3 <= 1%]\n", "a.yaml:6:10: no figure 'exposd_3' for a criterion; did you mean 'exposed_3'?"),
        ("accept: [{figure: exposed_3, limit: x, reason: y}]\n", "a.yaml:6:10: 'exposed_3 <= x' is no criterion; "),
        ("accept: none.yaml\n", "none.yaml: no such file; check the spelling of the path"),
        ("accept: []\n", "expected text or a list that is not empty"),
    ],
)
def test_wrong_criteria_are_named_with_their_place(run, lines, message):
    said = run(lines)
    assert (said.code, said.err.strip().count("\n")) == (2, 0)
    assert message in said.err


def test_a_criterion_that_cannot_be_judged_is_an_error_before_the_run(run):
    without = SCENARIO.replace(", utility", "").replace("{exposure: {control: held_out}}", "exposure")
    Path("b.yaml").write_text(without + "accept: public\n")
    with pytest.raises(DecloakError) as caught:
        decloak.run("b.yaml", store="b.db")
    said = str(caught.value)
    assert "the criterion 'inference_advantage' needs people who are not in the data" in said
    assert "add {exposure: {control: held_out}} under measure" in said
    assert "the criterion needs 'count_error', which this run does not measure; add utility under measure" in said


def test_variants_are_judged_one_by_one(run):
    said = run("accept: [exposed_3 <= 3%]\nvary: {anonymise.k: [2, 40]}\n")
    assert said.code == 3
    assert '1 of 2 variants meets all criteria "as given".' in " ".join(said.out.split())
    assert "FAILED" in said.err
    assert "passed" in said.err


def test_a_figure_that_one_repetition_lacks_is_not_measured():
    exposed = {
        ("exposed_3_release", "random"): PooledFigure(2.0, 2.0, 100.0),
        ("people", "random"): PooledFigure(100.0, 100.0, None),
    }
    config = {"accept": ["exposed_3 <= 3%"]}
    (one,) = judged_criteria(config, FormName.DISASSOCIATED, [exposed, exposed]).criteria
    assert one.holds is True
    (one,) = judged_criteria(config, FormName.DISASSOCIATED, [exposed, {}]).criteria
    assert (one.holds, "UNDEFINED" in one.text) == (None, True)
    for unknown in ({}, {"accept": 3}, {"accept": ["another <= 1%"]}):  # a store of another version, or a hostile one
        assert judged_criteria(unknown, FormName.DISASSOCIATED, [exposed]) is None


def test_a_negative_control_is_no_attack():
    found = {("exposed_3", name): PooledFigure(count, count, 100.0) for name, count in (("a", 2.0), ("a_labels", 9.0))}
    config = {"accept": ["exposed_3 <= 3%"]}
    for controls, holds in ((), False), ({"a_labels"}, True):
        (one,) = judged_criteria(config, FormName.GENERALISED, [found], controls).criteria
        assert one.holds is holds


def test_criteria_of_a_file_have_its_name(tmp_path):
    hostile = tmp_path / f"a\x1b[31m\n{'b' * 90}.yaml"
    for path in (tmp_path / "ours.yaml", hostile):
        path.write_text("[exposed_3 <= 3%]")
        assert accepted(str(path)).name == path.name
    (tmp_path / "same.yaml").write_text("public")
    assert accepted(str(tmp_path / "same.yaml")) == ("same.yaml", PRESETS["public"])
    assert accepted(["exposed_3 <= 3%"]).name == "as given"


@pytest.mark.parametrize("limit", ["0.00001", "1e-5", "0.001%"])
def test_a_small_limit_is_read_in_any_notation(tmp_path, limit):
    (tmp_path / "ours.yaml").write_text(f"- {{figure: exposed_3, limit: {limit}, reason: ours}}\n")
    (criterion,) = accepted(str(tmp_path / "ours.yaml")).criteria
    assert criterion.limit == pytest.approx(1e-5)
    assert accepted(f"exposed_3 <= {limit}").criteria[0].limit == pytest.approx(1e-5)


@pytest.mark.parametrize("figure", ["exposed_3", "implied_advantage"])
def test_the_expectation_of_a_very_small_limit_can_be_read(figure):
    (criterion,) = accepted(f"{figure} <= 1e-7").criteria
    (text,) = criterion.expectations({figure: Ranged(0.0, 0.0)})
    assert text.endswith(" <= 1e-05%")
    assert Expectation.parse(text).root == Expectation.parse(text.replace("1e-05", "0.00001")).root


def test_a_file_of_criteria_cannot_name_a_file(tmp_path, run):
    (tmp_path / "loop.yaml").write_text(str(tmp_path / "loop.yaml"))
    with pytest.raises(DecloakError, match=r"the file names another file, .*; write the criteria here"):
        accepted(str(tmp_path / "loop.yaml"))
    said = run(f"accept: {tmp_path / 'loop.yaml'}\n")
    assert (said.code, "the file names another file" in said.err) == (2, True)


def test_only_drawn_people_have_an_interval():
    def high(looked_up, targets):
        found = {("exposed_3_release", "random"): PooledFigure(0.0, 0.0, looked_up)}
        return worst_figures(found, FormName.GENERALISED, targets)["exposed_3_release"].high

    assert high(1_000.0, 1_000) == pytest.approx(0.00383, abs=1e-5)
    assert high(999.0, 1_000) == high(1_000.0, None) == 0  # all people with three items were looked up


def test_implied_items_count_beyond_the_control():
    def judged(implied, control):
        found = {
            ("implied_release", "random"): PooledFigure(implied, implied, 1_000.0),
            ("implied_control", "random"): PooledFigure(control, control, 500.0),
        }
        worst = worst_figures(found, FormName.ITEMSETS, None)
        (criterion,) = [one for one in PRESETS["public"] if one.figure == "implied_advantage"]
        return worst["implied_advantage"].value, criterion.state(worst), criterion.expectations(worst)

    assert judged(0.0, 0.0)[:2] == (0.0, "met")
    assert judged(100.0, 100.0)[:2] == (0.0, "met")  # 10% in the data, 20% outside
    assert judged(100.0, 50.0)[:2] == (0.0, "inconclusive")
    assert judged(100.0, 10.0)[:2] == (pytest.approx(0.08), "exceeded")
    assert judged(100.0, 10.0)[2] == ("implied_release - implied_control <= 0%",)


def test_advise_and_a_run_judge_alike(folder, run):
    given = ["exposed_3 <= 3%", "inference_advantage <= 0.2", "count_error <= 0.3", "guarantee_violations <= 0"]

    def stop(number, of, candidate):
        if number == 3:
            raise KeyboardInterrupt

    found = decloak.advise(folder / "visits.txt", accept=given, progress=stop)
    by = accepted(given).criteria
    for tried in found.tried:
        sections = {**found.base, **tried.sections, "scenario": "again", "accept": given}
        again = decloak.run(sections, store=folder / "again.db")
        states = tried.states(by)
        assert [one.holds for one in again.verdicts] == [states[one.figure] == "met" for one in by]
